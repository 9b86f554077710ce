/*
 * block.h - what the blocks of all architectures do alike: tensors added to the table, maps and
 * norms made of them and their gradients, a layer's cache laid out, attention with or without what
 * went before, and dropout at a place of the model with its way back into a residual branch.
 */
#ifndef TEXTMILL_MODEL_BLOCK_H
#define TEXTMILL_MODEL_BLOCK_H

#include "common/rng.h"
#include "model/architecture.h"
#include "model/model.h"

/* ---- tensors ------------------------------------------------------------------------------ */

/* Weight decay is for matrices and tables, not for vectors. `name` is a printf format, of `layer`.
 * A map is STEM.weight, [in,out] here and its transpose in files, and STEM.bias if it has one; a
 * norm STEM.weight and, but for RMSNorm, STEM.bias. */
void block_add_table(struct model *m, int block, const char *name, int64_t rows);
void block_add_vector(struct model *m, int block, const char *name, int64_t layer, int64_t n,
                      enum tensor_init init);
void block_add_map(struct model *m, int block, const char *stem, int64_t layer, int64_t in,
                   int64_t out, double std, int biased);
void block_add_norm(struct model *m, int block, const char *stem, int64_t layer, int biased);

/* Row `row` of the table in the parameters of its block: in an array of all of them, or a list. */
struct ops_array block_tensor(const struct model *m, struct ops_array w, size_t row);
/* The decoder's table in the parameters of the embedding, which it is tied to. */
struct ops_array block_tied(const struct model *m, struct ops_array w);

/* The map over N rows whose weights are row `row` of the table, and the norm whose gain it is; with
 * a bias, if they have one. w: the block's parameters. */
struct ops_linear block_linear(const struct model *m, struct ops_array w, size_t row, int64_t N);
struct ops_norm block_norm(const struct model *m, struct ops_array w, size_t row, int64_t N);

/* The gradients in x and in the parameters: dw is the block's. */
void block_linear_bwd(const struct model *m, struct ops *o, struct ops_gradient dx,
                      struct ops_gradient dw, size_t row, struct ops_array dy, struct ops_array x,
                      const struct ops_linear *l);
void block_norm_bwd(const struct model *m, struct ops *o, struct ops_gradient dx,
                    struct ops_gradient dw, size_t row, struct ops_array dy, struct ops_array x,
                    struct ops_moments kept, const struct ops_norm *l);

static inline struct ops_gradient block_gradient(const struct model *m, struct ops_gradient dw,
                                                 size_t row)
{
    return ops_gradient_part(dw, m->tensors.rows[row].offset);
}

/* No gradient is wanted. */
static inline struct ops_gradient no_gradient(void)
{
    return (struct ops_gradient){ 0 };
}

static const struct ops_moments not_kept = { 0 };

/* ---- a layer's cache ---------------------------------------------------------------------- */

/* An array of it, N rows of `width` numbers. */
struct cache_array {
    struct ops_array *at;
    enum model_cache_part part;
    int64_t width;
    int own; /* of the rank's rows of the residual stream alone */
};

/* Lays `count` arrays out, each in its part of the cache and there at a multiple of TENSOR_ALIGN
 * numbers; where the cache is of none it only counts. Returns their numbers, numbers[] (may be
 * NULL) those of each part. */
int64_t cache_lay_out(const struct model *m, const struct cache_array *arrays, int count,
                      struct model_cache cache, int64_t numbers[CACHE_PARTS], int64_t N);

/* The cache that a layer's forward uses: the caller's, or in scratch when it has none. */
struct model_cache block_cache(const struct model *m, struct ops *o, struct model_cache cache,
                               int64_t N);

/* ---- attention and activations ------------------------------------------------------------ */

/* The heads of the config, scaled as usual, with the dropout of that layer's probabilities. */
struct ops_attention block_attention(const struct model *m, int64_t layer, const struct inputs *in);
/* y[N,NH*HS]: over the rows themselves, or over these and those of in->past. */
void block_attend(const struct model *m, struct ops *o, int64_t layer, struct ops_array y,
                  struct ops_array lse, struct ops_qkv x, const struct ops_attention *a,
                  const struct inputs *in);

/* The type for what only products will read. Few rows stay f32: their weights are streamed. */
static inline enum ops_type block_operand(const struct ops *o, const struct inputs *in)
{
    return in->past ? OPS_F32 : ops_operand(o);
}

/* Where backward leaves an activation's output: in the place of its input, if that can be. */
static inline struct ops_array active_array(struct ops *o, struct ops_array x, int64_t n)
{
    return x.type == ops_operand(o) ? x : ops_scratch(o, ops_operand(o), n);
}

/* ---- dropout ------------------------------------------------------------------------------ */

/* Where a mask is used; folded with the layer into its key. */
enum dropout_place { PLACE_EMBEDDING, PLACE_PROBABILITIES, PLACE_ATTENTION, PLACE_MLP, PLACE_HEAD };

/* The config's, of the embedding, of a residual branch, and of what the head reads. */
struct ops_dropout block_embedding_dropout(const struct model *m, const struct inputs *in);
struct ops_dropout block_head_dropout(const struct model *m, const struct inputs *in);
struct ops_dropout block_residual_dropout(const struct model *m, int64_t layer,
                                          enum dropout_place place, const struct inputs *in);

/* The gradient that enters a residual branch of n numbers: dx itself where nothing was dropped. */
struct ops_array branch_gradient(struct ops *o, struct ops_array masked, struct ops_array dx,
                                 int64_t n, struct ops_dropout drop);

/* ---- a decoder's head ---------------------------------------------------------------------- */

/* Sets the head's functions: the norm of row `norm`, and a decoder whose table is the embedding's
 * or, if the config has them untied, row `table`. The embedding's table of words comes first. */
void block_decoder_init(struct model *m, size_t norm, size_t table);

#endif
