/*
 * charset.h - sets of characters as regular expressions spell them, in Oniguruma's dialect: a
 * character, an escape such as \s or \p{Lu}, or a class in brackets, with classes inside it and &&.
 *
 * General categories, \d and \w are those of Unicode 16 (classes.h), \s is White_Space. Other
 * properties, such as \p{Han}, are those of PCRE2.
 */
#ifndef TEXTMILL_TOKENIZER_CUT_CHARSET_H
#define TEXTMILL_TOKENIZER_CUT_CHARSET_H

#include <stddef.h>
#include <stdint.h>

#include "unicode/classes.h"

/* Fills `s` with the code points that PCRE2 itself has in a class, which is given as it stands in
 * brackets. -1 (no error set): it knows no such class. */
typedef int charset_property_fn(struct classes_set *s, const char *base);

/* Reads the set that begins at p[0..n), n > 0, which is valid UTF-8. Returns how many bytes spell
 * it; 0 (no error set): it is none, or one of those that are not read here, such as [:alpha:], \b
 * and back references. *nested becomes 1 for a class in brackets that has classes inside it or &&,
 * else 0. */
size_t charset_parse(struct classes_set *s, const char *p, size_t n, charset_property_fn *theirs,
                     int *nested);

/* Adds the other case of each letter. -1 (no error set): the set has characters that are not
 * ASCII. Also s and k match what folds to them: U+017F and U+212A. */
int charset_fold(struct classes_set *s);

void charset_invert(struct classes_set *s);
void charset_add(struct classes_set *s, uint32_t first, uint32_t last);

#endif
