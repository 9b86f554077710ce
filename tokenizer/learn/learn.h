/*
 * learn.h - learns the tokens of a vocabulary from words and their counts.
 *
 * Each word is a sequence of units: bytes or characters. Again and again, the most frequent pair
 * of neighbouring tokens becomes a new token (Sennrich et al. 2016). The result is equal, merge by
 * merge, to that of Hugging Face's BpeTrainer: among equally frequent pairs, the one with the
 * smallest (left id, right id) is merged first. The first ids go to the special tokens, the next
 * to the alphabet in order of code points, the rest to the merges. The result depends only on the
 * words, their counts and the options, not on the order of the words or the number of threads.
 *
 * WordPiece is learned in the same way, as by Hugging Face's WordPieceTrainer: each character of a
 * word but the first begins with "##". In WordPieceTrainer, the ids of these units depend on the
 * order of a hash table and differ between runs, and they decide between equally frequent pairs.
 * Here, these units follow the alphabet in order of their code points, if they occur. If the
 * vocabulary has a suffix for the last character of a word, the units with the suffix come after
 * them in the same order.
 */
#pragma once

#include "tokenizer/learn/word_counts.h"
#include "tokenizer/model/vocabulary.h"

struct learn_options {
    int64_t vocabulary_size;    /* number of all tokens, including special tokens */
    const char *const *special; /* these get the first ids */
    size_t special_count;
    /* of learn */
    int64_t min_frequency;  /* a pair that occurs less often is not merged */
    int all_bytes;          /* 1: the alphabet has all 256 bytes; 0: only those that occur */
    const char *initial;    /* characters that are always in the alphabet; NULL: none */
    int64_t alphabet_limit; /* most units in the alphabet: the most frequent ones; 0: no limit */
    /* of learn_unigram */
    double coverage;    /* share of the text that the alphabet covers */
    double shrinking;   /* share of the pieces that remain after each round, below 1 */
    int64_t length_max; /* characters of a piece; at most SEEDS_LENGTH_MAX */
    int64_t seed_count; /* number of pieces to start with */
    int threads;
};

/* Adds special tokens to `v`, which get the next ids. Returns 0, or -1 with an error if one of them
 * is given twice. */
int learn_special(struct vocabulary *v, const char *const *special, size_t count);

/* Learns tokens and merges from `words` and adds them to `v`. v->model and v->byte_level determine
 * the units. If `v` already has tokens and merges, they keep their ids; the words are cut by them
 * first, and new tokens get later ids, as if all had been learned in one run. The result has less
 * than vocabulary_size tokens if too few pairs occur min_frequency times. Returns 0, or -1 with an
 * error if vocabulary_size is too small for the required tokens, or if the text of a special token
 * is also learned. */
int learn(struct vocabulary *v, const struct counted_words *words, const struct learn_options *o);
