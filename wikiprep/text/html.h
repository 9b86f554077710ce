/*
 * html.h - the first pass over a page in HTML, as Parsoid and MediaWiki write it. Like the first
 * pass over wikitext (markup.h), it writes marked text, which wikitext.c reads.
 *
 * The rules of what a reader sees are the same. Left out: references, pictures, elements that are
 * not displayed (visible.h), notes that point to other articles, galleries, blocks of code.
 * Formulas are their source. Elements, classes and attributes: www.mediawiki.org/wiki/Specs/HTML.
 */
#pragma once

#include "wikiprep/text/call.h"

struct html_options {
    const struct wikitext_options *common; /* borrowed */
    /* Is called with the wikitext of a template call, NUL-terminated, that the HTML names: before
     * the first heading, or in a reference that is wanted (`in_reference` 1). NULL: not wanted. */
    void (*on_call)(void *ctx, const char *call, size_t n, int in_reference);
    /* Is called at the end of a reference, with its name, its text as marked text, and its links as
     * JSON. */
    void (*on_reference)(void *ctx, struct span name, struct span text, const char *links);
    void *ctx;
};

/* Replaces `out` with the marked text of the page text[0..n), and adds its parts. Time is linear
 * in n. */
void html_strip(const struct html_options *options, const char *text, size_t n, struct buf *out);
