#include "tokenizer/model/seams.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "common/base/simd.h"
#include "common/base/utf8.h"
#include "tokenizer/cut/ascii.h"
#include "tokenizer/model/alphabet.h"
#include "tokenizer/model/vocabulary.h"
#include "unicode/unicode.h"

enum { BITS_LOG_MIN = 16, BITS_PER_TOKEN = 32, ASCII = 0x80, SPACE = 0x2581, MANY = 40, FEW = 16 };

/* `bits` is a hash set of the pairs of characters that are neighbours inside a token. Because of
 * collisions it may have other pairs, too; the tables of frequent pairs, such as `ascii`, are
 * exact. `known` has a bit for each character that is a token. */
struct seams {
    uint64_t *bits;
    int shift;
    int needed; /* known characters that a cut needs at its sides: 1 or 2 */
    uint64_t known[UNICODE_LIMIT / 64];
    /* 1: a text may be cut between these two ASCII characters, or between this one and SPACE, which
     * stands for a space; while the tokens are read: 1 if the pair is inside a token */
    uint8_t ascii[ASCII][ASCII], before_space[ASCII], after_space[ASCII];
};

static inline int is_known(const struct seams *s, uint32_t c)
{
    return s->known[c >> 6] >> (c & 63) & 1;
}

static inline uint64_t place_of(const struct seams *s, uint32_t left, uint32_t right)
{
    return (((uint64_t)left << 32 | right) * 0x9E3779B97F4A7C15u) >> s->shift;
}

static inline int is_inside(const struct seams *s, uint32_t left, uint32_t right)
{
    uint64_t place = place_of(s, left, right);
    return s->bits[place >> 6] >> (place & 63) & 1;
}

/* Returns 1 if enough of two neighbours are known (s->needed) for a cut between them, else 0. */
static inline int are_known(const struct seams *s, uint32_t left, uint32_t right)
{
    return is_known(s, left) + is_known(s, right) >= s->needed;
}

static inline int is_cut(const struct seams *s, uint32_t left, uint32_t right)
{
    return !is_inside(s, left, right) && are_known(s, left, right);
}

/* Returns 1 if some merge joins byte tokens or the unknown token, which stand for other characters
 * than those of their names, else 0. */
static int merges_others(const struct vocabulary *v)
{
    for (size_t i = 0; i < v->merge_count; i++) {
        const uint32_t ids[] = { v->merges[i].left, v->merges[i].right };
        for (int k = 0; k < 2; k++) {
            size_t n;
            const char *bytes = vocabulary_bytes(v, ids[k], &n);
            if (ids[k] == v->roles[TOKENIZER_UNKNOWN] ||
                (v->byte_fallback && alphabet_named(bytes, n) >= 0))
                return 1;
        }
    }
    return 0;
}

static void put_pair(struct seams *s, uint32_t left, uint32_t right)
{
    uint64_t place = place_of(s, left, right);
    s->bits[place >> 6] |= (uint64_t)1 << (place & 63);
    if (left < ASCII && right < ASCII)
        s->ascii[left][right] = 1;
    else if (left < ASCII && right == SPACE)
        s->before_space[left] = 1;
    else if (left == SPACE && right < ASCII)
        s->after_space[right] = 1;
}

static void put_token(struct seams *s, const char *bytes, size_t n)
{
    size_t len = 0;
    uint32_t before = 0;
    for (size_t i = 0; i < n; i += len) {
        uint32_t c = utf8_get((const unsigned char *)bytes + i, &len);
        if (len == n)
            s->known[c >> 6] |= (uint64_t)1 << (c & 63);
        if (i)
            put_pair(s, before, c);
        before = c;
    }
}

/* Returns NULL if texts of this vocabulary cannot be cut in this way. Takes pairs of neighbours
 * only from tokens of the model, because others are neither made by merges nor the token of a
 * character. */
