/*
 * ops.h - all arithmetic of the models: a compute context, its arrays, and the operations on them.
 *
 * A back end (backend.h) does the work. It keeps arrays in memory where it can compute with them,
 * which may not be the host's. Only back ends may dereference an array. Other code uses ops_part
 * for parts of it, and ops_upload, ops_download and ops_map to move numbers in and out. `make lint`
 * checks that.
 *
 * Dimensions: B sequences, T positions, N rows (of tokens), C channels, NH heads of HS channels, V
 * vocabulary, I and O inputs and outputs of a linear map. All matrices are row-major.
 *
 * The order of arguments is: outputs, inputs, parameters, dimensions. d<x> is the gradient with
 * respect to x. The same inputs give the same bits on processors of one kind, with any number of
 * threads. Functions may return before the work is done; functions that give numbers to the host
 * wait for it. The operations of optimizers are in ops_update.h, and what moves arrays while the
 * device computes in ops_exchange.h.
 */
#pragma once

#include "model/compute/ops_array.h"

/* ---- the context -------------------------------------------------------------------------- */

struct ops; /* threads, scratch memory, and the kernels chosen for this processor */

/* Opens a context on a device: "cpu"; "cuda" or "cuda:N", GPU number N, which needs the plug-in
 * (plugin.h); or "emulated:N", for tests: the GPU's kernels run on the host, with their threads in
 * order N % 3. Returns NULL with an error. Free with ops_free. */
struct ops *ops_open(const char *device, int threads);
/* The same for one of several processes on this host: a device name without a number means device
 * `local` of the host, modulo the number of its devices. */
struct ops *ops_open_local(const char *device, int local, int threads);
int ops_check_device(const char *device); /* 0, or -1 with a usage error if it is no such name */
void ops_free(struct ops *o);
int ops_threads(const struct ops *o);
/* Calls fn(ctx, i, thread) for each i in [0, n), by threads of the host with numbers below
 * ops_threads. Returns when all calls have returned. */
void ops_each(struct ops *o, int64_t n, void (*fn)(void *ctx, int64_t i, int thread), void *ctx);
const char *ops_describe(const struct ops *o); /* "AVX-512 kernels", ... */
/* Returns a name for the arithmetic of the context's precision. Contexts with the same name compute
 * the same bits: all x86 kernels do, but AMX adds bf16 products otherwise. Valid until o is
 * freed. */
const char *ops_arithmetic(const struct ops *o);
/* Returns the free bytes of the device's own memory; UINT64_MAX if arrays are in the host's. */
uint64_t ops_free_bytes(const struct ops *o);
int ops_on_host(const struct ops *o); /* 1 if the context computes on the CPU */
const char *ops_kernels(void);        /* describes the CPU's kernels without a context */

#define OPS_PRECISION_WORDS "f32|bf16" /* the first two types, in the order of enum ops_type */
/* Sets the precision of matrix products, including those of attention. Operands of either type work
 * in either precision. With OPS_BF16, operands are rounded to bf16 (8 bits of significand, to
 * nearest, ties to even) and sums are f32: about three times as fast on processors with AMX, twice
 * as fast with AVX-512 BF16, slower on others. Products with at most OPS_FEW_ROWS rows stay f32,
 * because reading the weights from memory limits their speed. */
void ops_set_precision(struct ops *o, enum ops_type precision); /* f32 at first */
/* Returns the type to which products round operands, for arrays that only products read. */
enum ops_type ops_operand(const struct ops *o);

/* The largest sizes of the operations of a training. shares: how many ranks share the columns of
 * the logits; group: how many devices exchange arrays. */
struct ops_sizes {
    enum ops_type precision;
    int64_t N, C, wide, V; /* rows; channels; outputs of the widest map; columns of logits */
    int shares, group;
};
/* What these sizes need: floats of scratch memory for the loss, and bytes of the back end's own. */
struct ops_needs {
    int64_t loss_floats;
    uint64_t bytes;
};
/* Asks the back end of a device, which may be absent. Returns 0, or -1 with an error. */
int ops_needs(const char *device, const struct ops_sizes *s, struct ops_needs *out);

