#include "textclean/minhash.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "common/base/pyrandom.h"
#include "common/base/simd.h"
#include "common/base/utf8.h"
#include "common/base/xxh64.h"

static const uint64_t PRIME = (UINT64_C(1) << 61) - 1;
enum { LANES = 8, SHINGLE_PAD = 32 };

/* ---- permutations ---------------------------------------------------------------------------- */

void minhash_init(struct minhash *m, uint32_t seed)
{
    struct pyrandom r;
    m->count = m->bands * m->rows;
    size_t padded = (m->count + LANES - 1) / LANES * LANES;
    m->a = mem_zalloc(padded, sizeof *m->a);
    m->b = mem_zalloc(padded, sizeof *m->b);
    pyrandom_seed_numpy(&r, seed);
    for (size_t i = 0; i < m->count; i++)
        m->a[i] = 1 + pyrandom_below_numpy(&r, PRIME - 1);
    for (size_t i = 0; i < m->count; i++)
        m->b[i] = pyrandom_below_numpy(&r, PRIME);
}

void minhash_release(struct minhash *m)
{
    free(m->a);
    free(m->b);
}

/* ---- shingles -------------------------------------------------------------------------------- */

void minhash_tools_init(struct minhash_tools *t, const struct minhash *m)
{
    *t = (struct minhash_tools){ .joined = BUF_INIT };
    normal_init(&t->normal);
    words_init(&t->words);
    t->signature = mem_zalloc(m->count + LANES, sizeof *t->signature);
}

void minhash_tools_release(void *tools)
{
    struct minhash_tools *t = tools;
    normal_release(&t->normal);
    words_release(&t->words);
    buf_release(&t->joined);
    free(t->ends);
    free(t->shingles);
    free(t->signature);
}

/* Joins the words of the normal form by blanks. Between most of them there is one already. */
static void join_words(struct minhash_tools *t)
{
    struct buf *text = &t->normal.text;
    const struct words *w = &t->words;
    size_t copied = 0, end = 0;
    buf_reserve(text, text->len + WORDS_PAD);
    words_split(&t->words, text->data, text->len);
    buf_clear(&t->joined);
    mem_grow(t->ends, t->ends_cap, w->count + 1);
    t->ends[0] = UINT32_MAX;
    for (size_t i = 0; i < w->count; i++) {
        const struct word *word = &w->list[i];
        if (i && word->at != end + 1) {
            buf_add(&t->joined, text->data + copied, end - copied);
            buf_addc(&t->joined, ' ');
        }
        if (!i || word->at != end + 1)
            copied = word->at;
        end = word->at + word->bytes;
        t->ends[i + 1] = (uint32_t)(t->joined.len + end - copied);
    }
    buf_add(&t->joined, text->data + copied, end - copied);
    buf_reserve(&t->joined, SHINGLE_PAD);
}

/* Eight numbers that are computed together. */
typedef uint64_t lanes __attribute__((vector_size(8 * LANES)));
#define INLINE static inline __attribute__((always_inline))

INLINE lanes choose(lanes mask, lanes yes, lanes no)
{
    return (yes & mask) | (no & ~mask);
}

INLINE lanes turn(lanes x, int by)
{
    return x << by | x >> (64 - by);
}

INLINE lanes turn_round(lanes sum, lanes lane)
{
    return turn(sum + lane * XXH64_2, 31) * XXH64_1;
}

INLINE lanes read_lanes(const char *s, lanes at)
{
    lanes x;
    for (int k = 0; k < LANES; k++)
        x[k] = le_u64((const unsigned char *)s + at[k]);
    return x;
}

/* As xxh64_blocks, for the lanes with 32 bytes or more. Adds to *at and subtracts from *left the
 * bytes read. */
INLINE lanes hash_blocks(const char *s, uint64_t longest, lanes *at, lanes *left)
{
    const lanes zero = { 0 };
    lanes sums[4] = { zero + XXH64_1 + XXH64_2, zero + XXH64_2, zero, zero - XXH64_1 };
    for (uint64_t bytes = 32; bytes <= longest; bytes += 32) {
        lanes mask = (lanes)(*left >= 32);
        for (int i = 0; i < 4; i++)
            sums[i] = choose(mask, turn_round(sums[i], read_lanes(s + 8 * i, *at)), sums[i]);
        *at += mask & 32;
        *left -= mask & 32;
    }
    lanes h = turn(sums[0], 1) + turn(sums[1], 7) + turn(sums[2], 12) + turn(sums[3], 18);
    for (int i = 0; i < 4; i++)
        h = (h ^ turn_round(zero, sums[i])) * XXH64_1 + XXH64_4;
    return h;
}

/* Sets out[0..LANES) to the xxh64 of LANES shingles. SHINGLE_PAD bytes after them must be
 * readable. */
