/*
 * cache.h - a GPT run forward with its keys and values kept, so that each further token costs
 * one position's work instead of the whole text's.
 *
 *     cache_init(&c, &model, ops, blocks);
 *     logits = cache_forward(&c, prompt, n);       the whole prompt at once
 *     logits = cache_forward(&c, &next, 1);        then a token at a time
 *
 * Memory: 2 * layers * positions * width floats, and scratch for the longest piece given.
 * Positions are absolute, as the model learned them; a full cache takes no more tokens.
 */
#ifndef TEXTMILL_CACHE_H
#define TEXTMILL_CACHE_H

#include <stdint.h>

#include "model/model.h"

struct cache_layer; /* where a layer's parameters are */

struct cache {
    const struct model *model; /* borrowed, as are ops and the parameters */
    struct ops *ops;
    struct cache_layer *layers;
    const float *token_table, *position_table, *final_gain, *final_bias;
    float *keys, *values; /* [L,positions,C] */
    float *logits;        /* [V] */
    int64_t used;         /* positions filled */

    int64_t rows; /* that the scratch holds */
    float *scratch;
};

/* blocks: the parameters as folder_load makes them. -1 when the model lacks a GPT's tensors. */
int cache_init(struct cache *c, const struct model *m, struct ops *o, float *const *blocks);
void cache_release(struct cache *c); /* fine on a zeroed one */

/* Takes n >= 1 tokens after those before and returns the logits [V] of what follows the last,
 * the cache's until the next call; the caller may change them. NULL when the tokens do not fit
 * in the positions left or are not in the vocabulary. */
float *cache_forward(struct cache *c, const uint32_t *ids, int64_t n);

/* Forgets all positions from `used` on. */
void cache_truncate(struct cache *c, int64_t used);

#endif
