/*
 * store.h - where a model's arrays per block live: parameters, gradients, and the optimizer's
 * moments. Parameters and gradients are laid out by the tensor table (model/tensor.h), moments
 * likewise, but for the tensors that the optimizer keeps none of: these take no place. Moments may
 * be bf16, for half the memory, traffic and disk.
 *
 * Whoever works on a block fetches its array, uses it, and releases it; between release and the
 * next fetch the array may be anywhere. All arrays are in memory, or some of them in a file
 * (mapped.h) that gives and takes them phase by phase; which ones follows from how much memory
 * the store may have. What is used most in a step stays in memory: first the embedding's
 * parameters and gradients, then the gradients, parameters and moments of the other blocks.
 */
#ifndef TEXTMILL_STORE_H
#define TEXTMILL_STORE_H

#include <stdint.h>

#include "model/ops.h"
#include "model/tensor.h"
#include "train/mapped.h"

enum store_kind { STORE_PARAMETERS, STORE_GRADIENTS, STORE_MOMENT1, STORE_MOMENT2, STORE_KINDS };

struct store {
    struct ops *ops;                    /* borrowed */
    const struct tensor_table *tensors; /* borrowed */
    float **arrays[STORE_KINDS];        /* [blocks] each */
    int64_t *offset[STORE_KINDS];       /* [rows]: elements to a tensor in its block's array; -1:
                                         * none */
    int64_t *size[STORE_KINDS];         /* [blocks]: floats */
    struct mapped *mapped;              /* array kind * blocks + block, or empty; NULL: no file */
    int fetched;                        /* arrays in use; 0 between steps */
    int half;                           /* moments are bf16: two in the place of a float */
};

struct store_config {
    const unsigned char *moments; /* [rows]: how many the optimizer has of each tensor, 0 to 2;
                                   * NULL: 2 */
    int half;                     /* moments are kept as bf16 */
    const char *dir;              /* for the file; NULL: all in memory */
    uint64_t memory_bytes;        /* with dir: what the store may have; 0: as little as it can */
};

/* What lives where. */
struct store_plan {
    uint64_t kind_bytes[STORE_KINDS]; /* padding included */
    uint64_t memory_bytes;            /* of arrays that stay in memory */
    uint64_t file_bytes;              /* of the others */
    uint64_t window_bytes;            /* most of these that is resident at a time */
};
/* -1 with an error when memory_bytes is less than any plan needs. */
int store_plan(struct store_plan *p, const struct tensor_table *tensors,
               const struct store_config *c);

/* `config` NULL: all in memory. All arrays are zero, but parameters: `parameters` [blocks] is
 * *taken* (arrays from ops_buffer, as folder_load makes them); if NULL they are initialised from
 * the seed. */
int store_open(struct store *s, struct ops *o, const struct tensor_table *tensors,
               const struct store_config *config, float **parameters, uint64_t seed);
void store_close(struct store *s); /* fine on a zeroed struct */

float *store_fetch(struct store *s, enum store_kind kind, int block);
const float *store_view(struct store *s, enum store_kind kind, int block); /* to read only */
void store_release(struct store *s, enum store_kind kind, int block);

/* The moment of tensor `row` in its block's array, which is fetched: floats, or halves where the
 * store has these; NULL: none. */
void *store_moment(const struct store *s, enum store_kind kind, float *array, size_t row);

/* A store_fetch or store_view of it comes soon: it may be read meanwhile. Blocks that there are
 * not (-1, or beyond the last) are nothing. */
void store_expect(struct store *s, enum store_kind kind, int block, enum mapped_use use);

/* Sets an array, which is not in use, to zero. */
void store_zero(struct store *s, enum store_kind kind, int block);

int store_check(struct store *s); /* -1 with an error when the disk has failed */
struct mapped_traffic store_traffic(const struct store *s); /* zero without a file */

/* All blocks' arrays of a kind at once, for saving; until the next fetch. */
float *const *store_all(const struct store *s, enum store_kind kind);

#endif
