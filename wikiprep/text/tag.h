/*
 * tag.h - the tags that are known; where a tag ends, and where its content ends, also if broken.
 *
 * MediaWiki reads a tag up to the next '>', and its content up to the next closing tag, over any
 * number of paragraphs. Here a broken tag takes nothing past its line, so that one slip of an
 * author does not cost the text after it.
 */
#pragma once

#include "wikiprep/values/span.h"

enum tag_kind {
    TAG_STRIP,      /* formatting: the tag is removed, its content is kept */
    TAG_CODE_STRIP, /* as TAG_STRIP, for code in a line */
    TAG_VANISH,     /* as TAG_STRIP; a list sign after the tag still begins its line */
    TAG_LABEL,      /* as TAG_STRIP; the content, such as a sound's label, is often empty */
    TAG_BLOCK,      /* as TAG_STRIP; the content is on its own lines */
    TAG_DROP,       /* removed with its content, which is no prose: music, maps, galleries */
    TAG_FORMULA,    /* as TAG_DROP, unless formulas are wanted */
    TAG_CODE,       /* as TAG_DROP, unless code is wanted or it is inline code in a sentence */
    TAG_LITERAL,    /* the content is text without markup */
    TAG_PRE,        /* as TAG_LITERAL; the content is on its own lines */
    TAG_POEM,       /* as TAG_BLOCK; its line breaks are kept */
    TAG_HEADING,    /* becomes "\n== text ==\n" */
    TAG_ITEM,       /* as TAG_STRIP with "itemprop", else text */
    TAG_REF,
    TAG_TABLE,
    TAG_ROW, /* row or caption of a table */
    TAG_CELL,
};

/* A tag: the section [tags] of wikiprep/languages/common. */
struct tag_row {
    const char *name;
    enum tag_kind kind;
    int is_opaque; /* 1: its content is no wikitext of the page around it (expand/preprocess.h) */
};
extern const struct tag_row tag_rows[]; /* sorted by name */
extern const size_t tag_rows_count;

/* Returns the tag whose name is at s, in any case, or NULL if there is none. Sets *after to the
 * position after the letters and digits at s. */
const struct tag_row *tag_find(const char *s, const char *end, const char **after);

/* Returns the position after the comment <!-- … --> at s. A comment that is not closed ends with
 * its line, and *no_close is set to 1. If *no_close is 1 already, "-->" is not searched for. */
const char *tag_comment_end(const char *s, const char *end, int *no_close);

/* Returns the '>' that ends the tag whose attributes begin at s, or the place where the tag breaks
 * off: a '<', the end of the text, or a line end after which no attribute follows. */
const char *tag_end(const char *s, const char *end);

/* Returns, for a tag that breaks off at `end`, the position after those attributes name=value at s
 * that are in one line. */
const char *tag_skip_attributes(const char *s, const char *end);

/* Returns the value of the attribute `name` in [s, end), without its quotes, or an empty span. */
struct span tag_attribute(const char *s, const char *end, const char *name);

/* Returns 1 if the attributes in [s, end) say format="wikitext": the content of <pre> is parsed. */
int tag_is_wikitext(const char *s, const char *end);

/* Returns the '<' of the next closing tag </name> in [s, end), and sets *after to the position
 * after its '>'. Returns NULL if the element is not closed: if it begins again on a later line
 * (<nowiki> and <pre>: in a later paragraph), or ends nowhere. Sets *unclosed, which is NULL at
 * first, to that place, and does not search again before it. Case does not matter. */
const char *tag_find_close(const char *s, const char *end, const char *name, const char **after,
                           const char **unclosed);
