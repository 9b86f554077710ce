/*
 * ops.h - the only door to arithmetic: a compute context and its kernels.
 *
 * Dimensions: B sequences, T positions, N = B*T rows, C channels, NH heads, HS = C/NH,
 * V vocabulary, L layers, I and O inputs and outputs of a linear map. All arrays are row-major
 * f32, contiguous, and come from ops_buffer where they are large; but see ops_form.
 *
 * Arguments stand in the order outputs, inputs, parameters, dimensions. d<x> is the gradient in
 * x; gradients of parameters are added to, gradients of activations are set unless said.
 * The same inputs give the same bits on processors of one kind, with any number of threads.
 */
#ifndef TEXTMILL_OPS_H
#define TEXTMILL_OPS_H

#include <stddef.h>
#include <stdint.h>

struct ops; /* threads, scratch memory, and the kernels chosen for this processor */

struct ops *ops_new(int threads);
void ops_free(struct ops *o);
int ops_threads(const struct ops *o);

/* Of matrix products, attention's among them. Arrays are f32 in either, but for ops_form: with bf16
 * the factors of a product are rounded to bf16 (8 bits of significand, to nearest, ties to even) on
 * their way into it, and sums are f32, which is twice as fast where the processor has AVX-512 BF16
 * and slower where it has not. Products of so few rows that memory bounds them stay f32. */
enum ops_precision { OPS_F32, OPS_BF16 };
#define OPS_PRECISION_WORDS "f32|bf16"                               /* in the order of the enum */
void ops_set_precision(struct ops *o, enum ops_precision precision); /* f32 at first */
const char *ops_describe(const struct ops *o);                       /* "AVX-512 kernels", ... */
const char *ops_kernels(void); /* the same, before there is a context */

/* What only products will read can be made for them: where the precision is bf16 each row holds its
 * numbers as halves, rounded already, from its beginning on; rows lie where as many floats would.
 * Half as much is read, and products have the same bits as of the floats. In f32 they are floats.
 */
enum ops_form { OPS_FLOATS, OPS_FACTORS };

/* An array that a product reads. */
struct ops_factor {
    const float *x;
    enum ops_form form;
};

static inline struct ops_factor ops_floats(const float *x)
{
    return (struct ops_factor){ x, OPS_FLOATS };
}

static inline struct ops_factor ops_factors(const float *x)
{
    return (struct ops_factor){ x, OPS_FACTORS };
}

/* Zeroed, aligned to 64 bytes, touched in parallel by the context's threads. */
float *ops_buffer(struct ops *o, int64_t floats);
void ops_buffer_free(struct ops *o, float *buffer, int64_t floats);

/* Scratch for the caller of the kernels, at least `floats`, aligned, not zeroed: grown once and
 * kept. Valid until the next call; no kernel uses it. */
float *ops_scratch(struct ops *o, int64_t floats);

/* A dropout mask: element i is kept with probability 1 - rate and then divided by it, as the
 * counter-based sequence `key` says (rng.h): equal for any number of threads, and when it is
 * made again. rate 0 is none. */
struct ops_dropout {
    uint64_t key;
    double rate;
};

/* ---- matrix products --------------------------------------------------------------------- */

/* C[M,N] = base[M,N] + bias[N] + op(A)[M,K] op(B)[K,N], where op transposes a stored [K,M] or
 * [N,K] if asked; lda, ldb, ldc are row strides. All threads share the work; the same bits for any
 * number of them. */
struct ops_matmul {
    int a_transposed, b_transposed;
    int64_t M, N, K, lda, ldb, ldc;
    const float *base; /* rows ldc apart; C itself, so that the product is added; NULL: 0 */
    const float *bias; /* NULL: 0 */
    float *sums;       /* [N] += the sums of the columns of B, not transposed then; NULL: none */
    enum ops_form a_form, b_form;
};
void ops_matmul(struct ops *o, float *C, const float *A, const float *B,
                const struct ops_matmul *shape);

/* y[N,O] = x[N,I] w[I,O] + bias[O]; bias may be NULL. Any N: few rows of floats are streamed. */
void ops_linear_fwd(struct ops *o, float *y, struct ops_factor x, const float *w, const float *bias,
                    int64_t N, int64_t I, int64_t O);

/* dx[N,I] = dy w^T, dw[I,O] += x^T dy, dbias[O] += column sums of dy. dx or dbias may
 * be NULL. */
void ops_linear_bwd(struct ops *o, float *dx, float *dw, float *dbias, struct ops_factor dy,
                    struct ops_factor x, const float *w, int64_t N, int64_t I, int64_t O);
