/*
 * sharing.h - the ranks' common work on the blocks of a store: they sum gradients, compute the norm
 * of the gradients, and exchange updated parameters.
 *
 * An operation on a block begins when the block is ready, and continues while other blocks are
 * computed. Where ranks share arrays (layout.h), each rank gets the sum of its share only and
 * updates that. It then gets the other shares of the parameters from their ranks, unless the
 * parameters are shared, too. The norm has the same bits however tensors are shared: squares are
 * summed in pieces of LAYOUT_PIECE elements, the pieces are added to sums of tensors, and these to
 * the whole sum.
 *
 * All ranks must call the same functions for the same blocks in the same order.
 */
#ifndef TEXTMILL_TRAIN_SHARING_H
#define TEXTMILL_TRAIN_SHARING_H

#include "train/comm.h"
#include "train/store.h"

struct sharing {
    struct comm *comm; /* borrowed, like `store` */
    struct store *store;
    struct ops_array squares; /* F64 [pieces]: sum of the squared gradients of each piece */
    int64_t *pieces;          /* [rows of the table + 1]: number of pieces before each tensor */
    int64_t *piece_bounds; /* [blocks][ranks+1]: number of pieces of the block before each share */
    struct sharing_work *pending; /* [blocks] */
};

void sharing_open(struct sharing *h, struct store *s, struct comm *c);
void sharing_close(struct sharing *h); /* fine on a zeroed struct */

/* Begin the sum of a block's gradients. sharing_sum: the gradients must stay where they are until
 * sharing_end_sums. sharing_sum_leaf: the sum of one leaf, where ranks share gradients; `to` and
 * `merges` are those of store_sum. */
void sharing_sum(struct sharing *h, int block, struct ops_array gradients);
void sharing_sum_leaf(struct sharing *h, int block, int to, int merges);
/* Waits until the gradients, or this rank's share of them, are summed, and computes their
 * squares. */
void sharing_end_sums(struct sharing *h);
/* Returns the sum of the squares of all gradients. */
double sharing_squares(const struct sharing *h);

/* Begins to get the other ranks' shares of the block's parameters, after this rank updated its
 * own. */
void sharing_gather(struct sharing *h, int block, struct ops_array parameters);
void sharing_end_gathers(struct sharing *h);

/* Gets the other ranks' shares of all parameters, and waits for them. */
void sharing_gather_all(struct sharing *h);

/* Returns the first tensor, in the order of the table, among the `own` of all ranks. `own` NULL:
 * none. */
const struct tensor *sharing_first(const struct sharing *h, const struct tensor *own);

#endif
