/*
 * unigram.h - the tokens of a piece by a unigram language model (Kudo, "Subword regularization",
 * ACL 2018): of all ways to make the piece of tokens, the one with the highest sum of scores.
 *
 * Found by Viterbi's algorithm, from left to right. A character without a token of its own has the
 * lowest score of the vocabulary less 10. A row of such characters becomes its bytes' tokens where
 * the vocabulary falls back to these, else one unknown token.
 */
#ifndef TEXTMILL_TOKENIZER_MODEL_UNIGRAM_H
#define TEXTMILL_TOKENIZER_MODEL_UNIGRAM_H

#include <stddef.h>

#include "common/ids.h"

struct vocabulary;
struct unigram;

struct unigram *unigram_new(const struct vocabulary *v); /* v borrowed; it has scores */
void unigram_free(struct unigram *u);

/* One thread's memory. Starts as zeroes. */
struct unigram_scratch {
    struct unigram_best *best;
    size_t cap;
};
void unigram_scratch_release(struct unigram_scratch *s);

/* Appends the ids of piece[0..n), n > 0, valid UTF-8. -1 with an error: some character is unknown,
 * and there is no token for that; or the piece has 4 GiB or more. */
int unigram_encode(const struct unigram *u, struct unigram_scratch *s, const char *piece, size_t n,
                   struct ids *out);

#endif
