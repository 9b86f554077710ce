/*
 * unigram.h - encodes a piece with a unigram language model (Kudo, "Subword regularization", ACL
 * 2018): of all ways to divide the piece into tokens, the one with the highest sum of scores.
 *
 * Viterbi's algorithm finds it, from left to right. A character without a token of its own gets
 * the lowest score of the vocabulary minus 10. A run of such characters becomes the tokens of its
 * bytes if the vocabulary has byte fallback, otherwise one unknown token.
 */
#pragma once

#include <stddef.h>

#include "common/base/ids.h"

struct vocabulary;
struct unigram;

struct unigram *unigram_new(const struct vocabulary *v); /* v is borrowed and must have scores */
void unigram_free(struct unigram *u);

/* Working memory of one thread. Initialise it with zeroes. */
struct unigram_scratch {
    struct unigram_best *best;
    size_t cap;
};
void unigram_scratch_release(struct unigram_scratch *s);

/* Appends the ids of piece[0..n), n > 0, valid UTF-8, to `out`. Returns 0, or -1 with an error if a
 * character is unknown and there is no unknown token, or if the piece has 4 GiB or more. */
int unigram_encode(const struct unigram *u, struct unigram_scratch *s, const char *piece, size_t n,
                   struct ids *out);
