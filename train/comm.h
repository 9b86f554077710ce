/*
 * comm.h - the other processes of a run, as the engine sees them.
 *
 * Processes stand in two groups: data parallel (equal weights, other samples) and tensor
 * parallel (a part of each weight, equal samples). These are the only calls by which a step
 * reaches another process, so that a message-passing back end has one door. In a run of one
 * process every group has one member and every reduction is the identity.
 *
 * Reductions are in place, sum over the group, and leave the same bits on every member.
 */
#ifndef TEXTMILL_COMM_H
#define TEXTMILL_COMM_H

#include <stdint.h>

#include "model/ops.h"

enum comm_group { COMM_DATA, COMM_TENSOR, COMM_GROUPS };

struct comm {
    int rank[COMM_GROUPS]; /* of this process in the group */
    int size[COMM_GROUPS];
};

/* A run of one process. */
void comm_init(struct comm *c);

/* 1 in the process that logs and saves. */
int comm_is_first(const struct comm *c);

void comm_sum(struct comm *c, enum comm_group group, struct ops_array x, int64_t n);
double comm_sum_real(struct comm *c, enum comm_group group, double x);

#endif
