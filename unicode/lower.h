/*
 * lower.h - Python's str.lower(), which the published SQuAD scores depend on.
 *
 * The full lower case mapping of Unicode 14 (section 3.13), as in Python 3.11. Each code point maps
 * to one, except U+0130, which maps to two. A capital sigma becomes the final form (U+03C2) if a
 * cased letter precedes it and none follows it; case-ignorable characters between them are skipped.
 */
#pragma once

#include "common/base/base.h"

/* Appends s[0..n) in lower case. s is valid UTF-8. */
void lower_add(struct buf *out, const char *s, size_t n);

/* Returns 1 if the sigma at s[at] ends its word in s[0..n), which is valid UTF-8: if a cased letter
 * precedes it and none follows it, not counting case-ignorable characters and those in any of the
 * sets (UNICODE_IS_*) (Unicode standard, table 3-17; Python's str.lower). Else returns 0. */
int lower_is_final(const char *s, size_t n, size_t at, unsigned sets);
