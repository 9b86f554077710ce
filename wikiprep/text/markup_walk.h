/*
 * markup_walk.h - declarations shared by markup.c, markup_link.c, markup_brace.c and markup_tag.c;
 * private to them.
 *
 * A handler gets the position of its character in the source, writes the output for it and returns
 * the position after the markup it has read.
 */
#pragma once

#include "wikiprep/site/names.h"
#include "wikiprep/text/markup.h"

/* The greatest depth of nested links (files with captions). Deeper links only lose their brackets.
 * The limit keeps the time linear. */
enum { MARKUP_LINKS_MAX = 64 };

enum element_kind { BRACES, LINK, URL, VARIANT };

struct element {
    enum element_kind kind;
    int piped;             /* LINK: its first pipe has been read */
    int is_broken;         /* LINK: another link, not a file, is in it */
    enum names_kind names; /* LINK after its first pipe: the kind of its prefix */
    size_t count; /* BRACES: number of open braces; URL: number of brackets, 2 for [[http://…]] */
    size_t out;   /* offset of its start in the output */
    size_t label; /* URL: output offset after the address that the source has */
    size_t source; /* offset in the source; LINK: of its target; URL: after its address */
    size_t pipe;   /* LINK: offset of its first pipe in the source */
    size_t pipes;  /* value of markup.pipe_count when the element was pushed */
    size_t target; /* LINK after its first pipe: offset of its target in markup.targets */
};

struct markup {
    const struct wikitext_options *options;
    const char *text, *end; /* the source */
    struct buf *out;
    struct element *stack;
    size_t depth, stack_cap;
    size_t braces, links; /* number of elements of kind BRACES, and of other kinds */
    size_t brackets;      /* in this line: '[' before those that begin a link */
    size_t *pipes;        /* output offsets of the pipes of open calls */
    size_t pipe_count, pipes_cap;
    struct span *arguments;
    size_t arguments_cap;
    struct buf rendered;
    const char **unclosed;   /* per tag: elements that begin before this are not closed; or NULL */
    int no_comment_close;    /* 1 if the rest of the text has no "-->" */
    size_t heading;          /* output offset of the text of an open <h2>; 0: none is open */
    int heading_level;       /* its level: 2 for <h2> */
    int in_poem;             /* inside <poem>: keep line breaks */
    uint64_t arranges;       /* bits of the open <table>, the last in bit 0: 1 if no real table */
    int in_gallery;          /* the text is a line of a gallery: its caption may be one word */
    int in_lead;             /* before the first heading */
    struct span *references; /* attributes and content of each reference with content, if wanted */
    size_t reference_count, references_cap;
    struct buf targets; /* targets of links, each with NUL, if links are wanted */
};

/* Returns 1 if this part of the page is wanted, else 0. */
static inline int markup_wants(const struct markup *m, enum page_part part)
{
    return m->options->wanted >> part & 1;
}

/* ---- output -------------------------------------------------------------------------------- */

static inline void markup_put(struct markup *m, int c)
{
    buf_addc(m->out, c);
}

/* Writes text that contains no markup; only character references are decoded. Each line feed is
 * written as the byte `line_end`. */
void markup_put_literal(struct markup *m, const char *s, const char *end, int line_end);

/* Writes the character of the character reference at s; in an address, a character that would end
 * it as its code, "%5B". Returns the position after the reference, or the '&' if it is none. */
const char *markup_on_reference(struct markup *m, const char *s);

/* Returns the output from offset `from` on. */
static inline struct span markup_since(const struct markup *m, size_t from)
{
    return (struct span){ m->out->data + from, m->out->len - from };
}

/* Replaces the output from offset `from` on with MARKUP_HOLE. */
void markup_drop(struct markup *m, size_t from);

/* ---- the stack ----------------------------------------------------------------------------- */

static inline struct element *markup_top(struct markup *m)
{
    return m->depth ? &m->stack[m->depth - 1] : NULL;
}

static inline int markup_top_is(const struct markup *m, enum element_kind kind)
{
    return m->depth && m->stack[m->depth - 1].kind == kind;
}

struct element *markup_push(struct markup *m, enum element_kind kind);
void markup_pop(struct markup *m);

/* ---- markup_link.c: [[…]] and [http://…] --------------------------------------------------- */

const char *markup_on_open_bracket(struct markup *m, const char *s);
const char *markup_on_close_bracket(struct markup *m, const char *s);

/* Handles the first pipe of the link on top of the stack. If the link's label is shown, its target
 * is removed from the output. Otherwise the target stays in the output until the link is closed. */
void markup_link_pipe(struct markup *m, const char *s);

/* Returns 1 if the label of a link whose prefix has this kind is part of the text, else 0. */
int markup_is_shown(enum names_kind kind);

/* Returns 1 in a link's label that is shown, where pipes and addresses are text; else 0. */
int markup_in_label(struct markup *m);

/* ---- markup_brace.c: {{…}}, {{{…}}} and -{…}- ---------------------------------------------- */

const char *markup_on_open_brace(struct markup *m, const char *s);
const char *markup_on_close_brace(struct markup *m, const char *s);

/* ---- markup_tag.c: <…> --------------------------------------------------------------------- */

const char *markup_on_tag(struct markup *m, const char *s);

/* Returns the position after the comments that begin at s, or s if there are none. */
const char *markup_skip_comments(struct markup *m, const char *s);
