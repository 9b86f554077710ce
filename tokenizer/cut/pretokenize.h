/*
 * pretokenize.h - cuts a text into pieces. Merges happen only inside a piece.
 *
 * A splitter is a list of rules. Each rule cuts the pieces of the rule before it. GPT-2's pattern
 *
 *     's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
 *
 * has its own scanner, based on the classes of unicode.h. Other patterns are compiled to automata
 * (automaton.h). If that is not possible for one of the rules, all rules use regex.h. The pieces
 * cover the text: the text between two matches is a piece, too.
 */
#pragma once

#include "common/base/base.h"

struct automaton;
struct regex;

enum split_kind {
    SPLIT_GPT2,    /* the pattern above */
    SPLIT_PATTERN, /* a regular expression; cuts at the borders of its matches */
    SPLIT_STRING,  /* a string; cuts at the borders of its occurrences */
};

extern const char gpt2_pattern[];

struct split_rule {
    enum split_kind kind;
    char *text; /* pattern or string; NULL for SPLIT_GPT2 */
    size_t len;
    struct regex *regex;
};

enum { SPLIT_RULES_MAX = 8 };

/* Initialise it with zeroes. */
struct splitter {
    struct split_rule rules[SPLIT_RULES_MAX];
    struct automaton *automata[SPLIT_RULES_MAX]; /* NULL: the rule has no automaton */
    int count;
};

/* Adds a rule. A pattern equal to GPT-2's becomes SPLIT_GPT2. Returns 0, or -1 with an error for a
 * bad pattern or too many rules. */
int splitter_add(struct splitter *s, enum split_kind kind, const char *text, size_t n);

/* Changes the rule that was added last so that it cuts bytes instead of characters; byte b counts
 * as the character points[b]. Returns 0, or -1, without an error set, if a rule has no
 * automaton. */
int splitter_of_bytes(struct splitter *s, const uint32_t points[256]);

/* Returns 1 if the matches of the rule added last are certain to cover every text, else 0. */
int splitter_covers(const struct splitter *s);

void splitter_release(struct splitter *s);
int splitter_is_gpt2(const struct splitter *s); /* 1: GPT-2's pattern is the only rule */
int splitter_scans(const struct splitter *s);   /* 1: all rules have automata */

/* An iteration over the pieces of one text. It belongs to one thread and can be reused for other
 * texts. */
struct split_walk;
struct split_walk *split_new(const struct splitter *s); /* s borrowed */
void split_free(struct split_walk *s);
void split_begin(struct split_walk *s, const char *text, size_t n); /* valid UTF-8, borrowed */

/* Cuts the text of split_begin also at these offsets, as if a text ended and another one began
 * there. They ascend, and are borrowed. Call it only if splitter_scans returns 1. */
void split_also_at(struct split_walk *s, const size_t *offsets, size_t count);

/* Writes the offsets of the ends of the next pieces to ends[]. Returns their number, at most max; 0
 * at the end of the text; -1 with an error. The first piece begins at 0, every other piece at the
 * end of the one before. */
int split_next(struct split_walk *s, size_t *ends, int max);
