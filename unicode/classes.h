/*
 * classes.h - the character classes of regular expressions as Oniguruma has them, of Unicode 16,
 * for a library whose tables are older: general categories, and \w.
 */
#ifndef TEXTMILL_UNICODE_CLASSES_H
#define TEXTMILL_UNICODE_CLASSES_H

#include <stddef.h>
#include <stdint.h>

#include "unicode/unicode.h"

/* A set of code points: a bit each, of 8 KiB blocks of bytes. */
struct classes_set {
    uint8_t bits[UNICODE_LIMIT / 8];
};

static inline int classes_has(const struct classes_set *s, uint32_t c)
{
    return s->bits[c >> 3] >> (c & 7) & 1;
}

/* Fills the set with a category, "Lu", or with all that begin with a letter, "L". -1 (no error
 * set): there is none of that name. */
int classes_category(struct classes_set *s, const char *name, size_t n);
void classes_word_set(struct classes_set *s, int in_brackets); /* \w; [\w] is smaller */
void classes_space_set(struct classes_set *s);                 /* White_Space */

#endif
