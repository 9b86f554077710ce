/*
 * block.h - what the blocks of GPT and BERT do alike: a layer's cache laid out, dropout at a place
 * of the model and its way back into a residual branch, and the maps and norms of a block.
 */
#ifndef TEXTMILL_BLOCK_H
#define TEXTMILL_BLOCK_H

#include <string.h>

#include "common/rng.h"
#include "model/model.h"

/* An array of a layer's cache, N rows of `width` numbers. */
struct cache_array {
    struct ops_array *at;
    enum model_cache_part part;
    int64_t width;
};

/* Lays `count` arrays out, each in its part of the cache and there at a multiple of TENSOR_ALIGN
 * numbers; where the cache is of none it only counts. Returns their numbers, numbers[] (may be
 * NULL) those of each part. */
static inline int64_t cache_lay_out(const struct cache_array *arrays, int count,
                                    struct model_cache cache, int64_t numbers[CACHE_PARTS],
                                    int64_t N)
{
    int64_t sum[CACHE_PARTS] = { 0 }, total = 0;
    for (int i = 0; i < count; i++) {
        int64_t size = (N * arrays[i].width + TENSOR_ALIGN - 1) / TENSOR_ALIGN * TENSOR_ALIGN;
        *arrays[i].at = ops_part(cache.part[arrays[i].part], sum[arrays[i].part]);
        sum[arrays[i].part] += size;
        total += size;
    }
    if (numbers)
        memcpy(numbers, sum, sizeof sum);
    return total;
}

/* The mask of one place (each model numbers its own) in one layer. */
static inline struct ops_dropout dropout_at(const struct inputs *in, double rate, int64_t layer,
                                            int place)
{
    uint64_t key = rng_key(rng_key(in->key, (uint64_t)layer), (uint64_t)place);
    return (struct ops_dropout){ key, in->training ? rate : 0 };
}

/* The gradient that enters a residual branch of n numbers: dx itself where nothing was dropped. */
static inline struct ops_array branch_gradient(struct ops *o, struct ops_array masked,
                                               struct ops_array dx, int64_t n,
                                               struct ops_dropout drop)
{
    if (drop.rate == 0)
        return dx;
    ops_dropout(o, masked, dx, n, drop);
    return masked;
}

/* Where backward leaves an activation's output: in the place of its input, if that can be. */
static inline struct ops_array active_array(struct ops *o, struct ops_array x, int64_t n)
{
    return x.type == ops_operand(o) ? x : ops_scratch(o, ops_operand(o), n);
}

/* No gradient is wanted. */
static inline struct ops_gradient no_gradient(void)
{
    return (struct ops_gradient){ 0 };
}

static const struct ops_moments not_kept = { 0 };

#endif
