/*
 * store.h - where a model's arrays per block live: parameters, gradients, and the optimizer's
 * moments. Parameters and gradients are laid out by the tensor table (model/tensor.h), moments
 * likewise, but for the tensors that the optimizer keeps none of: these take no place.
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
    int64_t *offset[STORE_KINDS];       /* [rows]: of a tensor in its block's array; -1: none */
    int64_t *size[STORE_KINDS];         /* [blocks]: floats */
    int fetched;                        /* arrays in use; 0 between steps */
};

/* moments[rows]: how many the optimizer has of each tensor, 0 to 2; NULL: 2. All arrays are zero,
 * but parameters: `parameters` [blocks] is *taken* (arrays from ops_buffer, as folder_load makes
 * them); if NULL they are initialised from the seed. */
void store_open(struct store *s, struct ops *o, const struct tensor_table *tensors,
                const unsigned char *moments, float **parameters, uint64_t seed);
void store_close(struct store *s); /* fine on a zeroed struct */

float *store_fetch(struct store *s, enum store_kind kind, int block);
void store_release(struct store *s, enum store_kind kind, int block);

/* All blocks' arrays of a kind at once, for saving; until the next fetch. */
float *const *store_all(const struct store *s, enum store_kind kind);

/* Bytes of one kind, padding included, with the same `moments`. */
uint64_t store_bytes(const struct tensor_table *tensors, const unsigned char *moments,
                     enum store_kind kind);

#endif
