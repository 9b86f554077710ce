/*
 * ops.h - the only door to arithmetic: a compute context, its arrays, and what is computed with
 * them.
 *
 * A back end (backend.h) does the work, and keeps the arrays where it can compute with them, which
 * need not be the host's memory. Outside of back ends nobody dereferences an array: parts of it are
 * named by ops_part, numbers go in and out by ops_upload, ops_download and ops_map. `make lint`
 * checks that.
 *
 * Dimensions: B sequences, T positions, N rows (of tokens), C channels, NH heads of HS channels,
 * V vocabulary, I and O inputs and outputs of a linear map. All matrices are row-major.
 *
 * Arguments stand in the order outputs, inputs, parameters, dimensions. d<x> is the gradient in x.
 * The same inputs give the same bits on processors of one kind, with any number of threads.
 * Functions may return before the work is done; what the host reads is complete.
 */
#ifndef TEXTMILL_MODEL_OPS_H
#define TEXTMILL_MODEL_OPS_H

#include <stddef.h>
#include <stdint.h>

/* ---- the context -------------------------------------------------------------------------- */

struct ops; /* threads, scratch memory, and the kernels chosen for this processor */

/* On device "cpu", or "cuda" or "cuda:N", GPU number N, for which the plug-in must be there
 * (plugin.h); "emulated:N" runs its kernels on the host, with threads in order N (0, 1, 2), for
 * tests. NULL with an error. */
struct ops *ops_open(const char *device, int threads);
struct ops *ops_new(int threads);         /* on the CPU */
int ops_check_device(const char *device); /* -1 with a usage error when it is none of these */
void ops_free(struct ops *o);
int ops_threads(const struct ops *o);
const char *ops_describe(const struct ops *o); /* "AVX-512 kernels", ... */
/* What is free of the device's own memory; UINT64_MAX where arrays are in the host's. */
uint64_t ops_free_bytes(const struct ops *o);
int ops_on_host(const struct ops *o); /* whether it computes on the CPU */
const char *ops_kernels(void);        /* the same, before there is a context */

/* Types of numbers. bf16 is the high half of a float's bits. The last four are for parameters that
 * only forward reads, on the host: f16 is IEEE 754's binary16, Q8 and Q4 are blocks of integers
 * with a scale each (stored.h), and a LIST is an array of arrays, each of a type of its own. */
enum ops_type {
    OPS_F32,
    OPS_BF16,
    OPS_F64,
    OPS_U32,
    OPS_I32,
    OPS_I64,
    OPS_U8,
    OPS_F16,
    OPS_Q8,
    OPS_Q4,
    OPS_LIST,
};
#define OPS_PRECISION_WORDS "f32|bf16" /* the first two, in the order of the enum */
static inline size_t ops_type_bytes(enum ops_type type) /* of one number; of blocks there is none */
{
    static const unsigned char bytes[] = { 4, 2, 8, 4, 4, 8, 1, 2, 0, 0, 0 };
    return bytes[type];
}

/* The precision of matrix products, attention's among them. Operands of either type are taken in
 * either precision. With OPS_BF16 they are rounded to bf16 (8 bits of significand, to nearest, ties
 * to even) on their way into the product, and sums are f32: twice as fast where the processor has
 * AVX-512 BF16, and slower where it has not. Products of so few rows that memory bounds them
 * stay f32. */
void ops_set_precision(struct ops *o, enum ops_type precision); /* f32 at first */
/* The type for what only products will read: what they would round it to. */
enum ops_type ops_operand(const struct ops *o);

/* Whose f32 products of large matrices: our own, or OpenBLAS's, if that is installed; at first our
 * own where there are kernels for this processor. -1 with an error when OpenBLAS is not there. */
enum ops_products { OPS_PRODUCTS_AUTO, OPS_PRODUCTS_OWN, OPS_PRODUCTS_OPENBLAS };
#define OPS_PRODUCTS_WORDS "auto|own|openblas" /* in the order of the enum */
int ops_set_products(struct ops *o, enum ops_products products);

/* ---- arrays ------------------------------------------------------------------------------- */

/* Numbers of one type, passed by value; a part of it is an array. Where a type is not given below,
 * an array of activations or parameters is F32 or BF16, and sums and gradients of parameters are
 * F32. */
struct ops_array {
    char *address; /* for the back end alone */
    enum ops_type type;
};

/* Where there may be none. */
#define OPS_NONE ((struct ops_array){ 0 })

