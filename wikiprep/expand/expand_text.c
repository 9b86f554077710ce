/* Helpers of expand.h: the output stack, the marks for stored texts, and the count of work. */

#include "wikiprep/expand/expand_state.h"

enum { MARKS_MAX = 999999 };

/* ---- text ---------------------------------------------------------------------------------- */

void expand_stop(struct expander *x)
{
    x->special++; /* a truncated result must not become a memo */
    x->is_spent = x->is_cut = 1;
}

int expand_pay(struct expander *x, uint64_t work)
{
    if (!x->is_spent && work <= WORK_MAX - x->work) {
        x->work += work;
        return 1;
    }
    expand_stop(x);
    return 0;
}

void *expand_memory(struct expander *x, size_t bytes)
{
    return expand_pay(x, bytes) ? arena_take(&x->arena, bytes) : NULL;
}

struct span expand_copy(struct expander *x, struct span s)
{
    char *copy = expand_memory(x, s.n + 1);
    if (!copy)
        return (struct span){ "", 0 };
    if (s.n)
        memcpy(copy, s.s, s.n);
    copy[s.n] = '\0';
    return (struct span){ copy, s.n };
}

void expand_put(struct expander *x, struct span s)
{
    if (expand_pay(x, s.n))
        buf_add(&x->out, s.s, s.n);
}

void expand_puts(struct expander *x, const char *s)
{
    expand_put(x, span_of(s));
}

void expand_trim(struct expander *x, size_t mark)
{
    struct span s = span_trim_space(expand_since(x, mark));
    char *begin = x->out.data + mark;
    if (s.s != begin)
        memmove(begin, s.s, s.n);
    buf_truncate(&x->out, mark + s.n);
}

/* ---- marks --------------------------------------------------------------------------------- */

void expand_keep(struct expander *x, struct span s)
{
    char mark[MARK_BYTES + 1];
    x->special++;
    if (x->kept_count > MARKS_MAX || (x->depth > 0 && !expand_pay(x, WORK_MARK)))
        return;
    mem_grow(x->kept, x->kept_cap, x->kept_count + 1);
    x->kept[x->kept_count] = s;
    snprintf(mark, sizeof mark, "%c%06u%c", MARK, (unsigned)x->kept_count++, MARK);
    buf_add(&x->out, mark, MARK_BYTES);
}

void expand_hole(struct expander *x)
{
    expand_keep(x, (struct span){ "", 0 });
}

/* Returns the text that the mark at s stands for, or NULL if there is no mark at s. */
static const struct span *mark_at(const struct expander *x, const char *s, size_t n)
{
    size_t i = 0;
    if (n < MARK_BYTES || s[0] != MARK || s[MARK_BYTES - 1] != MARK)
        return NULL;
    for (int k = 1; k < MARK_BYTES - 1; k++) {
        if (s[k] < '0' || s[k] > '9')
            return NULL;
        i = i * 10 + (size_t)(s[k] - '0');
    }
    return i < x->kept_count ? &x->kept[i] : NULL;
}

struct span expand_next_mark(const struct expander *x, struct span s)
{
    const char *at = s.s, *end = s.s + s.n;
    while (at < end && (at = memchr(at, MARK, (size_t)(end - at))) &&
           !mark_at(x, at, (size_t)(end - at)))
        at++;
    return at && at < end ? (struct span){ at, MARK_BYTES } : (struct span){ end, 0 };
}

struct span expand_without_marks(struct expander *x, struct span s)
{
    if (!s.n || !memchr(s.s, MARK, s.n))
        return s;
    char *copy = expand_memory(x, s.n + 1);
    size_t len = 0;
    if (!copy)
        return (struct span){ "", 0 };
    for (size_t i = 0; i < s.n;)
        if (s.s[i] != MARK)
            copy[len++] = s.s[i++];
        else
            i += mark_at(x, s.s + i, s.n - i) ? MARK_BYTES : 1;
    copy[len] = '\0';
    return (struct span){ copy, len };
}

void expand_mend_marks(struct expander *x, size_t from)
{
    const char *s = x->out.data;
    size_t n = x->out.len, to = from;
    if (from == n || !memchr(s + from, MARK, n - from))
        return;
    for (size_t i = from; i < n;) {
        size_t whole = s[i] != MARK ? 1 : mark_at(x, s + i, n - i) ? MARK_BYTES : 0;
        memmove(x->out.data + to, s + i, whole);
        to += whole;
        i += whole ? whole : 1;
    }
    buf_truncate(&x->out, to);
}

int expand_put_back(const struct expander *x, struct span s, size_t room, struct buf *out)
{
    while (s.n) {
        const char *at = memchr(s.s, MARK, s.n);
        size_t plain = at ? (size_t)(at - s.s) : s.n;
        const struct span *kept = at ? mark_at(x, at, s.n - plain) : NULL;
        struct span shown = kept && !kept->n ? span_of("<ref/>") : kept ? *kept : span_of("");
        if (out->len + plain + shown.n > room)
            return 0;
        buf_add(out, s.s, plain);
        span_put(shown, out);
        plain += !at ? 0 : kept ? MARK_BYTES : 1;
        s.s += plain, s.n -= plain;
    }
    return 1;
}

void expand_keep_expanded(struct expander *x, size_t mark)
{
    struct span s = expand_since(x, mark);
    SCOPED(buf) whole = BUF_INIT;
    if (!expand_put_back(x, s, WORK_MAX - x->work, &whole))
        expand_stop(x);
    s = expand_copy(x, span_of_buf(&whole));
    buf_truncate(&x->out, mark);
    expand_keep(x, s);
}

void expand_put_html(struct expander *x, struct span s)
{
    for (size_t i = 0; i < s.n; i++)
        switch (s.s[i]) {
        case '&': expand_puts(x, "&amp;"); break;
        case '<': expand_puts(x, "&lt;"); break;
        case '>': expand_puts(x, "&gt;"); break;
        case '"': expand_puts(x, "&quot;"); break;
        case '\'': expand_puts(x, "&#039;"); break;
        default: expand_put(x, (struct span){ s.s + i, 1 }); break;
        }
}

void expand_error(struct expander *x, const char *why)
{
    expand_puts(x, "<strong class=\"error\">");
    expand_put_html(x, span_of(why));
    expand_puts(x, "</strong>");
}
