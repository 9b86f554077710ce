#define _GNU_SOURCE
#include "wikiprep/expand.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/hash.h"
#include "common/mem.h"
#include "wikiprep/expander.h"

enum {
    DEPTH_MAX = 100,           /* expansions in expansions, and templates in templates */
    INCLUDED_MAX = 2048 << 10, /* bytes of templates, and of arguments, a page */
    WORK_MAX = 32 << 20,       /* nodes visited, and bytes written / 16, a page */
    OUT_MAX = 16 << 20 /* bytes that marks may become */
};

/* ---- the stack ------------------------------------------------------------------------------- */

static struct span from(const struct expander *x, size_t mark)
{
    return (struct span) { x->out.data + mark, x->out.len - mark };
}

/* Takes what was expanded since `mark` off the stack, into the arena. */
static struct span take(struct expander *x, size_t mark)
{
    struct span s = from(x, mark);
    s.s = arena_copy(&x->arena, s.s, s.n);
    x->work += s.n / 16;
    buf_truncate(&x->out, mark);
    return s;
}

static void insert_line_end(struct expander *x, size_t mark)
{
    buf_addc(&x->out, 0);
    memmove(x->out.data + mark + 1, x->out.data + mark, x->out.len - 1 - mark);
    x->out.data[mark] = '\n';
}

/* ---- arguments ------------------------------------------------------------------------------ */

static struct argument *find_argument(const struct frame *f, struct span name)
{
    if (!f->slots)
        return NULL;
    struct argument *a = f->slots[hash_bytes(name.s, name.n) & (f->slot_count - 1)];
    while (a && (a->name.n != name.n || memcmp(a->name.s, name.s, name.n)))
        a = a->next;
    return a;
}

/* The last of those with the same name counts. */
static void set_argument(struct expander *x, struct frame *f, struct span name,
                         const struct node *part)
{
    struct argument *a = find_argument(f, name);
    if (!a) {
        struct argument **slot = &f->slots[hash_bytes(name.s, name.n) & (f->slot_count - 1)];
        a = arena_take(&x->arena, sizeof *a);
        *a = (struct argument) { .name = name, .next = *slot };
        *slot = a;
    }
    a->part = part;
}

/* The nodes as a value: without copying where they are one text. */
static struct span nodes_value(struct expander *x, const struct frame *f, const struct tree *t,
                               uint32_t node)
{
    const struct node *only = node ? &t->nodes[node] : NULL;
    if (!only)
        return (struct span) { "", 0 };
    if (only->kind == NODE_TEXT && !only->next)
        return (struct span) { t->source + only->begin, only->end - only->begin };
    size_t mark = x->out.len;
    expand_nodes(x, f, t, node);
    return take(x, mark);
}

void expand_set_arguments(struct expander *x, struct frame *f, uint32_t first)
{
    const struct tree *t = f->caller_tree;
    size_t count = 0, place = 0;
    for (uint32_t i = first; i; i = t->nodes[i].next)
        count++;
    f->argument_count = count;
    if (!count)
        return;
    for (f->slot_count = 1; f->slot_count < count;)
        f->slot_count *= 2;
    f->slots = arena_take(&x->arena, f->slot_count * sizeof *f->slots);
    memset(f->slots, 0, f->slot_count * sizeof *f->slots);
    for (uint32_t i = first; i; i = t->nodes[i].next) {
        const struct node *part = &t->nodes[i];
        struct span name;
        if (part->flags & NODE_NAMED) {
            name = span_space_trim(nodes_value(x, f->caller, t, part->begin));
        } else {
            char number[24];
            int n = snprintf(number, sizeof number, "%zu", ++place);
            name = (struct span) { arena_copy(&x->arena, number, (size_t)n), (size_t)n };
        }
        set_argument(x, f, name, part);
    }
}

