/*
 * le.h - reads and writes little-endian numbers at any address. All binary formats of this project
 * are little-endian.
 */
#pragma once

#include "common/base/buf.h"

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define LE_SWAP(bits, v) __builtin_bswap##bits(v)
#else
#define LE_SWAP(bits, v) (v)
#endif

/* le_u16, le_u32, le_u64, le_f32 and le_f64 return the number at p; le_put_ writes one there;
 * le_add_ appends one to *out. */
#define LE_NUMBER(name, type, bits)                                                                \
    static inline type le_##name(const unsigned char *p)                                           \
    {                                                                                              \
        uint##bits##_t v;                                                                          \
        type x;                                                                                    \
        memcpy(&v, p, sizeof v);                                                                   \
        v = LE_SWAP(bits, v);                                                                      \
        memcpy(&x, &v, sizeof x);                                                                  \
        return x;                                                                                  \
    }                                                                                              \
    static inline void le_put_##name(void *p, type x)                                              \
    {                                                                                              \
        uint##bits##_t v;                                                                          \
        memcpy(&v, &x, sizeof v);                                                                  \
        v = LE_SWAP(bits, v);                                                                      \
        memcpy(p, &v, sizeof v);                                                                   \
    }                                                                                              \
    static inline void le_add_##name(struct buf *out, type x)                                      \
    {                                                                                              \
        char bytes[sizeof x];                                                                      \
        le_put_##name(bytes, x);                                                                   \
        buf_add(out, bytes, sizeof bytes);                                                         \
    }

LE_NUMBER(u16, uint16_t, 16)
LE_NUMBER(u32, uint32_t, 32)
LE_NUMBER(u64, uint64_t, 64)
LE_NUMBER(f32, float, 32)
LE_NUMBER(f64, double, 64)

/* Returns the unsigned number in bytes p[n], n <= 8. */
static inline uint64_t le_number(const unsigned char *p, int n)
{
    uint64_t x = 0;
    while (n--)
        x = x << 8 | p[n];
    return x;
}
