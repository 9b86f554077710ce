/*
 * order.h - orders of array elements for qsort and bsearch.
 */
#pragma once

#include "common/base/std.h"

/* Of strings, or of structs that begin with a pointer to one. The key of bsearch is such an
 * element, too: a pointer to a string. */
static inline int order_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static inline int order_reals(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Of uint64_t. */
static inline int order_numbers(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}
