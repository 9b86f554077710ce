/*
 * pattern.h - compiles a regular expression in Oniguruma's syntax to a program of characters,
 * forks and lookaheads.
 *
 * It reads the syntax that tokenizers use: characters and classes (charset.h), groups, (?i:...),
 * alternatives, repetition (greedy, lazy or possessive), and lookahead of at most one character:
 * (?!\S), (?=x), $ and \z. Patterns with other syntax, such as lookbehind, back references or
 * possessive groups, are left to PCRE2 (regex.h).
 *
 * A match is defined by backtracking: at a fork, the first branch that leads to a match is taken. A
 * possessive repetition of one class becomes a greedy one, followed by the condition that no
 * character of the class follows.
 */
#pragma once

#include "tokenizer/cut/charset.h"

enum { PATTERN_SETS = 60, PATTERN_STEPS = 256 };

enum pattern_op {
    PATTERN_MATCH,
    PATTERN_TAKE, /* reads a character of the set; continues at `next` */
    PATTERN_LOOK, /* requires that a character of the set follows, or, if at_end, the end of the
                     text; continues at `next` */
    PATTERN_FORK, /* tries `next` first, then `other` */
};

struct pattern_step {
    enum pattern_op op;
    int set, at_end;
    int next, other;
};

struct pattern {
    struct pattern_step steps[PATTERN_STEPS];
    int count, start;
    struct charset *sets[PATTERN_SETS]; /* no two are equal */
    int set_count;
};

/* Compiles a pattern. `theirs` returns PCRE2's classes (charset.h). Returns NULL, without an error
 * set, if the pattern uses syntax that is not supported, is malformed, is too long, or matches the
 * empty string. */
struct pattern *pattern_new(const char *text, size_t n, charset_property_fn *theirs);
void pattern_free(struct pattern *e);
