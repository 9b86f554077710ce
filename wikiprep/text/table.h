/*
 * table.h - tables in what markup.h left: where they are, and their cells as text.
 *
 *     {| class="wikitable"
 *     |+ Planets                     Planets
 *     ! Name !! Moons                Name | Moons
 *     |-
 *     | Mars || 2                    Mars | 2
 *     |}
 */
#ifndef TEXTMILL_WIKIPREP_TEXT_TABLE_H
#define TEXTMILL_WIKIPREP_TEXT_TABLE_H

#include <stddef.h>

#include "common/buf.h"

/* A table's extent in the text: [begin, end); end 0: it is not closed. */
struct table_extent {
    size_t begin, end;
};

struct table_extents {
    struct table_extent *items;
    size_t count, cap;
    size_t *open; /* indices of those that are open, while they are looked for */
    size_t open_count, open_cap;
    size_t next; /* the first that the walk has not passed */
};

/* The tables of a text in wikitext's syntax ({| … |}) and in HTML's; both replaced. */
void table_find(const struct buf *text, struct table_extents *wiki, struct table_extents *html);
void table_extents_release(struct table_extents *e);

/* The table that begins at `at`, or NULL. Asked for in rising order. */
const struct table_extent *table_at(struct table_extents *e, size_t at);

/* The first closed table that begins in [from, to), or NULL. Asked for in rising order. */
const struct table_extent *table_in(struct table_extents *e, size_t from, size_t to);

/* Bytes that may stand in front of what a line begins with, markers of lists among them. */
size_t table_indent(const char *s, const char *end);

/* Replaces `out` with the rows of the table s[0..n), and of those in it: a line each, with its LF,
 * and " | " between the cells that have text. */
void table_flatten(struct buf *out, const char *s, size_t n);

#endif
