/* Parser functions about pages: parts of titles, addresses, namespaces, links, numbers of pages. */
#include <ctype.h>

#include "common/formats/document.h"
#include "unicode/letter_case.h"
#include "wikiprep/expand/functions.h"
#include "wikiprep/site/language.h"
#include "wikiprep/values/knowledge.h"
#include "wikiprep/values/number.h"

enum { NS_MEDIA = -2, NS_SPECIAL = -1, NS_FILE = 6 };

/* ---- parts of a title ----------------------------------------------------------------------- */

static struct span base(struct span text)
{
    const char *slash = memrchr(text.s, '/', text.n);
    return (struct span){ text.s, slash ? (size_t)(slash - text.s) : text.n };
}

static void add_part(struct buf *out, const struct dump_site *site, const struct title *t, int part)
{
    struct span text = span_of_buf(&t->text);
    int has_subpages = title_has_subpages(site, t->ns);
    struct span tops = has_subpages ? base(text) : text;
    const char *slash = has_subpages ? memchr(text.s, '/', text.n) : NULL;
    int ns = t->ns;
    if (part == TITLE_SUBJECT || part == TITLE_SUBJECT_SPACE)
        ns = ns > 0 ? ns & ~1 : ns;
    if (part == TITLE_TALK || part == TITLE_TALK_SPACE) {
        if (ns < 0) /* a special page has no talk page */
            return;
        ns |= 1;
    }
    switch (part) {
    case TITLE_FULL:
    case TITLE_SUBJECT:
    case TITLE_TALK: title_put(site, &(struct title){ .ns = ns, .text = t->text }, out); break;
    case TITLE_NAMESPACE:
    case TITLE_SUBJECT_SPACE:
    case TITLE_TALK_SPACE: buf_adds(out, dump_namespace_name(site, ns)); break;
    case TITLE_NAMESPACE_NUMBER: buf_addf(out, "%d", ns); break;
    case TITLE_BASE: span_put(tops, out); break;
    case TITLE_ROOT: buf_add(out, text.s, slash ? (size_t)(slash - text.s) : text.n); break;
    case TITLE_SUB: {
        size_t skip = tops.n < text.n ? tops.n + 1 : 0;
        buf_add(out, text.s + skip, text.n - skip);
        break;
    }
    default: span_put(text, out); break;
    }
}

/* Returns 1 if the word before the colon at s.s[i] is a URL scheme that needs no "//", else 0. */
static int is_scheme(struct span s, size_t i)
{
    static const char schemes[] = "bitcoin|geo|magnet|mailto|news|sip|sips|sms|tel|urn|xmpp";
    size_t n = 0;
    while (n < i && (isalnum((unsigned char)s.s[i - n - 1]) || s.s[i - n - 1] == '_'))
        n++;
    return span_in((struct span){ s.s + i - n, n }, schemes);
}

/* Returns 1 if the character at s.s[i] may be markup, else 0. `line` 1: it is the first character
 * of a line. */
static int is_markup(struct span s, size_t i, int line)
{
    const char *at = s.s + i, *end = s.s + s.n;
    if (strchr("\"&'<=>[]{|};", *at))
        return 1;
    if (line && (strchr("#*: \n\t", *at) || span_begins(at, end, "----")))
        return 1;
    if (*at == '_')
        return i && at[-1] == '_';
    return span_begins(at, end, "://") || (*at == ':' && is_scheme(s, i));
}

void function_put_escaped(struct expander *x, struct span s)
{
    int line = 1;
    for (size_t i = 0; i < s.n; i++) {
        if (s.s[i] == MARK)
            continue;
        int escaped = s.s[i] && is_markup(s, i, line);
        if (escaped)
            buf_addf(&x->out, "&#%d;", s.s[i]);
        else
            buf_addc(&x->out, s.s[i]);
        line = s.s[i] == '\n' && !escaped;
    }
}