struct seams *seams_new(const struct vocabulary *v)
{
    int log = BITS_LOG_MIN;
    size_t n;
    const int pieces = v->model == VOCABULARY_UNIGRAM && v->hides; /* of SentencePiece */
    if ((v->model != VOCABULARY_BPE && !pieces) || v->byte_level || v->ignore_merges ||
        *v->prefix || *v->suffix || merges_others(v))
        return NULL;
    while (((size_t)1 << log) < (size_t)v->count * BITS_PER_TOKEN)
        log++;
    struct seams *s = mem_zalloc(1, sizeof *s);
    s->bits = mem_zalloc(((size_t)1 << log) / 64, sizeof *s->bits);
    s->shift = 64 - log;
    /* an unknown character is left out, so its neighbours may merge */
    s->needed = v->roles[TOKENIZER_UNKNOWN] < 0 ? 2 : 1;
    for (uint32_t id = 0; id < v->count; id++) {
        const char *bytes = vocabulary_bytes(v, id, &n);
        if (bytes && v->tokens[id].in_model && utf8_valid(bytes, n) == n)
            put_token(s, bytes, n);
    }
    for (uint32_t c = 0; c < ASCII; c++) {
        for (uint32_t right = 0; right < ASCII; right++)
            s->ascii[c][right] = !s->ascii[c][right] && are_known(s, c, right);
        s->before_space[c] = !s->before_space[c] && are_known(s, c, SPACE);
        s->after_space[c] = !s->after_space[c] && are_known(s, SPACE, c);
    }
    return s;
}

void seams_free(struct seams *s)
{
    if (!s)
        return;
    free(s->bits);
    free(s);
}

/* Returns the character that ends before p. */
static inline uint32_t char_before(const unsigned char *p)
{
    size_t len;
    do
        p--;
    while ((*p & 0xC0) == 0x80);
    return utf8_get(p, &len);
}

/* Two masks of the borders in 64 bytes of text between a SPACE and an ASCII character. Bit i of
 * `known` is set if such a border is before byte i; bit i of `cuts` if the text can also be cut
 * there. */
struct spaces {
    uint64_t known, cuts;
};

#define ALWAYS __attribute__((always_inline)) static inline

#if defined(__x86_64__)
#define AVX512 __attribute__((target("avx512f,avx512bw,avx512vbmi,popcnt")))

/* Returns a mask: bit i is set if byte i of c is ASCII and its entry in table[] is not 0. */
AVX512 static inline uint64_t look_up(const uint8_t table[ASCII], __m512i c)
{
    __m512i found = _mm512_permutex2var_epi8(_mm512_loadu_si512(table), c,
                                             _mm512_loadu_si512(table + ASCII / 2));
    return _mm512_test_epi8_mask(found, found) & ~_mm512_movepi8_mask(c);
}

/* Returns the borders in text[0..64) at each complete SPACE. Also reads text[-1]. */
AVX512 static struct spaces find_spaces(const struct seams *s, const unsigned char *text)
{
    __m512i c = _mm512_loadu_si512(text);
    uint64_t high = _mm512_movepi8_mask(c);
    uint64_t begins = _mm512_cmpeq_epi8_mask(c, _mm512_set1_epi8((char)0xE2)) &
                      _mm512_cmpeq_epi8_mask(c, _mm512_set1_epi8((char)0x96)) >> 1 &
                      _mm512_cmpeq_epi8_mask(c, _mm512_set1_epi8((char)0x81)) >> 2;
    uint64_t before = text[-1] < ASCII ? s->before_space[text[-1]] : 0;
    uint64_t left = begins & (~high << 1 | (text[-1] < ASCII)), right = begins << 3 & ~high;
    return (struct spaces){ left | right, (left & (look_up(s->before_space, c) << 1 | before)) |
                                              (right & look_up(s->after_space, c)) };
}
#else
static struct spaces find_spaces(const struct seams *, const unsigned char *)
{
    return (struct spaces){ 0, 0 };
}
#endif

/* Returns a mask: bit i, i < 64, is set if the text can be cut before text[i] and one of the two
 * characters at this border is not ASCII. *m describes text[0..64). wide 1: uses AVX-512. */
ALWAYS uint64_t cuts_at_others(const struct seams *s, const unsigned char *text,
                               const struct ascii_masks *m, int wide)
{
    const struct spaces spaces = wide ? find_spaces(s, text) : (struct spaces){ 0, 0 };
    uint64_t cuts = spaces.cuts, leads = m->high & ~m->tails & ~spaces.known;
    uint64_t behind = ~m->high & (m->high << 1 | text[-1] >> 7) & ~spaces.known;
    size_t len;
    for (; leads; leads &= leads - 1) {
        int i = __builtin_ctzll(leads);
        uint32_t c = utf8_get(text + i, &len), before = char_before(text + i);
        int cut = c == SPACE && before < ASCII ? s->before_space[before] : is_cut(s, before, c);
        cuts |= (uint64_t)cut << i;
    }
    for (; behind; behind &= behind - 1) {
        int i = __builtin_ctzll(behind);
        uint32_t before = char_before(text + i);
        int cut = before == SPACE ? s->after_space[text[i]] : is_cut(s, before, text[i]);
        cuts |= (uint64_t)cut << i;
    }
    return cuts;
}

