/*
 * extract.h - what becomes of one page: its text as it is written, or the reason why it is left
 * out.
 *
 *     struct extract *x = extract_new(&how);
 *     if (extract_page(x, site, &page) == EXTRACT_WRITTEN)
 *         sink_write(&sink, &x->bytes);
 *
 * Templates are expanded or rendered, markup is removed, sections and categories are chosen, and
 * the text is split into sentences and put into the form that was asked for. The result depends on
 * the page, its wiki and `how` alone.
 */
#ifndef TEXTMILL_WIKIPREP_EXTRACT_H
#define TEXTMILL_WIKIPREP_EXTRACT_H

#include "common/buf.h"
#include "common/document.h"
#include "wikiprep/output/page_json.h"
#include "wikiprep/site/dump_page.h"
#include "wikiprep/site/site.h"
#include "wikiprep/text/call.h"

struct library;

enum extract_form {
    EXTRACT_DOCUMENTS, /* document.h's */
    EXTRACT_JSON,      /* page_json.h's */
    EXTRACT_TEXT,      /* the text alone */
};

/* How pages become text. Zeroes: documents of prose alone, without lists and headings. */
struct extract_options {
    int lists, headings, hatnotes;
    int formulas, tables; /* as in struct wikitext_options */
    int sentences;        /* one a line, by the site's model */
    int classic;          /* exactly WikiExtractor's text */
    int filter_disambiguation, filter_categories;
    int64_t min_length; /* characters; shorter texts are left out */
    enum extract_form form;
    struct page_json_layout layout; /* of EXTRACT_JSON */
    struct library *library;        /* expands templates; NULL: they are only rendered; borrowed */
};

/* Why a page is left out. */
enum extract_result {
    EXTRACT_WRITTEN,
    EXTRACT_NO_TEXT,
    EXTRACT_TOO_SHORT,
    EXTRACT_DISAMBIGUATION,
    EXTRACT_CATEGORY, /* it is in a category that is not wanted, or in none that is */
    EXTRACT_RESULTS,
};

/* One thread's memory. */
struct extract {
    struct buf bytes; /* the page as it is written; empty where it is left out */
    int is_cut;       /* the expansion of its templates came to a bound (expand.h) */

    const struct extract_options *how;
    struct wikitext *cleaner;       /* NULL: neither its text nor its categories are wanted */
    struct classic *classic;        /* NULL: the cleaner's text is wanted */
    struct expander *expander;      /* NULL: templates are not expanded */
    struct template_page templates; /* what the cleaner's templates know of the page */
    struct document document;
    struct buf expanded, text, categories; /* categories: a line each */
};

struct extract *extract_new(const struct extract_options *how); /* borrowed */
void extract_free(struct extract *x);

enum extract_result extract_page(struct extract *x, const struct site *site,
                                 const struct dump_page *page);

#endif