INLINE void hash_lanes(const char *s, const uint32_t *ends, size_t words, uint64_t *out)
{
    const lanes zero = { 0 };
    lanes at, n, h = zero + XXH64_5, mask;
    uint64_t longest = 0;
    for (int k = 0; k < LANES; k++) {
        at[k] = ends[k] + 1;
        n[k] = ends[k + words] - at[k];
        longest = n[k] > longest ? n[k] : longest;
    }
    lanes left = n;
    if (longest >= 32) {
        lanes x = hash_blocks(s, longest, &at, &left);
        h = choose((lanes)(n >= 32), x, h);
    }
    h += n;
    for (int i = 0; i < 3; i++) {
        mask = (lanes)(left >= 8);
        h = choose(mask, turn(h ^ turn_round(zero, read_lanes(s, at)), 27) * XXH64_1 + XXH64_4, h);
        at += mask & 8;
        left -= mask & 8;
    }
    lanes rest = read_lanes(s, at);
    mask = (lanes)(left >= 4);
    h = choose(mask, turn(h ^ (rest & 0xFFFFFFFF) * XXH64_1, 23) * XXH64_2 + XXH64_3, h);
    rest = choose(mask, rest >> 32, rest);
    left &= 3;
    for (uint64_t i = 0; i < 3; i++, rest >>= 8)
        h = choose((lanes)(left > i), turn(h ^ (rest & 0xFF) * XXH64_5, 11) * XXH64_1, h);
    h = (h ^ h >> 33) * XXH64_2;
    h = (h ^ h >> 29) * XXH64_3;
    h ^= h >> 32;
    memcpy(out, &h, sizeof h);
}

#if defined(__x86_64__)
#define AVX512 __attribute__((target("avx512f,avx512dq,avx512vl")))

/* Hashes shingles, LANES at a time. Returns their number; fewer than LANES are left over. */
AVX512 static size_t hash_avx512(const struct minhash *m, struct minhash_tools *t, size_t count)
{
    size_t i = 0;
    for (; i + LANES <= count; i += LANES)
        hash_lanes(t->joined.data, t->ends + i, m->shingle, t->shingles + i);
    return i;
}
#endif

static size_t word_shingles(const struct minhash *m, struct minhash_tools *t)
{
    size_t done = 0;
    join_words(t);
    if (t->words.count < m->shingle)
        return 0;
    size_t count = t->words.count - m->shingle + 1;
    mem_grow(t->shingles, t->shingles_cap, count);
#if defined(__x86_64__)
    if (simd_level() >= SIMD_AVX512)
        done = hash_avx512(m, t, count);
#endif
    for (size_t i = done; i < count; i++) {
        uint32_t begin = t->ends[i] + 1;
        t->shingles[i] = xxh64(t->joined.data + begin, t->ends[i + m->shingle] - begin, 0);
    }
    return count;
}

static size_t character_shingles(const struct minhash *m, struct minhash_tools *t)
{
    const struct buf *text = &t->normal.text;
    size_t count = 0, end = utf8_offset(text->data, text->len, m->shingle);
    if (utf8_count(text->data, text->len) < m->shingle)
        return 0;
    for (size_t at = 0;; at += utf8_offset(text->data + at, text->len - at, 1)) {
        mem_next(t->shingles, count, t->shingles_cap) = xxh64(text->data + at, end - at, 0);
        if (end == text->len)
            return count;
        end += utf8_offset(text->data + end, text->len - end, 1);
    }
}

/* ---- signatures ------------------------------------------------------------------------------ */

static void least_plain(const struct minhash *m, const uint64_t *shingles, size_t n,
                        uint64_t *least)
{
    for (size_t i = 0; i < m->count; i++) {
        uint64_t best = UINT64_MAX;
        for (size_t k = 0; k < n; k++) {
            uint64_t h = m->a[i] * shingles[k] + m->b[i];
            h = (h & PRIME) + (h >> 61);
            h = h >= PRIME ? h - PRIME : h;
            best = h < best ? h : best;
        }
        least[i] = best;
    }
}

#if defined(__x86_64__)
/* As least_plain, with eight permutations at a time. If h < PRIME, the unsigned h - PRIME wraps to
 * a number above h; so the smaller of h and h - PRIME is h modulo PRIME. */
AVX512 static void least_avx512(const struct minhash *m, const uint64_t *shingles, size_t n,
                                uint64_t *least)
{
    const __m512i prime = _mm512_set1_epi64((long long)PRIME);
    for (size_t i = 0; i < m->count; i += LANES) {
        __m512i a = _mm512_loadu_si512(m->a + i), b = _mm512_loadu_si512(m->b + i);
        __m512i best = _mm512_set1_epi64(-1);
        for (size_t k = 0; k < n; k++) {
            __m512i x = _mm512_set1_epi64((long long)shingles[k]);
            __m512i h = _mm512_add_epi64(_mm512_mullo_epi64(a, x), b);
            h = _mm512_add_epi64(_mm512_and_si512(h, prime), _mm512_srli_epi64(h, 61));
            h = _mm512_min_epu64(h, _mm512_sub_epi64(h, prime));
            best = _mm512_min_epu64(best, h);
        }
        _mm512_storeu_si512(least + i, best);
    }
}
#endif

size_t minhash_sign(const struct minhash *m, struct minhash_tools *t, const char *text, size_t n)
{
    normal_set(&t->normal, text, n);
    size_t count = m->characters ? character_shingles(m, t) : word_shingles(m, t);
    if (!count)
        return 0;
#if defined(__x86_64__)
    if (simd_level() >= SIMD_AVX512) {
        least_avx512(m, t->shingles, count, t->signature);
        return count;
    }
#endif
    least_plain(m, t->shingles, count, t->signature);
    return count;
}

uint64_t minhash_band(const struct minhash *m, const struct minhash_tools *t, size_t band)
{
    return xxh64(t->signature + band * m->rows, m->rows * sizeof *t->signature, band);
}
