/*
 * order.h - orders of array elements for qsort and bsearch.
 */
#pragma once

#include "common/base/base.h"

/* Compares strings, or structs that begin with a pointer to one. For bsearch, the key is the
 * address of a pointer to a string. */
static inline int order_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static inline int order_reals(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Orders uint64_t. */
static inline int order_numbers(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Compares a[0..an) with b[0..bn) byte by byte, and returns what memcmp does. If one begins with
 * the other, the shorter comes first. Either may be NULL if it is empty. */
static inline int order_bytes(const void *a, size_t an, const void *b, size_t bn)
{
    const size_t n = an < bn ? an : bn;
    const int order = n ? memcmp(a, b, n) : 0;
    return order ? order : (an > bn) - (an < bn);
}

/* An item and its rank. order_ranks puts high ranks first, and of equal ranks small items. */
struct order_rank {
    double rank;
    uint32_t item;
};

static inline int order_ranks(const void *a, const void *b)
{
    const struct order_rank *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank > y->rank ? -1 : 1;
    return (x->item > y->item) - (x->item < y->item);
}

/* Writes to top[] the n greatest of the numbers x[0..count), less `minus`, with their indices, in
 * the order of order_ranks. Returns how many it wrote, fewer than n only if `count` is. Few numbers
 * get past the first comparison, so this is fast. */
static inline size_t order_top(struct order_rank *top, size_t n, const float *x, size_t count,
                               double minus)
{
    size_t have = 0;
    for (size_t i = 0; i < count && n; i++) {
        const double rank = x[i] - minus;
        size_t at = have;
        if (have == n && !(rank > top[n - 1].rank))
            continue;
        while (at && rank > top[at - 1].rank)
            at--;
        have += have < n;
        memmove(top + at + 1, top + at, (have - at - 1) * sizeof *top);
        top[at] = (struct order_rank){ rank, (uint32_t)i };
    }
    return have;
}

/* Sets order[0..n) to the indices of sizes[], greatest size first; equal ones keep their order. */
static inline void order_sizes(uint32_t *order, const uint32_t *sizes, size_t n)
{
    uint32_t most = 0;
    for (size_t i = 0; i < n; i++)
        most = sizes[i] > most ? sizes[i] : most;
    SCOPED_MEM size_t *at = mem_zalloc((size_t)most + 2, sizeof *at); /* at[k]: of most - k */
    for (size_t i = 0; i < n; i++)
        at[most - sizes[i] + 1]++;
    for (size_t k = 1; k <= most; k++)
        at[k] += at[k - 1];
    for (size_t i = 0; i < n; i++)
        order[at[most - sizes[i]]++] = (uint32_t)i;
}
