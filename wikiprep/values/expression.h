/*
 * expression.h - arithmetic expressions: {{#expr: 1 + 2 * (3 round 1) }}
 *
 * The operators are those of MediaWiki's ParserFunctions (www.mediawiki.org/wiki/Help:Calculation).
 * By falling precedence: e and unary + -; not, sin, ln and other functions; ^; * / div mod fmod; +
 * -; round; comparisons; and; or.
 */
#ifndef TEXTMILL_WIKIPREP_VALUES_EXPRESSION_H
#define TEXTMILL_WIKIPREP_VALUES_EXPRESSION_H

#include "wikiprep/values/number.h"

/* Evaluates s and appends its value to out; an empty expression has none. Returns -1 on an error
 * and appends MediaWiki's error message instead. *truth is set to 1 if the value is not zero; truth
 * may be NULL. */
int expression_evaluate(struct span s, struct buf *out, int *truth);

#endif
