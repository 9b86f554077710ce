/*
 * pool.h - threads: a pool for loops, and an ordered read/work/write pipeline for streams.
 */
#pragma once

#include <pthread.h>

#include "common/base/std.h"

/* ---- pool: the same function on every thread ------------------------------------------------ */

/* A pool of threads. The calling thread is thread 0. The other threads wait for work: they spin
 * first, since a kernel's next loop often comes within microseconds, and then sleep. If there are
 * fewer processors than threads, they sleep at once. Only one thread may use a pool at a time. */
struct pool;

struct pool *pool_new(int threads); /* threads >= 1 */
void pool_free(struct pool *p);     /* NULL is allowed */

/* Calls fn(ctx, t) for t in 0..threads-1 in parallel. Returns when all calls have returned. After
 * its own call the calling thread makes those that no other thread has begun. So it does not wait
 * for a thread that has no processor. */
void pool_run(struct pool *p, void (*fn)(void *ctx, int thread), void *ctx);

/* Calls fn(ctx, begin, end, thread) in parallel for pieces of [0, n), at most one per thread, whose
 * sizes differ by at most `grain`. Piece bounds are multiples of `grain`, except n. They depend
 * only on n, grain and the number of threads, so sums per thread are reproducible. */
void pool_for(struct pool *p, int64_t n, int64_t grain,
              void (*fn)(void *ctx, int64_t begin, int64_t end, int thread), void *ctx);

/* Calls fn(ctx, i, thread) for each i in [0, n) in parallel. Each thread first processes its own
 * part of the range in order, then takes items that other threads have not started. This balances
 * the load, and keeps threads from writing to neighbouring memory. */
void pool_each(struct pool *p, int64_t n, void (*fn)(void *ctx, int64_t i, int thread), void *ctx);

/* ---- pipeline: read in order, work in any order, write in order ------------------------------ */

/* A pipeline. `read` fills an item and returns 1, 0 at the end, or -1. `work` processes an item and
 * `write` outputs it; both return 0 or -1. `read` and `write` are never called by two threads at
 * once, and both see the items in the order read, so the output does not depend on `threads`. The
 * first error, in item order, ends the run and becomes the caller's error.
 *
 * A thread that finds no item to read, work on or write calls `help`. `help` does a part of the
 * work that `read` will need, and returns 1, or 0 if there is nothing to do before the next item is
 * read. Several threads may run `help` at once, also while one runs `read`. */
struct pipeline {
    int (*read)(void *ctx, void *item);
    int (*work)(void *ctx, void *item); /* may be NULL */
    int (*write)(void *ctx, void *item);
    void *ctx;
    /* the items, which the caller owns; at least one. With two or more per thread all threads are
     * busy */
    void **items;
    int item_count;
    int (*help)(void *ctx); /* may be NULL */
};
/* Runs the pipeline on `threads` threads, at least 1, one of which is the caller. Returns 0, or -1
 * with an error. */
int pipeline_run(const struct pipeline *p, int threads);

/* Starts a thread. If the system cannot start one, the program exits with an error. */
void pool_start_thread(pthread_t *id, void *(*main)(void *), void *arg);

/* Returns the number of processors that this process may run on. */
int pool_cpus(void);
