#include "tokenizer/cut/gpt2.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "common/base/utf8.h"
#include "tokenizer/cut/ascii.h"
#include "unicode/unicode.h"

enum { NO_CLASS = -1 };

/* The classes of the characters in a block that are not ASCII: bit 0 of each (UNICODE_LETTER is 1)
 * and bit 1, at the place of its first byte. */
struct class_bits {
    uint64_t low, high;
};

/* Returns the classes of the characters in block[0..64) whose first bytes are given by the mask
 * `leads`. The last character may end after the block. */
static struct class_bits plain_bits(const uint8_t *classes, const unsigned char *block,
                                    uint64_t leads)
{
    struct class_bits bits = { 0 };
    for (; leads; leads &= leads - 1) {
        size_t len, at = (size_t)__builtin_ctzll(leads);
        uint64_t class = unicode_class(classes, utf8_get(block + at, &len));
        bits.low |= (class & 1) << at;
        bits.high |= class >> 1 << at;
    }
    return bits;
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

/* As plain_bits, with AVX-512. First gathers the characters' first bytes in one vector, their
 * second bytes in another, and so on. */
AVX512 static struct class_bits avx512_bits(const uint8_t *classes, const unsigned char *block,
                                            uint64_t leads)
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
    return (struct class_bits){ _pdep_u64(low, leads), _pdep_u64(high, leads) };
}
#endif

static struct class_bits bits_of(const uint8_t *classes, const unsigned char *block, uint64_t leads)
{
#if defined(__x86_64__)
    enum { FEW = 4 }; /* for so few characters, vectors are not faster */
    if (simd_level() == SIMD_AVX512 && __builtin_popcountll(leads) > FEW)
        return avx512_bits(classes, block, leads);
#endif
    return plain_bits(classes, block, leads);
}

void gpt2_begin(struct gpt2 *g, const char *text, size_t n)
{
    *g = (struct gpt2){
        .text = (const unsigned char *)text,
        .n = n,
        .classes = unicode_classes(),
        .last = NO_CLASS,
    };
}

/* Bit i of a mask is set if byte i is of a character of that class. */
struct class_masks {
    uint64_t letters, numbers, spaces;
};

/* Returns `bits` changed: for each character whose first byte has its bit set, the bits of all its
 * bytes are set. `tails`: the bytes of characters that are not the first one. */
static inline uint64_t with_tails(uint64_t bits, uint64_t tails)
{
    enum { TAILS_MAX = 3 };
    for (int i = 0; i < TAILS_MAX; i++)
        bits |= bits << 1 & tails;
    return bits;
}

/* Adds the characters of the block that are not ASCII to the masks *c: sets the bits of all bytes
 * of a character, also if it began in the block before. */
static inline void add_characters(const struct gpt2 *g, struct class_masks *c,
                                  const unsigned char *block, const struct ascii_masks *m)
{
    uint64_t leads = m->high & ~m->tails, first = m->tails & 1, last = (uint64_t)g->last;
    struct class_bits bits = leads ? bits_of(g->classes, block, leads) : (struct class_bits){ 0 };
    bits.low |= first & last;
    bits.high |= first & last >> 1;
    c->letters = with_tails(c->letters | (bits.low & ~bits.high), m->tails);
    c->numbers = with_tails(c->numbers | (bits.high & ~bits.low), m->tails);
    c->spaces = with_tails(c->spaces | (bits.low & bits.high), m->tails);
}

/* Returns 1 if the first character that begins at or after `at` is white space, else 0. The end of
 * the text counts as white space. */
static inline int is_space_next(const struct gpt2 *g, size_t at)
{
    size_t len;
    while (at < g->n && (g->text[at] & 0xC0) == 0x80)
        at++;
    return at >= g->n || unicode_class(g->classes, utf8_get(g->text + at, &len)) == UNICODE_SPACE;
}

/* Returns the number of bytes of a contraction such as "'s" at text[i], or 0. */
static inline size_t contraction(const struct gpt2 *g, size_t i)
{
    size_t left = g->n - i;
    unsigned char a = left > 1 ? g->text[i + 1] : 0, b = left > 2 ? g->text[i + 2] : 0;
    if (a == 's' || a == 't' || a == 'm' || a == 'd')
        return 2;
    return (a == 'r' && b == 'e') || (a == 'v' && b == 'e') || (a == 'l' && b == 'l') ? 3 : 0;
}