int expand_parameter(struct expander *x, const struct frame *f, struct span name,
                     struct span *value)
{
    struct argument *a = find_argument(f, name);
    if (!a)
        return 0;
    if (!a->is_known) {
        struct span s = nodes_value(x, f->caller, f->caller_tree, a->part->child);
        a->value = a->part->flags & NODE_NAMED ? span_space_trim(s) : s;
        a->is_known = !x->failed;
    }
    *value = a->value;
    return 1;
}

/* {{{name|default}}} */
static void expand_parameter_node(struct expander *x, const struct frame *f, const struct tree *t,
                                  const struct node *node)
{
    const struct node *part = &t->nodes[node->child];
    struct span name = nodes_value(x, f, t, part->child), value;
    if (expand_parameter(x, f, span_space_trim(name), &value)) {
        expand_put(x, value);
    } else if (part->next) {
        expand_part(x, f, t, &t->nodes[part->next]);
    } else {
        expand_puts(x, "{{{");
        expand_put(x, name);
        expand_puts(x, "}}}");
    }
}

/* ---- calls that are left ---------------------------------------------------------------------- */

/* Pipes of s outside of links become {{!}}, so that they part no arguments. */
static void put_argument_text(struct expander *x, size_t begin)
{
    struct span s = from(x, begin);
    if (!memchr(s.s, '|', s.n))
        return;
    s = take(x, begin);
    int depth = 0;
    for (size_t i = 0; i < s.n; i++) {
        int twice = i + 1 < s.n && s.s[i] == s.s[i + 1];
        if (twice && (s.s[i] == '[' || s.s[i] == ']')) {
            depth += s.s[i] == '[' ? 1 : -1;
            buf_addc(&x->out, s.s[i++]);
        }
        if (s.s[i] == '|' && depth <= 0)
            expand_puts(x, "{{!}}");
        else
            buf_addc(&x->out, s.s[i]);
    }
}

/* The call with its arguments expanded, kept aside. */
static void leave_call(struct expander *x, const struct frame *f, const struct tree *t,
                       struct span name, uint32_t first)
{
    size_t mark = x->out.len, place = 0;
    expand_puts(x, "{{");
    expand_put(x, name);
    for (uint32_t i = first; i; i = t->nodes[i].next) {
        const struct node *part = &t->nodes[i];
        expand_puts(x, "|");
        size_t begin = x->out.len;
        if (!(part->flags & NODE_NAMED)) {
            expand_nodes(x, f, t, part->child);
            place++;
            if (memchr(x->out.data + begin, '=', x->out.len - begin)) {
                struct span s = take(x, begin);
                buf_addf(&x->out, "%zu=", place);
                expand_put(x, s);
            }
        } else {
            expand_part(x, f, t, part);
        }
        put_argument_text(x, begin);
    }
    expand_puts(x, "}}");
    expand_keep(x, take(x, mark));
}

static enum expand_choice choose(const struct expander *x, struct span name)
{
    return x->options.choose ? x->options.choose(x->options.ctx, name.s, name.n) : EXPAND_ALONE;
}

static struct span page_name(const struct library_page *page)
{
    return (struct span) { page->title, strlen(page->title) };
}

void expand_fail(struct expander *x, const struct frame *f)
{
    for (const struct frame *outer = f; outer; outer = outer->caller)
        if (outer->page && choose(x, page_name(outer->page)) != EXPAND_ALONE) {
            x->failed = outer;
            return;
        }
    expand_hole(x);
}

/* ---- calls of templates ----------------------------------------------------------------------- */

static int is_within(const struct frame *f, const struct library_page *page)
{
    if (!(f->within & page->bit))
        return 0;
    for (; f; f = f->caller)
        if (f->page == page)
            return 1;
    return 0;
}

