/*
 * threads.h - a transport whose ranks are threads of one process, for tests of what ranks do
 * together.
 *
 *     struct threads *w = threads_new(4);
 *     threads_run(w, rank_main, ctx);     // calls rank_main(ctx, comm) in four threads
 *     threads_free(w);
 */
#ifndef TEXTMILL_THREADS_H
#define TEXTMILL_THREADS_H

#include "train/comm.h"

struct threads;

struct threads *threads_new(int ranks);
void threads_free(struct threads *w);

/* Time limit of waiting, 0 (at first): none; and what becomes of the error of a rank that fails,
 * which would end the process otherwise. */
void threads_set_timeout(struct threads *w, double seconds,
                         void (*failed)(void *ctx, const char *error), void *ctx);

/* fn for each rank, in a thread of its own, with the rank's comm; returns when all are done. */
void threads_run(struct threads *w, void (*fn)(void *ctx, struct comm *c), void *ctx);

#endif
