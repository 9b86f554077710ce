/*
 * pool.h - threads: a pool for loops, and an ordered read/work/write pipeline for streams.
 */
#ifndef TEXTMILL_COMMON_POOL_H
#define TEXTMILL_COMMON_POOL_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

/* ---- pool: the same function on every thread ------------------------------------------------ */

/* The caller is thread 0; the others wait, at first spinning (a kernel's next loop comes within
 * microseconds), then asleep; with fewer processors than threads asleep at once. One caller at a
 * time. */
struct pool;

struct pool *pool_new(int threads); /* threads >= 1 */
void pool_free(struct pool *p);

/* Calls fn(ctx, t) for t in 0..threads-1, at once, and returns when all are done. */
void pool_run(struct pool *p, void (*fn)(void *ctx, int thread), void *ctx);

/* Calls fn(ctx, begin, end, thread) over pieces of [0, n) that differ in size by at most
 * `grain`; piece bounds are multiples of `grain` (n excepted) and depend on n, grain and the
 * number of threads alone, so that sums per thread are reproducible. */
void pool_for(struct pool *p, int64_t n, int64_t grain,
              void (*fn)(void *ctx, int64_t begin, int64_t end, int thread), void *ctx);

/* Calls fn(ctx, i, thread) for each i in [0, n). A thread goes through a part of its own, in order,
 * and then through what is left of the others': so that work is shared evenly, and threads do not
 * write side by side. */
void pool_each(struct pool *p, int64_t n, void (*fn)(void *ctx, int64_t i, int thread), void *ctx);

/* ---- pipeline: read in order, work in any order, write in order ------------------------------ */

/* `read` fills an item: 1, 0 at the end, -1. `work` and `write` return 0 or -1. read and write
 * are never called by two threads at once, and see the items in the order read; so what is
 * written does not depend on `threads`. The first error (in item order) ends the run, and its
 * message is the caller's.
 *
 * A thread that finds no item to read, work on or write calls `help`, which does a part of what
 * `read` will need, and returns 1, or 0 when there is nothing to do before the next item is read.
 * Any number of threads may be in it, and one in `read`. */
struct pipeline {
    int (*read)(void *ctx, void *item);
    int (*work)(void *ctx, void *item);
    int (*write)(void *ctx, void *item);
    void *ctx;
    void **items; /* the caller's, at least one; 2 a thread or more keeps all busy */
    int item_count;
    int (*help)(void *ctx); /* or NULL */
};
int pipeline_run(const struct pipeline *p, int threads);

/* A thread of one's own; the program ends where there is none to have. */
void pool_start_thread(pthread_t *id, void *(*main)(void *), void *arg);

/* Processors this process may run on. */
int pool_cpus(void);

#endif
