/*
 * cluster.h - how long a step would take on a cluster, and what a rank would hold and send: an
 * estimate.
 *
 * Ranks are ((data * pipeline + p) * tensor1 + t1) * tensor2 + t2: the groups of tensor2 lie
 * closest together. The estimate is of a training that also shares the residual stream over the
 * tensor group (sequence parallelism, Korthikanti et al. 2022), and tiles attention:
 *
 *     compute   flops / (ranks * flops of a rank * the share that is reached), 4/3 of it with
 * recomputed layers tensor    4 all-reduces of x a layer in one dimension (Shoeybi et al. 2019), 2
 * more with recomputed layers; in two dimensions see cluster.c. Half of their time is hidden. data
 * gradients are scattered and weights gathered, once a step; with ZeRO 3 weights twice. Hidden
 * behind half of the computing. bubble    (pipeline - 1) / (interleave * micro-batches) (Narayanan
 * et al. 2021) step      (compute + tensor / 2) (1 + bubble) + what of data is not hidden
 *
 * A transfer of n bytes in a group of g is taken as n (g - 1) / g bytes a rank, twice for an
 * all-reduce, at the speed of a host if the group lies in one, else of the network. Transfers of
 * the pipeline are taken as hidden.
 */
#ifndef TEXTMILL_TRAIN_CLUSTER_H
#define TEXTMILL_TRAIN_CLUSTER_H

#include <stdint.h>

#include "common/buf.h"

/* A machine file, in YAML: see configs/machines. */
struct cluster_machine {
    double f32_flops, bf16_flops; /* of a rank, a second */
    double reached;               /* share of them that a step's products reach */
    double memory;                /* bytes of a rank */
    double ranks_per_host;
    double host_bandwidth,
        network_bandwidth; /* bytes a second that a rank sends within its host, and to others */
    double latency;        /* seconds of an operation between ranks */
};

/* -1 with an error that names the file, and the key. */
int cluster_machine_load(struct cluster_machine *m, const char *path);

struct cluster_split {
    int64_t tensor1, tensor2, pipeline, interleave, data, zero;
};

/* Reads "tensor=8,pipeline=8,interleave=12,data=4,zero=1" over what is in `s`; tensor=4x4 has two
 * dimensions. `ranks` is how many there are in all, and gives what is not said of data; 0: what the
 * text says. -1 with an error. */
int cluster_split_parse(struct cluster_split *s, const char *text, int64_t ranks);

struct cluster_job {
    double layers, width, parameters, flops_per_token;
    int64_t sequence_length, micro_batch, global_batch;
    int bf16; /* weights and activations in bf16 with f32 copies in the optimizer's state, else all
                 in f32 */
    int recompute; /* layers are computed again in the backward pass */
};

struct cluster_estimate {
    int64_t ranks;
    double weights, gradients, moments, activations; /* bytes of a rank */
    double tensor_bytes, pipeline_bytes, data_bytes; /* that a rank sends in a step */
    double compute_seconds, tensor_seconds, data_seconds, bubble, step_seconds;
    double tokens_per_second,
        mfu; /* mfu: of the flops of all ranks, without what is computed again */
};

/* -1 with an error if the numbers do not divide. */
int cluster_estimate(struct cluster_estimate *out, const struct cluster_machine *m,
                     const struct cluster_job *job, const struct cluster_split *split);

/* Lines estimate_KEY=VALUE. */
void cluster_print(const struct cluster_estimate *e, const struct cluster_machine *m,
                   const struct cluster_split *split, struct buf *out);

#endif
