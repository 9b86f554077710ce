/*
 * split.h - a model whose layers are divided among several ranks: tensor parallelism in one
 * dimension (Shoeybi et al. 2019, "Megatron-LM", section 3) or in two.
 *
 * The ranks of a model form a grid. Along its first dimension, SPLIT_HEADS, each rank has some of
 * the heads and some of the MLP's inner channels: the columns of the matrices before them, and the
 * rows of the matrices after them. It has some rows of the tables of words and positions, and of
 * the decoder's table. Along the second dimension, SPLIT_WIDTH, each rank has some of the channels
 * of the residual stream: columns of x and of the tables, rows of the matrices before heads and
 * MLP, columns of the matrices after them, and the norms' gains for these channels. With one rank
 * in the second dimension, every rank has the residual stream whole.
 *
 * Ranks compute partial sums and add them. Without sequence parallelism these sums are
 *
 *     embedding   over HEADS: x; rows of a table that a rank does not have count as 0 there
 *     layer       forward, over HEADS: the outputs of the matrices after heads and MLP
 *                 forward, over WIDTH: the outputs of the matrices before heads and MLP
 *                 backward, over HEADS: the gradients of the inputs of the matrices before them
 *                 backward, over WIDTH: the gradients of the inputs of the matrices after them
 *     head        over HEADS: each row's largest logit, its sum of exponentials, its label's
 *                 logit, and its gradient
 *                 over WIDTH: the logits
 *
 * In one dimension these are 1, 4 and 4 sums, in two dimensions 1, 8 and 5. In addition, norms
 * exchange two numbers for each row over WIDTH, in the forward and in the backward. BERT's
 * embedding is summed again in the backward. The matrices of its head before the decoder are small:
 * ranks along HEADS have them whole, ranks along WIDTH have some of their rows, and each rank
 * computes all columns of their outputs. This takes one more sum over WIDTH for each of these
 * matrices, and for the head for masked words a gather of the decoder's gradient.
 *
 * With `sequence` the rows of the residual stream are divided over HEADS as well (Korthikanti et
 * al. 2022, "Reducing activation recomputation"): each rank has some of their rows. It gathers all
 * rows before matrices whose columns are divided; after matrices whose rows are divided, it
 * receives the sums of its own rows. Activations then take less memory. The traffic stays the same,
 * except that the norms' outputs are sent once more in the backward.
 *
 * A model of one rank calls the same functions, which then only call those of ops.h.
 *
 * All ranks must call the same functions in the same order. Checked by
 * tests/unit/model/network/test_split.c.
 */
#pragma once

#include "model/network/model.h"

enum split_axis { SPLIT_HEADS, SPLIT_WIDTH, SPLIT_AXES };

/* SPLIT_SUM, SPLIT_MOST: x, F32, becomes its sum or its maximum over the ranks, with the same bits
 * on each. The others exchange rows, which are divided as split_part says. SPLIT_SCATTER (F32):
 * each rank's own rows become the sums over the ranks. SPLIT_GATHER (any type): each rank receives
 * the rows of the others. */
enum split_exchange { SPLIT_SUM, SPLIT_MOST, SPLIT_SCATTER, SPLIT_GATHER };

/* The ranks and their communication; struct model refers to it as `split`. */
struct split {
    int ranks[SPLIT_AXES], rank[SPLIT_AXES];
    int sequence;
    /* Exchanges x[N,C] over the ranks along an axis of the grid. `what` names the data for
     * reports. */
    void (*exchange)(void *ctx, enum split_exchange how, enum split_axis axis, struct ops *o,
                     struct ops_array x, int64_t N, int64_t C, const char *what);
    void *ctx;
};

static inline int split_ranks(const struct model *m, enum split_axis axis)
{
    return m->split ? m->split->ranks[axis] : 1;
}

/* split_all returns the number of all ranks, split_number this rank's number among them. Ranks that
 * are neighbours along SPLIT_WIDTH have neighbouring numbers. */
static inline int split_all(const struct split *s)
{
    return s->ranks[SPLIT_HEADS] * s->ranks[SPLIT_WIDTH];
}

