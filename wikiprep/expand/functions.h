/*
 * functions.h - parser functions and magic words; only for this folder.
 *
 * Each function appends the call's result, or sets `is_refused` if it does not handle this call.
 * The call's `which` selects a variant of the function.
 */
#pragma once

#include "wikiprep/expand/expand_state.h"

typedef void parser_function(struct expander *x, struct function_call *c);

/* Where the value of a magic word without an argument comes from. */
enum word_kind { NO_WORD, WORD_TEXT, WORD_TITLE, WORD_NOW, WORD_REVISION, WORD_WIKI };

/* A parser function, {{name:first|second}}, or a magic word, {{name}}, or both: a row of the
 * section [functions] of wikiprep/languages/common, which explains them. */
struct function_row {
    const char *name;
    parser_function *run; /* NULL: not a function */
    int which;            /* variant; WORD_NOW: 1 drops a leading zero */
    enum word_kind kind;  /* NO_WORD: not a word */
    const char *text;     /* the text of a WORD_TEXT, or the format of a time */
};
extern const struct function_row function_rows[]; /* sorted by name */
extern const size_t function_rows_count;

/* function.c */
enum {
    WIKI_NAME,
    WIKI_LANGUAGE,
    WIKI_SERVER,
    WIKI_HOST,
    WIKI_MARK,
    WIKI_ARTICLES,
    WIKI_PAGES,
    PAGE_ID,
    REVISION_ID
};
parser_function function_wiki_count;

/* function_logic.c: conditions and expressions */
parser_function function_if, function_ifeq, function_iferror, function_ifexist, function_ifexpr,
    function_expr, function_switch;

/* function_text.c: functions that change texts */
enum { TEXT_LOWER, TEXT_UPPER, TEXT_LOWER_FIRST, TEXT_UPPER_FIRST };
enum { PAD_LEFT, PAD_RIGHT };
parser_function function_case, function_pad, function_formatnum, function_plural, function_gender,
    function_grammar, function_tag, function_len, function_pos, function_rpos, function_sub,
    function_count, function_replace, function_explode, function_urldecode, function_urlencode,
    function_anchorencode;

/* function_page.c: functions about pages, titles and the wiki */
enum {
    URL_LOCAL,
    URL_FULL,
    URL_CANONICAL,
    URL_HTML = 4 /* flag: escape for HTML, as fullurle does */
};
parser_function function_title, function_ns, function_url, function_titleparts, function_rel2abs,
    function_language, function_bcp47, function_dir, function_contentmodel, function_isbn,
    function_first, function_int, function_special, function_nothing, function_zero;

/* function_time.c */
parser_function function_formatdate, function_time;

/* function_book.c */
enum { LST_NAMED, LST_HEADING, LST_WITHOUT };
parser_function function_lst;

/* module.c */
parser_function function_invoke;

/* The part of a title that {{PAGENAME}} and similar magic words give. */
enum title_part {
    TITLE_PAGE,
    TITLE_FULL,
    TITLE_BASE,
    TITLE_ROOT,
    TITLE_SUB,
    TITLE_TALK,
    TITLE_SUBJECT,
    TITLE_NAMESPACE,
    TITLE_NAMESPACE_NUMBER,
    TITLE_TALK_SPACE,
    TITLE_SUBJECT_SPACE,
    TITLE_ENCODED = 16, /* flag: encode for a URL */
};
void function_put_title(struct expander *x, const struct title *t, int part);

/* Appends s with character references for characters that could be markup, as MediaWiki does in
 * titles. */
void function_put_escaped(struct expander *x, struct span s);

/* Appends s percent-encoded for a URL ("%C3%A9"). `style` decides how a space is encoded. */
enum url_style { URL_QUERY, URL_WIKI, URL_PATH };
void function_put_encoded(struct expander *x, struct span s, enum url_style style);

/* Appends s with the first `most` occurrences of `what` replaced by `with`, or all if most is < 0.
 * function_count_of returns the number of occurrences. An empty `what` occurs nowhere. */
void function_put_replaced(struct expander *x, struct span s, struct span what, struct span with,
                           int64_t most);
size_t function_count_of(struct span s, struct span what);

/* Appends s with percent-encoding and '+' decoded. */
void function_put_decoded(struct expander *x, struct span s);

/* Appends the time `timestamp` in a format of moment_format (moment.h). For {{CURRENTYEAR}} and
 * similar words, the caller passes the library's date. */
void function_put_time(struct expander *x, const char *format, const char *timestamp);
