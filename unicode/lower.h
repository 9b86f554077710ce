/*
 * lower.h - Python's str.lower(), which the published SQuAD scores rest on.
 *
 * Full lower case mapping of Unicode (section 3.13): code points map one to one, but U+0130 to
 * two, and a capital sigma becomes the final form (U+03C2) after a cased letter with no cased
 * letter behind it, case-ignorable ones passed over. Of Unicode 14, as Python 3.11.
 */
#ifndef TEXTMILL_UNICODE_LOWER_H
#define TEXTMILL_UNICODE_LOWER_H

#include <stddef.h>

#include "common/buf.h"

/* Appends s[0..n), valid UTF-8, in lower case. */
void lower_add(struct buf *out, const char *s, size_t n);

#endif
