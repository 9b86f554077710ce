/*
 * hash.h - the 64-bit FNV-1a hash, for tables of strings and for checksums of short data.
 *
 *     h = 0xCBF29CE484222325; for each byte: h = (h ^ byte) * 0x100000001B3
 *
 * (Fowler, Noll, Vo: RFC 9923.) It needs one multiplication per byte: good for names and words,
 * slow for long texts. It gives no protection against keys that were chosen to collide.
 */
#pragma once

#include "common/base/std.h"

#define HASH_START UINT64_C(0xCBF29CE484222325)

/* Continues a hash: returns the hash of the bytes already hashed into h followed by bytes[0..n). */
static inline uint64_t hash_more(uint64_t h, const void *bytes, size_t n)
{
    const unsigned char *p = bytes;
    for (size_t i = 0; i < n; i++)
        h = (h ^ p[i]) * UINT64_C(0x100000001B3);
    return h;
}

/* Returns the hash with its high bits mixed into the low bits, for tables that use only the low
 * bits. */
static inline uint64_t hash_fold(uint64_t h)
{
    return h ^ h >> 29;
}

static inline uint64_t hash_bytes(const void *bytes, size_t n)
{
    return hash_fold(hash_more(HASH_START, bytes, n));
}
