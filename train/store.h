/*
 * store.h - where a model's four arrays per block live: parameters, gradients, and the two
 * moments of AdamW, each laid out by the tensor table (model/tensor.h).
 *
 * Whoever works on a block fetches its array, uses it, and releases it; between release and the
 * next fetch the array may be anywhere. Here all arrays stay in memory, so that fetch finds
 * them and release has nothing to put back; the pairs mark the phases, and a store over
 * memory-mapped files needs nothing else from its callers.
 */
#ifndef TEXTMILL_STORE_H
#define TEXTMILL_STORE_H

#include <stdint.h>

#include "model/ops.h"
#include "model/tensor.h"

enum store_kind { STORE_PARAMETERS, STORE_GRADIENTS, STORE_MOMENT1, STORE_MOMENT2, STORE_KINDS };

struct store {
    struct ops *ops;                    /* borrowed */
    const struct tensor_table *tensors; /* borrowed */
    float **arrays[STORE_KINDS];        /* [blocks] each */
    int fetched;                        /* arrays in use; 0 between steps */
};

/* All arrays zero, but parameters: `parameters` [blocks] is *taken* (arrays from ops_buffer, as
 * folder_load makes them); if NULL they are initialised from the seed. */
void store_open(struct store *s, struct ops *o, const struct tensor_table *tensors,
                float **parameters, uint64_t seed);
void store_close(struct store *s); /* fine on a zeroed struct */

float *store_fetch(struct store *s, enum store_kind kind, int block);
void store_release(struct store *s, enum store_kind kind, int block);

/* All blocks' arrays of a kind at once, for saving; until the next fetch. */
float *const *store_all(const struct store *s, enum store_kind kind);

/* Bytes of one kind, padding included. */
uint64_t store_bytes(const struct tensor_table *tensors);

#endif
