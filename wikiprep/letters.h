/*
 * letters.h - characters of UTF-8: upper and lower case, counting.
 */
#ifndef TEXTMILL_LETTERS_H
#define TEXTMILL_LETTERS_H

#include <stddef.h>

#include "common/buf.h"

/* The other case of a code point, where that is one letter; else itself. */
unsigned letter_upper(unsigned c);
unsigned letter_lower(unsigned c);

/* Reads the character at s, n > 0: its length. A byte that begins none counts as one. */
size_t letter_read(const char *s, size_t n, unsigned *c);

/* Appends s[0..n) with each character changed. */
void letter_put(struct buf *out, const char *s, size_t n, unsigned (*change)(unsigned));

/* How many characters, and where the one after `count` of them begins. */
size_t letter_count(const char *s, size_t n);
size_t letter_offset(const char *s, size_t n, size_t count);

#endif
