#define _GNU_SOURCE /* memmem */
#include "wikiprep/classic.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/mem.h"
#include "wikiprep/classic_lines.h"
#include "wikiprep/classic_spans.h"
#include "wikiprep/entity.h"
#include "wikiprep/nameset.h"

/* Passes over the whole text, each from `text` into `next`, which then change places. */
struct classic {
    struct buf text, next;
    const char *title;
    struct spans spans;
    struct span *braces; /* open calls: where they begin, and how many braces are open */
    size_t brace_count, braces_cap;
    size_t *links; /* where links begin that are open */
    size_t links_cap;
};

static void passed(struct classic *c)
{
    struct buf keep = c->text;
    c->text = c->next;
    c->next = keep;
    buf_clear(&c->next);
}

static void drop_spans(struct classic *c)
{
    spans_drop(&c->spans, &c->text, &c->next);
    passed(c);
}

static void put(struct classic *c, size_t from, size_t to)
{
    buf_add(&c->next, c->text.data + from, to - from);
}

/* ---- templates ----------------------------------------------------------------------------- */

/* {{formatnum:1234.50}} is 1,234.5; what is no number stays as it is. */
static void put_number(struct buf *out, const char *s, size_t n)
{
    size_t sign = n && *s == '-', digits = 0, point;
    while (sign + digits < n && isdigit((unsigned char)s[sign + digits]))
        digits++;
    point = sign + digits;
    size_t end = point + (point < n && s[point] == '.');
    while (end < n && isdigit((unsigned char)s[end]))
        end++;
    if (end < n || !digits || n > 15) {
        buf_add(out, s, n);
        return;
    }
    while (end > point && (s[end - 1] == '0' || s[end - 1] == '.') && end-- && s[end] != '.')
        ;
    buf_add(out, s, sign);
    for (size_t i = sign; i < point; i++) {
        if (i > sign && (point - i) % 3 == 0)
            buf_addc(out, ',');
        buf_addc(out, s[i]);
    }
    buf_add(out, s + point, end - point);
}

/* What the call text[begin, end) shows without any template: a pipe, the page's name, a number, or
 * nothing. */
static void put_call(struct classic *c, size_t begin, size_t end)
{
    static const char *const names[] = { "!", "pagename", "fullpagename" };
    const char *s = c->text.data + begin + 2, *stop = c->text.data + end - 2;
    const char *pipe = memchr(s, '|', (size_t)(stop - s));
    if (pipe)
        stop = pipe;
    while (s < stop && isspace((unsigned char)*s))
        s++;
    while (stop > s && isspace((unsigned char)stop[-1]))
        stop--;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if ((size_t)(stop - s) == strlen(names[i]) && !strncasecmp(s, names[i], strlen(names[i])))
            buf_adds(&c->next, i ? c->title : "|");
    static const char format[] = "formatnum:";
    const size_t n = sizeof format - 1;
    if (stop - s > (ptrdiff_t)n && !strncasecmp(s, format, n) && !memchr(s, '{', (size_t)(stop - s))) {
        for (s += n; s < stop && isspace((unsigned char)*s); s++)
            ;
        put_number(&c->next, s, (size_t)(stop - s));
    }
}

/* Two or more of the brace at text[at]. */
static size_t run_of(const struct classic *c, size_t at)
{
    size_t n = 1;
    while (at + n < c->text.len && c->text.data[at + n] == c->text.data[at])
        n++;
    return n;
}

/* n braces close: 1 when the outermost call ends at text[*end), which begins at *begin. */
static int close_braces(struct classic *c, size_t n, size_t *begin, size_t *end)
{
    *begin = c->braces[0].begin;
    while (c->brace_count) {
        struct span *top = &c->braces[--c->brace_count];
        if (n < top->end) {
            top->end -= n;
            c->brace_count++;
            break;
        }
        n -= top->end;
        if (n <= 1)
            break;
    }
    if (!c->brace_count) {
        *end -= n;
        return 1;
    }
    if (c->brace_count == 1 && c->braces[0].end == 1) { /* of three one is left */
        *begin += 1;
        c->brace_count = 0;
        return 1;
    }
    return 0;
}

