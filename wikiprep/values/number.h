/*
 * number.h - numbers as PHP has them, in which MediaWiki's parser functions reckon.
 */
#ifndef TEXTMILL_WIKIPREP_VALUES_NUMBER_H
#define TEXTMILL_WIKIPREP_VALUES_NUMBER_H

#include <stdint.h>

#include "common/buf.h"
#include "wikiprep/values/span.h"

struct number {
    double value;
    int is_integer; /* and fits 64 bits */
};

/* Whether all of s is a number, spaces around it allowed: " -1.5e3". */
int number_read(struct span s, struct number *n);

/* PHP's ==: as numbers where both are ("01" is "1.0"), else byte for byte. */
int number_equal(struct span a, struct span b);

/* PHP's (int): the number s begins with, or 0. */
int64_t number_integer(struct span s);

/* As text, with 14 significant digits: "0.33333333333333", "1.0E+25". */
void number_put(struct number n, struct buf *out);

/* PHP's round(), half away from zero, to `digits` behind the point (negative: before it). */
double number_round(double value, int digits);

/* How a language writes numbers: signs between thousands and before decimals. */
struct number_style {
    const char *group, *point;
    const char *digits; /* ten, of equal length; NULL: those of ASCII */
    int min_grouping;   /* digits that the first group must have */
    int indian;         /* 12,34,567 */
};
struct number_style number_style(const char *lang);

/* s with its digits in the style, nothing else. */
void number_put_digits(struct span s, const struct number_style *style, struct buf *out);

/* {{formatnum:s}}: each number in s in the language's style; and back, to plain digits. */
void number_format(struct span s, const struct number_style *style, struct buf *out);
void number_unformat(struct span s, const struct number_style *style, struct buf *out);

#endif
