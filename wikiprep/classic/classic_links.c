/* Replaces or drops templates and links for classic.h, as WikiExtractor does. */
#include "wikiprep/classic/classic_pass.h"

#include <ctype.h>
#include <strings.h>

#include "common/base/choice.h"
#include "unicode/whitespace.h"

/* ---- templates ----------------------------------------------------------------------------- */

/* Appends the value of {{formatnum:1234.50}}, "1,234.5". Text that is not a number is copied. A
 * brace, a pipe or a space follows s[0..n). */
static void put_number(struct buf *out, const char *s, size_t n)
{
    static const char digits[] = "0123456789";
    const size_t sign = n && *s == '-', point = sign + strspn(s + sign, digits);
    size_t end = point + (point < n && s[point] == '.');
    end += strspn(s + end, digits);
    if (end < n || point == sign || n > 15) {
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

/* Appends the value of the call text[begin, end), which includes its braces, if it needs no
 * template: {{!}}, {{PAGENAME}}, {{FULLPAGENAME}} or {{formatnum:...}}. Appends nothing for other
 * calls. */
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
    if (stop - s > (ptrdiff_t)n && !strncasecmp(s, format, n) &&
        !memchr(s, '{', (size_t)(stop - s))) {
        for (s += n; s < stop && isspace((unsigned char)*s); s++)
            ;
        put_number(&c->next, s, (size_t)(stop - s));
    }
}

/* Closes n braces, which end at *end. Returns 1 if this ends the outermost call, which is then
 * text[*begin, *end), else 0. */
static int close_braces(struct classic *c, size_t n, size_t *begin, size_t *end)
{
    struct ranges *open = &c->open;
    *begin = open->items[0].begin;
    while (open->count) {
        struct range *top = &open->items[open->count - 1];
        if (n < top->end) {
            top->end -= n;
            break;
        }
        open->count--;
        n -= top->end;
        if (n <= 1)
            break;
    }
    if (!open->count) {
        *end -= n;
        return 1;
    }
    if (open->count == 1 && open->items[0].end == 1) { /* one of three braces is left open */
        *begin += 1;
        open->count = 0;
        return 1;
    }
    return 0;
}

void classic_drop_templates(struct classic *c)
{
    size_t done = 0, at = 0;
    c->open.count = 0;
    while (at < c->text.len) {
        const char brace = c->text.data[at], braces[] = { brace, '\0' };
        size_t n = brace == '{' || brace == '}' ? strspn(c->text.data + at, braces) : 1;
        if (n >= 2 && brace == '{') {
            size_t count = !c->open.count && n > 3 ? 3 : n;
            spans_add(&c->open, at + (n - count), count);
        } else if (n >= 2 && c->open.count) {
            size_t begin, end = at + n;
            if (close_braces(c, n, &begin, &end)) {
                classic_keep(c, done, begin);
                put_call(c, begin, end);
                done = end;
            }
        }
        at += n;
    }
    classic_finish(c, done);
}

/* ---- links --------------------------------------------------------------------------------- */

static size_t scheme(const char *s)
{
    static const char *const schemes[] = {
        "bitcoin:", "ftp://",   "ftps://",   "geo:",    "git://",       "gopher://", "http://",
        "https://", "irc://",   "ircs://",   "magnet:", "mailto:",      "mms://",    "news:",
        "nntp://",  "redis://", "sftp://",   "sip:",    "sips:",        "sms:",      "ssh://",
        "svn://",   "tel:",     "telnet://", "urn:",    "worldwind://", "xmpp:",     "//",
    };
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++)
        if ((*s | 0x20) == schemes[i][0] && !strncasecmp(s, schemes[i], strlen(schemes[i])))
            return strlen(schemes[i]);
    return 0;
}

/* Returns 1 if a label is the URL of a picture, else 0. Such labels are dropped. */
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

/* Replaces [address label] by its label. */
void classic_replace_addresses(struct classic *c)
{
    size_t done = 0;
    const char *base = c->text.data, *end = base + c->text.len;
    for (const char *s = base; (s = memchr(s, '[', (size_t)(end - s))); s++) {
        size_t n = scheme(s + 1);
        const char *p = s + 1 + n, *address = p;
        while (p < end && (unsigned char)*p > ' ' && !strchr("[]\x7F", *p) &&
               !whitespace_at(p, (size_t)(end - p)))
            p++;
        if (!n || p == address)
            continue;
        for (size_t space; (space = whitespace_at(p, (size_t)(end - p)));)
            p += space;
        const char *label = p;
        const char *stop = end - p > SPAN_TAG_MAX ? p + SPAN_TAG_MAX : end;
        while (p < stop && *p != ']' && ((unsigned char)*p >= ' ' || *p == '\t'))
            p++;
        if (p == end || *p != ']')
            continue;
        classic_keep(c, done, (size_t)(s - base));
        if (!is_picture(label, (size_t)(p - label)))
            buf_add(&c->next, label, (size_t)(p - label));
        done = (size_t)(p + 1 - base);
        s = p;
    }
    classic_finish(c, done);
}

/* Returns 1 if a link with the target s[0..n) is dropped, because the target has a prefix that is
 * none of those that WikiExtractor takes. Else returns 0. */
static int is_dropped(const char *s, size_t n)
{
    const char *colon = memchr(s, ':', n);
    if (colon == s) {
        s++, n--;
        colon = memchr(s, ':', n);
        if (colon == s)
            return 0;
    }
    return colon && choice_find("w|wiktionary|wikt", s, (size_t)(colon - s)) < 0;
}

/* Appends the label of the link whose content is s[0..n). It is the text after the last pipe before
 * a nested link, or without nested links after the first pipe. Without a pipe it is the whole
 * content. */
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
        struct span shown = whitespace_strip(label, (size_t)(end - label));
        label = shown.s;
        end = shown.s + shown.n;
    }
    buf_add(&c->next, label, (size_t)(end - label));
}

/* Returns the next pair of brackets, [[ or ]], at or after s; NULL if there is none. */
static const char *next_brackets(const char *s, const char *end)
{
    for (; s + 1 < end; s++)
        if ((*s == '[' || *s == ']') && s[1] == *s)
            return s;
    return NULL;
}

void classic_replace_links(struct classic *c)
{
    const char *base = c->text.data, *end = base + c->text.len;
    c->spans.count = c->open.count = 0;
    for (const char *s = base; (s = next_brackets(s, end)); s += 2) {
        if (*s == '[') {
            spans_add(&c->open, (size_t)(s - base), 0);
        } else if (c->open.count) { /* replaces the spans of the links inside */
            size_t begin = c->open.items[--c->open.count].begin;
            while (c->spans.count && c->spans.items[c->spans.count - 1].begin > begin)
                c->spans.count--;
            spans_add(&c->spans, begin, (size_t)(s + 2 - base));
        }
    }
    size_t done = 0;
    for (size_t i = 0; i < c->spans.count; i++) {
        struct range link = c->spans.items[i];
        classic_keep(c, done, link.begin);
        put_link(c, base + link.begin + 2, link.end - link.begin - 4);
        done = link.end;
    }
    classic_finish(c, done);
}
