/*
 * pieces.h - the pieces that a text is cut into before they are encoded.
 */
#pragma once

#include <stddef.h>

/* Pieces of a text. Piece i is text[begins[i]..ends[i]) and is not empty. All bytes of
 * text[0..readable) may be read, including bytes that belong to no piece. */
struct pieces {
    const char *text;
    size_t readable;
    const size_t *begins, *ends;
    size_t count;
};
