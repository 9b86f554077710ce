/*
 * bert_head.h - the seam between BERT's encoder (bert.c) and its heads, each in its own file: rows
 * of a batch, tensors of the head's block, the model's GELU.
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

/* Of the head's i-th tensor in its block. */
int64_t bert_head_offset(const struct model *m, int i);

/* The batch's real tokens, which the rows of the activations are. */
static inline struct ops_rows bert_rows(const struct batch *b)
{
    return (struct ops_rows){ b->B, b->T, b->lengths };
}

static inline int64_t bert_count_rows(const struct batch *b)
{
    struct ops_rows rows = bert_rows(b);
    return ops_rows_count(&rows);
}

/* As the config has GELU; as ops_gelu_fwd and ops_gelu_bwd. */
static inline void bert_gelu_fwd(const struct model *m, struct ops *o, enum ops_form form, float *y,
                                 const float *x, int64_t N, int64_t C)
{
    (m->config.gelu_tanh ? ops_gelu_fwd : ops_gelu_erf_fwd)(o, form, y, x, N, C);
}

static inline void bert_gelu_bwd(const struct model *m, struct ops *o, float *d, float *x,
                                 int64_t N, int64_t C)
{
    (m->config.gelu_tanh ? ops_gelu_bwd : ops_gelu_erf_bwd)(o, d, x, N, C);
}

#endif