/* The page's memo, if it may be used here: nothing that a bound forbids, and no loop. */
static const struct library_memo *usable_memo(const struct expander *x, const struct frame *f)
{
    const struct library_memo *m = atomic_load_explicit(&f->page->memo, memory_order_acquire);
    if (!m || f->argument_count || (m->within & f->caller->within) ||
        x->depth + m->depth > DEPTH_MAX || x->work + m->work > WORK_MAX ||
        x->included + m->included > INCLUDED_MAX)
        return NULL;
    return m;
}

static void use_memo(struct expander *x, const struct library_memo *memo)
{
    buf_add(&x->out, memo->text, memo->n);
    x->work += memo->work;
    x->included += memo->included;
    x->within |= memo->within;
    if (x->depth + memo->depth > x->deepest)
        x->deepest = x->depth + memo->depth;
}

static void expand_page(struct expander *x, struct frame *f)
{
    const struct library_memo *memo = usable_memo(x, f);
    if (memo) {
        use_memo(x, memo);
        return;
    }
    size_t mark = x->out.len, included = x->included;
    uint64_t special = x->special, work = x->work, within = x->within;
    int deepest = x->deepest;
    x->within = f->page->bit;
    x->deepest = x->depth;
    const struct tree *t = library_tree(f->page, x->preprocessor);
    expand_nodes(x, f, t, t->nodes[0].child);
    if (!f->argument_count && x->special == special && !x->failed)
        library_remember(x->library, f->page,
                         (struct library_memo) { .text = x->out.data + mark,
                                                 .n = x->out.len - mark,
                                                 .depth = x->deepest - x->depth,
                                                 .work = x->work - work,
                                                 .included = x->included - included,
                                                 .within = x->within });
    x->within |= within;
    if (deepest > x->deepest)
        x->deepest = deepest;
}

/* Where the bounds on depth, loops or size forbid it, an error is shown, or a hole. */
static void call_page(struct expander *x, const struct frame *f, const struct tree *t,
                     const struct node *call, struct library_page *page)
{
    size_t mark = x->out.len;
    if (f->depth >= DEPTH_MAX || is_within(f, page)) {
        x->special++;
        expand_error(x, "Template loop");
        return;
    }
    struct frame *inner = arena_take(&x->arena, sizeof *inner);
    *inner = (struct frame) { .caller = f,
                              .caller_tree = t,
                              .page = page,
                              .depth = f->depth + 1,
                              .within = f->within | page->bit };
    expand_set_arguments(x, inner, t->nodes[call->child].next);
    if (!x->failed)
        expand_page(x, inner);
    if (x->failed == inner) {
        x->failed = NULL;
        buf_truncate(&x->out, mark);
        leave_call(x, f, t, page_name(page), t->nodes[call->child].next);
    }
    x->included += x->out.len - mark;
    if (x->included > INCLUDED_MAX) {
        buf_truncate(&x->out, mark);
        expand_hole(x);
    }
}

static void call_template(struct expander *x, const struct frame *f, const struct tree *t,
                          const struct node *call, struct span name, struct span spaced)
{
    struct title *title = &x->scratch;
    uint32_t first = t->nodes[call->child].next;
    int readable = title_read(title, x->site, name.s, name.n, LIBRARY_TEMPLATES) &&
                   title->text.len;
    enum expand_choice choice =
        readable && title->ns == LIBRARY_TEMPLATES
            ? choose(x, (struct span) { title->text.data, title->text.len })
            : EXPAND_ALONE;
    struct library_page *page =
        readable && choice != EXPAND_NOT ? library_find(x->library, title) : NULL;
    if (page && choice == EXPAND_ALONE && choose(x, page_name(page)) == EXPAND_NOT) {
        leave_call(x, f, t, page_name(page), first);
    } else if (page) {
        call_page(x, f, t, call, page);
    } else if (choice != EXPAND_ALONE) {
        struct span known = { title->text.data, title->text.len };
        known.s = arena_copy(&x->arena, known.s, known.n);
        leave_call(x, f, t, known, first);
    } else if (readable) {
        expand_fail(x, f);
    } else { /* no call after all */
        expand_puts(x, "{{");
        expand_put(x, spaced);
        for (uint32_t i = first; i; i = t->nodes[i].next) {
            expand_puts(x, "|");
            expand_part(x, f, t, &t->nodes[i]);
        }
        expand_puts(x, "}}");
    }
}