/* ---- arrays ------------------------------------------------------------------------------- */

/* Allocates an array of n zeros, aligned to 64 bytes. The context's threads zero host memory in
 * parallel. Free with ops_buffer_free. */
struct ops_array ops_buffer(struct ops *o, enum ops_type type, int64_t n);
void ops_buffer_free(struct ops *o, struct ops_array a); /* does nothing on OPS_NONE */

/* An array that grows when needed and is reused. A zeroed struct has no array yet. */
struct ops_room {
    struct ops_array at;
    int64_t n; /* its elements */
};
/* Returns the array with room for n elements. `type` is the same in each call. The contents are
 * lost if the array grows. */
struct ops_array ops_room(struct ops *o, struct ops_room *r, enum ops_type type, int64_t n);
void ops_room_free(struct ops *o, struct ops_room *r);

/* Wraps the caller's memory as an array. Only for back ends that compute in the host's memory. */
struct ops_array ops_host_array(void *memory, enum ops_type type);

/* Returns the i-th array of a LIST. The list's items belong to the caller. */
static inline struct ops_array ops_listed(struct ops_array list, int64_t i)
{
    return ((const struct ops_array *)(const void *)list.address)[i];
}

/* Scratch memory for the callers of the functions below, which do not use it themselves.
 * ops_scratch_begin frees all pieces. ops_scratch returns the next piece, aligned and not zeroed.
 * The memory grows to the largest amount in use at once and is reused. */
void ops_scratch_begin(struct ops *o);
struct ops_array ops_scratch(struct ops *o, enum ops_type type, int64_t n);

/* Copy n elements between the host's memory and an array. Both may be reused on return. */
void ops_upload(struct ops *o, struct ops_array to, const void *from, int64_t n);
void ops_download(struct ops *o, void *to, struct ops_array from, int64_t n);

/* Returns the array's n elements in host memory, until ops_unmap, which writes changes back.
 * Nothing is copied if the array is already in host memory. */
void *ops_map(struct ops *o, struct ops_array a, int64_t n);
/* Returns host memory for the array's n elements, as ops_map does, but without copying the old
 * elements. The caller must overwrite all of them before ops_unmap. */
void *ops_fill(struct ops *o, struct ops_array a, int64_t n);
void ops_unmap(struct ops *o, struct ops_array a, int64_t n, void *mapped);

void ops_finish(struct ops *o); /* waits until all work is done */

/* A dropout mask. Element i is kept with probability 1 - rate and divided by that; the
 * counter-based sequence `key` decides (rng.h). The mask is the same for any number of threads and
 * each time it is computed. rate 0: no dropout. */
struct ops_dropout {
    uint64_t key;
    double rate;
    /* For ops_dropout: element i uses number first + i of the mask. With `columns` not 0, x is
     * `columns` columns of a matrix whose rows lie `stride` numbers apart in the mask: element i
     * uses number first + (i / columns) * stride + (i % columns), with the quotient rounded down.
     * `first`, `columns` and `stride` are even. */
    uint64_t first;
    int64_t columns, stride;
};

/* ---- matrix products ---------------------------------------------------------------------- */

/* A matrix in memory, used as it is or transposed. Its rows are ld elements apart. */
struct ops_matrix {
    struct ops_array x;
    int64_t ld;
    int transposed;
};

/* Computes C[M,N] = base[M,N] + bias[N] + A[M,K] B[K,N] with all threads. */
struct ops_matmul {
    struct ops_matrix C, A, B; /* C is not transposed */
    int64_t M, N, K;
    struct ops_array base; /* rows are as far apart as C's; may be C, to add to it; OPS_NONE: 0 */
    struct ops_array bias; /* OPS_NONE: 0 */
    struct ops_array sums; /* OPS_NONE; else [N] += the sums of the columns of B, not transposed */
};
void ops_matmul(struct ops *o, const struct ops_matmul *p);

