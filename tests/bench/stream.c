/* stream BYTES THREADS: prints the speed in GB/s of reading so many bytes of memory, the best of a
 * few tries. With one thread, seconds are seconds of processor time, as if nothing else ran. (Each
 * generated token costs at least one reading of the weights.) */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/mem.h"
#include "common/base/pool.h"

enum {
    TRIES = 7,
    GRAIN = 1 << 16,
    AHEAD = 4096, /* bytes from a read to the prefetch of a later one; faster on some processors */
};

typedef uint64_t vec __attribute__((vector_size(64)));

static unsigned char *bytes;
static volatile uint64_t sink;

static void read_part(void *ctx, int64_t begin, int64_t end, int thread)
{
    (void)ctx, (void)thread;
    vec a = { 0 }, b = a, c = a, d = a, v[4];
    for (int64_t i = begin; i + 256 <= end; i += 256) {
        for (int line = 0; line < 256; line += 64)
            __builtin_prefetch(bytes + i + AHEAD + line);
        memcpy(v, bytes + i, sizeof v);
        a ^= v[0];
        b ^= v[1];
        c ^= v[2];
        d ^= v[3];
    }
    a ^= b ^ c ^ d;
    sink = a[0];
}

static void touch_part(void *ctx, int64_t begin, int64_t end, int thread)
{
    (void)ctx;
    memset(bytes + begin, thread + 1, (size_t)(end - begin));
}

static double seconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
    int64_t n = argc > 2 ? atoll(argv[1]) : 0;
    int threads = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 0;
    if (n < GRAIN || threads < 1) {
        fputs("usage: stream BYTES THREADS\n", stderr);
        return 2;
    }
    clockid_t clock = threads == 1 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC;
    struct pool *pool = pool_new(threads);
    double best = 0;
    bytes = mem_huge((size_t)n + 2 * AHEAD, 1);
    pool_for(pool, n, GRAIN, touch_part, NULL);
    for (int i = 0; i < TRIES; i++) {
        double began = seconds(clock);
        pool_for(pool, n, GRAIN, read_part, NULL);
        double rate = 1e-9 * (double)n / (seconds(clock) - began);
        best = rate > best ? rate : best;
    }
    printf("%.2f\n", best);
    pool_free(pool);
    free(bytes);
}
