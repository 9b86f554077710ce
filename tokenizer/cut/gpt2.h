/*
 * gpt2.h - cuts a text as GPT-2's pattern does, 64 bytes at a time:
 *
 *     's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
 *
 * A piece begins: at a run of letters, of numbers or of other characters, unless U+0020 precedes
 * the run; at the first character of a run of white space; at the last character of such a run,
 * because the pattern leaves it to the next piece; and after a contraction. The classes are those
 * of unicode.h.
 */
#pragma once

#include "common/base/base.h"

/* The state of an iteration over the pieces of one text. */
struct gpt2 {
    const unsigned char *text;
    size_t n;
    const uint8_t *classes;
    size_t block, next; /* offsets of the block whose pieces are returned now, and of the next */
    uint64_t begins;    /* piece beginnings in the block that were not returned yet */
    int last, blank;    /* `last`: class of the byte before the next block, NO_CLASS for none;
                         * `blank`: 1 if that byte is U+0020 */
    uint64_t add, drop; /* piece beginnings in the next block that a contraction adds and removes */
};

void gpt2_begin(struct gpt2 *g, const char *text, size_t n); /* valid UTF-8, borrowed */

/* Writes the ends of the next pieces, as offsets in the text, to ends[]. Returns their number, at
 * most max; 0 at the end of the text. */
int gpt2_next(struct gpt2 *g, size_t *ends, int max);