/* A linear map of N rows: y[N,O] = x[N,I] w[I,O] + bias[O]. bias may be OPS_NONE. `turned` 1: w is
 * [O,I], in groups if its type has them (stored.h), and ops_linear_bwd must not be called. Products
 * with weights in groups round x to blocks of 8-bit integers and, if `fine` is 1, add the product
 * of the rounding errors where they are large (struct kernel_blocks). On a GPU, products with
 * turned BF16 weights round x to bf16 in any precision. */
struct ops_linear {
    struct ops_array w, bias;
    int64_t N, I, O;
    int turned, fine;
};
/* Computes `count` maps of the same rows x, which differ in w, bias and O alone. Their outputs y
 * lie one after the other. */
void ops_linear_fwd(struct ops *o, struct ops_array y, struct ops_array x,
                    const struct ops_linear *l, int count);
/* Computes inner = x w + bias and y = f(inner) of one map. */
void ops_linear_activation_fwd(struct ops *o, enum ops_activation f, struct ops_array y,
                               struct ops_array inner, struct ops_array x,
                               const struct ops_linear *l);
/* Computes those gradients whose target is not OPS_NONE: dx = dy w^T, dw = x^T dy, dbias = the sums
 * of dy's columns. */
void ops_linear_bwd(struct ops *o, struct ops_gradient dx, struct ops_gradient dw,
                    struct ops_gradient dbias, struct ops_array dy, struct ops_array x,
                    const struct ops_linear *l);

/* Computes y[N,O] = base[N,O] + dropout(x w + bias), the end of a residual branch. y must not be
 * base. Its backward is ops_dropout, then ops_linear_bwd. */
void ops_residual_fwd(struct ops *o, struct ops_array y, struct ops_array base, struct ops_array x,
                      const struct ops_linear *l, struct ops_dropout drop);

/* ---- embedding ---------------------------------------------------------------------------- */

/* N tokens. The position of token n in its sequence is places[n] or, if `places` is OPS_NONE, first
 * + (n mod T). All positions are below first + T. */
struct ops_tokens {
    int64_t N, T, first;
    struct ops_array ids;      /* U32 */
    struct ops_array places;   /* U32, or OPS_NONE */
    struct ops_array segments; /* U32, or OPS_NONE: all 0 */
};

/* Embedding tables with rows of C numbers. positions and types may be OPS_NONE. */
struct ops_embedding {
    struct ops_array words, positions, types;
    int64_t C;
};
/* Computes x[n] = words[id] + positions[place] + types[segment] for each token n. The ids, places
 * and segments must be rows of their tables. */
void ops_embedding_fwd(struct ops *o, struct ops_array x, const struct ops_tokens *t,
                       const struct ops_embedding *e);
/* Adds to each row of the tables d, which are F32, the gradients dx[N,C] of the tokens that use
 * this row. */
void ops_embedding_bwd(struct ops *o, const struct ops_embedding *d, struct ops_array dx,
                       const struct ops_tokens *t);

/* ---- rows and elements -------------------------------------------------------------------- */

/* The moments of a norm's rows that backward needs, F32 [N]; OPS_NONE: not kept. RMSNorm has no
 * mean. known 1: an earlier call has put them there. */
struct ops_moments {
    struct ops_array mean, rstd;
    int known;
};
/* Computes the norm y of x. Sets the arrays of `kept` that are not OPS_NONE to the moments of the
 * rows, unless they are known. With y OPS_NONE only the moments are computed. */
void ops_norm_fwd(struct ops *o, struct ops_array y, struct ops_moments kept, struct ops_array x,
                  const struct ops_norm *l);

