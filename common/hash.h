/*
 * hash.h - FNV-1a of 64 bits, for tables of strings and checksums of small things.
 *
 *     h = 0xCBF29CE484222325; for each byte: h = (h ^ byte) * 0x100000001B3
 *
 * (Fowler, Noll, Vo: RFC 9923.) One multiplication a byte: right for names and words; long texts
 * want something faster. No defence against keys that were made to collide.
 */
#ifndef TEXTMILL_COMMON_HASH_H
#define TEXTMILL_COMMON_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HASH_START UINT64_C(0xCBF29CE484222325)

/* The hash of what h is the hash of, with these bytes behind it. */
static inline uint64_t hash_more(uint64_t h, const void *bytes, size_t n)
{
    const unsigned char *p = bytes;
    for (size_t i = 0; i < n; i++)
        h = (h ^ p[i]) * UINT64_C(0x100000001B3);
    return h;
}

/* For tables whose size is a power of two: the low bits, with what the high ones know. */
static inline uint64_t hash_fold(uint64_t h)
{
    return h ^ h >> 29;
}

static inline uint64_t hash_bytes(const void *bytes, size_t n)
{
    return hash_fold(hash_more(HASH_START, bytes, n));
}

#endif
