/*
 * markup.h - the first of two passes over wikitext: removes all markup that does not depend on
 * lines.
 *
 * Removes comments, templates, extension tags, HTML tags, links, character references and behaviour
 * switches, or replaces them by their text. It is one walk with a stack of open elements
 * (MediaWiki's preprocessor builds its tree in the same way:
 * www.mediawiki.org/wiki/Preprocessor_ABNF). The output contains only lines, marks of italics and
 * bold, headings, lists and tables as wikitext, and the marker bytes of values/marks.h. wikitext.c
 * reads it.
 */
#pragma once

#include "wikiprep/site/names.h"
#include "wikiprep/text/call.h"
#include "wikiprep/values/marks.h"

struct markup;

/* `options` is borrowed. A struct markup is for one thread at a time. */
struct markup *markup_new(const struct wikitext_options *options);
void markup_free(struct markup *m);

/* Does the first pass, described at the top of this file, on text[0..n). Replaces the content of
 * out with the result. Time is linear in n for any text. */
void markup_strip(struct markup *m, const char *text, size_t n, struct buf *out);

/* Returns the references of the last text, if they are wanted, and sets *count to their number.
 * Each is two spans of that text: its attributes and its content. */
const struct span *markup_references(const struct markup *m, size_t *count);
