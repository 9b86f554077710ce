/*
 * extract.h - converts one page to its output text, or says why the page is left out.
 *
 *     struct extract *x = extract_new(&how);
 *     if (extract_page(x, site, &page) == EXTRACT_WRITTEN)
 *         sink_write(&sink, &x->bytes);
 *
 * Templates are expanded or rendered, markup is removed, and sections and categories are filtered.
 * The text is then split into sentences, if asked for, and written in the chosen output form. The
 * result depends only on the page, its wiki and `how`.
 */
#pragma once

#include "wikiprep/output/sink.h"
#include "wikiprep/site/dump_page.h"
#include "wikiprep/site/site.h"
#include "wikiprep/text/call.h"

struct library;

/* Options of the conversion. A struct of zeros gives documents of running text only, without lists
 * and headings. */
struct extract_options {
    int lists, headings, hatnotes;
    int formulas, tables, code; /* as in struct wikitext_options */
    int sentences;              /* write one sentence per line; the site's model splits them */
    int markdown;               /* write Markdown; does not set formulas, tables and code */
    int classic;                /* write exactly the text that WikiExtractor writes */
    int filter_disambiguation, filter_categories;
    int64_t min_length; /* in characters; pages with shorter text are left out */
    enum sink_format format;
    struct page_json_layout layout; /* for SINK_JSON and SINK_ROWS */
    struct library *library;        /* borrowed; NULL: render templates, do not expand */
};

/* The result of one page: written, or the reason why it was left out. */
enum extract_result {
    EXTRACT_WRITTEN,
    EXTRACT_NO_TEXT,
    EXTRACT_TOO_SHORT,
    EXTRACT_DISAMBIGUATION,
    EXTRACT_CATEGORY, /* in an unwanted category, or in no wanted one */
    EXTRACT_RESULTS,
};

/* Working memory of one thread, and the result of its last page. */
struct extract {
    struct buf bytes; /* output bytes of the page; empty if left out */
    int is_cut;       /* template expansion reached a limit (expand.h) */

    const struct extract_options *how;
    struct wikitext *cleaner; /* NULL: neither text, parts nor categories come from it */
    struct wikitext *source;  /* for PARTS_OF_SOURCE if templates are expanded, else NULL */
    struct page_parts parts;
    unsigned wanted;           /* bits of the wanted parts (page_json_parts) */
    struct classic *classic;   /* NULL: the text comes from `cleaner` */
    struct expander *expander; /* NULL: templates are not expanded */
    struct template_page page; /* the current page, for its templates */
    struct document document;
    struct buf expanded, text, categories; /* categories: one per line */
};

struct extract *extract_new(const struct extract_options *how); /* `how` is borrowed */
void extract_free(struct extract *x);

/* Converts a page. The output is x->bytes, valid until the next call; empty unless the result is
 * EXTRACT_WRITTEN. */
enum extract_result extract_page(struct extract *x, const struct site *site,
                                 const struct dump_page *page);
