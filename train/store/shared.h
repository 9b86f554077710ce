/*
 * shared.h - arrays that ranks share: each rank keeps only its share, and the whole array is in a
 * window of memory while it is used.
 *
 * An array that is read is gathered from the shares of all ranks. The gather of an expected array
 * goes on in the background. A gathered array stays in the window until its space is needed. An
 * array fetched with MODE_MAKE, such as gradients, stays until shared_sum has summed it over the
 * ranks.
 *
 * All ranks must call the same functions for the same arrays in the same order. The state of the
 * window depends only on these calls, so all ranks begin the same operations in the same order.
 */
#pragma once

#include "model/compute/ops.h"
#include "train/ranks/comm.h"
#include "train/store/home.h"

struct shared;

/* Makes an empty window of window_bytes. If it has no free space in one piece for an array, the
 * array gets memory of its own until it is removed. */
struct shared *shared_new(struct ops *o, uint64_t window_bytes);
void shared_free(struct shared *m); /* fine on NULL */

/* Adds an array and returns its number, from 0 on. `own` says where this rank's share of it
 * is. `bounds` [ranks+1] says where the shares begin in the whole array (reduce.h). Both are
 * borrowed. `name` and `block` name the array in messages, such as "gradients" of block 5. Arrays
 * with from_end 1 are placed from the window's end, others from its beginning. */
int shared_add(struct shared *m, const struct spot *own, const int64_t *bounds, const char *name,
               int block, int from_end);

/* Sets the ranks that share the arrays. Borrows c. Call it before the first fetch. */
void shared_join(struct shared *m, struct comm *c);

/* Returns the home (home.h) whose fetch returns whole arrays. A fetch with MODE_WRITE is allowed
 * only for an array that was fetched with MODE_MAKE and whose sum over the ranks has not begun. */
struct home *shared_home(struct shared *m);

/* Removes an array from the window, because this rank's share of it will change. */
void shared_forget(struct shared *m, int i);

/* Begins to sum array i, fetched with MODE_MAKE, over the ranks. This rank's share of the sum is
 * stored in its share of array `to`. Then the share of array `to` is added to that of array `to` -
 * `stride`, and the share of that array to that of `to` - 2 `stride`: `merges` additions in all. */
void shared_sum(struct shared *m, int i, int to, int stride, int merges);
/* Waits until all sums have ended. */
void shared_end_sums(struct shared *m);
