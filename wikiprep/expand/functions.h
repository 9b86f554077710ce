/*
 * functions.h - the parser functions that the table in function.c lists; not for others.
 *
 * Each function appends the call's result and returns 1, or returns 0 if it does not handle this
 * call. `which` selects a variant of the function.
 */
#ifndef TEXTMILL_WIKIPREP_EXPAND_FUNCTIONS_H
#define TEXTMILL_WIKIPREP_EXPAND_FUNCTIONS_H

#include "wikiprep/expand/expand_state.h"

typedef int (*parser_function)(struct expander *x, const struct function_call *c, int which);

/* function_logic.c: conditions and expressions */
int function_if(struct expander *x, const struct function_call *c, int which);
int function_ifeq(struct expander *x, const struct function_call *c, int which);
int function_iferror(struct expander *x, const struct function_call *c, int which);
int function_ifexist(struct expander *x, const struct function_call *c, int which);
int function_ifexpr(struct expander *x, const struct function_call *c, int which);
int function_expr(struct expander *x, const struct function_call *c, int which);
int function_switch(struct expander *x, const struct function_call *c, int which);

/* function_text.c: functions that change texts */
enum { TEXT_LOWER, TEXT_UPPER, TEXT_LOWER_FIRST, TEXT_UPPER_FIRST };
enum { PAD_LEFT, PAD_RIGHT };
int function_case(struct expander *x, const struct function_call *c, int which);
int function_pad(struct expander *x, const struct function_call *c, int which);
int function_formatnum(struct expander *x, const struct function_call *c, int which);
int function_plural(struct expander *x, const struct function_call *c, int which);
int function_gender(struct expander *x, const struct function_call *c, int which);
int function_grammar(struct expander *x, const struct function_call *c, int which);
int function_tag(struct expander *x, const struct function_call *c, int which);
int function_len(struct expander *x, const struct function_call *c, int which);
int function_pos(struct expander *x, const struct function_call *c, int which);
int function_rpos(struct expander *x, const struct function_call *c, int which);
int function_sub(struct expander *x, const struct function_call *c, int which);
int function_count(struct expander *x, const struct function_call *c, int which);
int function_replace(struct expander *x, const struct function_call *c, int which);
int function_explode(struct expander *x, const struct function_call *c, int which);
int function_urldecode(struct expander *x, const struct function_call *c, int which);
int function_urlencode(struct expander *x, const struct function_call *c, int which);
int function_anchorencode(struct expander *x, const struct function_call *c, int which);

/* function_page.c: functions about pages, titles and the wiki */
enum {
    URL_LOCAL,
    URL_FULL,
    URL_CANONICAL,
    URL_HTML = 4 /* flag: escape for HTML, as fullurle does */
};
int function_title(struct expander *x, const struct function_call *c, int which);
int function_ns(struct expander *x, const struct function_call *c, int which);
int function_url(struct expander *x, const struct function_call *c, int which);
int function_titleparts(struct expander *x, const struct function_call *c, int which);
int function_rel2abs(struct expander *x, const struct function_call *c, int which);
int function_language(struct expander *x, const struct function_call *c, int which);
int function_first(struct expander *x, const struct function_call *c, int which);
int function_int(struct expander *x, const struct function_call *c, int which);
int function_special(struct expander *x, const struct function_call *c, int which);
int function_nothing(struct expander *x, const struct function_call *c, int which);
int function_zero(struct expander *x, const struct function_call *c, int which);

/* function_time.c */
int function_formatdate(struct expander *x, const struct function_call *c, int which);
int function_time(struct expander *x, const struct function_call *c, int which);

/* module.c */
int function_invoke(struct expander *x, const struct function_call *c, int which);

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

/* Appends s with percent-encoding and '+' decoded. */
void function_put_decoded(struct expander *x, struct span s);

/* Appends the time `timestamp` in the format `format`, which function_time.c describes. For
 * {{CURRENTYEAR}} and similar words, the caller passes the library's date. */
void function_put_time(struct expander *x, const char *format, const char *timestamp);

#endif
