/*
 * unicode.h - the character classes that GPT-2's pattern asks for.
 *
 * The classes are those of Unicode 16, as Hugging Face's tokenizers and tiktoken have them; the
 * tables of a regular expression library are of some other version (PCRE2 10.42: Unicode 14,
 * which knows 9,392 letters and digits less). scripts/make-unicode-classes made the ranges.
 */
#ifndef TEXTMILL_UNICODE_UNICODE_H
#define TEXTMILL_UNICODE_UNICODE_H

#include <stddef.h>
#include <stdint.h>

#include "common/utf8.h"

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
struct unicode_class_run {
    uint32_t first, last, class; /* the canonical combining class */
};
extern const struct unicode_range unicode_letters[], unicode_numbers[], unicode_spaces[];

/* Two bits a code point, four code points a byte: 272 KiB, made at the first call. */
const uint8_t *unicode_classes(void);

static inline enum unicode_class unicode_class(const uint8_t *classes, uint32_t code_point)
{
    return (enum unicode_class)(classes[code_point >> 2] >> (code_point & 3) * 2 & 3);
}

#endif
