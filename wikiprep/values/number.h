/*
 * number.h - numbers with the arithmetic rules of PHP, which MediaWiki's parser functions use.
 */
#pragma once

#include "wikiprep/values/span.h"

struct number {
    double value;
    int is_integer; /* 1: it is an integer that fits 64 bits */
    int64_t whole;  /* the value if is_integer; only number_read sets it */
};

/* Reads s as a number, such as " -1.5e3", into *n. Spaces around it are allowed. Returns 1, or 0 if
 * s is not a number. */
int number_read(struct span s, struct number *n);

/* Compares as PHP's == does: by value if both are numbers ("01" equals "1.0"), else byte by byte.
 * Returns 1 if they are equal, else 0. */
int number_equal(struct span a, struct span b);

/* Converts s to an integer as PHP's (int) does: returns the integer part of the number at the
 * beginning of s, or 0 if there is none or it does not fit. */
int64_t number_integer(struct span s);

/* Appends n: an integer in full, other numbers with at most 14 significant digits, such as
 * "0.33333333333333" and "1.0E+25". */
void number_put(struct number n, struct buf *out);

/* Rounds as PHP's round() does: to `digits` digits after the point (negative: before it), halves
 * away from zero. */
double number_round(double value, int digits);

/* How a language writes numbers. */
struct number_style {
    struct span group, point;
    struct span digits; /* ten digits of equal byte length; empty: ASCII */
    int min_grouping;   /* fewest digits before the first separator */
    int indian;         /* 1: groups of two before the last three digits, 12,34,567 */
};
struct number_style number_style(const char *lang);

/* Appends s with each number as the language writes it: "1,000", "1.000", "1 000". */
void number_show(struct span s, const char *lang, struct buf *out);

/* Appends s with its ASCII digits replaced by digits of the style. Adds no separators. */
void number_put_digits(struct span s, const struct number_style *style, struct buf *out);

/* number_format appends s with each number in the style, as {{formatnum:s}} does.
 * number_unformat reverses this: its numbers have ASCII digits, '.', and no group separators. */
void number_format(struct span s, const struct number_style *style, struct buf *out);
void number_unformat(struct span s, const struct number_style *style, struct buf *out);
