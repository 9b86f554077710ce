/*
 * export.h - the elements of a MediaWiki export, made into pages: what dump.h knows of the format,
 * whatever parses the XML.
 *
 *     <mediawiki xml:lang="en">
 *       <siteinfo> <base>… <namespaces> <namespace key="6">File</namespace> …
 *       <page> <title>… <ns>0</ns> <id>12</id> <redirect title="…"/>
 *         <revision> <id>345</id> <timestamp>… <model>wikitext</model> <text>…
 *
 * The element <date> of <siteinfo> is ours: an export of templates ends with the date of the dump
 * that it was taken from.
 */
#ifndef TEXTMILL_WIKIPREP_INPUT_EXPORT_H
#define TEXTMILL_WIKIPREP_INPUT_EXPORT_H

#include <stddef.h>

#include "wikiprep/site/dump_page.h"

struct export
{
    struct dump_site site; /* whole once a page was taken */
    size_t max_text;       /* bytes: longer texts are left out */
    int is_closed;         /* the root element is */

    /* The element at hand: */
    int place;     /* of those that matter, enum place in export.c */
    unsigned skip; /* depth inside one that does not */
    struct buf field;
    int namespace_key;

    struct dump_page page;     /* the page at hand, with its best revision so far */
    struct dump_page revision; /* the revision at hand */
    int has_ns, has_revision, has_redirect, text_deleted;

    struct dump_page *pages; /* whole pages that wait for export_take: [head, tail) */
    size_t head, tail, cap;
};

void export_init(struct export *x, size_t max_text_bytes);
void export_release(struct export *x);

/* Begin of an element. `attribute` looks up a value by name: its bytes, not terminated, or NULL. 0:
 * it is the root, and not that of an export. */
typedef const char *(*export_attribute)(const void *ctx, const char *name, size_t *len);
int export_enter(struct export *x, const char *name, export_attribute attribute, const void *ctx);
void export_leave(struct export *x);
void export_text(struct export *x, const char *text, size_t n);

/* The next whole page, exchanged for the caller's: 1, or 0 when there is none yet. */
int export_take(struct export *x, struct dump_page *page);

enum export_part { EXPORT_OUTSIDE, EXPORT_BETWEEN_PAGES, EXPORT_IN_PAGE };
enum export_part export_part(const struct export *x);

/* The title of the page at hand, or NULL. */
const char *export_title(const struct export *x);

/* Begins again in front of the root; what is at hand is dropped, the site and whole pages are kept.
 */
void export_restart(struct export *x);

#endif
