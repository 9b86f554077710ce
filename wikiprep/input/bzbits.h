/*
 * bzbits.h - the bits of a bzip2 block, the highest of a byte first.
 */
#ifndef TEXTMILL_WIKIPREP_INPUT_BZBITS_H
#define TEXTMILL_WIKIPREP_INPUT_BZBITS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The next bits stand at the top of `bits`, at least `held` of them. */
struct bzbits {
    const uint8_t *next, *end; /* the next byte to take in; behind the last */
    uint64_t bits;
    unsigned held;
    uint64_t taken; /* bytes of zeros taken in behind the end */
};

static inline uint64_t bzbits_load(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    v = __builtin_bswap64(v);
#endif
    return v;
}

/* 56 bits or more. Zeros follow the end of the bytes, and bzbits_position goes on. Up to 8 bytes
 * behind the end are read. */
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

static inline unsigned bzbits_take(struct bzbits *b, unsigned n) /* n in 1..32, after a refill */
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

/* Where the next bit is, counted from the first of `origin`. */
static inline uint64_t bzbits_position(const struct bzbits *b, const uint8_t *origin)
{
    return (uint64_t)(b->next - origin + (ptrdiff_t)b->taken) * 8 - b->held;
}

#endif