static void drop_templates(struct classic *c)
{
    size_t done = 0, at = 0;
    c->brace_count = 0;
    while (at < c->text.len) {
        char brace = c->text.data[at];
        size_t n = brace == '{' || brace == '}' ? run_of(c, at) : 1;
        if (n >= 2 && brace == '{') {
            int outer = !c->brace_count;
            size_t count = outer && n > 3 ? 3 : n;
            mem_grow(c->braces, c->braces_cap, c->brace_count + 1);
            c->braces[c->brace_count++] = (struct span){ at + (n - count), count };
        } else if (n >= 2 && c->brace_count) {
            size_t begin, end = at + n;
            if (close_braces(c, n, &begin, &end)) {
                put(c, done, begin);
                put_call(c, begin, end);
                done = end;
            }
        }
        at += n;
    }
    put(c, done, c->text.len);
    passed(c);
}

/* ---- links --------------------------------------------------------------------------------- */

static size_t scheme(const char *s)
{
    static const char *const schemes[] = {
        "bitcoin:", "ftp://",  "ftps://",  "geo:",          "git://",    "gopher://", "http://",
        "https://", "irc://",  "ircs://",  "magnet:",       "mailto:",   "mms://",    "news:",
        "nntp://",  "redis://", "sftp://", "sip:",          "sips:",     "sms:",      "ssh://",
        "svn://",   "tel:",    "telnet://", "urn:",         "worldwind://", "xmpp:",  "//",
    };
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++)
        if (!strncasecmp(s, schemes[i], strlen(schemes[i])))
            return strlen(schemes[i]);
    return 0;
}

/* A label that is the address of a picture is none. */
static int is_picture(const char *s, size_t n)
{
    static const char *const ends[] = { ".gif", ".png", ".jpg", ".jpeg" };
    if (strncasecmp(s, "http://", 7) && strncasecmp(s, "https://", 8))
        return 0;
    for (size_t i = 0; i < n; i++)
        if (strchr("[]<>\" ", s[i]))
            return 0;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (n > strlen(ends[i]) && !strncasecmp(s + n - strlen(ends[i]), ends[i], strlen(ends[i])))
            return 1;
    return 0;
}

/* [address label] is its label. */
static void replace_addresses(struct classic *c)
{
    size_t done = 0;
    const char *base = c->text.data, *end = base + c->text.len;
    for (const char *s = base; (s = memchr(s, '[', (size_t)(end - s))); s++) {
        size_t n = scheme(s + 1);
        const char *p = s + 1 + n, *address = p;
        while (p < end && (unsigned char)*p > ' ' && !strchr("[]\x7F", *p) && !classic_space(p, end))
            p++;
        if (!n || p == address)
            continue;
        while (p < end && classic_space(p, end))
            p += classic_space(p, end);
        const char *label = p;
        const char *stop = end - p > SPAN_TAG_MAX ? p + SPAN_TAG_MAX : end;
        while (p < stop && *p != ']' && ((unsigned char)*p >= ' ' || *p == '\t'))
            p++;
        if (p == end || *p != ']')
            continue;
        put(c, done, (size_t)(s - base));
        if (!is_picture(label, (size_t)(p - label)))
            buf_add(&c->next, label, (size_t)(p - label));
        done = (size_t)(p + 1 - base);
        s = p;
    }
    put(c, done, c->text.len);
    passed(c);
}

/* A target with another prefix than these leads nowhere. */
static int is_dropped(const char *s, size_t n)
{
    static const char *const taken[] = { "w", "wiktionary", "wikt" };
    const char *colon = memchr(s, ':', n);
    if (colon == s) {
        s++, n--;
        colon = memchr(s, ':', n);
        if (colon == s)
            return 0;
    }
    if (!colon)
        return 0;
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        if ((size_t)(colon - s) == strlen(taken[i]) && !memcmp(s, taken[i], strlen(taken[i])))
            return 0;
    return 1;
}

/* The label of a link's inside s[0..n): behind its last pipe that stands before a link in it. */
static void put_link(struct classic *c, const char *s, size_t n)
{
    const char *end = s + n, *pipe = memchr(s, '|', n), *label = s;
    if (is_dropped(s, pipe ? (size_t)(pipe - s) : n))
        return;
    if (pipe) {
        label = pipe + 1;
        size_t depth = 0;
        const char *from = label;
        for (const char *p = s; p + 1 < end; p++) {
            if (p[0] == '[' && p[1] == '[') {
                const char *last = !depth++ && p > from ? memrchr(from, '|', (size_t)(p - from))
                                                        : NULL;
                label = last ? last + 1 : label;
                p++;
            } else if (p[0] == ']' && p[1] == ']' && depth) {
                from = --depth ? from : p + 2;
                p++;
            }
        }
        while (label < end && classic_space(label, end))
            label += classic_space(label, end);
        end = classic_trim_end(label, end);
    }
    buf_add(&c->next, label, (size_t)(end - label));
}

