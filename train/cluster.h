/*
 * cluster.h - estimates the time of a training step on a cluster, from the bytes and the operations
 * of a plan (plan.h).
 *
 *     compute   floating-point operations, also those of layers that are computed again / (ranks *
 *               operations per second of a rank * fraction reached)
 *     tensor    the transfers between ranks that share layers. A layer waits for each of them.
 *     data      the transfers between data-parallel ranks: gradients and weights. They are hidden
 *               behind the computing between their first and their last one (`overlap`).
 *     step      (compute + tensor) / (1 - bubble) + the part of `data` that is not hidden
 *
 * Ranks of one host exchange arrays at the speed of the host. The results are then exchanged over
 * the network between the hosts of the group; a rank sends one share of the array to each other
 * host. Transfers of a pipeline count as hidden.
 */
#pragma once

#include "common/base/base.h"

/* A group of ranks that exchange arrays, and what each of them sends in a step. */
struct cluster_group {
    double ranks, apart; /* their number, and the distance between the numbers of neighbours */
    double bytes, operations;
};

struct cluster_step {
    double ranks;         /* all ranks */
    double memory;        /* bytes of the rank that needs most */
    double tokens, flops; /* of a step; without what is repeated (recomputation) */
    double work;          /* floating-point operations, with those that are repeated */
    int bf16;             /* 1: products of bf16, 0: of f32 */
    double bubble;        /* share of the time that the stages of a pipeline wait for each other */
    double overlap;       /* share of the computing during which data-parallel ranks exchange */
    struct cluster_group heads, width, data; /* along SPLIT_HEADS, SPLIT_WIDTH; data-parallel */
};

/* Appends lines estimate_KEY=VALUE for a step on the hardware that a machine file describes (YAML;
 * examples are in configs/machines). Returns 0, or -1 with an error that names file and key. */
int cluster_estimate(struct buf *out, const char *path, const struct cluster_step *s);
