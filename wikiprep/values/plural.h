/*
 * plural.h - plural forms: 1 day, 2 days; 1 день, 2 дня, 5 дней.
 *
 * Uses the plural rules of the Unicode CLDR (unicode.org/reports/tr35/tr35-numbers.html). A
 * language has some of the forms zero, one, two, few, many, other; they are numbered in this order.
 */
#pragma once

#include <math.h>

#include "common/base/base.h"

/* Returns the index of the plural form for n >= 0, from 0. Languages without a rule get English's
 * two forms, which is also MediaWiki's fallback. */
int plural_form(const char *lang, double n);

/* ---- tables --------------------------------------------------------------------------------- */

/* A plural rule, from the sections [plural] and [plural-rules] of wikiprep/languages. */
struct plural_rule {
    const char *name;
    int (*form)(double n);
};

extern const struct plural_rule plural_rules[];
extern const size_t plural_rules_count;

/* Returns 1 if n is an integer from low to high, else 0. */
static inline int plural_in(double n, double low, double high)
{
    return n >= low && n <= high && n == floor(n);
}
