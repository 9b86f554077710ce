/*
 * letter.h - the characters of UTF-8 text, as far as sentences need to know them.
 */
#ifndef TEXTMILL_WIKIPREP_SENTENCES_LETTER_H
#define TEXTMILL_WIKIPREP_SENTENCES_LETTER_H

#include <stddef.h>

enum letter_kind {
    LETTER_OTHER,
    LETTER_UPPER,
    LETTER_LOWER,
    LETTER_CASELESS, /* of a script without case */
    LETTER_DIGIT,
    LETTER_SPACE,
    LETTER_OPEN,     /* brackets and quotes that open, or may */
    LETTER_CLOSE,    /* brackets and quotes that close, or may */
    LETTER_QUOTE,    /* one that does either: " ' */
    LETTER_DASH,     /* hyphens and dashes, and what else goes on: , : ; / */
    LETTER_END,      /* . ! ? … and those of other scripts that have spaces behind them */
    LETTER_FULL_END, /* 。 । ። and others that mean nothing but an end */
};

struct letter {
    unsigned code;
    size_t len; /* bytes; 0 where there is no character */
    enum letter_kind kind;
};

extern const unsigned char letter_ascii_kinds[128];

/* The character at s < end that begins with no ASCII byte. */
struct letter letter_beyond_ascii(const char *s, const char *end);

/* The character at s, or before it; a byte that is no UTF-8 is one, of kind OTHER. */
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

/* Writes n bytes of UTF-8 in lower case to out, which has room for n, and returns how many there
 * are: Latin, Greek, Cyrillic and Armenian. */
size_t letter_lower(char *out, const char *s, size_t n);

#endif
