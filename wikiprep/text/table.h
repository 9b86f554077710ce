/*
 * table.h - tables in the output of markup.h: finds them, and their rows and cells.
 *
 *     {| class="wikitable"
 *     |+ Planets                     CAPTION Planets
 *     ! Name !! Moons                Name CELL_END Moons
 *     |-
 *     | Mars || 2                    Mars CELL_END 2
 *     |}
 */
#pragma once

#include "common/base/base.h"

/* The bytes [begin, end) of a table in the text. end is 0 if the table is not closed. */
struct table_extent {
    size_t begin, end;
};

struct table_extents {
    struct table_extent *items;
    size_t count, cap;
    size_t *open; /* stack of indices of open tables, used by table_find */
    size_t open_count, open_cap;
    size_t next; /* index of the next table for table_at and table_in */
};

/* Finds all tables in the text. Replaces *wiki with the tables in wikitext syntax ({| … |}) and
 * *html with the HTML tables. */
void table_find(const struct buf *text, struct table_extents *wiki, struct table_extents *html);
void table_extents_release(struct table_extents *e);

/* Returns the table that begins at offset `at`, or NULL. Successive calls must pass rising
 * offsets. */
const struct table_extent *table_at(struct table_extents *e, size_t at);

/* Returns the first closed table that begins in [from, to), or NULL. Successive calls must pass
 * rising offsets. */
const struct table_extent *table_in(struct table_extents *e, size_t from, size_t to);

/* Returns the length of the indent at s: spaces, list markers and marker bytes before the first
 * other character of the line. */
size_t table_indent(const char *s, const char *end);

/* Replaces `out` with the rows of the table s[0..n) and of the tables inside it, as marked text.
 * Each row that has text is a line that ends with LF. MARKUP_CELL_END separates the cells; before
 * the first cell there may be an empty one. A caption is a line that begins with MARKUP_CAPTION.
 * "; " is between the items of a list, or, if `lines` is 1, MARKUP_BREAK is before each. */
void table_flatten(struct buf *out, const char *s, size_t n, int lines);

/* Returns 1 if marked text s[0..n) has more than spaces, apostrophes and marker bytes, else 0. */
int table_has_text(const char *s, size_t n);
