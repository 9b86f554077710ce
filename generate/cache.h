/*
 * cache.h - runs a decoder forward and keeps its keys and values, so that a further token costs the
 * work of one position instead of the whole text.
 *
 *     cache_init(&c, &model, ops, blocks);
 *     logits = cache_forward(&c, prompt, n);       the whole prompt at once
 *     logits = cache_forward(&c, &next, 1);        then a token at a time
 *
 * Memory: 2 * layers * KV * HS floats per position, for KV key/value heads of width HS. The number
 * of positions is rounded up to a power of two. The buffers of the longest forward run come on top.
 * Positions are absolute, as in training; a full cache takes no more tokens.
 */
#ifndef TEXTMILL_GENERATE_CACHE_H
#define TEXTMILL_GENERATE_CACHE_H

#include <stdint.h>

#include "model/forward.h"

struct cache {
    struct forward forward;
    struct past past;      /* past.used: number of positions filled */
    struct inputs inputs;  /* the last tokens taken */
    struct ops_array last; /* [V]: logits */
    float *logits;         /* [V]: their copy in host memory */
};

/* Initialises an empty cache. Model, ops and blocks (made by folder_load) are borrowed. */
void cache_init(struct cache *c, const struct model *m, struct ops *o,
                const struct ops_array *blocks);
void cache_release(struct cache *c); /* does nothing for a zeroed one */

/* Appends n >= 1 tokens and returns the logits [V] for the token after the last one. The logits
 * belong to the cache and are valid until the next call; the caller may change them. Returns NULL
 * with an error if the tokens do not fit into the positions left or are not in the vocabulary. */
float *cache_forward(struct cache *c, const uint32_t *ids, int64_t n);

/* Forgets all positions from `used` on. */
void cache_truncate(struct cache *c, int64_t used);

/* Replaces the contents by the first positions of another cache of the same model. */
void cache_copy(struct cache *to, const struct cache *from, int64_t positions);

/* cache_get copies the keys and the values of all positions [L,used,KV*HS] to host memory.
 * cache_set replaces the contents by n positions in this form. cache_numbers returns the number of
 * floats in the keys of n positions. */
int64_t cache_numbers(const struct cache *c, int64_t n);
void cache_get(const struct cache *c, float *keys, float *values);
void cache_set(struct cache *c, int64_t n, const float *keys, const float *values);

#endif
