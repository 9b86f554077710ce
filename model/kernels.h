/*
 * kernels.h - the inner loops of ops.h, for one thread, on rows and ranges.
 *
 * kernels.inc is written once, in vectors of WIDTH floats, and compiled for each instruction set
 * by kernels_avx512_bf16.c, kernels_avx512.c, kernels_avx2.c, kernels_neon.c and kernels_plain.c;
 * kernels_choose picks at run time.
 * Sums run over KERNEL_LANES fixed lanes whatever WIDTH is, and the lanes are added as a tree,
 * so that instruction sets differ by the rounding of a fused multiply-add and no more.
 *
 * Nothing here allocates, starts threads, or needs alignment. Lengths may be any. Arrays are F32 or
 * BF16, pointers to floats and halves are what they say.
 */
#ifndef TEXTMILL_MODEL_KERNELS_H
#define TEXTMILL_MODEL_KERNELS_H

#include <stdint.h>

#include "model/ops.h"

enum {
    KERNEL_LANES = 64,     /* of a sum */
    KERNEL_ROWS = 4,       /* most rows of the streaming products below */
    KERNEL_GROUP = 4,      /* panels that lie side by side in the rows of multiply_rows */
    KERNEL_AHEAD = 3,      /* regions that a product asks for */
    KERNEL_OUTPUTS = 16,   /* outputs of a group of weights in blocks */
    KERNEL_BLOCK_ROWS = 4, /* rows that such a group meets at once */
};

/* A dropout mask as a kernel sees it: element i is kept when the i-th 32-bit number of the
 * sequence `key` is at least `threshold`, and then multiplied by `scale`. Two numbers come from
 * one rng_at, the low half first; `first`, the index of a range's first element, is even. */
struct kernel_mask {
    uint64_t key;
    uint32_t threshold; /* 0: keep all, scale is 1 */
    float scale;
};

/* A panel of attention scores before they are scaled: keys x tile_columns queries, so that all
 * about a query happens in its lane. Query l sees the first visible + l keys. Element (key k,
 * query l) of the dropout mask has the index first + l*stride + k; first and stride are even. */
struct kernel_scores {
    int64_t keys, visible;
    float scale; /* to logarithms of base 2 */
    struct kernel_mask mask;
    uint64_t first, stride;
    int steps;    /* of the products */
    float *panel; /* where what the scores become is left, as pack_columns would leave it */
};

/* The same in the backward: queries x tile_columns keys, so that all about a key happens in its
 * lane. Query r sees the first visible + r of `keys`. Element (query r, key l) of the dropout mask
 * has the index first + r*stride + l. */
struct kernel_scores_bwd {
    int64_t queries, keys, visible;
    float scale;
    struct kernel_mask mask;
    uint64_t first, stride;
    const float *lse;  /* of the queries: the logarithms, base 2, of their sums */
    const float *dots; /* likewise: the sums of P dP over the keys */
    int steps;
    float *P, *dS; /* panels, as pack_columns would leave them */
    float *rows;   /* dS as multiply_rows takes it */
};

/* Memory that will be read or written soon: rows of so many bytes, ld bytes apart. */
struct kernel_ahead {
    const char *at;
    int64_t rows, bytes, ld;
    int writes;
};

/* C[M,N] = base + bias + A[M,K] B[K,N] from panels: those of B have `depth` layers, of A
 * a_depth >= depth. Meanwhile it asks for what is ahead. */
struct kernel_product {
    struct ops_array C;
    struct ops_array base; /* rows ld_base apart, and may be C; none: 0 */
    struct ops_array bias; /* [N], of each row; none: 0 */
    int64_t ldc, ld_base;
    const float *A, *B;
    int64_t a_depth, M, N, depth;
    struct kernel_ahead ahead[KERNEL_AHEAD];
};

/* Matrix products from panels (Goto, van de Geijn 2008), in one precision. A lies in panels of
 * tile_rows rows, B in panels of tile_columns columns. A panel is a pile of layers of so many
 * floats, each `steps` steps of the sum over K: one step in f32, in bf16 two, as the low and the
 * high half of the float's bits. Zeros stand where the matrix has ended. */
