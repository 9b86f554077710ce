/*
 * markdown.h - writes paragraphs, headings, lists, quotations, tables, code and formulas as
 * Markdown.
 *
 *     ## Orbit                    a heading, with its level
 *     1\. is a number             text; signs with a meaning in Markdown have a backslash
 *     - item                      lists; those inside others are indented
 *     > quotation
 *     | Name | Day |              a table; its first row is the head
 *     `code`, $x^2$, $$x^2$$      code; a formula; a formula in its own paragraph
 *
 * CommonMark (spec.commonmark.org, 0.31) with the tables of GitHub (github.github.com/gfm). Such a
 * parser reads the same text back; it takes a formula for text between dollars.
 */
#pragma once

#include "wikiprep/values/span.h"

enum { MARKDOWN_DEPTH = 12 }; /* deepest list; deeper items stand at this depth */

/* The state of a page; all but the first two members are 0 at its beginning. */
struct markdown {
    struct buf *out;           /* borrowed */
    const struct buf *codes;   /* struct wikitext_options; borrowed */
    int quotes, quotes_before; /* open quotations: now, and at the block before */
    int in_table;              /* '|' in code and formulas is written with a backslash */
    int depth;                 /* list depth of the block before; 0: it was no list item */
    int widths[MARKDOWN_DEPTH];
};

/* Writes a heading, the plain text [s, s + n). */
void markdown_heading(struct markdown *m, int level, const char *s, size_t n);

/* Writes `lines`, output of paragraph_write, as a paragraph, or as an item of a list with the
 * wikitext signs `signs` ("*", "#:"). Opens and closes quotations. */
void markdown_lines(struct markdown *m, struct span lines, struct span signs);

/* Writes a table. Each row of `rows` ends with NUL; an empty row ends the table. Each cell holds
 * lines of paragraph_write and ends with MARKUP_CELL_END. */
void markdown_table(struct markdown *m, const char *rows);
