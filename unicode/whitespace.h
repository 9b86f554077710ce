/*
 * whitespace.h - Unicode white space in UTF-8, as Python's str.isspace() and re's \s have it:
 * U+0009-000D, 001C-0020, 0085, 00A0, 1680, 2000-200A, 2028, 2029, 202F, 205F, 3000.
 *
 * The published scores rest on str.strip() and str.split(), so word counts must follow them.
 */
#ifndef TEXTMILL_UNICODE_WHITESPACE_H
#define TEXTMILL_UNICODE_WHITESPACE_H

#include <stddef.h>

/* A part of someone else's text. */
struct span {
    const char *s;
    size_t n;
};

/* Bytes of the white space that s[0..n) begins with, or ends with; 0 if it does not. */
size_t whitespace_at(const char *s, size_t n);
size_t whitespace_before(const char *s, size_t n);

struct span whitespace_strip(const char *s, size_t n); /* str.strip() */

/* str.split()[-1]: the last word of s[0..n), empty (at its end) if there is none. */
struct span whitespace_last_word(const char *s, size_t n);

#endif
