/*
 * merge.h - a merge of byte pair encoding: two neighbouring tokens become one.
 */
#ifndef TEXTMILL_TOKENIZER_MODEL_MERGE_H
#define TEXTMILL_TOKENIZER_MODEL_MERGE_H

#include <stdint.h>

struct bpe_merge {
    uint32_t left, right, id; /* ids of the two tokens and of the one that replaces them */
};

#endif
