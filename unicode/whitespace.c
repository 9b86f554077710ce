#include "unicode/whitespace.h"

#include "common/base/utf8.h"
#include "unicode/unicode.h"

size_t whitespace_wide_at(const char *s, size_t n)
{
    unsigned c;
    const size_t width = utf8_read(s, n, &c);
    return width > 1 && unicode_is(c, UNICODE_IS_SPACE) ? width : 0;
}

size_t whitespace_before(const char *s, size_t n)
{
    /* A first byte of a character is never inside another character, so looking back is safe. */
    for (size_t width = 1; width <= 3 && width <= n; width++)
        if (whitespace_at(s + n - width, width) == width)
            return width;
    return 0;
}

size_t whitespace_word(const char *s, size_t n)
{
    size_t at = 0;
    while (at < n && !whitespace_at(s + at, n - at))
        at++;
    return at;
}

struct span whitespace_strip(const char *s, size_t n)
{
    size_t width;
    while ((width = whitespace_before(s, n)))
        n -= width;
    while ((width = whitespace_at(s, n))) {
        s += width;
        n -= width;
    }
    return (struct span){ s, n };
}

struct span whitespace_last_word(const char *s, size_t n)
{
    struct span text = whitespace_strip(s, n);
    size_t begin = text.n;
    while (begin && !whitespace_before(text.s, begin))
        begin--;
    return (struct span){ text.s + begin, text.n - begin };
}
