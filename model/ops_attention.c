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
 * rounded, and the softmax of a query happens in its lane. K and V are packed once a head.
 *
 * In the backward, where sums over queries are made and no softmax is left to do, queries and keys
 * change places: panels of keys go against blocks of queries, S = Q K^T, dv^T = dy^T P and
 * dk^T = Q^T dS. Only dq = dS K has its sums over keys; it takes dS row by row, the panels of a
 * group together, so that these sums go out to memory once a group. */
enum {
    KEYS = 480,     /* of a block: a multiple of every tile_rows, and even for the masks */
    QUERIES = 240,  /* of a block in the backward: likewise */
    SOME = 48,      /* of these, queries whose scores stay in the first cache: likewise */
    LANES_MAX = 32, /* most lanes of a panel */
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
    float *dq, *dkeys, *dvalues;  /* rows of factors, strides as those without d, */
    int64_t dkeys_at, dvalues_at; /* and in a row where the first head's numbers of these stand */
    int half;
    const float *dy, *y_in, *lse_in;
};

/* One head of one sequence: the arrays from its first row and column on, and a thread's scratch. */
struct head {
    const struct attention *a;
    int64_t index; /* b*NH + h */
    float *y, *lse;
    const float *q, *keys, *values;
    float *dq, *dkeys, *dvalues; /* the rows, */
    int64_t column;              /* and which of the heads' numbers in them are this one's */
    const float *dy, *y_in, *lse_in;

    union {
        struct {
            float *k_rows;   /* panels of K, all keys */
            float *v_turned; /* panels of V^T, block by block of keys */
            float *q_lanes;  /* panel of Q^T */
            float *scores;   /* [KEYS, lanes] */
            float *panel;    /* P^T as the product takes it, in f32 the scores */
            float *found;    /* [HS, lanes] y^T */
        } fwd;
        struct {
            float *q_rows, *dy_rows;     /* panels of Q and dy, all queries */
            float *q_turned, *dy_turned; /* panels of Q^T and dy^T, block by block of queries */
            float *lse, *dots;           /* of all queries, see struct kernel_scores_bwd */
            float *k_lanes, *v_lanes;    /* panels of K^T and V^T, of a group of keys */
            float *k_columns;            /* panels of K, of a group of keys */
            float *scores, *dP;          /* [SOME, lanes] */
            float *P, *dS;               /* [QUERIES, lanes] panels */
            float *rows;                 /* [QUERIES, group] dS */
            float *dk, *dv;              /* [group / lanes, HS, lanes] dk^T and dv^T */
            float *dq;                   /* [queries, HS] */
        } bwd;
    };
};

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t round_up(int64_t n, int64_t to)
{
    return (n + to - 1) / to * to;
}

/* A part of the scratch. */
struct part {
    float **at;
    int64_t floats;
};

static int64_t lay_parts(float *p, const struct part *parts, size_t count)
{
    int64_t floats = 0;
    for (size_t i = 0; i < count; i++) {
        *parts[i].at = p + floats;
        floats += round_up(parts[i].floats, 16);
    }
    return floats;
}

static int64_t lay_out_fwd(struct head *h, float *p, const struct attention *a)
{
    int64_t keys = round_up(a->past + a->N, KEYS), lanes = a->p->tile_columns, HS = a->HS;
    int64_t tall = round_up(HS, a->p->tile_rows);
    const struct part parts[] = {
        { &h->fwd.k_rows, keys * HS },   { &h->fwd.v_turned, keys * tall },
        { &h->fwd.q_lanes, HS * lanes }, { &h->fwd.scores, KEYS * lanes },
        { &h->fwd.panel, KEYS * lanes }, { &h->fwd.found, HS * lanes },
    };
    return lay_parts(p, parts, sizeof parts / sizeof *parts);
}

