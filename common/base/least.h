/*
 * least.h - the smaller and the larger of two numbers.
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
