/*
 * optimizer.h - updates all parameters, after clipping the gradients by their global norm.
 *
 * With g the mean gradient over the labels of the global batch, update t = 1, 2, ... does
 *
 *     norm = sqrt(sum of g^2 over all parameters)   (engine.h)
 *     g   <- g * clip / max(norm, clip)             (clip 0: no clipping)
 *
 * and then, where m and v are the moments m <- beta1 m + (1-beta1) g and
 * v <- beta2 v + (1-beta2) g^2, and step = M / (sqrt(V) + epsilon) of M = m/(1-beta1^t) and
 * V = v/(1-beta2^t), or of m and v as they are without bias correction:
 *
 *     adamw     w <- w - rate (step + decay w)              (Loshchilov and Hutter 2019)
 *     adam      the same, but decay w is added to g instead (Kingma and Ba 2015)
 *     lamb      x = step + decay w; w <- w - rate |w|/|x| x (You et al. 2020). The norms are those
 *               of the whole tensor, also where ranks share it. The ratio is 1 if a norm is 0
 *     nvlamb    lamb with g / max(norm, 1), that is, with clip at most 1
 *     sgd       w <- w - rate (g + decay w)
 *     momentum  a <- momentum a + g + decay w; w <- w - rate a
 *     muon      for the layers' matrices (Jordan 2024); adamw for the rest. a <- momentum a + g;
 *               w <- w - rate (0.2 sqrt(max(R,C)) X + decay w) for a matrix of R rows and C
 *               columns, where X is g + momentum a, made nearly orthogonal. The factor makes
 *               updates as large as AdamW's, so that AdamW's rates can be used (Liu et al. 2025).
 *               Ranks that share the matrix assemble it to compute X
 *
 * decay is weight_decay for matrices and tables, and 0 for biases and norms, which are vectors;
 * with decay_all it is weight_decay for all. Moments are kept only for the
 * updates that use them. Parameters and moments that the store keeps as bf16 are converted to f32
 * for the update and then rounded stochastically, with random numbers that depend on (seed, t,
 * tensor, array, place). There is no f32 copy of the weights. Checked in
 * tests/unit/train/step/test_optimizer.c and, against PyTorch, in tests/peers/train.py.
 */
#pragma once

#include "model/compute/ops_update.h"
#include "train/ranks/comm.h"
#include "train/store/store.h"

enum optimizer_kind {
    OPTIMIZER_ADAMW,
    OPTIMIZER_ADAM,
    OPTIMIZER_LAMB,
    OPTIMIZER_NVLAMB,
    OPTIMIZER_SGD,
    OPTIMIZER_MOMENTUM,
    OPTIMIZER_MUON
};
/* in the order of the enum */
#define OPTIMIZER_WORDS "adamw|adam|lamb|nvlamb|sgd|momentum|muon"
#define DECAY_WORDS     "matrices|all" /* decay_all 0, 1 */

struct optimizer {
    enum optimizer_kind kind;
    int bias_correction;
    double beta1, beta2, epsilon, momentum, weight_decay, clip;
    int decay_all; /* 1: biases and norms decay, too */
    uint64_t seed; /* for stochastic rounding */
};

/* Returns an array [tensors of the table] with the number of moments that the optimizer keeps of
 * each tensor. The caller frees it. */
unsigned char *optimizer_moments(enum optimizer_kind kind, const struct tensor_table *t);

/* Returns an array [tensors of the table]: 1 if the update of the tensor needs the whole tensor,
 * for its norm or as a matrix, else 0. The caller frees it. */
unsigned char *optimizer_whole(enum optimizer_kind kind, const struct tensor_table *t);

/* Returns the first tensor, in the order of the table, whose array of `kind` has a value in this
 * rank's share that is not finite, or NULL if there is none. */
const struct tensor *optimizer_not_finite(struct store *s, enum store_kind kind);

/* Returns the factor by which clipping multiplies the gradients, whose norm is `norm`. For nvlamb
 * it is at most 1 / norm. */
double optimizer_clip_factor(const struct optimizer *a, double norm);

/* The values that all blocks of one update use. */
struct optimizer_update {
    const struct optimizer *optimizer;
    struct store *store;
    struct comm *comm;
    /* LAMB: F64 [rows of the table, 2], of ops_lamb_begin */
    struct ops_array squares;
    struct ops_adamw h; /* decay is set for each tensor */
    uint64_t key;       /* for stochastic rounding */
};

/* Sets *u to begin update number `t` (from 1) with the learning rate `rate`, for gradients of norm
 * `norm`. Borrows `a`, `s` and `c`. */
void optimizer_begin(struct optimizer_update *u, const struct optimizer *a, struct store *s,
                     struct comm *c, double norm, double rate, int64_t t);
void optimizer_end(struct optimizer_update *u);

/* Updates this rank's share (layout.h) of a block's parameters and moments by its share g of the
 * block's gradients. state[OPS_W] holds the parameters, state[OPS_M] and state[OPS_V] the moments.
 * The update overwrites g with intermediate values. If ranks share tensors, all of them must call
 * it for the same blocks in the same order. */
void optimizer_update_block(const struct optimizer_update *u, int block,
                            const struct ops_array state[OPS_STATES], struct ops_array g);

/* Returns the number of floats of scratch memory that an update of the tensors t needs. `whole`:
 * the table of the whole model, if each rank has only a part of its tensors, else t. `halves`: the
 * number of arrays kept as bf16 among parameters and the two moments. */
int64_t optimizer_scratch(const struct optimizer *a, const struct tensor_table *t,
                          const struct tensor_table *whole, int halves);
