/*
 * pyrandom.h - the random numbers of Python, number for number: data sets that others made with
 * a seed can be made again.
 *
 * Both of Python's generators are the Mersenne Twister (Matsumoto and Nishimura, "Mersenne
 * Twister: a 623-dimensionally equidistributed uniform pseudorandom number generator", 1998) and
 * differ in how they seed it and how they draw below a bound:
 *
 *   - random.Random: seeded by an array, the 32-bit words of the seed; below n: the top
 *     bits(n) bits of a draw, until they are less than n;
 *   - numpy.random.RandomState: seeded by one 32-bit word; below n: the low bits of a draw under
 *     the least mask 2^k - 1 >= n - 1, until they are less than n.
 *
 * Checked against both in tests/unit/test_pyrandom.c and tests/peers/pyrandom.py.
 */
#ifndef TEXTMILL_TFRECORD_FORMATS_PYRANDOM_H
#define TEXTMILL_TFRECORD_FORMATS_PYRANDOM_H

#include <stddef.h>
#include <stdint.h>

struct pyrandom {
    uint32_t state[624];
    int at;
};

void pyrandom_seed(struct pyrandom *r, uint64_t seed); /* random.Random(seed) */
uint32_t pyrandom_u32(struct pyrandom *r);             /* the generator's own draw */

/* Random.random(): in [0, 1), 53 bits of two draws. */
double pyrandom_real(struct pyrandom *r);

/* Random.randrange(n), n in [1, 2^32]. Random.randint(a, b) is a + pyrandom_below(r, b - a + 1). */
uint64_t pyrandom_below(struct pyrandom *r, uint64_t n);

/* Random.shuffle, of fewer than 2^32 things. */
void pyrandom_shuffle(struct pyrandom *r, uint32_t *order, size_t n);

/* RandomState(seed), whose seeds have 32 bits. */
void pyrandom_seed_numpy(struct pyrandom *r, uint32_t seed);

/* A number in [0, n), n in [1, 2^64 - 1], as RandomState.shuffle draws it. */
uint64_t pyrandom_below_numpy(struct pyrandom *r, uint64_t n);
void pyrandom_shuffle_numpy(struct pyrandom *r, uint32_t *order, size_t n);

#endif
