#include "common/base/utf8.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "common/base/simd.h"

/* ---- characters ------------------------------------------------------------------------------ */

static size_t ascii_prefix(const unsigned char *p, size_t n)
{
    size_t i = 0;
    for (; n - i >= 32; i += 32) {
        uint64_t w[4];
        memcpy(w, p + i, sizeof w);
        if ((w[0] | w[1] | w[2] | w[3]) & 0x8080808080808080u)
            break;
    }
    while (i < n && p[i] < 0x80)
        i++;
    return i;
}

/* Returns the length of the character at p[0..n), n > 0. If it is not valid, returns 0 and sets
 * *bad to the length of the maximal subpart: the longest prefix of a valid character, at least one
 * byte. Table 3-7 of the Unicode standard, "well-formed UTF-8 byte sequences". */
static size_t utf8_length(const unsigned char *p, size_t n, size_t *bad)
{
    unsigned char c = p[0], low = 0x80, high = 0xBF;
    size_t want;
    *bad = 1;
    if (c < 0x80)
        return 1;
    if (c < 0xC2 || c > 0xF4)
        return 0;
    want = c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4;
    if (c == 0xE0)
        low = 0xA0;
    else if (c == 0xED)
        high = 0x9F;
    else if (c == 0xF0)
        low = 0x90;
    else if (c == 0xF4)
        high = 0x8F;
    for (size_t i = 1; i < want; i++, low = 0x80, high = 0xBF) {
        if (i >= n || p[i] < low || p[i] > high) {
            *bad = i;
            return 0;
        }
    }
    return want;
}

