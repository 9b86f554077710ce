/*
 * block.h - what the blocks of GPT and BERT do alike: a layer's cache laid out, dropout at a place
 * of the model and its way back into a residual branch, and the gradients of a step's first
 * micro-batch.
 */
#ifndef TEXTMILL_BLOCK_H
#define TEXTMILL_BLOCK_H

#include <string.h>

#include "common/rng.h"
#include "model/model.h"

/* An array of a layer's cache, N rows of `width` floats, and the pointer to it. */
struct cache_array {
    float **at;
    enum model_cache_part part;
    int64_t width;
};

/* Lays `count` arrays out, each in its part of the cache and there at a multiple of TENSOR_ALIGN
 * floats; where the cache is of NULLs it only counts. Returns their floats, floats[] (may be NULL)
 * those of each part. */
static inline int64_t cache_lay_out(const struct cache_array *arrays, int count,
                                    struct model_cache cache, int64_t floats[CACHE_PARTS],
                                    int64_t N)
{
    int64_t sum[CACHE_PARTS] = { 0 }, total = 0;
    for (int i = 0; i < count; i++) {
        float *begin = cache.part[arrays[i].part];
        int64_t size = (N * arrays[i].width + TENSOR_ALIGN - 1) / TENSOR_ALIGN * TENSOR_ALIGN;
        *arrays[i].at = begin ? begin + sum[arrays[i].part] : NULL;
        sum[arrays[i].part] += size;
        total += size;
    }
    if (floats)
        memcpy(floats, sum, sizeof sum);
    return total;
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
                                                        struct ops_factor, struct ops_factor,
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
