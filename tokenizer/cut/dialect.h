/*
 * dialect.h - patterns of Ruby's dialect, as Oniguruma reads them, in that of PCRE2.
 *
 * \s is the 25 code points of White_Space; \d, \w, \b and general categories as \p{Lu} go by the
 * tables of Oniguruma's Unicode 16, whatever PCRE2's are: what those lack is written behind them.
 * Out of brackets \w and \b take six characters more for letters, as Oniguruma does: superscript
 * digits and fractions of Latin-1. \h is a hexadecimal digit, \uHHHH a character. ^ and $ match at
 * line ends. A class with && or with classes inside it becomes the ranges that it is. Scripts, as
 * \p{Han}, are as old as PCRE2. What the two read differently otherwise is an error: (?m), an
 * interval with a + behind it, && or brackets in a class that charset.h does not read.
 */
#ifndef TEXTMILL_TOKENIZER_CUT_DIALECT_H
#define TEXTMILL_TOKENIZER_CUT_DIALECT_H

#include <stddef.h>

#include "common/buf.h"
#include "tokenizer/cut/charset.h"

/* Appends the pattern for PCRE2, whose classes are `theirs`; one function in the whole program,
 * since what it says is kept. -1: the pattern has what is not supported. */
int dialect_translate(struct buf *out, const char *pattern, size_t n, charset_property_fn *theirs);

#endif