/* The same with dw and dbias set: what stood in them is not read. */
void ops_linear_bwd_first(struct ops *o, float *dx, float *dw, float *dbias, struct ops_factor dy,
                          struct ops_factor x, const float *w, int64_t N, int64_t I, int64_t O);

/* y[N,O] = base[N,O] + dropout(x[N,I] w[I,O] + bias[O]): the end of a residual branch. y is
 * not base. Its backward is ops_dropout_bwd, then ops_linear_bwd. */
void ops_residual_fwd(struct ops *o, float *y, const float *base, struct ops_factor x,
                      const float *w, const float *bias, int64_t N, int64_t I, int64_t O,
                      struct ops_dropout drop);

/* ---- maps of rows and elements ----------------------------------------------------------- */

/* x[b,t,C] = dropout(table[ids[b,t]] + positions[t]); ids are below the table's rows. */
void ops_embedding_fwd(struct ops *o, float *x, const uint32_t *ids, const float *table,
                       const float *positions, int64_t B, int64_t T, int64_t C,
                       struct ops_dropout drop);
/* dtable and dpositions are added to; dx is destroyed. */
void ops_embedding_bwd(struct ops *o, float *dtable, float *dpositions, float *dx,
                       const uint32_t *ids, int64_t B, int64_t T, int64_t C,
                       struct ops_dropout drop);

/* y[N,C] = (x - mean) * rstd * gain + bias per row (Ba, Kiros, Hinton 2016), in the form asked for.
 * mean and rstd [N] are kept for backward; both may be NULL. */
void ops_layernorm_fwd(struct ops *o, enum ops_form form, float *y, float *mean, float *rstd,
                       const float *x, const float *gain, const float *bias, int64_t N, int64_t C,
                       double epsilon);
/* dx = base + the gradient in x; base (the gradient that comes by the residual) may be NULL or
 * dx. dgain and dbias are added to. */
void ops_layernorm_bwd(struct ops *o, float *dx, float *dgain, float *dbias, const float *base,
                       const float *dy, const float *x, const float *gain, const float *mean,
                       const float *rstd, int64_t N, int64_t C);

/* The tanh form of GELU (Hendrycks and Gimpel 2016), for [N,C]. y may be x. */
void ops_gelu_fwd(struct ops *o, enum ops_form form, float *y, const float *x, int64_t N,
                  int64_t C);
/* In place: d, the gradient in y, becomes that in x; x becomes y: factors both. */
void ops_gelu_bwd(struct ops *o, float *d, float *x, int64_t N, int64_t C);

/* GELU as defined, x times the normal distribution at x, to f32's precision. */
void ops_gelu_erf_fwd(struct ops *o, enum ops_form form, float *y, const float *x, int64_t N,
                      int64_t C);
void ops_gelu_erf_bwd(struct ops *o, float *d, float *x, int64_t N, int64_t C);

/* dx = mask * dy; dx may be dy. */
void ops_dropout_bwd(struct ops *o, float *dx, const float *dy, int64_t n, struct ops_dropout drop);

void ops_add(struct ops *o, float *y, const float *x, int64_t n);  /* y += x */
void ops_copy(struct ops *o, float *y, const float *x, int64_t n); /* y = x; x may be y */

/* ---- attention --------------------------------------------------------------------------- */

/* Causal attention: per head y = dropout(softmax(q k^T / sqrt(HS))) v, each position over itself
 * and those before it (Vaswani et al. 2017). qkv[B,T,3C] holds queries, keys, values side by
 * side; y[B,T,C]. In blocks with an online softmax, so that memory grows with T and not T^2;
 * lse[B,NH,T], the log of each softmax's sum, is all that backward needs beside qkv and y
 * (Dao et al. 2022). lse may be NULL. */
void ops_attention_fwd(struct ops *o, float *y, float *lse, const float *qkv, int64_t B, int64_t T,
                       int64_t NH, int64_t HS, struct ops_dropout drop);
/* dqkv[B,T,3C] is set, factors. */
void ops_attention_bwd(struct ops *o, float *dqkv, const float *dy, const float *qkv,
                       const float *y, const float *lse, int64_t B, int64_t T, int64_t NH,
                       int64_t HS, struct ops_dropout drop);

/* Causal attention of N new positions over `past` cached ones and themselves. qkv[N,3C] holds
 * queries, keys, values side by side; the new keys and values are appended to keys[.,C] and
 * values[.,C] at row `past`. y[N,C] is set. */
void ops_attention_cached(struct ops *o, float *y, float *keys, float *values, const float *qkv,
                          int64_t past, int64_t N, int64_t NH, int64_t HS);

/* ---- the tied decoder -------------------------------------------------------------------- */

