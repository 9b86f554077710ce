/*
 * codepoint.h - characters of UTF-8: upper and lower case, counting.
 */
#ifndef TEXTMILL_CODEPOINT_H
#define TEXTMILL_CODEPOINT_H

#include <stddef.h>

#include "common/buf.h"

/* The other case of a code point, where that is one letter; else itself. */
unsigned codepoint_upper(unsigned c);
unsigned codepoint_lower(unsigned c);

/* Reads the character at s, n > 0: its length. A byte that begins none counts as one. */
size_t codepoint_read(const char *s, size_t n, unsigned *c);

/* Appends s[0..n) with each character changed. */
void codepoint_put(struct buf *out, const char *s, size_t n, unsigned (*change)(unsigned));

/* How many characters, and where the one after `count` of them begins. */
size_t codepoint_count(const char *s, size_t n);
size_t codepoint_offset(const char *s, size_t n, size_t count);

#endif
