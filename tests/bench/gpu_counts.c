/*
 * gpu_counts.c - counts the work of an emulated GPU. gpu_roofline.py links it with tests/emulate:
 * the linker sends calls of a function F to __wrap_F (--wrap), and the compiler calls __tsan_* at
 * each access of memory in a kernel (-fsanitize=thread).
 *
 * A kernel does not run as a whole: one group of its blocks runs, then the next one. The bytes of
 * the second group that the first did not access count for all further groups. Bytes are counted in
 * sectors of 32, once a launch, as a cache without limit would load and store them. Launches that
 * differ in addresses, random numbers and rates alone are counted once. Only the sort of tokens
 * runs whole each time, because its results are places in memory. Products of matrices are not
 * computed.
 *
 * Lines of the file TEXTMILL_COUNTS:
 *     kernel NAME READ WRITTEN PRODUCTS     bytes; products of a warp, m16n8k16
 *     product M N K
 *     wait, copy                            of the host for the GPU, and between them
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "common/base/mem.h"
#include "cuda/kernel.h"
#include "tests/emulate/toolkit/cublasLt.h"

enum { SECTOR = 32, KEYS = 4096, GROUP = 4, MOST_GROUP = 64 };
static const size_t SECTORS = (size_t)1 << 32;

struct counted {
    char *key;
    size_t bytes;
    int64_t read, written, products;
};

static struct {
    FILE *to;
    char *low;                      /* the first byte of the device's memory, on the host */
    uint32_t *reads, *writes, turn; /* the last launch that accessed each sector */
    struct counted sum, known[KEYS];
    int count;
} c;
int64_t emulated_first, emulated_end; /* the blocks that emulated_run runs */

#define WRAP(type, name, ...)                                                                      \
    type __real_##name(__VA_ARGS__);                                                               \
    type __wrap_##name(__VA_ARGS__)

