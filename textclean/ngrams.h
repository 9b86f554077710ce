/*
 * ngrams.h - runs of n words, by which texts of a test set are found in a corpus.
 *
 * A word is what stands between white space, in lower case, without CCNet's punctuation
 * (UNICODE_IS_CCNET_PUNCTUATION) and without other punctuation (category P).
 */
#pragma once

#include "textclean/firsts.h"

enum { NGRAMS_MOST = 64 }; /* words */

/* The runs of some texts. */
struct ngrams {
    size_t words; /* words in a run */
    size_t least; /* a text with fewer than `words` words, but at least `least`, is one run */
    struct firsts firsts;
    uint8_t lengths[NGRAMS_MOST + 1]; /* lengths[n] 1: there are runs of n words */
};

void ngrams_init(struct ngrams *g, size_t words, size_t least, uint64_t memory);
void ngrams_release(struct ngrams *g);

/* A text's words, working memory for one thread. */
struct ngram_words {
    struct ngram_word {
        size_t begin, end; /* bytes of the text */
        uint64_t sum;      /* hash of all words up to this one */
    } * list;
    size_t count, cap;
    struct buf word; /* working memory */
};
void ngram_words_init(struct ngram_words *w);
void ngram_words_release(struct ngram_words *w);

/* Replaces the words by those of text[0..n). */
void ngram_words_set(struct ngram_words *w, const char *text, size_t n);

/* Adds the runs of the words of text number `source`. Returns their number, or -1 with an error if
 * they do not fit the memory. */
int64_t ngrams_add(struct ngrams *g, const struct ngram_words *w, uint64_t source);

/* Finds the next run from word *at on. Returns 1, and sets *at to its first word, *words to its
 * number of words, and *source to the first text that has it; 0 if there is none. Several threads
 * may search at once. */
int ngrams_find(const struct ngrams *g, const struct ngram_words *w, size_t *at, size_t *words,
                uint64_t *source);
