/*
 * call.h - template calls, the page that they stand in, and what is done with them. Used by
 * expand/expand.h and template.h, which handle templates, and by wikitext.h and markup.h.
 */
#pragma once

#include "wikiprep/site/page_parts.h"
#include "wikiprep/site/variant.h"
#include "wikiprep/values/span.h"

/* A template call, {{name|first|key=second}}. Inner calls are rendered before outer ones, so the
 * arguments hold the output of the calls and links inside them. The strings do not end with NUL,
 * and may contain the marker bytes of values/marks.h. */
struct wikitext_call {
    struct span name;
    const struct span *arguments; /* "key=second": the template decides whether "key" is a name */
    size_t count;
    int in_sentence; /* 1: it follows a space in its line, as a word does */
};

/* A function that appends the text of a call to `out` and returns 1, or returns 0 if the call has
 * no text or its template is not known. It is not called for {{!}}, which stands for a pipe. */
typedef int (*wikitext_render)(void *ctx, const struct wikitext_call *call, struct buf *out);

struct converter;
struct names;

struct wikitext_options {
    int no_lists, no_headings;
    int formulas;           /* keep the TeX source of <math> */
    int code;               /* keep blocks of code: <syntaxhighlight> */
    int tables;             /* write each table row as a line, with " | " between cells */
    wikitext_render render; /* NULL: templates are dropped */
    void *render_ctx;
    const struct template_page *page; /* borrowed; NULL: "[[../Other]]" is shown as it is */
    struct converter *converter;      /* set by wikitext_new */
    const struct names *names;        /* of the wiki; set by wikitext_new and wikitext_set_site */
    int markdown;      /* 1: write Markdown (markdown.h); tables and formulas are kept */
    struct buf *codes; /* output, for Markdown: blocks of code are added, each language, NUL, code,
                        * NUL; set by wikitext_new */
    struct buf *categories;   /* output: categories, one per line; NULL: not wanted; borrowed */
    struct page_parts *parts; /* output: parts of the page are added; borrowed */
    unsigned wanted;          /* the wanted parts, as bits 1 << PART_LINKS ... */
};

/* The page whose calls are expanded and rendered. It is the ctx argument of template_render.
 * All strings are borrowed; those after `title` may be "", for unknown. */
struct template_page {
    const char *lang;  /* language code of the wiki, "en" */
    const char *title; /* including the namespace */
    const char *id, *revid;
    const char *timestamp;    /* of the revision, "2020-01-31T…" */
    int hatnotes;             /* keep notes such as "Main article: …" */
    int formulas;             /* keep TeX */
    int markdown;             /* mark quotations */
    struct page_parts *parts; /* output: description and coordinates are set; NULL: not wanted */
    const struct variants *variants; /* of the wiki's language; NULL: it has none */
};

/* What is done with a template call. Expansion (expand/expand.h) runs the template's own wikitext.
 * Rendering (template.h) uses the built-in rules. */
enum template_choice {
    TEMPLATE_EXPANDED,       /* expanded only */
    TEMPLATE_GUESSED,        /* has no rule: if it cannot be expanded, rendered by a guess */
    TEMPLATE_EXPANDED_FIRST, /* rendered if it cannot be expanded */
    TEMPLATE_RENDERED,       /* rendered only */
};
