/*
 * utf8.h - UTF-8: reads characters, finds invalid bytes and replaces them.
 */
#pragma once

#include "common/base/buf.h"

/* Returns the code point at p, which must be valid UTF-8. Sets *len to its length in bytes. */
static inline uint32_t utf8_get(const unsigned char *p, size_t *len)
{
    uint32_t c = p[0];
    if (c < 0x80) {
        *len = 1;
        return c;
    }
    if (c < 0xE0) {
        *len = 2;
        return (c & 0x1F) << 6 | (p[1] & 0x3Fu);
    }
    if (c < 0xF0) {
        *len = 3;
        return (c & 0x0F) << 12 | (p[1] & 0x3Fu) << 6 | (p[2] & 0x3Fu);
    }
    *len = 4;
    return (c & 0x07) << 18 | (p[1] & 0x3Fu) << 12 | (p[2] & 0x3Fu) << 6 | (p[3] & 0x3Fu);
}

/* Reads the character at the start of s[0..n), n > 0, which may be any bytes. Sets *c and returns
 * the character's length. A byte that does not start a complete character counts as a character of
 * length 1 whose code point is the byte. Overlong forms and surrogates are accepted; code points
 * beyond U+10FFFF are not. */
static inline size_t utf8_read(const char *s, size_t n, unsigned *c)
{
    unsigned first = (unsigned char)*s;
    *c = first;
    if (first < 0xC2 || first > 0xF4)
        return 1;
    size_t len = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    if (len > n)
        return 1;
    unsigned code = first & (0x7Fu >> len);
    for (size_t i = 1; i < len; i++) {
        if (((unsigned char)s[i] & 0xC0) != 0x80)
            return 1;
        code = code << 6 | ((unsigned char)s[i] & 0x3F);
    }
    if (code > 0x10FFFF)
        return 1;
    *c = code;
    return len;
}

/* As utf8_read, for the character at the end of s[0..n). Returns 0 and sets *c to 0 if n is 0. */
static inline size_t utf8_last(const char *s, size_t n, unsigned *c)
{
    size_t k = 1;
    while (k < n && k < 4 && ((unsigned char)s[n - k] & 0xC0) == 0x80)
        k++;
    *c = 0;
    if (n && utf8_read(s + n - k, k, c) == k)
        return k;
    *c = n ? (unsigned char)s[n - 1] : 0;
    return n > 0;
}

/* Writes a code point as UTF-8, without a NUL; U+FFFD if it is no Unicode scalar value. Returns the
 * number of bytes, 1 to 4; `out` needs room for 4. */
size_t utf8_put(char *out, unsigned code_point);
void utf8_add(struct buf *out, unsigned code_point); /* appends the code point as UTF-8 */

size_t utf8_count(const char *text, size_t n); /* characters that begin in text[0..n) */

/* Returns the byte offset of the character after the first `count` ones, counted as utf8_read does;
 * n if there are no more. */
size_t utf8_offset(const char *s, size_t n, size_t count);

/* Returns the bytes of a byte order mark at the beginning of a text, or 0. */
size_t utf8_mark(const char *text, size_t n);

/* Returns the length of the longest valid prefix in bytes (RFC 3629: no surrogates, no overlong
 * forms). */
size_t utf8_valid(const char *text, size_t n);

/* Appends text[0..n) to `out` and replaces each maximal subpart of an ill-formed sequence by
 * U+FFFD (Unicode standard, section 3.9; Python's errors="replace"). Returns the number of bytes
 * replaced. */
size_t utf8_repair(struct buf *out, const char *text, size_t n);

/* Returns the length of the longest beginning of text[0..n), n > 0, that has at most `most` bytes
 * and divides no character. */
size_t utf8_cut(const char *text, size_t n, size_t most);
