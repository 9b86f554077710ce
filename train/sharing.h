/*
 * sharing.h - what the ranks do together with the blocks of a store: they sum gradients, measure
 * their norm, and give each other the parameters that each has updated.
 *
 * An operation on a block begins when the block is ready, and goes on while others are computed.
 * Where ranks share something (layout.h), a rank gets the sum of its share alone, updates that, and
 * gets the other shares of the parameters from their ranks, unless those are shared, too. A norm
 * has the same bits however tensors are shared: squares are summed by pieces of LAYOUT_PIECE
 * elements, pieces are added to tensors, and tensors to the whole.
 *
 * All ranks call the same functions for the same blocks in the same order.
 */
#ifndef TEXTMILL_TRAIN_SHARING_H
#define TEXTMILL_TRAIN_SHARING_H

#include "train/comm.h"
#include "train/store.h"

struct sharing {
    struct comm *comm; /* these two borrowed */
    struct store *store;
    struct ops_array squares;     /* F64 [pieces]: sums of the gradients squared */
    int64_t *pieces;              /* [rows of the table + 1]: pieces of the tensors before */
    int64_t *piece_bounds;        /* [blocks][ranks+1]: pieces of the block before each share */
    struct sharing_work *pending; /* [blocks] */
};

void sharing_open(struct sharing *h, struct store *s, struct comm *c);
void sharing_close(struct sharing *h); /* fine on a zeroed struct */

/* Begins the sum of a block's gradients, which stay where they are until sharing_end_sums. Where
 * ranks share them it is that of a leaf: `to` and `merges` as store_sum's. */
void sharing_sum(struct sharing *h, int block, struct ops_array gradients);
void sharing_sum_leaf(struct sharing *h, int block, int to, int merges);
/* The gradients, or this rank's share of them, are the sums, and their squares are known. */
void sharing_end_sums(struct sharing *h);
/* Of all gradients. */
double sharing_squares(const struct sharing *h);

/* This rank's share of the block's parameters is new: begins to get the others. */
void sharing_gather(struct sharing *h, int block, struct ops_array parameters);
void sharing_end_gathers(struct sharing *h);

/* The same for all parameters, at once. */
void sharing_gather_all(struct sharing *h);

/* The first tensor in the order of the table that any rank says to be it; NULL where none does. */
const struct tensor *sharing_first(const struct sharing *h, const struct tensor *own);

#endif
