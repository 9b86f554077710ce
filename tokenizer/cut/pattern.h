/*
 * pattern.h - a regular expression as a program of characters, forks and looks ahead, in
 * Oniguruma's dialect.
 *
 * Reads what the patterns of tokenizers are made of: characters and classes (charset.h), groups,
 * (?i:...), alternatives, repetition, greedy, lazy or possessive, and at most one character of
 * lookahead: (?!\S), (?=x), $ and \z. What else there is, such as lookbehind, back references or
 * possessive groups, is left to PCRE2 (regex.h).
 *
 * A match is what backtracking finds: of two branches of a fork the first one that leads to a
 * match. Possessive repetition of one class is the greedy one with "no other such character
 * follows" behind it.
 */
#ifndef TEXTMILL_TOKENIZER_CUT_PATTERN_H
#define TEXTMILL_TOKENIZER_CUT_PATTERN_H

#include <stddef.h>
#include <stdint.h>

#include "tokenizer/cut/charset.h"

enum { PATTERN_SETS = 60, PATTERN_STEPS = 256 };

enum pattern_op {
    PATTERN_MATCH,
    PATTERN_TAKE, /* a character of the set; then `next` */
    PATTERN_LOOK, /* a character of the set follows, or the end of the text if at_end; `next` */
    PATTERN_FORK, /* `next`, or else `other` */
};

struct pattern_step {
    enum pattern_op op;
    int set, at_end;
    int next, other;
};

struct pattern {
    struct pattern_step steps[PATTERN_STEPS];
    int count, start;
    struct classes_set *sets[PATTERN_SETS]; /* all different */
    int set_count;
};

/* NULL (no error set): the pattern has what is not read here, or is none, or matches the empty
 * string. */
struct pattern *pattern_new(const char *text, size_t n, charset_property_fn *theirs);
void pattern_free(struct pattern *e);

#endif
