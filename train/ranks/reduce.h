/*
 * reduce.h - sums and gathers over ranks. The bits of a sum do not depend on the number of ranks.
 *
 * Floating-point addition is not associative, so the order of a sum is fixed: a binary tree over
 * the members of a group, neighbours first. For members 0 to 3 it is (0 + 1) + (2 + 3). Each member
 * may itself contribute a sum over neighbours made by the same tree (reduce_merges). Then the whole
 * sum is one tree over the items of all members, and the division among members does not change it.
 *
 * An array is cut into one share for each member: share q is elements bounds[q] to bounds[q+1] - 1.
 * After a scatter, member q has the sum in share q. After a gather, each member has all shares. In
 * both, a member sends (size-1)/size of the array, which is the minimum (Thakur, Rabenseifner,
 * Gropp 2005, "Optimization of collective communication operations in MPICH", section 4). They work
 * level by level (ops_exchange.h), so a host sends (hosts-1)/hosts of the array to other hosts.
 * Arrays are sent in pieces, so that one piece is added while the next one is on its way.
 *
 * Functions return -1 with an error, as those of link.h do. Tested by
 * tests/unit/train/ranks/test_comm.c and tests/parallel/run.
 */
#pragma once

#include "train/ranks/link.h"

struct reduce_group {
    int size, rank; /* this process is member `rank` */
    int local;      /* members on each host (struct ops_level) */
    int *members;   /* [size]: numbers of the members in the link */
};

/* Returns how often the two topmost entries of a stack are replaced by their sum after item k (from
 * 0) was pushed, so that the items are summed as a binary tree. last 1: no item follows, and one
 * entry must remain. */
int reduce_merges(int64_t k, int last);

enum reduce_op { REDUCE_SUM, REDUCE_MAX };

/* Returns the bytes of memory that a scatter in a group of `size` members allocates. */
uint64_t reduce_room_bytes(int size);

/* Replaces this process's share of x, share `rank`, by its sum or maximum over the members. The
 * other shares of x are undefined afterwards. Returns 0, or -1 with an error. */
int reduce_scatter(struct link *l, const struct reduce_group *g, enum reduce_op op, float *x,
                   const int64_t *bounds);

/* Fills the other members' shares of x from those members; share r is the elements bounds[r] to
 * bounds[r + 1] - 1. An element of x has `unit` bytes. Returns 0, or -1 with an error. */
int reduce_gather(struct link *l, const struct reduce_group *g, void *x, const int64_t *bounds,
                  size_t unit);

/* Fills all[size][bytes] with the `mine` of each member, `bytes` bytes each, in the order of the
 * members' numbers. A member sends to log2(size) others, rounded up (Bruck et al. 1997, "Efficient
 * algorithms for all-to-all communications in multiport message-passing systems", section 4).
 * Returns 0, or -1 with an error. */
int reduce_collect(struct link *l, const struct reduce_group *g, void *all, const void *mine,
                   size_t bytes);
