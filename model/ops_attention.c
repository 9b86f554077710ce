#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "common/rng.h"
#include "common/trace.h"
#include "model/context.h"

/* Attention goes by panels of queries, as wide as a tile of the matrix product, against blocks of
 * keys. Scores lie as S^T, a row a key and a lane a query, which is what the product S^T = K Q^T
 * leaves and what y^T = V^T P^T takes: in f32 nothing is copied between the two, in bf16 they are
 * rounded, and the softmax of a query happens in its lane. K and V are packed once a head. */
enum {
    KEYS = 480,      /* of a block: a multiple of every tile_rows, and even for the masks */
    LANES_MAX = 32,  /* most queries of a panel */
};

/* Heads lie side by side in the rows of all arrays. Queries are positions past .. past+N-1 of
 * `positions` = past + N keys. */
struct attention {
    const struct kernels *k;
    const struct kernel_products *p;
    float *y, *lse;
    const float *q, *keys, *values;
    int64_t ldy, ldq, ldk; /* row strides */
    int64_t B, N, past, NH, HS;
    int both_ways; /* all queries see all keys; otherwise those up to themselves */
    struct kernel_mask mask;
    float *work;
    int64_t work_floats; /* a thread */
    /* backward */
    float *dq, *dkeys, *dvalues; /* strides as those without d */
    const float *dy, *y_in, *lse_in;
};

/* One head of one sequence: the arrays from its first row and column on, and a thread's scratch. */
struct head {
    const struct attention *a;
    int64_t index; /* b*NH + h */
    float *y, *lse;
    const float *q, *keys, *values;
    float *dq, *dkeys, *dvalues;
    const float *dy, *y_in, *lse_in;

    float *k_rows;          /* panels of K / sqrt(HS), all keys */
    float *v_rows;          /* panels of V (backward) */
    float *turned;          /* panels of V^T, backward of K^T / sqrt(HS), block by block of keys */
    float *scores, *dP;     /* [KEYS, lanes] */
    float *pairs;           /* panel of P^T or dS^T in bf16 */
    float *found;           /* [HS, lanes] y^T, backward dq^T */
    float *q_lanes, *dy_lanes;     /* panels of Q^T and dy^T */
    float *q_columns, *dy_columns; /* panels of Q and dy */
    float *score_rows;      /* panels of P^T or dS^T */
    float *dk, *dv;         /* [keys, HS] sums of dkeys and dvalues */
};

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t round_up(int64_t n, int64_t to)
{
    return (n + to - 1) / to * to;
}

/* Lays the scratch out at h->k_rows; returns its floats. */
static int64_t lay_out(struct head *h, float *p, const struct attention *a)
{
    int64_t positions = round_up(a->past + a->N, KEYS), lanes = a->p->tile_columns, HS = a->HS;
    int64_t tall = round_up(HS, a->p->tile_rows), wide = round_up(HS, lanes);
    struct {
        float **part;
        int64_t floats;
    } parts[] = {
        { &h->k_rows, positions * HS },   { &h->turned, positions * tall },
        { &h->scores, KEYS * lanes },     { &h->found, HS * lanes },
        { &h->q_lanes, HS * lanes },      { &h->pairs, KEYS * lanes },
        { &h->v_rows, positions * HS },   { &h->dP, KEYS * lanes },
        { &h->dy_lanes, HS * lanes },     { &h->q_columns, wide * lanes },
        { &h->dy_columns, wide * lanes }, { &h->score_rows, KEYS * lanes },
        { &h->dk, positions * HS },       { &h->dv, positions * HS },
    };
    int64_t floats = 0, count = a->dq ? 14 : 6; /* the rest are backward's */
    for (int64_t i = 0; i < count; i++) {
        *parts[i].part = p + floats;
        floats += round_up(parts[i].floats, 16);
    }
    return floats;
}

