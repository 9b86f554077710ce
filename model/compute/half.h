/*
 * half.h - converts IEEE 754 binary16 numbers, which files call f16, to and from floats.
 */
#pragma once

#include "common/base/base.h"

static inline float half_float(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Returns the value of an f16 number given as its 16 bits. Subnormal numbers are m * 2^-24. */
static inline float half_read(uint32_t h)
{
    uint32_t sign = (h & 0x8000) << 16, exponent = h >> 10 & 31, m = h & 1023;
    if (exponent == 0)
        return half_float(sign) + (sign ? -(float)m : (float)m) * 0x1p-24f;
    if (exponent == 31)
        return half_float(sign | 0x7F800000 | m << 13);
    return half_float(sign | (exponent + 112) << 23 | m << 13);
}

/* Returns the bits of the nearest f16 number, ties to even; infinity if it would be above 65504. */
static inline uint16_t half_make(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    uint32_t sign = u >> 16 & 0x8000, rest = u & 0x7FFFFFFF;
    if (rest > 0x7F800000)
        return (uint16_t)(sign | 0x7E00);
    if (rest >= 0x47800000) /* 65536 */
        return (uint16_t)(sign | 0x7C00);
    if (rest < 0x38800000) { /* 2^-14: the last bit of a sum with 0.5 is 2^-24, the least f16 */
        float whole = half_float(rest) + 0.5f;
        memcpy(&rest, &whole, sizeof rest);
        return (uint16_t)(sign | (rest - 0x3F000000));
    }
    rest += 0xFFF + (rest >> 13 & 1);
    return (uint16_t)(sign | ((rest - 0x38000000) >> 13));
}
