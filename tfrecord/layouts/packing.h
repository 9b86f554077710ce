/*
 * packing.h - sequences of different length put together in rows of equal length.
 *
 * Longest first, each goes to the row in which the least room is left that still takes it (best
 * fit decreasing, over a histogram of the room left: Krell et al., "Efficient Sequence Packing
 * without Cross-contamination", 2021, shortest-pack-first's counterpart). It needs no solver and
 * comes as near to full rows as non-negative least squares do.
 */
#ifndef TEXTMILL_TFRECORD_LAYOUTS_PACKING_H
#define TEXTMILL_TFRECORD_LAYOUTS_PACKING_H

#include <stddef.h>
#include <stdint.h>

#include "tfrecord/layouts/instances.h"

enum { PACKING_MAX = 3 }; /* sequences a row, at most */

struct packing_row {
    uint32_t count;
    uint32_t members[PACKING_MAX]; /* instances, by number */
};

/* Rows of `length` tokens with at most `most` sequences each and `masked` masked tokens in all;
 * each instance is in one. `rows` has room for as many rows as there are instances; returns how
 * many are made. The same for the same instances. */
size_t packing_make(const struct instances *all, uint32_t length, uint32_t masked, uint32_t most,
                    struct packing_row *rows);

#endif
