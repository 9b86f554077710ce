/*
 * page_json.h - a page as a JSON object, one a line.
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
#ifndef TEXTMILL_WIKIPREP_OUTPUT_PAGE_JSON_H
#define TEXTMILL_WIKIPREP_OUTPUT_PAGE_JSON_H

#include "common/buf.h"
#include "common/document.h"
#include "wikiprep/site/dump_page.h"

#define PAGE_JSON_FIELDS "id,revid,url,title,redirect,text"

enum { PAGE_JSON_FIELDS_MAX = 9 };

struct page_json_layout {
    unsigned char fields[PAGE_JSON_FIELDS_MAX];
    int count;
};

/* Reads a list of fields with commas between, each at most once: -1 where one is not known. */
int page_json_layout_parse(struct page_json_layout *layout, const char *list);

int page_json_has_categories(const struct page_json_layout *layout);

/* Appends the object, with its LF. `categories`: a line each. */
void page_json_put(struct buf *out, const struct page_json_layout *layout, const struct document *d,
                   const struct dump_page *page, const char *categories);

#endif
