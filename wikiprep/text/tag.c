#include "wikiprep/text/tag.h"

#include <ctype.h>
#include <strings.h>

#include "common/base/order.h"

static const char blanks[] = " \t";

const struct tag_row *tag_find(const char *s, const char *end, const char **after)
{
    enum { NAME_MAX_BYTES = 16 };
    char text[NAME_MAX_BYTES + 1], *name = text;
    size_t n = 0;
    for (; s + n < end && n < NAME_MAX_BYTES && isalnum((unsigned char)s[n]) && !(s[n] & 0x80); n++)
        name[n] = (char)tolower((unsigned char)s[n]);
    name[n] = '\0';
    *after = s + n;
    return n ? bsearch(&name, tag_rows, tag_rows_count, sizeof *tag_rows, order_texts) : NULL;
}

/* Returns the position after the '=' of the attribute name at s, or NULL if there is no name. */
static const char *after_equals(const char *s, const char *end)
{
    const char *p = s;
    while (p < end && (isalnum((unsigned char)*p) || strchr("-_:.", *p)))
        p++;
    const char *equals = span_past(p, end, blanks);
    return p > s && equals < end && *equals == '=' ? equals + 1 : NULL;
}

/* Returns the position after the quoted value at s, which may have line ends but no blank line and
 * no tag; or s if there is none. */
static const char *skip_quoted(const char *s, const char *end)
{
    const char *p = span_past(s, end, blanks);
    if (p == end || (*p != '"' && *p != '\''))
        return s;
    for (char quote = *p++; p < end && *p != '<' && *p != '>'; p++) {
        if (*p == quote)
            return p + 1;
        if (*p == '\n' && (p + 1 == end || p[1] == '\n'))
            break;
    }
    return s;
}

/* Returns 1 if a tag goes on after the line end at s: with its '>', or with an attribute. */
static int goes_on(const char *s, const char *end)
{
    const char *p = span_past(s + 1, end, blanks);
    if (p < end && *p == '/')
        p++;
    return (p < end && *p == '>') || after_equals(p, end);
}

const char *tag_comment_end(const char *s, const char *end, int *no_close)
{
    const char *close = *no_close ? NULL : bytes_find(s + 4, end, "-->", 3);
    *no_close = !close;
    return close ? close + 3 : span_until(s, end, '\n');
}

const char *tag_end(const char *s, const char *end)
{
    while (s < end && *s != '>' && *s != '<') {
        if (*s == '\n' && !goes_on(s, end))
            break;
        s = *s == '=' ? skip_quoted(s + 1, end) : s + 1;
        while (s < end && (unsigned char)*s > '>') /* letters, for speed */
            s++;
    }
    return s;
}

const char *tag_skip_attributes(const char *s, const char *end)
{
    const char *value;
    while ((value = after_equals(span_past(s, end, blanks), end))) {
        s = skip_quoted(value, end);
        if (s == value)
            while (s < end && !strchr(" \t<>|[]{}", *s))
                s++;
    }
    return s;
}

struct span tag_attribute(const char *s, const char *end, const char *name)
{
    const size_t n = strlen(name);
    for (const char *p = s; (size_t)(end - p) > n; p++) {
        if (*p == '=') /* another attribute: its value may have any words */
            p = skip_quoted(p + 1, end) - 1;
        if ((*p | 0x20) != *name || strncasecmp(p, name, n) || !strchr(" \t=", p[n]))
            continue;
        const char *value = after_equals(p, end);
        if (!value || (p > s && !strchr(" \t\n\"'", p[-1])))
            continue;
        value = span_past(value, end, blanks);
        const char quote = value < end ? *value : ' ', *stop = value;
        if (quote == '"' || quote == '\'') {
            stop = span_until(++value, end, quote);
        } else {
            while (stop < end && !strchr(" \t\n/>", *stop))
                stop++;
        }
        return span_between(value, stop);
    }
    return (struct span){ "", 0 };
}

int tag_is_wikitext(const char *s, const char *end)
{
    return span_is(tag_attribute(s, end, "format"), "wikitext");
}

/* Returns 1 if "<name", which `rest` follows, begins the element again, else 0. In a program's
 * source, the content of <source>, it may be text. */
static int begins_again(const char *name, const char *rest, const char *end)
{
    if (!strcmp(name, "source") || !strcmp(name, "syntaxhighlight"))
        return *rest == '>' || span_begins(rest, end, " lang");
    return !isalnum((unsigned char)*rest);
}

const char *tag_find_close(const char *s, const char *end, const char *name, const char **after,
                           const char **unclosed)
{
    if (*unclosed && s < *unclosed)
        return NULL;
    size_t len = strlen(name);
    int shown = !strcmp(name, "nowiki") || !strcmp(name, "pre");
    const char *from = s; /* line ends are searched from here on, each byte once */
    for (; (s = memchr(s, '<', (size_t)(end - s))); s++) {
        int closing = s + 1 < end && s[1] == '/';
        const char *p = s + 1 + closing;
        if ((size_t)(end - p) <= len || strncasecmp(p, name, len))
            continue;
        p += len;
        if (!closing && begins_again(name, p, end)) {
            if (bytes_find(from, s, "\n\n", shown ? 2 : 1)) {
                *unclosed = s;
                return NULL;
            }
            from = s;
        }
        while (closing && p < end && isspace((unsigned char)*p))
            p++;
        if (closing && p < end && *p == '>') {
            *after = p + 1;
            *unclosed = NULL;
            return s;
        }
    }
    *unclosed = end;
    return NULL;
}
