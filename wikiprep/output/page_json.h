/*
 * page_json.h - writes a page as a JSON object on one line, or as a row of a Parquet file.
 *
 *     {"id": "12", "revid": "345", "url": "https://…?curid=12", "title": "Moon", "text": "…"}
 *
 * These are WikiExtractor's fields; as there, ids are strings. Redirect pages also have "redirect".
 * Other fields are optional:
 *
 *     timestamp   of the revision, as in the dump: "2026-01-01T00:00:00Z"
 *     namespace   a number: 0 for articles
 *     categories  names in the order of the page's source: ["Moons", "Selene"]
 *     redirect    the title of the redirect's target
 *     sections …  the parts of the page (page_parts.h)
 *
 * In a row each field is a string; the default is Wikimedia's id, url, title and text. A value such
 * as a list is JSON. Threads turn pages into rows in memory (page_json_put_row). The thread that
 * writes the file reads the cells of each row (page_json_cells).
 */
#pragma once

#include "common/formats/columns.h"
#include "common/formats/document.h"
#include "wikiprep/site/dump_page.h"
#include "wikiprep/site/page_parts.h"

#define PAGE_JSON_FIELDS     "id,revid,url,title,redirect,text"
#define PAGE_JSON_ROW_FIELDS "id,url,title,text"

enum { PAGE_JSON_FIELDS_MAX = 9 + PAGE_PARTS };

struct page_json_layout {
    unsigned char fields[PAGE_JSON_FIELDS_MAX];
    int count;
    unsigned set; /* the same fields as bits */
};

/* Parses a comma-separated list of field names, each at most once. Returns 0, or -1 with a usage
 * error if a name is unknown or given twice. */
int page_json_layout_parse(struct page_json_layout *layout, const char *list);

/* Returns the name of the layout's i-th field. */
const char *page_json_name(const struct page_json_layout *layout, int i);

/* What the fields are made of. */
struct page_json_source {
    const struct document *document;
    const struct dump_page *page;
    const char *categories; /* one per line */
    const struct page_parts *parts;
};

int page_json_has_categories(const struct page_json_layout *layout);

/* Returns the parts of pages that the layout needs, as bits 1 << PART_LINKS ... */
unsigned page_json_parts(const struct page_json_layout *layout);

/* page_json_put appends the object and an LF. page_json_put_row appends the values of the layout's
 * fields, each with its length in front. */
void page_json_put(struct buf *out, const struct page_json_layout *layout,
                   const struct page_json_source *from);
void page_json_put_row(struct buf *out, const struct page_json_layout *layout,
                       const struct page_json_source *from);

/* Sets cells[0..count) to the values in a row, which must last as long as the cells. */
void page_json_cells(const struct buf *row, struct columns_cell *cells, int count);
