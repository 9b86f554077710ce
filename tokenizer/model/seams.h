/*
 * seams.h - places in a text over which no merge reaches, for BPE over characters.
 *
 * A merge joins two tokens to one whose characters are theirs, side by side. So where two
 * characters are side by side in no token that a merge makes, nothing is ever merged over the place
 * between them, and the text may be cut there: the ids are the same. A document without
 * pre-tokenization becomes words that way.
 */
#ifndef TEXTMILL_TOKENIZER_MODEL_SEAMS_H
#define TEXTMILL_TOKENIZER_MODEL_SEAMS_H

#include <stddef.h>
#include <stdint.h>

struct vocabulary;
struct seams;

/* NULL: texts of this vocabulary cannot be cut, as it has prefixes or suffixes, fuses unknown
 * characters, or asks for whole pieces. */
struct seams *seams_new(const struct vocabulary *v);
void seams_free(struct seams *s);

/* Writes the ends of the next parts of text[at..n), valid UTF-8, at < n: how many, up to max. Some
 * seams may be missed. */
size_t seams_cut(const struct seams *s, const char *text, size_t n, size_t at, size_t *ends,
                 size_t max);

#endif
