/*
 * home.h - storage for arrays between their uses. A "home" keeps a set of arrays in a file
 * (mapped.h), in the memory of a GPU's host (offload.h), or in shares on the ranks (shared.h).
 *
 * Arrays are used in a memory of limited size, the "window" of the home. It holds the arrays in use
 * and those that were read ahead. Arrays that always stay in memory have no home.
 */
#pragma once

#include "model/compute/ops.h"
#include "train/program/program.h"

/* The operations of a home on its array i. fetch brings the array into the window, after waiting if
 * needed, and returns it. The array stays there until it was released as often as it was fetched.
 * One that was fetched with MODE_READ must not be changed. expect says that a fetch for `use` will
 * follow: if the window has free space, it begins to bring the array there in the background. */
struct home {
    struct ops_array (*fetch)(struct home *h, int i, enum use_mode use);
    void (*release)(struct home *h, int i, enum use_then then);
    void (*expect)(struct home *h, int i, enum use_mode use);
};

/* Where an array is: it is array `number` of `home` or, if `home` is NULL, `array` in memory. */
struct spot {
    struct home *home;
    int number;
    struct ops_array array; /* its type is also that of an array of a home */
};

static inline struct ops_array spot_fetch(const struct spot *s, enum use_mode use)
{
    struct ops_array a = s->home ? s->home->fetch(s->home, s->number, use) : s->array;
    a.type = s->array.type;
    return a;
}

static inline void spot_release(const struct spot *s, enum use_then then)
{
    if (s->home)
        s->home->release(s->home, s->number, then);
}

static inline void spot_expect(const struct spot *s, enum use_mode use)
{
    if (s->home)
        s->home->expect(s->home, s->number, use);
}
