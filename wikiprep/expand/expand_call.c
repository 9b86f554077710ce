/* Expands one {{…}} for expand.h: finds out whether it calls a page, a parser function or a magic
 * word, and appends the result. */
#include <strings.h>

#include "wikiprep/expand/expand_state.h"
#include "wikiprep/expand/functions.h"

enum { GROWTH_MAX = 6 }; /* most output bytes per input byte: '"' becomes "&quot;" */

/* ---- calls left unexpanded ------------------------------------------------------------------- */

/* Replaces pipes outside links by {{!}} in x->out, from byte `begin` on, so that they do not
 * separate arguments. */
static void put_argument_text(struct expander *x, size_t begin)
{
    if (!memchr(x->out.data + begin, '|', x->out.len - begin))
        return;
    struct span s = expand_take(x, begin);
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

/* Appends a pipe and the expanded argument, for each argument from node `first` of t on. A text
 * with '=' would be read as a named argument, so it gets its number as its name. The arguments
 * after it get theirs, too: without a number they would be counted from its place on. */
static void put_arguments(struct expander *x, const struct frame *f, const struct tree *t,
                          uint32_t first)
{
    size_t place = 0;
    int is_numbered = 0;
    for (uint32_t i = first; i; i = t->nodes[i].next) {
        const struct node *part = &t->nodes[i];
        expand_puts(x, "|");
        size_t begin = x->out.len;
        if (!(part->flags & NODE_NAMED)) {
            expand_nodes(x, f, t, part->child);
            place++;
            is_numbered |= memchr(x->out.data + begin, '=', x->out.len - begin) != NULL;
            if (is_numbered) {
                struct span s = expand_take(x, begin);
                buf_addf(&x->out, "%zu=", place);
                expand_put(x, s);
            }
        } else {
            expand_part(x, f, t, part);
        }
        put_argument_text(x, begin);
    }
}

static int has_places(const struct tree *t, uint32_t first)
{
    while (first && t->nodes[first].flags & NODE_NAMED)
        first = t->nodes[first].next;
    return first != 0;
}

void expand_leave(struct expander *x, const struct frame *f, const struct tree *t, struct span name,
                  uint32_t first, const struct frame *more)
{
    size_t mark = x->out.len;
    expand_puts(x, "{{");
    expand_put(x, name);
    put_arguments(x, f, t, first);
    if (more && more->caller && !has_places(t, first))
        put_arguments(x, more->caller, more->caller_tree, more->first);
    expand_puts(x, "}}");
    expand_keep_expanded(x, mark);
}

int expand_is_rendered(const struct expander *x, const struct library_page *page, struct span *name)
{
    static const char link[] = "[[en:Template:";
    enum { SEARCHED = 2000 }; /* only so many bytes at the page's end; keeps the time linear */
    *name = span_of(page->title);
    if (x->choose(x->page, *name) > TEMPLATE_GUESSED)
        return 1;
    const char *end = page->text + page->n;
    const char *s = page->n > SEARCHED ? end - SEARCHED : page->text;
    s = memmem(s, (size_t)(end - s), link, sizeof link - 1);
    if (!s)
        return 0;
    s += sizeof link - 1;
    const char *close = memchr(s, ']', (size_t)(end - s));
    *name = span_between(s, close ? close : s);
    return name->n && x->choose(x->page, *name) > TEMPLATE_GUESSED;
}

/* Returns 1 if f is a call {{…}}, which can be left unexpanded. Returns 0 for the page itself, and
 * for a part of another page that function_book.c inserts. */
static int is_call(const struct frame *f)
{
    return f->page && f->caller_tree;
}

int expand_give_up(struct expander *x, const struct frame *f)
{
    for (const struct frame *outer = f; outer; outer = outer->caller)
        if (is_call(outer) && expand_pay(x, WORK_NODE) &&
            expand_is_rendered(x, outer->page, &x->failed_name)) {
            x->failed = outer;
            return 1;
        }
    return 0;
}

void expand_fail(struct expander *x, const struct frame *f)
{
    if (expand_give_up(x, f))
        return;
    if (!is_call(f) || x->choose(x->page, span_of(f->page->title)) == TEMPLATE_EXPANDED) {
        expand_hole(x);
    } else {
        x->failed = f;
        x->failed_name = span_of(f->page->title);
    }
}

/* ---- calls of templates ---------------------------------------------------------------------- */

static int is_within(const struct frame *f, const struct library_page *page)
{
    if (!(f->within & page->bit))
        return 0;
    for (; f; f = f->caller)
        if (f->page == page)
            return 1;
    return 0;
}

/* Returns the memo of f->page (library.h) if the call may use it: it has no arguments, no limit
 * would be exceeded, and no template in the memo is already being expanded. Else returns NULL. */
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
    if (t->is_cut)
        x->is_cut = 1, x->special++; /* a truncated result must not become a memo */
    expand_nodes(x, f, t, t->nodes[0].child);
    if (!f->argument_count && x->special == special && !x->failed)
        library_remember(x->library, f->page,
                         (struct library_memo){ .text = x->out.data + mark,
                                                .n = x->out.len - mark,
                                                .depth = x->deepest - x->depth,
                                                .work = x->work - work,
                                                .included = x->included - included,
                                                .within = x->within });
    x->within |= within;
    if (deepest > x->deepest)
        x->deepest = deepest;
}

