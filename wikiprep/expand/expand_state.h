/*
 * expand_state.h - state shared by expand.c and the parser functions; only for this folder.
 *
 * All expansion appends to x->out, which is used as a stack. To get a text as a value, note
 * x->out.len, expand, read the new bytes, and truncate to the noted length.
 *
 * Text that parser functions must not change (content of <nowiki>, calls left unexpanded) is stored
 * in x->kept. In x->out a mark stands for it: 0x01, six digits (the index in x->kept), 0x01. A page
 * cannot forge a mark: byte 0x01 is dropped from its source, from the output of decoding functions,
 * and where a function cut a mark. A forged one would be harmless: stored text has no marks.
 *
 * The work per page is limited, which limits time and memory: each byte written or stored is
 * counted first (expand_pay). Using a memo (library.h) counts as much work as computing it did. So
 * a page is cut at the same place, whatever pages were expanded before it.
 */
#pragma once

#include "wikiprep/expand/arena.h"
#include "wikiprep/expand/expand.h"
#include "wikiprep/values/span.h"

enum { MARK = PREPROCESS_DROPPED, MARK_BYTES = 8 };

enum {
    DEPTH_MAX = 100,           /* nesting of expansions, and of template calls */
    INCLUDED_MAX = 2048 << 10, /* bytes of included templates per page */
    /* Work limit of a page, in bytes written or stored. A node, a call and a mark count as the
     * numbers of bytes below. */
    WORK_MAX = 48 << 20,
    WORK_NODE = 16,  /* per visited node */
    WORK_CALL = 128, /* per call */
    WORK_MARK = 32,  /* per mark */
};

struct argument {
    struct span name;
    const struct node *part;
    struct argument *next; /* next in the same hash slot */
    int is_known;          /* 1: `value` was computed */
    struct span value;
};

/* One template call that is being expanded, or the page itself. */
struct frame {
    const struct frame *caller; /* the frame whose text contains the call; NULL: this is the page */
    /* the tree of that text, which has the arguments' nodes; NULL: this is no call {{…}} */
    const struct tree *caller_tree;
    struct library_page *page; /* the template; NULL: this is the page */
    uint32_t first;            /* first node of the call's arguments in caller_tree; 0: none */
    struct argument **slots;   /* hash table, its size a power of two; NULL without arguments */
    size_t slot_count, argument_count;
    int depth;
    uint64_t within; /* library_page.bit of this template and of its callers, ORed */
};

struct expander {
    struct library *library;
    const struct dump_site *site;
    const struct library_facts *facts; /* of the library */
    expand_choose *choose;
    struct preprocessor *preprocessor;
    struct arena arena; /* memory that lasts as long as the page */
    struct buf out;
    struct tree tree; /* syntax tree of the page */
    const struct template_page *page;
    struct title title;   /* title of the page */
    struct title scratch; /* scratch title for functions */

    struct span *kept; /* the texts that marks stand for, by number */
    size_t kept_count, kept_cap;

    const struct frame *failed; /* the template call to leave unexpanded, or NULL */
    struct span failed_name;    /* the template name to write in that call */
    int depth;                  /* current nesting of expansions */
    int deepest;
    uint64_t work;   /* work done for the page, up to WORK_MAX */
    int is_spent;    /* the work limit is used up: later calls are left unexpanded */
    int is_cut;      /* a limit was exceeded */
    size_t included; /* bytes of included templates so far */
    uint64_t within; /* library_page.bit of all templates used since it was last reset, ORed */
    /* Counts events that make a result unfit for a memo, such as a dependence on the page. */
    uint64_t special;
    unsigned script_errors; /* script errors on the page; numbers the next one */
};

/* A call of a function: {{name:first|second|…}}. */
struct function_call {
    const struct frame *frame;
    const struct tree *tree;
    struct span first;         /* text after the colon, expanded and trimmed */
    const struct node **parts; /* further arguments: parts[1] is the second */
    int count;                 /* number of arguments, including the first */
    int which;                 /* variant of the function, from its table row (function.c) */
    int is_refused;            /* 1, set by the function: it does not handle this call */
};

/* ---- expansion: results are appended to x->out ---------------------------------------------- */

/* Expand the nodes of the list from `node` on (0: none), or a part (preprocess.h) with its name. */
void expand_nodes(struct expander *x, const struct frame *f, const struct tree *t, uint32_t node);
void expand_part(struct expander *x, const struct frame *f, const struct tree *t,
                 const struct node *part);

/* Expands a call {{…}}. In expand_call.c. */
void expand_call(struct expander *x, const struct frame *f, const struct tree *t,
                 const struct node *call);

/* Returns the page with the title `name`; NULL if there is none. A title without a prefix is in
 * namespace `ns`. Sets x->scratch to the title. */
struct library_page *expand_find_page(struct expander *x, struct span name, int ns);

/* Appends the expansion of the call {{page|…}}, with the arguments that begin at node `first` of t
 * (0: none). Appends an error message if calls are nested too deeply or form a loop. */
void expand_included(struct expander *x, const struct frame *f, const struct tree *t,
                     uint32_t first, struct library_page *page);

