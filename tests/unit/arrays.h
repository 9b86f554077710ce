/*
 * arrays.h - converts pointers to host memory to arrays of ops.h and back, for tests of the CPU
 * back end.
 */
#pragma once

#include "model/compute/ops.h"

static inline struct ops_array f32(const float *x)
{
    return ops_host_array((float *)x, OPS_F32);
}

static inline float *floats(struct ops_array a)
{
    return (float *)(void *)a.address;
}

/* Returns queries, keys and values that lie side by side in the rows of qkv[N,3C]. */
static inline struct ops_qkv side_by_side(struct ops_array qkv, int64_t C)
{
    return (struct ops_qkv){ qkv, ops_part(qkv, C), ops_part(qkv, 2 * C), 3 * C, 3 * C };
}

/* Rounds x[n] to the nearest bf16 numbers. */
static inline void trim(struct ops *o, float *x, int64_t n)
{
    struct ops_array half = ops_buffer(o, OPS_BF16, n);
    ops_copy(o, half, f32(x), n);
    ops_copy(o, f32(x), half, n);
    ops_buffer_free(o, half);
}

static inline float bf16_at(struct ops_array a, int64_t i)
{
    union {
        uint32_t bits;
        float x;
    } u = { (uint32_t)((uint16_t *)(void *)a.address)[i] << 16 };
    return u.x;
}
