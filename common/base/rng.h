/*
 * rng.h - random numbers, in two kinds.
 *
 * Counter-based: rng_at(key, i) is the i-th number of the sequence that `key` selects. There is no
 * state, so any thread can compute any number at any time (dropout masks, weights). Keys come from
 * rng_key, which combines the numbers that identify a use: (seed, step, layer, ...).
 *
 * Sequential: struct rng steps through a counter-based sequence (shuffles, sampling). Its whole
 * state is two numbers, which a checkpoint saves.
 *
 * The mixer is the finaliser of SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom
 * number generators", OOPSLA 2014), over a Weyl sequence.
 */
#pragma once

#include "common/base/std.h"

static inline uint64_t rng_mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

/* Returns a new key made of a key and one more number. The first call is rng_key(0, seed). */
static inline uint64_t rng_key(uint64_t key, uint64_t part)
{
    return rng_mix(key * 0x9E3779B97F4A7C15u + rng_mix(part + 0x632BE59BD9B4E019u));
}

static inline uint64_t rng_at(uint64_t key, uint64_t i)
{
    return rng_mix(key + (i + 1) * 0x9E3779B97F4A7C15u);
}

/* Returns the key of the sequence that starts at the i-th number of key's sequence:
 * rng_at(rng_from(key, i), j) equals rng_at(key, i + j). */
static inline uint64_t rng_from(uint64_t key, uint64_t i)
{
    return key + i * 0x9E3779B97F4A7C15u;
}

struct rng {
    uint64_t key, count;
};

static inline uint64_t rng_next(struct rng *r)
{
    return rng_at(r->key, r->count++);
}

/* Returns a random number in [0, 1) with 53 random bits. */
static inline double rng_real(struct rng *r)
{
    return (double)(rng_next(r) >> 11) * 0x1p-53;
}

/* Returns a random integer in [0, n), n > 0, without bias (by rejection). */
static inline uint64_t rng_below(struct rng *r, uint64_t n)
{
    uint64_t limit = -n % n; /* 2^64 mod n */
    uint64_t x;
    do
        x = rng_next(r);
    while (x < limit);
    return x % n;
}

/* Puts order[0..n) in random order (Fisher and Yates). */
static inline void rng_shuffle(struct rng *r, uint64_t *order, uint64_t n)
{
    for (uint64_t i = n; i > 1; i--) {
        uint64_t j = rng_below(r, i), keep = order[i - 1];
        order[i - 1] = order[j];
        order[j] = keep;
    }
}
