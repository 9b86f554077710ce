/*
 * features.h - what the rules of textclean ask about a text: its words, lines and paragraphs, each
 * found once, when a rule asks first.
 *
 * Lengths are in characters.
 */
#pragma once

#include "textclean/words.h"

/* A line, without its LF. There is one after the last LF, too, which may be empty. */
struct text_line {
    uint32_t at, bytes;
    uint64_t hash;
};

/* Parts of a text that occurred before in it. */
struct repeats {
    size_t parts, repeated, chars; /* all; those that repeat another; the length of these */
};

enum { COUNTS_BITS = 12, FEW_BITS = 13 };

struct features {
    const char *text; /* borrowed; WORDS_PAD bytes after it are readable */
    size_t n;
    size_t chars;
    struct words words;
    size_t word_count; /* words of the text, also if has_words is 0 and counted is 1 */
    struct text_line *lines;
    size_t line_count, lines_cap;
    int has_words, counted, has_lines, has_grams;
    struct word_sums {
        size_t with_letter, more, more_chars; /* WORD_HAS_LETTER, WORD_HAS_MORE and their length */
        size_t longest, most;                 /* highest length times count, highest count */
    } of;
    int odd_lines;    /* lines may end with other characters than LF */
    int has_dots;     /* there is an ellipsis */
    size_t covered;   /* length of the words that are in any repeated run of GRAM_LEAST words */
    uint8_t *repeats; /* for each word: whether the run that begins with it occurs twice */
    uint32_t *places; /* working memory: runs that may */
    size_t repeats_cap, places_cap;
    uint32_t counts[1 << COUNTS_BITS]; /* of words, by their hash */
    uint8_t few[1 << FEW_BITS];        /* working memory */
    uint64_t *sums;                    /* hashes of the words before each word */
    size_t sums_cap;
    struct seen { /* hash table, working memory */
        struct seen_slot {
            uint64_t hash;
            uint32_t count, first;
        } * slots;
        size_t count, cap;
    } seen;
    struct buf lower; /* the text with ASCII in lower case, working memory of c4.h */
};

void features_init(struct features *f);
void features_release(struct features *f);

/* Begins with the text[0..n), n < 2^32, which is borrowed. */
void features_set(struct features *f, const char *text, size_t n);

/* Find the words, and the lines, unless they are there. */
void features_words(struct features *f);
void features_lines(struct features *f);

/* Returns the characters of text[at..at+n). */
size_t features_chars(const struct features *f, size_t at, size_t n);

/* Returns the bytes of the line that begins at text[at], and sets *next to the start of the next
 * one, or to the end of the text. Lines end as in Python's str.splitlines. *line is 0 at first. */
size_t features_line(struct features *f, size_t *line, size_t at, size_t *next);

/* Repeated paragraphs, divided by two LF or more, and repeated lines: with `blank` divided by runs
 * of LF, without it those that are not blank. */
struct repeats features_repeated_paragraphs(struct features *f);
struct repeats features_repeated_lines(struct features *f, int blank);

/* Returns the length of the most frequent run of n words, with blanks between them, times its
 * count; or a number that is not smaller, if that is at most `enough`. */
size_t features_top_grams(struct features *f, int n, size_t enough);

/* Returns the length of the runs of n words, n >= 5, that occurred before, found from left to
 * right, without overlap; or a number that is not smaller, if that is at most `enough`. Runs are
 * equal if their words are; for datatrove also if only their letters are ("a b" and "ab"). */
size_t features_repeated_grams(struct features *f, int n, size_t enough);
