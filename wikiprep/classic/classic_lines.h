/*
 * classic_lines.h - cleans up spaces, punctuation and lines after the markup is gone; for
 * classic.c.
 */
#pragma once

#include "common/base/base.h"

/* Returns the length in bytes of the space character at s < end, or 0 if it is none. Knows ASCII's
 * spaces and the common ones of Unicode. */
size_t classic_space(const char *s, const char *end);

/* Returns 1 if the character that ends at s is such a space, else 0. */
int classic_space_before(const char *begin, const char *s);

/* Returns the end of the text [s, end) without the spaces at its end. */
const char *classic_trim_end(const char *s, const char *end);

/* Collapses repeated spaces, removes spaces next to punctuation, repeated dots, and lines without
 * letters. Replaces `out` and destroys `text`. */
void classic_tidy(struct buf *text, struct buf *out);

/* Replaces `out` with the lines of `text` that are kept, and the headings that have text after
 * them, with & < > as entities. */
void classic_write_lines(const struct buf *text, struct buf *out);
