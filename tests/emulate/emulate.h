/*
 * emulate.h - the macros of cuda/kernel.h for a C compiler: kernels run on the host, for tests
 * without a GPU.
 *
 * Each thread of a block is a fiber. A warp runs alone until all its threads have reached a barrier
 * of the block. Where the threads of a warp exchange values (warp_from, ...), they
 * wait for each other. Threads, warps and blocks run in one of three orders, so that a missing
 * barrier changes the result. If not all threads reach a barrier, or they reach different ones, the
 * program ends and names both lines.
 *
 * The shared memory of a block holds NaNs at first. Addresses of device memory cannot be
 * dereferenced; device_memory, through which all arguments of kernels pass, converts them to host
 * addresses. Memory beyond the end of an array can be neither read nor written. Asynchronous copies
 * happen as late as the program allows. An access of memory that is not aligned for its type ends
 * the program.
 *
 * runtime.c has the memory and the queues of the device, blas.c the matrix products.
 */
#pragma once

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "common/base/rng.h"
#include "cuda/cuda.h"
#include "tests/emulate/toolkit/cuda_runtime_api.h"

enum {
    EMULATED_THREADS = 1024, /* most threads of a block */
    GRID_ROWS = 256,         /* most blocks in the second dimension of a grid: fewer than a GPU has,
                              * so that small arrays show a grid that would be too large */
};

struct emulated_dim {
    unsigned x, y;
};

struct emulated {
    struct emulated_dim thread, block, blocks, threads;
    char *shared;
};
extern struct emulated emulated; /* values of the thread that is running now */

#define threadIdx emulated.thread
#define blockIdx  emulated.block
#define gridDim   emulated.blocks
#define blockDim  emulated.threads

#define DEVICE                       static inline __attribute__((always_inline, unused))
#define BOTH                         DEVICE
#define KERNEL(name, arguments, ...) EMULATED_KERNEL(name, arguments, EMULATED_FIRST(__VA_ARGS__, ))
#define EMULATED_FIRST(first, ...)   first
#define EMULATED_KERNEL(name, arguments, most)                                                     \
    static void name##_thread(const struct arguments a);                                           \
    static void name##_run(const void *arguments_)                                                 \
    {                                                                                              \
        name##_thread(*(const struct arguments *)arguments_);                                      \
    }                                                                                              \
    static struct emulated_kernel name = { #name, name##_run, most, 0 };                           \
    static void name##_thread(const struct arguments a)
#define ALLOW_SHARED(name, bytes) emulated_allow(&name, (size_t)(bytes))
#define START(o, name, x, y, each, bytes, a)                                                       \
    emulated_launch(*(cudaStream_t *)(o)->device, &name, &(a), sizeof(a), x, y, each,              \
                    (size_t)(bytes))
#define SHARED(type, name) type *name = (type *)(void *)emulated.shared
#define BLOCK_BARRIER()    emulated_block_barrier(__LINE__)
#define UNROLL_BY(n)
#define UNROLL

/* The Makefile turns off the contraction of products and sums to fused operations. */
#define MULTIPLY(a, b)        ((a) * (b))
#define ADD(a, b)             ((a) + (b))
#define MULTIPLY_ADD(a, b, c) fmaf(a, b, c)

#define warp_from(word, lane)                                                                      \
    ({                                                                                             \
        __typeof__((word) + 0) word_ = (word);                                                     \
        emulated_exchange(&word_, sizeof word_, (unsigned)(lane), __LINE__);                       \
        word_;                                                                                     \
    })
#define warp_xor(word, bits) warp_from(word, threadIdx.x % 32 ^ (unsigned)(bits))

typedef struct {
    uint32_t x, y, z, w;
} __attribute__((aligned(16))) uint4;
typedef struct {
    float x, y, z, w;
} __attribute__((aligned(16))) float4;

struct emulated_kernel {
    const char *name;
    void (*run)(const void *arguments);
    int64_t most;  /* threads of a block */
    size_t shared; /* bytes that ALLOW_SHARED allows */
};

/* Adds the run of a kernel to a queue, as the macro START does (kernel.h). */
void emulated_launch(cudaStream_t s, struct emulated_kernel *k, const void *arguments, size_t bytes,
                     int64_t x, int64_t y, int64_t threads, size_t shared);
void emulated_allow(struct emulated_kernel *k, size_t shared);
/* Runs a kernel. order: of threads, warps and blocks: 0: forward, 1: backward, 2: from the middle.
 * One kernel runs at a time. */
void emulated_run(const struct emulated_kernel *k, const void *arguments, int64_t x, int64_t y,
                  int threads, size_t shared, int order);
void emulated_block_barrier(int line);
/* Called by all threads of a warp: gives *word to the others and replaces it by that of thread
 * `lane`. */
void emulated_exchange(void *word, size_t bytes, unsigned lane, int line);
/* Called by all threads of a warp: returns the *word of each of them, 32 words of `bytes` bytes. */
const void *emulated_gather(const void *word, size_t bytes, int line);

/* Returns the host address of what an address of the device, or of pinned memory, stands for. */
char *device_memory(char *address);

/* emulated_copy starts an asynchronous copy of 16 bytes to shared memory, or of zeros if `valid` is
 * 0. */
void emulated_copy(void *to, const void *from, int valid);
void emulated_commit(void);
void emulated_wait(int groups);
