/*
 * plural.h - which of its forms a language has for a number: 1 day, 2 days; 1 день, 2 дня, 5 дней.
 *
 * The plural rules of the Unicode CLDR (unicode.org/reports/tr35/tr35-numbers.html), in the order
 * zero, one, two, few, many, other of those that the language has.
 */
#ifndef TEXTMILL_WIKIPREP_VALUES_PLURAL_H
#define TEXTMILL_WIKIPREP_VALUES_PLURAL_H

/* The place of the form, from 0. Languages that are not known, and those of one form, have
 * English's two, as MediaWiki falls back. n >= 0. */
int plural_form(const char *lang, double n);

#endif