/* The backward of a norm. Computes the gradients of x, gain and bias that have a target. */
struct ops_norm_bwd {
    struct ops_gradient dx, dgain, dbias;
    struct ops_array dy, x;
    struct ops_moments kept; /* of the forward pass */
    /* If the gradient is added to dx: gets the column sums [C] of dx as it was before. They are the
     * gradient of the bias of a map whose output was added to x. */
    struct ops_gradient before;
    struct ops_array y; /* OPS_NONE, or gets the norm again */
    /* OPS_NONE or, for ranks that share the columns, F32 [2,N]: with n = (x - mean) * rstd, the
     * sums of dy * gain and of dy * gain * n over the C columns. A first call, without dx, sets
     * them and computes the gradients of the parameters. The caller adds the sums of all ranks. A
     * second call computes dx alone. */
    struct ops_array sums;
};
void ops_norm_bwd(struct ops *o, const struct ops_norm_bwd *b, const struct ops_norm *l);

/* Sets `kept` to the moments of whole rows, from the moments of the parts that ranks have of them:
 * parts[ranks,2,N], F32, rstd before mean (RMSNorm: [ranks,1,N]). The parts have equal numbers of
 * columns, so the variance of a row is the mean of the parts' variances and of the squared
 * distances of their means from the row's mean. */
void ops_norm_join(struct ops *o, struct ops_moments kept, struct ops_array parts, int ranks,
                   const struct ops_norm *l);

/* N rows of I numbers of a gated unit, y = f(gate) * up, or, if up is OPS_NONE, of an activation
 * alone, y = f(gate). With OPS_SILU a gated unit is SwiGLU (Shazeer 2020). Rows of gate and up, and
 * of their gradients, begin ld numbers apart, those of y and dy I numbers. On a GPU, ld is I. */
struct ops_gate {
    enum ops_activation f;
    int64_t N, I, ld;
};
/* Computes y, which may be gate. */
void ops_gated_fwd(struct ops *o, const struct ops_gate *g, struct ops_array y,
                   struct ops_array gate, struct ops_array up);
/* Computes dgate = dy * up * f'(gate), dup = dy * f(gate), and y again for the backward of the next
 * operation. Each output may be an input of the same type. sums[I], without up: the sums of the
 * columns of dgate, the gradient of a bias before f; its target may be OPS_NONE. */
void ops_gated_bwd(struct ops *o, const struct ops_gate *g, struct ops_array dgate,
                   struct ops_array dup, struct ops_array y, struct ops_gradient sums,
                   struct ops_array dy, struct ops_array gate, struct ops_array up);

/* y = mask * x; y may be x. The backward is the same. */
void ops_dropout(struct ops *o, struct ops_array y, struct ops_array x, int64_t n,
                 struct ops_dropout drop);

void ops_tanh_fwd(struct ops *o, struct ops_array x, int64_t n); /* in place, F32 */
/* d *= 1 - y^2, F32: turns the gradient of y = tanh(x) into that of x, in place. */
void ops_tanh_bwd(struct ops *o, struct ops_array d, struct ops_array y, int64_t n);

void ops_zero(struct ops *o, struct ops_array x, int64_t n);
void ops_add(struct ops *o, struct ops_array y, struct ops_array x, int64_t n); /* y += x */
/* y = x. x may be y. From F32 to BF16, rounds to nearest, ties to even. */
void ops_copy(struct ops *o, struct ops_array y, struct ops_array x, int64_t n);
/* y = y_scale*y + x_scale*x, F32 */
void ops_blend(struct ops *o, struct ops_array y, double y_scale, struct ops_array x,
               double x_scale, int64_t n);

/* Gather: y[i] = x[rows[i]]. Scatter: y[rows[i]] += x[i], where no row may occur twice. Rows of x
 * and y have C numbers. rows: I64 [n]. */
void ops_gather_rows(struct ops *o, struct ops_array y, struct ops_array x, struct ops_array rows,
                     int64_t n, int64_t C);