/* Returns a mask: bit i is set if the text can be cut before the character that begins at text[i],
 * for the i < 64 whose bits are set in `leads`. Looks at the characters one after the other. */
static uint64_t cuts_in_order(const struct seams *s, const unsigned char *text, uint64_t leads)
{
    uint64_t cuts = 0;
    size_t len;
    uint32_t before = leads ? char_before(text + __builtin_ctzll(leads)) : 0;
    for (; leads; leads &= leads - 1) {
        int i = __builtin_ctzll(leads);
        uint32_t c = utf8_get(text + i, &len);
        cuts |= (uint64_t)is_cut(s, before, c) << i;
        before = c;
    }
    return cuts;
}

/* Returns a mask: bit i, i < 8, is set if the text can be cut before text[i]. text[-1..8) must be
 * ASCII. */
static inline unsigned cuts_of_eight(const struct seams *s, const unsigned char *text)
{
    unsigned cuts = 0;
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++)
        cuts |= (unsigned)s->ascii[text[i - 1] & (ASCII - 1)][text[i] & (ASCII - 1)] << i;
    return cuts;
}

/* Returns a mask: bit i, i < 64, is set if the text can be cut before text[i] and both characters
 * at this border are ASCII. Where letters are most of the text, leaves out cuts between two
 * letters, because there are few. *m describes text[0..64); also reads text[-1]. */
ALWAYS uint64_t cuts_in_ascii(const struct seams *s, const unsigned char *text,
                              const struct ascii_masks *m)
{
    uint64_t cuts = 0, borders = ~(m->high | m->high << 1 | text[-1] >> 7);
    uint64_t others = borders & ~(m->letters & m->letters << 1);
    if (__builtin_popcountll(others) > FEW) {
        for (int i = 0; i < ASCII_BLOCK; i += 8)
            cuts |= (uint64_t)cuts_of_eight(s, text + i) << i;
        return cuts & borders;
    }
    for (; others; others &= others - 1) {
        int i = __builtin_ctzll(others);
        cuts |= (uint64_t)s->ascii[text[i - 1]][text[i]] << i;
    }
    return cuts;
}

/* Returns a mask: bit i, i < 64, is set if the text can be cut before text[i]. Also reads the
 * character before text[0], and the rest of a character that begins in the block and ends after it.
 * wide 1: uses AVX-512. */
ALWAYS uint64_t cuts_of_block(const struct seams *s, const unsigned char *text, int wide)
{
    struct ascii_masks m;
    ascii_classify(&m, NULL, text);
    if (__builtin_popcountll(m.high) > MANY)
        return cuts_in_order(s, text, ~m.tails);
    uint64_t cuts = cuts_in_ascii(s, text, &m);
    return m.high | text[-1] >> 7 ? cuts | cuts_at_others(s, text, &m, wide) : cuts;
}

static uint64_t cuts_plain(const struct seams *s, const unsigned char *text)
{
    return cuts_of_block(s, text, 0);
}

#if defined(__x86_64__)
AVX512 static uint64_t cuts_avx512(const struct seams *s, const unsigned char *text)
{
    return cuts_of_block(s, text, 1);
}
#else
#define cuts_avx512 cuts_plain
#endif

size_t seams_cut(const struct seams *s, const char *text, size_t n, size_t at, size_t *ends,
                 size_t max)
{
    const unsigned char *p = (const unsigned char *)text;
    size_t count = 0, len, i = at + 1;
    uint64_t (*const cuts)(const struct seams *s,
                           const unsigned char *text) = simd_level() == SIMD_AVX512 ? cuts_avx512
                                                                                    : cuts_plain;
    for (; n - at > ASCII_BLOCK && i <= n - ASCII_BLOCK && max - count >= ASCII_BLOCK;
         i += ASCII_BLOCK)
        count += ascii_places(ends + count, cuts(s, p + i), i);
    while (i < n && (p[i] & 0xC0) == 0x80)
        i++;
    for (uint32_t before = i < n ? char_before(p + i) : 0; i < n && count < max; i += len) {
        uint32_t c = utf8_get(p + i, &len);
        ends[count] = i;
        count += (size_t)is_cut(s, before, c);
        before = c;
    }
    if (count < max)
        ends[count++] = n;
    return count;
}
