/*
 * automaton.h - a compiled pattern: two finite automata that cut a text into the matches of the
 * pattern and the stretches between them.
 *
 * Whether a step of the pattern (pattern.h) leads to a match depends on all the text after the
 * current character; backtracking would examine that text again and again. So the first automaton
 * reads the text from its end to its beginning. Its state at a character is the set of steps from
 * which the rest of the text leads to a match. The second automaton reads forward. Its state is one
 * step. At each alternative it takes the first branch that is in the set of the first automaton, so
 * it never backtracks. A piece ends where the second automaton reaches the match, or where the set
 * is empty. (Two such automata are a bimachine: Schützenberger, "A remark on finite transducers",
 * 1961.)
 *
 * The automata read classes of characters: two characters are in one class if every set of the
 * pattern has both or neither. Equal states are merged. The patterns in use become so small that a
 * row of a table is one vector register, and a step is one shuffle instruction.
 */
#pragma once

#include "tokenizer/cut/charset.h"

enum {
    AUTOMATON_STATES = 16,
    AUTOMATON_CLASSES = 32,
    AUTOMATON_CUT = 32, /* flag of a class: a piece must begin at this character */
    AUTOMATON_SYMBOLS = 128,
    AUTOMATON_BLOCK = 64,   /* code points */
    AUTOMATON_BEGIN = 0x10, /* flag of a state in `forward`: a piece begins at this character */
    AUTOMATON_STATE = 0x0F,
};

struct automaton {
    /* The backward automaton: back[class][state] is the state before a character of this class, if
     * `state` is the one after it. symbols[class][state] is the symbol for this pair. A symbol is
     * a row of `forward`: forward[symbol][state] is the next state of the forward automaton. */
    _Alignas(64) uint8_t back[2 * AUTOMATON_CLASSES][AUTOMATON_STATES];
    _Alignas(64) uint8_t symbols[2 * AUTOMATON_CLASSES][AUTOMATON_STATES];
    _Alignas(64) uint8_t forward[2 * AUTOMATON_SYMBOLS][AUTOMATON_STATES];
    int back_count, symbol_count;
    uint8_t back_end;   /* backward state at the end of a text */
    uint8_t start;      /* forward state at the beginning of a text */
    uint8_t tail;       /* class of the bytes of a character after its first */
    uint8_t bytes[256]; /* class of each ASCII byte; all other bytes have the class `tail` */
    int of_bytes;       /* the automaton cuts bytes; each byte counts as a character with the class
                           bytes[byte] */
    int covers;         /* the matches of the pattern cover every text completely */
    int skips_ascii;    /* no match contains an ASCII character */
    uint16_t blocks[0x110000 / AUTOMATON_BLOCK];
    uint8_t (*rows)[AUTOMATON_BLOCK]; /* row of `rows` for each block; a row has the classes of the
                                         block's code points */
    size_t row_count;
};

/* Compiles a pattern. `theirs` returns PCRE2's classes (charset.h). Returns NULL, without an error
 * set, if pattern.h cannot read the pattern or it needs too many states. */
struct automaton *automaton_new(const char *pattern, size_t n, charset_property_fn *theirs);
/* Makes the automaton cut bytes, not characters: byte b counts as the code point points[b]. */
void automaton_of_bytes(struct automaton *a, const uint32_t points[256]);
void automaton_free(struct automaton *a);

static inline uint8_t automaton_class(const struct automaton *a, uint32_t code_point)
{
    return a->rows[a->blocks[code_point / AUTOMATON_BLOCK]][code_point % AUTOMATON_BLOCK];
}