void ops_scatter_rows(struct ops *o, struct ops_array y, struct ops_array x, struct ops_array rows,
                      int64_t n, int64_t C);

/* ---- attention ---------------------------------------------------------------------------- */

/* B sequences of up to T tokens. Padding is left out: the tokens of sequence b are `lengths[b]`
 * rows of an array, which follow the rows of sequence b-1. ops_rows_of returns the number of rows
 * of sequence b, ops_rows_count that of all sequences. */
struct ops_rows {
    int64_t B, T;
    const int64_t *lengths; /* [B] in host memory, each from 1 to T; NULL: all are T */
};
int64_t ops_rows_of(const struct ops_rows *rows, int64_t b);
int64_t ops_rows_count(const struct ops_rows *rows);

/* Changes rotary frequencies for texts longer than the model was trained on. `factor` divides the
 * frequencies (0: 1). If `original`, the length of the training texts, is set, only long waves
 * change: a wave that fits more than `high` times into `original` stays, one that fits less than
 * `low` times is divided, and between these the change is interpolated linearly (Llama 3.1; Hugging
 * Face's "llama3"). `yarn` 1: it is interpolated by the number of the pair, between the pairs whose
 * waves fit `high` and `low` times (Peng et al. 2023); `whole` 1: these two numbers are rounded
 * outwards. `divided`: the number of pairs if each has a divisor of its own (LongRoPE, Ding et al.
 * 2024), else 0. `scale` multiplies the turned numbers (0: 1). */
enum { OPS_DIVISORS = 128 };
struct ops_stretch {
    double factor, low, high, original, scale;
    int yarn, whole;
    int64_t divided;
    float divisors[OPS_DIVISORS];
};
/* Rotary positions (Su et al. 2021), in place. A row of x has `heads` heads of HS numbers; rows are
 * ld apart. In each head, the pair of numbers i and i + HS/2 (Hugging Face's order) is turned by
 * the angle place / base^(2i/HS), or by its negative if `back` is 1. One direction is the backward
 * of the other. */
struct ops_rotary {
    int64_t heads, HS, ld; /* HS is even */
    double base;
    struct ops_stretch stretch;
    int back;
};
/* Returns the frequency of pair i: the angle by which it turns per position. For back ends. */
double ops_rotary_frequency(const struct ops_rotary *r, int64_t i);
/* Returns YaRN's scale of turned numbers, 0.1 * weight * ln(factor) + 1, usually with weight 1. */
double ops_yarn_scale(double factor, double weight);
void ops_rotate(struct ops *o, struct ops_array x, const struct ops_tokens *t,
                const struct ops_rotary *r);

/* Attention. Computes for each head y = dropout(softmax(scale q k^T)) v, where a position attends
 * to itself and earlier positions (causal) or to its whole sequence (Vaswani et al. 2017). Works in
 * blocks with an online softmax, so memory grows with T and not with T^2. The backward needs q, k,
 * v, y and lse[N*NH], F32, the log of each softmax's sum (Dao et al. 2022). The dropout mask of a
 * sequence does not depend on the lengths of other sequences. If there are fewer heads of keys and
 * values than of queries, neighbouring query heads share one of them (Ainslie et al. 2023). */
enum { OPS_GPU_HEAD = 256 }; /* the largest HS on a GPU */
struct ops_attention {
    struct ops_rows rows;
    int64_t NH, HS;
    int64_t KV; /* heads of keys and values; divides NH; 0: NH */
    /* The dropout masks are those of heads first_head, first_head + 1, ... out of all_heads;
     * all_heads 0: NH. */
    int64_t first_head, all_heads;
    double scale; /* 0: 1/sqrt(HS) */
    int causal;
    int64_t window; /* a query sees keys less than this many positions away; 0: all */
    struct ops_dropout drop;
};

/* Queries, keys and values, or their gradients: rows of NH*HS and KV*HS numbers, ldq and ldk
 * apart. */
