/*
 * block.h - functions that the blocks of a model share: adding tensors to the table, linear maps
 * and norms with their gradients, the settings of attention and dropout; and the head of a decoder.
 */
#pragma once

#include "common/base/rng.h"
#include "model/network/architecture.h"
#include "model/network/model.h"

/* ---- tensors ------------------------------------------------------------------------------ */

/* Add tensors to block `block` of the model's table. `name` or `stem` is a printf format for the
 * layer's number `layer`. Weight decay applies to matrices and tables, not to vectors.
 * block_add_map adds the tensor STEM.weight, which is [in,out] in memory and transposed in files,
 * and, if `biased`, STEM.bias. across: which axis of the matrix is the channels of the residual
 * stream, 0 or 1, or -1 for none. block_add_norm adds STEM.weight and, if `biased` (RMSNorm is
 * not), STEM.bias, for C channels. of_heads 1: the C channels are those of a head, not of the
 * residual stream, so ranks that share the heads each have the whole norm. */
void block_add_table(struct model *m, int block, const char *name, int64_t rows);
void block_add_vector(struct model *m, int block, const char *name, int64_t n);
void block_add_map(struct model *m, int block, const char *stem, int64_t layer, int64_t in,
                   int64_t out, double std, int biased, int across);
void block_add_norm(struct model *m, int block, const char *stem, int64_t layer, int64_t C,
                    int biased, int of_heads);

/* Returns the tensor in row `row` of the table. w: the parameters of its block, as one array or as
 * an OPS_LIST with one array for each tensor. */
struct ops_array block_tensor(const struct model *m, struct ops_array w, size_t row);
/* Returns the decoder, this rank's part of it. w: the parameters of the head's block; tied: those
 * of the embedding's. */
struct ops_decoder block_decoder(const struct model *m, struct ops_array w, struct ops_array tied,
                                 struct ops_array bias);

/* Return the linear map whose weights are in row `row` of the table, or the norm whose gain is
 * there, with the bias if it has one, for N rows of activations. w: the parameters of the block. */
struct ops_linear block_linear(const struct model *m, struct ops_array w, size_t row, int64_t N);
struct ops_norm block_norm(const struct model *m, struct ops_array w, size_t row, int64_t N);

/* Compute the gradients with respect to x and to the parameters in row `row` and, for a bias, the
 * row after it. dw: the gradients of the whole block. b: its dgain and dbias are not read; if ranks
 * share the model, its `before` and y must be OPS_NONE. */
void block_linear_bwd(const struct model *m, struct ops *o, struct ops_gradient dx,
                      struct ops_gradient dw, size_t row, struct ops_array dy, struct ops_array x,
                      const struct ops_linear *l);
void block_norm_bwd(const struct model *m, struct ops *o, struct ops_gradient dw, size_t row,
                    struct ops_norm_bwd b, const struct ops_norm *l);

static inline struct ops_gradient block_gradient(const struct model *m, struct ops_gradient dw,
                                                 size_t row)
{
    return ops_gradient_part(dw, m->tensors.rows[row].offset);
}

/* Returns a target that makes a function skip the computation of this gradient. */
static inline struct ops_gradient no_gradient(void)
{
    return (struct ops_gradient){ 0 };
}

static const struct ops_moments not_kept = { 0 };

/* ---- attention and dropout ----------------------------------------------------------------- */

/* Returns the attention of a layer, with the config's heads and scale, and the dropout of the
 * layer's attention probabilities. */
struct ops_attention block_attention(const struct model *m, int64_t layer, const struct inputs *in);

/* Return the config's dropout for the embedding, for the input of the head, for pooled tokens
 * (which every rank has whole), and for the end of a residual branch. The rate is
 * the config's times in->dropout, and 0 for PLACE_NONE. */
struct ops_dropout block_embedding_dropout(const struct model *m, const struct inputs *in);
struct ops_dropout block_head_dropout(const struct model *m, const struct inputs *in);
struct ops_dropout block_pooled_dropout(const struct model *m, const struct inputs *in);
struct ops_dropout block_residual_dropout(const struct model *m, int64_t layer,
                                          enum dropout_place place, const struct inputs *in);

/* For models that predict the next token (next_token.c): adds the tensors of the embedding, the
 * layers, and a head of a norm and a decoder, and sets the functions of the head. The decoder's
 * table is the embedding's table of words or, if config.untied is set, its own. */
void next_token_init(struct model *m);
