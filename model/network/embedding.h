/*
 * embedding.h - the embedding of tokens: the sum of a row of the table of words and, if the model
 * has them, rows of the tables of positions and of segments; then a norm, if it has one (BERT).
 *
 * w and dw: the parameters and gradients of the embedding's block. C: the width of the residual
 * stream. Architectures name the tensors (architecture.h).
 */
#pragma once

#include "model/network/model.h"

/* Adds the tensors of the embedding to the table. */
void embedding_init(struct model *m);
/* Returns 1 if embedding_bwd reads the embedding's parameters, 0 if its w may be OPS_NONE. */
int embedding_is_read_again(const struct model *m);

/* Sets x[n,C] to the embeddings of the rank's n rows (split.h). */
void embedding_fwd(const struct model *m, struct ops *o, struct ops_array x, struct ops_array w,
                   const struct inputs *in);
/* Computes the gradients of the embedding block from dx[n,C], which is overwritten. If the model is
 * tied, the head has already set the gradients of the table of words, and these are added. */
void embedding_bwd(const struct model *m, struct ops *o, struct ops_gradient dw,
                   struct ops_array dx, struct ops_array w, const struct inputs *in);
