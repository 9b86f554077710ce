#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/blas.h"
#include "model/context.h"

/* Scores exist for QUERIES x KEYS at a time; those and their gradients stay in a core's cache. */
enum { QUERIES = 128, KEYS = 512 };

/* Heads lie side by side in the rows of all arrays. Queries are positions past .. past+N-1. */
struct attention {
    const struct kernels *k;
    float *y, *lse;
    const float *q, *keys, *values;
    int64_t ldy, ldq, ldk; /* row strides */
    int64_t B, N, past, NH, HS;
    struct kernel_mask mask;
    float *work;
    int64_t work_floats; /* a thread */
    /* backward */
    float *dq, *dkeys, *dvalues; /* strides as those without d */
    const float *dy, *y_in, *lse_in;
};

/* One head of one sequence: the arrays from its first row and column on. */
struct head {
    const struct attention *a;
    float *y, *lse;
    const float *q, *keys, *values;
    int64_t index; /* b*NH + h */
    float *work;
    float *dq, *dkeys, *dvalues;
    const float *dy, *y_in, *lse_in;
};

static struct head head_at(const struct attention *a, int64_t index, int thread)
{
    int64_t b = index / a->NH, column = index % a->NH * a->HS;
    int64_t q = b * a->N * a->ldq + column, k = b * a->N * a->ldk + column;
    int64_t y = b * a->N * a->ldy + column;
    struct head h = { .a = a, .index = index, .q = a->q + q, .keys = a->keys + k,
                      .values = a->values + k, .work = a->work + thread * a->work_floats };
    if (a->y)
        h.y = a->y + y;
    if (a->lse)
        h.lse = a->lse + index * a->N;
    if (a->dq) {
        h.dq = a->dq + q;
        h.dkeys = a->dkeys + k;
        h.dvalues = a->dvalues + k;
        h.dy = a->dy + y;
        h.y_in = a->y_in + y;
        h.lse_in = a->lse_in + index * a->N;
    }
    return h;
}

/* Queries q0 .. q0+rows-1 against keys k0 .. k0+keys-1. */
struct block {
    int64_t q0, rows, k0, keys;
};

