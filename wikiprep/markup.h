/*
 * markup.h - the first of two passes over wikitext: everything whose extent does not depend on
 * lines.
 *
 * Comments, templates, extension tags, HTML tags, links, character references and behaviour
 * switches are removed or replaced by what they show, in one walk with a stack of what is open
 * (MediaWiki's preprocessor does the same to build its tree: www.mediawiki.org/wiki/Preprocessor_
 * ABNF). The output is wikitext of lines, quotes, headings, lists and tables, for wikitext.c, with
 * some bytes in it that XML, and so a dump, cannot contain:
 */
#ifndef TEXTMILL_MARKUP_H
#define TEXTMILL_MARKUP_H

#include <stddef.h>

#include "common/buf.h"
#include "wikiprep/wikitext.h"

enum {
    /* 0x01 to 0x08 and 0x0B, 0x0C: characters that must not be read as markup (markup_plain) */
    MARKUP_HOLE = 0x0E,      /* something was dropped here: repair spaces and punctuation */
    MARKUP_BREAK = 0x0F,     /* a new line, from a tag */
    MARKUP_TABLE = 0x10,     /* <table> */
    MARKUP_TABLE_END = 0x11, /* </table> */
    MARKUP_EMPTY = 0x12,     /* nothing, but it parts what stands beside it */
    MARKUP_CELL = 0x13,      /* <td>, <th>, where tables are wanted; else a new line */
    MARKUP_ROW = 0x14,       /* <tr>, <caption>: likewise */
    MARKUP_ASIDE = 0x15,     /* before and after what says nothing by itself: "(in French)" */
};

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
