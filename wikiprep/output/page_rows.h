/*
 * page_rows.h - pages as rows of a Parquet file. Each field of the layout is a column of strings;
 * the default is Wikimedia's id, url, title and text. A value such as a list is JSON.
 *
 * Threads turn pages into rows in memory (page_rows_put). The thread that writes the file reads the
 * cells of each row (page_rows_read).
 */
#pragma once

#include "common/formats/columns.h"
#include "wikiprep/output/page_json.h"

#define PAGE_ROWS_FIELDS "id,url,title,text"

/* Appends the values of the layout's fields for a page to `out`, each with its length in front. */
void page_rows_put(struct buf *out, const struct page_json_layout *layout,
                   const struct page_json_source *from);

/* Sets cells[0..count) to the values in a row, which must last as long as the cells. */
void page_rows_read(const struct buf *row, struct columns_cell *cells, int count);
