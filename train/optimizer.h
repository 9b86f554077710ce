/*
 * optimizer.h - AdamW over all blocks, after clipping by the global norm.
 *
 * With g the mean gradient over the labels of the global batch, update t = 1, 2, ... does
 *
 *     norm = sqrt(sum of g^2 over all parameters)
 *     g   <- g * clip / max(norm, clip)             (clip 0: not at all)
 *     m   <- beta1 m + (1-beta1) g,   v <- beta2 v + (1-beta2) g^2
 *     w   <- w - rate * ( m/(1-beta1^t) / (sqrt(v/(1-beta2^t)) + epsilon) + decay w )
 *
 * (Loshchilov and Hutter 2019). decay is weight_decay for the tensors that the tensor table
 * marks (matrices) and 0 for the others (biases, norms). Checked in
 * tests/unit/test_optimizer.c and, against PyTorch, in tests/peers/train.py.
 */
#ifndef TEXTMILL_OPTIMIZER_H
#define TEXTMILL_OPTIMIZER_H

#include <stdint.h>

#include "train/comm.h"
#include "train/store.h"

struct optimizer {
    double beta1, beta2, epsilon, weight_decay, clip;
};

/* Of the gradients in the store; the sum over blocks is in block order. */
double optimizer_norm(struct store *s, struct comm *c);

/* What clipping multiplies the gradients by. */
double optimizer_clip_factor(const struct optimizer *a, double norm);

/* Update number `t` (from 1) of all parameters. */
void optimizer_update(const struct optimizer *a, struct store *s, double norm, double rate,
                      int64_t t);

#endif
