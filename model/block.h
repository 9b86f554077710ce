/*
 * block.h - what the blocks of GPT and BERT do alike: dropout at a place of the model, and its way
 * back into a residual branch.
 */
#ifndef TEXTMILL_BLOCK_H
#define TEXTMILL_BLOCK_H

#include "common/rng.h"
#include "model/model.h"

/* The mask of one place (each model numbers its own) in one layer. */
static inline struct ops_dropout dropout_at(const struct batch *b, double rate, int64_t layer,
                                            int place)
{
    uint64_t key = rng_key(rng_key(b->key, (uint64_t)layer), (uint64_t)place);
    return (struct ops_dropout){ key, b->training ? rate : 0 };
}

/* The gradient that enters a residual branch: dx itself where nothing was dropped. */
static inline const float *branch_gradient(struct ops *o, float *masked, const float *dx, int64_t n,
                                           struct ops_dropout drop)
{
    if (drop.rate == 0)
        return dx;
    ops_dropout_bwd(o, masked, dx, n, drop);
    return masked;
}

#endif
