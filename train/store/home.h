/*
 * home.h - where arrays are between their uses: in memory, in a file (mapped.h), in the memory of a
 * GPU's host (offload.h), or in shares on the ranks (shared.h).
 *
 * All homes but plain memory have a window: the arrays that are in use, and those that were
 * expected, are there.
 */
#pragma once

#include "model/compute/ops.h"
#include "train/program/program.h"

/* What a home does with array i. fetch returns it in the window, after waiting if needed. It stays
 * there until it was released as often as it was fetched. The caller must not change an array that
 * was fetched with MODE_READ. expect says that a fetch for `use` will follow: if the window has
 * room, fetching begins in the background. */
struct home {
    struct ops_array (*fetch)(struct home *h, int i, enum use_mode use);
    void (*release)(struct home *h, int i, enum use_then then);
    void (*expect)(struct home *h, int i, enum use_mode use);
};

/* The place of an array: the array `number` of a home; or, if home is NULL, `array` in memory. */
struct spot {
    struct home *home;
    int number;
    struct ops_array array; /* its type is also that of an array of a home */
};

struct ops_array spot_fetch(const struct spot *s, enum use_mode use);
void spot_release(const struct spot *s, enum use_then then);
void spot_expect(const struct spot *s, enum use_mode use);
