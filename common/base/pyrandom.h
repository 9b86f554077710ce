/*
 * pyrandom.h - reproduces Python's random numbers exactly, so data sets that other programs made
 * with a seed can be made again.
 *
 * The generators of Python and NumPy are both the Mersenne Twister (Matsumoto and Nishimura,
 * "Mersenne Twister: a 623-dimensionally equidistributed uniform pseudorandom number generator",
 * 1998). They differ in seeding and in how they draw a number below n:
 *
 *   - random.Random: seeded by an array, the 32-bit words of the seed; below n: the top
 *     bits(n) bits of a draw, until they are less than n;
 *   - numpy.random.RandomState: seeded by one 32-bit word; below n: the low bits of a draw under
 *     the least mask 2^k - 1 >= n - 1, until they are less than n.
 *
 * Checked by tests/unit/common/base/test_pyrandom.c, tests/peers/instances.py (the first) and
 * tests/peers/indexmap.py (the second).
 */
#pragma once

#include "common/base/base.h"

struct pyrandom {
    uint32_t state[624];
    int at;
};

void pyrandom_seed(struct pyrandom *r, uint64_t seed); /* random.Random(seed) */
uint32_t pyrandom_u32(struct pyrandom *r);             /* one 32-bit number of the generator */

/* As Random.random(): returns a number in [0, 1) with 53 bits, from two draws. */
double pyrandom_real(struct pyrandom *r);

/* Returns Random.randrange(n) for n in [1, 2^32]. Random.randint(a, b) is a + pyrandom_below(r, b -
 * a + 1). */
uint64_t pyrandom_below(struct pyrandom *r, uint64_t n);

/* Sets picks[0..k) to k different numbers below n, k <= n < 2^32, as Random.sample(range(n), k)
 * does. */
void pyrandom_sample(struct pyrandom *r, uint32_t *picks, size_t k, uint32_t n);

/* As RandomState(seed); these seeds have 32 bits. */
void pyrandom_seed_numpy(struct pyrandom *r, uint32_t seed);

/* Returns a number in [0, n), n in [1, 2^64 - 1], drawn as RandomState.shuffle and .randint do. */
uint64_t pyrandom_below_numpy(struct pyrandom *r, uint64_t n);

/* As Random.shuffle or, if `below` is pyrandom_below_numpy, as RandomState.shuffle, for n < 2^32
 * items of `bytes` bytes each, at most 64. */
static inline void pyrandom_shuffle(struct pyrandom *r, void *items, size_t n, size_t bytes,
                                    uint64_t (*below)(struct pyrandom *r, uint64_t n))
{
    char *const first = items, keep[64];
    for (size_t i = n; i-- > 1;) {
        char *const other = first + below(r, i + 1) * bytes;
        memcpy(keep, first + i * bytes, bytes);
        memmove(first + i * bytes, other, bytes);
        memcpy(other, keep, bytes);
    }
}
