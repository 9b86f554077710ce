#include "wikiprep/classic/classic_spans.h"

#include <ctype.h>
#include <strings.h>

static size_t skip_spaces(const struct buf *text, size_t at)
{
    while (at < text->len && isspace((unsigned char)text->data[at]))
        at++;
    return at;
}

int span_find_text(const struct buf *text, size_t from, const char *what, struct range *found)
{
    if (from > text->len)
        return 0;
    size_t n = strlen(what);
    const char *s = bytes_find(text->data + from, text->data + text->len, what, n);
    if (!s)
        return 0;
    found->begin = (size_t)(s - text->data);
    found->end = found->begin + n;
    return 1;
}

size_t span_tag(const struct buf *text, size_t at, const char *name, int closing, int spaces)
{
    size_t n = strlen(name);
    at = spaces ? skip_spaces(text, at + 1) : at + 1;
    if (closing) {
        if (at >= text->len || text->data[at] != '/')
            return 0;
        at = skip_spaces(text, at + 1);
    }
    if (text->len - at < n || (text->data[at] | 0x20) != name[0] ||
        strncasecmp(text->data + at, name, n))
        return 0;
    unsigned char next = (unsigned char)text->data[at + n];
    return isalnum(next) || next == '_' || next >= 0x80 ? 0 : at + n;
}

size_t span_tag_end(const struct buf *text, size_t at)
{
    size_t stop = text->len - at > SPAN_TAG_MAX ? at + SPAN_TAG_MAX : text->len;
    for (; at < stop; at++) {
        char c = text->data[at];
        if (c == '>')
            return at;
        const char *quote = NULL;
        if (c == '"' || c == '\'')
            quote = memchr(text->data + at + 1, c, stop - at - 1);
        if (quote)
            at = (size_t)(quote - text->data);
    }
    return 0;
}

static int find_tag(const struct buf *text, size_t from, const char *what, int closing,
                    struct range *found)
{
    for (const char *s; from < text->len; from = (size_t)(s - text->data) + 1) {
        if (!(s = memchr(text->data + from, '<', text->len - from)))
            return 0;
        size_t begin = (size_t)(s - text->data), end = span_tag(text, begin, what, closing, 1);
        if (end)
            end = closing ? skip_spaces(text, end) : span_tag_end(text, end);
        if (end && (closing ? text->data[end] == '>' : text->data[end - 1] != '/')) {
            *found = (struct range){ begin, end + 1 };
            return 1;
        }
    }
    return 0;
}

int span_find_open(const struct buf *text, size_t from, const char *what, struct range *found)
{
    return find_tag(text, from, what, 0, found);
}

int span_find_close(const struct buf *text, size_t from, const char *what, struct range *found)
{
    return find_tag(text, from, what, 1, found);
}

void spans_add(struct ranges *s, size_t begin, size_t end)
{
    mem_next(s->items, s->count, s->cap) = (struct range){ begin, end };
}

void spans_nested(struct ranges *out, const struct buf *text, span_finder open, const char *opening,
                  span_finder close, const char *closing)
{
    struct range start, end, next;
    out->count = 0;
    if (!open(text, 0, opening, &start))
        return;
    int more = close(text, start.end, closing, &end);
    size_t nest = 0;
    for (next = start; more;) {
        if (!open(text, next.end, opening, &next)) {
            for (; nest && close(text, end.end, closing, &next); nest--)
                end = next;
            spans_add(out, start.begin, end.end);
            return;
        }
        int is_new = 0; /* `next` begins a new span */
        while (more && !is_new && end.end < next.begin) {
            if (nest) {
                size_t last = end.end;
                nest--;
                more = close(text, end.end, closing, &end);
                if (!more) { /* not balanced: one span from the first opening on */
                    size_t begin = out->count ? out->items[0].begin : start.begin;
                    out->count = 0;
                    spans_add(out, begin, last);
                }
            } else {
                spans_add(out, start.begin, end.end);
                start = next;
                more = close(text, next.end, closing, &end);
                is_new = 1;
            }
        }
        nest += !is_new;
    }
}