static size_t valid_by_character(const unsigned char *p, size_t n)
{
    size_t i = 0, bad;
    for (;;) {
        i += ascii_prefix(p + i, n - i);
        for (; i < n && p[i] >= 0x80;) {
            size_t len = utf8_length(p + i, n - i, &bad);
            if (!len)
                return i;
            i += len;
        }
        if (i == n)
            return n;
    }
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* Validation in blocks: returns the length of a prefix of whole valid characters. It processes
 * whole blocks and stops at the block with the first error; the caller checks the rest character by
 * character. This version is an automaton, the versions below use vectors. For each byte, rows[]
 * holds the next state of every state, at the bit offset that is the state's number, so each byte
 * needs one shift. */
enum {
    START = 0, /* between characters */
    ERROR = 6,
    TAIL_1 = 12, /* expects 1 (2, 3) more bytes 80-BF */
    TAIL_2 = 18,
    TAIL_3 = 24,
    AFTER_E0 = 30, /* A0-BF and another */
    AFTER_ED = 36, /* 80-9F and another */
    AFTER_F0 = 42, /* 90-BF and two more */
    AFTER_F4 = 48, /* 80-8F and two more */
};

#define TO(from, state) ((uint64_t)(state) << (from))
#define LEAD(state)                                                                                \
    (TO(START, state) | TO(ERROR, ERROR) | TO(TAIL_1, ERROR) | TO(TAIL_2, ERROR) |                 \
     TO(TAIL_3, ERROR) | TO(AFTER_E0, ERROR) | TO(AFTER_ED, ERROR) | TO(AFTER_F0, ERROR) |         \
     TO(AFTER_F4, ERROR))
#define TAIL(e0, ed, f0, f4)                                                                       \
    (TO(START, ERROR) | TO(ERROR, ERROR) | TO(TAIL_1, START) | TO(TAIL_2, TAIL_1) |                \
     TO(TAIL_3, TAIL_2) | TO(AFTER_E0, e0) | TO(AFTER_ED, ed) | TO(AFTER_F0, f0) |                 \
     TO(AFTER_F4, f4))

static const uint64_t rows[256] = {
    [0x00 ... 0x7F] = LEAD(START),
    [0x80 ... 0x8F] = TAIL(ERROR, TAIL_1, ERROR, TAIL_2),
    [0x90 ... 0x9F] = TAIL(ERROR, TAIL_1, TAIL_2, ERROR),
    [0xA0 ... 0xBF] = TAIL(TAIL_1, ERROR, TAIL_2, ERROR),
    [0xC0 ... 0xC1] = LEAD(ERROR),
    [0xC2 ... 0xDF] = LEAD(TAIL_1),
    [0xE0] = LEAD(AFTER_E0),
    [0xE1 ... 0xEC] = LEAD(TAIL_2),
    [0xED] = LEAD(AFTER_ED),
    [0xEE ... 0xEF] = LEAD(TAIL_2),
    [0xF0] = LEAD(AFTER_F0),
    [0xF1 ... 0xF3] = LEAD(TAIL_3),
    [0xF4] = LEAD(AFTER_F4),
    [0xF5 ... 0xFF] = LEAD(ERROR),
};

static size_t blocks_plain(const unsigned char *p, size_t n)
{
    enum { STEP = 64, STATE_MASK = 63 };
    size_t good = 0;
    uint64_t state = START;
    for (size_t i = 0; n - i >= STEP && state != ERROR; i += STEP) {
        if (state != START || ascii_prefix(p + i, STEP) < STEP)
            for (size_t k = 0; k < STEP; k++)
                state = rows[p[i + k]] >> (state & STATE_MASK);
        state &= STATE_MASK;
        if (state == START)
            good = i + STEP;
    }
    return good;
}

#if defined(__x86_64__)
#define AVX2 __attribute__((target("avx2")))

/* The errors that two neighbouring bytes can have. Three tables, for the two halves of the first
 * byte and the upper half of the second, give the errors possible with each half. An error is
 * present if all three tables contain it (Keiser, Lemire, "Validating UTF-8 in less than one
 * instruction per byte", 2021). */
enum {
    SHORT = 1 << 0,      /* a lead byte not followed by a continuation byte */
    LONG = 1 << 1,       /* ASCII followed by a continuation byte */
    OVERLONG_3 = 1 << 2, /* E0 80-9F */
    LARGE = 1 << 3,      /* F4 90-BF, or F5-FF and any continuation byte except 80-8F */
    SURROGATE = 1 << 4,  /* ED A0-BF */
    OVERLONG_2 = 1 << 5, /* C0 and C1 */
    OVERLONG_4 = 1 << 6, /* F0 80-8F */
    LARGE_80 = 1 << 6,   /* F5-FF 80-8F */
    TAILS = 1 << 7,      /* two continuation bytes: valid if a lead byte before them expects both */
    ANY = SHORT | LONG | TAILS,
    ANY_F = ANY | LARGE | LARGE_80,
};

static const uint8_t first_upper[16] = {
    [0x0 ... 0x7] = LONG,
    [0x8 ... 0xB] = TAILS,
    [0xC] = SHORT | OVERLONG_2,
    [0xD] = SHORT,
    [0xE] = SHORT | OVERLONG_3 | SURROGATE,
    [0xF] = SHORT | LARGE | LARGE_80 | OVERLONG_4,
};
static const uint8_t first_lower[16] = {
    [0x0] = ANY | OVERLONG_3 | OVERLONG_2 | OVERLONG_4,
    [0x1] = ANY | OVERLONG_2,
    [0x2 ... 0x3] = ANY,
    [0x4] = ANY | LARGE,
    [0x5 ... 0xC] = ANY_F,
    [0xD] = ANY_F | SURROGATE,
    [0xE ... 0xF] = ANY_F,
};
static const uint8_t second_upper[16] = {
    [0x0 ... 0x7] = SHORT,
    [0x8] = LONG | OVERLONG_2 | TAILS | OVERLONG_3 | LARGE_80 | OVERLONG_4,
    [0x9] = LONG | OVERLONG_2 | TAILS | OVERLONG_3 | LARGE,
    [0xA ... 0xB] = LONG | OVERLONG_2 | TAILS | SURROGATE | LARGE,
    [0xC ... 0xF] = SHORT,
};

AVX2 static inline __m256i look_up(const uint8_t table[16], __m256i nibbles)
{
    __m256i both = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)table));
    return _mm256_shuffle_epi8(both, nibbles);
}

AVX2 static inline __m256i upper_half(__m256i bytes)
{
    return _mm256_and_si256(_mm256_srli_epi16(bytes, 4), _mm256_set1_epi8(0x0F));
}

/* Returns non-zero for each byte that is invalid after the bytes before it. `before` holds the left
 * neighbour of each byte. */
