/*
 * packing.h - packs sequences of different lengths into rows of equal length.
 *
 * Sequences are taken longest first. Each goes to the row with the least free space that is still
 * enough (best fit decreasing, over a histogram of the free space; Krell et al., "Efficient
 * Sequence Packing without Cross-contamination", 2021, describe the opposite order,
 * shortest-pack-first). It needs no solver and fills rows about as well as their non-negative least
 * squares method.
 */
#pragma once

#include "tfrecord/layouts/instances.h"

enum { PACKING_MAX = 3 }; /* most sequences per row of instances */

struct packing_row {
    uint32_t count;
    uint32_t members[PACKING_MAX]; /* indices of instances */
};

/* Packs the instances into rows of `length` tokens. Each row has at most `most` sequences and at
 * most `masked` masked tokens in all. Each instance is in exactly one row. `rows` must have room
 * for all->count rows; returns the number of rows made. The result depends only on the
 * arguments. */
size_t packing_make(const struct instances *all, uint32_t length, uint32_t masked, uint32_t most,
                    struct packing_row *rows);

/* Packs `count` sequences of lengths[i] tokens, each from 1 to `length`, into rows of `length`
 * tokens. Sets order[count] to the sequences row by row, and ends[r] to the end of row r in order;
 * `ends` has room for `count` rows. Returns the number of rows. The result depends only on the
 * arguments. */
size_t packing_fit(const uint32_t *lengths, size_t count, uint32_t length, uint32_t *order,
                   size_t *ends);
