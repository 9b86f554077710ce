/*
 * kernels.h - the inner loops of ops.h on the CPU: they run on one thread, on rows or ranges.
 *
 * kernels.inc is written once, in vectors of WIDTH floats, and compiled for each instruction set by
 * kernels_avx512_bf16.c, kernels_avx512.c, kernels_avx2.c, kernels_neon.c and kernels_plain.c;
 * kernels_choose selects one at run time. Every sum uses KERNEL_LANES partial sums (16 in
 * stream_rows), whatever WIDTH is, and adds them as a tree. Results of instruction sets therefore
 * differ only by the rounding of fused multiply-adds. Products by AMX's tile registers are an
 * exception: kernels_amx adds in the hardware's order in bf16's products and in multiply_split.
 *
 * These functions allocate nothing and start no threads. Arrays need no alignment and may have any
 * length. Arrays are F32 or BF16; a pointer to float or uint16_t has that type only.
 */
#pragma once

#include "model/compute/ops_array.h"
#include "model/compute/stored.h"

enum {
    KERNEL_LANES = 64,                      /* partial sums of a sum */
    KERNEL_KEYS = 128,                      /* columns of A in multiply_rows: a group of keys */
    KERNEL_AHEAD = 3,                       /* regions that a product prefetches */
    KERNEL_BAND = 16,                       /* rows in a band of struct kernel_blocks */
    KERNEL_BLOCK_BYTES = 12 + STORED_BLOCK, /* bytes of one block of one row in a band */
    KERNEL_EVEN = 43010,                    /* least sum of q^2 of a block without a second part */
    KERNEL_FEW = 16,                        /* numbers of a block in the panels of pack_few */
    KERNEL_LINES = 24,                      /* outputs that stream_rows multiplies at a time */
    KERNEL_STEP = 32,                       /* numbers of a row in a step of multiply_split */
    KERNEL_PARTS = 3,                       /* parts of a number in split rows */
    KERNEL_SPLIT_ROWS = 256,                /* most rows of multiply_split */
};

/* A panel of attention scores in the forward pass, before scaling: one row for each key and
 * tile_columns columns, one for each query, so each query has its own vector lane. Query l sees
 * keys hidden + l to visible + l - 1. In the dropout mask, (key k, query l) has the index first +
 * l*stride + k; first and stride are even. */
struct kernel_scores {
    int64_t keys, hidden, visible;
    float scale; /* factor of the scores, which also converts them to base-2 logarithms */
    struct ops_mask mask;
    uint64_t first, stride;
    int steps;    /* steps of kernel_products: 1 for f32, 2 for bf16 */
    float *panel; /* output: the probabilities, in the layout of pack_columns */
};

/* A panel of attention scores in the backward pass: one row for each query and tile_columns
 * columns, one for each key, so each key has its own vector lane. Query r sees keys hidden + r to
 * visible + r - 1, but none beyond keys - 1. In the dropout mask, (query r, key l) has the index
 * first + r*stride + l. */
struct kernel_scores_bwd {
    int64_t queries, keys, hidden, visible;
    float scale;
    struct ops_mask mask;
    uint64_t first, stride;
    const float *lse;  /* [queries] base-2 logarithm of the softmax's sum */
    const float *dots; /* [queries] for each query, the sum of P * dP over the keys (row_dots) */
    int steps;
    float *P, *dS; /* outputs, in the layout of pack_columns */
    float *rows;   /* output: dS again, in the layout of A in multiply_rows */
};

/* Memory to prefetch, because it is read or written soon: `rows` rows of `bytes` bytes, whose
 * starts are ld bytes apart. */
struct kernel_ahead {
    const char *at;
    int64_t rows, bytes, ld;
    int writes;
};

/* A product C[M,N] = base + bias + A[M,K] B[K,N] of packed panels, whose layers struct
 * kernel_products explains. Panels of B have `depth` layers. Panels of A have a_depth >= a_from +
 * depth layers; layer d of B's panels is multiplied with layer a_from + d of A's. The product also
 * prefetches the memory in `ahead`. */
