/*
 * export.h - builds pages from the elements of a MediaWiki export.
 *
 *     <mediawiki xml:lang="en">
 *       <siteinfo> <base>… <namespaces> <namespace key="6">File</namespace> …
 *       <page> <title>… <ns>0</ns> <id>12</id> <redirect title="…"/>
 *         <revision> <id>345</id> <timestamp>… <model>wikitext</model> <text>…
 *
 * The element <date> of <siteinfo> is an extension of this project: an export of templates ends
 * with the date of the dump that the templates came from.
 */
#pragma once

#include "wikiprep/site/dump_page.h"

struct export
{
    struct dump_site site; /* complete once a page was taken */
    size_t max_text;       /* texts of more bytes than this are left out */
    int is_closed;         /* the root element has ended, and no other one has begun */

    /* The current element: */
    int place;     /* the innermost known element: enum place in export.c */
    unsigned skip; /* nesting depth inside an unknown element */
    struct buf field;
    int namespace_key;

    struct dump_page page;     /* current page, with its best revision so far */
    struct dump_page revision; /* current revision */
    int has_ns, has_revision, has_redirect, text_deleted;

    struct dump_page *pages; /* complete pages that wait for export_take: [head, tail) */
    size_t head, tail, cap;
};

void export_init(struct export *x, size_t max_text_bytes);
void export_release(struct export *x);

/* Handles the start of element `name`. Its attributes are as libxml2 gives them, five pointers
 * each: the first is the name; the last two are the start and end of the value. Returns 0 if the
 * element is a root that is not an export's, else 1. */
int export_enter(struct export *x, const char *name, const unsigned char **attributes, int count);
void export_leave(struct export *x);

/* Handles text. Returns 0 if it makes a title too long, else 1. */
enum { EXPORT_FIELD_MAX = 1 << 16 /* bytes of a title, an id, ... */ };
int export_text(struct export *x, const char *text, size_t n);

/* Adds a complete page. Takes over its contents, and leaves it empty. */
void export_add(struct export *x, struct dump_page *page);

/* Swaps the next complete page with *page. Returns 1, or 0 if there is none yet. */
int export_take(struct export *x, struct dump_page *page);

/* Where the reader is: outside <mediawiki>, in it but in no page, or in a page. */
enum export_part { EXPORT_OUTSIDE, EXPORT_BETWEEN_PAGES, EXPORT_IN_PAGE };
enum export_part export_part(const struct export *x);

/* Returns the title of the current page, or NULL. */
const char *export_title(const struct export *x);

/* Restarts before the root element. Drops the current page; keeps the site and complete pages. */
void export_restart(struct export *x);

/* Prepares for the next root element after one that has ended: drops the site. All complete pages
 * must have been taken. */
void export_next(struct export *x);
