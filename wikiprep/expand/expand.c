#include "wikiprep/expand/expand.h"

#include "common/base/hash.h"
#include "wikiprep/expand/expand_state.h"
#include "wikiprep/site/variant.h"

/* Maximum growth of a page in bytes: MediaWiki's limit on included templates, plus stored texts. */
enum { MORE_MAX = INCLUDED_MAX + 5000000 };

/* ---- the stack ------------------------------------------------------------------------------- */

struct span expand_take(struct expander *x, size_t mark)
{
    struct span s = expand_copy(x, expand_since(x, mark));
    buf_truncate(&x->out, mark);
    return s;
}

/* ---- arguments ------------------------------------------------------------------------------ */

static struct argument *find_argument(const struct frame *f, struct span name)
{
    if (!f->slots)
        return NULL;
    struct argument *a = f->slots[hash_bytes(name.s, name.n) & (f->slot_count - 1)];
    while (a && !span_equal(a->name, name))
        a = a->next;
    return a;
}

/* Sets the argument `name` of the call f to `part`, replacing an earlier argument with the same
 * name. */
static void set_argument(struct expander *x, struct frame *f, struct span name,
                         const struct node *part)
{
    struct argument *a = find_argument(f, name);
    if (!a) {
        struct argument **slot = &f->slots[hash_bytes(name.s, name.n) & (f->slot_count - 1)];
        a = expand_memory(x, sizeof *a);
        if (!a)
            return;
        *a = (struct argument){ .name = name, .next = *slot };
        *slot = a;
    }
    a->part = part;
}

static struct span source_of(const struct tree *t, const struct node *n)
{
    return span_between(t->source + n->begin, t->source + n->end);
}

struct span expand_nodes_value(struct expander *x, const struct frame *f, const struct tree *t,
                               uint32_t node)
{
    if (!node)
        return (struct span){ "", 0 };
    const struct node *only = &t->nodes[node];
    if (only->kind == NODE_TEXT && !only->next)
        return source_of(t, only);
    size_t mark = x->out.len;
    expand_nodes(x, f, t, node);
    return expand_take(x, mark);
}

