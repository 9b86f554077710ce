/*
 * expression.h - {{#expr: 1 + 2 * (3 round 1) }}
 *
 * Operators as in MediaWiki's ParserFunctions (www.mediawiki.org/wiki/Help:Calculation), from the
 * tightest: e and unary + -; not, sin, ln and other functions; ^; * / div mod fmod; + -; round;
 * comparisons; and; or.
 */
#ifndef TEXTMILL_WIKIPREP_VALUES_EXPRESSION_H
#define TEXTMILL_WIKIPREP_VALUES_EXPRESSION_H

#include "wikiprep/values/number.h"

/* Appends the value (nothing for an empty expression), or, at -1, the sentence that says what is
 * wrong with it. *truth: whether the value counts as yes; may be NULL. */
int expression_evaluate(struct span s, struct buf *out, int *truth);

#endif
