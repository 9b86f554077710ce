/*
 * markup_walk.h - what the parts of the walk over wikitext share: markup.c, markup_link.c,
 * markup_brace.c, markup_tag.c; not for others.
 *
 * A handler gets the place in the source where its character stands, puts out what it shows and
 * returns the place behind it.
 */
#ifndef TEXTMILL_WIKIPREP_TEXT_MARKUP_WALK_H
#define TEXTMILL_WIKIPREP_TEXT_MARKUP_WALK_H

#include "wikiprep/site/names.h"
#include "wikiprep/text/markup.h"

/* Links in links (files with captions); deeper ones lose their brackets: keeps the time linear. */
enum { MARKUP_LINKS_MAX = 64 };

enum frame_kind { BRACES, LINK, URL, VARIANT };

struct frame {
    enum frame_kind kind;
    int piped;             /* LINK: past its first pipe */
    enum names_kind names; /* LINK, once piped: what its prefix means */
    size_t count;          /* BRACES: how many are open; URL: 2 for [[http://…]] */
    size_t out;            /* where it begins in the output */
    size_t source;         /* LINK: where its target begins in the source */
    size_t pipe;           /* LINK: where its first pipe is in the source */
    size_t pipes;          /* BRACES: how many pipes were recorded before it */
};

struct markup {
    const struct names *names;
    const struct wikitext_options *options;
    const char *text, *end; /* the source */
    struct buf *out;
    struct frame *stack;
    size_t depth, stack_cap;
    size_t braces, links; /* frames that are braces, and that are not */
    size_t *pipes;        /* where the pipes of open calls are in the output */
    size_t pipe_count, pipes_cap;
    struct wikitext_argument *arguments;
    size_t arguments_cap;
    struct buf rendered;
    unsigned char *no_close; /* per tag: no closing tag is left in the text */
    int no_comment_close;    /* and no "-->" */
    int in_poem;             /* lines stay lines */
};

/* ---- output -------------------------------------------------------------------------------- */

static inline void markup_put(struct markup *m, int c)
{
    buf_addc(m->out, c);
}

/* Text without markup: only character references mean something. A line's end is `line_end`. */
void markup_put_literal(struct markup *m, const char *s, const char *end, int line_end);

/* A hole in place of what was put out since m->out->len was `from`. */
void markup_drop(struct markup *m, size_t from);

/* Removes a piece in the middle of the output. */
void markup_cut(struct buf *out, size_t from, size_t to);

/* ---- the stack ----------------------------------------------------------------------------- */

static inline struct frame *markup_top(struct markup *m)
{
    return m->depth ? &m->stack[m->depth - 1] : NULL;
}

static inline int markup_top_is(const struct markup *m, enum frame_kind kind)
{
    return m->depth && m->stack[m->depth - 1].kind == kind;
}

struct frame *markup_push(struct markup *m, enum frame_kind kind);
void markup_pop(struct markup *m);

/* ---- markup_link.c: [[…]] and [http://…] --------------------------------------------------- */

const char *markup_on_open_bracket(struct markup *m, const char *s);
const char *markup_on_close_bracket(struct markup *m, const char *s);

/* A pipe in the link on top. What is not shown stays in the output until the link is closed. */
void markup_link_pipe(struct markup *m, const char *s);

/* Whether a link to such a thing is text. */
int markup_is_shown(enum names_kind kind);

/* ---- markup_brace.c: {{…}}, {{{…}}} and -{…}- ---------------------------------------------- */

const char *markup_on_open_brace(struct markup *m, const char *s);
const char *markup_on_close_brace(struct markup *m, const char *s);

/* ---- markup_tag.c: <…> --------------------------------------------------------------------- */

const char *markup_on_tag(struct markup *m, const char *s);
size_t markup_tag_count(void); /* for m->no_close */

/* Behind the comments at s, if there are any. */
const char *markup_skip_comments(struct markup *m, const char *s);

#endif
