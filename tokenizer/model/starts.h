/*
 * starts.h - the tokens that byte pair encoding begins with: a character's bytes, or what they are
 * certain to merge to.
 *
 * Merging goes by rank. So nothing comes before the merge of tokens x and y, of rank r, if x with
 * any token in front of it, and y with any behind it, merge later than r or never; it may as well
 * be done first, where what comes of it merges later than r too. That is so for the bytes of most
 * characters that are not ASCII, and is found out for each pair of first bytes, and for each third
 * byte behind it, when a vocabulary is loaded. What may be in front differs: much merges with a
 * space, little with another character.
 */
#ifndef TEXTMILL_TOKENIZER_MODEL_STARTS_H
#define TEXTMILL_TOKENIZER_MODEL_STARTS_H

#include <stddef.h>
#include <stdint.h>

#include "tokenizer/model/merge.h"

struct pairs;
struct starts;

/* `byte_ids`: as for bpe_new; `pairs` are those of the merges. */
struct starts *starts_new(const int64_t byte_ids[256], const struct pairs *pairs,
                          const struct bpe_merge *merges, size_t count);
void starts_free(struct starts *s);

/* Writes the tokens of piece[0..n), any bytes, and returns how many: up to n. */
size_t starts_put(const struct starts *s, uint32_t *ids, const unsigned char *piece, size_t n);

#endif