struct ops_qkv {
    struct ops_array q, k, v;
    int64_t ldq, ldk;
};

/* Computes y[N,NH*HS]. lse may be OPS_NONE. */
void ops_attention_fwd(struct ops *o, struct ops_array y, struct ops_array lse, struct ops_qkv x,
                       const struct ops_attention *a);
/* Computes the gradients dx. If `sums` is not NULL, also computes the column sums of dx.q, dx.k and
 * dx.v, which are gradients of biases: sums[3]. On the CPU, dy is F32. */
void ops_attention_bwd(struct ops *o, struct ops_qkv dx, const struct ops_gradient *sums,
                       struct ops_array dy, struct ops_qkv x, struct ops_array y,
                       struct ops_array lse, const struct ops_attention *a);

/* Keys and values of the earlier positions of one sequence in all layers, [layers,room,KV*HS], for
 * generation. `used` of the `room` positions are filled. */
struct ops_past {
    struct ops_array keys, values; /* F32 or BF16 */
    int64_t room, used;
};
/* Returns the largest `room` of past[B]. */
static inline int64_t ops_most_room(const struct ops_past *past, int64_t B)
{
    int64_t most = 0;
    for (int64_t b = 0; b < B; b++)
        most = past[b].room > most ? past[b].room : most;
    return most;
}
/* Computes causal attention of B sequences with T new positions each, over these and the cached
 * positions of the same sequence in layer `layer`. Writes the new keys and values to the cache,
 * from position `used` on; the caller then adds to `used`. past: [B], all of one type. */
void ops_attention_cached(struct ops *o, struct ops_array y, const struct ops_past *past,
                          int64_t layer, struct ops_qkv x, const struct ops_attention *a);

/* Runs step(context), which appends one token to each of B texts: operations on arrays, among them
 * ops_attention_cached with past[B]. A GPU records the work and from then on repeats it without
 * calling `step`, which costs the host less. So until an array is freed that is not of the pasts,
 * calls with the same step, context and B must do the same work with the same arrays. The contents
 * of arrays and the pasts may differ. `step` may be called twice in a row with the same data. It
 * must not move numbers to or from the host. */
void ops_repeat(struct ops *o, const struct ops_past *past, int64_t B, void (*step)(void *context),
                void *context);

/* ---- losses ------------------------------------------------------------------------------- */

/* n labels (I32). Label i belongs to row rows[i] (I64) of the activations or logits, or to row i if
 * `rows` is OPS_NONE. teacher: NULL, or another model to learn from, in ops_loss only. */
struct ops_labels {
    int64_t n;
    struct ops_array rows, labels;
    const struct ops_teacher *teacher;
};

/* The results for n labels. losses[n], F32: -log softmax(logits)[label] in nats. correct[n], U8 or
 * OPS_NONE: 1 if no logit of the row is above the label's, else 0. */
struct ops_scores {
    struct ops_array losses, correct;
};

/* Ranks that share the rows of a decoder's table, and so the columns of the logits: this rank has
 * columns `first` to first + V - 1. `exchange` replaces x[n], F32, on all ranks. OPS_SHARE_LOGITS:
 * by the sum over the ranks that have the same columns, each of which has a part of a row's C
 * channels; OPS_SHARE_SUM and OPS_SHARE_MOST: by the sum and by the largest elements over the ranks
 * that have the other columns. */
enum ops_share_kind { OPS_SHARE_LOGITS, OPS_SHARE_SUM, OPS_SHARE_MOST };
struct ops_shares {
    int64_t first;
    int ranks; /* that have different columns */
    /* NULL: this rank has all columns */
    void (*exchange)(const void *ctx, enum ops_share_kind kind, struct ops *o, struct ops_array x,
                     int64_t n);
    const void *ctx;
};