void function_put_title(struct expander *x, const struct title *t, int part)
{
    SCOPED(buf) b = BUF_INIT;
    add_part(&b, x->site, t, part & ~TITLE_ENCODED);
    struct span s = span_of_buf(&b);
    if (part & TITLE_ENCODED) {
        size_t mark = x->out.len;
        function_put_encoded(x, s, URL_WIKI);
        s = expand_take(x, mark);
    }
    function_put_escaped(x, s);
}

/* {{PAGENAME:title}} and similar functions: appends the part `c->which` (TITLE_*) of the title.
 * Appends nothing for the full names of special pages and media. */
void function_title(struct expander *x, struct function_call *c)
{
    struct title *t = &x->scratch;
    int part = c->which & ~TITLE_ENCODED;
    if (title_read(t, x->site, c->first.s, c->first.n, 0) && (t->ns >= 0 || part != TITLE_FULL))
        function_put_title(x, t, c->which);
}

/* ---- namespaces, addresses ------------------------------------------------------------------- */

void function_ns(struct expander *x, struct function_call *c)
{
    struct number n;
    int key = 0;
    int64_t number = number_integer(c->first);
    if (number)
        key = number > -100 && number < 1000000 ? (int)number : -100;
    else if (!number_read(c->first, &n) && c->first.n)
        c->is_refused = !dump_namespace(x->site, c->first.s, c->first.n, &key);
    struct span name = span_of(c->is_refused ? "" : dump_namespace_name(x->site, key));
    if (c->which)
        function_put_encoded(x, name, URL_WIKI);
    else
        expand_put(x, name);
}

/* Returns the length of a URL's scheme and host. */
static size_t host_length(struct span base)
{
    const char *slashes = memmem(base.s, base.n, "//", 2);
    const char *from = slashes ? slashes + 2 : base.s;
    const char *slash = memchr(from, '/', (size_t)(base.s + base.n - from));
    return slash ? (size_t)(slash - base.s) : base.n;
}

/* Reads the title s, which may be percent-encoded, into *t. Returns 1, or 0 if it is not a
 * title. */
static int read_url_title(struct expander *x, struct title *t, struct span s)
{
    if (title_read(t, x->site, s.s, s.n, 0) && (t->text.len || t->is_section))
        return 1;
    size_t mark = x->out.len;
    function_put_decoded(x, s);
    s = expand_take(x, mark);
    return title_read(t, x->site, s.s, s.n, 0) && t->text.len;
}

/* Appends the URL of the page t, with `query` unless that is empty. `which`: URL_LOCAL leaves out
 * scheme and host, URL_FULL the scheme. Changes the namespace of a media title t to File. */
static void put_url(struct expander *x, struct title *t, struct span query, int which)
{
    struct span pages = span_of_buf(&x->site->base);
    const char *slash = memrchr(pages.s, '/', pages.n);
    pages.n = slash ? (size_t)(slash + 1 - pages.s) : 0; /* "https://en.wikipedia.org/wiki/" */
    if (t->ns == NS_MEDIA)
        t->ns = NS_FILE;
    size_t host = host_length(pages), scheme = 0;
    const char *colon = memchr(pages.s, ':', pages.n);
    if (which == URL_FULL && colon)
        scheme = (size_t)(colon + 1 - pages.s);
    size_t skip = which == URL_LOCAL ? host : scheme;
    SCOPED(buf) title = BUF_INIT;
    title_put(x->site, t, &title);
    expand_put(x, (struct span){ pages.s + skip, (query.n ? host : pages.n) - skip });
    expand_puts(x, query.n ? "/w/index.php?title=" : "");
    function_put_encoded(x, span_of_buf(&title), URL_WIKI);
    expand_puts(x, query.n ? "&" : "");
    expand_put(x, query);
}