static int64_t lay_out_bwd(struct head *h, float *p, const struct attention *a)
{
    int64_t queries = round_up(a->N, QUERIES), lanes = a->p->tile_columns, HS = a->HS;
    int64_t tall = round_up(HS, a->p->tile_rows), group = KERNEL_GROUP * lanes;
    const struct part parts[] = {
        { &h->bwd.q_rows, queries * HS },
        { &h->bwd.dy_rows, queries * HS },
        { &h->bwd.q_turned, queries * tall },
        { &h->bwd.dy_turned, queries * tall },
        { &h->bwd.lse, queries },
        { &h->bwd.dots, queries },
        { &h->bwd.k_lanes, group * HS },
        { &h->bwd.v_lanes, group * HS },
        { &h->bwd.k_columns, group * round_up(HS, lanes) },
        { &h->bwd.scores, SOME * lanes },
        { &h->bwd.dP, SOME * lanes },
        { &h->bwd.P, QUERIES * lanes },
        { &h->bwd.dS, QUERIES * lanes },
        { &h->bwd.rows, QUERIES * group },
        { &h->bwd.dk, group * HS },
        { &h->bwd.dv, group * HS },
        { &h->bwd.dq, queries * HS },
    };
    return lay_parts(p, parts, sizeof parts / sizeof *parts);
}

/* Lays the scratch out at p; returns its floats. */
static int64_t lay_out(struct head *h, float *p, const struct attention *a)
{
    return a->dq ? lay_out_bwd(h, p, a) : lay_out_fwd(h, p, a);
}

