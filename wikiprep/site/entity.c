#include "wikiprep/site/entity.h"

#include "common/base/utf8.h"
#include "wikiprep/values/span.h"

static int compare(const void *key, const void *item)
{
    return strcmp(key, ((const struct entity *)item)->name);
}

static size_t read_number(const char *s, size_t n, unsigned *code_point)
{
    size_t i = 2;
    unsigned base = 10, value = 0;
    if (i < n && (s[i] | 0x20) == 'x')
        base = 16, i++;
    size_t first = i;
    for (; i < n && s[i] != ';'; i++) {
        const int digit = hex_digit(s[i]);
        if (digit < 0 || (unsigned)digit >= base)
            return 0;
        value = value * base + (unsigned)digit;
        if (value > 0x10FFFF)
            return 0;
    }
    if (i == n || i == first)
        return 0;
    *code_point = value;
    return i + 1;
}

/* As entity_read, but a number may be of any character. */
static size_t read_any(const char *s, size_t n, unsigned *code_point)
{
    if (n > 2 && s[1] == '#')
        return read_number(s, n, code_point);
    char name[ENTITY_MAX_BYTES + 1];
    size_t len = 0;
    for (size_t i = 1; i < n && s[i] != ';'; i++) {
        char c = s[i];
        int word = c & 0x80 || (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
        if (!word || len == ENTITY_MAX_BYTES)
            return 0;
        name[len++] = c;
    }
    if (!len || len + 1 >= n)
        return 0;
    name[len] = '\0';
    const struct entity *found = bsearch(name, entities, entities_count, sizeof *entities, compare);
    if (!found)
        return 0;
    *code_point = found->code_point;
    return len + 2;
}

/* Returns 1 if a number may stand for the character, as in MediaWiki
 * (Sanitizer::validateCodepoint): not for control characters, nor for halves of surrogate pairs. */
static int is_allowed(unsigned c)
{
    return c == '\t' || c == '\n' || (c >= ' ' && c < 0x7F) || (c >= 0xA0 && c < 0xD800) ||
           (c >= 0xE000 && c < 0xFFFE) || c >= 0x10000;
}

size_t entity_read(const char *s, size_t n, unsigned *code_point)
{
    unsigned c;
    const size_t len = read_any(s, n, &c);
    if (!len || !is_allowed(c))
        return 0;
    *code_point = c;
    return len;
}

void entity_decode(struct buf *out, const char *s, size_t n)
{
    for (const char *end = s + n; s < end;) {
        const char *amp = span_until(s, end, '&');
        buf_add(out, s, (size_t)(amp - s));
        if (amp == end)
            return;
        unsigned c = '&';
        size_t len = read_any(amp, (size_t)(end - amp), &c);
        utf8_add(out, c);
        s = amp + (len ? len : 1);
    }
}