static inline int ops_is_none(struct ops_array a)
{
    return !a.address;
}

/* From element `first` on; of none it is none. */
static inline struct ops_array ops_part(struct ops_array a, int64_t first)
{
    if (a.address)
        a.address += first * (int64_t)ops_type_bytes(a.type);
    return a;
}

/* Zeroed, aligned to 64 bytes; in host memory touched in parallel by the context's threads. */
struct ops_array ops_buffer(struct ops *o, enum ops_type type, int64_t n);
void ops_buffer_free(struct ops *o, struct ops_array a, int64_t n); /* fine on none */

/* The caller's memory as an array, if the back end computes in the host's. */
struct ops_array ops_host_array(void *memory, enum ops_type type);

/* The i-th array of a LIST, whose items are the caller's. */
static inline struct ops_array ops_listed(struct ops_array list, int64_t i)
{
    return ((const struct ops_array *)(const void *)list.address)[i];
}

/* A matrix [O,I] as products read it, whose rows lie in memory as stored.h has them: a copy, freed
 * by ops_weights_free, or of F32, BF16 and F16, where `keep` says that the rows will stay, these
 * rows themselves. On the host alone. */
struct ops_array ops_weights(struct ops *o, enum ops_type type, const void *rows, int64_t O,
                             int64_t I, int keep);
void ops_weights_free(struct ops *o, struct ops_array w, const void *rows);

/* Scratch for the caller of the functions below; none of them uses it. ops_scratch_begin takes all
 * pieces back; ops_scratch hands out the next, aligned, not zeroed. Memory grows to what was
 * needed at once, and is kept. */
void ops_scratch_begin(struct ops *o);
struct ops_array ops_scratch(struct ops *o, enum ops_type type, int64_t n);

/* Copies of n elements; when they return both ends may be used. */
void ops_upload(struct ops *o, struct ops_array to, const void *from, int64_t n);
void ops_download(struct ops *o, void *to, struct ops_array from, int64_t n);

/* The array's elements in the host's memory until ops_unmap, which brings changes back. Where the
 * array is there already, nothing is copied. */
void *ops_map(struct ops *o, struct ops_array a, int64_t n);
/* The same for an array all of which will be written: what stands there need not be seen. */
void *ops_fill(struct ops *o, struct ops_array a, int64_t n);
void ops_unmap(struct ops *o, struct ops_array a, int64_t n, void *mapped);

/* Memory of the host (U8, zeroed) that the device copies from and to while it computes; the
 * functions above take it, too. */
struct ops_array ops_host_buffer(struct ops *o, int64_t bytes);
void ops_host_buffer_free(struct ops *o, struct ops_array a, int64_t bytes); /* fine on none */

/* Work is done in the order of the calls, but for moves, which have queues of their own. A mark is
 * a place in the order of a queue's work, the last that it was set to; what is called for a queue
 * after ops_after waits for it there. A zeroed mark is none. */
enum ops_queue { OPS_COMPUTE, OPS_IN, OPS_OUT };
struct ops_mark {
    void *event; /* for the back end alone */
};
void ops_mark(struct ops *o, enum ops_queue q, struct ops_mark *m);
void ops_mark_free(struct ops *o, struct ops_mark *m);
void ops_after(struct ops *o, enum ops_queue q, const struct ops_mark *m);
/* A copy between the host's buffers and the device's, of n bytes; not in OPS_COMPUTE. */
void ops_move(struct ops *o, enum ops_queue q, struct ops_array to, struct ops_array from,
              int64_t n);
void ops_finish(struct ops *o); /* waits for all queues */

/* Where a gradient goes: it is added to what stands there, or set. */
struct ops_gradient {
    struct ops_array to; /* none: it is not wanted */
    int add;
};

static inline struct ops_gradient ops_set(struct ops_array to)
{
    return (struct ops_gradient){ to, 0 };
}

static inline struct ops_gradient ops_added(struct ops_array to)
{
    return (struct ops_gradient){ to, 1 };
}

static inline struct ops_gradient ops_gradient_part(struct ops_gradient g, int64_t first)
{
    return (struct ops_gradient){ ops_part(g.to, first), g.add };
}

/* A dropout mask: element i is kept with probability 1 - rate and then divided by it, as the
 * counter-based sequence `key` says (rng.h): equal for any number of threads, and when it is
 * made again. rate 0 is none. */
