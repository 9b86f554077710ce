/*
 * merge.h - a merge of byte pair encoding: two neighbouring tokens become one.
 */
#pragma once

#include "common/base/base.h"

struct bpe_merge {
    uint32_t left, right, id; /* ids of the two tokens and of the one that replaces them */
    uint32_t tied; /* 1: tied with the merge before it in the list: of the pairs of both, the
                      leftmost in the text merges first */
};
