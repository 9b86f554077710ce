/*
 * whitespace.h - Unicode white space in UTF-8, as defined by Python's str.isspace() and \s of re:
 * U+0009-000D, 001C-0020, 0085, 00A0, 1680, 2000-200A, 2028, 2029, 202F, 205F, 3000.
 *
 * The published scores are computed with str.strip() and str.split(), so word counts must match
 * them.
 */
#pragma once

#include "common/base/base.h"

/* A borrowed part of a text. */
struct span {
    const char *s;
    size_t n;
};

/* Return the length in bytes of the white space character at the start, or at the end, of s[0..n);
 * 0 if there is none. */
static inline size_t whitespace_at(const char *s, size_t n);
size_t whitespace_before(const char *s, size_t n);

size_t whitespace_word(const char *s,
                       size_t n); /* returns the bytes before the first white space */

struct span whitespace_strip(const char *s, size_t n); /* str.strip() */

/* Returns str.split()[-1], the last word of s[0..n). If there is none, the span is empty and lies
 * at the end. */
struct span whitespace_last_word(const char *s, size_t n);

size_t whitespace_wide_at(const char *s, size_t n); /* whitespace_at beyond ASCII */

static inline size_t whitespace_at(const char *s, size_t n)
{
    const unsigned c = n ? (unsigned char)*s : '-';
    if (c < 0x80)
        return c == ' ' || c - 0x09 < 5 || c - 0x1C < 4;
    return c == 0xC2 || (c >= 0xE1 && c <= 0xE3) ? whitespace_wide_at(s, n) : 0;
}
