/*
 * lanes.h - runs an automaton on 64 parts of a text at once, one in each lane of a vector.
 *
 * A part is 64 bytes. Each lane begins some bytes outside its part, in an arbitrary state, because
 * nearly all states become equal after a few characters. At the end it is checked: each part must
 * have begun in the state in which the neighbouring part ended. If not, the function fails and the
 * text must be processed byte by byte.
 *
 * This needs a processor with AVX-512 and an automaton with few symbols.
 */
#pragma once

#include "common/base/base.h"

struct automaton;

enum { LANES = 64, LANES_BYTES = LANES * 64, LANES_OUTSIDE = 16 };

/* Working memory of one thread. Initialise it with zeroes. */
struct lanes_block;
struct lanes {
    struct lanes_block *blocks; /* one for each 4096 bytes of text */
    size_t cap;
};
void lanes_release(struct lanes *l);

/* Computes where pieces begin in `count` blocks of LANES_BYTES bytes: bit i of marks[w] is for byte
 * 64 w + i, w < 64 * count. `classes` has the classes of these bytes and of 16 more bytes. The
 * first class has AUTOMATON_CUT. `behind` is the backward state after the blocks. Returns 0, or -1
 * without an error set if the result could not be computed. */
int lanes_go(struct lanes *l, const struct automaton *a, const uint8_t *classes, size_t count,
             uint8_t behind, uint64_t *marks);