/* A decoder: logits[N,V] = x[N,C] table[V,C]^T + bias[V]. bias may be OPS_NONE. `stored` 1: the
 * table is a weight as in struct ops_linear with `turned` 1. It may be in groups; on a GPU, its
 * products in BF16 round x. */
struct ops_decoder {
    struct ops_array table, bias;
    int64_t V, C;
    int stored;
    struct ops_shares shares; /* for the losses below */
};
void ops_logits(struct ops *o, struct ops_array logits, struct ops_array x, int64_t N,
                const struct ops_decoder *d);

/* Another model, whose probabilities a model learns beside the labels (Hinton et al., "Distilling
 * the Knowledge in a Neural Network", 2015). x[N,d.C], F32: the input of its decoder d, for the
 * same N rows; d has as many columns V as the model's own. share: weight of its probabilities in
 * the target, from 0 to 1; the label has the rest. */
struct ops_teacher {
    struct ops_array x;
    struct ops_decoder d;
    double share;
};
/* Computes the logits of the decoder d for the labelled rows of x[N,C], and sets `out` to the
 * losses of the labels, which must all be at least 0. Computes the logits of a few rows at a time,
 * to save memory; takes scratch memory (ops_scratch) for them.
 *
 * Unless dx is OPS_NONE, also computes the gradients of scale * (sum of losses) with respect to x,
 * the decoder's table and its bias. Sets all N rows of dx[N,C]; rows without a label get 0. With
 * l->teacher, the gradients are those of the cross entropy to target = (1 - share) * onehot(label)
 * + share * softmax(teacher's logits), and `out` is that of the labels as before. The ranks must
 * not share the columns then. */
void ops_loss(struct ops *o, struct ops_scores out, struct ops_array dx, struct ops_gradient dtable,
              struct ops_gradient dbias, struct ops_array x, int64_t N, double scale,
              const struct ops_labels *l, const struct ops_decoder *d);

/* Sets `out` to the losses of the labels for given logits[n,V], F32. A label below 0 has loss 0.
 * With `gradient` 1 the logits are replaced by the gradients of scale * (sum of losses); with 0
 * they are overwritten with intermediate values. l->rows must be OPS_NONE. */
void ops_cross_entropy(struct ops *o, struct ops_scores out, struct ops_array logits, int64_t V,
                       const struct ops_labels *l, int gradient, double scale);

/* Cross entropy when ranks share the columns of the logits: this rank has columns `first` to first
 * + V - 1 of logits[n,.], F32. First, ops_columns_most sets most[n] to the largest logit of each
 * row. The caller replaces it by the largest over all ranks. Then ops_columns_sums sets sums[n] to
 * the sum of exp(logit - most) and wanted[n] to the label's logit, or 0 if another rank has it; the
 * logits become exp(logit - most). The caller sums both over all ranks. Last, ops_columns_loss sets
 * the scores and, with `gradient`, replaces the logits by the gradients of scale * (sum of losses).
 */
struct ops_columns {
    struct ops_array logits;
    int64_t n, V, first;
    struct ops_array labels;             /* I32 [n], columns of the whole logits; at least 0 */
    struct ops_array most, sums, wanted; /* F32 [n] */
};
void ops_columns_most(struct ops *o, const struct ops_columns *c);
void ops_columns_sums(struct ops *o, const struct ops_columns *c);
void ops_columns_loss(struct ops *o, struct ops_scores out, const struct ops_columns *c,
                      int gradient, double scale);

/* Cross entropy over the tokens of each sequence. The softmax of sequence b is over the sequence's
 * rows of column `side` of logits[N,2], F32. Label b is the index of a token in sequence b; a label
 * outside the sequence has loss 0. With `gradient` 1 the column is replaced by the gradients of
 * scale * (sum of losses). */
void ops_span_loss(struct ops *o, struct ops_scores out, struct ops_array logits, int side,
                   const struct ops_labels *l, const struct ops_rows *rows, int gradient,
                   double scale);
