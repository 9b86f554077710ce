/*
 * page_rows.h - writes pages as rows of a Parquet file. Each field of the layout is a column of
 * strings; the default is Wikimedia's id, url, title and text. A value such as a list is JSON.
 *
 * Threads turn pages into rows in memory (page_rows_put). One thread at a time adds them to the
 * file (page_rows_add).
 */
#pragma once

#include "common/formats/columns.h"
#include "common/formats/document.h"
#include "wikiprep/output/page_json.h"
#include "wikiprep/site/dump_page.h"

#define PAGE_ROWS_FIELDS "id,url,title,text"

/* Appends the values of the layout's fields for a page to `out`, each with its length in front, for
 * page_rows_add. */
void page_rows_put(struct buf *out, const struct page_json_layout *layout,
                   const struct page_json_source *from);

struct page_rows {
    const struct columns *library;
    struct columns_writer *writer;
    int count;
};

/* Begins a file whose bytes are passed to put(ctx, ...). Returns 0, or -1 with an error; the caller
 * calls page_rows_close even then. */
int page_rows_open(struct page_rows *r, const struct page_json_layout *layout, columns_put *put,
                   void *ctx);

/* page_rows_add adds a row that page_rows_put made; page_rows_finish writes the end of the file.
 * Both return 0, or -1 with an error. */
int page_rows_add(struct page_rows *r, const struct buf *row);
int page_rows_finish(struct page_rows *r);
void page_rows_close(struct page_rows *r); /* allowed on a zeroed struct */
