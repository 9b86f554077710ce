/*
 * classic_lines.h - cleans up spaces, punctuation and lines after the markup is gone; for
 * classic.c.
 */
#pragma once

#include "common/base/base.h"

/* Collapses repeated spaces, removes spaces next to punctuation, repeated dots, and lines without
 * letters. Replaces `out` and destroys `text`. */
void classic_tidy(struct buf *text, struct buf *out);

/* Replaces `out` with the lines of `text` that are kept, and the headings that have text after
 * them, with & < > as entities. */
void classic_write_lines(const struct buf *text, struct buf *out);
