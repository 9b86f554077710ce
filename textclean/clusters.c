#include "textclean/clusters.h"

#include <stdlib.h>

#include "common/base/mem.h"

void clusters_add(struct clusters *c, size_t count)
{
    mem_grow(c->parents, c->cap, count);
    for (; c->count < count; c->count++)
        c->parents[c->count] = (uint32_t)c->count;
}

void clusters_release(struct clusters *c)
{
    free(c->parents);
    *c = (struct clusters){ 0 };
}

/* As clusters_first, and shortens the way for the next search. */
static uint32_t find(struct clusters *c, size_t document)
{
    uint32_t *p = c->parents;
    while (p[document] != document) {
        p[document] = p[p[document]];
        document = p[document];
    }
    return (uint32_t)document;
}

void clusters_join(struct clusters *c, size_t a, size_t b)
{
    uint32_t x = find(c, a), y = find(c, b);
    c->parents[x > y ? x : y] = x < y ? x : y;
}

size_t clusters_first(const struct clusters *c, size_t document)
{
    while (c->parents[document] != document)
        document = c->parents[document];
    return document;
}
