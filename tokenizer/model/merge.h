/*
 * merge.h - a merge of byte pair encoding: two neighbouring tokens become one.
 */
#pragma once

#include "common/base/base.h"

struct bpe_merge {
    uint32_t left, right, id; /* ids of the two tokens and of the one that replaces them */
    uint32_t tied; /* 1: as good as the merge before it in the list: of both, the leftmost pair in
                    * the text merges first */
};
