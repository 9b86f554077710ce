/*
 * split.h - a model whose layers are shared by several ranks: tensor parallel in one dimension
 * (Shoeybi et al. 2019, "Megatron-LM", section 3).
 *
 * Each rank has some of the heads and some of the MLP's inner channels: columns of the maps into
 * them, and the rows of the maps out of them. It has some rows of the tables of words and
 * positions, and the same of a decoder. Everything else, and the residual stream, each rank has as
 * a whole. So the maps out of heads and MLP, and the gradients of the maps into them, give a part
 * of a sum on each rank, and these are summed over the ranks: once in the embedding, four times a
 * layer with its backward, and four times in the head (the largest logit, the sum of exponentials,
 * the label's logit, the gradient).
 *
 * With `sequence` also the residual stream and the norms are shared (Korthikanti et al. 2022,
 * "Reducing activation recomputation"): each rank has some rows of them, gathers all rows in front
 * of the maps whose columns are shared, and behind those whose rows are shared gets the sums of its
 * own rows. Activations take that much less memory; the same bytes travel, and those of the norms'
 * outputs once more in the backward. Of decoders alone.
 *
 * A model of one rank calls the same functions, which then are those of ops.h and no more.
 *
 * The ranks must call the same functions in the same order. Checked by tests/unit/test_split.c.
 */
#ifndef TEXTMILL_MODEL_SPLIT_H
#define TEXTMILL_MODEL_SPLIT_H

#include "model/model.h"

/* The ranks, and what they do together; members of struct model as `split`. */
struct split {
    int ranks, rank;
    int sequence;
    /* x[n], F32, becomes its sum, or its maximum, over the ranks: the same bits on each. */
    void (*sum)(void *ctx, struct ops *o, struct ops_array x, int64_t n, const char *what);
    void (*most)(void *ctx, struct ops *o, struct ops_array x, int64_t n, const char *what);
    /* Of the rows of x[N,C], shared as split_part says: each rank's get their sums, F32; each rank
     * gets the others' from them, of any type. */
    void (*scatter)(void *ctx, struct ops *o, struct ops_array x, int64_t N, int64_t C,
                    const char *what);
    void (*gather)(void *ctx, struct ops *o, struct ops_array x, int64_t N, int64_t C,
                   const char *what);
    void *ctx;
};

static inline int split_ranks(const struct model *m)
{
    return m->split ? m->split->ranks : 1;
}

static inline int split_sequence(const struct model *m)
{
    return m->split && m->split->sequence;
}

/* Of n things in a row, those of a rank: from `first` on. */
struct split_part {
    int64_t first, count;
};
struct split_part split_part(int64_t n, int ranks, int rank);

/* The rank's own part of the config: its heads, its channels of the MLP, its rows of the tables. -1
 * with an error when the ranks do not divide them. split NULL: *own is the config. */
int split_config(struct model_config *own, const struct model_config *config,
                 const struct split *split);

/* ---- the steps of a model where ranks meet ------------------------------------------------ */

/* Below, N rows are those of in->N, of which the rank has all or, with `sequence`, n rows of the
 * residual stream: */
struct split_part split_rows(const struct model *m, int64_t N);
int64_t split_most_rows(const struct model *m, int64_t N); /* the most that n is for N or less */

/* x[n,C] = the sums of rows of the tables (ops_embedding_fwd), whose own rows the rank has; types
 * it has as a whole. ops_scratch_begin comes before. */
void split_embedding_fwd(const struct model *m, struct ops *o, struct ops_array x,
                         const struct ops_embedding *e, const struct inputs *in);
/* Added to the rank's own tables of gradients, from dx[n,C]. */
void split_embedding_bwd(const struct model *m, struct ops *o, const struct ops_embedding *d,
                         struct ops_array dx, const struct inputs *in);

/* y[N,C] = the norm of x[n,C], of which kept[n] is kept; l: of n rows. */
void split_norm_fwd(const struct model *m, struct ops *o, struct ops_array y,
                    struct ops_moments kept, struct ops_array x, const struct ops_norm *l,
                    int64_t N);

/* ops_residual_fwd of a map whose rows are shared: y[n,C], base[n,C]. */
void split_residual_fwd(const struct model *m, struct ops *o, struct ops_array y,
                        struct ops_array base, struct ops_array x, const struct ops_linear *l,
                        struct ops_dropout drop);

/* Gradients from maps whose columns are shared are about to be added to dx[N,C]. */
void split_gradient_begin(const struct model *m, struct ops *o, struct ops_array dx, int64_t n);
/* dx[N,C] has them, added or set: they become whole. Returns the rank's rows of it, [n,C]. */
struct ops_array split_gradient_end(const struct model *m, struct ops *o, struct ops_array dx,
                                    int64_t N, int64_t C);

/* The gradient dy[N,C] that enters a residual branch, from that in its output, dx[n,C]: dx itself
 * where nothing was dropped and the rows are not shared, else in masked[N,C], F32. */
struct ops_array split_branch_gradient(const struct model *m, struct ops *o,
                                       struct ops_array masked, struct ops_array dx, int64_t N,
                                       int64_t C, struct ops_dropout drop);

/* x[n], F32, the rank's part of a sum over the rows that ranks share, becomes the sum. */
void split_sum_of_rows(const struct model *m, struct ops *o, struct ops_array x, int64_t n);

/* ops_loss_fwd and ops_loss_fwd_bwd with a decoder whose rows are shared. */
void split_loss_fwd(const struct model *m, struct ops *o, struct ops_scores out, struct ops_array x,
                    const struct ops_labels *l, const struct ops_decoder *d);
void split_loss_fwd_bwd(const struct model *m, struct ops *o, struct ops_scores out,
                        struct ops_array dx, struct ops_gradient dtable, struct ops_gradient dbias,
                        struct ops_array x, int64_t N, double scale, const struct ops_labels *l,
                        const struct ops_decoder *d);

/* ---- tensors ------------------------------------------------------------------------------ */

/* Where the part of a tensor that a rank has lies in the whole one: `runs` runs of `count`
 * elements. Run i begins at element i * count of the part and at element i * stride + first of the
 * whole. */
struct split_runs {
    int64_t runs, count, stride, first;
};
/* Of another rank of the split, too. whole and own are the same row of the tables of a model of one
 * rank and of this rank's. */
struct split_runs split_runs(const struct tensor *whole, const struct tensor *own, int ranks,
                             int rank);
int64_t split_elements(const struct split_runs *r); /* of the part */
int split_is_shared(const struct tensor *whole, const struct tensor *own);

/* Elements of `bytes` bytes each. */
void split_cut(void *part, const void *whole, const struct split_runs *r, size_t bytes);
void split_join(void *whole, const void *part, const struct split_runs *r, size_t bytes);

#endif
