#include "unicode/whitespace.h"

/* Returns 1 if the three bytes at p are a white space character. */
static int is_wide(const unsigned char *p)
{
    if (p[0] == 0xE1)
        return p[1] == 0x9A && p[2] == 0x80;
    if (p[0] == 0xE3)
        return p[1] == 0x80 && p[2] == 0x80;
    if (p[0] != 0xE2)
        return 0;
    if (p[1] == 0x81)
        return p[2] == 0x9F;
    return p[1] == 0x80 &&
           ((p[2] >= 0x80 && p[2] <= 0x8A) || p[2] == 0xA8 || p[2] == 0xA9 || p[2] == 0xAF);
}

size_t whitespace_wide_at(const char *s, size_t n)
{
    const unsigned char *p = (const unsigned char *)s;
    if (n >= 2 && p[0] == 0xC2)
        return p[1] == 0x85 || p[1] == 0xA0 ? 2 : 0;
    return n >= 3 && is_wide(p) ? 3 : 0;
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
