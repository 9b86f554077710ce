/*
 * table_sum.h - sums the gradients of a tied table over the data-parallel ranks in two parts, so
 * that most of the sum goes on during the backward pass of the layers.
 *
 * The table has gradients of the head and of the embedding. Those of the head are complete before
 * the backward pass of the layers begins. Those of the embedding come at its end, but they change
 * only a few rows: those of the words in the last group of micro-batches (program.h). So the whole
 * table is summed first, after the head. This sum is wrong in the rows of words that any rank has
 * in its last group. These rows are kept aside before it and put back after it. The embedding adds
 * to them, and then they are summed again, together with the other tensors of the block.
 *
 * Each number of the result is a sum of the same numbers in the same order as if the block was
 * summed at once, so it has the same bits.
 *
 * If more than half of the rows would be summed twice, or if there is one rank, all functions do
 * nothing, and the block must be summed at once. All ranks must call them in the same order.
 */
#ifndef TEXTMILL_TRAIN_STORE_TABLE_SUM_H
#define TEXTMILL_TRAIN_STORE_TABLE_SUM_H

#include <stdint.h>

#include "model/network/inputs.h"
#include "train/ranks/comm.h"
#include "train/store/store.h"

enum table_sum_state { TABLE_IDLE, TABLE_FIRST_PART, TABLE_EMBEDDING, TABLE_SECOND_PART };

struct table_sum {
    struct comm *comm; /* borrowed, like `store` */
    struct store *store;
    enum table_sum_state state;
    int64_t rows, width;    /* of the table; 0: the block is always summed at once */
    unsigned char *used;    /* [rows/8+1]: bit r is set if this rank's last group has word r */
    struct table_run *runs; /* [count]: the elements of the second part, in ascending order */
    size_t count, cap;
    struct ops_array kept; /* [room]: the elements of the runs, one after the other */
    int64_t room;
    int64_t *bounds; /* [ranks+1]: of the shares in the part that is being summed */
    struct comm_work *work;
};

/* Opens the sums of the first tensor of block 0. The store must be joined with the ranks. */
void table_sum_open(struct table_sum *t, struct store *s, struct comm *c);
void table_sum_close(struct table_sum *t); /* fine on a zeroed struct */

/* Adds the words of a micro-batch to those of the last group. */
void table_sum_mark(struct table_sum *t, const struct batch *b);

/* Begins the first part, after the head. `gradients` is the array of block 0, here and below; it
 * must not be touched until table_sum_restore, which waits for the first part. Call that before the
 * backward pass of the embedding. */
void table_sum_begin(struct table_sum *t, struct ops_array gradients);
void table_sum_restore(struct table_sum *t, struct ops_array gradients);

/* Begins the second part. Returns 0 if there was no first part, so that the block must be summed at
 * once. table_sum_end waits for it. */
int table_sum_rest(struct table_sum *t, struct ops_array gradients);
void table_sum_end(struct table_sum *t, struct ops_array gradients);

/* Returns the most bytes that the sums need, with `words` words in the last groups of all ranks. */
uint64_t table_sum_bytes(const struct tensor_table *t, int64_t words);

#endif
