/*
 * gpt2.h - cuts a text as GPT-2's pattern does, 64 bytes at a step:
 *
 *     's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
 *
 * Said by where pieces begin: a run of letters, of numbers or of others begins one, unless a U+0020
 * in front of it does; so do the first and the last character of white space, the latter since the
 * run gives it away to what follows; and what follows a contraction. The classes are those of
 * unicode.h.
 */
#ifndef TEXTMILL_TOKENIZER_CUT_GPT2_H
#define TEXTMILL_TOKENIZER_CUT_GPT2_H

#include <stddef.h>
#include <stdint.h>

/* A walk over the pieces of one text. */
struct gpt2 {
    const unsigned char *text;
    size_t n;
    const uint8_t *classes;
    size_t block, next; /* the block whose pieces are given out, and the one behind it */
    uint64_t begins;    /* of these, the ones still to be given out */
    int last, blank;    /* class of the byte before the next block, -1 for none; it is U+0020 */
    uint64_t add, drop; /* what a contraction says of where the next block's pieces begin */
};

void gpt2_begin(struct gpt2 *g, const char *text, size_t n); /* valid UTF-8, borrowed */

/* Writes the ends of the next pieces: how many, 0 at the end of the text. */
int gpt2_next(struct gpt2 *g, size_t *ends, int max);

#endif
