/* peak f32|bf16 [THREADS]: prints the peak arithmetic speed of this machine in GFLOP/s on all
 * cores, or on THREADS cores: fused multiply-adds or, where the processor has them, products of
 * bf16 by AMX's tiles or by AVX-512's dot products, on registers only. The result is the best of a
 * few tries; 0 if the processor has neither. With THREADS, seconds are seconds of processor time,
 * as if nothing else ran. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/log.h"
#include "common/base/pool.h"
#include "model/compute/kernels.h"

/* So many sums hide the latency and fit in 16 registers. A try takes about 0.2 s, as long as a
 * small training step, because a step cannot use a clock rate that is higher for only some
 * milliseconds. */
enum { SUMS = 14, ROUNDS = 100000000, TRIES = 5 };

/* The operands: bf16 numbers. Two neighbours are a float, too. They are not zeros: products of
 * zeros take less power, so that the clock may be a quarter faster. */
static _Alignas(64) uint16_t numbers[16][32];

static void choose_numbers(void)
{
    for (int i = 0; i < 16 * 32; i++)
        numbers[i / 32][i % 32] = (uint16_t)(0x3f00 + i * 7919 % 251 + (i % 3 ? 0x8000 : 0));
}

#if defined(__x86_64__)
#include <immintrin.h>

#define EACH_SUM _Pragma("GCC unroll 14") for (int i = 0; i < SUMS; i++)

/* A loop of `step` on sums[SUMS] of `type`. */
#define LOOP(name, features, type, step)                                                           \
    __attribute__((target(features))) static void name(void *ctx, int thread)                      \
    {                                                                                              \
        (void)ctx;                                                                                 \
        (void)thread;                                                                              \
        type sums[SUMS], x;                                                                        \
        memcpy(&x, numbers, sizeof x);                                                             \
        EACH_SUM                                                                                   \
        sums[i] = x;                                                                               \
        for (int r = 0; r < ROUNDS; r++)                                                           \
            EACH_SUM                                                                               \
            {                                                                                      \
                step;                                                                              \
                __asm__ volatile("" : "+v"(sums[i])); /* it is wanted */                           \
            }                                                                                      \
    }

LOOP(dots_bf16, "avx512f,avx512bf16", __m512,
     sums[i] = _mm512_dpbf16_ps(sums[i], (__m512bh)x, (__m512bh)x))
LOOP(adds_avx512, "avx512f", __m512, sums[i] = _mm512_fmadd_ps(x, x, sums[i]))
LOOP(adds_avx2, "avx2,fma", __m256, sums[i] = _mm256_fmadd_ps(x, x, sums[i]))

/* A loop of products of tiles: 16 rows and columns, 32 products each. */
enum { TILE_SUMS = 6, TILE_ROUNDS = ROUNDS / 32, TILE_OPERATIONS = 2 * 16 * 16 * 32 };

__attribute__((target("amx-tile,amx-bf16"))) static void tiles_bf16(void *ctx, int thread)
{
    (void)ctx;
    (void)thread;
    struct {
        unsigned char palette, more[15];
        unsigned short row_bytes[16];
        unsigned char rows[16];
    } shapes = { .palette = 1 };
    for (int i = 0; i < 8; i++) {
        shapes.row_bytes[i] = 64;
        shapes.rows[i] = 16;
    }
    __asm__ volatile("" : : "r"(&shapes) : "memory");
    _tile_loadconfig(&shapes);
    _tile_loadd(6, numbers, sizeof numbers[0]);
    _tile_loadd(7, numbers, sizeof numbers[0]);
    for (int r = 0; r < TILE_ROUNDS; r++) {
        _tile_dpbf16ps(0, 6, 7);
        _tile_dpbf16ps(1, 6, 7);
        _tile_dpbf16ps(2, 6, 7);
        _tile_dpbf16ps(3, 6, 7);
        _tile_dpbf16ps(4, 6, 7);
        _tile_dpbf16ps(5, 6, 7);
    }
    _tile_release();
}

/* Returns the loop for this processor, and sets *operations to those that it does. */
static void (*loop_of(int bf16, double *operations))(void *, int)
{
    if (bf16 && !strcmp(kernels_set(0)->word, "amx")) {
        *operations = (double)TILE_OPERATIONS * TILE_SUMS * TILE_ROUNDS;
        return tiles_bf16;
    }
    if (bf16 && __builtin_cpu_supports("avx512bf16")) {
        *operations = 64.0 * SUMS * ROUNDS;
        return dots_bf16;
    }
    if (__builtin_cpu_supports("avx512f")) {
        *operations = 32.0 * SUMS * ROUNDS;
        return adds_avx512;
    }
    *operations = 16.0 * SUMS * ROUNDS;
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? adds_avx2 : NULL;
}
#else
static void (*loop_of(int bf16, double *operations))(void *, int)
{
    (void)bf16;
    *operations = 0;
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
    double operations, best = 0;
    void (*loop)(void *, int) = loop_of(!strcmp(argv[1], "bf16"), &operations);
    int threads = chosen ? chosen : pool_cpus();
    struct pool *pool = pool_new(threads);
    choose_numbers();
    for (int i = 0; i < TRIES && loop; i++) {
        double began = chosen ? cpu_seconds() / threads : log_seconds();
        pool_run(pool, loop, NULL);
        double ended = chosen ? cpu_seconds() / threads : log_seconds();
        double rate = operations * threads / (ended - began);
        best = rate > best ? rate : best;
    }
    pool_free(pool);
    printf("%.0f\n", best * 1e-9);
    return 0;
}
