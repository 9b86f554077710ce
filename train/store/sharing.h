/*
 * sharing.h - the ranks' common work on the blocks of a store: they sum gradients, compute the norm
 * of the gradients, and exchange updated parameters.
 *
 * An operation on a block begins when the block is ready, and continues while other blocks are
 * computed. Where ranks share arrays (layout.h), each rank gets only its share of the sum, and
 * updates only its share of the parameters. Then it gets the other shares of the parameters from
 * the other ranks, unless the parameters are shared, too. The norm has the same bits however
 * tensors are shared: squares are summed in pieces of LAYOUT_PIECE elements, the sums of pieces are
 * added per tensor, and these sums give the total.
 *
 * All ranks must call the same functions for the same blocks in the same order.
 */
#pragma once

#include "train/ranks/comm.h"
#include "train/store/store.h"
#include "train/store/word_table.h"

struct sharing {
    struct comm *comm; /* borrowed, like `store` */
    struct store *store;
    struct ops_array squares; /* F64 [pieces]: sum of the squared gradients of each piece */
    int64_t *pieces;          /* [rows of the table + 1]: number of pieces before each tensor */
    int defers;         /* 1: the sums of blocks other than 0 are scattered to shares first, and
                         * gathered by sharing_gather_sums */
    struct layout cuts; /* the shares that sums give to ranks, if these share nothing */
    struct sharing_work *pending; /* [blocks] */
    struct word_table table;      /* operations on block 0 that are done in two parts */
};

void sharing_open(struct sharing *h, struct store *s, struct comm *c);
void sharing_close(struct sharing *h); /* fine on a zeroed struct */

/* Begins to sum the gradients of a block over the ranks; `gradients` must not be touched until
 * sharing_end_sums. Where ranks share gradients, call store_sum instead. */
void sharing_sum(struct sharing *h, int block, struct ops_array gradients);
/* Waits until the gradients, or this rank's share of them, are summed, and computes their
 * squares. */
void sharing_end_sums(struct sharing *h);
/* Begins to gather the sums of gradients, if ranks share no arrays. sharing_sum may have given each
 * rank only a share of a sum, because the whole sum is needed only for the update of the block.
 * Gathers the other shares for all blocks but block 0, whose sum is complete, and returns 1. Then
 * sharing_await of a block's parameters waits for the sum. Returns 0 if all sums are complete. */
int sharing_gather_sums(struct sharing *h);
/* Returns the sum of the squares of all gradients. */
double sharing_squares(const struct sharing *h);

/* Begins to get the other ranks' shares of `parameters`, the block's parameters, after this rank
 * has updated its own share. Of block 0, it may gather only the rows that the first group of the
 * next step uses (word_table.h). Then sharing_gather_table begins to gather all of block 0, after
 * the gathers of the layers. sharing_await waits until the array of use u can be used;
 * sharing_end_gathers waits for all blocks, and then they can be used in any way. */
void sharing_gather(struct sharing *h, int block, struct ops_array parameters);
void sharing_gather_table(struct sharing *h);
void sharing_await(struct sharing *h, const struct use *u);
void sharing_end_gathers(struct sharing *h);

/* Returns, on all ranks, the first of the tensors `own` in the order of the table; NULL if `own` is
 * NULL on every rank. Every rank calls it with a tensor of the table, or NULL. */
const struct tensor *sharing_first(const struct sharing *h, const struct tensor *own);
