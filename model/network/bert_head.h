/*
 * bert_head.h - the interface between BERT's encoder (bert.c) and its heads, each in its own file.
 */
#pragma once

#include "model/network/block.h"

/* Add a head to a model that already has its encoder: the head's tensors as block L+1, its
 * functions and the parts of its loss. */
void bert_pretraining_init(struct model *m);
void bert_questions_init(struct model *m);

/* Returns the row of the head's i-th tensor in the tensor table. bert_head_offset returns the
 * tensor's offset in the head's block, in numbers. */
static inline size_t bert_head_row(const struct model *m, int i)
{
    return m->first_head_row + (size_t)i;
}

static inline int64_t bert_head_offset(const struct model *m, int i)
{
    return m->tensors.rows[bert_head_row(m, i)].offset;
}
