/*
 * dialect.h - translates patterns from Oniguruma's syntax (the Ruby dialect) to that of PCRE2.
 *
 * \s is the 25 code points of White_Space. \d, \w, \b and general categories such as \p{Lu} follow
 * the Unicode 16 tables of Oniguruma, whatever the version of PCRE2: code points that PCRE2's
 * class lacks are listed after it. Outside of brackets, \w and \b also count six characters as
 * letters, as Oniguruma does: superscript digits and fractions of Latin-1. \h is a hexadecimal
 * digit, \uHHHH a character. ^ and $ match at line ends. A class with && or with inner classes is
 * written out as ranges. Scripts, such as \p{Han}, have PCRE2's Unicode version. Syntax that the
 * two read differently is otherwise an error: (?m), \p without braces, an interval followed by +,
 * {n} followed by ?, and && or brackets in a class that charset.h cannot read.
 */
#pragma once

#include "tokenizer/cut/charset.h"

/* Appends the pattern in PCRE2's syntax. `theirs` returns PCRE2's classes. Its results are cached
 * for the life of the process, so all calls must pass the same function. Returns 0, or -1 with an
 * error if the pattern uses something that is not supported. */
int dialect_translate(struct buf *out, const char *pattern, size_t n, charset_property_fn *theirs);
