/*
 * threads.h - a transport whose ranks are threads of one process, for tests of what ranks do
 * together.
 *
 *     struct threads *w = threads_new(4);
 *     threads_run(w, rank_main, ctx);     // calls rank_main(ctx, comm) in four threads
 *     threads_free(w);
 */
#pragma once

#include "train/ranks/comm.h"

struct threads;

struct threads *threads_new(int ranks);
void threads_free(struct threads *w);

/* Sets how many seconds a rank waits for another one (0, the default: for ever). If a rank fails,
 * failed() gets the first error; if `failed` is NULL, it is printed. */
void threads_set_timeout(struct threads *w, double seconds,
                         void (*failed)(void *ctx, const char *error), void *ctx);

/* Puts so many ranks on each host (the default: all on this one). threads_sent returns the bytes
 * that ranks have sent to other hosts since the last call, without short messages. */
void threads_set_hosts(struct threads *w, int ranks_of_a_host);
uint64_t threads_sent(struct threads *w);

/* Calls fn for each rank in a thread of its own, with the rank's comm. Returns when all calls have
 * returned. */
void threads_run(struct threads *w, void (*fn)(void *ctx, struct comm *c), void *ctx);
