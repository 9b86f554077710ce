/*
 * bert_head.h - the interface between BERT's encoder (bert.c) and its heads, each in its own file.
 */
#pragma once

#include "model/network/block.h"
#include "model/network/split.h"

/* Add a head to a model that already has its encoder: the head's tensors as block L+1, its
 * functions and the parts of its loss. */
void bert_pretraining_init(struct model *m);
void bert_questions_init(struct model *m);
void bert_classes_init(struct model *m);

/* Returns the row of the head's i-th tensor in the tensor table. */
static inline size_t bert_head_row(const struct model *m, int i)
{
    return m->first_head_row + (size_t)i;
}

/* Returns all rows [N,C] of the head's input x[n,C]. */
static inline struct ops_array bert_all_rows(const struct model *m, struct ops *o,
                                             struct ops_array x, const struct inputs *in)
{
    ops_scratch_begin(o);
    return split_all_rows(m, o, x.type, x, in->N, m->config.width, "rows of the head");
}

/* Returns zeros [N,C], to which a head adds the gradients in all rows of its input; OPS_NONE if the
 * pass is only forward. At the end split_own_rows copies this rank's rows to p->dx. */
static inline struct ops_array bert_gradient_begin(const struct model *m, struct ops *o,
                                                   const struct head_pass *p)
{
    const int64_t N = p->in->N, C = m->config.width;
    if (!head_goes_back(p))
        return OPS_NONE;
    struct ops_array d = split_room_for_rows(m, o, p->dx, N, C);
    ops_zero(o, d, N * C);
    return d;
}

/* Returns the labels *l without their row numbers, for an array whose row i belongs to label i. */
static inline struct ops_labels bert_picked(const struct ops_labels *l)
{
    return (struct ops_labels){ .n = l->n, .labels = l->labels };
}

/* ---- the first token (bert_classes.c) ------------------------------------------------------- */

/* A pooler, tanh(x w + b), of the first token of each sequence, dropout, and a map to `outputs`
 * logits. C: this rank's columns of the residual stream, W: all. */
struct bert_first {
    struct ops_linear pooler, map;
    struct ops_dropout drop;
    struct ops_array x;               /* [B,C] */
    struct ops_array pooled, dropped; /* [B,W] */
    struct ops_array logits;          /* [B,outputs] */
};
enum { BERT_FIRST_TENSORS = 4 }; /* they are the first of the head */
static const struct ops_dropout no_dropout = { 0 };

void bert_first_init(struct model *m, const char *pooler, const char *map, int64_t outputs);
/* Computes the logits for B rows of x: row rows[b], or row b if `rows` is OPS_NONE. */
struct bert_first bert_first_fwd(const struct model *m, struct ops *o, struct ops_array x,
                                 struct ops_array w, struct ops_array rows, int64_t B,
                                 struct ops_dropout drop);
/* f->logits holds the gradients of the logits. Computes those of the head's parameters, and adds
 * those of x to dx. */
void bert_first_bwd(const struct model *m, struct ops *o, struct ops_array dx,
                    struct ops_gradient dw, struct bert_first *f, struct ops_array rows, int64_t B);
