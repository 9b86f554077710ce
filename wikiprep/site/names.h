/*
 * names.h - what the prefix of a link means: [[File:…]], [[Catégorie:…]], [[de:…]], [[wikt:…]].
 *
 * Names of the File, Category and Media namespaces in the languages of the larger wikis are built
 * in, since old pages use aliases that <siteinfo> does not list, and copied text uses those of
 * another language. The wiki's own names are added and win. Also the codes of Wikipedia's
 * languages and the prefixes of its sister projects.
 */
#ifndef TEXTMILL_WIKIPREP_SITE_NAMES_H
#define TEXTMILL_WIKIPREP_SITE_NAMES_H

#include <stddef.h>

#include "common/buf.h"

enum names_kind {
    NAMES_NONE, /* no prefix: part of the title, as in [[Star Trek: Picard]] */
    NAMES_PAGE, /* a namespace whose links are shown */
    NAMES_FILE,
    NAMES_ALIAS, /* File in some language: a file if the rest looks like a file's name, since
                    [[Imagine: John Lennon]] is a film */
    NAMES_CATEGORY,
    NAMES_MEDIA,
    NAMES_LANGUAGE, /* the same page in another language */
    NAMES_PROJECT,  /* a page elsewhere */
};

struct names;

struct names *names_new(void);
void names_free(struct names *names);

/* Adds a name, or changes what it means. */
void names_add(struct names *names, const char *name, enum names_kind kind);

/* Whether titles begin with a capital letter; they do in a new one. */
void names_set_capital(struct names *names, int capital);
int names_capital(const struct names *names);

/* Thread-safe once nothing is added any more. */
enum names_kind names_find(const struct names *names, const char *prefix, size_t n);

/* Equal but for case, spaces around, and '_' for a space. */
int names_equal(const char *a, size_t an, const char *b, size_t bn);

/* Appends the title s[0..n) as MediaWiki stores it: '_' is a space, no spaces around or in a row,
 * and, if the wiki has it so, the first letter upper-case. */
void names_add_title(struct buf *out, const char *s, size_t n, int capital);

#endif
