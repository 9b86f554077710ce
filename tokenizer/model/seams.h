/*
 * seams.h - finds places in a text that no token crosses, for BPE over characters and for Unigram.
 *
 * A merge joins two tokens into one that has the characters of both. If no token of the model has
 * two given characters side by side, no merge crosses the border between them: a cut there changes
 * no id. So a document without pre-tokenization is divided into short parts. The same holds for the
 * tokens of Unigram, unless two divisions of a text have equal scores: then the rounding of sums
 * decides. SentencePiece's sums go on from part to part (unigram.h); those of Hugging Face begin
 * with a piece, so its pieces are not cut.
 *
 * Unknown characters are an exception. A run of them may become one unknown token, so no cut is
 * made between two unknown characters. If there is no unknown token, unknown characters are left
 * out, so no cut is made next to one.
 */
#pragma once

#include "common/base/base.h"

struct vocabulary;
struct seams;

/* Makes the table of the vocabulary v. Returns NULL if its texts cannot be cut, because it has
 * prefixes or suffixes, has merges of byte tokens or of the unknown token, looks up whole pieces
 * first, or is Hugging Face's Unigram. */
struct seams *seams_new(const struct vocabulary *v);
void seams_free(struct seams *s);

/* Cuts the text[at..n), which is valid UTF-8, with at < n, and writes the offsets of the ends of
 * the first parts to ends[]. Returns the number of ends, at most max. May miss some possible
 * cuts. */
size_t seams_cut(const struct seams *s, const char *text, size_t n, size_t at, size_t *ends,
                 size_t max);
