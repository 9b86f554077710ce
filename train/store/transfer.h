/*
 * transfer.h - transfers of arrays between the stages of a pipeline (program.h).
 *
 * A transfer begins in its phase and goes on while later phases run. A receive ends before its
 * array is used, a send before its array is changed.
 */
#pragma once

#include "train/ranks/comm.h"
#include "train/store/store.h"

/* A transfer in progress. */
struct transfer_work {
    struct comm_work *work; /* NULL: none */
    int sends;
};

struct transfer {
    struct comm *comm; /* borrowed, like `store` */
    struct store *store;
    struct transfer_work *transfers[STORE_KINDS]; /* [arrays of the kind] */
};

void transfer_open(struct transfer *g, struct store *s, struct comm *c);
void transfer_close(struct transfer *g); /* waits for all transfers; fine on a zeroed struct */

/* Begins the transfer of phase f: sends or receives the first n elements of x, which is the array
 * that the phase uses. */
void transfer_begin(struct transfer *g, const struct phase *f, struct ops_array x, int64_t n);

/* transfer_await waits until the array of use u can be used in that way; transfer_await_all waits
 * for all transfers. */
void transfer_await(struct transfer *g, const struct use *u);
void transfer_await_all(struct transfer *g);
