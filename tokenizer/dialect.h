/*
 * dialect.h - patterns of Ruby's dialect, as Oniguruma reads them, in that of PCRE2.
 *
 * \s is the 25 code points of White_Space; \d, \w, \b and general categories as \p{Lu} go by the
 * tables of Oniguruma's Unicode 16, whatever PCRE2's are: what those lack is written behind them.
 * Out of brackets \w and \b take six characters more for letters, as Oniguruma does: superscript
 * digits and fractions of Latin-1. \h is a hexadecimal digit, \uHHHH a character. ^ and $ match at
 * line ends. Scripts, as \p{Han}, are as old as PCRE2. What the two read differently otherwise is
 * an error: && and brackets in a class, (?m), an interval with a + behind it.
 */
#ifndef TEXTMILL_DIALECT_H
#define TEXTMILL_DIALECT_H

#include <stddef.h>

#include "common/buf.h"

/* Appends the pattern for PCRE2. -1: it has what is not supported. */
int dialect_translate(struct buf *out, const char *pattern, size_t n);

#endif
