/*
 * cache.h - a GPT run forward with its keys and values kept, so that each further token costs
 * one position's work instead of the whole text's.
 *
 *     cache_init(&c, &model, ops, blocks);
 *     logits = cache_forward(&c, prompt, n);       the whole prompt at once
 *     logits = cache_forward(&c, &next, 1);        then a token at a time
 *
 * Memory: 2 * layers * positions * width floats, and the context's scratch for the longest piece.
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
    struct ops_embedding tables;
    struct ops_norm norm;          /* of the head */
    struct ops_array keys, values; /* [L,positions,C] */
    struct ops_array ids;          /* U32 [positions]: those of a piece */
    struct ops_array last;         /* [V]: logits */
    float *logits;                 /* [V]: the host's */
    int64_t used;                  /* positions filled */
};

/* blocks: the parameters as folder_load makes them. -1 when the model lacks a GPT's tensors. */
int cache_init(struct cache *c, const struct model *m, struct ops *o,
               const struct ops_array *blocks);
void cache_release(struct cache *c); /* fine on a zeroed one */

/* Takes n >= 1 tokens after those before and returns the logits [V] of what follows the last,
 * the cache's until the next call; the caller may change them. NULL when the tokens do not fit
 * in the positions left or are not in the vocabulary. */
float *cache_forward(struct cache *c, const uint32_t *ids, int64_t n);

/* Forgets all positions from `used` on. */
void cache_truncate(struct cache *c, int64_t used);

#endif
