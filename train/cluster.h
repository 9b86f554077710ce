/*
 * cluster.h - estimates the time of a training step on a cluster, and the bytes that a rank holds
 * and sends.
 *
 * Ranks are numbered ((data * pipeline + p) * tensor1 + t1) * tensor2 + t2, so the ranks of a
 * tensor2 group are neighbours. The estimate assumes a training that also splits the residual
 * stream over the tensor group (sequence parallelism, Korthikanti et al. 2022) and tiles attention:
 *
 *     compute   flops / (ranks * flops of a rank * fraction reached); 4/3 of it when layers are
 *               recomputed
 *     tensor    one dimension: 4 all-reduces of x per layer (Shoeybi et al. 2019), and 2 more when
 *               layers are recomputed; two dimensions: see cluster.c. Half of the time is hidden
 *               behind computing.
 *     data      gradients are scattered and weights are gathered once per step; weights twice with
 *               ZeRO 3. Hidden behind up to half of the computing.
 *     bubble    (pipeline - 1) / (interleave * micro-batches) (Narayanan et al. 2021)
 *     step      (compute + tensor / 2) (1 + bubble) + the part of `data` that is not hidden
 *
 * A transfer of n bytes in a group of g ranks counts n (g - 1) / g bytes per rank, and an
 * all-reduce counts twice that. The speed is that of the host if the group lies in one host, else
 * that of the network. Transfers of the pipeline count as hidden.
 */
#pragma once

#include <stdint.h>

#include "common/base/buf.h"
#include "model/network/layer.h"
#include "model/network/model.h"

/* The contents of a machine file (YAML; examples are in configs/machines). */
struct cluster_machine {
    double f32_flops, bf16_flops; /* of one rank, per second */
    double reached; /* fraction of these flops that is reached by the matrix products of a step */
    double memory;  /* bytes of a rank */
    double ranks_per_host;
    double host_bandwidth, network_bandwidth; /* bytes per second that a rank sends to ranks of its
                                               * host, and of other hosts */
    double latency;                           /* seconds per operation between ranks */
};

/* Reads a machine file. Returns 0, or -1 with an error that names the file and the key. */
int cluster_machine_load(struct cluster_machine *m, const char *path);

struct cluster_split {
    int64_t tensor1, tensor2, pipeline, interleave, data, zero;
};

/* Reads a text N or AxB into *a and *b. N means Nx1, and 0 means 1x1; other numbers must be from 1
 * to 1,000,000. Returns 0, or -1 without an error message if the text is something else. */
int cluster_grid_parse(const char *text, int64_t *a, int64_t *b);

struct cluster_job {
    double layers, width, parameters, flops_per_token;
    struct layer_widths inside; /* of a layer */
    int64_t sequence_length, micro_batch, global_batch;
    int bf16; /* 1: weights and activations in bf16, with f32 copies in the optimizer's state; 0:
               * all in f32 */
    int recompute; /* 1: layers are recomputed in the backward pass */
};

struct cluster_estimate {
    int64_t ranks;
    double weights, gradients, moments, activations; /* bytes of a rank */
    double tensor_bytes, pipeline_bytes, data_bytes; /* sent by a rank per step */
    double compute_seconds, tensor_seconds, data_seconds, bubble, step_seconds;
    double tokens_per_second, mfu; /* mfu: the model's flops, without those of recomputation, as a
                                    * fraction of what all ranks could do in the time */
};

/* Computes the estimate. The data-parallel ranks must divide the batch into micro-batches. Returns
 * 0, or -1 with an error if the layers cannot be divided evenly. */
int cluster_estimate(struct cluster_estimate *out, const struct cluster_machine *m,
                     const struct cluster_job *job, const struct cluster_split *split);

/* Appends lines estimate_KEY=VALUE to `out`. */
void cluster_print(const struct cluster_estimate *e, const struct cluster_machine *m,
                   const struct cluster_split *split, struct buf *out);