struct ops_dropout {
    uint64_t key;
    double rate;
    uint64_t first; /* even: of ops_dropout, element i has the mask's number first + i */
};

/* ---- matrix products ---------------------------------------------------------------------- */

/* A stored matrix, rows ld elements apart, taken as it is or transposed. */
struct ops_matrix {
    struct ops_array x;
    int64_t ld;
    int transposed;
};

/* C[M,N] = base[M,N] + bias[N] + A[M,K] B[K,N]. All threads share the work. */
struct ops_matmul {
    struct ops_matrix C, A, B; /* C is not transposed */
    int64_t M, N, K;
    struct ops_array base; /* rows as C's; C itself, so that the product is added; none: 0 */
    struct ops_array bias; /* none: 0 */
    struct ops_array sums; /* [N] += the sums of the columns of B, not transposed then; or none */
};
void ops_matmul(struct ops *o, const struct ops_matmul *p);

/* A linear map of N rows, y[N,O] = x[N,I] w[I,O] + bias[O]; bias may be none. Any N: for few rows
 * weights are streamed, and each row has the bits that it has alone. With `turned` w is [O,I], made
 * by ops_weights, and there is no backward. Products with Q8 and Q4 round x to blocks of 8 bits. */
struct ops_linear {
    struct ops_array w, bias;
    int64_t N, I, O;
    int turned;
};
void ops_linear_fwd(struct ops *o, struct ops_array y, struct ops_array x,
                    const struct ops_linear *l);
/* dx = dy w^T, dw = x^T dy, dbias = the column sums of dy: those that are wanted. */
void ops_linear_bwd(struct ops *o, struct ops_gradient dx, struct ops_gradient dw,
                    struct ops_gradient dbias, struct ops_array dy, struct ops_array x,
                    const struct ops_linear *l);

/* y[N,O] = base[N,O] + dropout(x w + bias): the end of a residual branch. y is not base. Its
 * backward is ops_dropout, then ops_linear_bwd. */
void ops_residual_fwd(struct ops *o, struct ops_array y, struct ops_array base, struct ops_array x,
                      const struct ops_linear *l, struct ops_dropout drop);

/* ---- embedding ---------------------------------------------------------------------------- */

/* N tokens. Token n stands at place places[n] of its sequence, or, where there are none, at
 * first + n mod T. */
struct ops_tokens {
    int64_t N, T, first;
    struct ops_array ids;      /* U32 */
    struct ops_array places;   /* U32, or none */
    struct ops_array segments; /* U32, or none: all 0 */
};

/* Tables of rows of C; positions and types may be none. */
struct ops_embedding {
    struct ops_array words, positions, types;
    int64_t C;
};
/* x[n] = words[id] + positions[place] + types[segment]; ids are below the table's rows. */
void ops_embedding_fwd(struct ops *o, struct ops_array x, const struct ops_tokens *t,
                       const struct ops_embedding *e);
/* Added to tables of gradients, F32. */
void ops_embedding_bwd(struct ops *o, const struct ops_embedding *d, struct ops_array dx,
                       const struct ops_tokens *t);

/* ---- rows and elements -------------------------------------------------------------------- */

/* Layer norm of N rows, y = (x - mean) * rstd * gain + bias (Ba, Kiros, Hinton 2016); with rms,
 * RMSNorm, the mean is taken to be 0 (Zhang and Sennrich 2019). */
struct ops_norm {
    struct ops_array gain, bias; /* bias may be none */
    int64_t N, C;
    double epsilon;
    int rms;
};
/* What is kept of it for backward, F32 [N]; none: not kept. RMSNorm has no mean. */
struct ops_moments {
    struct ops_array mean, rstd;
};
void ops_norm_fwd(struct ops *o, struct ops_array y, struct ops_moments kept, struct ops_array x,
                  const struct ops_norm *l);
void ops_norm_bwd(struct ops *o, struct ops_gradient dx, struct ops_gradient dgain,
                  struct ops_gradient dbias, struct ops_array dy, struct ops_array x,
                  struct ops_moments kept, const struct ops_norm *l);

/* GELU in its tanh form (Hendrycks and Gimpel 2016), and as it is defined, x times the normal
 * distribution at x, to f32's precision; max(x, 0); x / (1 + exp(-x)). */
enum ops_activation { OPS_GELU_TANH, OPS_GELU, OPS_RELU, OPS_SILU, OPS_ACTIVATIONS };
/* y may be x. */
void ops_activation_fwd(struct ops *o, enum ops_activation f, struct ops_array y,
                        struct ops_array x, int64_t n);
