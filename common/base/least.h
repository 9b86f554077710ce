/*
 * least.h - the smaller and the larger of two numbers; divisions that are rounded up.
 */
#pragma once

#include "common/base/std.h"

static inline int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Returns how many pieces of up to `size` items n items make. */
static inline int64_t pieces(int64_t n, int64_t size)
{
    return (n + size - 1) / size;
}
