#include "tokenizer/cut/classmasks.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "common/base/simd.h"
#include "common/base/utf8.h"
#include "unicode/unicode.h"

static void add_plain(struct class_masks *m, const uint8_t *classes, const unsigned char *block,
                      uint64_t leads)
{
    uint64_t low = 0, high = 0; /* bits 0 and 1 of each character's class */
    for (; leads; leads &= leads - 1) {
        size_t len, at = (size_t)__builtin_ctzll(leads);
        uint64_t class = unicode_class(classes, utf8_get(block + at, &len));
        low |= (class & 1) << at;
        high |= class >> 1 << at;
    }
    m->letters |= low & ~high; /* UNICODE_LETTER is 1, and so on */
    m->numbers |= high & ~low;
    m->spaces |= low & high;
}

#if defined(__x86_64__)
#define AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi2,bmi2,popcnt")))

/* Widens sixteen bytes to one lane each, from byte `at` (0 or 16) on, and applies a bit mask. */
AVX512 static inline __m512i lanes(__m512i bytes, int at, int mask)
{
    __m128i some = at ? _mm512_extracti32x4_epi32(bytes, 1) : _mm512_castsi512_si128(bytes);
    return _mm512_and_si512(_mm512_cvtepu8_epi32(some), _mm512_set1_epi32(mask));
}

/* Returns the classes of sixteen characters. b[k] has the byte k of each character. */
AVX512 static inline __m512i classes_of(const uint8_t *classes, const __m512i *b, int at)
{
    const __m512i first = lanes(b[0], at, 0xFF), tail_1 = lanes(b[1], at, 0x3F);
    const __m512i tail_2 = lanes(b[2], at, 0x3F), tail_3 = lanes(b[3], at, 0x3F);
    __mmask16 of_3 = _mm512_cmpge_epu32_mask(first, _mm512_set1_epi32(0xE0));
    __mmask16 of_4 = _mm512_cmpge_epu32_mask(first, _mm512_set1_epi32(0xF0));
    __m512i head = _mm512_and_si512(first, _mm512_set1_epi32(0x1F));
    __m512i point = _mm512_or_si512(_mm512_slli_epi32(head, 6), tail_1);
    point = _mm512_mask_or_epi32(point, of_3, _mm512_slli_epi32(point, 6), tail_2);
    point = _mm512_mask_or_epi32(point, of_4, _mm512_slli_epi32(point, 6), tail_3);
    /* the first byte of a 4-byte character contributed one bit too many */
    point = _mm512_and_si512(point, _mm512_set1_epi32(0x1FFFFF));
    __m512i words = _mm512_i32gather_epi32(_mm512_srli_epi32(point, 4), classes, 4);
    __m512i shift = _mm512_slli_epi32(_mm512_and_si512(point, _mm512_set1_epi32(15)), 1);
    return _mm512_srlv_epi32(words, shift);
}

/* As classmasks_add, with AVX-512. First gathers the characters' first bytes in one vector, their
 * second bytes in another, and so on. */
AVX512 static void add_avx512(struct class_masks *m, const uint8_t *classes,
                              const unsigned char *block, uint64_t leads)
{
    enum { LANES = 16 };
    __m512i b[4];
    int count = (int)_mm_popcnt_u64(leads), last = 63 - __builtin_clzll(leads);
    size_t len;
    utf8_get(block + last, &len);
    uint64_t low = 0, high = 0;
    for (int k = 0; k < 4; k++) { /* do not read beyond the last character */
        size_t readable = (size_t)last + len > (size_t)k ? (size_t)last + len - (size_t)k : 0;
        __mmask64 there = readable >= 64 ? UINT64_MAX : ((uint64_t)1 << readable) - 1;
        b[k] = _mm512_maskz_compress_epi8(leads, _mm512_maskz_loadu_epi8(there, block + k));
    }
    for (int at = 0; at < count; at += LANES) {
        __m512i class = classes_of(classes, b, at);
        low |= (uint64_t)_mm512_test_epi32_mask(class, _mm512_set1_epi32(1)) << at;
        high |= (uint64_t)_mm512_test_epi32_mask(class, _mm512_set1_epi32(2)) << at;
    }
    low = _pdep_u64(low, leads);
    high = _pdep_u64(high, leads);
    m->letters |= low & ~high;
    m->numbers |= high & ~low;
    m->spaces |= low & high;
}
#endif

void classmasks_add(struct class_masks *m, const uint8_t *classes, const unsigned char *block,
                    uint64_t leads)
{
#if defined(__x86_64__)
    enum { FEW = 4 }; /* for so few characters, vectors are not faster */
    if (simd_level() == SIMD_AVX512 && __builtin_popcountll(leads) > FEW) {
        add_avx512(m, classes, block, leads);
        return;
    }
#endif
    add_plain(m, classes, block, leads);
}