/* ---- calls of functions ----------------------------------------------------------------------- */

static int call_function(struct expander *x, const struct frame *f, const struct tree *t,
                         const struct node *call, struct span name)
{
    const char *colon = memchr(name.s, ':', name.n);
    if (!colon)
        return 0;
    struct span function = { name.s, (size_t)(colon - name.s) };
    struct function_call c = { .frame = f, .tree = t, .count = 1 };
    c.first = span_space_trim((struct span) { colon + 1, name.n - function.n - 1 });
    uint32_t first = t->nodes[call->child].next;
    for (uint32_t i = first; i; i = t->nodes[i].next)
        c.count++;
    c.parts = arena_take(&x->arena, (size_t)c.count * sizeof *c.parts);
    int k = 1;
    for (uint32_t i = first; i; i = t->nodes[i].next)
        c.parts[k++] = &t->nodes[i];
    return function_run(x, function, &c);
}

void expand_argument(struct expander *x, const struct function_call *c, int i)
{
    size_t mark = x->out.len;
    if (i == 0)
        expand_put(x, c->first);
    else if (i < c->count)
        expand_part(x, c->frame, c->tree, c->parts[i]);
    expand_trim(x, mark);
}

struct span expand_value(struct expander *x, const struct function_call *c, int i)
{
    if (i == 0)
        return c->first;
    size_t mark = x->out.len;
    expand_argument(x, c, i);
    return take(x, mark);
}

struct span expand_part_value(struct expander *x, const struct function_call *c, int i)
{
    size_t mark = x->out.len;
    expand_part(x, c->frame, c->tree, c->parts[i]);
    return take(x, mark);
}

static int has_prefix(struct span s, const char *prefix)
{
    size_t n = strlen(prefix);
    return s.n >= n && !strncasecmp(s.s, prefix, n);
}

static void expand_call(struct expander *x, const struct frame *f, const struct tree *t,
                        const struct node *call)
{
    const struct node *part = &t->nodes[call->child];
    struct span spaced = nodes_value(x, f, t, part->child), name = span_space_trim(spaced);
    size_t mark = x->out.len;
    if (x->failed)
        return;
    if (has_prefix(name, "subst:")) { /* is done when a page is saved, not later */
        expand_hole(x);
        return;
    }
    if (has_prefix(name, "safesubst:"))
        name = span_space_trim((struct span) { name.s + 10, name.n - 10 });
    if ((part->next || !function_variable(x, name)) && !call_function(x, f, t, call, name))
        call_template(x, f, t, call, name, spaced);
    if (!(call->flags & NODE_LINE_START) && x->out.len > mark) {
        const char *s = x->out.data + mark;
        if (strchr(":;#*", *s) || (s[0] == '{' && s[1] == '|'))
            insert_line_end(x, mark);
    }
}

/* ---- nodes ------------------------------------------------------------------------------------ */

static void expand_tag(struct expander *x, const struct frame *f, const struct tree *t,
                       const struct node *tag)
{
    const struct node *content = &t->nodes[tag->child];
    struct span whole = { t->source + tag->begin, tag->end - tag->begin };
    if (tag->flags & NODE_REFERENCE) {
        expand_hole(x);
    } else if ((tag->flags & NODE_POEM) && content->end > content->begin) {
        struct tree inner = { 0 };
        size_t mark = x->out.len;
        preprocess(x->preprocessor, &inner, t->source + content->begin,
                   content->end - content->begin, PREPROCESS_PAGE);
        expand_puts(x, "<poem>");
        expand_nodes(x, f, &inner, inner.nodes[0].child);
        expand_puts(x, "</poem>");
        tree_release(&inner);
        expand_keep(x, take(x, mark));
    } else {
        expand_keep(x, whole);
    }
}

