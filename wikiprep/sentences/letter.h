/*
 * letter.h - characters of UTF-8 text, with the classes that sentence splitting needs.
 */
#pragma once

#include "common/base/base.h"

enum letter_kind {
    LETTER_OTHER,
    LETTER_UPPER,
    LETTER_LOWER,
    LETTER_CASELESS, /* letter of a script without case */
    LETTER_DIGIT,
    LETTER_SPACE,
    LETTER_OPEN,     /* bracket or quote that opens, or can open */
    LETTER_CLOSE,    /* bracket or quote that closes, or can close */
    LETTER_QUOTE,    /* quote that opens or closes: " ' */
    LETTER_DASH,     /* hyphens, dashes and other signs inside a sentence: , : ; / */
    LETTER_END,      /* . ! ? … and marks of other scripts that a space follows */
    LETTER_FULL_END, /* 。 । ። and other marks that always end a sentence */
};

struct letter {
    unsigned code;
    size_t len; /* bytes; 0: no character */
    enum letter_kind kind;
};

extern const unsigned char letter_ascii_kinds[128];

/* Returns the character at s, where s < end and the first byte is not ASCII. */
struct letter letter_beyond_ascii(const char *s, const char *end);

/* letter_at returns the character at s, and letter_before the character that ends at s. An invalid
 * UTF-8 byte is a character of kind LETTER_OTHER. */
static inline struct letter letter_at(const char *s, const char *end)
{
    if (s >= end)
        return (struct letter){ 0 };
    unsigned char c = (unsigned char)*s;
    if (c >= 0x80)
        return letter_beyond_ascii(s, end);
    return (struct letter){ .code = c, .len = 1, .kind = (enum letter_kind)letter_ascii_kinds[c] };
}

struct letter letter_before(const char *begin, const char *s);

static inline int letter_is_alphabetic(enum letter_kind k)
{
    return k == LETTER_UPPER || k == LETTER_LOWER || k == LETTER_CASELESS;
}

/* Converts s[0..n) to lower case: Latin, Greek, Cyrillic and Armenian letters. out has room for n
 * bytes. Returns the number of bytes written. */
size_t letter_lower(char *out, const char *s, size_t n);
