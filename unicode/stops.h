/*
 * stops.h - punctuation marks, as filters of corpora count them.
 */
#pragma once

#include "common/base/base.h"

/* Returns 1 if a sentence may end with the code point: property Sentence_Terminal of Unicode 16,
 * and U+FF61. */
int stops_is_end(uint32_t c);

/* Returns 1 if the code point is in the list of punctuation of CCNet (Wenzek et al. 2020), which
 * published pipelines use: ASCII's marks, controls except tab and LF, and 34 others, one of which
 * is the wide digit 1. */
int stops_is_mark(uint32_t c);