AVX2 static inline __m256i errors_of(__m256i bytes, __m256i before)
{
    __m256i across = _mm256_permute2x128_si256(before, bytes, 0x21);
    __m256i back1 = _mm256_alignr_epi8(bytes, across, 15);
    __m256i back2 = _mm256_alignr_epi8(bytes, across, 14);
    __m256i back3 = _mm256_alignr_epi8(bytes, across, 13);
    __m256i lower = _mm256_and_si256(back1, _mm256_set1_epi8(0x0F));
    __m256i wrong = _mm256_and_si256(
        look_up(first_upper, upper_half(back1)),
        _mm256_and_si256(look_up(first_lower, lower), look_up(second_upper, upper_half(bytes))));
    __m256i third = _mm256_subs_epu8(back2, _mm256_set1_epi8((char)(0xE0 - 0x80)));
    __m256i fourth = _mm256_subs_epu8(back3, _mm256_set1_epi8((char)(0xF0 - 0x80)));
    __m256i tails = _mm256_and_si256(_mm256_or_si256(third, fourth), _mm256_set1_epi8((char)TAILS));
    return _mm256_xor_si256(wrong, tails);
}

/* Returns the offset at which the last character of p[0..n) begins, or n if that character is
 * ASCII. */
static size_t last_begin(const unsigned char *p, size_t n)
{
    size_t i = n;
    while (i && n - i < 3 && (p[i - 1] & 0xC0) == 0x80)
        i--;
    return i && p[i - 1] >= 0xC0 ? i - 1 : n;
}

AVX2 static size_t blocks_avx2(const unsigned char *p, size_t n)
{
    /* AHEAD: distance in bytes of the text that is prefetched */
    enum { STEP = 32, AHEAD = 1024 };
    __m256i before = _mm256_setzero_si256();
    size_t i = 0;
    for (; n - i >= STEP; i += STEP) {
        __m256i bytes = _mm256_loadu_si256((const __m256i *)(p + i));
        __builtin_prefetch((const void *)((uintptr_t)(p + i) + AHEAD)); /* maybe beyond the end */
        if (_mm256_movemask_epi8(_mm256_or_si256(bytes, before))) {
            __m256i errors = errors_of(bytes, before);
            if (!_mm256_testz_si256(errors, errors))
                break;
        }
        before = bytes;
    }
    return last_begin(p, i);
}
#endif

/* ---- a text ---------------------------------------------------------------------------------- */

size_t utf8_mark(const char *text, size_t n)
{
    return bytes_begin(text, n, "\xEF\xBB\xBF") ? 3 : 0;
}

size_t utf8_valid(const char *text, size_t n)
{
    const unsigned char *p = (const unsigned char *)text;
    size_t good;
#if defined(__x86_64__)
    if (simd_level() >= SIMD_AVX2)
        good = blocks_avx2(p, n);
    else
#endif
        good = blocks_plain(p, n);
    return good + valid_by_character(p + good, n - good);
}

size_t utf8_repair(struct buf *out, const char *text, size_t n)
{
    const unsigned char *p = (const unsigned char *)text;
    size_t replaced = 0;
    for (size_t i = 0; i < n;) {
        size_t good = utf8_valid(text + i, n - i), bad;
        buf_add(out, text + i, good);
        i += good;
        if (i == n)
            break;
        utf8_length(p + i, n - i, &bad);
        buf_adds(out, "\xEF\xBF\xBD");
        i += bad;
        replaced += bad;
    }
    return replaced;
}

size_t utf8_put(char *out, unsigned c)
{
    if (c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF))
        c = 0xFFFD;
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = n; --i; c >>= 6)
        out[i] = (char)(0x80 | (c & 0x3F));
    out[0] = (char)(0xF00 >> n | c);
    return n;
}

void utf8_add(struct buf *b, unsigned c)
{
    char bytes[4];
    if (c < 0x80)
        buf_addc(b, (int)c);
    else
        buf_add(b, bytes, utf8_put(bytes, c));
}

size_t utf8_count(const char *text, size_t n)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    size_t count = 0, i = 0;
    for (uint64_t x; i + sizeof x <= n; i += sizeof x) {
        memcpy(&x, text + i, sizeof x);
        x = ~x >> 7 | x >> 6; /* the low bit of each byte: it begins a character */
        count += (x & ones) * ones >> 56;
    }
    for (; i < n; i++)
        count += ((unsigned char)text[i] & 0xC0) != 0x80;
    return count;
}

size_t utf8_offset(const char *s, size_t n, size_t count)
{
    size_t i = 0;
    for (unsigned c; i < n && count; count--)
        i += utf8_read(s + i, n - i, &c);
    return i;
}

size_t utf8_cut(const char *text, size_t n, size_t most)
{
    size_t end = most;
    if (n <= most)
        return n;
    while (end && most - end < 3 && ((unsigned char)text[end] & 0xC0) == 0x80)
        end--;
    return end;
}
