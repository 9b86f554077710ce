/* peak f32|bf16 [THREADS]: prints the peak arithmetic speed of this machine in GFLOP/s on all
 * cores, or on THREADS cores: fused multiply-adds or, where the processor has them, dot products of
 * bf16, on registers only. The result is the best of a few tries; 0 if the processor has neither.
 * With THREADS, seconds are seconds of processor time, as if nothing else ran. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/log.h"
#include "common/pool.h"

/* So many sums hide the latency and fit in 16 registers. A try takes about 0.2 s, as long as a
 * small training step, because a step cannot use a clock rate that is higher for only some
 * milliseconds. */
enum { SUMS = 14, ROUNDS = 100000000, TRIES = 5 };

#if defined(__x86_64__)
#include <immintrin.h>

#define EACH_SUM _Pragma("GCC unroll 14") for (int i = 0; i < SUMS; i++)

/* A loop of `step` on sums[SUMS] of `type`. */
#define LOOP(name, features, type, zero, step)                                                     \
    __attribute__((target(features))) static void name(void *ctx, int thread)                      \
    {                                                                                              \
        (void)ctx;                                                                                 \
        (void)thread;                                                                              \
        type sums[SUMS], x = zero;                                                                 \
        EACH_SUM                                                                                   \
        sums[i] = x;                                                                               \
        for (int r = 0; r < ROUNDS; r++)                                                           \
            EACH_SUM                                                                               \
            {                                                                                      \
                step;                                                                              \
                __asm__ volatile("" : "+v"(sums[i])); /* it is wanted */                           \
            }                                                                                      \
    }

LOOP(dots_bf16, "avx512f,avx512bf16", __m512, _mm512_setzero_ps(),
     sums[i] = _mm512_dpbf16_ps(sums[i], (__m512bh)x, (__m512bh)x))
LOOP(adds_avx512, "avx512f", __m512, _mm512_setzero_ps(), sums[i] = _mm512_fmadd_ps(x, x, sums[i]))
LOOP(adds_avx2, "avx2,fma", __m256, _mm256_setzero_ps(), sums[i] = _mm256_fmadd_ps(x, x, sums[i]))

/* Returns the loop for this processor, and sets *step to the operations of one of its steps. */
static void (*loop_of(int bf16, double *step))(void *, int)
{
    if (bf16 && __builtin_cpu_supports("avx512bf16")) {
        *step = 64;
        return dots_bf16;
    }
    if (__builtin_cpu_supports("avx512f")) {
        *step = 32;
        return adds_avx512;
    }
    *step = 16;
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? adds_avx2 : NULL;
}
#else
static void (*loop_of(int bf16, double *step))(void *, int)
{
    (void)bf16;
    *step = 0;
    return NULL;
}
#endif

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
    const int chosen = argc == 3 ? atoi(argv[2]) : 0;
    if ((argc != 2 && chosen < 1) || (strcmp(argv[1], "f32") && strcmp(argv[1], "bf16"))) {
        fprintf(stderr, "usage: %s f32|bf16 [THREADS]\n", argv[0]);
        return 2;
    }
    double step, best = 0;
    void (*loop)(void *, int) = loop_of(!strcmp(argv[1], "bf16"), &step);
    int threads = chosen ? chosen : pool_cpus();
    struct pool *pool = pool_new(threads);
    for (int i = 0; i < TRIES && loop; i++) {
        double began = chosen ? cpu_seconds() / threads : log_seconds();
        pool_run(pool, loop, NULL);
        double ended = chosen ? cpu_seconds() / threads : log_seconds();
        double rate = step * SUMS * ROUNDS * threads / (ended - began);
        best = rate > best ? rate : best;
    }
    pool_free(pool);
    printf("%.0f\n", best * 1e-9);
    return 0;
}
