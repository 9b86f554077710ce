/*
 * automaton.h - a compiled pattern: two finite automata that cut a text into the matches of the
 * pattern and the stretches between them.
 *
 * Whether a step of the pattern (pattern.h) leads to a match depends on all the text behind it;
 * backtracking would try that again and again. So the first automaton reads the text from its end
 * to its beginning. Its state at a character is the set of steps from which the rest of the text
 * leads to a match. The second automaton reads forward. Its state is one step. At each alternative
 * it takes the first branch that is in the set of the first automaton, so it never backtracks. A
 * piece ends where the second automaton reaches the match, or where the set is empty. (Two such
 * automata are a bimachine: Schützenberger, "A remark on finite transducers", 1961.)
 *
 * The automata read classes of characters: two characters are in one class if every set of the
 * pattern has both or neither. Equal states are merged. The patterns in use become so small that a
 * row of a table is one vector register, and a step is one shuffle instruction.
 */
#ifndef TEXTMILL_TOKENIZER_CUT_AUTOMATON_H
#define TEXTMILL_TOKENIZER_CUT_AUTOMATON_H

#include <stddef.h>
#include <stdint.h>

#include "tokenizer/cut/charset.h"

enum {
    AUTOMATON_STATES = 16,
    AUTOMATON_CLASSES = 32,
    AUTOMATON_CUT = 32, /* beside a class: a piece begins at the character in any case */
    AUTOMATON_SYMBOLS = 128,
    AUTOMATON_BLOCK = 64,   /* code points */
    AUTOMATON_BEGIN = 0x10, /* beside a state of `forward`: a piece begins at the character */
    AUTOMATON_STATE = 0x0F,
};

struct automaton {
    /* What becomes of a state of the way back, the row being the character's class; and the symbol
     * of class and state behind the character, which is the row of the way forth. */
    _Alignas(64) uint8_t back[2 * AUTOMATON_CLASSES][AUTOMATON_STATES];
    _Alignas(64) uint8_t symbols[2 * AUTOMATON_CLASSES][AUTOMATON_STATES];
    _Alignas(64) uint8_t forward[2 * AUTOMATON_SYMBOLS][AUTOMATON_STATES];
    int back_count, forward_count, symbol_count;
    uint8_t back_end;   /* the state at the end of a text */
    uint8_t start;      /* the state of the way forth at its begin */
    uint8_t tail;       /* class of a character's bytes behind its first */
    uint8_t bytes[256]; /* classes of ASCII; of all other bytes, the tail's */
    int of_bytes;       /* what is cut is bytes, each the character that bytes[] knows it as */
    int covers;         /* each text is nothing but matches */
    int skips_ascii;    /* no match has ASCII in it */
    uint16_t blocks[0x110000 / AUTOMATON_BLOCK];
    uint8_t (*rows)[AUTOMATON_BLOCK]; /* classes of the code points of a block */
    size_t row_count;
};

/* NULL (no error set): the pattern has what pattern.h does not read, or too many states. */
struct automaton *automaton_new(const char *pattern, size_t n, charset_property_fn *theirs);
/* The automaton cuts bytes from now on, each as if it were a character of its own. */
void automaton_of_bytes(struct automaton *a, const uint32_t points[256]);
void automaton_free(struct automaton *a);

static inline uint8_t automaton_class(const struct automaton *a, uint32_t code_point)
{
    return a->rows[a->blocks[code_point / AUTOMATON_BLOCK]][code_point % AUTOMATON_BLOCK];
}

#endif