/* Appends MediaWiki's error for a template that calls itself (`page`), or, if page is NULL, for
 * calls nested too deeply. */
static void put_loop_error(struct expander *x, const struct library_page *page)
{
    x->special++;
    expand_puts(x, "<span class=\"error\">Template ");
    if (page) {
        expand_puts(x, "loop detected: [[");
        buf_adds(&x->out, dump_namespace_name(x->site, page->ns));
        expand_puts(x, page->ns ? ":" : "");
        expand_put(x, span_of(page->title));
        expand_puts(x, "]]");
    } else {
        buf_addf(&x->out, "recursion depth limit exceeded (%d)", DEPTH_MAX);
    }
    expand_puts(x, "</span>");
}

/* Adds the size of a template's text (x->out from `mark` on) to the page's total. Text of nested
 * calls counts at each level. If the total exceeds the limit, expansion stops after this template.
 * A text that exceeds the limit by itself is dropped. */
static void count_included(struct expander *x, size_t mark)
{
    size_t n = x->out.len - mark;
    x->included += n;
    if (n > INCLUDED_MAX) {
        buf_truncate(&x->out, mark);
        expand_hole(x);
    }
    if (x->included > INCLUDED_MAX && !x->is_spent)
        expand_stop(x);
}

void expand_included(struct expander *x, const struct frame *f, const struct tree *t,
                     uint32_t first, struct library_page *page)
{
    size_t mark = x->out.len;
    if (f->depth >= DEPTH_MAX || is_within(f, page)) {
        put_loop_error(x, f->depth >= DEPTH_MAX ? NULL : page);
        return;
    }
    struct frame *inner = expand_memory(x, sizeof *inner);
    if (!inner)
        return;
    *inner = (struct frame){ .caller = f,
                             .caller_tree = t,
                             .page = page,
                             .depth = f->depth + 1,
                             .within = f->within | page->bit };
    expand_set_arguments(x, inner, first);
    if (!x->failed)
        expand_page(x, inner);
    if (x->failed == inner) {
        x->failed = NULL;
        buf_truncate(&x->out, mark);
        expand_leave(x, f, t, x->failed_name, inner->first, NULL);
    }
    count_included(x, mark);
}

/* Returns the full name for the relative names "{{/Sub}}" and "{{../Beside}}", which are relative
 * to the title of the page. Returns other names unchanged. */
static struct span absolute(struct expander *x, struct span name)
{
    size_t up = 0;
    if (!title_has_subpages(x->site, x->title.ns))
        return name;
    struct span rest = name;
    while (bytes_begin(rest.s, rest.n, "../"))
        rest.s += 3, rest.n -= 3, up++;
    int below = rest.n && *rest.s == '/' && !up;
    if (!below && !up)
        return name;
    x->special++;
    while (rest.n && rest.s[rest.n - 1] == '/')
        rest.n--;
    while (below && rest.n && *rest.s == '/')
        rest.s++, rest.n--;
    size_t mark = x->out.len;
    title_put(x->site, &x->title, &x->out);
    for (; up; up--) {
        const char *slash = memrchr(x->out.data + mark, '/', x->out.len - mark);
        if (!slash)
            break;
        buf_truncate(&x->out, (size_t)(slash - x->out.data));
    }
    rest = span_trim_space(rest);
    if (rest.n) {
        expand_puts(x, "/");
        expand_put(x, rest);
    }
    struct span full = expand_take(x, mark);
    return up ? name : full; /* too many "../" */
}

/* Appends the call itself as text, with its arguments expanded. */
static void put_call(struct expander *x, const struct frame *f, const struct tree *t,
                     struct span name, uint32_t first)
{
    expand_puts(x, "{{");
    expand_put(x, name);
    for (uint32_t i = first; i; i = t->nodes[i].next) {
        expand_puts(x, "|");
        expand_part(x, f, t, &t->nodes[i]);
    }
    expand_puts(x, "}}");
}

struct library_page *expand_find_page(struct expander *x, struct span name, int ns)
{
    int is_title = title_read(&x->scratch, x->site, name.s, name.n, ns) && x->scratch.text.len;
    return is_title ? library_find(x->library, &x->scratch) : NULL;
}

/* Expands {{msgnw:page}}: appends the page's source, escaped so that it is not markup. */
static void call_source(struct expander *x, const struct frame *f, struct span name)
{
    struct library_page *page = expand_find_page(x, name, LIBRARY_TEMPLATES);
    if (!page)
        expand_fail(x, f);
    else if (expand_pay(x, GROWTH_MAX * page->n))
        function_put_escaped(x, (struct span){ page->text, page->n });
}