/* Inserts a line break at byte `mark` of x->out if a list item or a table begins there, because
 * their markup counts only at the start of a line. */
void expand_begin_line(struct expander *x, size_t mark);

/* Appends the pages of a scanned book that <pages ATTRIBUTES/> names. In function_book.c. */
void expand_book(struct expander *x, const struct frame *f, struct span attributes);

/* Returns the bytes of x->out from `mark` on. */
static inline struct span expand_since(const struct expander *x, size_t mark)
{
    return (struct span){ x->out.data + mark, x->out.len - mark };
}

/* Moves the bytes of x->out from `mark` on into the arena and returns them. */
struct span expand_take(struct expander *x, size_t mark);

/* Returns the expansion of a list of nodes. A single text node is returned without a copy. */
struct span expand_nodes_value(struct expander *x, const struct frame *f, const struct tree *t,
                               uint32_t node);

/* Appends the expanded, trimmed argument i (from 0) of a function; nothing if it was not given. */
void expand_argument(struct expander *x, const struct function_call *c, int i);

/* Returns what expand_argument appends; it lasts as long as the page. */
struct span expand_value(struct expander *x, const struct function_call *c, int i);

/* Removes spaces at both ends of the bytes of x->out from `mark` on. */
void expand_trim(struct expander *x, size_t mark);

/* Counts `work` against the page's limit. Returns 1, or 0 if the limit is used up. expand_stop
 * marks the limit as used up. */
int expand_pay(struct expander *x, uint64_t work);
void expand_stop(struct expander *x);

/* Returns memory that lasts as long as the page, counted as work; NULL if the work limit is used
 * up. */
void *expand_memory(struct expander *x, size_t bytes);

/* Returns a copy of s in memory that lasts as long as the page; empty if the work limit is used
 * up. */
struct span expand_copy(struct expander *x, struct span s);

/* Append s to x->out; nothing if that would exceed the work limit. */
void expand_put(struct expander *x, struct span s);
void expand_puts(struct expander *x, const char *s);

/* Append a mark. expand_keep: a mark for s, which is not copied; marks inside s are not replaced.
 * expand_keep_expanded: a mark for the bytes of x->out from `mark` on, whose own marks are replaced
 * by their texts. expand_hole: a mark for something that was dropped. */
void expand_keep(struct expander *x, struct span s);
void expand_keep_expanded(struct expander *x, size_t mark);
void expand_hole(struct expander *x);

/* Returns the first mark in s; an empty span at the end of s if there is none. */
struct span expand_next_mark(const struct expander *x, struct span s);

/* Returns s without its marks. The result is in the arena, or s itself if it has no marks. */
struct span expand_without_marks(struct expander *x, struct span s);

/* Removes fragments of marks, left by functions that cut text, from x->out starting at `from`. */
void expand_mend_marks(struct expander *x, size_t from);

/* Appends s to `out` with its marks replaced by the texts that they stand for (expand_hole:
 * <ref/>). Returns 1, or 0 if `out` would exceed `room` bytes; the rest of s is then dropped. */
int expand_put_back(const struct expander *x, struct span s, size_t room, struct buf *out);

/* Appends s to x->out, escaped as HTML text. */
void expand_put_html(struct expander *x, struct span s);

/* Appends an error message as MediaWiki formats it: "<strong class="error">…</strong>". */
void expand_error(struct expander *x, const char *why);

/* Handles a call that cannot be expanded: calls expand_give_up or, if that returns 0, chooses the
 * call f. If f is no call {{…}}, or one of a template of which wikiprep knows no text, appends a
 * hole. */
void expand_fail(struct expander *x, const struct frame *f);

/* Chooses a template call to leave unexpanded (x->failed): the innermost one around f, or f itself,
 * that has a rendering (expand_is_rendered). Returns 1, or 0 if none has. */
int expand_give_up(struct expander *x, const struct frame *f);

/* Returns 1 if template.h has a rule for this template, under the page's title or under the title
 * of the English template that the page links; sets *name to that title. Else returns 0. */
int expand_is_rendered(const struct expander *x, const struct library_page *page,
                       struct span *name);

/* Appends a mark for the unexpanded call {{name|…}} with expanded arguments: those from node
 * `first` of t on and, if all of these are named, also those of the call `more` (NULL: none). */
void expand_leave(struct expander *x, const struct frame *f, const struct tree *t, struct span name,
                  uint32_t first, const struct frame *more);

/* Sets the arguments of f from the list of parts that starts at node `first` of its caller_tree. */
void expand_set_arguments(struct expander *x, struct frame *f, uint32_t first);

/* Sets *value to the expanded argument `name` of the template call f. Returns 1, or 0 if it was not
 * given. */
int expand_parameter(struct expander *x, const struct frame *f, struct span name,
                     struct span *value);

/* ---- functions and magic words -------------------------------------------------------------- */

/* Appends the value of the magic word {{NAME}}. Returns 1, or 0 if there is no such word. */
int function_variable(struct expander *x, struct span name);

/* Runs the parser function {{name:…}}. Returns 1, or 0 if there is no such function or it does not
 * handle this call. */
int function_run(struct expander *x, struct span name, struct function_call *c);
