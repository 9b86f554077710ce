/*
 * wikitext.h - the text of a wiki page, without its markup.
 *
 * Dropped: templates but for those that are rendered (template.h), tables unless they are wanted,
 * references, comments, files, categories, links to other languages, formulas, galleries and other
 * things that are not prose. Kept: paragraphs, headings (of sections that have text), list items,
 * the labels of links, the content of formatting tags. A paragraph, a heading, a list item is one
 * line. Where something was dropped from inside a sentence, spaces and punctuation are repaired:
 * "Paris ({{x}}, y)" is "Paris (y)"; other text stays as it is.
 *
 * Markup that is not closed does not take the rest of the page with it: links end with their
 * paragraph, references, comments and templates with their line, tables at a blank line or heading.
 */
#ifndef TEXTMILL_WIKITEXT_H
#define TEXTMILL_WIKITEXT_H

#include <stddef.h>

#include "common/buf.h"
#include "wikiprep/names.h"
#include "wikiprep/section.h"

/* A template call, {{name|first|key=second}}, innermost first: the arguments hold what the calls
 * and links in them became. The strings are not terminated, and may contain markup.h's bytes. */
struct wikitext_call {
    const char *name;
    size_t name_len;
    const struct wikitext_argument {
        const char *text; /* "key=second" whole: what is a key depends on the template */
        size_t len;
    } * arguments;
    size_t count;
};

/* Appends to `out` what the call shows; 0 when it shows nothing or is not known. {{!}} is not asked
 * for: it is a pipe. */
typedef int (*wikitext_render)(void *ctx, const struct wikitext_call *call, struct buf *out);

struct wikitext_options {
    int no_lists, no_headings;
    int formulas;           /* <math> is its TeX */
    int tables;             /* each row is a line, with " | " between its cells */
    wikitext_render render; /* NULL: templates are dropped */
    void *render_ctx;
    struct buf *categories; /* borrowed: replaced by the page's, a line each; NULL: not wanted */
};

/* Working memory for one thread. `names` is borrowed; options are copied. */
struct wikitext;
struct wikitext *wikitext_new(const struct names *names, const struct wikitext_options *options);
void wikitext_free(struct wikitext *w);

/* Another wiki's names from now on; borrowed. */
void wikitext_set_names(struct wikitext *w, const struct names *names);

/* Which sections to take, and to leave out, from now on; NULL: all, none; borrowed. Subsections go
 * with theirs. */
void wikitext_set_sections(struct wikitext *w, const struct section_list *wanted,
                           const struct section_list *unwanted);

/* Replaces `out` with the lines, LF between them and none at the end. Never fails; time is linear
 * in n, whatever the text. Bytes that are no UTF-8 go through. */
void wikitext_clean(struct wikitext *w, const char *text, size_t n, struct buf *out);

#endif