/* dx = dy * f'(x) and, for what reads f's output, y = f(x) again. dx may be dy, y may be x. */
void ops_activation_bwd(struct ops *o, enum ops_activation f, struct ops_array dx,
                        struct ops_array y, struct ops_array dy, struct ops_array x, int64_t n);

/* A gated unit, y = f(gate) * up: with OPS_SILU SwiGLU (Shazeer 2020). */
void ops_gated_fwd(struct ops *o, enum ops_activation f, struct ops_array y, struct ops_array gate,
                   struct ops_array up, int64_t n);
/* dgate = dy * up * f'(gate), dup = dy * f(gate), and y again. Each may be an input, of its type.
 */
void ops_gated_bwd(struct ops *o, enum ops_activation f, struct ops_array dgate,
                   struct ops_array dup, struct ops_array y, struct ops_array dy,
                   struct ops_array gate, struct ops_array up, int64_t n);

/* y = mask * x; y may be x. The backward is the same. */
void ops_dropout(struct ops *o, struct ops_array y, struct ops_array x, int64_t n,
                 struct ops_dropout drop);

void ops_tanh_fwd(struct ops *o, struct ops_array x, int64_t n); /* in place, F32 */
void ops_tanh_bwd(struct ops *o, struct ops_array d, struct ops_array y,
                  int64_t n); /* F32:
                               * d *= 1-y^2 */

void ops_zero(struct ops *o, struct ops_array x, int64_t n);
void ops_add(struct ops *o, struct ops_array y, struct ops_array x, int64_t n); /* y += x */
/* y = x, which may be y; from F32 to BF16 the nearest, ties to even. */
void ops_copy(struct ops *o, struct ops_array y, struct ops_array x, int64_t n);
/* y = y_scale*y + x_scale*x, F32 */
void ops_blend(struct ops *o, struct ops_array y, double y_scale, struct ops_array x,
               double x_scale, int64_t n);

/* y[i] = x[rows[i]], rows of C; and y[rows[i]] += x[i], where no row stands twice. rows: I64. */
void ops_gather_rows(struct ops *o, struct ops_array y, struct ops_array x, struct ops_array rows,
                     int64_t n, int64_t C);
void ops_scatter_rows(struct ops *o, struct ops_array y, struct ops_array x, struct ops_array rows,
                      int64_t n, int64_t C);

/* ---- attention ---------------------------------------------------------------------------- */

/* B sequences of up to T tokens, of which only the real ones are rows: those of sequence b
 * follow those of b-1. */
struct ops_rows {
    int64_t B, T;
    const int64_t *lengths; /* [B], each from 1 to T; NULL: all are T. The host's */
};
int64_t ops_rows_of(const struct ops_rows *rows, int64_t b);
int64_t ops_rows_count(const struct ops_rows *rows);

/* How frequencies change for longer texts than the model first learned: they are divided by
 * `factor`; 0: 1. With `original`, the length first learned, only those of long waves are: a wave
 * that fits more than `high` times into it stays, one that fits less than `low` times is stretched
 * by the factor, and between these the share changes evenly (Llama 3.1; Hugging Face's "llama3").
 */
struct ops_stretch {
    double factor, low, high, original;
};
/* Rotary positions (Su et al. 2021), in place: in each of `heads` heads of HS numbers in a row of
 * x, rows ld apart, the pair of numbers i and i + HS/2 is turned by the angle place / base^(2i/HS)
 * (Hugging Face's order of the halves), or back. Each direction is the backward of the other. */
struct ops_rotary {
    int64_t heads, HS, ld; /* HS is even */
    double base;
    struct ops_stretch stretch;
    int back;
};
/* The angle between one place and the next of pair i. For back ends. */
double ops_rotary_frequency(const struct ops_rotary *r, int64_t i);
void ops_rotate(struct ops *o, struct ops_array x, const struct ops_tokens *t,
                const struct ops_rotary *r);

/* Per head y = dropout(softmax(scale q k^T)) v: each position over itself and those before it, or
 * over all of its sequence (Vaswani et al. 2017). In blocks with an online softmax, so that memory
 * grows with T and not with T^2; lse[N*NH], F32, the log of each softmax's sum, is all that
 * backward needs beside q, k, v and y (Dao et al. 2022). Both ways, the masks of a sequence depend
 * on its number and not on the others' lengths. With fewer heads of keys and values than of
 * queries, neighbouring heads of queries share one (Ainslie et al. 2023). */
