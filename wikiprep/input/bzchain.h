/*
 * bzchain.h - the inverse of the Burrows-Wheeler transform (Burrows and Wheeler 1994).
 *
 * The input is the last column L of the sorted rotations of a text, and `first`, the row of the
 * rotation that is the text itself. A stable sort of L gives the first column, and so a permutation
 * of the rows:
 *
 *     next[row] = the row of L that holds the byte which the first column has at `row`
 *     text      = L[r1], L[r2], ... with r1 = next[first], r(i+1) = next[ri]
 *
 * Following `next` reads random places in 3.6 MB, and each read depends on the one before. To avoid
 * waiting for each read, the cycle is cut at rows at equal distances, which are arbitrary positions
 * in the text. BZCHAIN_LANES segments between the cuts are followed at the same time and are put in
 * order afterwards, so that the processor waits for many reads at once within a single block.
 */
#pragma once

#include "common/base/base.h"

enum {
    BZCHAIN_MAX = 900000, /* maximum size of a text in bytes */
    BZCHAIN_LANES = 24
};

/* Allocates the memory of one thread: 3.6 MB, and 0.9 MB of address space per lane; a lane
 * touches only as much as the segments that it follows. */
struct bzchain *bzchain_new(void);
void bzchain_free(struct bzchain *c);

/* The last column of the sorted rotations. */
struct bzchain_column {
    const uint8_t *bytes;
    size_t n;             /* 1 to BZCHAIN_MAX */
    uint32_t occurs[256]; /* number of occurrences of each byte value */
    /* A position in the column. Both sides of it are sorted at once, so the middle is fastest. */
    size_t middle;
    uint32_t before[256]; /* occurrences of each byte value before `middle` */
};

/* Restores text[0..n) from its last column and the row `first` < n of the text. If the column is
 * not that of any text (more than one cycle), the output bytes are arbitrary. */
void bzchain_invert(struct bzchain *c, const struct bzchain_column *column, uint32_t first,
                    uint8_t *text);
