/*
 * classic.h - the text of a page as WikiExtractor 3.1.0 writes it, without templates.
 *
 * For corpora that are to be comparable with what was made of other dumps, or to be continued. It
 * is another cleaner than wikitext.h, with other choices, most of which lose text:
 *
 *   - templates, tables, references, lists, and links with a colon in their target are dropped;
 *   - ''x'' is "x"; a heading is a sentence of its own, with a period; what has no text after it
 *     goes, unless a line with an indent follows;
 *   - lines are dropped that begin with { or |, end with }, are in parentheses as a whole, or have
 *     no letters;
 *   - formulas are formula_1, formula_2 ..., code is codice_1 ...
 *
 * Not reproduced are its parser functions (dropped here like templates) and what it loses by
 * reading XML line by line.
 */
#ifndef TEXTMILL_WIKIPREP_CLASSIC_CLASSIC_H
#define TEXTMILL_WIKIPREP_CLASSIC_CLASSIC_H

#include <stddef.h>

#include "common/buf.h"
#include "common/document.h"

/* Working memory for one thread. */
struct classic;
struct classic *classic_new(void);
void classic_free(struct classic *c);

/* Replaces `out` with the lines, LF between them; & < > in them are entities. */
void classic_clean(struct classic *c, const char *title, const char *text, size_t n,
                   struct buf *out);

/* Appends a document whose title and text have their entities already. */
void classic_put(struct buf *out, const struct document *d);

/* A title with its & < > " as entities, as dumps have it. */
void classic_put_title(struct buf *out, const char *title, size_t n);

#endif