WRAP(cudaError_t, cudaMalloc, void **at, size_t bytes)
{
    const cudaError_t error = __real_cudaMalloc(at, bytes);
    if (error || c.low)
        return error;
    c.low = device_memory(*at) - (1 << 20);
    c.to = fopen(getenv("TEXTMILL_COUNTS"), "w");
    c.reads = mmap(NULL, 8 * SECTORS, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    c.writes = c.reads + SECTORS;
    if (!c.to || c.reads == MAP_FAILED)
        abort();
    return error;
}

static void access_memory(const void *at, size_t bytes, uint32_t *turns, int64_t *sum)
{
    const size_t first = (size_t)((const char *)at - c.low), end = (first + bytes - 1) / SECTOR;
    for (size_t s = first / SECTOR; s <= end && end < SECTORS; s++) {
        *sum += turns[s] != c.turn ? SECTOR : 0;
        turns[s] = c.turn;
    }
}

#define ACCESS(n)                                                                                  \
    void __tsan_read##n(void *at)                                                                  \
    {                                                                                              \
        access_memory(at, n, c.reads, &c.sum.read);                                                \
    }                                                                                              \
    void __tsan_write##n(void *at)                                                                 \
    {                                                                                              \
        access_memory(at, n, c.writes, &c.sum.written);                                            \
    }
ACCESS(1) ACCESS(2) ACCESS(4) ACCESS(8) ACCESS(16) void __tsan_read_range(void *at, size_t bytes)
{
    access_memory(at, bytes, c.reads, &c.sum.read);
}
void __tsan_write_range(void *at, size_t bytes)
{
    access_memory(at, bytes, c.writes, &c.sum.written);
}
void __tsan_init(void)
{
}

WRAP(void, emulated_copy, void *to, const void *from, int valid)
{
    if (valid)
        access_memory(from, 16, c.reads, &c.sum.read);
    __real_emulated_copy(to, from, valid);
}

/* A product exchanges six words. */
WRAP(const void *, emulated_gather, const void *word, size_t bytes, int line)
{
    c.sum.products += bytes == 6 * sizeof(uint32_t) && threadIdx.x % WARP == 0;
    return __real_emulated_gather(word, bytes, line);
}

/* Copies the arguments without addresses, random numbers and rates: words above 2^40. How far
 * addresses are aligned stays. */
static char *key_of(const struct emulated_kernel *k, const void *arguments, size_t bytes, int64_t x,
                    int64_t y)
{
    char *key = mem_zalloc(1, 3 * sizeof(uint64_t) + bytes);
    uint64_t *words = (uint64_t *)(void *)key;
    memcpy(words + 3, arguments, bytes);
    for (size_t i = 3; i < 3 + bytes / sizeof *words; i++)
        words[i] &= words[i] >> 40 ? SECTOR - 1 : UINT64_MAX;
    words[0] = (uintptr_t)k;
    words[1] = (uint64_t)x;
    words[2] = (uint64_t)y;
    return key;
}

static void count(const struct emulated_kernel *k, const void *arguments, int64_t x, int64_t y,
                  int threads, size_t shared, int whole)
{
    const int64_t all = x * y, group = whole ? all : y > 1 && x <= MOST_GROUP ? x : GROUP;
    struct counted one = { 0 };
    c.turn++;
    c.sum = one;
    emulated_end = 0;
    for (int i = 0; i < 2; i++) {
        one = c.sum;
        emulated_first = emulated_end;
        emulated_end = least(emulated_first + group, all);
        emulated_run(k, arguments, x, y, threads, shared, 0);
    }
    const double more = all > emulated_end ? (double)(all - emulated_end) / (double)group : 0;
    c.sum.read += (int64_t)(more * (double)(c.sum.read - one.read));
    c.sum.written += (int64_t)(more * (double)(c.sum.written - one.written));
    c.sum.products += (int64_t)(more * (double)(c.sum.products - one.products));
}

WRAP(void, emulated_launch, cudaStream_t s, struct emulated_kernel *k, const void *arguments,
     size_t bytes, int64_t x, int64_t y, int64_t threads, size_t shared)
{
    const size_t size = 3 * sizeof(uint64_t) + bytes;
    const int whole = !strncmp(k->name, "sort_", 5);
    char *key = key_of(k, arguments, bytes, x, y);
    int i = 0;
    while (i < c.count && (whole || c.known[i].bytes != size || memcmp(c.known[i].key, key, size)))
        i++;
    if (i == KEYS)
        abort();
    if (i == c.count) {
        count(k, arguments, x, y, (int)threads, shared, whole);
        c.sum.key = key;
        c.sum.bytes = size;
        c.known[c.count++] = c.sum;
    } else {
        free(key);
    }
    const struct counted *n = &c.known[i];
    fprintf(c.to, "kernel %s %lld %lld %lld\n", k->name, (long long)n->read, (long long)n->written,
            (long long)n->products);
}

WRAP(int, products_multiply, struct ops *o, const struct ops_matmul *p, struct ops_array inner)
{
    const int done = __real_products_multiply(o, p, inner);
    if (done)
        fprintf(c.to, "product %lld %lld %lld\n", (long long)p->M, (long long)p->N,
                (long long)p->K);
    return done;
}
int __wrap_cublasLtMatmul(void)
{
    return CUBLAS_STATUS_SUCCESS;
}

/* New memory is zeros here, and stays so where kernels did not run. */
int __wrap_cudaMemsetAsync(void)
{
    return cudaSuccess;
}

WRAP(cudaError_t, cudaMemcpyAsync, void *to, const void *from, size_t bytes,
     enum cudaMemcpyKind kind, cudaStream_t s)
{
    fprintf(c.to, "copy\n");
    return __real_cudaMemcpyAsync(to, from, bytes, kind, s);
}

WRAP(cudaError_t, cudaStreamSynchronize, cudaStream_t s)
{
    fprintf(c.to, "wait\n");
    return __real_cudaStreamSynchronize(s);
}
