/*
 * bzbits.h - a bit reader for bzip2 blocks; the highest bit of a byte comes first.
 */
#pragma once

#include "common/base/le.h"

/* Reader state. The next bits are the highest bits of `bits`; at least `held` of them are valid. */
struct bzbits {
    const uint8_t *next, *end; /* next byte to load; end of the bytes */
    uint64_t bits;
    unsigned held;
    uint64_t taken; /* zero bytes loaded after the end */
};

static inline uint64_t bzbits_load(const uint8_t *p)
{
    return __builtin_bswap64(le_u64(p));
}

/* Loads bytes until at least 56 bits are held. After the end of the bytes it supplies zeros, and
 * bzbits_position keeps counting. It may read up to 8 bytes past the end. */
static inline void bzbits_refill(struct bzbits *b)
{
    if (__builtin_expect(b->next >= b->end, 0)) {
        b->taken += (63 - b->held) >> 3;
        b->held |= 56;
        return;
    }
    b->bits |= bzbits_load(b->next) >> b->held;
    b->next += (63 - b->held) >> 3;
    b->held |= 56;
}

/* Returns the next n bits, 1 <= n <= 32, and moves past them. Call bzbits_refill first. */
static inline unsigned bzbits_take(struct bzbits *b, unsigned n)
{
    unsigned v = (unsigned)(b->bits >> (64 - n));
    b->bits <<= n;
    b->held -= n;
    return v;
}

static inline unsigned bzbits_get(struct bzbits *b, unsigned n)
{
    bzbits_refill(b);
    return bzbits_take(b, n);
}

/* Returns the position of the next bit, counted from the first bit of `origin`. */
static inline uint64_t bzbits_position(const struct bzbits *b, const uint8_t *origin)
{
    return (uint64_t)(b->next - origin + (ptrdiff_t)b->taken) * 8 - b->held;
}
