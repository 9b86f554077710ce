/*
 * cache.h - runs a decoder forward and keeps the keys and values of each text, so that a further
 * token costs the work of one position instead of the whole text.
 *
 *     decoder_init(&d, &model, ops, blocks, OPS_F32);
 *     cache_init(&c, &d);                             one for each text
 *     logits = cache_forward(&c, prompt, n);          the whole prompt
 *     logits = decoder_step(&d, texts, next, 5);      then a token of each of five texts at a time
 *
 * A step reads the weights once for all texts (or for each OPS_FEW_ROWS of them). On the CPU a text
 * gets the same bits whatever other texts are in the step.
 *
 * Memory: 2 * layers * KV * HS numbers per position, for KV key/value heads of width HS. Room is
 * for 64 positions, doubled as needed up to the model's. The buffers of a forward run are extra; it
 * takes at most CACHE_PIECE tokens of a prompt, so that their size has a bound. Positions are
 * absolute, as in training; a full cache takes no more tokens.
 */
#pragma once

#include "model/network/forward.h"

/* What all texts of a model share. */
struct decoder {
    struct forward forward;
    enum ops_type type;      /* of keys and values: F32 or BF16 */
    struct inputs inputs;    /* the last tokens taken */
    struct ops_past *pasts;  /* [room] */
    struct ops_array last;   /* [room,V]: logits */
    struct ops_array copied; /* their copy in host memory; OPS_NONE if they are there */
    float *logits;           /* [room,V]: the numbers of `copied`, or NULL */
    int64_t room;            /* in texts */
    int64_t first;           /* row of `last` that a run begins to write; 0 except on the CPU */
};

/* Initialises a decoder. Model, ops and blocks (made by folder_load) are borrowed. `type` is the
 * type of keys and values. */
void decoder_init(struct decoder *d, const struct model *m, struct ops *o,
                  const struct ops_array *blocks, enum ops_type type);
void decoder_release(struct decoder *d); /* does nothing for a zeroed struct */

enum { CACHE_PIECE = 1024 };

/* The keys and values of one text. */
struct cache {
    struct decoder *d;    /* borrowed; must not move */
    struct ops_past past; /* past.used: number of positions filled */
};

void cache_init(struct cache *c, struct decoder *d); /* an empty cache */
void cache_release(struct cache *c);                 /* does nothing for a zeroed struct */

/* Runs the model on n >= 1 further tokens of the text and returns the logits [V] for the token
 * after the last one. The logits belong to the decoder and are valid until its next run; the caller
 * may change them. Returns NULL with an error if the tokens do not fit into the positions left or
 * are not in the vocabulary. */
float *cache_forward(struct cache *c, const uint32_t *ids, int64_t n);

/* Runs the model on one further token of each of n different texts of the decoder: ids[i] follows
 * texts[i]. Returns the logits [n,V] for the tokens after these; they are valid until the decoder's
 * next run, and the caller may change them. Returns NULL with an error in the cases of
 * cache_forward; then no text is changed. */
float *decoder_step(struct decoder *d, struct cache *const *texts, const uint32_t *ids, int64_t n);

/* Removes all positions from `used` on from the cache. */
void cache_truncate(struct cache *c, int64_t used);

/* Replaces the contents of `to` by the first `positions` positions of another cache of the same
 * decoder. */
void cache_copy(struct cache *to, const struct cache *from, int64_t positions);

/* cache_get copies the keys and the values of all positions to host memory, each as [L,used,KV*HS]
 * floats. cache_set replaces the contents by n positions in this form. cache_numbers returns the
 * number of floats in the keys of n positions. */
int64_t cache_numbers(const struct cache *c, int64_t n);
void cache_get(const struct cache *c, float *keys, float *values);
void cache_set(struct cache *c, int64_t n, float *keys, float *values);