struct kernel_product {
    struct ops_array C;
    struct ops_array base; /* rows are ld_base apart; may be C; OPS_NONE: 0 */
    struct ops_array bias; /* [N], added to each row; OPS_NONE: 0 */
    int64_t ldc, ld_base;
    const float *A, *B;
    int64_t a_depth, a_from, M, N, depth;
    int uncached; /* 1: C is large, so non-temporal stores may write it past the caches */
    struct kernel_ahead ahead[KERNEL_AHEAD];
};

/* Matrix products of packed panels (Goto, van de Geijn 2008) in one precision. A is packed in
 * panels of tile_rows rows, B in panels of tile_columns columns. A panel is a sequence of layers. A
 * layer has one float for each row or column of the panel. It holds `steps` consecutive values of
 * k, the index of the sum: one in f32; in bf16 two, in the low and the high half of the float's
 * bits. Missing rows, columns and values of k are zero. Kernels may order a panel of A otherwise,
 * with as many floats for each layer. */
struct kernel_products {
    int tile_rows, tile_columns, steps;
    /* Packs A[M,K], or A stored transposed as [K,M], times alpha. alpha is 1 for BF16. */
    void (*pack_rows)(float *panels, struct ops_array A, int64_t ld, int transposed, int64_t M,
                      int64_t K, float alpha);
    /* Packs B[K,N], or B stored transposed as [N,K]. If B is not transposed and sums is not NULL,
     * adds the sums of B's columns, of the values before any rounding to bf16, to sums[N]. */
    void (*pack_columns)(float *panels, float *sums, struct ops_array B, int64_t ld, int transposed,
                         int64_t N, int64_t K);
    /* Computes the product. The sum over K has the same order for all M and N. */
    void (*multiply)(const struct kernel_product *p);
    /* Computes the product with an A that is not packed: row i begins a_depth = KERNEL_KEYS /
     * steps floats after row i-1, and a float holds `steps` values of k. Reads rows
     * up to the next multiple of tile_rows. */
    void (*multiply_rows)(const struct kernel_product *p);
    /* How many floats of panels of one operand a thread keeps in its cache, while it reads all
     * panels of the other operand from the last-level cache. Fast products need many; 0: a few
     * panels are enough. */
    int64_t kept_floats;
};

/* Rows of numbers, rounded to blocks of 32 8-bit integers: number i of a block is q[i] * scale.
 * With two parts, each row is followed by a row of its rounding errors, rounded in the same way;
 * the products of both are added. If the sum of q^2 over a block is KERNEL_EVEN or more, no number
 * of the block is much larger than the others, so 8 bits are enough and the second row's block is
 * 0. Rows lie in bands of KERNEL_BAND; the last band may have fewer. For each block a band of n
 * rows has n scales (float), n integers -128 * sum(q) (int32_t), n integers -128 * the sum of the
 * first 16 q, and n times 32 integers q (int8_t). Products begin their sums with -128 * sum(q) if
 * they add 128 to the weights. */
struct kernel_blocks {
    const char *bands;
    int64_t rows, blocks; /* rows: of all parts */
    enum ops_type type;   /* type of the weights that they are multiplied with */
    int parts;            /* parts of each row: 1 or 2 */
};

/* Returns how many layers a panel with K values of k has. */
static inline int64_t kernel_depth(const struct kernel_products *p, int64_t K)
{
    return (K + p->steps - 1) / p->steps;
}

/* Returns how many floats `rows` split rows of K numbers take (split_rows). */
static inline int64_t kernel_split_floats(int64_t rows, int64_t K)
{
    return rows * ((K + KERNEL_STEP - 1) / KERNEL_STEP) * (KERNEL_STEP / 2 * KERNEL_PARTS);
}

struct kernels {
    const char *name; /* "AVX2 kernels" */
    const char *word; /* "avx2" */

    /* Products in f32, and products whose operands are rounded to bf16 (to nearest, ties to even)
     * when they are packed, with sums in f32. Panels of B have the same width in both. */
    struct kernel_products f32, bf16;

    /* ---- rows and elements */

