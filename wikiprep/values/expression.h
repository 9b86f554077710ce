/*
 * expression.h - arithmetic expressions: {{#expr: 1 + 2 * (3 round 1) }}
 *
 * The operators are those of MediaWiki's ParserFunctions (www.mediawiki.org/wiki/Help:Calculation).
 * By falling precedence: e and unary + -; not, sin, ln and other functions; ^; * / div mod fmod; +
 * -; round; comparisons; and; or.
 */
#pragma once

#include "wikiprep/values/number.h"

/* Evaluates s and appends its value to out; an empty expression appends nothing. Returns 0, or -1
 * on an error after it has appended MediaWiki's error message instead. Sets *truth, unless truth is
 * NULL, to 1 if the value is not zero, else to 0. */
int expression_evaluate(struct span s, struct buf *out, int *truth);
