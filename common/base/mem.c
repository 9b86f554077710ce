#include "common/base/mem.h"

#include <sys/mman.h>

#include "common/base/log.h"

static _Thread_local jmp_buf *escape;

jmp_buf *mem_escape(jmp_buf *to)
{
    jmp_buf *before = escape;
    escape = to;
    return before;
}

static void *checked(void *p, size_t bytes)
{
    if (p || !bytes)
        return p;
    jmp_buf *to = escape;
    escape = NULL;
    if (to)
        longjmp(*to, 1);
    log_fatal("out of memory: %zu bytes wanted", bytes);
}

static size_t product(size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes))
        checked(NULL, SIZE_MAX);
    return bytes;
}

void *mem_alloc(size_t bytes)
{
    return checked(malloc(bytes ? bytes : 1), bytes);
}

void *mem_zalloc(size_t count, size_t size)
{
    size_t bytes = product(count, size);
    return checked(calloc(1, bytes ? bytes : 1), bytes);
}

void *mem_resize(void *p, size_t count, size_t size)
{
    size_t bytes = product(count, size);
    return checked(realloc(p, bytes ? bytes : 1), bytes);
}

static void *aligned(size_t alignment, size_t bytes)
{
    size_t rounded = (bytes + alignment - 1) / alignment *
                     alignment; /* aligned_alloc requires a multiple of the alignment */
    return checked(aligned_alloc(alignment, rounded ? rounded : alignment), bytes);
}

void *mem_aligned(size_t count, size_t size)
{
    return aligned(64, product(count, size));
}

void *mem_huge(size_t count, size_t size)
{
    const size_t huge = 2 << 20;
    size_t bytes = product(count, size);
    if (bytes < huge)
        return mem_aligned(count, size);
    void *p = aligned(huge, bytes);
#ifdef MADV_HUGEPAGE
    madvise(p, bytes / huge * huge, MADV_HUGEPAGE); /* only a hint: failure does no harm */
#endif
    return p;
}

char *mem_strdup(const char *s)
{
    return mem_strndup(s, strlen(s));
}

char *mem_strndup(const char *s, size_t n)
{
    char *copy = mem_alloc(n + 1);
    memcpy(copy, s, n);
    copy[n] = '\0';
    return copy;
}