    void (*add)(struct ops_array y, struct ops_array x, int64_t n); /* y += x */
    void (*sum)(struct ops_array y, struct ops_array a, struct ops_array b,
                int64_t n); /* y = a + b */
    /* y = x, rounded to nearest; x may be F16 */
    void (*copy)(struct ops_array y, struct ops_array x, int64_t n);
    void (*scale)(float *y, float factor, int64_t n); /* y *= factor */
    double (*sum_squares)(const float *x, int64_t n);
    void (*adamw)(float *w, float *m, float *v, const float *gradient, int64_t n,
                  const struct ops_adamw *h);

    /* y[n] = x, rounded stochastically (struct ops_state). Element i counts as element first + i of
     * the random sequence; `first` must be a multiple of 4. */
    void (*round_bf16)(uint16_t *y, const float *x, int64_t n, uint64_t key, uint64_t first);

    /* One function for each activation f: forward y = f(x) up; backward dx = dy up f'(x), dup = dy
     * f(x), and y = f(x) up. Without a gate, up and dup are OPS_NONE: up is 1. */
    void (*activation_fwd[OPS_ACTIVATIONS])(struct ops_array y, struct ops_array x,
                                            struct ops_array up, int64_t n);
    void (*activation_bwd[OPS_ACTIVATIONS])(struct ops_array dx, struct ops_array dup,
                                            struct ops_array y, struct ops_array dy,
                                            struct ops_array x, struct ops_array up, int64_t n);

    /* Rotates one head of one row: turns each pair of numbers i and i + half by an angle, given by
     * its cosine and sine. */
    void (*rotate)(struct ops_array x, const float *cosines, const float *sines, int64_t half);

    /* y = base + mask * x. base may be OPS_NONE (zero) or y; x may be y. The index of the first
     * element in the mask, `first`, is even. */
    void (*dropout)(struct ops_array y, struct ops_array base, struct ops_array x, int64_t n,
                    const struct ops_mask *mask, uint64_t first);

    /* norm_moments computes the moments of row x (*mean is 0 for RMSNorm), norm_apply y from
     * them. */
    void (*norm_moments)(float *mean, float *rstd, struct ops_array x, const struct ops_norm *l);
    void (*norm_apply)(struct ops_array y, float mean, float rstd, struct ops_array x,
                       const struct ops_norm *l);
    /* norm_sums sets sums[0] and sums[1] for one row (struct ops_norm_bwd) and adds to dgain[C] and
     * dbias[C]; for RMSNorm it does not use dbias and sets sums[0] to 0. norm_dx sets dx, or adds
     * to it. */
    void (*norm_sums)(float sums[2], float *dgain, float *dbias, struct ops_array dy,
                      struct ops_array x, float mean, float rstd, const struct ops_norm *l);
    void (*norm_dx)(struct ops_gradient dx, const float sums[2], struct ops_array dy,
                    struct ops_array x, float mean, float rstd, const struct ops_norm *l);
    /* out[n] += the sums of the n columns of x, whose `rows` rows are ld apart. */
    void (*column_sums)(float *out, struct ops_array x, int64_t ld, int64_t rows, int64_t n);

    /* y[r,v] += the sum over i < I of x[r,i] w[i,v], for r < rows and v < n; w is F32 or BF16. A
     * row has the same bits whatever the number of rows is. */
    void (*stream_columns)(float *y, int64_t ldy, const float *x, int64_t ldx, int64_t rows,
                           struct ops_array w, int64_t ldw, int64_t I, int64_t n);
    /* y[r,v] = the dot product of row r of x and row v of w, for r < rows <= OPS_FEW_ROWS and v <
     * n, with C numbers in a row; w is F32, BF16 or F16. A row has the same bits whatever the
     * number of rows is. x is a single row, or panels of rows by pack_few. */
    void (*stream_rows)(float *y, int64_t ldy, const float *x, int64_t rows, struct ops_array w,
                        int64_t ldw, int64_t C, int64_t n);
    /* Packs x[rows,C] for stream_rows: the blocks [begin,end) of KERNEL_FEW numbers of each row;
     * the last block may have fewer numbers. The panels have KERNEL_FEW floats for each block of
     * each row. */
    void (*pack_few)(float *panels, const float *x, int64_t ldx, int64_t rows, int64_t C,
                     int64_t begin, int64_t end);