static inline int split_number(const struct split *s)
{
    return s->rank[SPLIT_HEADS] * s->ranks[SPLIT_WIDTH] + s->rank[SPLIT_WIDTH];
}

static inline int split_sequence(const struct model *m)
{
    return m->split && m->split->sequence;
}

/* A rank's share of n consecutive items: `count` items from `first` on. */
struct split_part {
    int64_t first, count;
};
struct split_part split_part(int64_t n, int ranks, int rank);

/* Sets *own to the rank's part of the config: its heads, its MLP channels, its rows of the tables,
 * its channels of the residual stream (`width`). Returns 0, or -1 with an error if the config
 * cannot be divided among the ranks. */
int split_config(struct model_config *own, const struct model_config *config,
                 const struct split *split);

/* ---- the steps of a model where ranks communicate ----------------------------------------- */

/* Below, N is in->N, the number of all rows; n is the number of the rank's rows of the residual
 * stream, which is N without `sequence`; C is the number of the rank's columns of the residual
 * stream. split_rows returns which of N rows the rank has. */
struct split_part split_rows(const struct model *m, int64_t N);

/* Returns the largest n of any rank, for up to N rows. */
int64_t split_most_rows(const struct model *m, int64_t N);

/* Sets x[n,C] to the embeddings (ops_embedding_fwd). e: the rank's rows of the tables of words and
 * positions, and the whole table of types. Call ops_scratch_begin first. */
void split_embedding_fwd(const struct model *m, struct ops *o, struct ops_array x,
                         const struct ops_embedding *e, const struct inputs *in);
/* Adds the gradients from dx[n,C] to the rank's tables d. */
void split_embedding_bwd(const struct model *m, struct ops *o, const struct ops_embedding *d,
                         struct ops_array dx, const struct inputs *in);

/* Sets y[N,C] to the norm of x. x has this rank's n rows and C columns; y gets all rows,
 * gathered from the ranks. Moments are computed over the columns of all ranks; kept[n] are those of
 * the rank's rows. l->N is n. */
void split_norm_fwd(const struct model *m, struct ops *o, struct ops_array y,
                    struct ops_moments kept, struct ops_array x, const struct ops_norm *l,
                    int64_t N);
/* Does the same for this rank's rows alone: y[n,C]. */
void split_norm_of_rows(const struct model *m, struct ops *o, struct ops_array y,
                        struct ops_moments kept, struct ops_array x, const struct ops_norm *l);
/* Does ops_norm_bwd for rows whose columns are divided among the ranks. */
void split_norm_bwd(const struct model *m, struct ops *o, const struct ops_norm_bwd *b,
                    const struct ops_norm *l);

/* Does ops_linear_fwd with `count` matrices, at most SPLIT_MAPS, before heads or MLP: their rows
 * are divided over SPLIT_WIDTH. */
enum { SPLIT_MAPS = 3 };
void split_linear_fwd(const struct model *m, struct ops *o, struct ops_array y, struct ops_array x,
                      const struct ops_linear l[], int count);
/* Sets dx to the gradient of the input of a matrix after heads or MLP, whose columns are divided
 * over SPLIT_WIDTH. As ops_linear_bwd, but without gradients of the matrix. */
void split_linear_bwd(const struct model *m, struct ops *o, struct ops_array dx,
                      struct ops_array dy, const struct ops_linear *l);

/* Does ops_residual_fwd with a matrix after heads or MLP, whose rows are divided over SPLIT_HEADS:
 * y[n,C], base[n,C]. */
void split_residual_fwd(const struct model *m, struct ops *o, struct ops_array y,
                        struct ops_array base, struct ops_array x, const struct ops_linear *l,
                        struct ops_dropout drop);

/* Call before the gradients from matrices before heads or MLP are added to the gradient dx[n,C].
 * Returns the array [N,C] to which the caller adds them: scratch memory, or dx itself. Only one
 * rank along SPLIT_HEADS keeps dx in it, and the others begin with 0, so that the sum over these
 * ranks has dx once. */
struct ops_array split_gradient_begin(const struct model *m, struct ops *o, struct ops_array dx,
                                      int64_t N, int64_t C);
