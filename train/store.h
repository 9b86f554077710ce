/*
 * store.h - the arrays of a training (layout.h), to be used by whoever works on a block or a row.
 *
 * Whoever does fetches its array, uses it, and releases it; between release and the next fetch the
 * array may be anywhere, in memory or in a file. Arrays are F32 or BF16 as the layout says.
 */
#ifndef TEXTMILL_TRAIN_STORE_H
#define TEXTMILL_TRAIN_STORE_H

#include <stdint.h>

#include "model/ops.h"
#include "model/split.h"
#include "model/tensor.h"
#include "train/comm.h"
#include "train/layout.h"
#include "train/mapped.h"
#include "train/program.h"

struct store {
    struct ops *ops;                    /* borrowed */
    const struct tensor_table *tensors; /* borrowed: this rank's own, */
    const struct tensor_table *unsplit; /* the model's as a whole, */
    const struct split *split;          /* and who has it; NULL: this process */
    struct layout layout;
    struct ops_array *arrays[STORE_KINDS]; /* [count] */
    int *mapped_as[STORE_KINDS];           /* [count]: number in `mapped`, -1: in memory */
    struct mapped *mapped;                 /* NULL: no file */
    struct offload *offload;               /* in its place: the host's memory, on a GPU */
    struct shared *shared;                 /* in its place: the other ranks */
    int in_shared[STORE_BLOCKS];           /* the number there of a kind's first array */
    int fetched;                           /* arrays in use; 0 between steps */
};

/* All arrays are zero, but parameters: `parameters` [blocks] is *taken* (f32 arrays from
 * ops_buffer, as folder_load makes them); if NULL they are initialised from the seed. `config`
 * NULL: blocks' arrays alone, f32, in memory. */
int store_open(struct store *s, struct ops *o, const struct tensor_table *tensors,
               const struct store_config *config, struct ops_array *parameters, uint64_t seed);
void store_close(struct store *s); /* fine on a zeroed struct */

/* Array i of a kind: to read only, to change, or to make anew: then what it held may be lost. */
struct ops_array store_view(struct store *s, enum store_kind kind, int i);
struct ops_array store_fetch(struct store *s, enum store_kind kind, int i);
struct ops_array store_make(struct store *s, enum store_kind kind, int i);
void store_release(struct store *s, enum store_kind kind, int i);

/* The last release of an array whose numbers are of no use any more: it need not go anywhere. */
void store_drop(struct store *s, enum store_kind kind, int i);

/* This rank's share of array i (layout.h), to read or to change; of one process all of it. */
struct ops_array store_fetch_own(struct store *s, enum store_kind kind, int i, enum mapped_use use);
void store_release_own(struct store *s, enum store_kind kind, int i);

/* Where ranks share gradients or parameters: before the first use of those arrays. Borrowed. */
void store_join(struct store *s, struct comm *c);

/* Where ranks share gradients: begins the sum of block `block`'s, which ends in this rank's share
 * of array `to`; `merges`: program.h. store_end_sums ends them all. */
void store_sum(struct store *s, int block, int to, int merges);
void store_end_sums(struct store *s);

/* The same for what a phase uses: its array, its end, and that it comes soon, so that the array may
 * be read meanwhile. */
struct ops_array store_begin(struct store *s, const struct use *u);
void store_end(struct store *s, const struct use *u);
void store_expect(struct store *s, const struct use *u);

/* Tensor `row` in its block's array, or the part of it in this rank's share (layout_own) in the
 * block's share; none: it has none of that kind. */
struct ops_array store_tensor(const struct store *s, enum store_kind kind, struct ops_array array,
                              size_t row);
struct ops_array store_own_tensor(const struct store *s, enum store_kind kind, struct ops_array own,
                                  size_t row);
/* Where the part of tensor `row` that rank `rank` of the split has lies in the whole one. */
struct split_runs store_runs(const struct store *s, size_t row, int rank);
int store_is_split(const struct store *s, size_t row); /* the rank has a part of it alone */

int store_check(struct store *s); /* -1 with an error when the disk has failed */
struct mapped_traffic store_traffic(const struct store *s); /* zero without a file */

/* All arrays of a kind at once, or of what ranks share this one's shares, for saving; until the
 * next fetch. */
const struct ops_array *store_all(const struct store *s, enum store_kind kind);

#endif
