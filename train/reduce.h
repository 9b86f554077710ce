/*
 * reduce.h - sums over ranks whose bits do not depend on how many ranks there are, and gathers.
 *
 * Floating-point addition is not associative, so the order of a sum is fixed here: a binary tree
 * over the members of a group, neighbours first. Of members 0 to 3 it is (0 + 1) + (2 + 3). When
 * each member brings a sum over neighbours made by the same tree (reduce_merges), the whole is one
 * tree over what all members have, however many members share it.
 *
 * An array is cut into shares, one a member: share q is elements bounds[q] to bounds[q+1]. A
 * scatter leaves member q with the sum in share q, a gather gives each member all shares; both move
 * (size-1)/size of the array, which is the least there can be (Thakur, Rabenseifner, Gropp 2005,
 * "Optimization of collective communication operations in MPICH", section 4). In pieces, so that a
 * piece is added while the next one travels.
 *
 * Functions return -1 as link.h's. Checked by tests/unit/test_comm.c and tests/parallel/run.
 */
#ifndef TEXTMILL_TRAIN_REDUCE_H
#define TEXTMILL_TRAIN_REDUCE_H

#include <stdint.h>

#include "train/link.h"

struct reduce_group {
    int size, rank;     /* this process is member `rank` */
    const int *members; /* [size]: their numbers in the link */
};

/* How many times the last two of a stack of sums are added after item k (from 0) was pushed, for
 * one binary tree over all items; `last`: no item follows. */
int reduce_merges(int64_t k, int last);

enum reduce_op { REDUCE_SUM, REDUCE_MAX };

/* What a scatter takes for itself. */
uint64_t reduce_room_bytes(int size);

/* Share `rank` of x becomes the sum, or the maximum; the other shares are as they were. */
int reduce_scatter(struct link *l, const struct reduce_group *g, enum reduce_op op, float *x,
                   const int64_t *bounds);

/* Each share, `unit` bytes an element, is taken from its member. */
int reduce_gather(struct link *l, const struct reduce_group *g, void *x, const int64_t *bounds,
                  size_t unit);

/* all[size][bytes]: `mine` of each member. */
int reduce_collect(struct link *l, const struct reduce_group *g, void *all, const void *mine,
                   size_t bytes);

#endif
