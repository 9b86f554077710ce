/*
 * plural.h - which of its forms a language has for a number: 1 day, 2 days; 1 день, 2 дня, 5 дней.
 *
 * The plural rules of the Unicode CLDR (unicode.org/reports/tr35/tr35-numbers.html), in the order
 * zero, one, two, few, many, other of those that the language has.
 */
#ifndef TEXTMILL_WIKIPREP_VALUES_PLURAL_H
#define TEXTMILL_WIKIPREP_VALUES_PLURAL_H

#include <math.h>
#include <stddef.h>

/* The place of the form, from 0. Languages that are not known, and those of one form, have
 * English's two, as MediaWiki falls back. n >= 0. */
int plural_form(const char *lang, double n);

/* ---- tables --------------------------------------------------------------------------------- */

/* A rule: the sections [plural] and [plural-rules] of wikiprep/languages. */
struct plural_rule {
    const char *name;
    int (*form)(double n);
};

extern const struct plural_rule plural_rules[];
extern const size_t plural_rules_count;

/* Whether n is a whole number from low to high. */
static inline int plural_in(double n, double low, double high)
{
    return n >= low && n <= high && n == floor(n);
}

#endif
