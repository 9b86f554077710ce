#include "wikiprep/expand/arena.h"

enum { CHUNK_BYTES = 1 << 16, LARGE_BYTES = CHUNK_BYTES / 8, ALIGN = 16 };

struct arena_chunk {
    struct arena_chunk *before;
    size_t used, cap;
    _Alignas(ALIGN) char bytes[];
};

void *arena_take(struct arena *a, size_t bytes)
{
    struct arena_chunk *c = a->chunk;
    bytes = (bytes + ALIGN - 1) & ~(size_t)(ALIGN - 1);
    if (c && c->cap - c->used >= bytes) {
        c->used += bytes;
        return c->bytes + c->used - bytes;
    }
    int is_large = bytes > LARGE_BYTES && c; /* gets its own chunk, linked after the current one */
    size_t cap = is_large || bytes > CHUNK_BYTES ? bytes : CHUNK_BYTES;
    struct arena_chunk *more = mem_alloc(sizeof *more + cap);
    *more = (struct arena_chunk){ .before = is_large ? c->before : c, .used = bytes, .cap = cap };
    if (is_large)
        c->before = more;
    else
        a->chunk = more;
    return more->bytes;
}

void arena_reset(struct arena *a)
{
    struct arena_chunk *c = a->chunk;
    while (c && c->before) {
        struct arena_chunk *before = c->before;
        free(c);
        c = before;
    }
    if (c)
        c->used = 0;
    a->chunk = c;
}

void arena_release(struct arena *a)
{
    arena_reset(a);
    free(a->chunk);
    a->chunk = NULL;
}