void function_url(struct expander *x, struct function_call *c)
{
    struct title *t = &x->scratch;
    struct span query = expand_value(x, c, 1);
    int form = c->which & ~URL_HTML;
    c->is_refused = !x->failed && !read_url_title(x, t, c->first);
    if (x->failed || c->is_refused)
        return;
    size_t mark = x->out.len;
    put_url(x, t, query, form);
    const char *section = form == URL_LOCAL ? NULL : memchr(c->first.s, '#', c->first.n);
    if (section) { /* "#Some_section" */
        struct span s = span_trim(span_between(section, c->first.s + c->first.n));
        buf_add_replaced(&x->out, s.s, s.n, " ", 1, "_", 1);
    }
    struct span url = c->which & URL_HTML ? expand_take(x, mark) : span_of("");
    document_escape(&x->out, url.s, url.n, 1);
}

/* ---- paths ----------------------------------------------------------------------------------- */

/* {{#titleparts:title|count|first}} */
void function_titleparts(struct expander *x, struct function_call *c)
{
    enum { PARTS_MAX = 25 };
    struct span count_text = expand_value(x, c, 1), first_text = expand_value(x, c, 2);
    struct span parts[PARTS_MAX];
    struct title *t = &x->scratch;
    if (!title_read(t, x->site, c->first.s, c->first.n, 0) || !t->text.len) {
        expand_put(x, c->first);
        return;
    }
    SCOPED(buf) b = BUF_INIT;
    title_put(x->site, t, &b);
    int64_t n = 0, count = number_integer(count_text), first = number_integer(first_text);
    for (const char *s = b.data, *end = b.data + b.len; s;) {
        const char *slash = n + 1 < PARTS_MAX ? memchr(s, '/', (size_t)(end - s)) : NULL;
        parts[n++] = (struct span){ s, (size_t)((slash ? slash : end) - s) };
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
}

static void put_depth_error(struct expander *x, const struct buf *path)
{
    SCOPED(buf) why = buf_format(
        "Error: Invalid depth in path: \"%s\" (tried to access a node above the root node).",
        path->data);
    expand_error(x, why.data);
}

/* {{#rel2abs:../other|base}} */
void function_rel2abs(struct expander *x, struct function_call *c)
{
    struct span to = c->first, from = expand_value(x, c, 1);
    SCOPED(buf) path = BUF_INIT;
    size_t begin = x->out.len;
    while (to.n && strchr(" /", to.s[to.n - 1]))
        to.n--;
    if (!from.n) {
        title_put(x->site, &x->title, &path);
        from = expand_copy(x, span_of_buf(&path));
        buf_clear(&path);
        x->special++;
    }
    int relative = !to.n || *to.s == '/' || bytes_begin(to.s, to.n, "./") ||
                   bytes_begin(to.s, to.n, "../") || span_is(to, "..") || span_is(to, ".");
    if (relative)
        span_put(from, &path);
    buf_addc(&path, '/');
    span_put(to, &path);
    for (const char *s = path.data, *end = s + path.len; s < end;) {
        struct span part = { s, strcspn(s, "/") };
        if (span_is(part, "..")) {
            if (x->out.len == begin) {
                put_depth_error(x, &path);
                break;
            }
            const char *slash = memrchr(x->out.data + begin, '/', x->out.len - begin);
            buf_truncate(&x->out, slash ? (size_t)(slash - x->out.data) : begin);
        } else if (part.n && !span_is(part, ".")) {
            if (x->out.len > begin)
                buf_addc(&x->out, '/');
            expand_put(x, part);
        }
        s += part.n + 1;
    }
}

/* Returns the language code that the call gives, in lower case; the wiki's own if it gives none. */
static struct span code_of(struct expander *x, const struct function_call *c)
{
    size_t mark = x->out.len;
    if (!c->first.n)
        expand_puts(x, x->site->lang.data);
    letter_case_put(&x->out, c->first.s, c->first.n, letter_case_lower);
    return expand_take(x, mark);
}

void function_language(struct expander *x, struct function_call *c)
{
    struct span in = expand_value(x, c, 1);
    SCOPED(buf) wiki = BUF_INIT;
    span_put(in, &wiki);
    struct span code = c->first.n ? code_of(x, c) : c->first;
    const char *name = in.n ? language_name(code.s, code.n, wiki.data) : NULL;
    if (!name)
        name = knowledge_find_code("own-names", "", "", code);
    if (name)
        expand_puts(x, name);
    else
        expand_put(x, c->first);
}

/* {{#bcp47:code}}: appends the language code as BCP 47 writes it: scripts with a first capital,
 * sr-Latn; regions in capitals, pt-BR. The section [web-codes] has the codes that differ. */
void function_bcp47(struct expander *x, struct function_call *c)
{
    struct span code = code_of(x, c), part;
    const char *other = knowledge_find_code("web-codes", "", "", code);
    if (other) {
        expand_puts(x, other);
        return;
    }
    int is_private = 0; /* after "-x-" */
    for (size_t i = 0; i < code.n; i += part.n + 1) {
        const char *dash = memchr(code.s + i, '-', code.n - i);
        part = (struct span){ code.s + i, dash ? (size_t)(dash - code.s) - i : code.n - i };
        if (i)
            expand_puts(x, "-");
        size_t capitals = !i || is_private ? 0 : part.n == 2 ? 2 : part.n == 4 ? 1 : 0;
        letter_case_put(&x->out, part.s, capitals, letter_case_upper);
        expand_put(x, (struct span){ part.s + capitals, part.n - capitals });
        is_private |= span_is(part, "x");
    }
}

/* {{#dir:code}}: appends the direction of the language's script, "rtl" or "ltr". */
void function_dir(struct expander *x, struct function_call *c)
{
    const char *to_the_left = knowledge_find("directions", "", "left");
    expand_puts(x, span_in(code_of(x, c), to_the_left) ? "rtl" : "ltr");
}

/* {{#contentmodel:how|title}}: appends "wikitext". Refuses a call that names a title. */
void function_contentmodel(struct expander *x, struct function_call *c)
{
    c->is_refused = c->count > 1;
    if (!c->is_refused)
        expand_puts(x, "wikitext");
}

/* {{#isbn:number}} */
void function_isbn(struct expander *x, struct function_call *c)
{
    expand_puts(x, "ISBN ");
    expand_put(x, c->first);
}

/* {{int:message|first}}: appends the wiki's own message, if it has one; else "⧼message⧽". */
void function_int(struct expander *x, struct function_call *c)
{
    c->is_refused = !c->first.n;
    if (c->is_refused)
        return;
    struct library_page *page = expand_find_page(x, c->first, LIBRARY_MESSAGES);
    if (!page || x->scratch.ns != LIBRARY_MESSAGES) {
        expand_puts(x, "⧼");
        expand_put(x, c->first);
        expand_puts(x, "⧽");
        return;
    }
    for (size_t i = 0; i < page->n && expand_pay(x, 1); i++) {
        int place = page->text[i] == '$' && i + 1 < page->n ? page->text[i + 1] - '0' : 0;
        if (place > 0 && place < 10 && place < c->count)
            expand_argument(x, c, place), i++;
        else
            buf_addc(&x->out, page->text[i]);
    }
}

/* {{#special:search}}: appends the special page's full title. `c->which` 1: encoded for a URL. */
void function_special(struct expander *x, struct function_call *c)
{
    struct title *t = &x->scratch;
    if (title_read(t, x->site, c->first.s, c->first.n, NS_SPECIAL) && t->ns == NS_SPECIAL &&
        t->text.len)
        function_put_title(x, t, TITLE_FULL | (c->which ? TITLE_ENCODED : 0));
}

void function_first(struct expander *x, struct function_call *c)
{
    expand_put(x, c->first);
}

void function_nothing(struct expander *, struct function_call *)
{
}

void function_zero(struct expander *x, struct function_call *)
{
    expand_puts(x, "0");
}
