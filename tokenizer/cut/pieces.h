/*
 * pieces.h - what a text is cut into before its tokens are found.
 */
#ifndef TEXTMILL_TOKENIZER_CUT_PIECES_H
#define TEXTMILL_TOKENIZER_CUT_PIECES_H

#include <stddef.h>

/* Piece i is text[begins[i]..ends[i]), not empty. Of text[0..readable) every byte may be read, also
 * those that belong to no piece. */
struct pieces {
    const char *text;
    size_t readable;
    const size_t *begins, *ends;
    size_t count;
};

#endif
