/* Parser functions that choose: #if, #ifeq, #ifexist, #iferror, #switch, #expr. */

#include <ctype.h>

#include "wikiprep/expand/functions.h"
#include "wikiprep/site/entity.h"
#include "wikiprep/text/tag.h"
#include "wikiprep/values/expression.h"

void function_if(struct expander *x, struct function_call *c)
{
    expand_argument(x, c, c->first.n ? 1 : 2);
}

/* Returns the argument s with its character references decoded, for comparison. */
static struct span decoded(struct expander *x, struct span s)
{
    if (!s.n || !memchr(s.s, '&', s.n))
        return s;
    SCOPED(buf) b = BUF_INIT;
    entity_decode(&b, s.s, s.n);
    return span_trim_space(expand_copy(x, span_of_buf(&b)));
}

void function_ifeq(struct expander *x, struct function_call *c)
{
    struct span left = decoded(x, c->first), right = decoded(x, expand_value(x, c, 1));
    if (!x->failed)
        expand_argument(x, c, number_equal(left, right) ? 2 : 3);
}

/* Returns 1 if s has an element of the class "error", else 0. */
static int is_error(struct span s)
{
    const char *end = s.s + s.n;
    for (const char *p = s.s; (p = memchr(p, '<', (size_t)(end - p)));) {
        const char *name = ++p;
        while (p < end && islower((unsigned char)*p))
            p++;
        if (!span_in(span_between(name, p), "strong|span|p|div"))
            continue;
        const char *gt = span_until(p, end, '>');
        const struct span class = gt < end ? tag_attribute(p, gt, "class") : (struct span){ 0 };
        if (span_has_word(class, "error") && class.s[-1] == '"')
            return 1;
        p = gt; /* a '<' before it begins no tag: the time stays linear */
    }
    return 0;
}

void function_iferror(struct expander *x, struct function_call *c)
{
    expand_argument(x, c, is_error(c->first) ? 1 : c->count > 2 ? 2 : 0);
}

void function_ifexist(struct expander *x, struct function_call *c)
{
    struct title *t = &x->scratch;
    int there = title_read(t, x->site, c->first.s, c->first.n, 0) && t->text.len &&
                (library_exists(x->library, t) || t->ns == -1);
    expand_argument(x, c, there ? 1 : 2);
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

void function_ifexpr(struct expander *x, struct function_call *c)
{
    int truth;
    if (!evaluate(x, c->first, &truth))
        expand_argument(x, c, truth ? 1 : 2);
}

void function_expr(struct expander *x, struct function_call *c)
{
    evaluate(x, c->first, NULL);
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
void function_switch(struct expander *x, struct function_call *c)
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
                return;
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
}
