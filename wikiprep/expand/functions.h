/*
 * functions.h - the parser functions, as function.c's table has them; not for others.
 *
 * Each appends what the call shows and returns 1, or 0 when it is none of its calls after all.
 */
#ifndef TEXTMILL_WIKIPREP_EXPAND_FUNCTIONS_H
#define TEXTMILL_WIKIPREP_EXPAND_FUNCTIONS_H

#include "wikiprep/expand/expand_state.h"

typedef int (*parser_function)(struct expander *x, const struct function_call *c, int which);

/* function_logic.c: those that choose */
int function_if(struct expander *x, const struct function_call *c, int which);
int function_ifeq(struct expander *x, const struct function_call *c, int which);
int function_iferror(struct expander *x, const struct function_call *c, int which);
int function_ifexist(struct expander *x, const struct function_call *c, int which);
int function_ifexpr(struct expander *x, const struct function_call *c, int which);
int function_expr(struct expander *x, const struct function_call *c, int which);
int function_switch(struct expander *x, const struct function_call *c, int which);

/* function_text.c: those that change texts */
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

/* function_page.c: those about pages, titles and the wiki */
enum { URL_LOCAL, URL_FULL, URL_CANONICAL, URL_HTML = 4 /* escaped: fullurle */ };
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

/* What {{PAGENAME}} and its kin tell of a title. */
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
    TITLE_ENCODED = 16, /* a flag: as in an address */
};
void function_put_title(struct expander *x, const struct title *t, int part);

/* Appends s with character references for what could be markup, as MediaWiki writes titles. */
void function_put_escaped(struct expander *x, struct span s);

/* Appends s as it stands in an address: "%C3%A9"; `style`: what a space becomes. */
enum url_style { URL_QUERY, URL_WIKI, URL_PATH };
void function_put_encoded(struct expander *x, struct span s, enum url_style style);

/* And back: "%C3%A9" and '+'. */
void function_put_decoded(struct expander *x, struct span s);

/* {{CURRENTYEAR}} and its kin: a format of function_time.c, of the library's date. */
void function_put_time(struct expander *x, const char *format, const char *timestamp);

#endif
