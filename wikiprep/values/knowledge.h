/*
 * knowledge.h - what is known of languages: the rows of the files in wikiprep/languages.
 *
 *     knowledge_find("calendar", "de", "days")   "Sonntag|Montag|...": lists have '|' between their
 * items
 *
 * docs/languages.md says what the sections hold.
 */
#ifndef TEXTMILL_WIKIPREP_VALUES_KNOWLEDGE_H
#define TEXTMILL_WIKIPREP_VALUES_KNOWLEDGE_H

#include <stddef.h>

struct knowledge_row {
    const char *section, *lang, *key, *value; /* lang: "" for what holds in all languages */
};

/* The value, or NULL. */
const char *knowledge_find(const char *section, const char *lang, const char *key);

/* The rows of a section in one language, or in all of them where lang is NULL: how many. */
size_t knowledge_section(const char *section, const char *lang, const struct knowledge_row **rows);

/* ---- tables --------------------------------------------------------------------------------- */

extern const struct knowledge_row knowledge_rows[]; /* sorted by section, language and key */
extern const size_t knowledge_rows_count;

#endif
