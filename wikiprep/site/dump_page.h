/*
 * dump_page.h - a page of a dump, and the wiki of the dump.
 */
#pragma once

#include "wikiprep/site/names.h"

struct dump_namespace {
    int key;
    char *name; /* name in the wiki's language; "" for articles */
};

struct dump_site {
    struct buf name, base, lang; /* <sitename>, address of the main page, the wiki's language */
    struct buf date; /* date of the latest page if library.h wrote the export, else "" */
    int capital;     /* how titles begin: enum names_capital */
    struct dump_namespace *namespaces;
    size_t count, cap;
};

#define DUMP_SITE_INIT                                                                             \
    (struct dump_site)                                                                             \
    {                                                                                              \
        BUF_INIT, BUF_INIT, BUF_INIT, BUF_INIT, NAMES_CAPITAL, NULL, 0, 0                          \
    }

struct dump_page {
    struct buf title, id, revid, timestamp, model, text;
    struct buf target;   /* target title of a redirect */
    struct buf wikidata; /* id of the item, "Q405", if the input says it */
    int ns;
    int redirect;
    int too_long; /* 1: the text was over the limit and is missing */
};

#define DUMP_PAGE_INIT                                                                             \
    {                                                                                              \
        BUF_INIT, BUF_INIT, BUF_INIT, BUF_INIT, BUF_INIT, BUF_INIT, BUF_INIT, BUF_INIT, 0, 0, 0    \
    }
void dump_page_release(struct dump_page *p);
void dump_page_clear(struct dump_page *p);

/* Returns 1 if the text is a redirect, else 0. A redirect is '#', a keyword in any language,
 * perhaps a colon, and a link: "#REDIRECT [[Target]]". Sets *target to the title in that link. */
int dump_redirect(struct span text, struct span *target);

/* Like dump_redirect, for the text of a page without a <redirect> element. Sets p->target if it is
 * empty. */
int dump_page_redirects(struct dump_page *p, const struct dump_site *site);

/* Returns 1 if text[0..n) is the wikitext of a disambiguation page, which lists the meanings of a
 * title, else 0: it has a template that marks such pages, in the languages of the larger wikis, or
 * the switch __DISAMBIG__ of the extension Disambiguator. Time is linear in n. */
int dump_disambiguates(const char *text, size_t n);

/* Returns 1 if this is a page of a scanned book, with its text in wikitext, else 0. */
int dump_page_is_scan(const struct dump_page *p);

/* Finds the namespace with this name, in the wiki's language or in English. Returns 1 and sets
 * *key, or returns 0. Ignores case, and '_' equals a space. */
int dump_namespace(const struct dump_site *site, const char *name, size_t n, int *key);

/* Returns the name in this wiki of the namespace with the number `key`, or its English name.
 * Returns "" for articles and for unknown namespaces. */
const char *dump_namespace_name(const struct dump_site *site, int key);

/* dump_site_copy makes *to, which must be empty, a deep copy. dump_site_equal returns 1 if both are
 * the same wiki with the same namespaces, else 0. dump_site_release frees the contents of a site
 * and makes it empty. */
void dump_site_copy(struct dump_site *to, const struct dump_site *from);
int dump_site_equal(const struct dump_site *a, const struct dump_site *b);
void dump_site_release(struct dump_site *site);

/* Returns the namespace that the prefix of a title names, or 0. For exports before version 0.6,
 * which have no <ns> element. */
int dump_namespace_of(const struct dump_site *site, const struct buf *title);
