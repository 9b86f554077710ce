/*
 * whole.h - tokens that byte pair encoding makes of their own bytes, without encoding them.
 *
 * Be x and y such tokens, and (x, y) a merge to z. Alone, x and y come about merge by merge, in
 * order of rank if each merge ranks behind those that made its parts; side by side they come about
 * just so, unless at some time the last token of x's bytes and the first of y's merge with one
 * another first. The pairs that meet at the border are found backwards, from (x, y): of the two
 * tokens the one made later gives way to its part next to the border. Where all these pairs merge
 * later than what ended them, or never, z is what its bytes become.
 */
#ifndef TEXTMILL_TOKENIZER_MODEL_WHOLE_H
#define TEXTMILL_TOKENIZER_MODEL_WHOLE_H

#include <stddef.h>
#include <stdint.h>

#include "tokenizer/model/merge.h"

struct pairs;

/* Sets whole[id], id below `ids`, for tokens of which that is certain; others may be so too.
 * own_ids[b] is the id of a token that is byte b, -1 for none; `pairs` are those of the merges. */
void whole_mark(uint8_t *whole, size_t ids, const int64_t own_ids[256], const struct pairs *pairs,
                const struct bpe_merge *merges, size_t count);

#endif