struct ops_attention {
    struct ops_rows rows; /* causal: without lengths */
    int64_t NH, HS;
    int64_t KV; /* heads of keys and values, which divides NH; 0: NH */
    /* The masks are those of heads first_head, first_head + 1, ... of so many; 0: of NH. */
    int64_t first_head, all_heads;
    double scale; /* 0: 1/sqrt(HS) */
    int causal;
    struct ops_dropout drop;
};

/* Queries, keys and values, or the gradients in them: rows of NH*HS and of KV*HS numbers, ldq and
 * ldk apart. */
struct ops_qkv {
    struct ops_array q, k, v;
    int64_t ldq, ldk;
};

/* Side by side in the rows of qkv[N,3C]. */
static inline struct ops_qkv ops_side_by_side(struct ops_array qkv, int64_t C)
{
    return (struct ops_qkv){ qkv, ops_part(qkv, C), ops_part(qkv, 2 * C), 3 * C, 3 * C };
}

/* y[N,NH*HS]; lse may be none. */
void ops_attention_fwd(struct ops *o, struct ops_array y, struct ops_array lse, struct ops_qkv x,
                       const struct ops_attention *a);
void ops_attention_bwd(struct ops *o, struct ops_qkv dx, struct ops_array dy, struct ops_qkv x,
                       struct ops_array y, struct ops_array lse, const struct ops_attention *a);

/* Causal attention of a->rows.T new positions of one sequence over `past` cached ones and
 * themselves. The new keys and values are appended to keys[.,KV*HS] and values at row `past`. */
void ops_attention_cached(struct ops *o, struct ops_array y, struct ops_array keys,
                          struct ops_array values, struct ops_qkv x, int64_t past,
                          const struct ops_attention *a);

/* ---- losses ------------------------------------------------------------------------------- */

/* n labels, I32; label i is of row rows[i] (I64) of what is scored, or of row i where there are
 * none. */
struct ops_labels {
    int64_t n;
    struct ops_array rows, labels;
};

/* losses[n], F32: -log softmax(logits)[label] in nats. correct[n], U8 or none: 1 where no logit is
 * above the label's. */
struct ops_scores {
    struct ops_array losses, correct;
};

/* logits[N,V] = x[N,C] table[V,C]^T + bias[V]; bias may be none. The table may be made by
 * ops_weights. */
struct ops_decoder {
    struct ops_array table, bias;
    int64_t V, C;
};
void ops_logits(struct ops *o, struct ops_array logits, struct ops_array x, int64_t N,
                const struct ops_decoder *d);
/* Labels are at least 0. Logits exist for a chunk of rows at a time. */
void ops_loss_fwd(struct ops *o, struct ops_scores out, struct ops_array x,
                  const struct ops_labels *l, const struct ops_decoder *d);
/* The same, and the gradients of scale * (sum of losses). dx[N,C] is set, 0 where no label is. */
void ops_loss_fwd_bwd(struct ops *o, struct ops_scores out, struct ops_array dx,
                      struct ops_gradient dtable, struct ops_gradient dbias, struct ops_array x,
                      int64_t N, double scale, const struct ops_labels *l,
                      const struct ops_decoder *d);

/* Of logits[n,V], F32, that are there already, which are destroyed. A label below 0 has loss 0.
 * With gradient they become the gradients of scale * sum. l has no rows. */
void ops_cross_entropy(struct ops *o, struct ops_scores out, struct ops_array logits, int64_t V,
                       const struct ops_labels *l, int gradient, double scale);

/* The same where the columns of the logits are shared: these are columns `first` to first + V - 1
 * of logits[n,.], F32, and each column is somewhere. The first function sets most[n], the largest
 * logit of each row. With the largest of all columns in its place, the second one sets sums[n], of
 * exp(logit - most), and wanted[n], the label's logit, or 0 where it is not among these columns;
 * the logits become exp(logit - most). With sums over all columns in their places, the third one
 * sets the scores and, with gradient, makes the logits those of scale * (sum of losses). */
struct ops_columns {
    struct ops_array logits;
    int64_t n, V, first;
    struct ops_array labels;             /* I32, of all columns; at least 0 */
    struct ops_array most, sums, wanted; /* F32 [n] */
};
void ops_columns_most(struct ops *o, const struct ops_columns *c);
void ops_columns_sums(struct ops *o, const struct ops_columns *c);
void ops_columns_loss(struct ops *o, struct ops_scores out, const struct ops_columns *c,
                      int gradient, double scale);

