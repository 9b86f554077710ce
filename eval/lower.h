/*
 * lower.h - Python's str.lower(), which the published SQuAD scores rest on.
 *
 * Full lower case mapping of Unicode (section 3.13): code points map one to one, but U+0130 to
 * two, and a capital sigma becomes the final form (U+03C2) after a cased letter with no cased
 * letter behind it, case-ignorable ones passed over. scripts/make-lower-table made the tables
 * (Unicode 14).
 */
#ifndef TEXTMILL_LOWER_H
#define TEXTMILL_LOWER_H

#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"

/* Appends s[0..n), valid UTF-8, in lower case. */
void lower_add(struct buf *out, const char *s, size_t n);

/* ---- the tables: in rising order ------------------------------------------------------------ */

/* first, first + step, ... last become what is `delta` away. */
struct lower_run {
    uint32_t first, last;
    uint32_t step;
    int32_t delta;
};
struct lower_range {
    uint32_t first, last;
};
extern const struct lower_run lower_runs[];
extern const struct lower_range lower_cased[], lower_ignored[];
extern const size_t lower_runs_count, lower_cased_count, lower_ignored_count;

#endif
