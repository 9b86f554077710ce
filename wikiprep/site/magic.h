/*
 * magic.h - MediaWiki's magic words as wikis in other languages than English may write them:
 * in French {{NOMPAGE}} is {{PAGENAME}}, and {{#si: …}} is {{#if: …}}.
 *
 * For the larger languages, and the words that change what a text says; English is known
 * everywhere. Words in capitals are themselves alone, the names of functions in any case (as
 * MediaWiki has most).
 */
#ifndef TEXTMILL_WIKIPREP_SITE_MAGIC_H
#define TEXTMILL_WIKIPREP_SITE_MAGIC_H

#include <stddef.h>

struct magic;

/* The words of a language; those of none where it is not known. */
struct magic *magic_new(const char *lang);
void magic_free(struct magic *m);

/* The word in English ("PAGENAME", "lc", "#if"), or NULL. Safe for any number of threads. */
const char *magic_find(const struct magic *m, const char *s, size_t n);

#endif
