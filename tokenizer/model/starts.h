/*
 * starts.h - the tokens with which byte pair encoding begins: bytes, or groups of bytes that are
 * certain to merge first.
 *
 * Merges are applied in order of rank. Let tokens x and y merge with rank r. Nothing can happen
 * before this merge if x has no merge of a rank up to r with any token that may come before it, and
 * y has none with any token that may come after it. The merge can then be done at once if its
 * result, too, merges with other tokens only after r. This holds for the bytes of most characters
 * that are not ASCII. When a vocabulary is loaded, this is tested for each pair of first bytes, and
 * for each third byte after such a pair. The tokens that may come before a pair differ: many tokens
 * merge with a space, few with another character.
 */
#pragma once

#include "tokenizer/model/merge.h"

struct pairs;
struct starts;

/* Makes the table of first tokens. `byte_ids`: see bpe_new. `pairs`: the table of the merges. */
struct starts *starts_new(const int64_t byte_ids[256], const struct pairs *pairs,
                          const struct bpe_merge *merges, size_t count);
void starts_free(struct starts *s);

/* Writes the first tokens of piece[0..n), any bytes, to `ids`. Returns their number, at most n. */
size_t starts_put(const struct starts *s, uint32_t *ids, const unsigned char *piece, size_t n);
