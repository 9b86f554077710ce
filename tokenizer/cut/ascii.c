#include "tokenizer/cut/ascii.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* ---- plain ---------------------------------------------------------------------------------- */

static void classify_plain(struct ascii_masks *m, unsigned char *lower, const unsigned char *text)
{
    struct ascii_masks all = { 0 };
    for (int i = 0; i < ASCII_BLOCK; i++) {
        unsigned char c = text[i];
        uint64_t bit = (uint64_t)1 << i;
        unsigned char folded = c | 0x20;
        int letter = folded >= 'a' && folded <= 'z';
        all.letters |= letter ? bit : 0;
        all.digits |= c >= '0' && c <= '9' ? bit : 0;
        all.spaces |= c == ' ' || (c >= 9 && c <= 13) ? bit : 0;
        all.blanks |= c == ' ' ? bit : 0;
        all.quotes |= c == '\'' ? bit : 0;
        all.controls |= (c < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0x7F ? bit : 0;
        all.high |= c >= 0x80 ? bit : 0;
        all.tails |= (c & 0xC0) == 0x80 ? bit : 0;
        if (lower)
            lower[i] = letter ? folded : c;
    }
    *m = all;
}

static size_t places_plain(size_t *to, uint64_t bits, size_t base)
{
    size_t count = 0;
    for (; bits; bits &= bits - 1)
        to[count++] = base + (size_t)__builtin_ctzll(bits);
    return count;
}

static uint64_t find_plain(const unsigned char *text, unsigned char byte)
{
    uint64_t bits = 0;
    for (int i = 0; i < ASCII_BLOCK; i++)
        bits |= (uint64_t)(text[i] == byte) << i;
    return bits;
}

#if defined(__x86_64__)
/* ---- AVX-512 -------------------------------------------------------------------------------- */

#define AVX512 __attribute__((target("avx512f,avx512bw,avx512vbmi2,popcnt")))

/* Returns a mask of the bytes of c whose values are in [first, first + count). */
AVX512 static inline uint64_t within512(__m512i c, char first, char count)
{
    return _mm512_cmplt_epu8_mask(_mm512_sub_epi8(c, _mm512_set1_epi8(first)),
                                  _mm512_set1_epi8(count));
}

AVX512 static void classify_avx512(struct ascii_masks *m, unsigned char *lower,
                                   const unsigned char *text)
{
    const __m512i c = _mm512_loadu_si512(text);
    m->letters = within512(_mm512_or_si512(c, _mm512_set1_epi8(0x20)), 'a', 26);
    m->digits = within512(c, '0', 10);
    m->blanks = _mm512_cmpeq_epi8_mask(c, _mm512_set1_epi8(' '));
    m->quotes = _mm512_cmpeq_epi8_mask(c, _mm512_set1_epi8('\''));
    m->spaces = within512(c, 9, 5) | m->blanks;
    m->high = _mm512_movepi8_mask(c);
    m->tails = _mm512_cmplt_epi8_mask(c, _mm512_set1_epi8((char)0xC0));
    m->controls = (within512(c, 0, 32) & ~within512(c, 9, 2)) |
                  _mm512_cmpeq_epi8_mask(c, _mm512_set1_epi8(0x7F));
    m->controls &= ~_mm512_cmpeq_epi8_mask(c, _mm512_set1_epi8('\r'));
    if (lower)
        _mm512_storeu_si512(
            lower, _mm512_mask_add_epi8(c, within512(c, 'A', 26), c, _mm512_set1_epi8(0x20)));
}

AVX512 static uint64_t find_avx512(const unsigned char *text, unsigned char byte)
{
    return _mm512_cmpeq_epi8_mask(_mm512_loadu_si512(text), _mm512_set1_epi8((char)byte));
}

/* As ascii_places, with AVX-512. Writes eight positions at a time to to[], and always at least 24,
 * because there are seldom more. Returns the number of set bits. */
AVX512 static size_t places_avx512(size_t *to, uint64_t bits, size_t base)
{
    enum { STEP = 8, USUAL = 24 };
    static const uint8_t numbers[ASCII_BLOCK] = {
        0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
        22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43,
        44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63,
    };
    const __m512i bases = _mm512_set1_epi64((long long)base);
    uint8_t places[ASCII_BLOCK];
    size_t count = (size_t)__builtin_popcountll(bits);
    _mm512_storeu_si512(places, _mm512_maskz_compress_epi8(bits, _mm512_loadu_si512(numbers)));
    for (size_t i = 0; i < USUAL || i < count; i += STEP) {
        __m512i wide = _mm512_cvtepu8_epi64(_mm_loadl_epi64((const __m128i *)(places + i)));
        _mm512_storeu_si512(to + i, _mm512_add_epi64(wide, bases));
    }
    return count;
}

/* ---- AVX2 ----------------------------------------------------------------------------------- */

#define AVX2 __attribute__((target("avx2")))

/* Returns 0xFF for each byte of c whose value is in [first, first + count), else 0. */
AVX2 static inline __m256i within256(__m256i c, char first, char count)
{
    __m256i from = _mm256_sub_epi8(c, _mm256_set1_epi8(first));
    return _mm256_cmpeq_epi8(from, _mm256_min_epu8(from, _mm256_set1_epi8((char)(count - 1))));
}

AVX2 static inline uint64_t bits256(__m256i v)
{
    return (uint32_t)_mm256_movemask_epi8(v);
}

AVX2 static inline void add256(struct ascii_masks *m, __m256i c, int shift)
{
    __m256i blank = _mm256_cmpeq_epi8(c, _mm256_set1_epi8(' '));
    __m256i lines = _mm256_or_si256(within256(c, 9, 2),
                                    _mm256_cmpeq_epi8(c, _mm256_set1_epi8('\r')));
    __m256i control = _mm256_or_si256(_mm256_andnot_si256(lines, within256(c, 0, 32)),
                                      _mm256_cmpeq_epi8(c, _mm256_set1_epi8(0x7F)));
    __m256i folded = _mm256_or_si256(c, _mm256_set1_epi8(0x20));
    m->letters |= bits256(within256(folded, 'a', 26)) << shift;
    m->digits |= bits256(within256(c, '0', 10)) << shift;
    m->blanks |= bits256(blank) << shift;
    m->quotes |= bits256(_mm256_cmpeq_epi8(c, _mm256_set1_epi8('\''))) << shift;
    m->spaces |= bits256(_mm256_or_si256(blank, within256(c, 9, 5))) << shift;
    m->controls |= bits256(control) << shift;
    m->high |= bits256(c) << shift;
    m->tails |= bits256(_mm256_cmpgt_epi8(_mm256_set1_epi8((char)0xC0), c)) << shift;
}

AVX2 static void classify_avx2(struct ascii_masks *m, unsigned char *lower,
                               const unsigned char *text)
{
    *m = (struct ascii_masks){ 0 };
    for (int i = 0; i < ASCII_BLOCK; i += 32) {
        const __m256i c = _mm256_loadu_si256((const __m256i *)(text + i));
        const __m256i add = _mm256_and_si256(within256(c, 'A', 26), _mm256_set1_epi8(0x20));
        add256(m, c, i);
        if (lower)
            _mm256_storeu_si256((__m256i *)(lower + i), _mm256_add_epi8(c, add));
    }
}

AVX2 static uint64_t find_avx2(const unsigned char *text, unsigned char byte)
{
    __m256i all = _mm256_set1_epi8((char)byte);
    __m256i low = _mm256_loadu_si256((const __m256i *)text),
            high = _mm256_loadu_si256((const __m256i *)(text + 32));
    return bits256(_mm256_cmpeq_epi8(low, all)) | bits256(_mm256_cmpeq_epi8(high, all)) << 32;
}
#endif

/* ---- table of implementations ---------------------------------------------------------------- */

const struct ascii_functions ascii_functions[SIMD_LEVELS] = {
    [SIMD_PLAIN] = { classify_plain, places_plain, find_plain },
#if defined(__x86_64__)
    [SIMD_AVX2] = { classify_avx2, places_plain, find_avx2 },
    [SIMD_AVX512] = { classify_avx512, places_avx512, find_avx512 },
#endif
};
