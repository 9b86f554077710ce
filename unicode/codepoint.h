/*
 * codepoint.h - characters of UTF-8: upper and lower case, counting.
 */
#ifndef TEXTMILL_UNICODE_CODEPOINT_H
#define TEXTMILL_UNICODE_CODEPOINT_H

#include <stddef.h>

#include "common/buf.h"

/* The other case of a code point, where that is one letter; else itself. */
unsigned codepoint_upper(unsigned c);
unsigned codepoint_lower(unsigned c);

/* As a title begins: Georgian, whose capitals are for whole words alone, stays as it is. */
unsigned codepoint_title(unsigned c);

/* Reads the character at s, n > 0: its length. A byte that begins none counts as one. */
static inline size_t codepoint_read(const char *s, size_t n, unsigned *c)
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
    *c = code;
    return len;
}

/* Appends s[0..n) with each character changed. */
void codepoint_put(struct buf *out, const char *s, size_t n, unsigned (*change)(unsigned));

/* Where the character after `count` of them begins. */
size_t codepoint_offset(const char *s, size_t n, size_t count);

#endif
