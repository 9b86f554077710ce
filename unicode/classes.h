/*
 * classes.h - the character classes of Oniguruma's regular expressions, in Unicode 16: general
 * categories and \w. For a regular expression library with older tables.
 */
#pragma once

#include "unicode/unicode.h"

/* A set of code points, one bit each. */
struct classes_set {
    uint8_t bits[UNICODE_LIMIT / 8];
};

static inline int classes_has(const struct classes_set *s, uint32_t c)
{
    return s->bits[c >> 3] >> (c & 7) & 1;
}

/* Fills the set with the code points of the category `name`, such as "Lu", or, if it is one letter
 * such as "L", of all categories that begin with it. Returns 0, or -1, without an error set, if the
 * name is not known. */
int classes_category(struct classes_set *s, const char *name, size_t n);
void classes_word_set(struct classes_set *s, int in_brackets); /* \w, or the smaller [\w] */
void classes_space_set(struct classes_set *s);                 /* White_Space */
