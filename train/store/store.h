/*
 * store.h - the arrays of a training (layout.h), fetched and released by block or row.
 *
 * Code that uses an array fetches it and releases it afterwards. Between a release and the next
 * fetch the array may be anywhere, in memory or in a file. Arrays are F32 or BF16 as the layout
 * says.
 */
#pragma once

#include "model/compute/ops.h"
#include "model/network/split.h"
#include "model/network/tensor.h"
#include "train/program/program.h"
#include "train/store/layout.h"
#include "train/store/mapped.h"
#include "train/store/shared.h"

struct store {
    struct ops *ops;                    /* borrowed */
    const struct tensor_table *tensors; /* borrowed: table of this rank's part of the model */
    const struct tensor_table *unsplit; /* table of the whole model */
    const struct split *split;          /* the tensor-parallel ranks that share the model; NULL:
                                         * this process has all of it */
    struct layout layout;
    struct spot *spots[STORE_KINDS];     /* [count]: where this rank's arrays, or its shares, are */
    struct spot *gathered[STORE_BLOCKS]; /* [count]: where the whole arrays are that ranks share;
                                          * NULL: in `spots` */
    struct mapped *mapped;               /* the file; NULL: none */
    struct offload *offload;             /* on a GPU: the arrays in the host's memory, and those
                                          * in the file */
    struct shared *shared;               /* with ZeRO: the arrays that ranks share */
    int moves;   /* 1: the run has a file or `offload`, so arrays of some ranks may
                  * move between uses */
    int fetched; /* arrays in use; 0 between steps */
};

/* Where a store gets its parameters from. `read` sets *parameters to a new f32 array of ops_buffer,
 * which the store takes over. It has the elements `part` of a block: all of the block or, where
 * ranks share the parameters, this rank's share. `read` is called once for each block of which this
 * rank has elements, in order. Returns 0, or -1 with an error. */
struct store_source {
    int (*read)(void *ctx, int block, struct split_part part, struct ops_array *parameters);
    void *ctx;
};

/* Opens a store. All arrays but the parameters are zero at first. The parameters come from `from`,
 * one block at a time, so a rank that keeps shares never has the whole model in memory. If `from`
 * is NULL, they are initialised with random numbers from `seed`. Returns 0, or -1 with an error. */
int store_open(struct store *s, struct ops *o, const struct tensor_table *tensors,
               const struct store_config *c, const struct store_source *from, uint64_t seed);
void store_close(struct store *s); /* fine on a zeroed struct */

/* Returns array i of a kind or, with `own` 1, this rank's share of it (layout.h), in a run of one
 * process the whole array. The caller must release it. `mode`: how it is used (program.h). */
struct ops_array store_fetch(struct store *s, enum store_kind kind, int i, enum use_mode mode,
                             int own);
void store_release(struct store *s, enum store_kind kind, int i, int own);

/* Only if ranks share gradients: begins to sum the gradients of block `block` over the ranks; this
 * rank's share of the sum goes to its share of gradient array `to`. Then that share is added to the
 * sum that waits below it on the stack of sums, and so on, `merges` times (program.h).
 * sharing_end_sums waits until all sums have ended. */
void store_sum(struct store *s, int block, int to, int merges);

/* store_begin fetches an array as the use `u` of a phase says, and store_end releases it.
 * store_expect says that the phase will come soon, so the array may be read ahead. */
struct ops_array store_begin(struct store *s, const struct use *u);
void store_end(struct store *s, const struct use *u);
void store_expect(struct store *s, const struct use *u);

/* store_tensor returns tensor `row` within `array`, its block's array of that kind.
 * store_own_tensor returns the part of the tensor that is in this rank's share (layout_own), within
 * `own`, the share of that array. Both return OPS_NONE if the kind has no such tensor. */
struct ops_array store_tensor(const struct store *s, enum store_kind kind, struct ops_array array,
                              size_t row);
struct ops_array store_own_tensor(const struct store *s, enum store_kind kind, struct ops_array own,
                                  size_t row);
/* Returns which elements of the whole tensor `row` the tensor-parallel rank `rank` has. */
struct split_runs store_runs(const struct store *s, size_t row, int rank);

/* Returns 1 if this tensor-parallel rank has only a part of the tensor, else 0. */
int store_is_split(const struct store *s, size_t row);
/* Returns 1 if a sum over the parts of tensor `row` must include the part of tensor-parallel rank
 * `rank`, else 0 (split_counts). */
int store_counts(const struct store *s, size_t row, int rank);

/* Returns 0, or -1 with an error if a write to the file has failed. */
int store_check(struct store *s);