/* Sequence b's softmax goes over its rows: of logits[N,2], F32, column `side` is used and, with
 * gradient, replaced. A label outside the sequence has loss 0. */
void ops_span_loss(struct ops *o, struct ops_scores out, struct ops_array logits, int side,
                   const struct ops_labels *l, const struct ops_rows *rows, int gradient,
                   double scale);

/* ---- sums that stay where the arrays are -------------------------------------------------- */

/* sum, F64, = the sum of x^2, and += the sum of x (F32 or U8): in f64, in a fixed order. */
void ops_sum_squares(struct ops *o, struct ops_array sum, struct ops_array x, int64_t n);
void ops_add_sum(struct ops *o, struct ops_array sum, struct ops_array x, int64_t n);

/* ---- the optimizer's part ----------------------------------------------------------------- */

/* An array of state as it is kept. BF16 is rounded stochastically, up or down with a mean of what
 * is rounded: element i takes the bits from 16 (i mod 4) on of rng_at(key, i/4), equal for any
 * number of threads. What is bf16 already stays as it is. */
struct ops_state {
    struct ops_array at; /* none: not kept */
    uint64_t key;
};
enum { OPS_W, OPS_M, OPS_V, OPS_STATES };

/* y (BF16) = x so rounded; i counts from `first`, a multiple of 4. */
void ops_round(struct ops *o, struct ops_state y, struct ops_array x, int64_t n, uint64_t first);

/* AdamW in one pass (Loshchilov and Hutter 2019): with g = gradient_scale * gradient,
 * m = beta1*m + (1-beta1)*g, v = beta2*v + (1-beta2)*g^2,
 * w -= rate * (m*m_correction / (sqrt(v*v_correction) + epsilon) + decay*w).
 * bf16 is f32 in the update alone, so that memory is passed over once. */
struct ops_adamw {
    double rate, beta1, beta2, epsilon, decay, gradient_scale;
    double m_correction, v_correction; /* 1/(1-beta^t), or 1 without bias correction */
};
void ops_adamw(struct ops *o, const struct ops_state state[OPS_STATES], struct ops_array gradient,
               int64_t n, const struct ops_adamw *h);

/* The state of the following is F32. */

/* Adam with weight decay as a part of the gradient, g = gradient_scale * gradient + decay*w
 * (Kingma and Ba 2015); else as ops_adamw. */
void ops_adam(struct ops *o, struct ops_array w, struct ops_array m, struct ops_array v,
              struct ops_array gradient, int64_t n, const struct ops_adamw *h);

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
void ops_lamb(struct ops *o, struct ops_array w, struct ops_array m, struct ops_array v,
              struct ops_array gradient, const struct ops_lamb *h);

/* Schedule-free AdamW (Defazio et al. 2024), with w the point y where gradients are taken: with
 * g = gradient_scale * gradient, v = beta2*v + (1-beta2)*g^2 and
 * d = g / (sqrt(v*v_correction) + epsilon) + decay*w,
 * w = (1-share)*w + share*z - rate*(1 - beta1*(1-share))*d, z -= rate*d. */
void ops_schedule_free(struct ops *o, struct ops_array w, struct ops_array z, struct ops_array v,
                       struct ops_array gradient, int64_t n, const struct ops_adamw *h,
                       double share);

/* With g = gradient_scale * gradient + decay*w: a = momentum*a + g, w -= rate * a; without a
 * (none), w -= rate * g. */
struct ops_sgd {
    double rate, momentum, decay, gradient_scale;
};
void ops_sgd(struct ops *o, struct ops_array w, struct ops_array a, struct ops_array gradient,
             int64_t n, const struct ops_sgd *h);

/* Muon (Jordan 2024) for a matrix w[R,C]: a = momentum*a + g, X = the g + momentum*a of Nesterov
 * made nearly orthogonal by five steps of a Newton-Schulz iteration, and
 * w -= rate * (0.2 sqrt(max(R,C)) X + decay*w): updates as large as AdamW's (Liu et al. 2025),
 * so that its rates serve. The gradient is destroyed. */
void ops_muon(struct ops *o, struct ops_array w, struct ops_array a, struct ops_array gradient,
              int64_t R, int64_t C, const struct ops_sgd *h);

#endif