/* The next pair of brackets, [[ or ]], at or after s; NULL at the end. */
static const char *next_brackets(const char *s, const char *end)
{
    for (; s + 1 < end; s++)
        if ((*s == '[' || *s == ']') && s[1] == *s)
            return s;
    return NULL;
}

static void replace_links(struct classic *c)
{
    const char *base = c->text.data, *end = base + c->text.len;
    size_t open = 0;
    c->spans.count = 0;
    for (const char *s = base; (s = next_brackets(s, end)); s += 2) {
        if (*s == '[') {
            mem_grow(c->links, c->links_cap, open + 1);
            c->links[open++] = (size_t)(s - base);
        } else if (open) { /* those inside come first: they are taken over */
            size_t begin = c->links[--open];
            while (c->spans.count && c->spans.items[c->spans.count - 1].begin > begin)
                c->spans.count--;
            spans_add(&c->spans, begin, (size_t)(s + 2 - base));
        }
    }
    size_t done = 0;
    for (size_t i = 0; i < c->spans.count; i++) {
        struct span link = c->spans.items[i];
        put(c, done, link.begin);
        put_link(c, base + link.begin + 2, link.end - link.begin - 4);
        done = link.end;
    }
    put(c, done, c->text.len);
    passed(c);
}

/* ---- quotes -------------------------------------------------------------------------------- */

/* Each `open` ... `close` on one line is `mark` ... `mark`. */
static void replace_quotes(struct classic *c, const char *quote, const char *mark)
{
    size_t n = strlen(quote), done = 0;
    const char *base = c->text.data, *end = base + c->text.len;
    for (const char *s = base; (s = memmem(s, (size_t)(end - s), quote, n));) {
        const char *inside = s + n, *lf = memchr(inside, '\n', (size_t)(end - inside));
        const char *line_end = lf ? lf : end;
        const char *close = memmem(inside, (size_t)(line_end - inside), quote, n);
        if (!close) {
            s = line_end;
            continue;
        }
        put(c, done, (size_t)(s - base));
        buf_adds(&c->next, mark);
        buf_add(&c->next, inside, (size_t)(close - inside));
        buf_adds(&c->next, mark);
        s = close + n;
        done = (size_t)(s - base);
    }
    put(c, done, c->text.len);
    passed(c);
}

/* Quotes twice, ''"x"'' and ""x"", are "x". */
static void merge_quotes(struct classic *c, const char *open, const char *close)
{
    size_t n = strlen(open), done = 0;
    const char *base = c->text.data, *end = base + c->text.len;
    for (const char *s = base; (s = memmem(s, (size_t)(end - s), open, n));) {
        const char *inside = s + n, *quote = memchr(inside, '"', (size_t)(end - inside));
        if (!quote)
            break;
        if ((size_t)(end - quote) < n || memcmp(quote, close, n)) {
            s++;
            continue;
        }
        put(c, done, (size_t)(s - base));
        buf_addc(&c->next, '"');
        buf_add(&c->next, inside, (size_t)(quote - inside));
        buf_addc(&c->next, '"');
        s = quote + n;
        done = (size_t)(s - base);
    }
    put(c, done, c->text.len);
    passed(c);
}

static void replace(struct classic *c, const char *what, const char *with)
{
    size_t done = 0;
    for (struct span at; span_find_text(&c->text, done, what, &at); done = at.end) {
        put(c, done, at.begin);
        buf_adds(&c->next, with);
    }
    put(c, done, c->text.len);
    passed(c);
}

static void replace_all_quotes(struct classic *c)
{
    replace_quotes(c, "'''''", "");
    replace_quotes(c, "'''", "");
    merge_quotes(c, "''\"", "\"''");
    replace_quotes(c, "''", "\"");
    merge_quotes(c, "\"\"", "\"\"");
    replace(c, "'''", "");
    replace(c, "''", "\"");
}

/* ---- tags ---------------------------------------------------------------------------------- */

/* The first '>' behind `at`, or 0: nowhere near. */
static size_t first_gt(const struct buf *text, size_t at)
{
    size_t left = text->len - at;
    const char *gt = memchr(text->data + at, '>', left < SPAN_TAG_MAX ? left : SPAN_TAG_MAX);
    return gt ? (size_t)(gt - text->data) : 0;
}

static size_t closing_gt(const struct buf *text, size_t at)
{
    while (at < text->len && isspace((unsigned char)text->data[at]))
        at++;
    return text->data[at] == '>' ? at : 0;
}

