#include "wikiprep/text/visible.h"

#include <ctype.h>
#include <strings.h>

#include "wikiprep/text/tag.h"

enum { NAME_MAX_BYTES = 16 };

static const char hidden_classes[] = "error|metadata|noprint|nomobile|sortkey|navbox|cs1-maint|"
                                     "mw-editsection|geo-nondefault|geo-multi-punct|"
                                     "geo-inline-hidden|cs1-hidden-error|cs1-visible-error";

/* ---- one tag --------------------------------------------------------------------------------- */

struct tag {
    struct span name, attributes;
    const char *after; /* after '>' */
    int closing, empty;
};

/* Reads the tag at s, which is at a '<', into *t. Returns 1, or 0 if there is no tag. */
static int read_tag(const char *s, const char *end, struct tag *t)
{
    const char *p = s + 1;
    t->closing = p < end && *p == '/';
    p += t->closing;
    t->name.s = p;
    while (p < end && isalnum((unsigned char)*p))
        p++;
    t->name.n = (size_t)(p - t->name.s);
    if (!t->name.n || t->name.n > NAME_MAX_BYTES)
        return 0;
    t->attributes.s = p;
    p = tag_end(p, end);
    if (p == end || *p != '>')
        return 0;
    t->attributes.n = (size_t)(p - t->attributes.s);
    t->empty = p > t->attributes.s && p[-1] == '/';
    t->after = p + 1;
    return 1;
}

/* Returns 1 if the style gives the property this value, else 0. */
static int has_property(struct span style, const char *property, const char *value)
{
    const size_t n = strlen(property), value_n = strlen(value);
    for (const char *s = style.s, *end = s + style.n; (size_t)(end - s) > n; s++) {
        const int is_it = !strncasecmp(s, property, n) && (s == style.s || s[-1] != '-');
        const char *p = is_it ? span_past(s + n, end, " \t:") : end;
        if ((size_t)(end - p) >= value_n && !strncasecmp(p, value, value_n))
            return 1;
    }
    return 0;
}

int visible_hides(struct span class, struct span style, int hatnotes)
{
    return span_has_word(class, hidden_classes) || has_property(style, "display", "none") ||
           has_property(style, "visibility", "hidden") ||
           (!hatnotes && span_has_word(class, "hatnote|navigation-not-searchable"));
}

int visible_arranges(struct span role, struct span class)
{
    return class.n ? span_has_word(class, "col-begin|cquote|multicol|pullquote")
                   : span_is(role, "presentation");
}

static int is_hidden(const struct tag *t, int hatnotes)
{
    const char *s = t->attributes.s, *end = s + t->attributes.n;
    return !t->closing && !t->empty && t->attributes.n > 6 &&
           visible_hides(tag_attribute(s, end, "class"), tag_attribute(s, end, "style"), hatnotes);
}

/* ---- text ------------------------------------------------------------------------------------ */

/* Returns the position after the end of the element that tag t begins, or NULL if it is not closed.
 * A <span> ends with its paragraph. */
static const char *element_end(const struct tag *t, const char *end)
{
    int depth = 1;
    struct tag inner;
    for (const char *s = t->after; (s = memchr(s, '<', (size_t)(end - s))); s++) {
        if (!read_tag(s, end, &inner) || inner.name.n != t->name.n ||
            strncasecmp(inner.name.s, t->name.s, t->name.n) || inner.empty)
            continue;
        depth += inner.closing ? -1 : 1;
        if (depth)
            continue;
        const int is_cut = span_is(t->name, "span") && bytes_find(t->after, s, "\n\n", 2);
        return is_cut ? NULL : inner.after;
    }
    return NULL;
}

/* Returns 1 if the content of the element that tag t begins is no markup, else 0. */
static int is_literal(const struct tag *t)
{
    return !t->closing && !t->empty && span_in(t->name, "nowiki|pre|source|syntaxhighlight") &&
           !tag_is_wikitext(t->attributes.s, t->attributes.s + t->attributes.n);
}

/* As element_end, for a literal element. */
static const char *literal_end(const struct tag *t, const char *end)
{
    char name[NAME_MAX_BYTES + 1];
    const char *after, *unclosed = NULL;
    span_copy(t->name, name, sizeof name);
    return tag_find_close(t->after, end, name, &after, &unclosed) ? after : NULL;
}

void visible_filter(struct buf *text, int hatnotes)
{
    enum { UNCLOSED_MAX = 64 };
    static const char hole[] = "<ref/>";
    const char *s = text->data, *end = s + text->len, *kept = s;
    char *out = text->data;
    int unclosed = 0, no_close = 0;
    while (unclosed < UNCLOSED_MAX && (s = memchr(s, '<', (size_t)(end - s)))) {
        struct tag t;
        const int is_tag = read_tag(s, end, &t), hidden = is_tag && is_hidden(&t, hatnotes);
        const int literal = is_tag && !hidden && is_literal(&t);
        const char *after = hidden ? element_end(&t, end) : literal ? literal_end(&t, end) : NULL;
        if (span_begins(s, end, "<!--"))
            after = tag_comment_end(s, end, &no_close);
        if (!after || !hidden) {
            unclosed += !after && (hidden || literal);
            s = after ? after : s + 1;
            continue;
        }
        memmove(out, kept, (size_t)(s - kept));
        out += s - kept;
        memcpy(out, hole, sizeof hole - 1); /* an element is longer than `hole` */
        out += sizeof hole - 1;
        kept = s = after;
    }
    memmove(out, kept, (size_t)(end - kept));
    buf_truncate(text, (size_t)(out - text->data) + (size_t)(end - kept));
}
