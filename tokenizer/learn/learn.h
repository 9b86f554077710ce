/*
 * learn.h - learns the tokens of a vocabulary from words and their counts.
 *
 * Each word is a row of units: bytes, or characters. The most frequent pair of neighbouring tokens
 * becomes a token, over and over (Sennrich et al. 2016). The result is the one that Hugging Face's
 * BpeTrainer gives, merge by merge: of pairs that are equally frequent the one with the smallest
 * (left id, right id) comes first; ids go to the special tokens, then to the alphabet in the
 * order of its characters' code points, then to the merges. It depends on the words and the
 * options alone, neither on the words' order nor on threads.
 *
 * WordPiece is learned the same way, as Hugging Face's WordPieceTrainer does: a character behind
 * the first of its word begins with "##". There the ids of these, which decide between equally
 * frequent pairs, depend on the order of a hash table and differ from run to run. Here they
 * follow the alphabet in the order of their code points, those that occur. So do, behind them,
 * characters at the end of a word where the vocabulary has a suffix for these.
 */
#ifndef TEXTMILL_TOKENIZER_LEARN_LEARN_H
#define TEXTMILL_TOKENIZER_LEARN_LEARN_H

#include <stddef.h>
#include <stdint.h>

#include "tokenizer/learn/word_counts.h"
#include "tokenizer/model/vocabulary.h"

struct learn_options {
    uint32_t vocabulary_size; /* of everything */
    uint64_t min_frequency;   /* of a pair, to be merged */
    const char **special;     /* these get the first ids */
    size_t special_count;
    int all_bytes;         /* the alphabet has all 256 bytes, not only those that occur */
    const char *initial;   /* characters that it has in any case; NULL: none */
    size_t alphabet_limit; /* at most so many units, the most frequent ones; 0: all */
};

/* Adds tokens and merges to `v`, which says by its model and byte_level what a unit is. Tokens and
 * merges that it has already keep their ids: the words are cut by them, and what is learned comes
 * behind, as if it had been learned in one go. May end with less than vocabulary_size, when
 * no pair occurs min_frequency times. -1: a size too small for what must be there, or a special
 * token that is learned as well. */
int learn(struct vocabulary *v, const struct counted_words *words, const struct learn_options *o);

#endif
