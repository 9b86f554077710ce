/*
 * call.h - a template call in a page, and the options for reading a page. Shared by wikitext.h,
 * markup.h and template.h.
 */
#ifndef TEXTMILL_WIKIPREP_TEXT_CALL_H
#define TEXTMILL_WIKIPREP_TEXT_CALL_H

#include <stddef.h>

#include "common/buf.h"

/* A template call, {{name|first|key=second}}. Inner calls are rendered before outer ones, so the
 * arguments hold the output of the calls and links inside them. The strings do not end with NUL,
 * and may contain the marker bytes of values/marks.h. */
struct wikitext_call {
    const char *name;
    size_t name_len;
    const struct wikitext_argument {
        const char *text; /* the whole argument, "key=second"; the template decides whether "key" is
                           * a name */
        size_t len;
    } * arguments;
    size_t count;
};

/* A function that appends the text of a call to `out` and returns 1, or returns 0 if the call has
 * no text or its template is not known. It is not called for {{!}}, which stands for a pipe. */
typedef int (*wikitext_render)(void *ctx, const struct wikitext_call *call, struct buf *out);

struct wikitext_options {
    int no_lists, no_headings;
    int formulas;           /* keep the TeX source of <math> */
    int tables;             /* write each table row as a line, with " | " between cells */
    wikitext_render render; /* NULL: templates are dropped */
    void *render_ctx;
    struct buf *categories; /* output: categories, one per line; NULL: not wanted; borrowed */
};

/* The page whose calls are rendered. It is the ctx argument of template_choose and
 * template_render. */
struct template_page {
    const char *lang;  /* language code of the wiki, "en"; borrowed */
    const char *title; /* title of the page; borrowed */
    const char *date;  /* date of the revision, "2020-01-31…"; NULL: unknown; borrowed */
    int hatnotes;      /* keep notes such as "Main article: …" */
};

#endif