/* Behind one of the tags `names` (ending with NULL) at text[at]; 0: there is none. */
static size_t tag_of(const struct buf *text, size_t at, const char *const *names, int quotes)
{
    for (; *names; names++) {
        size_t name = span_tag(text, at, *names, 0, quotes), gt = 0;
        if (name)
            gt = quotes ? span_tag_end(text, name) : first_gt(text, name);
        else if ((name = span_tag(text, at, *names, 1, 0)))
            gt = closing_gt(text, name);
        if (gt)
            return gt + 1;
    }
    return 0;
}

/* Tags that part: what they part is not to run together. */
static void replace_breaks(struct classic *c, const char *const *names, int quotes, char with)
{
    const struct buf *text = &c->text;
    size_t done = 0;
    for (const char *s = text->data; (s = strchr(s, '<'));) {
        size_t at = (size_t)(s - text->data), end = tag_of(text, at, names, quotes);
        if (!end) {
            s++;
            continue;
        }
        put(c, done, at);
        const char *behind = text->data + end, *stop = text->data + text->len;
        if (at && !classic_space_before(text->data, s) && behind < stop &&
            !classic_space(behind, stop))
            buf_addc(&c->next, with);
        done = end;
        s = behind;
    }
    put(c, done, text->len);
    passed(c);
}

/* Behind a <tag/> at text[at]; 0: there is none. */
static size_t empty_tag(const struct buf *text, size_t at)
{
    static const char *const names[] = { "nobr",   "ref",            "references",
                                         "nowiki", "templatestyles", "section" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t name = span_tag(text, at, names[i], 0, 1), gt = name ? span_tag_end(text, name) : 0;
        size_t last = gt;
        while (last > name && isspace((unsigned char)text->data[last - 1]))
            last--;
        if (gt && (!i || (last > name && text->data[last - 1] == '/')))
            return gt + 1;
    }
    return 0;
}

/* Comments, empty tags, and the tags whose content stays. */
static void drop_tags(struct classic *c)
{
    static const char *const ignored[] = {
        "abbr", "b",         "bdi",  "big", "blockquote", "cite", "div",    "em",     "font",
        "hiero", "i",        "kbd",  "nowiki", "plaintext", "poem", "s",    "section", "span",
        "strike", "strong",  "sub",  "sup", "tt",         "u",    "var",    NULL,
    };
    const struct buf *text = &c->text;
    struct span close = { 0, 0 };
    int comments = 1; /* perhaps there is one more */
    c->spans.count = 0;
    for (const char *s = text->data; (s = strchr(s, '<'));) {
        size_t at = (size_t)(s - text->data), end = 0;
        if (comments && !strncmp(s, "<!--", 4)) {
            comments = span_find_text(text, at + 4, "-->", &close);
            end = comments ? close.end : 0;
        }
        if (!end)
            end = empty_tag(text, at);
        size_t other = tag_of(text, at, ignored, 0);
        if (!end || (other && other < end))
            end = other;
        if (end)
            spans_add(&c->spans, at, end);
        s = end ? text->data + end : s + 1;
    }
    drop_spans(c);
}

/* Elements that go with their content, and closing tags of those that are not open. */
static void drop_elements(struct classic *c)
{
    static const char *const elements[] = {
        "gallery",  "timeline", "noinclude", "pre",         "table",        "tr",     "td",
        "th",       "caption",  "div",       "form",        "input",        "select", "option",
        "textarea", "ul",       "li",        "ol",          "dl",           "dt",     "dd",
        "menu",     "dir",      "ref",       "references",  "img",          "imagemap",
        "source",   "small",    "inputbox",  "includeonly", "categorytree",
    };
    struct span at;
    for (size_t i = 0; i < sizeof elements / sizeof *elements; i++) {
        if (span_find_open(&c->text, 0, elements[i], &at)) {
            spans_nested(&c->spans, &c->text, span_find_open, elements[i], span_find_close,
                         elements[i]);
            drop_spans(c);
        }
        c->spans.count = 0;
        for (size_t from = 0; span_find_close(&c->text, from, elements[i], &at); from = at.end)
            spans_add(&c->spans, at.begin, at.end);
        if (c->spans.count)
            drop_spans(c);
    }
    replace(c, "<noinclude>", "");
}

/* <syntaxhighlight …>x</syntaxhighlight> is x, in which nothing is a tag. */
static void protect_code(struct classic *c)
{
    static const char open[] = "<syntaxhighlight ", close[] = "</syntaxhighlight>";
    size_t done = 0;
    for (struct span at, end; span_find_text(&c->text, done, open, &at);) {
        size_t gt = first_gt(&c->text, at.end);
        if (!gt || !span_find_text(&c->text, gt + 1, close, &end))
            break;
        put(c, done, at.begin);
        for (size_t i = gt + 1; i < end.begin; i++)
            classic_put_escaped(&c->next, c->text.data[i], 1);
        done = end.end;
    }
    put(c, done, c->text.len);
    passed(c);
}