/* Returns `begins`, the mask of the first bytes of pieces, corrected for contractions: if a piece
 * that begins with a quote is a contraction, no piece begins at its letters, but one begins after
 * it. */
static uint64_t cut_contractions(struct gpt2 *g, uint64_t begins, uint64_t quotes)
{
    begins = (begins & ~g->drop) | g->add;
    g->add = g->drop = 0;
    for (quotes &= begins; quotes; quotes &= quotes - 1) {
        size_t i = (size_t)__builtin_ctzll(quotes), n = contraction(g, g->block + i);
        if (!n)
            continue;
        unsigned __int128 letter = (unsigned __int128)2 << i,
                          next = (unsigned __int128)1 << (i + n);
        begins = (begins & ~(uint64_t)letter) | (uint64_t)next;
        g->drop |= (uint64_t)(letter >> ASCII_BLOCK);
        g->add |= (uint64_t)(next >> ASCII_BLOCK);
    }
    return begins;
}

/* Returns `bits` with each set bit moved to the first byte of the character that it is in. */
static uint64_t leads_of(uint64_t bits, uint64_t tails)
{
    while (bits & tails)
        bits = (bits & ~tails) | (bits & tails) >> 1;
    return bits;
}

/* Computes where pieces begin in the next block, and makes it the current block. */
static inline void next_block(struct gpt2 *g)
{
    unsigned char padded[ASCII_BLOCK];
    const unsigned char *block = g->text + g->next;
    size_t left = g->n - g->next;
    if (left < ASCII_BLOCK) {
        memset(padded, ' ', sizeof padded);
        block = memcpy(padded, block, left);
    }
    struct ascii_masks m;
    ascii_classify(&m, NULL, block);
    struct class_masks c = { m.letters, m.digits, m.spaces };
    if (m.high)
        add_characters(g, &c, block, &m);
    uint64_t others = ~(c.letters | c.numbers | c.spaces);
    uint64_t spaces_before = c.spaces << 1 | (g->last == UNICODE_SPACE);
    uint64_t runs = (c.letters & ~(c.letters << 1 | (g->last == UNICODE_LETTER))) |
                    (c.numbers & ~(c.numbers << 1 | (g->last == UNICODE_NUMBER))) |
                    (others & ~(others << 1 | (g->last == UNICODE_OTHER)));
    uint64_t ends = c.spaces & ~(c.spaces >> 1);
    if (ends >> 63 && is_space_next(g, g->next + ASCII_BLOCK))
        ends &= ~((uint64_t)1 << 63);
    uint64_t begins = (runs & ~(m.blanks << 1 | (uint64_t)g->blank)) | (c.spaces & ~spaces_before) |
                      leads_of(ends, m.tails);
    g->block = g->next;
    g->begins = cut_contractions(g, begins, m.quotes);
    g->last = c.letters >> 63   ? UNICODE_LETTER
              : c.numbers >> 63 ? UNICODE_NUMBER
              : c.spaces >> 63  ? UNICODE_SPACE
                                : UNICODE_OTHER;
    g->blank = (int)(m.blanks >> 63);
    g->next += left < ASCII_BLOCK ? left : ASCII_BLOCK;
    if (left < ASCII_BLOCK)
        g->begins &= ((uint64_t)1 << left) - 1;
    if (!g->block)
        g->begins &= ~(uint64_t)1; /* no piece ends at the beginning of the text */
}

int gpt2_next(struct gpt2 *g, size_t *ends, int max)
{
    int count = 0;
    while (count < max && g->block < g->n) {
        uint64_t bits = g->begins;
        if (max - count >= ASCII_BLOCK) {
            count += (int)ascii_places(ends + count, bits, g->block);
            bits = 0;
        }
        for (; bits && count < max; bits &= bits - 1)
            ends[count++] = g->block + (size_t)__builtin_ctzll(bits);
        g->begins = bits;
        if (bits)
            break;
        if (g->next < g->n)
            next_block(g);
        else if (count < max)
            ends[count++] = g->block = g->n;
    }
    return count;
}
