/*
 * optimizer.h - the update of all parameters, after clipping by the global norm.
 *
 * With g the mean gradient over the labels of the global batch, update t = 1, 2, ... does
 *
 *     norm = sqrt(sum of g^2 over all parameters)   (engine.h)
 *     g   <- g * clip / max(norm, clip)             (clip 0: not at all)
 *
 * and then, where m and v are the moments m <- beta1 m + (1-beta1) g and
 * v <- beta2 v + (1-beta2) g^2, and step = M / (sqrt(V) + epsilon) of M = m/(1-beta1^t) and
 * V = v/(1-beta2^t), or of m and v as they are without bias correction:
 *
 *     adamw     w <- w - rate (step + decay w)              (Loshchilov and Hutter 2019)
 *     adam      the same without decay; g has + decay w     (Kingma and Ba 2015)
 *     lamb      x = step + decay w; w <- w - rate min(|w|, cap)/|x| x (You et al. 2020); the ratio
 *               is of the tensor, or of its thirds where it holds queries, keys and values side by
 *               side and that is asked for; and 1 where a norm is 0
 *     nvlamb    lamb of g / max(norm, 1), whatever clip is
 *     sgd       w <- w - rate (g + decay w)
 *     momentum  a <- momentum a + g + decay w; w <- w - rate a
 *     schedule-free  (Defazio et al. 2024) keeps z in place of m, and in w the point y between z
 *               and the mean x of the z so far, where gradients are taken:
 *               z <- z - rate d, d = g / (sqrt(V) + epsilon) + decay y; x <- (1-c) x + c z with
 *               c = rate^2 / (sum of rate^2 so far); y = (1-beta1) z + beta1 x. x is the model.
 *     muon      for the layers' matrices, ops_muon (Jordan 2024); adamw for the rest
 *
 * decay is weight_decay for the tensors that the tensor table marks (matrices) and 0 for the
 * others (biases, norms), or weight_decay for all. Moments are kept only where the update has
 * them. Where the store keeps parameters or moments as bf16 they are f32 in the update and then
 * rounded stochastically, by random numbers of (seed, t, tensor, array, place): there is no other
 * copy of the weights. Checked in
 * tests/unit/test_optimizer.c and, against PyTorch, in tests/peers/train.py.
 */
#ifndef TEXTMILL_TRAIN_OPTIMIZER_H
#define TEXTMILL_TRAIN_OPTIMIZER_H

#include <stdint.h>

#include "train/store.h"

enum optimizer_kind {
    OPTIMIZER_ADAMW,
    OPTIMIZER_ADAM,
    OPTIMIZER_LAMB,
    OPTIMIZER_NVLAMB,
    OPTIMIZER_SGD,
    OPTIMIZER_MOMENTUM,
    OPTIMIZER_MUON,
    OPTIMIZER_SCHEDULE_FREE
};
/* in the order of the enum */
#define OPTIMIZER_WORDS "adamw|adam|lamb|nvlamb|sgd|momentum|muon|schedule-free"
#define DECAY_WORDS     "matrices|all" /* decay_all 0, 1 */

struct optimizer {
    enum optimizer_kind kind;
    int bias_correction;
    double beta1, beta2, epsilon, momentum, weight_decay, clip;
    int decay_all;   /* biases and norms too */
    double lamb_cap; /* 0: none */
    int lamb_thirds;
    uint64_t seed; /* of rounding */

    double loss_scale;   /* that the gradients are too large by; 0: 1 */
    double rate_squares; /* of schedule-free: their sum so far */
};

/* How many moments it keeps of each tensor; [rows], the caller's to free. */
unsigned char *optimizer_moments(enum optimizer_kind kind, const struct tensor_table *t);

/* The tensors that an update takes as a whole, for norms of them or as matrices; [rows], the
 * caller's to free. */
unsigned char *optimizer_whole(enum optimizer_kind kind, const struct tensor_table *t);

/* The first tensor, in the order of the table, that `kind` has numbers in, of this rank's share,
 * that are not finite; NULL: none. */
const struct tensor *optimizer_not_finite(struct store *s, enum store_kind kind);

/* What clipping (and nvlamb) multiplies the gradients by. */
double optimizer_clip_factor(const struct optimizer *a, double norm);

/* What the blocks of one update have in common. */
struct optimizer_update {
    const struct optimizer *optimizer;
    struct store *store;
    struct ops_adamw h; /* without decay */
    int first;          /* schedule-free: its z begins where the weights are */
    double share;       /* schedule-free's c */
    uint64_t key;       /* of rounding */
};

/* Begins update number `t` (from 1), by gradients of that norm; borrows `a` and the store. */
void optimizer_begin(struct optimizer_update *u, struct optimizer *a, struct store *s, double norm,
                     double rate, int64_t t);

/* Updates a block's parameters and moments, state[OPS_W, OPS_M, OPS_V], by its gradients g, which
 * are used up: of all of them this rank's share (layout.h). */
void optimizer_update_block(const struct optimizer_update *u, int block,
                            const struct ops_array state[OPS_STATES], struct ops_array g);

/* Schedule-free alone, and nothing of the others: parameters become the model x, with the point y
 * kept in the gradients; and y again. Of both, what is in this rank's share. */
void optimizer_to_model(const struct optimizer *a, struct store *s);
void optimizer_from_model(const struct optimizer *a, struct store *s);

/* Floats of scratch that an update takes beside the store, where that keeps `halves` of parameters
 * and the two moments as bf16. */
int64_t optimizer_scratch(const struct optimizer *a, const struct tensor_table *t, int halves);

#endif
