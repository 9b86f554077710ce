/*
 * classic.h - extracts the text of a page exactly as WikiExtractor 3.1.0 does without templates.
 *
 * For corpora that must match or extend corpora made with WikiExtractor. This is a separate cleaner
 * from wikitext.h. It makes other choices, most of which lose text:
 *
 *   - templates, tables, references, lists, and links with a colon in their target are dropped;
 *   - ''x'' is "x"; a heading becomes a sentence of its own, with a period; a heading without text
 *     after it is dropped, unless an indented line follows;
 *   - a line is dropped if it begins with { or |, ends with }, is entirely in parentheses, or has
 *     no letters;
 *   - formulas become formula_1, formula_2 ..., code becomes codice_1 ...
 *
 * Not reproduced: its parser functions (dropped here like templates), and text that it loses
 * because it reads XML line by line.
 */
#pragma once

#include "common/formats/document.h"

/* Working memory for one thread. */
struct classic;
struct classic *classic_new(void);
void classic_free(struct classic *c);

/* Replaces `out` with the lines of text, separated by LF; & < > in them are written as entities. */
void classic_clean(struct classic *c, const char *title, const char *text, size_t n,
                   struct buf *out);

/* Appends the document d to `out`. In its title and text, & < > are already entities. */
void classic_put(struct buf *out, const struct document *d);
