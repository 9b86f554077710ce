/*
 * store.h - the arrays of a training (layout.h), to be used by whoever works on a block or a row.
 *
 * Whoever does fetches its array, uses it, and releases it; between release and the next fetch the
 * array may be anywhere, in memory or in a file, and in bf16. A fetch gives floats: the array
 * itself, or a working copy of one that is kept as bf16, which goes back to the nearest when it is
 * released. All arrays of one kind and number are one to all who have fetched it.
 */
#ifndef TEXTMILL_STORE_H
#define TEXTMILL_STORE_H

#include <stdint.h>

#include "model/ops.h"
#include "model/tensor.h"
#include "train/layout.h"
#include "train/mapped.h"

/* f32 in which an array kept as bf16 is used. */
struct store_copy {
    float *data;
    int array; /* whose it is; -1: nobody's */
    int users, changed;
};

struct store {
    struct ops *ops;                    /* borrowed */
    const struct tensor_table *tensors; /* borrowed */
    struct layout layout;
    void **arrays[STORE_KINDS];  /* [count]: floats, or halves by the layout's form */
    int *mapped_as[STORE_KINDS]; /* [count]: number in `mapped`, -1: in memory */
    struct store_copy copies[STORE_KINDS][STORE_COPIES];
    struct mapped *mapped; /* NULL: no file */
    int fetched;           /* arrays in use; 0 between steps */
};

/* All arrays are zero, but parameters: `parameters` [blocks] is *taken* (f32 arrays from
 * ops_buffer, as folder_load makes them); if NULL they are initialised from the seed. `config`
 * NULL: blocks' arrays alone, f32, in memory. */
int store_open(struct store *s, struct ops *o, const struct tensor_table *tensors,
               const struct store_config *config, float **parameters, uint64_t seed);
void store_close(struct store *s); /* fine on a zeroed struct */

/* Array i of a kind: to read only, to change, or to make anew: then what it held may be lost. */
const float *store_view(struct store *s, enum store_kind kind, int i);
float *store_fetch(struct store *s, enum store_kind kind, int i);
float *store_make(struct store *s, enum store_kind kind, int i);
void store_release(struct store *s, enum store_kind kind, int i);

/* The last release of an array whose numbers are of no use any more: it need not go anywhere. */
void store_drop(struct store *s, enum store_kind kind, int i);

/* The array as it is kept, floats or halves, to change; until store_release or store_drop. */
void *store_hold(struct store *s, enum store_kind kind, int i);

/* A fetch of it comes soon: it may be read meanwhile. Arrays that there are not (-1, or beyond the
 * last) are nothing. */
void store_expect(struct store *s, enum store_kind kind, int i, enum mapped_use use);

static inline int store_is_half(const struct store *s, enum store_kind kind)
{
    return s->layout.form[kind] == STORE_HALF;
}

/* The place of tensor `row` in its block's array as it is kept; NULL: there is none. */
void *store_tensor(const struct store *s, enum store_kind kind, void *array, size_t row);

int store_check(struct store *s); /* -1 with an error when the disk has failed */
struct mapped_traffic store_traffic(const struct store *s); /* zero without a file */

/* All arrays of a kind at once as they are kept, for saving; until the next fetch. */
void *const *store_all(const struct store *s, enum store_kind kind);

#endif
