/*
 * replacements.h - a table of words and what stands for each, and the search for the longest of
 * them at a place of a text, as PHP's strtr does.
 */
#pragma once

#include "wikiprep/values/span.h"

enum { WORD_MAX_BYTES = 63 }; /* longer words are not replaced: it keeps the time linear */

/* A word, and its replacement; to.s NULL: the word stays as it is. */
struct word {
    struct span from, to;
};

struct replacements;

struct replacements *replacements_new(void);
void replacements_free(struct replacements *w);

/* Puts a word into the table, or changes it. Words that are empty or too long are left out. */
void replacements_put(struct replacements *w, struct word word);

/* Returns 1 if the table has the word, else 0. */
int replacements_has(const struct replacements *w, struct span from);

/* Finds the longest word at the start of s[0..n) in two tables; either may be NULL. If both have
 * it, the first table counts. Returns its length and sets *to, or returns 0. */
size_t replacements_find(const struct replacements *first, const struct replacements *second,
                         const char *s, size_t n, struct span *to);
