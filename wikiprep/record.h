/*
 * record.h - a page as a JSON object, one a line.
 *
 *     {"id": "12", "revid": "345", "url": "https://…?curid=12", "title": "Moon", "text": "…"}
 *
 * These are WikiExtractor's fields, ids as strings as there; "redirect" comes with pages that lead
 * to another, and others by choice:
 *
 *     timestamp   of the revision, as in the dump: "2026-01-01T00:00:00Z"
 *     namespace   a number: 0 is articles
 *     categories  names in the order of the page's source: ["Moons", "Selene"]
 *     redirect    the title that the page leads to
 */
#ifndef TEXTMILL_RECORD_H
#define TEXTMILL_RECORD_H

#include "common/buf.h"
#include "common/document.h"
#include "wikiprep/dump.h"

#define RECORD_FIELDS "id,revid,url,title,redirect,text"

enum { RECORD_FIELDS_MAX = 9 };

struct record_layout {
    unsigned char fields[RECORD_FIELDS_MAX];
    int count;
};

/* Reads a list of fields with commas between, each at most once: -1 where one is not known. */
int record_layout_parse(struct record_layout *layout, const char *list);

int record_has_categories(const struct record_layout *layout);

/* Appends the object, with its LF. `categories`: a line each. */
void record_put(struct buf *out, const struct record_layout *layout, const struct document *d,
                const struct dump_page *page, const char *categories);

#endif