void expand_set_arguments(struct expander *x, struct frame *f, uint32_t first)
{
    const struct tree *t = f->caller_tree;
    size_t count = 0, place = 0;
    for (uint32_t i = first; i; i = t->nodes[i].next)
        count++;
    f->argument_count = count;
    f->first = first;
    if (!count)
        return;
    for (f->slot_count = 1; f->slot_count < count;)
        f->slot_count *= 2;
    f->slots = expand_memory(x, f->slot_count * sizeof *f->slots);
    if (!f->slots)
        return;
    memset(f->slots, 0, f->slot_count * sizeof *f->slots);
    for (uint32_t i = first; i && !x->is_spent; i = t->nodes[i].next) {
        const struct node *part = &t->nodes[i];
        struct span name;
        if (part->flags & NODE_NAMED) {
            name = span_trim_space(expand_nodes_value(x, f->caller, t, part->begin));
        } else {
            char number[24];
            int n = snprintf(number, sizeof number, "%zu", ++place);
            name = expand_copy(x, (struct span){ number, (size_t)n });
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
        struct span s = expand_nodes_value(x, f->caller, f->caller_tree, a->part->child);
        a->value = a->part->flags & NODE_NAMED ? span_trim_space(s) : s;
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
    struct span name = expand_nodes_value(x, f, t, part->child), value;
    if (expand_parameter(x, f, span_trim_space(name), &value)) {
        expand_put(x, value);
    } else if (part->next) {
        expand_part(x, f, t, &t->nodes[part->next]);
    } else {
        expand_puts(x, "{{{");
        expand_put(x, name);
        expand_puts(x, "}}}");
    }
}

/* ---- nodes ---------------------------------------------------------------------------------- */

static void expand_tag(struct expander *x, const struct frame *f, const struct tree *t,
                       const struct node *tag)
{
    struct span whole = source_of(t, tag), content = source_of(t, &t->nodes[tag->child]);
    if (tag->flags & NODE_REFERENCE) {
        expand_hole(x);
    } else if (tag->flags & NODE_BOOK) {
        expand_book(x, f, span_between(whole.s + strlen("<pages"), content.s));
    } else if ((tag->flags & NODE_WIKITEXT) && content.n && !x->is_spent) {
        SCOPED(tree) inner = { 0 };
        size_t mark = x->out.len;
        preprocess(x->preprocessor, &inner, content.s, content.n, PREPROCESS_PAGE);
        expand_put(x, span_between(whole.s, content.s));
        expand_nodes(x, f, &inner, inner.nodes[0].child);
        expand_put(x, span_between(content.s + content.n, whole.s + whole.n));
        expand_keep_expanded(x, mark);
    } else {
        expand_keep(x, whole);
    }
}

/* Counts the visit of a node. Returns 1 if the node may be visited, else 0. Nodes of the page
 * itself cost no work, because all of them are shown. */
static int may_visit(struct expander *x)
{
    if (x->failed || !x->depth)
        return !x->failed;
    if (x->depth <= DEPTH_MAX)
        return expand_pay(x, WORK_NODE);
    x->special++; /* a truncated result must not become a memo */
    x->is_cut = 1;
    return 0;
}

/* Writes a node of the page itself unexpanded: text, or any node when the work limit is used up. */
static void leave_node(struct expander *x, const struct tree *t, const struct node *n)
{
    if (n->kind == NODE_TEXT)
        span_put(source_of(t, n), &x->out);
    else
        expand_keep(x, source_of(t, n));
}

void expand_nodes(struct expander *x, const struct frame *f, const struct tree *t, uint32_t node)
{
    x->depth++;
    if (x->depth > x->deepest)
        x->deepest = x->depth;
    for (; node && may_visit(x); node = t->nodes[node].next) {
        const struct node *n = &t->nodes[node];
        if (!x->depth && (n->kind == NODE_TEXT || x->is_spent)) {
            leave_node(x, t, n);
            continue;
        }
        switch ((enum node_kind)n->kind) {
        case NODE_TEXT: expand_put(x, source_of(t, n)); break;
        case NODE_CALL: expand_call(x, f, t, n); break;
        case NODE_PARAMETER: expand_parameter_node(x, f, t, n); break;
        case NODE_TAG: expand_tag(x, f, t, n); break;
        case NODE_PART: break;
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

/* ---- pages ---------------------------------------------------------------------------------- */

int expand_text(struct expander *x, const struct template_page *page, const char *text, size_t n,
                struct buf *out)
{
    struct frame f = { 0 };
    buf_clear(out);
    if (!memchr(text, '{', n) && !memchr(text, '<', n)) {
        buf_add(out, text, n);
        return 0;
    }
    arena_reset(&x->arena);
    buf_clear(&x->out);
    x->page = page;
    x->kept_count = 0;
    x->failed = NULL;
    x->depth = x->deepest = 0;
    x->work = x->within = x->special = 0;
    x->included = x->script_errors = 0;
    x->is_spent = 0;
    size_t len = strlen(page->title);
    if (!title_read(&x->title, x->site, page->title, len, 0))
        buf_set(&x->title.text, page->title, len);
    preprocess(x->preprocessor, &x->tree, text, n, PREPROCESS_PAGE);
    x->is_cut = x->tree.is_cut;
    x->depth = -1; /* expand_nodes counts the page itself, too; its depth is 0 */
    expand_nodes(x, &f, &x->tree, x->tree.nodes[0].child);
    if (!expand_put_back(x, expand_since(x, 0), n + MORE_MAX, out))
        x->is_cut = 1;
    if (x->out.cap > n + MORE_MAX)
        buf_release(&x->out);
    arena_reset(&x->arena);
    return x->is_cut;
}

struct expander *expander_new(struct library *library, expand_choose *choose)
{
    struct expander *x = mem_zalloc(1, sizeof *x);
    x->library = library;
    x->facts = library_facts(library);
    x->site = &x->facts->site;
    x->choose = choose;
    x->preprocessor = preprocessor_new(variants_has(x->site->lang.data));
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
