/*
 * store.h - the arrays of a training (layout.h), fetched and released by block or row.
 *
 * Code that uses an array fetches it and releases it afterwards. Between a release and the next
 * fetch the array may be anywhere, in memory or in a file. Arrays are F32 or BF16 as the layout
 * says.
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
    const struct tensor_table *tensors; /* borrowed: table of this rank's part of the model */
    const struct tensor_table *unsplit; /* table of the whole model */
    const struct split *split;          /* the ranks that share it; NULL: this process has all */
    struct layout layout;
    struct ops_array *arrays[STORE_KINDS]; /* [count] */
    int *mapped_as[STORE_KINDS];           /* [count]: number in `mapped`, -1: in memory */
    struct mapped *mapped;                 /* the file; NULL: none */
    struct offload *offload;               /* instead of the file: the host's memory, on a GPU */
    struct shared *shared;                 /* instead of the file: the other ranks */
    int in_shared[STORE_BLOCKS];           /* number in `shared` of the first array of each kind */
    int fetched;                           /* arrays in use; 0 between steps */
};

/* Opens a store. Its arrays are zero, except the parameters. The store takes ownership of
 * `parameters` [blocks], f32 arrays from ops_buffer such as those of folder_load. If it is NULL,
 * parameters are initialised from the seed. `config` NULL: only blocks' arrays, f32, in memory.
 * Returns -1 with an error. */
int store_open(struct store *s, struct ops *o, const struct tensor_table *tensors,
               const struct store_config *config, struct ops_array *parameters, uint64_t seed);
void store_close(struct store *s); /* fine on a zeroed struct */

/* Fetch array i of a kind: store_view to read only, store_fetch to change, store_make to write anew
 * (its old contents may be lost). */
struct ops_array store_view(struct store *s, enum store_kind kind, int i);
struct ops_array store_fetch(struct store *s, enum store_kind kind, int i);
struct ops_array store_make(struct store *s, enum store_kind kind, int i);
void store_release(struct store *s, enum store_kind kind, int i);

/* Releases an array whose contents are not needed any more, so it need not be written. */
void store_drop(struct store *s, enum store_kind kind, int i);

/* Fetches this rank's share of array i (layout.h). In a run of one process, that is the whole
 * array. */
struct ops_array store_fetch_own(struct store *s, enum store_kind kind, int i, enum mapped_use use);
void store_release_own(struct store *s, enum store_kind kind, int i);

/* Sets the other ranks, borrowed. If ranks share gradients or parameters, it must be called before
 * the first use of these arrays. */
void store_join(struct store *s, struct comm *c);

/* If ranks share gradients: begins the sum of the gradients of block `block`, whose result goes to
 * this rank's share of array `to`; `merges` is that of program.h. store_end_sums waits for all
 * sums. */
void store_sum(struct store *s, int block, int to, int merges);
void store_end_sums(struct store *s);

/* Fetch and release an array as a phase uses it. store_expect says that the phase will come soon,
 * so the array may be read ahead. */
struct ops_array store_begin(struct store *s, const struct use *u);
void store_end(struct store *s, const struct use *u);
void store_expect(struct store *s, const struct use *u);

/* Return tensor `row` within its block's array, or the part of it in this rank's share (layout_own)
 * within the block's share. Return no array if the tensor has none of that kind. */
struct ops_array store_tensor(const struct store *s, enum store_kind kind, struct ops_array array,
                              size_t row);
struct ops_array store_own_tensor(const struct store *s, enum store_kind kind, struct ops_array own,
                                  size_t row);
/* Returns the positions, in the whole tensor `row`, of the part that rank `rank` of the split
 * has. */
struct split_runs store_runs(const struct store *s, size_t row, int rank);
int store_is_split(const struct store *s, size_t row); /* the rank has only a part of it */

int store_check(struct store *s); /* -1 with an error when the disk has failed */
struct mapped_traffic store_traffic(const struct store *s); /* zero without a file */

/* Returns all arrays of a kind at once, for saving; of shared arrays, this rank's shares. They are
 * valid until the next fetch. */
const struct ops_array *store_all(const struct store *s, enum store_kind kind);

#endif
