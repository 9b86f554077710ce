/*
 * dump_page.h - a page of a dump, and the wiki that it is from.
 */
#ifndef TEXTMILL_WIKIPREP_SITE_DUMP_PAGE_H
#define TEXTMILL_WIKIPREP_SITE_DUMP_PAGE_H

#include <stddef.h>

#include "common/buf.h"

struct dump_namespace {
    int key;
    char *name; /* in the wiki's language; "" for articles */
};

struct dump_site {
    struct buf name, base, lang; /* sitename; the main page's address; xml:lang of the export */
    struct buf date;             /* of the latest page, where library.h wrote the export; or "" */
    int capital;                 /* titles begin with a capital letter */
    struct dump_namespace *namespaces;
    size_t count, cap;
};

#define DUMP_SITE_INIT                                                                             \
    (struct dump_site)                                                                             \
    {                                                                                              \
        BUF_INIT, BUF_INIT, BUF_INIT, BUF_INIT, 0, NULL, 0, 0                                      \
    }

struct dump_page {
    struct buf title, id, revid, timestamp, model, text;
    struct buf target; /* of a redirect: the title that it leads to */
    int ns;
    int redirect;
    int too_long; /* the text was longer than the limit and is left out */
};

#define DUMP_PAGE_INIT                                                                             \
    {                                                                                              \
        BUF_INIT, BUF_INIT, BUF_INIT, BUF_INIT, BUF_INIT, BUF_INIT, BUF_INIT, 0, 0, 0              \
    }
void dump_page_release(struct dump_page *p);
void dump_page_clear(struct dump_page *p);

/* Where <redirect> does not say it: whether the text is "#REDIRECT [[Target]]", in whatever
 * language. Fills in `target` where that is empty. */
int dump_page_redirects(struct dump_page *p, const struct dump_site *site);

/* The namespace that `name` names in this wiki or, in any wiki, in English: 1 and *key, or 0.
 * Case, and '_' for a space, do not matter. */
int dump_namespace(const struct dump_site *site, const char *name, size_t n, int *key);

/* The namespace's name in this wiki, or in English; "" for articles and where it has none. */
const char *dump_namespace_name(const struct dump_site *site, int key);

/* A copy of its own; and the end of one. */
void dump_site_copy(struct dump_site *to, const struct dump_site *from);
void dump_site_release(struct dump_site *site);

/* The namespace of a title by its prefix. */
int dump_namespace_of(const struct dump_site *site, const struct buf *title);

#endif
