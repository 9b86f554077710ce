/*
 * magic.h - translates MediaWiki's magic words from the language of a wiki to English: in French
 * {{NOMPAGE}} is {{PAGENAME}}, and {{#si: …}} is {{#if: …}}.
 *
 * Covers the larger languages and the words that affect text. English words work in every wiki and
 * are not listed, except those that do the same as another: {{LOCALDAY}} is {{CURRENTDAY}}. Names
 * of variables (in capitals in English) match exactly; names of functions match in any case, as
 * most do in MediaWiki.
 */
#pragma once

#include "common/files/nameset.h"

/* Returns the words of a language and those of all wikis; the caller frees the set. */
struct nameset *magic_new(const char *lang);

/* Returns the English word ("PAGENAME", "lc", "#if") for s[0..n), or NULL. May be called by several
 * threads at once. */
const char *magic_find(const struct nameset *m, const char *s, size_t n);
