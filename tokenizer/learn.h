/*
 * learn.h - learns a byte-level BPE vocabulary from texts.
 *
 * The texts are cut into words by GPT-2's pattern and the words counted. Then the most frequent
 * pair of neighbouring tokens becomes a token, over and over (Sennrich et al. 2016). The result
 * is the one that Hugging Face's BpeTrainer gives, merge by merge: of pairs that are equally
 * frequent the one with the smallest (left id, right id) comes first; ids go to the special
 * tokens, then to the alphabet in the order of its characters' code points, then to the merges.
 * It depends on the texts and the options alone, neither on the order of words nor on threads.
 */
#ifndef TEXTMILL_LEARN_H
#define TEXTMILL_LEARN_H

#include <stddef.h>
#include <stdint.h>

#include "tokenizer/vocabulary.h"

/* Words and how often each occurs; one thread's. */
struct word_counts;

struct word_counts *word_counts_new(void);
void word_counts_free(struct word_counts *w);
void word_counts_add(struct word_counts *w, const char *text, size_t n); /* cuts and counts */
void word_counts_merge(struct word_counts *into, const struct word_counts *from);
uint64_t word_counts_words(const struct word_counts *w); /* different ones */

struct learn_options {
    uint32_t vocabulary_size; /* of everything */
    uint64_t min_frequency;   /* of a pair, to be merged */
    const char **special;     /* these get the first ids */
    size_t special_count;
    int seen_bytes_only; /* the alphabet: the bytes that occur, not all 256 */
};

/* Fills `v`, which is initialised here. May end with less than vocabulary_size, when no pair
 * occurs min_frequency times. -1: a size too small for the alphabet, or a special token that is
 * learned as well. */
int learn(struct vocabulary *v, const struct word_counts *words, const struct learn_options *o);

#endif
