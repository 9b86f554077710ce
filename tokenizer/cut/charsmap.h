/*
 * charsmap.h - SentencePiece's precompiled map of characters: what texts become, as rules that it
 * compiled from a table such as NFKC's.
 *
 * The map is a size in four bytes, a double-array trie of so many bytes, and texts that end with
 * NUL. The trie is Darts-clone's: units of 32 bits, little-endian, with a label, the offset of the
 * children and whether one of these is the value, which is where the text begins.
 */
#ifndef TEXTMILL_TOKENIZER_CUT_CHARSMAP_H
#define TEXTMILL_TOKENIZER_CUT_CHARSMAP_H

#include <stddef.h>

#include "common/buf.h"

struct charsmap;

struct charsmap *charsmap_new(const char *bytes, size_t n); /* copied; NULL with an error */
void charsmap_free(struct charsmap *m);

/* Appends text[0..n), valid UTF-8, after the map: SentencePiece replaces the longest text that the
 * map has at each place. */
void charsmap_longest(const struct charsmap *m, struct buf *out, const char *text, size_t n);

/* The same as Hugging Face's tokenizers do it: by grapheme clusters. One of less than 6 bytes
 * becomes what the map has for the shortest start of it; else its characters do, one by one. */
struct regex;
struct regex_scratch;
int charsmap_clusters(const struct charsmap *m, const struct regex *cluster,
                      struct regex_scratch *scratch, struct buf *out, const char *text, size_t n);

#endif
