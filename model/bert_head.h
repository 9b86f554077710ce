/*
 * bert_head.h - the seam between BERT's encoder (bert.c) and its heads, each in its own file:
 * tensors of the head's block, maps and norms made of them, the model's GELU.
 */
#ifndef TEXTMILL_BERT_HEAD_H
#define TEXTMILL_BERT_HEAD_H

#include "model/model.h"

/* Add a head to a model that has its encoder: its tensors as block L+1, its functions and parts. */
void bert_pretraining_init(struct model *m);
void bert_questions_init(struct model *m);

/* Add a linear map, whose file is its transpose, or a vector: a bias, or the gain of a norm. */
void bert_add_map(struct model *m, int block, const char *name, int64_t in, int64_t out);
void bert_add_vector(struct model *m, int block, const char *name, int64_t n);

/* The row of the head's i-th tensor in the table. */
size_t bert_head_row(const struct model *m, int i);

static inline int64_t bert_head_offset(const struct model *m, int i)
{
    return m->tensors.rows[bert_head_row(m, i)].offset;
}

/* The map over N rows whose weights are row `row` of the table and whose bias is the next; and the
 * norm. w: the block. */
struct ops_linear bert_linear(const struct model *m, struct ops_array w, size_t row, int64_t N);
struct ops_norm bert_norm(const struct model *m, struct ops_array w, size_t row, int64_t N);

static inline enum ops_activation bert_activation(const struct model *m)
{
    return m->config.gelu_tanh ? OPS_GELU_TANH : OPS_GELU;
}

#endif
