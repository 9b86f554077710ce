/*
 * seams.h - places in a text over which no token reaches, for BPE over characters and Unigram.
 *
 * A merge joins two tokens to one whose characters are theirs, side by side. So where two
 * characters are side by side in no token that a merge makes, nothing is ever merged over the place
 * between them, and the text may be cut there: the ids are the same. A document without
 * pre-tokenization becomes words that way. So it is with Unigram's tokens. A row of unknown
 * characters may be one token, so that nothing is cut between two characters that have none;
 * without an unknown token they are left out, so that nothing is cut beside them.
 */
#ifndef TEXTMILL_TOKENIZER_MODEL_SEAMS_H
#define TEXTMILL_TOKENIZER_MODEL_SEAMS_H

#include <stddef.h>
#include <stdint.h>

struct vocabulary;
struct seams;

/* NULL: texts of this vocabulary cannot be cut, as it has prefixes or suffixes, merges bytes or
 * the unknown token, or asks for whole pieces. */
struct seams *seams_new(const struct vocabulary *v);
void seams_free(struct seams *s);

/* Writes the ends of the next parts of text[at..n), valid UTF-8, at < n: how many, up to max. Some
 * seams may be missed. */
size_t seams_cut(const struct seams *s, const char *text, size_t n, size_t at, size_t *ends,
                 size_t max);

#endif
