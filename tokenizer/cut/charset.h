/*
 * charset.h - reads sets of characters in the regular expression syntax of Oniguruma: a character,
 * an escape such as \s or \p{Lu}, or a bracketed class, which may contain other classes and &&.
 *
 * General categories, \d and \w follow Unicode 16, which libraries of regular expressions may have
 * older tables for; \s is White_Space. Other properties, such as \p{Han}, are taken from PCRE2.
 */
#pragma once

#include "unicode/unicode.h"

/* A set of code points, one bit each. */
struct charset {
    uint8_t bits[UNICODE_LIMIT / 8];
};

static inline int charset_has(const struct charset *s, uint32_t c)
{
    return s->bits[c >> 3] >> (c & 7) & 1;
}

/* Fills the set with the code points of the category `name`, such as "Lu", or, if it is one letter
 * such as "L", of all categories that begin with it. Returns 0, or -1, without an error set, if the
 * name is not known. */
int charset_category(struct charset *s, const char *name, size_t n);
void charset_word(struct charset *s, int in_brackets); /* \w, or the smaller [\w] */
void charset_space(struct charset *s);                 /* White_Space */

/* A function that fills `s` with the code points that PCRE2 has in the class `base`, written as in
 * brackets: \p{Han}. Returns 0, or -1, without an error set, if PCRE2 does not know the class. */
typedef int charset_property_fn(struct charset *s, const char *base);

/* Fills `s` with the code points of the property name[0..n), which only PCRE2 knows, and sets
 * *spelling to PCRE2's spelling of it. A script, such as Han, is the property Script, as in other
 * programs: since 10.40 PCRE2 reads a script's bare name as Script_Extensions. Returns 0, or -1,
 * without an error set, if PCRE2 does not know the property. */
int charset_ask(struct charset *s, struct buf *spelling, const char *name, size_t n,
                charset_property_fn *theirs);

/* Reads the set at the beginning of p[0..n) into *s; n > 0, valid UTF-8. Returns the number of
 * bytes that spell the set. Returns 0, without an error set, if there is no set, or one that is not
 * supported, such as [:alpha:], \b and back references. Properties that only PCRE2 knows, such as
 * \p{Han}, are looked up by `theirs`. Sets *nested to 1 for a bracketed class with && or with
 * classes inside it, else to 0. */
size_t charset_parse(struct charset *s, const char *p, size_t n, charset_property_fn *theirs,
                     int *nested);

/* Adds the other case of each letter of the set to the set. The letters s and k also add the
 * characters that fold to them, U+017F and U+212A. Returns 0, or -1, without an error set, if the
 * set has characters that are not ASCII. */
int charset_fold(struct charset *s);

void charset_invert(struct charset *s);
void charset_add(struct charset *s, uint32_t first, uint32_t last); /* last included */