static struct head head_at(const struct attention *a, int64_t index, int thread)
{
    int64_t b = index / a->NH, column = index % a->NH * a->HS;
    int64_t q = b * a->N * a->ldq + column, k = b * a->N * a->ldk + column;
    int64_t y = b * a->N * a->ldy + column;
    struct head h = {
        .a = a, .index = index, .q = a->q + q, .keys = a->keys + k, .values = a->values + k
    };
    lay_out(&h, a->work + thread * a->work_floats, a);
    if (a->y)
        h.y = a->y + y;
    if (a->lse)
        h.lse = a->lse + index * a->N;
    if (a->dq) {
        h.dq = a->dq + b * a->N * a->ldq;
        h.dkeys = a->dkeys + b * a->N * a->ldk;
        h.dvalues = a->dvalues + b * a->N * a->ldk;
        h.column = column;
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

/* What the exponents of a head's scores are: logarithms of base 2 of what is added up. */
static float score_scale(const struct attention *a)
{
    return (float)M_LOG2E / sqrtf((float)a->HS);
}

/* Elements of the dropout mask from a query to the next: they come in pairs. */
static uint64_t mask_stride(const struct attention *a)
{
    return (uint64_t)round_up(a->past + a->N, 2);
}

static uint64_t mask_index(const struct head *h, int64_t query, int64_t key)
{
    return (uint64_t)(h->index * h->a->N + query) * mask_stride(h->a) + (uint64_t)key;
}

/* Panels of the columns of x[rows,HS], of a block of rows from `first` on. */
static void pack_turned(const struct attention *a, float *panels, const float *x, int64_t ld,
                        int64_t first, int64_t rows)
{
    int64_t tall = round_up(a->HS, a->p->tile_rows);
    a->p->pack_rows(panels + kernel_depth(a->p, first) * tall, x + first * ld, ld, 1, 0, a->HS,
                    rows, 1);
}

/* ---- forward ------------------------------------------------------------------------------ */

/* Queries q0 .. q0+queries-1 against keys k0 .. k0+keys-1. */
struct block {
    int64_t q0, queries, k0, keys;
};

/* The queries of the next panel. */
static struct kernel_ahead queries_ahead(const struct head *h, const struct block *b)
{
    const struct attention *a = h->a;
    int64_t next = b->q0 + b->queries;
    return (struct kernel_ahead){ .at = h->q + next * a->ldq,
                                  .floats = a->HS,
                                  .ld = a->ldq,
                                  .rows = smaller(b->queries, a->N - next) };
}

/* scores[keys,lanes] = K Q^T. */
static void score(const struct head *h, const struct block *b)
{
    const struct attention *a = h->a;
    int64_t lanes = a->p->tile_columns, depth = kernel_depth(a->p, a->HS);
    a->p->multiply(&(struct kernel_product){
        .C = h->fwd.scores,
        .ldc = lanes,
        .A = h->fwd.k_rows + b->k0 * depth,
        .B = h->fwd.q_lanes,
        .a_depth = depth,
        .M = b->keys,
        .N = lanes,
        .depth = depth,
        .ahead = { b->k0 ? (struct kernel_ahead){ 0 } : queries_ahead(h, b) } });
}

/* found[HS,lanes] += V^T[HS,keys] P^T[keys,lanes]. */
static void gather(const struct head *h, const struct block *b)
{
    const struct attention *a = h->a;
    int64_t lanes = a->p->tile_columns, tall = round_up(a->HS, a->p->tile_rows);
    int64_t packed = smaller(KEYS, a->past + a->N - b->k0); /* by pack_turned */
    a->p->multiply(
        &(struct kernel_product){ .C = h->fwd.found,
                                  .base = b->k0 ? h->fwd.found : NULL,
                                  .ldc = lanes,
                                  .A = h->fwd.v_turned + kernel_depth(a->p, b->k0) * tall,
                                  .B = h->fwd.panel,
                                  .a_depth = kernel_depth(a->p, packed),
                                  .M = a->HS,
                                  .N = lanes,
                                  .depth = kernel_depth(a->p, b->keys) });
}

static void block_fwd(const struct head *h, float *max, float *sum, const struct block *b)
{
    const struct attention *a = h->a;
    score(h, b);
    a->k->softmax_panel(
        h->fwd.scores, max, sum, h->fwd.found, b->k0 ? a->HS : 0,
        &(struct kernel_scores){ .keys = b->keys,
                                 .mask = a->mask,
                                 .stride = mask_stride(a),
                                 .visible = a->both_ways ? b->keys : a->past + b->q0 - b->k0 + 1,
                                 .first = mask_index(h, b->q0, b->k0),
                                 .scale = score_scale(a),
                                 .steps = a->p->steps,
                                 .panel = h->fwd.panel });
    gather(h, b);
}

static void attend_queries(const struct head *h, int64_t q0, int64_t queries)
{
    const struct attention *a = h->a;
    int64_t lanes = a->p->tile_columns, end = a->both_ways ? a->N : a->past + q0 + queries;
    float max[LANES_MAX], sum[LANES_MAX];
    for (int64_t l = 0; l < lanes; l++) {
        max[l] = -INFINITY;
        sum[l] = 0;
    }
    a->p->pack_columns(h->fwd.q_lanes, NULL, h->q + q0 * a->ldq, a->ldq, 1, 0, queries, a->HS);
    for (int64_t k0 = 0; k0 < end; k0 += KEYS)
        block_fwd(h, max, sum, &(struct block){ q0, queries, k0, smaller(KEYS, end - k0) });
    for (int64_t l = 0; l < queries; l++) {
        if (h->lse)
            h->lse[q0 + l] = max[l] * (float)M_LN2 + logf(sum[l]);
        sum[l] = 1 / sum[l];
    }
    a->k->unpack(h->y + q0 * a->ldy, a->ldy, 0, h->fwd.found, sum, queries, a->HS, 0);
}

static void attend_head(void *ctx, int64_t index, int thread)
{
    const struct attention *a = ctx;
    struct head h = head_at(a, index, thread);
    int64_t lanes = a->p->tile_columns;
    if (a->p->steps == 1)
        h.fwd.panel = h.fwd.scores;
    a->p->pack_rows(h.fwd.k_rows, h.keys, a->ldk, 0, 0, a->past + a->N, a->HS, 1);
    for (int64_t k0 = 0; k0 < a->past + a->N; k0 += KEYS)
        pack_turned(a, h.fwd.v_turned, h.values, a->ldk, k0, smaller(KEYS, a->past + a->N - k0));
    for (int64_t q0 = 0; q0 < a->N; q0 += lanes)
        attend_queries(&h, q0, smaller(lanes, a->N - q0));
}

void ops_attention_fwd(struct ops *o, float *y, float *lse, const float *qkv, int64_t B, int64_t T,
                       int64_t NH, int64_t HS, struct ops_dropout drop)
{
    TRACE_KERNEL(2.0 * B * NH * T * (T + 1) * HS, 16.0 * B * T * NH * HS);
    int64_t C = NH * HS;
    struct attention a = { .k = o->k,
                           .p = ops_products(o),
                           .y = y,
                           .lse = lse,
                           .q = qkv,
                           .keys = qkv + C,
                           .values = qkv + 2 * C,
                           .ldy = C,
                           .ldq = 3 * C,
                           .ldk = 3 * C,
                           .B = B,
                           .N = T,
                           .NH = NH,
                           .HS = HS,
                           .mask = ops_mask(drop) };
    run_heads(o, &a, attend_head);
}

/* ---- backward ----------------------------------------------------------------------------- */

/* A group of keys k0 .. k0+keys-1, panels of them together. */
struct group {
    int64_t k0, keys;
};

/* The block of queries q0 .. q0+queries-1 from query `from` on, counted in the block. */
struct queries {
    int64_t q0, queries, from;
};

/* The first query of a block that sees key k, or one before: a panel of rows begins there. */
static int64_t first_to_see(const struct attention *a, int64_t q0, int64_t k)
{
    return a->both_ways || k <= q0 ? 0 : (k - q0) / a->p->tile_rows * a->p->tile_rows;
}

/* out[queries,lanes] = rows[queries,HS] lanes^T, for panels of Q or dy and of K^T or V^T. */
static void score_rows(const struct head *h, float *out, const float *rows, const float *lanes,
                       int64_t q, int64_t queries)
{
    const struct attention *a = h->a;
    int64_t width = a->p->tile_columns, depth = kernel_depth(a->p, a->HS);
    a->p->multiply(&(struct kernel_product){ .C = out,
                                             .ldc = width,
                                             .A = rows + q * depth,
                                             .B = lanes,
                                             .a_depth = depth,
                                             .M = queries,
                                             .N = width,
                                             .depth = depth });
}

/* sums[HS,lanes] += turned[HS,queries] panel[queries,lanes]: dv^T += dy^T P, dk^T += Q^T dS. */
static void gather_queries(const struct head *h, float *sums, const float *turned,
                           const float *panel, const struct queries *b, int first)
{
    const struct attention *a = h->a;
    int64_t lanes = a->p->tile_columns, tall = round_up(a->HS, a->p->tile_rows);
    int64_t skipped = kernel_depth(a->p, b->from);
    a->p->multiply(&(struct kernel_product){ .C = sums,
                                             .base = first ? NULL : sums,
                                             .ldc = lanes,
                                             .A = turned + kernel_depth(a->p, b->q0) * tall +
                                                  skipped * a->p->tile_rows,
                                             .B = panel + skipped * lanes,
                                             .a_depth = kernel_depth(a->p, b->queries),
                                             .M = a->HS,
                                             .N = lanes,
                                             .depth = kernel_depth(a->p, b->queries) - skipped });
}

/* P and dS of a panel of the group's keys, `panel` of them before it, against a block of queries.
 */
static void block_scores_bwd(const struct head *h, const struct group *g, int64_t panel,
                             const struct queries *b)
{
    const struct attention *a = h->a;
    int64_t lanes = a->p->tile_columns, at = panel * lanes, k = g->k0 + at;
    int64_t lane_floats = lanes * kernel_depth(a->p, a->HS), row = KERNEL_GROUP * lanes;
    for (int64_t r = b->from; r < b->queries; r += SOME) {
        int64_t q = b->q0 + r, some = smaller(SOME, b->queries - r);
        score_rows(h, h->bwd.scores, h->bwd.q_rows, h->bwd.k_lanes + panel * lane_floats, q, some);
        score_rows(h, h->bwd.dP, h->bwd.dy_rows, h->bwd.v_lanes + panel * lane_floats, q, some);
        a->k->softmax_rows_bwd(
            h->bwd.scores, h->bwd.dP,
            &(struct kernel_scores_bwd){ .queries = some,
                                         .keys = smaller(lanes, g->keys - at),
                                         .visible = a->both_ways ? lanes : q - k + 1,
                                         .scale = score_scale(a),
                                         .mask = a->mask,
                                         .first = mask_index(h, q, k),
                                         .stride = mask_stride(a),
                                         .lse = h->bwd.lse + q,
                                         .dots = h->bwd.dots + q,
                                         .steps = a->p->steps,
                                         .P = h->bwd.P + kernel_depth(a->p, r) * lanes,
                                         .dS = h->bwd.dS + kernel_depth(a->p, r) * lanes,
                                         .rows = h->bwd.rows + (r * row + at) / a->p->steps });
    }
}

/* dq += dS K, for the queries from .. end-1 of a block and the group's first keys. */
static void scatter(const struct head *h, const struct group *g, int64_t keys,
                    const struct queries *b, int64_t end)
{
    const struct attention *a = h->a;
    int64_t lanes = a->p->tile_columns, row = KERNEL_GROUP * lanes / a->p->steps;
    for (int64_t i = 0; i < a->HS && b->from < end; i += lanes) {
        float *dq = h->bwd.dq + (b->q0 + b->from) * a->HS + i;
        a->p->multiply_rows(
            &(struct kernel_product){ .C = dq,
                                      .base = g->k0 ? dq : NULL,
                                      .ldc = a->HS,
                                      .A = h->bwd.rows + b->from * row,
                                      .B = h->bwd.k_columns + i * kernel_depth(a->p, g->keys),
                                      .a_depth = row,
                                      .M = end - b->from,
                                      .N = smaller(lanes, a->HS - i),
                                      .depth = kernel_depth(a->p, keys) });
    }
}

/* A group against a block of queries. The queries that do not see the next panel are done. */
static void block_bwd(const struct head *h, const struct group *g, int64_t q0, int64_t queries)
{
    const struct attention *a = h->a;
    int64_t lanes = a->p->tile_columns;
    for (int64_t i = 0; i * lanes < g->keys; i++) {
        int64_t k = g->k0 + i * lanes, done = smaller((i + 1) * lanes, g->keys);
        struct queries b = { q0, queries, first_to_see(a, q0, k) };
        if (b.from >= queries)
            return;
        block_scores_bwd(h, g, i, &b);
        int first = a->both_ways ? q0 == 0 : q0 <= k;
        struct queries seeing = { q0, queries, a->both_ways || k < q0 ? 0 : k - q0 };
        gather_queries(h, h->bwd.dv + i * lanes * a->HS, h->bwd.dy_turned, h->bwd.P, &seeing,
                       first);
        gather_queries(h, h->bwd.dk + i * lanes * a->HS, h->bwd.q_turned, h->bwd.dS, &seeing,
                       first);
        int64_t more = done < g->keys ? first_to_see(a, q0, g->k0 + done) : queries;
        scatter(h, g, done, &b, smaller(more, queries));
    }
}

static void attend_group_bwd(const struct head *h, const struct group *g)
{
    const struct attention *a = h->a;
    int64_t lanes = a->p->tile_columns;
    const float *k = h->keys + g->k0 * a->ldk, *v = h->values + g->k0 * a->ldk;
    a->p->pack_columns(h->bwd.k_lanes, NULL, k, a->ldk, 1, 0, g->keys, a->HS);
    a->p->pack_columns(h->bwd.v_lanes, NULL, v, a->ldk, 1, 0, g->keys, a->HS);
    a->p->pack_columns(h->bwd.k_columns, NULL, k, a->ldk, 0, 0, a->HS, g->keys);
    for (int64_t q0 = a->both_ways ? 0 : g->k0 / QUERIES * QUERIES; q0 < a->N; q0 += QUERIES)
        block_bwd(h, g, q0, smaller(QUERIES, a->N - q0));
    for (int64_t i = 0; i < g->keys; i += lanes) {
        int64_t to = (g->k0 + i) * a->ldk, keys = smaller(lanes, g->keys - i);
        a->k->unpack(h->dkeys + to, a->ldk, a->dkeys_at + h->column, h->bwd.dk + i * a->HS, NULL,
                     keys, a->HS, a->half);
        a->k->unpack(h->dvalues + to, a->ldk, a->dvalues_at + h->column, h->bwd.dv + i * a->HS,
                     NULL, keys, a->HS, a->half);
    }
}

/* What all groups take of a block of queries. dP is made from dy / sqrt(HS), so that dS is the
 * gradient in the scores before they are scaled. */
static void pack_queries(const struct head *h, int64_t q0, int64_t queries)
{
    const struct attention *a = h->a;
    const float *q = h->q + q0 * a->ldq, *dy = h->dy + q0 * a->ldy;
    int64_t row = kernel_depth(a->p, a->HS);
    float factor = 1 / sqrtf((float)a->HS);
    a->p->pack_rows(h->bwd.q_rows + q0 * row, q, a->ldq, 0, 0, queries, a->HS, 1);
    pack_turned(a, h->bwd.q_turned, h->q, a->ldq, q0, queries);
    a->p->pack_rows(h->bwd.dy_rows + q0 * row, dy, a->ldy, 0, 0, queries, a->HS, factor);
    pack_turned(a, h->bwd.dy_turned, h->dy, a->ldy, q0, queries);
    a->k->row_dots(h->bwd.dots + q0, dy, h->y_in + q0 * a->ldy, a->ldy, factor, queries, a->HS);
    for (int64_t i = q0; i < q0 + queries; i++)
        h->bwd.lse[i] = h->lse_in[i] * (float)M_LOG2E;
}

/* The sums over keys are the thread's own until they are complete: the next head's numbers stand in
 * the same rows, and what another core writes beside them would be sent to and fro. */
static void attend_head_bwd(void *ctx, int64_t index, int thread)
{
    const struct attention *a = ctx;
    struct head h = head_at(a, index, thread);
    int64_t group = KERNEL_GROUP * a->p->tile_columns;
    for (int64_t q0 = 0; q0 < a->N; q0 += QUERIES)
        pack_queries(&h, q0, smaller(QUERIES, a->N - q0));
    for (int64_t k0 = 0; k0 < a->N; k0 += group)
        attend_group_bwd(&h, &(struct group){ k0, smaller(group, a->N - k0) });
    for (int64_t q = 0; q < a->N; q++)
        a->k->make_row(h.dq + q * a->ldq, h.column, h.bwd.dq + q * a->HS, a->HS, a->half);
}

void ops_attention_bwd(struct ops *o, float *dqkv, const float *dy, const float *qkv,
                       const float *y, const float *lse, int64_t B, int64_t T, int64_t NH,
                       int64_t HS, struct ops_dropout drop)
{
    TRACE_KERNEL(5.0 * B * NH * T * (T + 1) * HS, 36.0 * B * T * NH * HS);
    int64_t C = NH * HS;
    struct attention a = { .k = o->k,
                           .p = ops_products(o),
                           .q = qkv,
                           .keys = qkv + C,
                           .values = qkv + 2 * C,
                           .ldy = C,
                           .ldq = 3 * C,
                           .ldk = 3 * C,
                           .B = B,
                           .N = T,
                           .NH = NH,
                           .HS = HS,
                           .mask = ops_mask(drop),
                           .dq = dqkv,
                           .dkeys = dqkv,
                           .dvalues = dqkv,
                           .dkeys_at = C,
                           .dvalues_at = 2 * C,
                           .half = ops_half(o, OPS_FACTORS),
                           .dy = dy,
                           .y_in = y,
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
                          struct ops_dropout drop, void (*fn)(void *ctx, int64_t index, int thread))
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
    struct attention all = { .k = o->k,
                             .p = ops_products(o),
                             .y = y,
                             .lse = lse,
                             .q = q,
                             .keys = k,
                             .values = v,
                             .ldy = C,
                             .ldq = C,
                             .ldk = C,
                             .B = 1,
                             .NH = NH,
                             .HS = HS,
                             .both_ways = 1 };
    run_sequences(o, &all, rows, drop, attend_head);
}

void ops_attention_rows_bwd(struct ops *o, float *dq, float *dk, float *dv, const float *dy,
                            const float *q, const float *k, const float *v, const float *y,
                            const float *lse, const struct ops_rows *rows, int64_t NH, int64_t HS,
                            struct ops_dropout drop)
{
    TRACE_KERNEL(10.0 * pairs(rows) * NH * HS, 36.0 * ops_rows_count(rows) * NH * HS);
    int64_t C = NH * HS;
    struct attention all = { .k = o->k,
                             .p = ops_products(o),
                             .q = q,
                             .keys = k,
                             .values = v,
                             .ldy = C,
                             .ldq = C,
                             .ldk = C,
                             .B = 1,
                             .NH = NH,
                             .HS = HS,
                             .both_ways = 1,
                             .dq = dq,
                             .dkeys = dk,
                             .dvalues = dv,
                             .half = ops_half(o, OPS_FACTORS),
                             .dy = dy,
                             .y_in = y,
                             .lse_in = lse };
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
    struct attention a = { .k = o->k,
                           .p = ops_products(o),
                           .y = y,
                           .q = qkv,
                           .keys = keys,
                           .values = values,
                           .ldy = C,
                           .ldq = 3 * C,
                           .ldk = C,
                           .B = 1,
                           .N = N,
                           .past = past,
                           .NH = NH,
                           .HS = HS,
                           .mask = ops_mask((struct ops_dropout){ 0 }) };
    if (N > KERNEL_ROWS) {
        run_heads(o, &a, attend_head);
        return;
    }
    a.work_floats = round_up(past + N, 16);
    a.work = ops_work(o, o->threads * a.work_floats);
    pool_each(o->pool, NH, attend_head_streamed, &a);
}