static void call_template(struct expander *x, const struct frame *f, const struct tree *t,
                          const struct node *call, struct span name, struct span spaced)
{
    struct title *title = &x->scratch;
    uint32_t first = t->nodes[call->child].next;
    name = absolute(x, name);
    int readable = title_read(title, x->site, name.s, name.n, LIBRARY_TEMPLATES) && title->text.len;
    enum template_choice choice = readable && title->ns == LIBRARY_TEMPLATES
                                      ? x->choose(x->page, span_of_buf(&title->text))
                                      : TEMPLATE_EXPANDED;
    struct library_page *page = readable && choice != TEMPLATE_RENDERED
                                    ? library_find(x->library, title)
                                    : NULL;
    if (page && choice <= TEMPLATE_GUESSED &&
        x->choose(x->page, span_of(page->title)) == TEMPLATE_RENDERED) {
        expand_leave(x, f, t, span_of(page->title), first, NULL);
    } else if (page) {
        expand_included(x, f, t, first, page);
    } else if (choice > TEMPLATE_GUESSED) {
        expand_leave(x, f, t, expand_copy(x, span_of_buf(&title->text)), first, NULL);
    } else if (readable && title->ns != LIBRARY_TEMPLATES) { /* perhaps not in the library */
        expand_fail(x, f);
    } else if (readable && !expand_give_up(x, f)) {
        if (choice == TEMPLATE_GUESSED) {
            expand_leave(x, f, t, expand_copy(x, span_of_buf(&title->text)), first, NULL);
        } else { /* as in MediaWiki, a link to the missing page */
            expand_puts(x, "[[:");
            title_put(x->site, title, &x->out);
            expand_puts(x, "]]");
        }
    } else if (!readable) { /* not a valid call */
        put_call(x, f, t, spaced, first);
    }
}

/* ---- calls of functions ---------------------------------------------------------------------- */

/* Runs a parser function and appends its result, without fragments of marks. Returns 1, or 0 if
 * `name` is not a function call. */
static int call_function(struct expander *x, const struct frame *f, const struct tree *t,
                         const struct node *call, struct span name)
{
    size_t mark = x->out.len;
    const char *colon = memchr(name.s, ':', name.n);
    if (!colon)
        return 0;
    struct span function = { name.s, (size_t)(colon - name.s) };
    struct function_call c = { .frame = f, .tree = t, .count = 1 };
    c.first = span_trim_space((struct span){ colon + 1, name.n - function.n - 1 });
    uint32_t first = t->nodes[call->child].next;
    for (uint32_t i = first; i; i = t->nodes[i].next)
        c.count++;
    c.parts = expand_memory(x, (size_t)c.count * sizeof *c.parts);
    if (!c.parts || !expand_pay(x, GROWTH_MAX * c.first.n))
        return 1;
    int k = 1;
    for (uint32_t i = first; i; i = t->nodes[i].next)
        c.parts[k++] = &t->nodes[i];
    if (!function_run(x, function, &c))
        return 0;
    expand_mend_marks(x, mark);
    return 1;
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
    return expand_take(x, mark);
}

void expand_begin_line(struct expander *x, size_t mark)
{
    const char *s = x->out.data + mark;
    if (x->out.len == mark || !(strchr(":;#*", *s) || (s[0] == '{' && s[1] == '|')))
        return;
    buf_addc(&x->out, 0);
    memmove(x->out.data + mark + 1, x->out.data + mark, x->out.len - 1 - mark);
    x->out.data[mark] = '\n';
}

static int drop_prefix(struct span *s, const char *prefix)
{
    size_t n = strlen(prefix);
    if (s->n < n || strncasecmp(s->s, prefix, n))
        return 0;
    *s = span_trim_space((struct span){ s->s + n, s->n - n });
    return 1;
}

void expand_call(struct expander *x, const struct frame *f, const struct tree *t,
                 const struct node *call)
{
    const struct node *part = &t->nodes[call->child];
    struct span spaced = expand_nodes_value(x, f, t, part->child), name = span_trim_space(spaced);
    size_t mark = x->out.len;
    if (x->failed)
        return;
    if (!expand_pay(x, WORK_CALL)) {
        expand_hole(x);
        return;
    }
    if (drop_prefix(&name, "subst:")) { /* substituted when a page is saved, not when it is shown */
        put_call(x, f, t, spaced, part->next);
        return;
    }
    drop_prefix(&name, "safesubst:");
    if (part->next || !function_variable(x, name)) {
        int as_source = drop_prefix(&name, "msgnw:");
        if (!as_source)
            drop_prefix(&name, "msg:");
        drop_prefix(&name, "raw:");
        if (as_source)
            call_source(x, f, name);
        else if (!call_function(x, f, t, call, name))
            call_template(x, f, t, call, name, spaced);
    }
    if (!(call->flags & NODE_LINE_START))
        expand_begin_line(x, mark);
}
