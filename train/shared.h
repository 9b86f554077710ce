/*
 * shared.h - arrays that ranks share: each rank keeps its share, and the whole array is in a window
 * while it is used.
 *
 * The functions are mapped.h's, with the other ranks in the place of the disk. An array that is
 * read is gathered from the shares of all ranks, and one that is expected is gathered meanwhile; it
 * stays in the window until its room is needed. An array that is made anew stays until shared_sum:
 * then its sum over the ranks begins, and the window forgets it when that ends.
 *
 * All ranks call the same functions for the same arrays in the same order. What the window does
 * depends on nothing else, so that the ranks' operations meet.
 */
#ifndef TEXTMILL_TRAIN_SHARED_H
#define TEXTMILL_TRAIN_SHARED_H

#include <stdint.h>

#include "model/ops.h"
#include "train/comm.h"
#include "train/mapped.h"

struct shared;

/* A window of so many bytes. */
struct shared *shared_new(struct ops *o, uint64_t window_bytes);
void shared_free(struct shared *m); /* fine on NULL */

/* Adds an array: this rank's share, which is borrowed as are bounds [ranks+1] (reduce.h), and a
 * name that says what it is: "gradients" of block 5. Returns its number, from 0 on. */
int shared_add(struct shared *m, struct ops_array own, const int64_t *bounds, const char *name,
               int block);

/* The ranks; borrowed. Before the first fetch. */
void shared_join(struct shared *m, struct comm *c);

/* The whole array, until as many releases. MAPPED_WRITE: it was made, and not summed since. */
struct ops_array shared_fetch(struct shared *m, int i, enum mapped_use use);
void shared_release(struct shared *m, int i);
void shared_expect(struct shared *m, int i, enum mapped_use use);

/* This rank's share will change: what the window has of the array is of no use. */
void shared_forget(struct shared *m, int i);

/* Begins the sum of array i, which was made, over the ranks. This rank's share of it goes to its
 * share of array `to`; as often as `merges` says that share is then added to the one of the array
 * `stride` numbers before, which takes its place. */
void shared_sum(struct shared *m, int i, int to, int stride, int merges);
void shared_end_sums(struct shared *m);

#endif
