#include "wikiprep/values/span.h"

#include <ctype.h>
#include <strings.h>

#include "common/base/utf8.h"
#include "unicode/unicode.h"
#include "wikiprep/values/marks.h"

static int is_space_or_mark(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == MARKUP_HOLE || c == MARKUP_EMPTY ||
           c == MARKUP_LINKED || c == MARKUP_BREAK;
}

static int is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r' && c != '\f') || c == '\0';
}

static struct span trim(struct span s, int (*drops)(char c))
{
    while (s.n && drops(*s.s))
        s.s++, s.n--;
    while (s.n && drops(s.s[s.n - 1]))
        s.n--;
    return s;
}

struct span span_trim(struct span s)
{
    return trim(s, is_space_or_mark);
}

struct span span_trim_space(struct span s)
{
    return trim(s, is_space);
}

int span_is(struct span s, const char *text)
{
    return s.n == strlen(text) && !strncasecmp(s.s, text, s.n);
}

int span_in(struct span s, const char *words)
{
    for (struct span word; s.n && span_next(&words, '|', &word);)
        if (word.n == s.n && !strncasecmp(word.s, s.s, s.n))
            return 1;
    return 0;
}

int span_has_word(struct span s, const char *words)
{
    for (size_t n; s.n; s.s += n, s.n -= n) {
        for (n = 0; n < s.n && !isspace((unsigned char)s.s[n]);)
            n++;
        if (span_in((struct span){ s.s, n }, words))
            return 1;
        n += n < s.n;
    }
    return 0;
}

int span_place(struct span s, const char *list)
{
    int place = 0;
    for (const char *w = list; *w; w += *w == '|' || *w == ' ') {
        size_t n = strcspn(w, "| ");
        if (n == s.n && !strncasecmp(w, s.s, n))
            return place;
        w += n;
        place += *w == '|';
    }
    return -1;
}

int span_next(const char **list, char separator, struct span *item)
{
    const char *s = *list;
    if (!*s)
        return 0;
    const char *end = strchrnul(s, separator);
    *item = span_between(s, end);
    *list = end + (*end == separator);
    return 1;
}

struct span span_item(const char *list, int place)
{
    for (struct span item; span_next(&list, '|', &item); place--)
        if (!place)
            return item;
    return (struct span){ "", 0 };
}

int span_copy(struct span s, char *to, size_t size)
{
    if (s.n >= size)
        return 0;
    memcpy(to, s.s, s.n);
    to[s.n] = '\0';
    return 1;
}

int span_truth(struct span s, int otherwise)
{
    if (span_in(s, "yes|y|true|1|on"))
        return 1;
    return span_in(s, "no|n|false|0|off") ? 0 : otherwise;
}

size_t span_digit(struct span s, int *value)
{
    unsigned c = 0;
    const size_t n = s.n ? utf8_read(s.s, s.n, &c) : 0;
    return (*value = unicode_digit(c)) < 0 ? 0 : n;
}

int span_number(struct span s, int *value)
{
    enum { DIGITS_MAX = 9 };
    int v = 0, count = 0, digit;
    for (size_t n; count < DIGITS_MAX && (n = span_digit(s, &digit)); count++, s.s += n, s.n -= n)
        v = v * 10 + digit;
    if (!count || s.n)
        return 0;
    *value = v;
    return 1;
}