/* Call after gradients have been added to dx[N,C]: sums dx over the ranks along SPLIT_HEADS.
 * Returns the rank's n rows of it, [n,C]; without sequence parallelism n is N. */
struct ops_array split_gradient_end(const struct model *m, struct ops *o, struct ops_array dx,
                                    int64_t N, int64_t C);

/* Returns the gradient [N,C] at the end of a residual branch, from dx[n,C], the gradient of its
 * output. Returns dx if nothing was dropped and rows are not divided, else masked[N,C], F32. */
struct ops_array split_branch_gradient(const struct model *m, struct ops *o,
                                       struct ops_array masked, struct ops_array dx, int64_t N,
                                       int64_t C, struct ops_dropout drop);

/* Replaces x[n], F32, a sum over this rank's rows, by the sum over the rows of all ranks along
 * SPLIT_HEADS. */
void split_sum_of_rows(const struct model *m, struct ops *o, struct ops_array x, int64_t n);

/* For functions that need all rows and not only the rank's n. split_all_rows returns all rows of
 * x[n,C], gathered from the ranks: x itself if the rows are not divided, else scratch memory of
 * type `type`. split_room_for_rows returns an array [N,C] for the gradients of all rows: dx itself
 * or scratch memory. split_own_rows then copies the rank's rows of it to dx[n,C], unless it is dx.
 */
struct ops_array split_all_rows(const struct model *m, struct ops *o, enum ops_type type,
                                struct ops_array x, int64_t N, int64_t C, const char *what);
struct ops_array split_room_for_rows(const struct model *m, struct ops *o, struct ops_array dx,
                                     int64_t N, int64_t C);
void split_own_rows(const struct model *m, struct ops *o, struct ops_array dx, struct ops_array all,
                    int64_t N, int64_t C);

/* For functions that need all columns of the residual stream, W = split_width, and not only the
 * rank's C = config.width. split_own_columns returns the rank's columns [n,C] of x[n,W].
 * split_all_columns returns all columns [n,W] of x[n,C], gathered from the ranks. Both return x
 * itself if the columns are not divided, else scratch memory, F32. */
static inline int64_t split_width(const struct model *m)
{
    return m->config.width * split_ranks(m, SPLIT_WIDTH);
}
struct ops_array split_own_columns(const struct model *m, struct ops *o, struct ops_array x,
                                   int64_t n);
struct ops_array split_all_columns(const struct model *m, struct ops *o, struct ops_array x,
                                   int64_t n, const char *what);

/* Returns the decoder d for the losses, with a table that is divided among the ranks (struct
 * ops_shares). Of the ranks that have the same rows of the table, only one has the bias. */
struct ops_decoder split_decoder(const struct model *m, const struct ops_decoder *d);

/* ---- tensors ------------------------------------------------------------------------------ */

/* Where a rank's part of a tensor lies in the whole tensor: `runs` runs of `count` elements. Run i
 * begins at element i * count of the part and at element i * stride + first of the whole. */
struct split_runs {
    int64_t runs, count, stride, first;
};
/* Returns where the part of rank `number` (split_number) lies, which may be another rank. whole and
 * own: the same row in the tensor tables of the whole model and of this rank. */
struct split_runs split_runs(const struct tensor *whole, const struct tensor *own,
                             const struct split *split, int number);
/* Returns 1 if a sum over the parts of a tensor must include the part of rank `number`, else 0. If
 * several ranks have the same part, the sum includes it once, from one of them. */
int split_counts(const struct tensor *whole, const struct tensor *own, const struct split *split,
                 int number);
int64_t split_elements(const struct split_runs *r); /* elements of the part */

/* Returns 1 if a rank has only a part of the tensor, else 0. */
int split_is_shared(const struct tensor *whole, const struct tensor *own);

/* Copy a part out of the whole tensor, or into it. Elements have `bytes` bytes. */
void split_cut(void *part, const void *whole, const struct split_runs *r, size_t bytes);
void split_join(void *whole, const void *part, const struct split_runs *r, size_t bytes);
