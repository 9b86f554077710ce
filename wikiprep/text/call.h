/*
 * call.h - a template call inside a page, and how a page is to be read: what wikitext.h, markup.h
 * and template.h agree on.
 */
#ifndef TEXTMILL_WIKIPREP_TEXT_CALL_H
#define TEXTMILL_WIKIPREP_TEXT_CALL_H

#include <stddef.h>

#include "common/buf.h"

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

/* The page whose calls are rendered: the ctx of template_choose and template_render. */
struct template_page {
    const char *lang;  /* of the wiki: "en"; borrowed */
    const char *title; /* of the page; borrowed */
    const char *date;  /* of the page's revision, "2020-01-31…"; NULL: not known; borrowed */
    int hatnotes;      /* show "Main article: …" and its kin */
};

#endif
