/*
 * replacements.h - a table of words with their replacements, and the search for its longest word at
 * a position of a text, as in PHP's strtr.
 */
#pragma once

#include "wikiprep/values/span.h"

enum { WORD_MAX_BYTES = 63 }; /* longer words are ignored, which keeps the time linear */

/* A word and its replacement; to.s NULL: the word is not replaced, even if the second table of
 * replacements_find has it. */
struct word {
    struct span from, to;
};

struct replacements;

struct replacements *replacements_new(void);
void replacements_free(struct replacements *w);

/* Adds a word, or changes its replacement. Ignores words that are empty or too long. */
void replacements_put(struct replacements *w, struct word word);

/* Finds the longest word of two tables at the start of s[0..n); either table may be NULL. If both
 * have the word, the first counts. Returns its length and sets *to, or returns 0. */
size_t replacements_find(const struct replacements *first, const struct replacements *second,
                         const char *s, size_t n, struct span *to);
