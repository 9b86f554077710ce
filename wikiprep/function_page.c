#define _GNU_SOURCE /* memrchr, memmem */
#include <string.h>

#include "wikiprep/functions.h"
#include "wikiprep/language.h"
#include "wikiprep/number.h"

/* ---- parts of a title ----------------------------------------------------------------------- */

/* Namespaces whose pages have subpages: all but articles, files, MediaWiki's and categories. */
static int has_subpages(int ns)
{
    return ns != 0 && ns != 6 && ns != 8 && ns != 14 && ns > 0;
}

static int subject(int ns)
{
    return ns > 0 ? ns & ~1 : ns;
}

static int talk(int ns)
{
    return ns >= 0 ? ns | 1 : ns;
}

static void add_title(struct buf *out, const struct dump_site *site, int ns, struct span text)
{
    title_put_namespace(site, ns, out);
    if (ns)
        buf_addc(out, ':');
    span_put(text, out);
}

static struct span base(struct span text)
{
    const char *slash = memrchr(text.s, '/', text.n);
    return (struct span) { text.s, slash ? (size_t)(slash - text.s) : text.n };
}

static void add_part(struct buf *out, const struct dump_site *site, const struct title *t, int part)
{
    struct span text = { t->text.data, t->text.len };
    struct span tops = has_subpages(t->ns) ? base(text) : text;
    const char *slash = has_subpages(t->ns) ? memchr(text.s, '/', text.n) : NULL;
    switch (part) {
    case TITLE_FULL: add_title(out, site, t->ns, text); break;
    case TITLE_BASE: span_put(tops, out); break;
    case TITLE_ROOT: buf_add(out, text.s, slash ? (size_t)(slash - text.s) : text.n); break;
    case TITLE_SUB: {
        size_t skip = tops.n < text.n ? tops.n + 1 : 0;
        buf_add(out, text.s + skip, text.n - skip);
        break;
    }
    case TITLE_TALK:
        if (t->ns >= 0)
            add_title(out, site, talk(t->ns), text);
        break;
    case TITLE_SUBJECT: add_title(out, site, subject(t->ns), text); break;
    case TITLE_NAMESPACE: title_put_namespace(site, t->ns, out); break;
    case TITLE_NAMESPACE_NUMBER: buf_addf(out, "%d", t->ns); break;
    case TITLE_TALK_SPACE: title_put_namespace(site, talk(t->ns), out); break;
    case TITLE_SUBJECT_SPACE: title_put_namespace(site, subject(t->ns), out); break;
    default: span_put(text, out); break;
    }
}

void function_put_escaped(struct expander *x, struct span s)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.s[i];
        if (strchr("\"&'<=>[]{|};", c) || (!i && strchr("#*:", c)))
            buf_addf(&x->out, "&#%d;", c);
        else
            buf_addc(&x->out, c);
    }
}

void function_put_title(struct expander *x, const struct title *t, int part)
{
    struct buf b = BUF_INIT;
    add_part(&b, x->site, t, part & ~TITLE_ENCODED);
    struct span s = { b.data, b.len };
    if (part & TITLE_ENCODED)
        function_put_encoded(x, s, URL_WIKI);
    else
        function_put_escaped(x, s);
    buf_release(&b);
}

/* {{PAGENAME:title}} */
int function_title(struct expander *x, const struct function_call *c, int which)
{
    struct title *t = &x->scratch;
    if (title_read(t, x->site, c->first.s, c->first.n, 0))
        function_put_title(x, t, which);
    return 1;
}

/* ---- namespaces, addresses ------------------------------------------------------------------- */

int function_ns(struct expander *x, const struct function_call *c, int which)
{
    struct number n;
    struct buf name = BUF_INIT;
    int key = 0;
    if (number_read(c->first, &n) && n.is_integer)
        key = n.value > -100 && n.value < 1e6 ? (int)n.value : -100;
    else if (c->first.n && !dump_namespace(x->site, c->first.s, c->first.n, &key))
        return 0;
    title_put_namespace(x->site, key, &name);
    int found = name.len || !key;
    if (which)
        function_put_encoded(x, (struct span) { name.data, name.len }, URL_WIKI);
    else
        expand_put(x, (struct span) { name.data, name.len });
    buf_release(&name);
    return found;
}

/* The address of the wiki's pages without the title: "https://en.wikipedia.org/wiki/". */
static struct span page_base(const struct expander *x)
{
    struct span s = { x->site->base.data, x->site->base.len };
    const char *slash = memrchr(s.s, '/', s.n);
    return (struct span) { s.s, slash ? (size_t)(slash + 1 - s.s) : 0 };
}

/* The scheme and the host of an address. */
static size_t host_length(struct span base)
{
    const char *slashes = memmem(base.s, base.n, "//", 2);
    const char *from = slashes ? slashes + 2 : base.s;
    const char *slash = memchr(from, '/', (size_t)(base.s + base.n - from));
    return slash ? (size_t)(slash - base.s) : base.n;
}

