/*
 * word_table.h - divides two operations of the data-parallel ranks on block 0, the embedding, into
 * two parts each: the sum of the gradients of a tied table, and the gather of updated parameters.
 * Most of their time is then hidden behind the computation of the layers.
 *
 * A tied table, which embedding and head share, has gradients of both. Those of the head are
 * complete before the backward pass of the layers begins. Those of the embedding come at its end,
 * but they change only a few rows: those of the words in the last group of micro-batches
 * (program.h). So the whole table is summed first, after the head. This sum is wrong in the rows of
 * words that any rank has in its last group. These rows are copied before it and put back after it.
 * The embedding adds to them, and then they are summed again, together with the other tensors of
 * the block. Each number of the result is a sum of the same numbers in the same order as if the
 * block was summed at once, so it has the same bits.
 *
 * The embedding's forward pass, which is the first work of a step, reads only the rows of the words
 * in its micro-batches. So after the update only these rows, for the first group of all ranks, and
 * the other tensors of the block are gathered first. The gather of the whole block begins after the
 * embedding's forward pass, and ends before the head (sharing.h).
 *
 * An operation is done at once if more than half of the rows would be in both parts, and on a GPU,
 * where copies of so many words take longer than the table. The functions below then do nothing or
 * return 0, as they do with one rank. Ranks that share gradients sum them at once, and ranks that
 * share parameters gather them at once. All ranks must call the functions in the same order.
 */
#pragma once

#include "model/network/inputs.h"
#include "train/ranks/comm.h"
#include "train/store/store.h"

/* The two operations, which are never in progress at the same time. */
enum table_part { TABLE_SUM, TABLE_GATHER, TABLE_PARTS };

enum table_state {
    TABLE_IDLE,
    TABLE_FIRST_SUM,  /* the whole table is being summed */
    TABLE_EMBEDDING,  /* the embedding may add to the table */
    TABLE_SECOND_SUM, /* the rows of the embedding are being summed */
    TABLE_ROWS,       /* rows of parameters are being gathered */
    TABLE_REST        /* the rows were gathered; the gather of the whole block has not begun */
};

struct word_table {
    struct comm *comm; /* borrowed, like `store` */
    struct store *store;
    enum table_state state;
    int64_t rows, width; /* of the table; 0: all operations are done at once */
    unsigned char *used; /* [TABLE_PARTS][rows/8+1]: bit r: word r is in the micro-batches of the
                          * operation */
    int64_t words[TABLE_PARTS]; /* number of these words */
    struct split_part *runs;    /* [count]: the elements of the smaller part, in ascending order */
    size_t count, cap;
    struct ops_room kept; /* the elements of the runs, one after the other */
    int64_t *bounds;      /* [ranks+1]: of the shares in the part that is in progress */
    struct comm_work *work;
};

/* Opens the operations on block 0, whose first tensor is the table. */
void word_table_open(struct word_table *t, struct store *s, struct comm *c);
void word_table_close(struct word_table *t); /* fine on a zeroed struct */

/* Before each step: word_table_clear forgets all words; word_table_mark adds those of a micro-batch
 * to the words of an operation; word_table_collect adds those of the other ranks. */
void word_table_clear(struct word_table *t);
void word_table_mark(struct word_table *t, enum table_part part, const struct batch *b);
void word_table_collect(struct word_table *t);
/* Says that the words of an operation are not known, so that it must be done at once. */
void word_table_forget(struct word_table *t, enum table_part part);

/* Begins the first part of the sum, after the head. `gradients` is the array of block 0, here and
 * below; it must not be touched until word_table_restore, which waits for the first part and puts
 * the kept rows back. Call that before the backward pass of the embedding. */
void word_table_begin_sum(struct word_table *t, struct ops_array gradients);
void word_table_restore(struct word_table *t, struct ops_array gradients);

/* Begins the second part. Returns 0 if there was no first part, so that the block must be summed at
 * once. word_table_end_sum waits for it. */
int word_table_sum_rest(struct word_table *t, struct ops_array gradients);
void word_table_end_sum(struct word_table *t, struct ops_array gradients);

/* Begins to gather the rows of `parameters`, the array of block 0, that the first group uses.
 * Returns 0 if the block must be gathered at once. word_table_await_rows waits until the rows have
 * arrived. */
int word_table_gather_rows(struct word_table *t, struct ops_array parameters);
void word_table_await_rows(struct word_table *t, struct ops_array parameters);
/* Returns 1 if word_table_gather_rows has begun and the whole block must be gathered now, else 0.
 * The next call returns 0. Waits for the rows. */
int word_table_take_rest(struct word_table *t, struct ops_array parameters);

/* Returns the most bytes that the operations need, with `words` words in the micro-batches of an
 * operation on all ranks. */
uint64_t word_table_bytes(const struct tensor_table *t, int64_t words);
