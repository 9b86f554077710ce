/*
 * learn_unigram.h - learns the pieces of a Unigram vocabulary (Kudo, "Subword regularization:
 * improving neural network translation models with multiple subword candidates", ACL 2018).
 *
 * It starts with many pieces (seeds.h). Again and again it fits their probabilities to the text
 * and removes those that matter least (em.h), until 1.1 times the wanted number remain; of these,
 * the most probable ones are taken. The steps and their constants are those of SentencePiece's
 * trainer. There are two differences: a substring at the end of a word may be a seed even if always
 * the same character follows it, and characters are never removed while learning.
 *
 * The first ids go to the special tokens, the next to the 256 byte tokens <0x00> to <0xFF>, if
 * any, the rest to the pieces, the most probable ones first. The result depends only on the words,
 * their counts and the options.
 */
#pragma once

#include "tokenizer/learn/learn.h"

/* Adds tokens with scores to `v`, an empty Unigram vocabulary; with byte tokens if v->byte_fallback
 * is set. The words begin with U+2581 if a space is before them. The result has less than
 * vocabulary_size tokens if the text has too few substrings that occur twice. Returns 0, or -1 with
 * an error if vocabulary_size is too small for the special tokens, bytes and characters, or if a
 * special token is also learned. */
int learn_unigram(struct vocabulary *v, const struct counted_words *words,
                  const struct learn_options *o);
