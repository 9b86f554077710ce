/*
 * expand_state.h - what expand.c shares with the parser functions; not for others.
 *
 * Everything expands to the end of x->out, which works as a stack: who wants a text as a value
 * notes x->out.len, expands, looks, and truncates.
 *
 * What functions must not touch (content of <nowiki>, a call that is left) is kept aside. A mark
 * stands for it in x->out: 0x01, six digits, 0x01. A page cannot make a mark: the byte is dropped
 * from its source, from what functions decode, and where a function cut a mark. A forged one would
 * be harmless: what is kept holds no marks itself.
 *
 * The work for a page is bounded, and with it time and memory: each byte that is written or kept
 * is paid for first (expand_pay). A memo (library.h) costs what it cost when it was made. So a
 * page is cut at the same place whatever was expanded before it.
 */
#ifndef TEXTMILL_WIKIPREP_EXPAND_EXPAND_STATE_H
#define TEXTMILL_WIKIPREP_EXPAND_EXPAND_STATE_H

#include "wikiprep/expand/arena.h"
#include "wikiprep/expand/expand.h"
#include "wikiprep/values/span.h"

enum { MARK = PREPROCESS_DROPPED, MARK_BYTES = 8 };

enum {
    DEPTH_MAX = 100,           /* expansions in expansions, and templates in templates */
    INCLUDED_MAX = 2048 << 10, /* bytes of templates a page */
    WORK_MAX = 48 << 20,       /* a page: bytes that are written and kept, and for each */
    WORK_NODE = 16,            /* node that is visited, */
    WORK_CALL = 128,           /* call, */
    WORK_MARK = 32,            /* and mark */
};

struct argument {
    struct span name;
    const struct node *part;
    struct argument *next; /* with the same hash */
    int is_known;          /* it was asked for: */
    struct span value;
};

/* A template that is being expanded, or the page. */
struct frame {
    const struct frame *caller; /* whose nodes the arguments are; NULL: the page */
    const struct tree *caller_tree;
    struct library_page *page; /* NULL: the page */
    struct argument **slots;   /* a power of two; NULL without arguments */
    size_t slot_count, argument_count;
    int depth;
    uint64_t within; /* bits of this page and its callers */
};

struct expander {
    struct library *library;
    const struct dump_site *site;
    const struct magic *magic;
    struct expand_options options;
    struct preprocessor *preprocessor;
    struct arena arena; /* of the page */
    struct buf out;
    struct tree tree; /* the page's */
    const struct expand_page *page;
    struct title title;   /* the page's */
    struct title scratch; /* for functions */

    struct span *kept; /* what marks stand for */
    size_t kept_count, kept_cap;

    const struct frame *failed; /* the frame that is to be left as a call, or NULL */
    int depth;                  /* of expansions in expansions */
    int deepest;
    uint64_t work;          /* that was done for the page, up to WORK_MAX */
    int is_spent;           /* no more may be done: the rest of the page's calls are left */
    int is_cut;             /* a bound forbade something */
    size_t included;        /* bytes of templates so far */
    uint64_t within;        /* bits of templates since this was last cleared */
    uint64_t special;       /* counts what depends on the page or its place */
    unsigned script_errors; /* of the page; each has a number */
};

/* A call of a function: {{name:first|second|…}}. */
struct function_call {
    const struct frame *frame;
    const struct tree *tree;
    struct span first;         /* what stands behind the colon, expanded and trimmed */
    const struct node **parts; /* the others: parts[1] is the second */
    int count;                 /* with the first */
};

/* ---- expanding to the end of x->out --------------------------------------------------------- */

/* A list of nodes, and a whole part, with its name if it has one. */
void expand_nodes(struct expander *x, const struct frame *f, const struct tree *t, uint32_t node);
void expand_part(struct expander *x, const struct frame *f, const struct tree *t,
                 const struct node *part);

/* {{…}}: expand_call.c. */
void expand_call(struct expander *x, const struct frame *f, const struct tree *t,
                 const struct node *call);

/* Takes what was expanded since `mark` off the stack, into the arena. */
struct span expand_take(struct expander *x, size_t mark);

/* A list of nodes as a value: without copying where they are one text. */
struct span expand_nodes_value(struct expander *x, const struct frame *f, const struct tree *t,
                               uint32_t node);

/* The argument of a function, counted from 0, trimmed; nothing when it was not given. */
void expand_argument(struct expander *x, const struct function_call *c, int i);

/* The same as a value, in the arena. */
struct span expand_value(struct expander *x, const struct function_call *c, int i);

/* And not trimmed. */
struct span expand_part_value(struct expander *x, const struct function_call *c, int i);

/* Leaves of x->out from `mark` on what is not space at its ends; the length. */
size_t expand_trim(struct expander *x, size_t mark);

/* Pays for some work: 1, or 0 when the page's is spent. And spends it all. */
int expand_pay(struct expander *x, uint64_t work);
void expand_stop(struct expander *x);

/* Memory that lasts as long as the page, paid for; NULL when the page's work is spent. */
void *expand_memory(struct expander *x, size_t bytes);

/* A copy in such memory; nothing when the page's work is spent. */
struct span expand_copy(struct expander *x, struct span s);

/* Appends, unless the page's work is spent. */
void expand_put(struct expander *x, struct span s);
void expand_puts(struct expander *x, const char *s);

/* Puts a mark: for s, which is not copied and has no marks that count; for the text on x->out
 * since `mark`, whose marks are resolved; for something that was dropped. */
void expand_keep(struct expander *x, struct span s);
void expand_keep_expanded(struct expander *x, size_t mark);
void expand_hole(struct expander *x);

/* The first mark in s; nothing, at its end, where there is none. */
struct span expand_next_mark(const struct expander *x, struct span s);

/* s without marks, in the arena unless it has none. */
struct span expand_without_marks(struct expander *x, struct span s);

/* Drops pieces of marks that were cut from x->out, from `from` on. */
void expand_mend_marks(struct expander *x, size_t from);

/* Appends s to `out` with its marks resolved: 1, or 0 when `out` would be longer than `room` bytes
 * and the rest of s was dropped. */
int expand_put_back(const struct expander *x, struct span s, size_t room, struct buf *out);

/* Appends s as text of HTML. */
void expand_put_html(struct expander *x, struct span s);

/* What the function may not show, as MediaWiki has it: "<strong class="error">…</strong>". */
void expand_error(struct expander *x, const char *why);

/* A call that cannot be expanded: the innermost template around it that has a rendering is given
 * up for that. Where none has, it shows a hole. */
void expand_fail(struct expander *x, const struct frame *f);

/* The same but for the hole: whether a template is given up. */
int expand_give_up(struct expander *x, const struct frame *f);

/* Gives f the arguments that begin with a node of its caller_tree. */
void expand_set_arguments(struct expander *x, struct frame *f, uint32_t first);

/* A template's argument of f by its name, as a value: 1, or 0 when it was not given. */
int expand_parameter(struct expander *x, const struct frame *f, struct span name,
                     struct span *value);

/* ---- functions and magic words -------------------------------------------------------------- */

/* {{NAME}}: 1 when there is such a word. */
int function_variable(struct expander *x, struct span name);

/* {{name:…}}: 1 when there is such a function and it gave something. */
int function_run(struct expander *x, struct span name, const struct function_call *c);

struct span span_space_trim(struct span s); /* PHP's trim */

#endif
