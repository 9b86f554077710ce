/*
 * block.h - what the blocks of GPT and BERT do alike: a layer's cache laid out, dropout at a place
 * of the model and its way back into a residual branch, and the gradients of a step's first
 * micro-batch.
 */
#ifndef TEXTMILL_BLOCK_H
#define TEXTMILL_BLOCK_H

#include "common/rng.h"
#include "model/model.h"

/* An array of a layer's cache, N rows of `width` floats, and the pointer to it. */
struct cache_part {
    float **at;
    int64_t width;
};

/* Lays the parts out from `p` on, each at a multiple of TENSOR_ALIGN floats; NULL: only counts.
 * Returns their floats. */
static inline int64_t cache_lay_out(float *p, const struct cache_part *parts, int count, int64_t N)
{
    int64_t floats = 0;
    for (int i = 0; i < count; i++) {
        *parts[i].at = p ? p + floats : NULL;
        floats += (N * parts[i].width + TENSOR_ALIGN - 1) / TENSOR_ALIGN * TENSOR_ALIGN;
    }
    return floats;
}

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

/* How the gradients of a linear map begin. */
static inline void (*linear_bwd(const struct batch *b))(struct ops *, float *, float *, float *,
                                                        const float *, const float *,
                                                        const float *, int64_t, int64_t, int64_t)
{
    return b->first ? ops_linear_bwd_first : ops_linear_bwd;
}

/* What is left to clear of the gradients of head and embedding at a step's first micro-batch: all
 * but the table of words, the embedding's first tensor, which the loss sets. */
static inline void begin_head(const struct model *m, struct ops *o, float *dw, float *dtied,
                              const struct batch *b)
{
    int64_t table = m->config.vocabulary * m->config.width;
    if (!b->first)
        return;
    ops_zero(o, dw, m->tensors.block_size[m->config.layers + 1]);
    ops_zero(o, dtied + table, m->tensors.block_size[0] - table);
}

#endif
