/*
 * kernel.h - the language of the kernels: the common part of C and CUDA C++, and these macros.
 *
 *     KERNEL(name, arguments, threads) { ... }    defines a kernel with the argument `const struct
 *                                                 arguments a`, for blocks of at most `threads`;
 *                                                 a fourth argument is the least number of blocks
 *                                                 for which a multiprocessor has enough registers
 *     LAUNCH(o, name, x, y, threads, bytes, a)    runs it with x * y blocks of `threads` threads (a
 *                                                 multiple of 32) and `bytes` of shared memory per
 *                                                 block; does nothing for no blocks
 *     SHARED(type, name)                          declares the shared memory as an array
 *     BLOCK_BARRIER()                             waits for all threads of the block
 *     UNROLL, UNROLL_BY(n)                        before a loop to be unrolled, n times
 *     DEVICE                                      before a function that kernels call
 *     BOTH                                        before one that kernels and the host call
 *     warp_*                                      functions that all 32 threads of a warp call
 *
 * Kernels access only the memory that their arguments name, mostly through struct view. They use no
 * atomic operations, so that the same inputs give the same bits. nvcc compiles them for GPUs, and a
 * C compiler compiles them for tests on the host (tests/emulate/emulate.h).
 */
#pragma once

#ifdef __CUDACC__

#include <cuda_runtime.h>
#include <math.h>

extern "C" {
#include "cuda/cuda.h"
}
#define EXTERN_C extern "C"
#define DEVICE   static __device__ __forceinline__
#define BOTH     static __host__ __device__ __forceinline__
#define KERNEL(name, arguments, ...)                                                               \
    static __global__ void __launch_bounds__(__VA_ARGS__)                                          \
        name(const __grid_constant__ struct arguments a)
#define ALLOW_SHARED(name, bytes)                                                                  \
    cudaFuncSetAttribute(name, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)(bytes))
#define START(o, name, x, y, each, bytes, a)                                                       \
    name<<<dim3((unsigned)(x), (unsigned)(y)), (unsigned)(each), (size_t)(bytes),                  \
           *(cudaStream_t *)(o)->device>>>(a)
extern __shared__ __align__(16) char cuda_shared[];
#define SHARED(type, name) type *name = (type *)cuda_shared
#define BLOCK_BARRIER()    __syncthreads()
#define UNROLL             _Pragma("unroll")
#define UNROLL_TEXT(text)  _Pragma(#text)
#define UNROLL_BY(n)       UNROLL_TEXT(unroll n)
#define GRID_ROWS          65535 /* most blocks in the second dimension of a grid */

#define MULTIPLY(a, b)        __fmul_rn(a, b) /* never fused with an addition */
#define ADD(a, b)             __fadd_rn(a, b)
#define MULTIPLY_ADD(a, b, c) __fmaf_rn(a, b, c)

/* Returns the value of x in another thread of the warp. */
#define warp_from(x, lane) __shfl_sync(0xffffffffu, x, lane)
#define warp_xor(x, bits)  __shfl_xor_sync(0xffffffffu, x, bits)

static inline char *device_memory(char *address)
{
    return address;
}

/* Makes the functions of rng.h available on the device, too. */
#pragma push_macro("inline")
#undef inline
#define inline __host__ __device__ __forceinline__
#include "common/base/rng.h"
#pragma pop_macro("inline")

#else
#include "tests/emulate/emulate.h"
#define EXTERN_C
#endif

enum { WARP = 32, SHARED_USUAL = 48 * 1024 /* bytes; a kernel must be allowed more */ };

