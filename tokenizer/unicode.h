/*
 * unicode.h - UTF-8, and the character classes that GPT-2's pattern asks for.
 *
 * The classes are those of Unicode 16, as Hugging Face's tokenizers and tiktoken have them; the
 * tables of a regular expression library are of some other version (PCRE2 10.42: Unicode 14,
 * which knows 9,392 letters and digits less). scripts/make-unicode-classes made the ranges.
 */
#ifndef TEXTMILL_UNICODE_H
#define TEXTMILL_UNICODE_H

#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"

enum unicode_class {
    UNICODE_OTHER,  /* neither of the below: punctuation, symbols, marks, controls */
    UNICODE_LETTER, /* \p{L} */
    UNICODE_NUMBER, /* \p{N} */
    UNICODE_SPACE,  /* \p{White_Space} */
};

enum { UNICODE_LIMIT = 0x110000 };

/* Ranges in rising order; one with first > last ends them. */
struct unicode_range {
    uint32_t first, last;
};
extern const struct unicode_range unicode_letters[], unicode_numbers[], unicode_spaces[];

/* Two bits a code point, four code points a byte: 272 KiB, made at the first call. */
const uint8_t *unicode_classes(void);

static inline enum unicode_class unicode_class(const uint8_t *classes, uint32_t code_point)
{
    return (enum unicode_class)(classes[code_point >> 2] >> (code_point & 3) * 2 & 3);
}

/* The code point at p, in valid UTF-8; *len becomes its bytes. */
static inline uint32_t utf8_get(const unsigned char *p, size_t *len)
{
    uint32_t c = p[0];
    if (c < 0x80) {
        *len = 1;
        return c;
    }
    if (c < 0xE0) {
        *len = 2;
        return (c & 0x1F) << 6 | (p[1] & 0x3Fu);
    }
    if (c < 0xF0) {
        *len = 3;
        return (c & 0x0F) << 12 | (p[1] & 0x3Fu) << 6 | (p[2] & 0x3Fu);
    }
    *len = 4;
    return (c & 0x07) << 18 | (p[1] & 0x3Fu) << 12 | (p[2] & 0x3Fu) << 6 | (p[3] & 0x3Fu);
}

/* How many bytes from the start are valid UTF-8 (RFC 3629: no surrogates, nothing overlong). */
size_t utf8_valid(const char *text, size_t n);

/* Appends text[0..n) with U+FFFD for each maximal subpart of what is not UTF-8 (Unicode
 * standard, section 3.9; Python's errors="replace"). */
void utf8_repair(struct buf *out, const char *text, size_t n);

#endif