/* Whether more may be done for this page. */
static int may_work(struct expander *x)
{
    if (x->failed)
        return 0;
    if (x->depth <= DEPTH_MAX && ++x->work <= WORK_MAX)
        return 1;
    x->special++; /* what is cut short is no memo */
    return 0;
}

void expand_nodes(struct expander *x, const struct frame *f, const struct tree *t, uint32_t node)
{
    x->depth++;
    if (x->depth > x->deepest)
        x->deepest = x->depth;
    for (; node && may_work(x); node = t->nodes[node].next) {
        const struct node *n = &t->nodes[node];
        switch ((enum node_kind)n->kind) {
        case NODE_TEXT:
            expand_put(x, (struct span) { t->source + n->begin, n->end - n->begin });
            break;
        case NODE_CALL:
            expand_call(x, f, t, n);
            break;
        case NODE_PARAMETER:
            expand_parameter_node(x, f, t, n);
            break;
        case NODE_TAG:
            expand_tag(x, f, t, n);
            break;
        case NODE_PART:
            break;
        }
    }
    x->depth--;
}

void expand_part(struct expander *x, const struct frame *f, const struct tree *t,
                 const struct node *part)
{
    if (part->flags & NODE_NAMED) {
        expand_nodes(x, f, t, part->begin);
        expand_puts(x, "=");
    }
    expand_nodes(x, f, t, part->child);
}

/* ---- pages ------------------------------------------------------------------------------------ */

void expand_text(struct expander *x, const struct expand_page *page, const char *text, size_t n,
                 struct buf *out)
{
    struct frame f = { 0 };
    buf_clear(out);
    if (!memchr(text, '{', n) && !memchr(text, '<', n)) {
        buf_add(out, text, n);
        return;
    }
    arena_reset(&x->arena);
    buf_clear(&x->out);
    x->page = page;
    x->kept_count = 0;
    x->failed = NULL;
    x->depth = x->deepest = 0;
    x->work = x->within = x->special = 0;
    x->included = 0;
    size_t len = strlen(page->title);
    if (!title_read(&x->title, x->site, page->title, len, 0)) {
        buf_clear(&x->title.text);
        buf_add(&x->title.text, page->title, len);
    }
    preprocess(x->preprocessor, &x->tree, text, n, PREPROCESS_PAGE);
    x->depth = -1; /* the page itself is no expansion */
    expand_nodes(x, &f, &x->tree, x->tree.nodes[0].child);
    expand_put_back(x, (struct span) { x->out.data, x->out.len }, x->out.len + n + OUT_MAX, out);
}

/* Whether the language is written in several scripts, between which MediaWiki converts. */
static int has_variants(const struct dump_site *site)
{
    struct span code = { site->lang.data, site->lang.len };
    return span_in(code, "zh|sr|sh|kk|ku|gan|tg|uz|crh|iu|shi|tly|ban|wuu|mni");
}

struct expander *expander_new(struct library *library, const struct expand_options *options)
{
    struct expander *x = mem_zalloc(1, sizeof *x);
    x->library = library;
    x->site = library_site(library);
    x->magic = library_magic(library);
    x->options = *options;
    x->preprocessor = preprocessor_new(has_variants(x->site));
    buf_init(&x->out);
    buf_init(&x->title.text);
    buf_init(&x->scratch.text);
    return x;
}

void expander_free(struct expander *x)
{
    if (!x)
        return;
    preprocessor_free(x->preprocessor);
    arena_release(&x->arena);
    buf_release(&x->out);
    buf_release(&x->title.text);
    buf_release(&x->scratch.text);
    tree_release(&x->tree);
    free(x->kept);
    free(x);
}