/* logits[N,V] = x[N,C] table[V,C]^T. */
void ops_logits(struct ops *o, float *logits, const float *x, const float *table, int64_t N,
                int64_t V, int64_t C);

/* losses[N] = -log softmax(x table^T)[label] in nats, 0 where the label is negative (ignored);
 * returns their sum. correct[N] (may be NULL) is 1 where the label is the argmax. Logits exist
 * for a chunk of rows at a time. */
double ops_loss_fwd(struct ops *o, float *losses, unsigned char *correct, const float *x,
                    const float *table, const int32_t *labels, int64_t N, int64_t V, int64_t C);
/* The same, and the gradients of scale * sum: dx[N,C] is set, dtable[V,C] is added to. */
double ops_loss_fwd_bwd(struct ops *o, float *dx, float *dtable, const float *x, const float *table,
                        const int32_t *labels, double scale, int64_t N, int64_t V, int64_t C);

/* The same with a bias[V] added to the logits; dbias[V] is added to. Either may be NULL, and of the
 * second function losses and correct too; with first it sets dtable. */
double ops_biased_loss_fwd(struct ops *o, float *losses, unsigned char *correct, const float *x,
                           const float *table, const float *bias, const int32_t *labels, int64_t N,
                           int64_t V, int64_t C);
double ops_biased_loss_fwd_bwd(struct ops *o, float *losses, unsigned char *correct, float *dx,
                               float *dtable, float *dbias, const float *x, const float *table,
                               const float *bias, const int32_t *labels, double scale, int first,
                               int64_t N, int64_t V, int64_t C);

/* ---- sequences without their padding ------------------------------------------------------ */

/* B sequences of up to T tokens, of which only the real ones are rows: those of sequence b
 * follow those of b-1. Arrays of tokens (ids, labels) stay [B,T]. */
struct ops_rows {
    int64_t B, T;
    const int64_t *lengths; /* [B], each from 1 to T; NULL: all are T */
};
int64_t ops_rows_of(const struct ops_rows *rows, int64_t b);
int64_t ops_rows_count(const struct ops_rows *rows);
/* index[ops_rows_count] is set: where in [B,T] the token of each row stands. */
void ops_rows_index(int64_t *index, const struct ops_rows *rows);

/* x[row,C] = table[id] + positions[place in the sequence] + types[segment]; segments may be NULL:
 * all 0. */
void ops_embed_rows_fwd(struct ops *o, float *x, const uint32_t *ids, const uint32_t *segments,
                        const float *table, const float *positions, const float *types,
                        const struct ops_rows *rows, int64_t C);
/* dtable, dpositions and dtypes are added to. */
void ops_embed_rows_bwd(struct ops *o, float *dtable, float *dpositions, float *dtypes,
                        const float *dx, const uint32_t *ids, const uint32_t *segments,
                        const struct ops_rows *rows, int64_t C);

/* Attention both ways, each position over all of its sequence: q, k, v, y [rows,C]; lse [rows*NH].
 * The masks of a sequence depend on its number and not on the others' lengths. */
void ops_attention_rows_fwd(struct ops *o, float *y, float *lse, const float *q, const float *k,
                            const float *v, const struct ops_rows *rows, int64_t NH, int64_t HS,
                            struct ops_dropout drop);
/* dq, dk, dv are set, factors. */
void ops_attention_rows_bwd(struct ops *o, float *dq, float *dk, float *dv, const float *dy,
                            const float *q, const float *k, const float *v, const float *y,
                            const float *lse, const struct ops_rows *rows, int64_t NH, int64_t HS,
                            struct ops_dropout drop);

/* ---- small heads ------------------------------------------------------------------------- */

/* y[i] = x[index[i]], rows of C. */
void ops_gather_rows(struct ops *o, float *y, const float *x, const int64_t *index, int64_t n,
                     int64_t C);
/* y[index[i]] += x[i]; no index stands twice. */
void ops_scatter_rows(struct ops *o, float *y, const float *x, const int64_t *index, int64_t n,
                      int64_t C);

void ops_tanh_fwd(struct ops *o, float *x, int64_t n);                 /* in place */
void ops_tanh_bwd(struct ops *o, float *d, const float *y, int64_t n); /* d *= 1 - y^2 */

/* As ops_loss_fwd for logits[N,V] that are there already, which become exponentials; with
 * gradient those of scale * sum (0 where ignored). losses may be NULL. */
double ops_cross_entropy(struct ops *o, float *losses, unsigned char *correct, float *logits,
                         const int32_t *labels, int gradient, double scale, int64_t N, int64_t V);

/* ---- the optimizer's part ---------------------------------------------------------------- */

