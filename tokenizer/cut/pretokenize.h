/*
 * pretokenize.h - cuts a text into the pieces inside which byte pairs may merge.
 *
 * A splitter is a list of rules; each cuts the pieces of the one before. GPT-2's pattern
 *
 *     's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
 *
 * has a scanner of its own, which goes by the classes of unicode.h. Other patterns are compiled to
 * automata (automaton.h) if all rules can be, else they go through regex.h. The pieces tile the
 * text: what lies between two matches is a piece too.
 */
#ifndef TEXTMILL_TOKENIZER_CUT_PRETOKENIZE_H
#define TEXTMILL_TOKENIZER_CUT_PRETOKENIZE_H

#include <stddef.h>
#include <stdint.h>

struct automaton;
struct regex;

enum split_kind {
    SPLIT_GPT2,    /* the pattern above */
    SPLIT_PATTERN, /* a regular expression; its matches and what is between them */
    SPLIT_STRING,  /* these very bytes, and what is between them */
};

extern const char gpt2_pattern[];

struct split_rule {
    enum split_kind kind;
    char *text; /* pattern or string; NULL for SPLIT_GPT2 */
    size_t len;
    struct regex *regex;
};

enum { SPLIT_RULES_MAX = 8 };

struct splitter {
    struct split_rule rules[SPLIT_RULES_MAX];
    struct automaton *automata[SPLIT_RULES_MAX]; /* NULL: the rule has none */
    int count;
};

/* A pattern equal to GPT-2's becomes SPLIT_GPT2. -1: a bad pattern, or too many rules. */
int splitter_add(struct splitter *s, enum split_kind kind, const char *text, size_t n);

/* The rule that was added last cuts bytes, each as if it were a character of its own, which
 * points[] names. -1 (no error set): not known how. */
int splitter_of_bytes(struct splitter *s, const uint32_t points[256]);

/* Whether the rule that was added last is certain to match all of each text. */
int splitter_covers(const struct splitter *s);

void splitter_release(struct splitter *s);
int splitter_is_gpt2(const struct splitter *s); /* that pattern and nothing else */
int splitter_scans(const struct splitter *s);   /* all rules have automata */

/* A walk over the pieces of one text; belongs to one thread and may be used again. */
struct split;
struct split *split_new(const struct splitter *s); /* s borrowed */
void split_free(struct split *s);
void split_begin(struct split *s, const char *text, size_t n); /* valid UTF-8, borrowed */

/* Writes the ends of the next pieces: how many, 0 at the end of the text, -1. The first piece
 * begins at 0, each other where the one before ends. */
int split_next(struct split *s, size_t *ends, int max);

#endif