#define LAUNCH(o, name, x, y, each, bytes, a)                                                      \
    do {                                                                                           \
        if ((x) < 1 || (y) < 1)                                                                    \
            break;                                                                                 \
        if ((bytes) > SHARED_USUAL)                                                                \
            ALLOW_SHARED(name, bytes);                                                             \
        START(o, name, x, y, each, bytes, a);                                                      \
        device_launched(o, #name);                                                                 \
    } while (0)

/* ---- fast functions ----------------------------------------------------------------------- */

#define LOG2_E 1.4426950408889634f

#ifdef __CUDACC__
/* Returns 2^x with a relative error below 2^-22. */
DEVICE float power2(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

/* Returns 1/x with an error of one unit in the last place; 0 for infinity. */
DEVICE float reciprocal(float x)
{
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
#else
#define power2        exp2f
#define reciprocal(x) (1 / (x))
#endif

/* ---- arrays ------------------------------------------------------------------------------- */

/* An array as a kernel sees it. */
struct view {
    char *at; /* NULL: there is no array */
    int type;
    int wide; /* 1: eight elements can be read at once, from an index that is a multiple of 8 */
};

static inline struct view view_of(struct ops_array a)
{
    struct view v;
    v.at = a.address ? device_memory(a.address) : 0;
    v.type = a.type;
    v.wide = (uintptr_t)a.address % 16 == 0;
    return v;
}

/* Returns a view of rows that begin ld elements apart. */
static inline struct view view_rows(struct ops_array a, int64_t ld)
{
    struct view v = view_of(a);
    v.wide &= ld % 8 == 0;
    return v;
}

DEVICE float bits_float(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

DEVICE uint32_t float_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* Returns the high 16 bits of (x's bits + `random`). Infinity and NaN are kept. */
DEVICE uint16_t round_by(float x, uint32_t random)
{
    const uint32_t exponent = 0x7f800000u, quiet = 0x00400000u;
    uint32_t bits = float_bits(x);
    uint32_t special = bits & ~exponent & 0x7fffffffu ? bits | quiet : bits;
    return (uint16_t)(((bits & exponent) == exponent ? special : bits + random) >> 16);
}

/* Rounds to the nearest bf16, ties to even. */
DEVICE uint16_t nearest_bf16(float x)
{
    return round_by(x, 0x7fffu + (float_bits(x) >> 16 & 1));
}

DEVICE float from_bf16(uint16_t x)
{
    return bits_float((uint32_t)x << 16);
}

DEVICE float get(struct view x, int64_t i)
{
    return x.type == OPS_BF16 ? from_bf16(((const uint16_t *)x.at)[i]) : ((const float *)x.at)[i];
}

DEVICE void put(struct view y, int64_t i, float v)
{
    if (y.type == OPS_BF16)
        ((uint16_t *)y.at)[i] = nearest_bf16(v);
    else
        ((float *)y.at)[i] = v;
}

BOTH float *floats(struct view x)
{
    return (float *)x.at;
}

/* Eight consecutive numbers. get8 returns those from element i on, and put8 writes them there; i is
 * a multiple of 8 from the beginning of the row. If only the first n of them exist, get8 returns
 * zeros for the others and put8 does not write them. */
struct eight {
    float v[8];
};

/* Does what get8 does for a wide array that has all eight numbers. It has no branch, so a thread
 * can have several loads in flight. */
DEVICE struct eight wide_eight(struct view x, int64_t i)
{
    const int halves = x.type == OPS_BF16;
    const char *at = x.at + (halves ? 2 : 4) * i;
    const uint4 q = *(const uint4 *)at;
    uint4 p = q;
    if (!halves)
        p = *(const uint4 *)(at + 16);
    const uint32_t word[8] = { q.x, q.y, q.z, q.w, p.x, p.y, p.z, p.w };
    struct eight out;
    UNROLL
    for (int j = 0; j < 4; j++) {
        out.v[2 * j] = bits_float(halves ? word[j] << 16 : word[2 * j]);
        out.v[2 * j + 1] = bits_float(halves ? word[j] & 0xffff0000u : word[2 * j + 1]);
    }
    return out;
}

DEVICE struct eight get8(struct view x, int64_t i, int64_t n)
{
    if (x.wide && n >= 8)
        return wide_eight(x, i);
    struct eight out;
    for (int j = 0; j < 8; j++)
        out.v[j] = j < n ? get(x, i + j) : 0;
    return out;
}

/* As get8. `whole`, a compile-time constant: x is wide and has all eight. */
DEVICE struct eight eight_at(struct view x, int64_t i, int64_t n, const int whole)
{
    return whole ? wide_eight(x, i) : get8(x, i, n);
}

DEVICE void put8(struct view y, int64_t i, int64_t n, struct eight v)
{
    if (!y.wide || n < 8) {
        for (int j = 0; j < 8; j++)
            if (j < n)
                put(y, i + j, v.v[j]);
    } else if (y.type == OPS_BF16) {
        uint32_t word[4];
        for (int j = 0; j < 4; j++)
            word[j] = nearest_bf16(v.v[2 * j]) | (uint32_t)nearest_bf16(v.v[2 * j + 1]) << 16;
        uint4 q = { word[0], word[1], word[2], word[3] };
        *(uint4 *)(y.at + 2 * i) = q;
    } else {
        for (int h = 0; h < 2; h++) {
            float4 q = { v.v[4 * h], v.v[4 * h + 1], v.v[4 * h + 2], v.v[4 * h + 3] };
            *(float4 *)(y.at + 4 * i + 16 * h) = q;
        }
    }
}

/* Adds the elements i to i + 7 of x[n] to *to; does nothing if there is no x. */
DEVICE void add8(struct eight *to, struct view x, int64_t i, int64_t n)
{
    if (!x.at)
        return;
    struct eight more = get8(x, i, n);
    for (int j = 0; j < 8; j++)
        to->v[j] += more.v[j];
}

/* ---- dropout ------------------------------------------------------------------------------ */

/* Sets the mask factors of elements i and i + 1; i is even. */
DEVICE void mask_pair(struct ops_mask m, uint64_t i, float *low, float *high)
{
    uint64_t pair = rng_at(m.key, i / 2);
    *low = (uint32_t)pair >= m.threshold ? m.scale : 0;
    *high = (uint32_t)(pair >> 32) >= m.threshold ? m.scale : 0;
}

DEVICE float mask_at(struct ops_mask m, uint64_t i)
{
    if (!m.threshold)
        return 1;
    uint64_t pair = rng_at(m.key, i / 2);
    return (uint32_t)(i & 1 ? pair >> 32 : pair) >= m.threshold ? m.scale : 0;
}

/* ---- sums --------------------------------------------------------------------------------- */

/* Returns, to all threads of the warp, the sum of their x, added in one order for all. */
DEVICE float warp_sum(float x)
{
    for (int bits = WARP / 2; bits; bits /= 2)
        x += warp_xor(x, bits);
    return x;
}

DEVICE double warp_sum_f64(double x)
{
    for (int bits = WARP / 2; bits; bits /= 2)
        x += warp_xor(x, bits);
    return x;
}

DEVICE float warp_max(float x)
{
    for (int bits = WARP / 2; bits; bits /= 2)
        x = fmaxf(x, warp_xor(x, bits));
    return x;
}

enum { SUM_FLOATS = 33 };

/* Returns, to all threads of the block, the sum of their x or, if `most` is 1, the largest.
 * `parts`: SUM_FLOATS floats of shared memory, used only for this. */
DEVICE float block_join(float x, float *parts, const int most)
{
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, warps = blockDim.x / WARP;
    x = most ? warp_max(x) : warp_sum(x);
    BLOCK_BARRIER(); /* all threads have read the previous sum */
    if (!lane)
        parts[warp] = x;
    BLOCK_BARRIER();
    x = lane < warps ? parts[lane] : most ? parts[0] : 0;
    return most ? warp_max(x) : warp_sum(x);
}

BOTH int64_t div_up(int64_t n, int64_t by)
{
    return (n + by - 1) / by;
}

BOTH int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Returns how many rows each block sums in a sum of columns: at least 64, and enough that at most
 * `most` blocks leave sums that must then be added. */
static inline int64_t rows_of_block(int64_t rows, int64_t most)
{
    const int64_t fewest = 64, each = div_up(rows, most);
    return each < fewest ? fewest : each;
}

/* Sizes for kernels that sum columns. A block of 256 threads sums 256 columns of a part of the
 * rows; each lane has eight columns, and the warps divide the rows. At most COLUMN_PARTS parts. */
enum { COLUMN_BLOCK = 256, COLUMN_PARTS = 128 };
#define COLUMN_SHARED (8 * COLUMN_BLOCK * sizeof(float))

/* Adds the column sums of the block's warps in order and writes them to to[begin..], up to to[n -
 * 1]. sum[8]: this lane's sums. `warps`: COLUMN_SHARED bytes of shared memory. */
DEVICE void put_columns(float *to, int64_t begin, int64_t n, const float *sum, float *warps)
{
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    for (int j = 0; j < 8; j++)
        warps[warp * COLUMN_BLOCK + lane * 8 + j] = sum[j];
    BLOCK_BARRIER(); /* all warps' sums are there */
    float total = 0;
    for (int w = 0; w < COLUMN_BLOCK / WARP; w++)
        total += warps[w * COLUMN_BLOCK + threadIdx.x];
    if (begin + threadIdx.x < n)
        to[begin + threadIdx.x] = total;
}