struct kernel_products {
    int tile_rows, tile_columns, steps;
    /* Panels of A[M,K], or of A stored transposed as [K,M], times alpha, which is 1 for BF16. */
    void (*pack_rows)(float *panels, struct ops_array A, int64_t ld, int transposed, int64_t M,
                      int64_t K, float alpha);
    /* Panels of B[K,N], or of B stored transposed as [N,K]; not transposed, the sums of its
     * columns, before they are rounded here, are added to sums[N], unless that is NULL. */
    void (*pack_columns)(float *panels, float *sums, struct ops_array B, int64_t ld, int transposed,
                         int64_t N, int64_t K);
    /* The sum over K has one order, whatever M and N are. */
    void (*multiply)(const struct kernel_product *p);
    /* The same where A is no panels but stands row by row, a_depth = KERNEL_GROUP * tile_columns /
     * steps layers apart. Rows are read up to a multiple of tile_rows. */
    void (*multiply_rows)(const struct kernel_product *p);
};

/* Rows rounded to blocks of 32 numbers: q * scale, with the sum of each block's q. [rows, blocks]
 * of them. */
struct kernel_blocks {
    const int8_t *q;
    const float *scales;
    const int32_t *sums;
    int64_t rows, blocks;
};

/* Layers of a panel with K steps of the sum. */
static inline int64_t kernel_depth(const struct kernel_products *p, int64_t K)
{
    return (K + p->steps - 1) / p->steps;
}

struct kernels {
    const char *name; /* "AVX2 kernels" */
    const char *word; /* "avx2" */

    /* f32 products, and products of numbers rounded to bf16 while they are packed (to nearest,
     * ties to even), with sums in f32. Panels are of equal size in both. */
    struct kernel_products f32, bf16;

    /* ---- rows and elements */

    void (*add)(struct ops_array y, struct ops_array x, int64_t n); /* y += x */
    void (*sum)(struct ops_array y, struct ops_array a, struct ops_array b,
                int64_t n);                                          /* y = a + b */
    void (*copy)(struct ops_array y, struct ops_array x, int64_t n); /* y = x, to the nearest */
    void (*scale)(float *y, float factor, int64_t n);                /* y *= factor */
    float (*dot)(const float *x, const float *y, int64_t n);
    double (*sum_squares)(const float *x, int64_t n);
    void (*adamw)(float *w, float *m, float *v, const float *gradient, int64_t n,
                  const struct ops_adamw *h);

    /* Rounded stochastically (struct ops_state); first is a multiple of 4. */
    void (*round_bf16)(uint16_t *y, const float *x, int64_t n, uint64_t key, uint64_t first);

    /* By activation: y = f(x); dx = dy f'(x) and y = f(x). */
    void (*activation_fwd[OPS_ACTIVATIONS])(struct ops_array y, struct ops_array x, int64_t n);
    void (*activation_bwd[OPS_ACTIVATIONS])(struct ops_array dx, struct ops_array y,
                                            struct ops_array dy, struct ops_array x, int64_t n);

    /* By activation: y = f(gate) up; dgate = dy up f'(gate), dup = dy f(gate), y = f(gate) up. */
    void (*gated_fwd[OPS_ACTIVATIONS])(struct ops_array y, struct ops_array gate,
                                       struct ops_array up, int64_t n);
    void (*gated_bwd[OPS_ACTIVATIONS])(struct ops_array dgate, struct ops_array dup,
                                       struct ops_array y, struct ops_array dy,
                                       struct ops_array gate, struct ops_array up, int64_t n);

    /* One head of one row: pairs i and i + half are turned by angles of these cosines and sines. */
    void (*rotate)(struct ops_array x, const float *cosines, const float *sines, int64_t half);

    /* y = base + mask * x; base may be none (zero) or y, x may be y. */
    void (*dropout)(struct ops_array y, struct ops_array base, struct ops_array x, int64_t n,
                    const struct kernel_mask *mask, uint64_t first);

    /* One row; mean and rstd are set. */
    void (*norm_fwd)(struct ops_array y, float *mean, float *rstd, struct ops_array x,
                     const struct ops_norm *l);
    /* One row: dx is set or added to. dgain and dbias [C] are added to; RMSNorm has no dbias. */
    void (*norm_bwd)(struct ops_gradient dx, float *dgain, float *dbias, struct ops_array dy,
                     struct ops_array x, float mean, float rstd, const struct ops_norm *l);
    /* out[n] += sum of the rows of x[rows,ld]. */
    void (*column_sums)(float *out, struct ops_array x, int64_t ld, int64_t rows, int64_t n);

