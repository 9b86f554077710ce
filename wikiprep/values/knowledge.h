/*
 * knowledge.h - language data: the rows of the files in wikiprep/languages.
 *
 *     knowledge_find("calendar", "de", "days")     "Sonntag|Montag|...": '|' separates list items
 *
 * docs/languages.md explains the sections.
 */
#pragma once

#include "wikiprep/values/span.h"

struct knowledge_row {
    const char *section, *lang, *key, *value; /* lang "" is for all languages */
};

/* Returns the language whose rows a wiki in `lang` has, too: Norwegian, "no", for both of its
 * written forms, English for Simple English, else `lang`. */
const char *knowledge_language(const char *lang);

/* Returns the value of the row, or NULL if there is no such row. */
const char *knowledge_find(const char *section, const char *lang, const char *key);

/* Like knowledge_find, with a key made of `prefix` and `code`, such as "own-" and "sr-ec". */
const char *knowledge_find_code(const char *section, const char *lang, const char *prefix,
                                struct span code);

/* Sets *rows to the first row of a section in one language, or in all languages if lang is NULL.
 * Returns the number of rows. */
size_t knowledge_section(const char *section, const char *lang, const struct knowledge_row **rows);

/* ---- tables --------------------------------------------------------------------------------- */

extern const struct knowledge_row knowledge_rows[]; /* sorted by section, language and key */
extern const size_t knowledge_rows_count;