/* ---- the rest ------------------------------------------------------------------------------ */

static void drop_switches(struct classic *c)
{
    static const char *const switches[] = {
        "NOTOC",        "FORCETOC", "TOC",      "NEWSECTIONLINK", "NONEWSECTIONLINK",
        "NOGALLERY",    "HIDDENCAT", "NOCC",    "NOCONTENTCONVERT", "NOTITLECONVERT",
        "NOTC",         "START",    "END",      "INDEX",          "NOINDEX",
        "STATICREDIRECT", "DISAMBIG", "NOEDITSECTION",
    };
    c->spans.count = 0;
    for (const char *s = c->text.data; (s = strstr(s, "__"));) {
        size_t n = 0;
        for (size_t i = 0; i < sizeof switches / sizeof *switches && !n; i++) {
            size_t len = strlen(switches[i]);
            if (!strncmp(s + 2, switches[i], len) && !strncmp(s + 2 + len, "__", 2))
                n = len + 4;
        }
        if (n)
            spans_add(&c->spans, (size_t)(s - c->text.data), (size_t)(s - c->text.data) + n);
        s += n ? n : 1;
    }
    drop_spans(c);
}

static void resolve_references(struct classic *c)
{
    const char *s = c->text.data, *end = s + c->text.len;
    while (s < end) {
        unsigned code_point;
        size_t n = *s == '&' ? entity_read(s, (size_t)(end - s), &code_point) : 0;
        if (n)
            buf_add_utf8(&c->next, code_point);
        else
            buf_addc(&c->next, *s);
        s += n ? n : 1;
    }
    passed(c);
}

/* Each element `name` is a word with its number; equal ones have the first one's. */
static void number_elements(struct classic *c, const char *name, const char *word)
{
    struct nameset *seen = NULL;
    size_t *numbers = NULL, cap = 0, count = 0, done = 0;
    struct span open, close;
    for (size_t from = 0; span_find_open(&c->text, from, name, &open); from = close.end) {
        if (!span_find_close(&c->text, open.end, name, &close))
            break;
        const char *s = c->text.data + open.begin;
        size_t n = close.end - open.begin;
        seen = seen ? seen : nameset_new();
        count++;
        long place = nameset_find(seen, s, n);
        if (place < 0) {
            nameset_add(seen, s, n);
            place = (long)nameset_count(seen) - 1;
            mem_grow(numbers, cap, (size_t)place + 1);
            numbers[place] = count;
        }
        put(c, done, open.begin);
        buf_addf(&c->next, "%s_%zu", word, numbers[place]);
        done = close.end;
    }
    nameset_free(seen);
    free(numbers);
    put(c, done, c->text.len);
    passed(c);
}

struct classic *classic_new(void)
{
    struct classic *c = mem_zalloc(1, sizeof *c);
    buf_init(&c->text);
    buf_init(&c->next);
    return c;
}

void classic_free(struct classic *c)
{
    if (!c)
        return;
    buf_release(&c->text);
    buf_release(&c->next);
    free(c->spans.items);
    free(c->braces);
    free(c->links);
    free(c);
}

void classic_clean(struct classic *c, const char *title, const char *text, size_t n,
                   struct buf *out)
{
    static const char *const lines[] = { "br", "hr", NULL };
    static const char *const blocks[] = { "p", "center", "h1", "h2", "h3", "h4", NULL };
    c->title = title;
    buf_clear(&c->text);
    buf_add(&c->text, text, n);
    buf_clear(&c->next);
    drop_templates(c);
    spans_nested(&c->spans, &c->text, span_find_text, "{|", span_find_text, "|}");
    drop_spans(c);
    replace_addresses(c);
    replace_links(c);
    drop_switches(c);
    protect_code(c);
    replace_all_quotes(c);
    replace_breaks(c, lines, 1, ' ');
    replace_breaks(c, blocks, 0, '\n');
    drop_tags(c);
    drop_elements(c);
    resolve_references(c);
    number_elements(c, "math", "formula");
    number_elements(c, "code", "codice");
    replace(c, "<<", "«");
    replace(c, ">>", "»");
    classic_tidy(&c->text, &c->next);
    classic_write_lines(&c->next, out);
}