int function_url(struct expander *x, const struct function_call *c, int which)
{
    struct title *t = &x->scratch;
    struct span query = expand_value(x, c, 1), pages = page_base(x);
    if (x->failed)
        return 1;
    if (!title_read(t, x->site, c->first.s, c->first.n, 0) || !t->text.len)
        return 0;
    size_t host = host_length(pages), scheme = 0;
    const char *colon = memchr(pages.s, ':', pages.n);
    if (which == URL_FULL && colon)
        scheme = (size_t)(colon + 1 - pages.s);
    size_t skip = which == URL_LOCAL ? host : scheme;
    if (query.n) {
        expand_put(x, (struct span) { pages.s + skip, host - skip });
        expand_puts(x, "/w/index.php?title=");
        function_put_title(x, t, TITLE_FULL | TITLE_ENCODED);
        expand_puts(x, "&");
        expand_put(x, query);
    } else {
        expand_put(x, (struct span) { pages.s + skip, pages.n - skip });
        function_put_title(x, t, TITLE_FULL | TITLE_ENCODED);
    }
    return 1;
}

/* ---- paths ------------------------------------------------------------------------------------ */

/* {{#titleparts:title|count|first}} */
int function_titleparts(struct expander *x, const struct function_call *c, int which)
{
    (void)which;
    enum { PARTS_MAX = 25 };
    struct span count_text = expand_value(x, c, 1), first_text = expand_value(x, c, 2);
    struct span parts[PARTS_MAX];
    struct title *t = &x->scratch;
    if (!title_read(t, x->site, c->first.s, c->first.n, 0) || !t->text.len) {
        expand_put(x, c->first);
        return 1;
    }
    struct buf b = BUF_INIT;
    title_put(x->site, t, &b);
    int64_t n = 0, count = number_integer(count_text), first = number_integer(first_text);
    for (const char *s = b.data, *end = b.data + b.len; s; ) {
        const char *slash = n + 1 < PARTS_MAX ? memchr(s, '/', (size_t)(end - s)) : NULL;
        parts[n++] = (struct span) { s, (size_t)((slash ? slash : end) - s) };
        s = slash ? slash + 1 : NULL;
    }
    first -= first > 0;
    first = first < 0 ? first + n : first;
    first = first < 0 ? 0 : first > n ? n : first;
    int64_t last = !count ? n : count > 0 ? first + count : n + count;
    last = last > n ? n : last;
    for (int64_t i = first; i < last; i++) {
        if (i > first)
            buf_addc(&x->out, '/');
        expand_put(x, parts[i]);
    }
    buf_release(&b);
    return 1;
}

/* {{#rel2abs:../other|base}} */
int function_rel2abs(struct expander *x, const struct function_call *c, int which)
{
    (void)which;
    struct span to = c->first, from = expand_value(x, c, 1);
    struct buf path = BUF_INIT;
    size_t begin = x->out.len;
    while (to.n && strchr(" /", to.s[to.n - 1]))
        to.n--;
    if (!from.n) {
        title_put(x->site, &x->title, &path);
        from = (struct span) { arena_copy(&x->arena, path.data, path.len), path.len };
        buf_clear(&path);
        x->special++;
    }
    int relative = !to.n || *to.s == '/' || (to.n > 1 && !memcmp(to.s, "./", 2)) ||
                   (to.n > 2 && !memcmp(to.s, "../", 3)) || span_is(to, "..") || span_is(to, ".");
    if (relative)
        span_put(from, &path);
    buf_addc(&path, '/');
    span_put(to, &path);
    for (const char *s = path.data, *end = s + path.len; s < end;) {
        size_t n = strcspn(s, "/");
        struct span part = { s, n };
        if (span_is(part, "..")) {
            if (x->out.len == begin) {
                expand_error(x, "Error: Invalid depth in path.");
                break;
            }
            const char *slash = memrchr(x->out.data + begin, '/', x->out.len - begin);
            buf_truncate(&x->out, slash ? (size_t)(slash - x->out.data) : begin);
        } else if (n && !span_is(part, ".")) {
            if (x->out.len > begin)
                buf_addc(&x->out, '/');
            expand_put(x, part);
        }
        s += n + 1;
    }
    buf_release(&path);
    return 1;
}

int function_language(struct expander *x, const struct function_call *c, int which)
{
    (void)which;
    struct span in = expand_value(x, c, 1);
    struct buf wiki = BUF_INIT;
    span_put(in.n ? in : c->first, &wiki);
    const char *name = language_name(c->first.s, c->first.n, wiki.data);
    buf_release(&wiki);
    if (name)
        expand_puts(x, name);
    else
        expand_put(x, c->first);
    return 1;
}

int function_first(struct expander *x, const struct function_call *c, int which)
{
    (void)which;
    expand_put(x, c->first);
    return 1;
}

int function_nothing(struct expander *x, const struct function_call *c, int which)
{
    (void)x, (void)c, (void)which;
    return 1;
}

int function_zero(struct expander *x, const struct function_call *c, int which)
{
    (void)c, (void)which;
    expand_puts(x, "0");
    return 1;
}
