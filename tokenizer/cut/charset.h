/*
 * charset.h - reads sets of characters in the regular expression syntax of Oniguruma: a character,
 * an escape such as \s or \p{Lu}, or a bracketed class, which may contain other classes and &&.
 *
 * General categories, \d and \w follow Unicode 16 (classes.h); \s is White_Space. Other
 * properties, such as \p{Han}, are taken from PCRE2.
 */
#pragma once

#include "unicode/classes.h"

/* A function that fills `s` with the code points that PCRE2 has in the class `base`, written as in
 * brackets: \p{Han}. Returns 0, or -1, without an error set, if PCRE2 does not know the class. */
typedef int charset_property_fn(struct classes_set *s, const char *base);

/* Fills `s` with the code points of the property name[0..n), which only PCRE2 knows, and sets
 * *spelling to PCRE2's spelling of it. A script, such as Han, is the property Script, as in other
 * programs: since 10.40 PCRE2 reads a script's bare name as Script_Extensions. Returns 0, or -1,
 * without an error set, if PCRE2 does not know the property. */
int charset_ask(struct classes_set *s, struct buf *spelling, const char *name, size_t n,
                charset_property_fn *theirs);

/* Reads the set at the beginning of p[0..n) into *s; n > 0, valid UTF-8. Returns the number of
 * bytes that spell the set. Returns 0, without an error set, if there is no set, or one that is not
 * supported, such as [:alpha:], \b and back references. Properties that only PCRE2 knows, such as
 * \p{Han}, are looked up by `theirs`. Sets *nested to 1 for a bracketed class with && or with
 * classes inside it, else to 0. */
size_t charset_parse(struct classes_set *s, const char *p, size_t n, charset_property_fn *theirs,
                     int *nested);

/* Adds the other case of each letter of the set to the set. The letters s and k also add the
 * characters that fold to them, U+017F and U+212A. Returns 0, or -1, without an error set, if the
 * set has characters that are not ASCII. */
int charset_fold(struct classes_set *s);

void charset_invert(struct classes_set *s);
void charset_add(struct classes_set *s, uint32_t first, uint32_t last); /* last included */
