/*
 * le.h - reads and writes little-endian numbers at any address. All binary formats of this project
 * are little-endian.
 */
#pragma once

#include "common/base/std.h"

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define LE_SWAP(bits, v) __builtin_bswap##bits(v)
#else
#define LE_SWAP(bits, v) (v)
#endif

static inline uint16_t le_u16(const unsigned char *p)
{
    uint16_t v;
    memcpy(&v, p, sizeof v);
    return LE_SWAP(16, v);
}

static inline uint32_t le_u32(const unsigned char *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return LE_SWAP(32, v);
}

static inline uint64_t le_u64(const unsigned char *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return LE_SWAP(64, v);
}

static inline float le_f32(const unsigned char *p)
{
    uint32_t bits = le_u32(p);
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline double le_f64(const unsigned char *p)
{
    uint64_t bits = le_u64(p);
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline void le_put_u16(void *p, uint16_t v)
{
    v = LE_SWAP(16, v);
    memcpy(p, &v, sizeof v);
}

static inline void le_put_u32(void *p, uint32_t v)
{
    v = LE_SWAP(32, v);
    memcpy(p, &v, sizeof v);
}

static inline void le_put_u64(void *p, uint64_t v)
{
    v = LE_SWAP(64, v);
    memcpy(p, &v, sizeof v);
}

static inline void le_put_f32(void *p, float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    le_put_u32(p, bits);
}

static inline void le_put_f64(void *p, double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    le_put_u64(p, bits);
}
