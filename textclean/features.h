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
    size_t parts, repeated, chars; /* all; those that occurred before; characters in the latter */
};

enum { COUNTS_BITS = 12, FEW_BITS = 13 };

struct features {
    const char *text; /* borrowed; WORDS_PAD bytes after it are readable */
    size_t n;
    size_t chars;
    struct words words;
    size_t word_count; /* words of the text; set if `counted` is 1, even without `words` */
    struct text_line *lines;
    size_t line_count, lines_cap;
    int has_words, counted, has_lines, has_grams;
    struct word_sums {
        size_t with_letter, more, more_chars; /* WORD_HAS_LETTER, WORD_HAS_MORE and their length */
        size_t longest, most; /* of all words: highest length * count, highest count */
    } of;
    int odd_lines;    /* lines may end with other characters than LF */
    int has_dots;     /* there is an ellipsis */
    size_t covered;   /* length of the words that are in any repeated run of GRAM_LEAST words */
    uint8_t *repeats; /* for each word: whether the run that begins with it occurs twice */
    uint32_t *places; /* working memory: the first words of runs that may occur twice */
    size_t repeats_cap, places_cap;
    uint32_t counts[1 << COUNTS_BITS]; /* of words, by their hash */
    uint8_t few[1 << FEW_BITS];        /* working memory */
    uint64_t *sums;                    /* sums[i]: hash of all words before word i */
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

/* Sets the text to text[0..n), n < 2^32, borrowed, and forgets what was found in the old one. */
void features_set(struct features *f, const char *text, size_t n);

/* Find the words, or the lines, of the text unless an earlier call did. */
void features_words(struct features *f);
void features_lines(struct features *f);

/* Returns the characters of text[at..at+n). */
size_t features_chars(const struct features *f, size_t at, size_t n);

/* Returns the bytes of the line at text[at]. Sets *next to the start of the next one or the end of
 * the text. Lines end as in Python's str.splitlines. Keep *line, 0 at first, between calls. */
size_t features_line(struct features *f, size_t *line, size_t at, size_t *next);

/* Count the parts that occurred before. Two LFs or more divide paragraphs. With `blank`, runs of
 * LFs divide lines; without it, each LF does, and blank lines do not count. */
struct repeats features_repeated_paragraphs(struct features *f);
struct repeats features_repeated_lines(struct features *f, int blank);

/* Returns the length of the most frequent run of n words, with blanks between them, times its
 * count. An upper bound is returned instead if it is at most `enough`. */
size_t features_top_grams(struct features *f, int n, size_t enough);

/* Returns the length of the runs of n words, n >= 5, that occurred before, found from left to
 * right, without overlap. An upper bound is returned instead if it is at most `enough`. Runs are
 * equal if their words are; for datatrove, if their joined words are ("a b" and "ab"). */
size_t features_repeated_grams(struct features *f, int n, size_t enough);