static struct head head_at(const struct attention *a, int64_t index, int thread)
{
    int64_t b = index / a->NH, column = index % a->NH * a->HS;
    int64_t q = b * a->N * a->ldq + column, k = b * a->N * a->ldk + column;
    int64_t y = b * a->N * a->ldy + column;
    struct head h = { .a = a, .index = index, .q = a->q + q, .keys = a->keys + k,
                      .values = a->values + k };
    lay_out(&h, a->work + thread * a->work_floats, a);
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

static void run_heads(struct ops *o, struct attention *a,
                      void (*fn)(void *ctx, int64_t index, int thread))
{
    a->work_floats = lay_out(&(struct head){ .a = a }, NULL, a);
    a->work = ops_work(o, o->threads * a->work_floats);
    pool_each(o->pool, a->B * a->NH, fn, a);
}

/* Queries q0 .. q0+queries-1 against keys k0 .. k0+keys-1. */
struct block {
    int64_t q0, queries, k0, keys;
};

/* Keys that the queries before q see, together. */
static int64_t seen_before(const struct attention *a, int64_t q)
{
    return a->both_ways ? a->N : a->past + q;
}

static struct kernel_scores block_scores(const struct head *h, const struct block *b)
{
    const struct attention *a = h->a;
    uint64_t stride = (uint64_t)round_up(a->past + a->N, 2); /* masks come in pairs */
    return (struct kernel_scores){
        .keys = b->keys, .mask = a->mask, .stride = stride,
        .visible = a->both_ways ? b->keys : a->past + b->q0 - b->k0 + 1,
        .first = (uint64_t)(h->index * a->N + b->q0) * stride + (uint64_t)b->k0,
        .pairs = a->p->steps == 2 ? h->pairs : NULL,
    };
}

/* Panels of the columns of x as rows, a block of keys at a time. */
static void pack_turned(const struct head *h, const float *x, float factor)
{
    const struct attention *a = h->a;
    int64_t positions = a->past + a->N, tall = round_up(a->HS, a->p->tile_rows);
    for (int64_t k0 = 0; k0 < positions; k0 += KEYS)
        a->p->pack_rows(h->turned + k0 * tall, x + k0 * a->ldk, a->ldk, 1, a->HS,
                        smaller(KEYS, positions - k0), factor);
}

/* found[HS,lanes] += turned[HS,keys] x[keys,lanes], where x is a panel that the softmax left, in f32
 * as it stands. */
static void gather(const struct head *h, const float *x, const struct block *b)
{
    const struct attention *a = h->a;
    int64_t lanes = a->p->tile_columns, tall = round_up(a->HS, a->p->tile_rows);
    int64_t packed = smaller(KEYS, a->past + a->N - b->k0); /* by pack_turned */
    a->p->multiply(&(struct kernel_product){
        .C = h->found, .base = b->k0 ? h->found : NULL, .ldc = lanes, .A = h->turned + b->k0 * tall,
        .B = a->p->steps == 2 ? h->pairs : x, .a_depth = kernel_depth(a->p, packed), .M = a->HS,
        .N = lanes, .depth = kernel_depth(a->p, b->keys) });
}

/* out[keys,lanes] = rows[keys,HS] lanes^T, for panels of K or V and of Q^T or dy^T. */
static void score(const struct head *h, float *out, const float *rows, const float *lanes,
                  const struct block *b)
{
    const struct attention *a = h->a;
    int64_t width = a->p->tile_columns, depth = kernel_depth(a->p, a->HS);
    a->p->multiply(&(struct kernel_product){
        .C = out, .ldc = width, .A = rows + b->k0 * depth, .B = lanes, .a_depth = depth,
        .M = b->keys, .N = width, .depth = depth });
}

/* ---- forward ------------------------------------------------------------------------------ */

static void attend_queries(const struct head *h, int64_t q0, int64_t queries)
{
    const struct attention *a = h->a;
    int64_t lanes = a->p->tile_columns, end = seen_before(a, q0 + queries);
    float max[LANES_MAX], sum[LANES_MAX];
    for (int64_t l = 0; l < lanes; l++) {
        max[l] = -INFINITY;
        sum[l] = 0;
    }
    a->p->pack_columns(h->q_lanes, h->q + q0 * a->ldq, a->ldq, 1, queries, a->HS);
    for (int64_t k0 = 0; k0 < end; k0 += KEYS) {
        struct block b = { q0, queries, k0, smaller(KEYS, end - k0) };
        struct kernel_scores s = block_scores(h, &b);
        score(h, h->scores, h->k_rows, h->q_lanes, &b);
        a->k->softmax_panel(h->scores, max, sum, h->found, k0 ? a->HS : 0, &s);
        gather(h, h->scores, &b);
    }
    for (int64_t l = 0; l < queries; l++) {
        if (h->lse)
            h->lse[q0 + l] = max[l] + logf(sum[l]);
        sum[l] = 1 / sum[l];
    }
    a->k->unpack(h->y + q0 * a->ldy, a->ldy, h->found, sum, queries, a->HS);
}

static void attend_head(void *ctx, int64_t index, int thread)
{
    const struct attention *a = ctx;
    struct head h = head_at(a, index, thread);
    int64_t lanes = a->p->tile_columns;
    a->p->pack_rows(h.k_rows, h.keys, a->ldk, 0, a->past + a->N, a->HS, 1 / sqrtf((float)a->HS));
    pack_turned(&h, h.values, 1);
    for (int64_t q0 = 0; q0 < a->N; q0 += lanes)
        attend_queries(&h, q0, smaller(lanes, a->N - q0));
}

void ops_attention_fwd(struct ops *o, float *y, float *lse, const float *qkv, int64_t B, int64_t T,
                       int64_t NH, int64_t HS, struct ops_dropout drop)
{
    TRACE_KERNEL(2.0 * B * NH * T * (T + 1) * HS, 16.0 * B * T * NH * HS);
    int64_t C = NH * HS;
    struct attention a = { .k = o->k, .p = ops_products(o), .y = y, .lse = lse, .q = qkv,
                           .keys = qkv + C, .values = qkv + 2 * C, .ldy = C, .ldq = 3 * C,
                           .ldk = 3 * C, .B = B, .N = T, .NH = NH, .HS = HS,
                           .mask = ops_mask(drop) };
    run_heads(o, &a, attend_head);
}

/* ---- backward ----------------------------------------------------------------------------- */

/* out[keys,HS] += x^T[keys,queries] columns[queries,HS], where x is a panel of scores. */
static void scatter(const struct head *h, float *out, const float *x, const float *columns,
                    float factor, const struct block *b)
{
    const struct attention *a = h->a;
    a->p->pack_rows(h->score_rows, x, a->p->tile_columns, 0, b->keys, b->queries, factor);
    int64_t depth = kernel_depth(a->p, b->queries);
    out += b->k0 * a->HS;
    a->p->multiply(&(struct kernel_product){
        .C = out, .base = out, .ldc = a->HS, .A = h->score_rows, .B = columns, .a_depth = depth,
        .M = b->keys, .N = a->HS, .depth = depth });
}

/* With P the dropped probabilities and dS the gradient in the scores:
 * dv += P^T dy, dk += dS^T q / sqrt(HS), dq += dS k / sqrt(HS). */
static void block_bwd(const struct head *h, const float *lse, const float *dots,
                      const struct block *b)
{
    const struct attention *a = h->a;
    struct kernel_scores s = block_scores(h, b);
    score(h, h->scores, h->k_rows, h->q_lanes, b);
    score(h, h->dP, h->v_rows, h->dy_lanes, b);
    a->k->softmax_panel_bwd(h->scores, h->dP, lse, dots, &s);
    scatter(h, h->dv, h->scores, h->dy_columns, 1, b);
    scatter(h, h->dk, h->dP, h->q_columns, 1 / sqrtf((float)a->HS), b);
    gather(h, h->dP, b);
}

static void attend_queries_bwd(const struct head *h, int64_t q0, int64_t queries)
{
    const struct attention *a = h->a;
    int64_t end = seen_before(a, q0 + queries);
    const float *q = h->q + q0 * a->ldq, *dy = h->dy + q0 * a->ldy, *y = h->y_in + q0 * a->ldy;
    float lse[LANES_MAX] = { 0 }, dots[LANES_MAX] = { 0 };
    for (int64_t l = 0; l < queries; l++) {
        lse[l] = h->lse_in[q0 + l];
        dots[l] = a->k->dot(dy + l * a->ldy, y + l * a->ldy, a->HS); /* the sum of P dP over keys */
    }
    a->p->pack_columns(h->q_lanes, q, a->ldq, 1, queries, a->HS);
    a->p->pack_columns(h->dy_lanes, dy, a->ldy, 1, queries, a->HS);
    a->p->pack_columns(h->q_columns, q, a->ldq, 0, a->HS, queries);
    a->p->pack_columns(h->dy_columns, dy, a->ldy, 0, a->HS, queries);
    for (int64_t k0 = 0; k0 < end; k0 += KEYS)
        block_bwd(h, lse, dots, &(struct block){ q0, queries, k0, smaller(KEYS, end - k0) });
    a->k->unpack(h->dq + q0 * a->ldq, a->ldq, h->found, NULL, queries, a->HS);
}

static void copy_rows(float *y, int64_t ld, const float *x, int64_t rows, int64_t n)
{
    for (int64_t r = 0; r < rows; r++)
        memcpy(y + r * ld, x + r * n, (size_t)n * sizeof *y);
}

/* The sums over queries are the thread's own until they are complete: the next head's numbers stand
 * in the same rows, and what another core writes beside them would be sent to and fro. */
static void attend_head_bwd(void *ctx, int64_t index, int thread)
{
    const struct attention *a = ctx;
    struct head h = head_at(a, index, thread);
    int64_t lanes = a->p->tile_columns;
    float factor = 1 / sqrtf((float)a->HS);
    a->p->pack_rows(h.k_rows, h.keys, a->ldk, 0, a->N, a->HS, factor);
    a->p->pack_rows(h.v_rows, h.values, a->ldk, 0, a->N, a->HS, 1);
    pack_turned(&h, h.keys, factor);
    memset(h.dk, 0, (size_t)(a->N * a->HS) * sizeof *h.dk);
    memset(h.dv, 0, (size_t)(a->N * a->HS) * sizeof *h.dv);
    for (int64_t q0 = 0; q0 < a->N; q0 += lanes)
        attend_queries_bwd(&h, q0, smaller(lanes, a->N - q0));
    copy_rows(h.dkeys, a->ldk, h.dk, a->N, a->HS);
    copy_rows(h.dvalues, a->ldk, h.dv, a->N, a->HS);
}

void ops_attention_bwd(struct ops *o, float *dqkv, const float *dy, const float *qkv,
                       const float *y, const float *lse, int64_t B, int64_t T, int64_t NH,
                       int64_t HS, struct ops_dropout drop)
{
    TRACE_KERNEL(5.0 * B * NH * T * (T + 1) * HS, 36.0 * B * T * NH * HS);
    int64_t C = NH * HS;
    struct attention a = { .k = o->k, .p = ops_products(o), .q = qkv, .keys = qkv + C,
                           .values = qkv + 2 * C, .ldy = C, .ldq = 3 * C, .ldk = 3 * C, .B = B,
                           .N = T, .NH = NH, .HS = HS, .mask = ops_mask(drop), .dq = dqkv,
                           .dkeys = dqkv + C, .dvalues = dqkv + 2 * C, .dy = dy, .y_in = y,
                           .lse_in = lse };
    run_heads(o, &a, attend_head_bwd);
}

/* ---- both ways, without padding ----------------------------------------------------------- */

/* Each sequence is an attention of its own: its rows, its length, its masks. */
struct sequences {
    struct attention *each;
    int64_t NH;
    void (*fn)(void *ctx, int64_t index, int thread);
};

static void attend_one(void *ctx, int64_t index, int thread)
{
    const struct sequences *s = ctx;
    s->fn(&s->each[index / s->NH], index % s->NH, thread);
}

/* How many pairs of a query and a key there are. */
static double pairs(const struct ops_rows *rows)
{
    double sum = 0;
    for (int64_t b = 0; b < rows->B; b++)
        sum += (double)ops_rows_of(rows, b) * (double)ops_rows_of(rows, b);
    return sum;
}

static void run_sequences(struct ops *o, const struct attention *all, const struct ops_rows *rows,
                          struct ops_dropout drop,
                          void (*fn)(void *ctx, int64_t index, int thread))
{
    struct attention *each = mem_alloc((size_t)rows->B * sizeof *each);
    int64_t first = 0, longest = 0;
    for (int64_t b = 0; b < rows->B; b++) {
        struct attention *a = &each[b];
        int64_t at = first * all->ldq, n = ops_rows_of(rows, b);
        *a = *all;
        a->N = n;
        a->mask = ops_mask((struct ops_dropout){ rng_key(drop.key, (uint64_t)b), drop.rate });
        a->q += at, a->keys += at, a->values += at;
        a->y = all->y ? all->y + at : NULL;
        a->lse = all->lse ? all->lse + first * all->NH : NULL;
        if (all->dq) {
            a->dq += at, a->dkeys += at, a->dvalues += at, a->dy += at, a->y_in += at;
            a->lse_in += first * all->NH;
        }
        int64_t floats = lay_out(&(struct head){ .a = a }, NULL, a);
        longest = floats > longest ? floats : longest;
        first += n;
    }
    float *work = ops_work(o, o->threads * longest);
    for (int64_t b = 0; b < rows->B; b++) {
        each[b].work = work;
        each[b].work_floats = longest;
    }
    pool_each(o->pool, rows->B * all->NH, attend_one, &(struct sequences){ each, all->NH, fn });
    free(each);
}

void ops_attention_rows_fwd(struct ops *o, float *y, float *lse, const float *q, const float *k,
                            const float *v, const struct ops_rows *rows, int64_t NH, int64_t HS,
                            struct ops_dropout drop)
{
    TRACE_KERNEL(4.0 * pairs(rows) * NH * HS, 16.0 * ops_rows_count(rows) * NH * HS);
    int64_t C = NH * HS;
    struct attention all = { .k = o->k, .p = ops_products(o), .y = y, .lse = lse, .q = q,
                             .keys = k, .values = v, .ldy = C, .ldq = C, .ldk = C, .B = 1,
                             .NH = NH, .HS = HS, .both_ways = 1 };
    run_sequences(o, &all, rows, drop, attend_head);
}

void ops_attention_rows_bwd(struct ops *o, float *dq, float *dk, float *dv, const float *dy,
                            const float *q, const float *k, const float *v, const float *y,
                            const float *lse, const struct ops_rows *rows, int64_t NH, int64_t HS,
                            struct ops_dropout drop)
{
    TRACE_KERNEL(10.0 * pairs(rows) * NH * HS, 36.0 * ops_rows_count(rows) * NH * HS);
    int64_t C = NH * HS;
    struct attention all = { .k = o->k, .p = ops_products(o), .q = q, .keys = k, .values = v,
                             .ldy = C, .ldq = C, .ldk = C, .B = 1, .NH = NH, .HS = HS,
                             .both_ways = 1, .dq = dq, .dkeys = dk, .dvalues = dv, .dy = dy,
                             .y_in = y, .lse_in = lse };
    run_sequences(o, &all, rows, drop, attend_head_bwd);
}

/* ---- with a cache ------------------------------------------------------------------------- */

/* Few queries, one by one: their scores are dots, streamed over the keys. */
static void attend_head_streamed(void *ctx, int64_t index, int thread)
{
    const struct attention *a = ctx;
    int64_t column = index * a->HS;
    float *scores = a->work + thread * a->work_floats, factor = 1 / sqrtf((float)a->HS);
    for (int64_t i = 0; i < a->N; i++) {
        int64_t n = a->past + i + 1;
        float *y = a->y + i * a->ldy + column;
        a->k->stream_rows(scores, n, a->q + i * a->ldq + column, a->ldq, 1, a->keys + column,
                          a->ldk, a->HS, n);
        a->k->scale(scores, factor, n);
        a->k->softmax(scores, n);
        memset(y, 0, (size_t)a->HS * sizeof *y);
        a->k->stream_columns(y, a->ldy, scores, n, 1, a->values + column, a->ldk, n, a->HS);
    }
}

void ops_attention_cached(struct ops *o, float *y, float *keys, float *values, const float *qkv,
                          int64_t past, int64_t N, int64_t NH, int64_t HS)
{
    TRACE_KERNEL(4.0 * N * (past + N) * NH * HS, 8.0 * (past + N) * NH * HS);
    int64_t C = NH * HS;
    size_t row_bytes = (size_t)C * sizeof *keys;
    for (int64_t i = 0; i < N; i++) {
        memcpy(keys + (past + i) * C, qkv + i * 3 * C + C, row_bytes);
        memcpy(values + (past + i) * C, qkv + i * 3 * C + 2 * C, row_bytes);
    }
    struct attention a = { .k = o->k, .p = ops_products(o), .y = y, .q = qkv, .keys = keys,
                           .values = values, .ldy = C, .ldq = 3 * C, .ldk = C, .B = 1, .N = N,
                           .past = past, .NH = NH, .HS = HS,
                           .mask = ops_mask((struct ops_dropout){ 0 }) };
    if (N > KERNEL_ROWS) {
        run_heads(o, &a, attend_head);
        return;
    }
    a.work_floats = round_up(past + N, 16);
    a.work = ops_work(o, o->threads * a.work_floats);
    pool_each(o->pool, NH, attend_head_streamed, &a);
}