static struct kernel_scores block_scores(const struct head *h, const struct block *b)
{
    const struct attention *a = h->a;
    uint64_t stride = (uint64_t)(a->past + a->N + 1) & ~(uint64_t)1; /* masks come in pairs */
    return (struct kernel_scores){
        .ld = KEYS, .rows = b->rows, .keys = b->keys, .visible = a->past + b->q0 - b->k0 + 1,
        .mask = a->mask, .stride = stride,
        .first = (uint64_t)(h->index * a->N + b->q0) * stride + (uint64_t)b->k0,
    };
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* scores[rows,keys] = q k^T / sqrt(HS) */
static void score(const struct head *h, float *scores, const struct block *b)
{
    const struct attention *a = h->a;
    blas_gemm(BLAS_PLAIN, BLAS_TRANSPOSED, b->rows, b->keys, a->HS, 1 / sqrtf((float)a->HS),
              h->q + b->q0 * a->ldq, a->ldq, h->keys + b->k0 * a->ldk, a->ldk, 0, scores, KEYS);
}

/* ---- forward ------------------------------------------------------------------------------ */

static void attend_queries(const struct head *h, int64_t q0, int64_t rows)
{
    const struct attention *a = h->a;
    float *scores = h->work, *max = scores + QUERIES * KEYS, *sum = max + QUERIES;
    float *shrink = sum + QUERIES, *y = h->y + q0 * a->ldy;
    for (int64_t r = 0; r < rows; r++) {
        max[r] = -INFINITY;
        sum[r] = 0;
    }
    int64_t end = a->past + q0 + rows; /* keys that the last query sees */
    for (int64_t k0 = 0; k0 < end; k0 += KEYS) {
        struct block b = { q0, rows, k0, smaller(KEYS, end - k0) };
        struct kernel_scores s = block_scores(h, &b);
        score(h, scores, &b);
        a->k->softmax_online(scores, max, sum, shrink, &s);
        for (int64_t r = 0; k0 && r < rows; r++)
            if (shrink[r] != 1)
                a->k->scale(y + r * a->ldy, shrink[r], a->HS);
        blas_gemm(BLAS_PLAIN, BLAS_PLAIN, rows, a->HS, b.keys, 1, scores, KEYS,
                  h->values + k0 * a->ldk, a->ldk, k0 ? 1 : 0, y, a->ldy);
    }
    for (int64_t r = 0; r < rows; r++) {
        a->k->scale(y + r * a->ldy, 1 / sum[r], a->HS);
        if (h->lse)
            h->lse[q0 + r] = max[r] + logf(sum[r]);
    }
}

static void attend_head(void *ctx, int64_t index, int thread)
{
    const struct attention *a = ctx;
    struct head h = head_at(a, index, thread);
    for (int64_t q0 = 0; q0 < a->N; q0 += QUERIES)
        attend_queries(&h, q0, smaller(QUERIES, a->N - q0));
}

static void attend_all(struct ops *o, struct attention *a)
{
    a->work_floats = QUERIES * KEYS + 3 * QUERIES;
    a->work = ops_work(o, o->threads * a->work_floats);
    pool_each(o->pool, a->B * a->NH, attend_head, a);
}

void ops_attention_fwd(struct ops *o, float *y, float *lse, const float *qkv, int64_t B, int64_t T,
                       int64_t NH, int64_t HS, struct ops_dropout drop)
{
    int64_t C = NH * HS;
    struct attention a = { .k = o->k, .y = y, .lse = lse, .q = qkv, .keys = qkv + C,
                           .values = qkv + 2 * C, .ldy = C, .ldq = 3 * C, .ldk = 3 * C, .B = B,
                           .N = T, .NH = NH, .HS = HS, .mask = ops_mask(drop) };
    attend_all(o, &a);
}

/* ---- backward ----------------------------------------------------------------------------- */

static void clear_rows(float *x, int64_t ld, int64_t rows, int64_t n)
{
    for (int64_t r = 0; r < rows; r++)
        memset(x + r * ld, 0, (size_t)n * sizeof *x);
}

/* With P the dropped probabilities and dS the gradient in the scores:
 * dv += P^T dy, dq += dS k / sqrt(HS), dk += dS^T q / sqrt(HS). */
static void block_bwd(const struct head *h, float *scores, float *dP, const float *dots,
                      const struct block *b)
{
    const struct attention *a = h->a;
    struct kernel_scores s = block_scores(h, b);
    float factor = 1 / sqrtf((float)a->HS);
    const float *dy = h->dy + b->q0 * a->ldy;
    score(h, scores, b);
    blas_gemm(BLAS_PLAIN, BLAS_TRANSPOSED, b->rows, b->keys, a->HS, 1, dy, a->ldy,
              h->values + b->k0 * a->ldk, a->ldk, 0, dP, KEYS);
    a->k->softmax_bwd(scores, dP, h->lse_in + b->q0, dots, &s);
    blas_gemm(BLAS_TRANSPOSED, BLAS_PLAIN, b->keys, a->HS, b->rows, 1, scores, KEYS, dy, a->ldy, 1,
              h->dvalues + b->k0 * a->ldk, a->ldk);
    blas_gemm(BLAS_PLAIN, BLAS_PLAIN, b->rows, a->HS, b->keys, factor, dP, KEYS,
              h->keys + b->k0 * a->ldk, a->ldk, b->k0 ? 1 : 0, h->dq + b->q0 * a->ldq, a->ldq);
    blas_gemm(BLAS_TRANSPOSED, BLAS_PLAIN, b->keys, a->HS, b->rows, factor, dP, KEYS,
              h->q + b->q0 * a->ldq, a->ldq, 1, h->dkeys + b->k0 * a->ldk, a->ldk);
}

static void attend_head_bwd(void *ctx, int64_t index, int thread)
{
    const struct attention *a = ctx;
    struct head h = head_at(a, index, thread);
    float *scores = h.work, *dP = scores + QUERIES * KEYS, *dots = dP + QUERIES * KEYS;
    clear_rows(h.dkeys, a->ldk, a->N, a->HS);
    clear_rows(h.dvalues, a->ldk, a->N, a->HS);
    for (int64_t q0 = 0; q0 < a->N; q0 += QUERIES) {
        int64_t rows = smaller(QUERIES, a->N - q0), end = q0 + rows;
        for (int64_t r = 0; r < rows; r++) /* the sum of P dP over keys is that of y dy */
            dots[r] = a->k->dot(h.dy + (q0 + r) * a->ldy, h.y_in + (q0 + r) * a->ldy, a->HS);
        for (int64_t k0 = 0; k0 < end; k0 += KEYS)
            block_bwd(&h, scores, dP, dots,
                      &(struct block){ q0, rows, k0, smaller(KEYS, end - k0) });
    }
}

void ops_attention_bwd(struct ops *o, float *dqkv, const float *dy, const float *qkv,
                       const float *y, const float *lse, int64_t B, int64_t T, int64_t NH,
                       int64_t HS, struct ops_dropout drop)
{
    int64_t C = NH * HS;
    struct attention a = { .k = o->k, .q = qkv, .keys = qkv + C, .values = qkv + 2 * C, .ldy = C,
                           .ldq = 3 * C, .ldk = 3 * C, .B = B, .N = T, .NH = NH, .HS = HS,
                           .mask = ops_mask(drop), .dq = dqkv, .dkeys = dqkv + C,
                           .dvalues = dqkv + 2 * C, .dy = dy, .y_in = y, .lse_in = lse };
    a.work_floats = 2 * QUERIES * KEYS + QUERIES;
    a.work = ops_work(o, o->threads * a.work_floats);
    pool_each(o->pool, B * NH, attend_head_bwd, &a);
}

/* ---- with a cache ------------------------------------------------------------------------- */

/* Few queries, one by one: their scores are dots, streamed over the keys. */
static void attend_head_streamed(void *ctx, int64_t index, int thread)
{
    const struct attention *a = ctx;
    struct head h = head_at(a, index, thread);
    float factor = 1 / sqrtf((float)a->HS);
    for (int64_t i = 0; i < a->N; i++) {
        int64_t n = a->past + i + 1;
        float *y = h.y + i * a->ldy;
        a->k->stream_rows(h.work, n, h.q + i * a->ldq, a->ldq, 1, h.keys, a->ldk, a->HS, n);
        a->k->scale(h.work, factor, n);
        a->k->softmax(h.work, n);
        memset(y, 0, (size_t)a->HS * sizeof *y);
        a->k->stream_columns(y, a->ldy, h.work, n, 1, h.values, a->ldk, n, a->HS);
    }
}

void ops_attention_cached(struct ops *o, float *y, float *keys, float *values, const float *qkv,
                          int64_t past, int64_t N, int64_t NH, int64_t HS)
{
    int64_t C = NH * HS;
    size_t row_bytes = (size_t)C * sizeof *keys;
    for (int64_t i = 0; i < N; i++) {
        memcpy(keys + (past + i) * C, qkv + i * 3 * C + C, row_bytes);
        memcpy(values + (past + i) * C, qkv + i * 3 * C + 2 * C, row_bytes);
    }
    struct attention a = { .k = o->k, .y = y, .q = qkv, .keys = keys, .values = values, .ldy = C,
                           .ldq = 3 * C, .ldk = C, .B = 1, .N = N, .past = past, .NH = NH, .HS = HS,
                           .mask = ops_mask((struct ops_dropout){ 0 }) };
    if (N > KERNEL_ROWS) {
        attend_all(o, &a);
        return;
    }
    a.work_floats = (past + N + 15) / 16 * 16;
    a.work = ops_work(o, o->threads * a.work_floats);
    pool_each(o->pool, NH, attend_head_streamed, &a);
}
