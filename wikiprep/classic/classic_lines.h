/*
 * classic_lines.h - spaces, punctuation and lines of what is left of a page: for classic.c.
 */
#ifndef TEXTMILL_WIKIPREP_CLASSIC_CLASSIC_LINES_H
#define TEXTMILL_WIKIPREP_CLASSIC_CLASSIC_LINES_H

#include <stddef.h>

#include "common/buf.h"

/* Bytes of the space at s < end, or 0: ASCII's and the common ones of Unicode. */
size_t classic_space(const char *s, const char *end);
int classic_space_before(const char *begin, const char *s);
const char *classic_trim_end(const char *s, const char *end);

/* & < > as entities, and " with `quotes`. */
void classic_put_escaped(struct buf *out, const char *s, size_t n, int quotes);

/* Spaces in a row, spaces beside punctuation, lines without letters, too many dots or commas; `out`
 * is replaced, and `text` used up. */
void classic_tidy(struct buf *text, struct buf *out);

/* Headings that have text, and the lines that count, with & < > as entities. */
void classic_write_lines(const struct buf *text, struct buf *out);

#endif
