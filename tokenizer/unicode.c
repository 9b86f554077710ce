#include "tokenizer/unicode.h"

#include <pthread.h>
#include <string.h>

static uint8_t table[UNICODE_LIMIT / 4];
static pthread_once_t table_once = PTHREAD_ONCE_INIT;

static void put_class(const struct unicode_range *r, enum unicode_class class)
{
    for (; r->first <= r->last; r++)
        for (uint32_t c = r->first; c <= r->last; c++)
            table[c >> 2] |= (uint8_t)(class << (c & 3) * 2);
}

static void make_table(void)
{
    put_class(unicode_letters, UNICODE_LETTER);
    put_class(unicode_numbers, UNICODE_NUMBER);
    put_class(unicode_spaces, UNICODE_SPACE);
}

const uint8_t *unicode_classes(void)
{
    pthread_once(&table_once, make_table);
    return table;
}

/* ---- UTF-8 -------------------------------------------------------------------------------- */

static size_t ascii_prefix(const unsigned char *p, size_t n)
{
    size_t i = 0;
    for (; n - i >= 32; i += 32) {
        uint64_t w[4];
        memcpy(w, p + i, sizeof w);
        if ((w[0] | w[1] | w[2] | w[3]) & 0x8080808080808080u)
            break;
    }
    while (i < n && p[i] < 0x80)
        i++;
    return i;
}

/* Bytes of the character at p[0..n), n > 0; if it is none, 0, and *bad becomes the length of the
 * maximal subpart: the longest start of a character, at least one byte. Table 3-7 of the Unicode
 * standard, "well-formed UTF-8 byte sequences". */
static size_t utf8_length(const unsigned char *p, size_t n, size_t *bad)
{
    unsigned char c = p[0], low = 0x80, high = 0xBF;
    size_t want;
    *bad = 1;
    if (c < 0x80)
        return 1;
    if (c < 0xC2 || c > 0xF4)
        return 0;
    want = c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4;
    if (c == 0xE0)
        low = 0xA0;
    else if (c == 0xED)
        high = 0x9F;
    else if (c == 0xF0)
        low = 0x90;
    else if (c == 0xF4)
        high = 0x8F;
    for (size_t i = 1; i < want; i++, low = 0x80, high = 0xBF) {
        if (i >= n || p[i] < low || p[i] > high) {
            *bad = i;
            return 0;
        }
    }
    return want;
}

size_t utf8_valid(const char *text, size_t n)
{
    const unsigned char *p = (const unsigned char *)text;
    size_t i = 0, bad;
    for (;;) {
        i += ascii_prefix(p + i, n - i);
        for (; i < n && p[i] >= 0x80;) {
            size_t len = utf8_length(p + i, n - i, &bad);
            if (!len)
                return i;
            i += len;
        }
        if (i == n)
            return n;
    }
}

void utf8_repair(struct buf *out, const char *text, size_t n)
{
    const unsigned char *p = (const unsigned char *)text;
    for (size_t i = 0; i < n;) {
        size_t good = utf8_valid(text + i, n - i), bad;
        buf_add(out, text + i, good);
        i += good;
        if (i == n)
            break;
        utf8_length(p + i, n - i, &bad);
        buf_adds(out, "\xEF\xBF\xBD");
        i += bad;
    }
}