    /* y[r,0..n) += sum over i of x[r,i] w[i,0..n), r < rows <= KERNEL_ROWS; w is F32 or BF16. */
    void (*stream_columns)(float *y, int64_t ldy, const float *x, int64_t ldx, int64_t rows,
                           struct ops_array w, int64_t ldw, int64_t I, int64_t n);
    /* y[r,v] = x[r,.] . w[v,.], r < rows, v < n; w is F32, BF16 or F16. The bits of each are those
     * of dot. */
    void (*stream_rows)(float *y, int64_t ldy, const float *x, int64_t ldx, int64_t rows,
                        struct ops_array w, int64_t ldw, int64_t C, int64_t n);

    /* n numbers of an F16 array. */
    void (*from_f16)(float *y, struct ops_array x, int64_t n);
    /* A row of 32 * blocks numbers to blocks of 8 bits. */
    void (*to_blocks)(int8_t *q, float *scales, int32_t *sums, struct ops_array x, int64_t blocks);
    /* y[r,0..n) += the products of x's rows with a group of n <= KERNEL_OUTPUTS outputs: f16 scales
     * [blocks][KERNEL_OUTPUTS], then for each block and each four (j) of its bytes (of 8 in Q8, in
     * Q4 of 4, as stored.h has them) those of all outputs: [blocks][j][KERNEL_OUTPUTS][4]. */
    void (*multiply_q8)(float *y, int64_t ldy, const struct kernel_blocks *x, const char *group,
                        int64_t n);
    void (*multiply_q4)(float *y, int64_t ldy, const struct kernel_blocks *x, const char *group,
                        int64_t n);

    /* One step of the online softmax (Milakov and Gimelshein 2018; Dao et al. 2022), in logarithms
     * of base 2: scores become 2^(score - max) after dropout, 0 where unseen; max and sum, a number
     * a query, are the running maximum and (undropped) sum. y[HS] rows of a panel, what was found
     * so far, shrink to the new maximum. The panel may be the scores, if steps is 1. */
    void (*softmax_panel)(float *scores, float *max, float *sum, float *y, int64_t HS,
                          const struct kernel_scores *s);
    /* From scores and dP, the gradient in dropout(P): P = dropout(2^(score - lse)), 0 where unseen,
     * and dS = P * (mask * dP - dots), P undropped, the gradient in the scaled scores. */
    void (*softmax_rows_bwd)(const float *scores, const float *dP,
                             const struct kernel_scores_bwd *s);
    /* y[l,i] = panel[i,l] * factors[l] for `rows` queries l; factors may be NULL. */
    void (*unpack)(struct ops_array y, int64_t ldy, const float *panel, const float *factors,
                   int64_t rows, int64_t HS);
    /* dots[r] = factor * (x[r,.] . y[r,.]), rows of n numbers, ld apart. */
    void (*row_dots)(float *dots, struct ops_array x, struct ops_array y, int64_t ld, float factor,
                     int64_t rows, int64_t n);
    /* One query: scores[n] become probabilities. */
    void (*softmax)(float *scores, int64_t n);

    /* One row of logits: returns -log softmax[label]; *correct is 1 where no logit is above the
     * label's. d, if not none, is set to scale * (softmax - onehot): it may begin where the logits
     * do, which are destroyed. */
    double (*cross_entropy)(float *logits, unsigned char *correct, int64_t V, int64_t label,
                            struct ops_array d, float scale);

    float (*largest)(const float *x, int64_t n);
    /* x[n] becomes exp(x - most); returns the sum. */
    float (*exponentials)(float *x, float most, int64_t n);
};

extern const struct kernels kernels_avx512_bf16, kernels_avx512, kernels_avx2, kernels_neon,
    kernels_plain;

/* The i-th set of kernels that this processor runs, the fastest first; NULL after the last one. */
const struct kernels *kernels_set(int i);

/* The fastest, or those whose word the environment variable TEXTMILL_KERNELS holds; NULL with an
 * error if this processor does not run them. */
const struct kernels *kernels_choose(void);

#endif
