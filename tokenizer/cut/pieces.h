/*
 * pieces.h - the pieces that a text is cut into before they are encoded.
 */
#pragma once

#include "common/base/base.h"

/* Pieces of a text. Piece i is text[begins[i]..ends[i]). Empty pieces occur only if `given` is not
 * NULL; each stands for an id. All bytes of text[0..readable) may be read, including bytes that
 * belong to no piece. */
struct pieces {
    const char *text;
    size_t readable;
    const size_t *begins, *ends;
    size_t count;
    const uint32_t *given; /* the ids of the empty pieces, in order */
};

/* Returns the pieces begin to end - 1 of p. */
static inline struct pieces pieces_of(const struct pieces *p, size_t begin, size_t end)
{
    return (struct pieces){ p->text,         p->readable, p->begins + begin,
                            p->ends + begin, end - begin, NULL };
}
