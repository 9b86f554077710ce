/*
 * cache.h - a decoder run forward with its keys and values kept, so that each further token costs
 * one position's work instead of the whole text's.
 *
 *     cache_init(&c, &model, ops, blocks);
 *     logits = cache_forward(&c, prompt, n);       the whole prompt at once
 *     logits = cache_forward(&c, &next, 1);        then a token at a time
 *
 * Memory, with KV heads of keys and values, HS wide: 2 * layers * KV * HS floats a position, for as
 * many positions as were used, rounded up to a power of two; and what the longest piece takes.
 * Positions are absolute, as the model learned them; a full cache takes no more tokens.
 */
#ifndef TEXTMILL_GENERATE_CACHE_H
#define TEXTMILL_GENERATE_CACHE_H

#include <stdint.h>

#include "model/forward.h"

struct cache {
    struct forward forward;
    struct past past;      /* past.used: positions filled */
    struct inputs inputs;  /* the last tokens taken */
    struct ops_array last; /* [V]: logits */
    float *logits;         /* [V]: the host's */
};

/* Model, ops and blocks (as folder_load makes them) are borrowed. */
void cache_init(struct cache *c, const struct model *m, struct ops *o,
                const struct ops_array *blocks);
void cache_release(struct cache *c); /* fine on a zeroed one */

/* Takes n >= 1 tokens after those before and returns the logits [V] of what follows the last,
 * the cache's until the next call; the caller may change them. NULL when the tokens do not fit
 * in the positions left or are not in the vocabulary. */
float *cache_forward(struct cache *c, const uint32_t *ids, int64_t n);

/* Forgets all positions from `used` on. */
void cache_truncate(struct cache *c, int64_t used);

/* Forgets all, and takes the first positions of another cache of the same model. */
void cache_copy(struct cache *to, const struct cache *from, int64_t positions);

/* Keys and values of all positions [L,used,KV*HS] in the host's memory; and n positions set to
 * such. cache_numbers: how many numbers the keys of n positions are. */
int64_t cache_numbers(const struct cache *c, int64_t n);
void cache_get(const struct cache *c, float *keys, float *values);
void cache_set(struct cache *c, int64_t n, const float *keys, const float *values);

#endif
