/*
 * lanes.h - an automaton on 64 parts of a text at once, one in each lane of a vector.
 *
 * A part is 64 bytes. Each lane begins some bytes outside its part in some state, since nearly all
 * states come to the same after a few characters. Whether they did is seen in the end, where each
 * part must have begun as its neighbour ended; if not, nothing is said, and the text has to go
 * byte by byte.
 *
 * For processors with AVX-512, and automata with few symbols.
 */
#ifndef TEXTMILL_TOKENIZER_CUT_LANES_H
#define TEXTMILL_TOKENIZER_CUT_LANES_H

#include <stddef.h>
#include <stdint.h>

struct automaton;

enum { LANES = 64, LANES_BYTES = LANES * 64, LANES_OUTSIDE = 16 };

/* A text on its way. Starts as zeroes; one thread's memory. */
struct lanes_block;
struct lanes {
    struct lanes_block *blocks; /* of 4096 bytes */
    size_t cap;
};
void lanes_release(struct lanes *l);

/* Fills marks[0..64 * count) for the classes of so many blocks, behind which there are 16 more
 * bytes: bits where pieces begin. `behind` is the automaton's state behind the blocks; the first
 * class has AUTOMATON_CUT. 0, or -1 (no error set). */
int lanes_go(struct lanes *l, const struct automaton *a, const uint8_t *classes, size_t count,
             uint8_t behind, uint64_t *marks);

#endif
