#include "common/base/pyrandom.h"

enum { N = 624, M = 397 };

/* ---- the generator ------------------------------------------------------------------------ */

void pyrandom_seed_numpy(struct pyrandom *r, uint32_t seed)
{
    uint32_t *s = r->state;
    s[0] = seed;
    for (uint32_t i = 1; i < N; i++)
        s[i] = 1812433253u * (s[i - 1] ^ s[i - 1] >> 30) + i;
    r->at = N;
}

/* init_by_array of the generator's authors: mixes each word of the key into the state. */
static void seed_array(struct pyrandom *r, const uint32_t *key, uint32_t words)
{
    uint32_t *s = r->state, i = 1, j = 0;
    pyrandom_seed_numpy(r, 19650218);
    for (uint32_t k = N > words ? N : words; k; k--) {
        s[i] = (s[i] ^ (s[i - 1] ^ s[i - 1] >> 30) * 1664525u) + key[j] + j;
        if (++i == N) {
            s[0] = s[N - 1];
            i = 1;
        }
        if (++j == words)
            j = 0;
    }
    for (uint32_t k = N - 1; k; k--) {
        s[i] = (s[i] ^ (s[i - 1] ^ s[i - 1] >> 30) * 1566083941u) - i;
        if (++i == N) {
            s[0] = s[N - 1];
            i = 1;
        }
    }
    s[0] = 0x80000000u;
}

static inline uint32_t twist(uint32_t high, uint32_t low, uint32_t far)
{
    uint32_t y = (high & 0x80000000u) | (low & 0x7FFFFFFFu);
    return far ^ y >> 1 ^ (-(y & 1) & 0x9908B0DFu);
}

static void next_state(struct pyrandom *r)
{
    uint32_t *s = r->state;
    for (int i = 0; i < N - M; i++)
        s[i] = twist(s[i], s[i + 1], s[i + M]);
    for (int i = N - M; i < N - 1; i++)
        s[i] = twist(s[i], s[i + 1], s[i + M - N]);
    s[N - 1] = twist(s[N - 1], s[0], s[M - 1]);
    r->at = 0;
}

uint32_t pyrandom_u32(struct pyrandom *r)
{
    if (r->at == N)
        next_state(r);
    uint32_t y = r->state[r->at++];
    y ^= y >> 11;
    y ^= y << 7 & 0x9D2C5680u;
    y ^= y << 15 & 0xEFC60000u;
    return y ^ y >> 18;
}

/* ---- random.Random ------------------------------------------------------------------------ */

void pyrandom_seed(struct pyrandom *r, uint64_t seed)
{
    uint32_t key[] = { (uint32_t)seed, (uint32_t)(seed >> 32) };
    seed_array(r, key, key[1] ? 2 : 1);
}

double pyrandom_real(struct pyrandom *r)
{
    uint32_t a = pyrandom_u32(r) >> 5, b = pyrandom_u32(r) >> 6;
    return (a * 67108864.0 + b) * (1.0 / 9007199254740992.0);
}

/* Returns the top `bits` bits of a draw. For 33 bits, the low 32 are drawn first. */
static uint64_t draw_bits(struct pyrandom *r, int bits)
{
    if (bits <= 32)
        return pyrandom_u32(r) >> (32 - bits);
    uint64_t low = pyrandom_u32(r);
    return (uint64_t)(pyrandom_u32(r) >> (64 - bits)) << 32 | low;
}

uint64_t pyrandom_below(struct pyrandom *r, uint64_t n)
{
    int bits = 64 - __builtin_clzll(n);
    uint64_t v;
    do
        v = draw_bits(r, bits);
    while (v >= n);
    return v;
}

static int is_among(const uint32_t *numbers, size_t n, uint32_t wanted)
{
    for (size_t i = 0; i < n; i++)
        if (numbers[i] == wanted)
            return 1;
    return 0;
}

/* Does as Python: if n is small, draws from a shrinking list; else draws a number again if it was
 * drawn before. */
void pyrandom_sample(struct pyrandom *r, uint32_t *picks, size_t k, uint32_t n)
{
    uint64_t most = 21;
    if (k > 5) {
        uint64_t power = 4;
        while (power < 3 * (uint64_t)k)
            power *= 4;
        most += power;
    }
    if (n > most) {
        for (size_t i = 0; i < k; i++)
            do
                picks[i] = (uint32_t)pyrandom_below(r, n);
            while (is_among(picks, i, picks[i]));
        return;
    }
    SCOPED_MEM uint32_t *pool = mem_alloc(n * sizeof *pool);
    for (uint32_t i = 0; i < n; i++)
        pool[i] = i;
    for (uint32_t i = 0; i < k; i++) {
        uint32_t j = (uint32_t)pyrandom_below(r, n - i);
        picks[i] = pool[j];
        pool[j] = pool[n - i - 1];
    }
}

/* ---- numpy.random.RandomState ------------------------------------------------------------- */

uint64_t pyrandom_below_numpy(struct pyrandom *r, uint64_t n)
{
    uint64_t most = n - 1, mask = most ? UINT64_MAX >> __builtin_clzll(most) : 0, v;
    if (!most)
        return 0;
    do {
        v = pyrandom_u32(r);
        if (most > UINT32_MAX)
            v = v << 32 | pyrandom_u32(r);
        v &= mask;
    } while (v > most);
    return v;
}
