/*
 * whole.h - finds, without encoding, tokens whose bytes byte pair encoding turns into that one
 * token.
 *
 * Let x and y be such tokens, and let the pair (x, y) merge to z. Encoded alone, x and y are built
 * merge by merge in order of rank, if each merge ranks after the merges that made its parts.
 * Encoded side by side, they are built in the same way, unless at some moment the last token of
 * x's bytes merges first with the first token of y's bytes. The function enumerates the pairs that
 * meet at this border, backwards from (x, y): of the two tokens at the border, the one that was
 * made later is replaced by its part next to the border. If each such pair merges never, or only
 * after the merge that ended the pair, the bytes of z encode to z.
 */
#pragma once

#include "tokenizer/model/merge.h"

struct pairs;

/* For each id below `ids`, sets whole[id] to 1 if it is certain that the token's bytes encode to
 * that one token, else to 0. Tokens with 0 may encode to themselves, too. own_ids[b] is the id of
 * the token that is byte b alone, or -1 for none. `pairs` is the table of the `count` merges. */
void whole_mark(uint8_t *whole, size_t ids, const int64_t own_ids[256], const struct pairs *pairs,
                const struct bpe_merge *merges, size_t count);