    /* Products of F32 rows with BF16 or F16 weights w[n,K] by tile registers; NULL in sets of
     * kernels that do not have them. split_rows converts the steps [begin, end) of rows of K
     * numbers, each of KERNEL_STEP numbers, to the form that multiply_split reads for such weights.
     * multiply_split sets y[r,v] as stream_rows does. The sums are in f32 and have an order of
     * their own, which is the same for all rows and n. Products below 2^-126 count as zero, and
     * infinite F16 weights count as NaN. For a few rows, stream_rows is faster with F16 weights. */
    void (*split_rows)(float *parts, const float *x, int64_t ldx, int64_t rows, int64_t K,
                       int64_t begin, int64_t end, enum ops_type weights);
    void (*multiply_split)(float *y, int64_t ldy, const float *parts, int64_t rows,
                           struct ops_array w, int64_t K, int64_t n);

    /* Converts the row x of 32 * blocks numbers to rows `row` to row + parts - 1 of a band of
     * `rows` rows (struct kernel_blocks). */
    void (*to_blocks)(char *band, int64_t row, int64_t rows, int parts, struct ops_array x,
                      int64_t blocks);
    /* y[r,o] = the product of row r of x (the sum over its parts) and output o < outputs of the
     * weights, whose groups lie one after the other in the layout of stored.h. */
    void (*multiply_blocks)(float *y, int64_t ldy, const struct kernel_blocks *x,
                            const char *groups, int64_t outputs);

    /* Does one step of the online softmax (Milakov and Gimelshein 2018; Dao et al. 2022), in base-2
     * logarithms, and writes 2^(score - max), with dropout, to s->panel; a key that the query does
     * not see gets 0. max and sum, one number for each query, are the running maximum and the
     * running sum without dropout. The HS rows of the panel y, the result so far, are rescaled to
     * the new maximum. s->panel may be `scores` if steps is 1. */
    void (*softmax_panel)(float *scores, float *max, float *sum, float *y, int64_t HS,
                          const struct kernel_scores *s);
    /* Computes two panels from the scores and from dP, the gradient with respect to dropout(P),
     * where P = 2^(score - lse), or 0 for keys that the query does not see. Sets s->P to
     * dropout(P). Sets s->dS to P * (mask * dP - dots), the gradient with respect to the scaled
     * scores. */
    void (*softmax_rows_bwd)(const float *scores, const float *dP,
                             const struct kernel_scores_bwd *s);
    /* Transposes a panel: y[l,i] = panel[i,l] * factors[l] for `rows` queries l and i < HS. factors
     * may be NULL. */
    void (*unpack)(struct ops_array y, int64_t ldy, const float *panel, const float *factors,
                   int64_t rows, int64_t HS);
    /* dots[r] = factor * (dot product of rows r of x and y). Rows are n numbers, ld apart. */
    void (*row_dots)(float *dots, struct ops_array x, struct ops_array y, int64_t ld, float factor,
                     int64_t rows, int64_t n);
    /* Replaces the scores[n] of one query by their softmax. */
    void (*softmax)(float *scores, int64_t n);

    /* Returns the loss of one row of logits, -log softmax[label], and overwrites the logits. Sets
     * *correct to 1 if no logit is above the label's, else 0; `correct` may be NULL. If d is not
     * OPS_NONE, sets it to scale * (softmax - onehot); d may begin at the address of the logits. */
    double (*cross_entropy)(float *logits, unsigned char *correct, int64_t V, int64_t label,
                            struct ops_array d, float scale);

    float (*largest)(const float *x, int64_t n);
    /* Replaces x[n] by exp(x - most). Returns the sum. */
    float (*exponentials)(float *x, float most, int64_t n);
};

extern const struct kernels kernels_amx, kernels_avx512_bf16, kernels_avx512, kernels_avx2,
    kernels_neon, kernels_plain;

/* Returns the i-th set of kernels that this processor can run, fastest first; NULL: no more. */
const struct kernels *kernels_set(int i);

/* Returns the fastest kernels, or those that the environment variable TEXTMILL_KERNELS names by
 * their `word`; NULL with an error if this processor cannot run them. */
const struct kernels *kernels_choose(void);

/* Returns a name for a kernel set's arithmetic. Sets with the same name compute the same bits. */
const char *kernels_arithmetic(const struct kernels *k, enum ops_type precision);
