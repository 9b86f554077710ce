/*
 * wordpiece.h - cuts a word into the pieces of a vocabulary: always the longest that fits, and
 * behind the first one those that begin with "##" (Devlin et al., "BERT", 2019). A word that
 * cannot be cut to its end, or has too many characters, is the unknown token.
 *
 * In linear time: LinMaxMatch (Song, Salcianu, Song, Dopson, Zhou, "Fast WordPiece tokenization",
 * EMNLP 2021). The vocabulary is a trie; where no longer match is possible, a node has the pieces
 * that its string is certain to be cut into ("failure pops") and the node of what is left behind
 * them ("failure link"), so that no byte is read twice.
 */
#ifndef TEXTMILL_TOKENIZER_MODEL_WORDPIECE_H
#define TEXTMILL_TOKENIZER_MODEL_WORDPIECE_H

#include <stddef.h>
#include <stdint.h>

#include "common/ids.h"

struct vocabulary;
struct wordpiece;

extern const char wordpiece_prefix[]; /* "##" */
enum { WORDPIECE_PREFIX_BYTES = 2 };

struct wordpiece *wordpiece_new(const struct vocabulary *v, uint32_t unknown, size_t max_chars);
void wordpiece_free(struct wordpiece *w);

/* Appends the ids of a word, which is not empty. */
void wordpiece_encode(const struct wordpiece *w, const char *word, size_t n, struct ids *out);

#endif
