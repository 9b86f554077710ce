/*
 * markup.h - the first of two passes over wikitext: everything whose extent does not depend on
 * lines.
 *
 * Comments, templates, extension tags, HTML tags, links, character references and behaviour
 * switches are removed or replaced by what they show, in one walk with a stack of what is open
 * (MediaWiki's preprocessor does the same to build its tree: www.mediawiki.org/wiki/Preprocessor_
 * ABNF). The output is wikitext of lines, quotes, headings, lists and tables, for wikitext.c, with
 * the marks of values/marks.h in it.
 */
#ifndef TEXTMILL_WIKIPREP_TEXT_MARKUP_H
#define TEXTMILL_WIKIPREP_TEXT_MARKUP_H

#include <stddef.h>

#include "common/buf.h"
#include "wikiprep/site/names.h"
#include "wikiprep/text/call.h"
#include "wikiprep/values/marks.h"

/* The character that a byte below 0x20 stands for, or 0. */
extern const char markup_plain[32];

struct markup;

/* `names` and `options` are borrowed. One thread at a time. */
struct markup *markup_new(const struct names *names, const struct wikitext_options *options);
void markup_set_names(struct markup *m, const struct names *names); /* borrowed */
void markup_free(struct markup *m);

/* Replaces out. Time is linear in n, whatever the text. */
void markup_strip(struct markup *m, const char *text, size_t n, struct buf *out);

#endif
