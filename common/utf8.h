/*
 * utf8.h - UTF-8: reads characters, finds what is none, and replaces it.
 */
#ifndef TEXTMILL_COMMON_UTF8_H
#define TEXTMILL_COMMON_UTF8_H

#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"

/* The code point at p, in valid UTF-8; *len becomes its bytes. */
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

/* How many bytes from the start are valid UTF-8 (RFC 3629: no surrogates, nothing overlong). */
size_t utf8_valid(const char *text, size_t n);

/* Appends text[0..n) with U+FFFD for each maximal subpart of what is not UTF-8 (Unicode
 * standard, section 3.9; Python's errors="replace"). Returns how many bytes were replaced. */
size_t utf8_repair(struct buf *out, const char *text, size_t n);

#endif
