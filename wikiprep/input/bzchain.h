/*
 * bzchain.h - the inverse of the Burrows-Wheeler transform (Burrows and Wheeler 1994).
 *
 * Given are the last column L of the sorted rotations of a text, and the row of the rotation that
 * is the text itself. Sorting L stably gives the first column, and so a permutation of the rows:
 *
 *     next[row] = the row of L that holds the byte which the first column has at `row`
 *     text      = L[r1], L[r2], ... with r1 = next[first row], r(i+1) = next[ri]
 *
 * Following `next` is a chain of reads from all over 3.6 MB, each waiting for the one before. So
 * the cycle is cut at rows at equal distances, which lie anywhere in the text. The segments between
 * the cuts are followed side by side, BZCHAIN_LANES at a time, and are put in order afterwards: the
 * processor waits for many reads at once, within a single block.
 */
#ifndef TEXTMILL_WIKIPREP_INPUT_BZCHAIN_H
#define TEXTMILL_WIKIPREP_INPUT_BZCHAIN_H

#include <stddef.h>
#include <stdint.h>

enum {
    BZCHAIN_MAX = 900000, /* bytes of a text */
    BZCHAIN_LANES = 24
};

/* Memory for one thread: 3.6 MB, and BZCHAIN_LANES x 0.9 MB of which a lane uses as much as it
 * follows. */
struct bzchain *bzchain_new(void);
void bzchain_free(struct bzchain *c);

/* A last column. */
struct bzchain_column {
    const uint8_t *bytes;
    size_t n;                      /* 1 to BZCHAIN_MAX */
    const uint32_t *occurs;        /* how often each of 256 bytes is in it */
    size_t middle;                 /* any place, best the middle: both sides are sorted at once */
    const uint32_t *occurs_before; /* how often each byte is in front of that */
};

/* text[0..n) from its last column and the row `first` < n. Columns that no text has (more than one
 * cycle) give some bytes. */
void bzchain_invert(struct bzchain *c, const struct bzchain_column *column, uint32_t first,
                    uint8_t *text);

#endif
