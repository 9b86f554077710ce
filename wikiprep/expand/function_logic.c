/* Parser functions that choose: #if, #ifeq, #ifexist, #iferror, #switch, #expr. */

#include "wikiprep/expand/functions.h"
#include "wikiprep/site/entity.h"
#include "wikiprep/values/expression.h"

int function_if(struct expander *x, const struct function_call *c)
{
    expand_argument(x, c, c->first.n ? 1 : 2);
    return 1;
}

/* Returns the argument with its character references resolved, for comparison. */
static struct span decoded(struct expander *x, struct span s)
{
    if (!s.n || !memchr(s.s, '&', s.n))
        return s;
    SCOPED(buf) b = BUF_INIT;
    entity_decode(&b, s.s, s.n);
    return span_trim_space(expand_copy(x, (struct span){ b.data, b.len }));
}

int function_ifeq(struct expander *x, const struct function_call *c)
{
    struct span left = decoded(x, c->first), right = decoded(x, expand_value(x, c, 1));
    if (!x->failed)
        expand_argument(x, c, number_equal(left, right) ? 2 : 3);
    return 1;
}

/* Returns 1 if s has an element of the class "error", else 0. */
static int is_error(struct span s)
{
    static const char *const elements[] = { "strong", "span", "p", "div" };
    const char *end = s.s + s.n, *p = s.s;
    while (p < end && (p = memchr(p, '<', (size_t)(end - p)))) {
        const char *gt = memchr(p, '>', (size_t)(end - p));
        p++;
        for (size_t i = 0; gt && i < sizeof elements / sizeof *elements; i++) {
            size_t n = strlen(elements[i]);
            if ((size_t)(gt - p) <= n || memcmp(p, elements[i], n) || !strchr(" \t\n", p[n]))
                continue;
            for (const char *a = p + n; a + 8 < gt; a++) {
                if (memcmp(a, "class=\"", 7) || !strchr(" \t\n", a[-1]))
                    continue;
                const char *quote = memchr(a + 7, '"', (size_t)(gt - a - 7));
                for (const char *w = a + 7; quote && w + 5 <= quote; w++)
                    if (!memcmp(w, "error", 5) && (w == a + 7 || strchr(" \t\n", w[-1])) &&
                        (w + 5 == quote || strchr(" \t\n", w[5])))
                        return 1;
            }
        }
    }
    return 0;
}

int function_iferror(struct expander *x, const struct function_call *c)
{
    if (is_error(c->first))
        expand_argument(x, c, 1);
    else
        expand_argument(x, c, c->count > 2 ? 2 : 0);
    return 1;
}

int function_ifexist(struct expander *x, const struct function_call *c)
{
    struct title *t = &x->scratch;
    int there = title_read(t, x->site, c->first.s, c->first.n, 0) && t->text.len &&
                (library_exists(x->library, t) || t->ns == -1);
    expand_argument(x, c, there ? 1 : 2);
    return 1;
}

static int evaluate(struct expander *x, struct span s, int *truth)
{
    SCOPED(buf) b = BUF_INIT;
    int result = expression_evaluate(s, &b, truth);
    if (result < 0)
        expand_error(x, b.data);
    else if (!truth)
        expand_puts(x, b.data);
    return result;
}

int function_ifexpr(struct expander *x, const struct function_call *c)
{
    int truth;
    if (!evaluate(x, c->first, &truth))
        expand_argument(x, c, truth ? 1 : 2);
    return 1;
}

int function_expr(struct expander *x, const struct function_call *c)
{
    evaluate(x, c->first, NULL);
    return 1;
}

static int is_default(const struct expander *x, struct span s)
{
    if (!s.n || *s.s != '#')
        return 0;
    const char *english = magic_find(x->facts->magic, s.s, s.n);
    return span_is(s, "#default") || (english && !strcmp(english, "#default"));
}

/* {{#switch: value | case | case = text | #default = text }}. Appends the text of the first case
 * that equals the value, else the default. A case without a text uses the text of the next case
 * that has one. A last argument without '=' is the default. */
int function_switch(struct expander *x, const struct function_call *c)
{
    struct span value = decoded(x, c->first), last = { "", 0 };
    uint32_t otherwise = 0;
    int found = 0, found_default = 0, last_is_bare = 0, has_default = 0;
    for (int i = 1; i < c->count && !x->failed; i++) {
        const struct node *part = c->parts[i];
        size_t mark = x->out.len;
        if (part->flags & NODE_NAMED) {
            last_is_bare = 0;
            if (!found) {
                expand_nodes(x, c->frame, c->tree, part->begin);
                expand_trim(x, mark);
                struct span test = decoded(x, expand_since(x, mark));
                found = number_equal(test, value);
                if (!found && (found_default || is_default(x, test))) {
                    otherwise = part->child;
                    has_default = 1;
                    found_default = 0;
                }
                buf_truncate(&x->out, mark);
            }
            if (found) {
                expand_nodes(x, c->frame, c->tree, part->child);
                expand_trim(x, mark);
                return 1;
            }
        } else {
            last_is_bare = 1;
            last = expand_value(x, c, i);
            struct span test = decoded(x, last);
            found |= number_equal(test, value);
            found_default |= !found && is_default(x, test);
        }
    }
    size_t mark = x->out.len;
    if (last_is_bare)
        expand_put(x, last);
    else if (has_default)
        expand_nodes(x, c->frame, c->tree, otherwise);
    expand_trim(x, mark);
    return 1;
}
