#include "textclean/minhash.h"

#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "common/base/mem.h"
#include "common/base/simd.h"
#include "common/base/utf8.h"
#include "common/base/xxh64.h"

static const uint64_t PRIME = (UINT64_C(1) << 61) - 1;
enum { LANES = 8 };

/* ---- permutations ---------------------------------------------------------------------------- */

/* The Mersenne twister MT19937 (Matsumoto, Nishimura 1998), which NumPy's RandomState uses. */
enum { TWISTER = 624, TWISTER_MIDDLE = 397 };
struct twister {
    uint32_t state[TWISTER];
    size_t next;
};

static void twister_seed(struct twister *t, uint32_t seed)
{
    t->state[0] = seed;
    for (uint32_t i = 1; i < TWISTER; i++)
        t->state[i] = 1812433253u * (t->state[i - 1] ^ t->state[i - 1] >> 30) + i;
    t->next = TWISTER;
}

static uint32_t twister_next(struct twister *t)
{
    if (t->next == TWISTER) {
        for (size_t i = 0; i < TWISTER; i++) {
            uint32_t y = (t->state[i] & 0x80000000u) | (t->state[(i + 1) % TWISTER] & 0x7FFFFFFFu);
            t->state[i] = t->state[(i + TWISTER_MIDDLE) % TWISTER] ^ y >> 1 ^
                          (y & 1 ? 0x9908B0DFu : 0);
        }
        t->next = 0;
    }
    uint32_t y = t->state[t->next++];
    y ^= y >> 11;
    y ^= y << 7 & 0x9D2C5680u;
    y ^= y << 15 & 0xEFC60000u;
    return y ^ y >> 18;
}

/* Returns an integer of [least, PRIME), as RandomState.randint does: it draws until one fits. */
static uint64_t draw(struct twister *t, uint64_t least)
{
    for (;;) {
        uint64_t high = twister_next(t), x = (high << 32 | twister_next(t)) & PRIME;
        if (x <= PRIME - 1 - least)
            return x + least;
    }
}

void minhash_init(struct minhash *m, uint32_t seed)
{
    struct twister t;
    m->count = m->bands * m->rows;
    size_t padded = (m->count + LANES - 1) / LANES * LANES;
    m->a = mem_zalloc(padded, sizeof *m->a);
    m->b = mem_zalloc(padded, sizeof *m->b);
    twister_seed(&t, seed);
    for (size_t i = 0; i < m->count; i++)
        m->a[i] = draw(&t, 1);
    for (size_t i = 0; i < m->count; i++)
        m->b[i] = draw(&t, 0);
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

void minhash_tools_release(struct minhash_tools *t)
{
    normal_release(&t->normal);
    words_release(&t->words);
    buf_release(&t->joined);
    free(t->ends);
    free(t->shingles);
    free(t->signature);
}

static void end_word(struct minhash_tools *t, size_t end)
{
    mem_grow(t->ends, t->ends_cap, t->word_count + 1);
    t->ends[t->word_count++] = end;
}

/* Appends the words of the chunk text[at..end), each with a blank behind it. */
static void join_chunk(struct minhash_tools *t, const char *text, size_t at, size_t end)
{
    struct words *w = &t->words;
    words_split(w, text + at, end - at);
    for (size_t i = 0; i < w->count; i++) {
        buf_add(&t->joined, text + at + w->list[i].at, w->list[i].bytes);
        end_word(t, t->joined.len);
        buf_addc(&t->joined, ' ');
    }
}

/* Joins the words of the normal form, which are nearly always its chunks. */
static void join_words(struct minhash_tools *t)
{
    const struct buf *text = &t->normal.text;
    size_t copied = 0;
    t->word_count = 0;
    buf_clear(&t->joined);
    buf_adds(&t->normal.text, "          "); /* to be read by words_plain and words_split */
    for (size_t at = 0, n; at + 10 < text->len; at += n + 1) {
        n = words_plain(&t->words, text->data, at);
        if (n || (text->data[at] == '0' && text->data[at + 1] == ' ')) {
            n = n ? n : 1;
            end_word(t, t->joined.len + (at + n - copied));
            continue;
        }
        const char *blank = memchr(text->data + at, ' ', text->len - at);
        n = (size_t)(blank - text->data) - at;
        buf_add(&t->joined, text->data + copied, at - copied);
        join_chunk(t, text->data, at, at + n);
        copied = at + n + 1;
    }
    if (text->len > copied)
        buf_add(&t->joined, text->data + copied, text->len - copied);
}

static size_t word_shingles(const struct minhash *m, struct minhash_tools *t)
{
    join_words(t);
    if (t->word_count < m->shingle)
        return 0;
    size_t count = t->word_count - m->shingle + 1;
    mem_grow(t->shingles, t->shingles_cap, count);
    for (size_t i = 0; i < count; i++) {
        size_t begin = i ? t->ends[i - 1] + 1 : 0;
        t->shingles[i] = xxh64(t->joined.data + begin, t->ends[i + m->shingle - 1] - begin, 0);
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
        mem_grow(t->shingles, t->shingles_cap, count + 1);
        t->shingles[count++] = xxh64(text->data + at, end - at, 0);
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
__attribute__((target("avx512f,avx512dq"))) static void least_avx512(const struct minhash *m,
                                                                     const uint64_t *shingles,
                                                                     size_t n, uint64_t *least)
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
