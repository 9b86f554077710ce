/*
 * xxh64.h - the 64-bit hash XXH64: fast for long texts and good for short ones.
 *
 * Source: "xxHash fast digest algorithm", format description 0.1.1, chapter XXH64. It gives no
 * protection against keys that were chosen to collide.
 */
#pragma once

#include "common/base/le.h"

#define XXH64_1 UINT64_C(0x9E3779B185EBCA87)
#define XXH64_2 UINT64_C(0xC2B2AE3D27D4EB4F)
#define XXH64_3 UINT64_C(0x165667B19E3779F9)
#define XXH64_4 UINT64_C(0x85EBCA77C2B2AE63)
#define XXH64_5 UINT64_C(0x27D4EB2F165667C5)

static inline uint64_t xxh64_turn(uint64_t x, int by)
{
    return x << by | x >> (64 - by);
}

static inline uint64_t xxh64_round(uint64_t sum, uint64_t lane)
{
    return xxh64_turn(sum + lane * XXH64_2, 31) * XXH64_1;
}

/* Returns the hash of the first n / 32 blocks of 32 bytes; n >= 32. Sets *at to their end. */
static inline uint64_t xxh64_blocks(const unsigned char **at, size_t n, uint64_t seed)
{
    uint64_t sums[4] = { seed + XXH64_1 + XXH64_2, seed + XXH64_2, seed, seed - XXH64_1 };
    const unsigned char *p = *at;
    for (size_t block = 0; block < n / 32; block++, p += 32)
        for (int i = 0; i < 4; i++)
            sums[i] = xxh64_round(sums[i], le_u64(p + 8 * i));
    uint64_t h = xxh64_turn(sums[0], 1) + xxh64_turn(sums[1], 7) + xxh64_turn(sums[2], 12) +
                 xxh64_turn(sums[3], 18);
    for (int i = 0; i < 4; i++)
        h = (h ^ xxh64_round(0, sums[i])) * XXH64_1 + XXH64_4;
    *at = p;
    return h;
}

static inline uint64_t xxh64(const void *bytes, size_t n, uint64_t seed)
{
    const unsigned char *p = bytes, *end = p + n;
    uint64_t h = (n >= 32 ? xxh64_blocks(&p, n, seed) : seed + XXH64_5) + n;
    for (; end - p >= 8; p += 8)
        h = xxh64_turn(h ^ xxh64_round(0, le_u64(p)), 27) * XXH64_1 + XXH64_4;
    if (end - p >= 4) {
        h = xxh64_turn(h ^ le_u32(p) * XXH64_1, 23) * XXH64_2 + XXH64_3;
        p += 4;
    }
    for (; p < end; p++)
        h = xxh64_turn(h ^ *p * XXH64_5, 11) * XXH64_1;
    h = (h ^ h >> 33) * XXH64_2;
    h = (h ^ h >> 29) * XXH64_3;
    return h ^ h >> 32;
}