void ops_zero(struct ops *o, float *x, int64_t n);
double ops_sum_squares(struct ops *o, const float *x, int64_t n); /* f64 sums, fixed order */

/* AdamW in one pass (Loshchilov and Hutter 2019): with g = gradient_scale * gradient,
 * m = beta1*m + (1-beta1)*g, v = beta2*v + (1-beta2)*g^2,
 * w -= rate * (m*m_correction / (sqrt(v*v_correction) + epsilon) + decay*w). */
struct ops_adamw {
    double rate, beta1, beta2, epsilon, decay, gradient_scale;
    double m_correction, v_correction; /* 1/(1-beta^t), or 1 without bias correction */
};
void ops_adamw(struct ops *o, float *w, float *m, float *v, const float *gradient, int64_t n,
               const struct ops_adamw *h);

/* Adam with weight decay as a part of the gradient, g = gradient_scale * gradient + decay*w
 * (Kingma and Ba 2015); else as ops_adamw. */
void ops_adam(struct ops *o, float *w, float *m, float *v, const float *gradient, int64_t n,
              const struct ops_adamw *h);

/* LAMB (You et al. 2020) for w[R,C]: moments as ops_adamw, x = m*m_correction /
 * (sqrt(v*v_correction) + epsilon) + decay*w, and w -= rate * min(|w|, cap)/|x| * x, the norms
 * being those of each of `parts` equal shares of the columns; the ratio is 1 where a norm is 0. The
 * gradient is overwritten with x. */
enum { OPS_LAMB_PARTS = 3 };
struct ops_lamb {
    struct ops_adamw adam;
    int64_t R, C;
    int parts;
    double cap; /* INFINITY: none */
};
void ops_lamb(struct ops *o, float *w, float *m, float *v, float *gradient,
              const struct ops_lamb *h);

/* Schedule-free AdamW (Defazio et al. 2024), with w the point y where gradients are taken: with
 * g = gradient_scale * gradient, v = beta2*v + (1-beta2)*g^2 and
 * d = g / (sqrt(v*v_correction) + epsilon) + decay*w,
 * w = (1-share)*w + share*z - rate*(1 - beta1*(1-share))*d, z -= rate*d. */
void ops_schedule_free(struct ops *o, float *w, float *z, float *v, const float *gradient,
                       int64_t n, const struct ops_adamw *h, double share);

/* y = y_scale*y + x_scale*x */
void ops_blend(struct ops *o, float *y, double y_scale, const float *x, double x_scale, int64_t n);

/* bf16, the high half of a float's bits, as state is stored: to floats, back to the nearest (ties
 * to even), and of floats the nearest in place. */
void ops_from_bf16(struct ops *o, float *y, const uint16_t *x, int64_t n);
void ops_to_bf16(struct ops *o, uint16_t *y, const float *x, int64_t n);
void ops_trim_bf16(struct ops *o, float *x, int64_t n);
/* Back by stochastic rounding, up or down with a mean of x. Element i takes the bits from 16 (i mod
 * 4) on of rng_at(key, i/4), i counting from `first`, a multiple of 4: equal for any number of
 * threads. What is bf16 already stays as it is. */
void ops_round_bf16(struct ops *o, uint16_t *y, const float *x, int64_t n, uint64_t key,
                    uint64_t first);

/* An array of state as it is kept: floats, or bf16 that ops_round_bf16 makes with its key. */
struct ops_state {
    void *at;
    int half;
    uint64_t key;
};
enum { OPS_W, OPS_M, OPS_V, OPS_STATES };
/* ops_adamw of state of either kind: bf16 is f32 in the update alone, piece by piece in the
 * thread's own cache, so that memory is passed over once. */
void ops_adamw_state(struct ops *o, const struct ops_state state[OPS_STATES], const float *gradient,
                     int64_t n, const struct ops_adamw *h);

/* With g = gradient_scale * gradient + decay*w: a = momentum*a + g, w -= rate * a; without a
 * (NULL), w -= rate * g. */
struct ops_sgd {
    double rate, momentum, decay, gradient_scale;
};
void ops_sgd(struct ops *o, float *w, float *a, const float *gradient, int64_t n,
             const struct ops_sgd *h);

/* Muon (Jordan 2024) for a matrix w[R,C]: a = momentum*a + g, X = the g + momentum*a of Nesterov
 * made nearly orthogonal by five steps of a Newton-Schulz iteration, and
 * w -= rate * (0.2 sqrt(max(R,C)) X + decay*w): updates as large as AdamW's (Liu et al. 2025),
 * so that its rates serve. The gradient is destroyed. */
void ops_muon(struct ops *o, float *w, float *a, float *gradient, int64_t R, int64_t C,
              const struct ops_sgd *h);

#endif
