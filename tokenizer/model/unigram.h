/*
 * unigram.h - encodes a piece with a unigram language model (Kudo, "Subword regularization", ACL
 * 2018): of all ways to divide the piece into tokens, the one with the highest sum of scores.
 *
 * Viterbi's algorithm finds it, from left to right. A character without a token of its own gets
 * the lowest score of the vocabulary minus 10. A run of such characters becomes the tokens of its
 * bytes if the vocabulary has byte fallback, otherwise one unknown token.
 *
 * SentencePiece (vocabulary.h, `hides`) adds the scores of a whole text as floats; a sum that falls
 * below -100,000 starts again from 0. So if two segmentations are nearly equal, the better one may
 * depend on the text before the piece. unigram_encode then writes the piece's bytes as numbers that
 * are no ids (a packed piece), and unigram_settle replaces them by its tokens. Other pieces can be
 * encoded alone, and be kept in a cache.
 */
#pragma once

#include "common/base/base.h"
#include "common/base/ids.h"

struct vocabulary;
struct unigram;

struct unigram *unigram_new(const struct vocabulary *v); /* v is borrowed and must have scores */
void unigram_free(struct unigram *u);

/* Working memory of one thread. Initialise it with zeroes. */
struct unigram_scratch {
    struct unigram_best *best;
    size_t cap;
    float sum; /* of the scores of the text before; set it to 0 at the beginning of a text */
    struct buf piece;
    struct ids ids;
};
void unigram_scratch_release(struct unigram_scratch *s);

/* Appends the ids of piece[0..n), n > 0, valid UTF-8, to `out`. Returns 0, or -1 with an error if a
 * character is unknown and there is no unknown token, or if the piece has 4 GiB or more. */
int unigram_encode(const struct unigram *u, struct unigram_scratch *s, const char *piece, size_t n,
                   struct ids *out);

/* Completes the ids out->data[from..], which unigram_encode gave for the next pieces of a text.
 * Returns 1, or -1 with an error as unigram_encode. Returns 0 if a sum comes near -100,000; then it
 * removes these ids, and the caller must use unigram_encode_next for the pieces. */
int unigram_settle(const struct unigram *u, struct unigram_scratch *s, struct ids *out,
                   size_t from);

/* As unigram_encode, for the next piece of a text, but the ids are final: never a packed piece. */
int unigram_encode_next(const struct unigram *u, struct unigram_scratch *s, const char *piece,
                        size_t n, struct ids *out);
