/*
 * cpu_attention.c - attention of the host's back end: in tiles, with an online softmax (Dao et al.
 * 2022).
 *
 *     for each head of each sequence, the threads sharing them       run, run_each
 *         pack K, and V^T block by block of keys                     attend_head
 *         for each panel of queries, one per lane                    attend_queries
 *             for each block of keys that one of them sees           block_fwd
 *                 S^T = K Q^T                                        score
 *                 P^T = dropout(2^(S^T - max)); max, sum go on       softmax_panel
 *                 y^T += V^T P^T                                     gather
 *             y = y^T / sum, lse = max + log(sum)                    attend_queries
 *
 * and backward, where P is made again from lse:
 *
 *     for each head of keys, the threads sharing them                attend_heads_bwd
 *         for each head of queries that uses it                      attend_head_bwd
 *             pack Q, Q^T, dy, dy^T; dots = dy . y                   pack_queries
 *             for each group of keys, some panels                    attend_group_bwd
 *                 for each block of queries that sees one of them    block_bwd
 *                     for each panel of the group                    block_bwd
 *                         S = Q K^T, dP = dy V^T                     score
 *                         P = 2^(S - lse), dS = P (dP - dots)        softmax_rows_bwd
 *                         dv^T += dy^T P, dk^T += Q^T dS             gather_queries
 *                         dq += dS K                                 scatter
 *                 dk, dv                                             leave_keys
 *             dq                                                     attend_head_bwd
 *
 * Checked against plain loops in f64 and central differences: attention_of, attention_rows_of and
 * grouped_of in tests/unit/model/compute/test_ops.c.
 */
#include <math.h>

#include "common/base/least.h"
#include "common/base/rng.h"
#include "model/compute/cpu.h"

/* Attention multiplies panels of queries, as wide as a tile of the matrix product, with blocks of
 * keys. Scores are stored as S^T, one row for each key and one lane for each query. The
 * product S^T = K Q^T writes this layout and y^T = V^T P^T reads it: f32 needs no copy between
 * them, bf16 is rounded. The softmax of a query stays in its lane. K and V are packed once for each
 * head.
 *
 * The backward sums over queries and computes no new softmax, so queries and keys change places:
 * panels of keys are multiplied with blocks of queries, S = Q K^T, dv^T = dy^T P and dk^T = Q^T dS.
 * Only dq = dS K sums over keys. It takes the rows of dS of a group of panels together, so that its
 * sums are written to memory once for each group. */
enum {
    KEYS = 480,      /* keys of a block: a multiple of every tile_rows, and even for the masks */
    QUERIES = 240,   /* queries of a block in the backward: as for KEYS */
    SOME = 48,       /* queries whose scores stay in the first-level cache: as for KEYS */
    LANES_MAX = 32,  /* most lanes of a panel */
    FEW_QUERIES = 4, /* most new positions that are computed one by one, with a cache */
    FAR = 1 << 30,
};

/* The arguments of attention in one sequence. Heads lie side by side in the rows of all arrays.
 * There are past + N keys; the queries are positions past to past + N - 1. */
struct attention {
    const struct kernels *k;
    const struct kernel_products *p;
    struct ops_array y, q, keys, values;
    float *lse;
    int64_t ldy, ldq, ldk; /* row strides */
    int64_t N, past, NH, KV, HS;
    int64_t first_head; /* number of the first head in the dropout masks */
    float scale;        /* factor of the scores */
    int64_t before,
        after; /* numbers of keys that a query sees before its own and after it; FAR: all */
    struct ops_mask mask;
    float *work;
    int64_t work_floats; /* scratch floats of each thread */
    /* backward */
    struct ops_array dq, dkeys, dvalues; /* strides as q, keys and values */
    struct ops_array dy, y_in;
    const float *lse_in;
};

/* One head: its arrays, from its first row and column on, and the thread's scratch. */
struct head {
    const struct attention *a;
    int64_t index;
    struct ops_array y, q, keys, values, dq, dkeys, dvalues, dy, y_in;
    float *lse;
    const float *lse_in;

    union {
        struct {
            float *k_rows;   /* panels of K, all keys */
            float *v_turned; /* panels of V^T, block by block of keys */
            float *q_lanes;  /* panel of Q^T */
            float *scores;   /* [KEYS, lanes] */
            float *panel;    /* P^T in the layout of the product's B; in f32 the same memory as
                              * scores */
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
            float *dk_sum, *dv_sum;      /* [keys, HS] over the heads that share the keys */
            float *turned;               /* [lanes, HS] a panel of dk or dv, transposed back */
        } bwd;
    };
};

static int64_t round_up(int64_t n, int64_t to)
{
    return pieces(n, to) * to;
}

/* One array in the scratch memory. */
struct part {
    float **at;
    int64_t floats;
};

static int64_t lay_parts(float *p, const struct part *parts, size_t count)
{
    int64_t floats = 0;
    for (size_t i = 0; i < count; i++) {
        *parts[i].at = p ? p + floats : NULL; /* NULL: only the floats are counted */
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
    int64_t tall = round_up(HS, a->p->tile_rows), group = KERNEL_KEYS;
    int64_t shared = a->KV < a->NH;
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
        { &h->bwd.dk_sum, shared * a->N * HS },
        { &h->bwd.dv_sum, shared * a->N * HS },
        { &h->bwd.turned, shared * lanes * HS },
    };
    return lay_parts(p, parts, sizeof parts / sizeof *parts);
}

/* Places the scratch arrays of h in the memory at p. Returns how many floats they need. */
static int64_t lay_out(struct head *h, float *p, const struct attention *a)
{
    return ops_is_none(a->dq) ? lay_out_fwd(h, p, a) : lay_out_bwd(h, p, a);
}

static struct head head_at(const struct attention *a, int64_t index, int thread)
{
    int64_t q = index * a->HS, k = index / (a->NH / a->KV) * a->HS;
    struct head h = { .a = a,
                      .index = index,
                      .y = ops_part(a->y, q),
                      .q = ops_part(a->q, q),
                      .keys = ops_part(a->keys, k),
                      .values = ops_part(a->values, k),
                      .dq = ops_part(a->dq, q),
                      .dkeys = ops_part(a->dkeys, k),
                      .dvalues = ops_part(a->dvalues, k),
                      .dy = ops_part(a->dy, q),
                      .y_in = ops_part(a->y_in, q),
                      .lse = a->lse ? a->lse + index * a->N : NULL,
                      .lse_in = a->lse_in ? a->lse_in + index * a->N : NULL };
    lay_out(&h, a->work + thread * a->work_floats, a);
    return h;
}

/* Returns the factor of the scores, including the conversion to base-2 logarithms. */
static float score_scale(const struct attention *a)
{
    return a->scale > 0 ? (float)M_LOG2E * a->scale : (float)M_LOG2E / sqrtf((float)a->HS);
}

/* Returns the factor of the scores alone. */
static float plain_scale(const struct attention *a)
{
    return a->scale > 0 ? a->scale : 1 / sqrtf((float)a->HS);
}

/* Returns the distance in the dropout mask from one query to the next; it is even, because elements
 * come in pairs. */
static uint64_t mask_stride(const struct attention *a)
{
    return (uint64_t)round_up(a->past + a->N, 2);
}

static uint64_t mask_index(const struct head *h, int64_t query, int64_t key)
{
    const struct attention *a = h->a;
    int64_t head = a->first_head + h->index;
    return (uint64_t)(head * a->N + query) * mask_stride(a) + (uint64_t)key;
}

/* Packs rows `first` to first + rows - 1 of x, transposed, into `panels`. x has HS columns; its
 * rows begin ld numbers apart. */
static void pack_turned(const struct attention *a, float *panels, struct ops_array x, int64_t ld,
                        int64_t first, int64_t rows)
{
    int64_t tall = round_up(a->HS, a->p->tile_rows);
    a->p->pack_rows(panels + kernel_depth(a->p, first) * tall, ops_part(x, first * ld), ld, 1,
                    a->HS, rows, 1);
}

/* ---- forward ------------------------------------------------------------------------------ */

/* A block of scores: queries q0 to q0 + queries - 1 and keys k0 to k0 + keys - 1, which are the
 * first ones that the queries see if `first` is 1. */
struct block {
    int64_t q0, queries, k0, keys;
    int first;
};

/* first_key returns the first key that query q sees, end_key the one after the last. */
static int64_t first_key(const struct attention *a, int64_t q)
{
    return larger(a->past + q - a->before, 0);
}

static int64_t end_key(const struct attention *a, int64_t q)
{
    return smaller(a->past + q + a->after + 1, a->past + a->N);
}

static const struct kernel_ahead nothing = { 0 };

/* Returns the queries of the next panel, for prefetching. */
static struct kernel_ahead queries_ahead(const struct head *h, const struct block *b)
{
    const struct attention *a = h->a;
    int64_t next = b->q0 + b->queries, bytes = (int64_t)ops_type_bytes(h->q.type);
    return (struct kernel_ahead){ .at = ops_part(h->q, next * a->ldq).address,
                                  .bytes = a->HS * bytes,
                                  .ld = a->ldq * bytes,
                                  .rows = smaller(b->queries, a->N - next) };
}

/* Computes out[n,lanes] = rows[n,HS] lanes^T, where `rows` has packed rows of K, Q or dy, from row
 * `first` on, and `lanes` a packed panel of queries, keys or values. Prefetches `ahead`. */
static void score(const struct head *h, float *out, const float *rows, const float *lanes,
                  int64_t first, int64_t n, struct kernel_ahead ahead)
{
    const struct attention *a = h->a;
    int64_t width = a->p->tile_columns, depth = kernel_depth(a->p, a->HS);
    a->p->multiply(&(struct kernel_product){ .C = cpu_f32(out),
                                             .ldc = width,
                                             .A = rows + first * depth,
                                             .B = lanes,
                                             .a_depth = depth,
                                             .M = n,
                                             .N = width,
                                             .depth = depth,
                                             .ahead = { ahead } });
}

/* Adds a block's part to a panel of results: found[HS,lanes] += V^T[HS,keys] P^T[keys,lanes]. */
static void gather(const struct head *h, const struct block *b)
{
    const struct attention *a = h->a;
    int64_t lanes = a->p->tile_columns, tall = round_up(a->HS, a->p->tile_rows);
    int64_t start = b->k0 / KEYS * KEYS;
    int64_t packed = smaller(KEYS, a->past + a->N - start); /* keys packed by pack_turned */
    a->p->multiply(
        &(struct kernel_product){ .C = cpu_f32(h->fwd.found),
                                  .base = b->first ? OPS_NONE : cpu_f32(h->fwd.found),
                                  .ldc = lanes,
                                  .ld_base = lanes,
                                  .A = h->fwd.v_turned + kernel_depth(a->p, start) * tall,
                                  .a_from = kernel_depth(a->p, b->k0 - start),
                                  .B = h->fwd.panel,
                                  .a_depth = kernel_depth(a->p, packed),
                                  .M = a->HS,
                                  .N = lanes,
                                  .depth = kernel_depth(a->p, b->keys) });
}

static void block_fwd(const struct head *h, float *max, float *sum, const struct block *b)
{
    const struct attention *a = h->a;
    score(h, h->fwd.scores, h->fwd.k_rows, h->fwd.q_lanes, b->k0, b->keys,
          b->first ? queries_ahead(h, b) : nothing);
    a->k->softmax_panel(h->fwd.scores, max, sum, h->fwd.found, b->first ? 0 : a->HS,
                        &(struct kernel_scores){ .keys = b->keys,
                                                 .mask = a->mask,
                                                 .stride = mask_stride(a),
                                                 .visible = a->past + b->q0 - b->k0 + a->after + 1,
                                                 .hidden = a->past + b->q0 - b->k0 - a->before,
                                                 .first = mask_index(h, b->q0, b->k0),
                                                 .scale = score_scale(a),
                                                 .steps = a->p->steps,
                                                 .panel = h->fwd.panel });
    gather(h, b);
}

static void attend_queries(const struct head *h, int64_t q0, int64_t queries)
{
    const struct attention *a = h->a;
    int64_t lanes = a->p->tile_columns, end = end_key(a, q0 + queries - 1);
    int64_t begin = first_key(a, q0) / SOME * SOME;
    float max[LANES_MAX], sum[LANES_MAX];
    for (int64_t l = 0; l < lanes; l++) {
        max[l] = a->before == FAR ? -INFINITY : -1e30f; /* a query may see no key of a block */
        sum[l] = 0;
    }
    a->p->pack_columns(h->fwd.q_lanes, NULL, ops_part(h->q, q0 * a->ldq), a->ldq, 1, queries,
                       a->HS);
    for (int64_t k0 = begin, next; k0 < end; k0 = next) {
        next = smaller((k0 / KEYS + 1) * KEYS, end);
        block_fwd(h, max, sum, &(struct block){ q0, queries, k0, next - k0, k0 == begin });
    }
    for (int64_t l = 0; l < queries; l++) {
        if (h->lse)
            h->lse[q0 + l] = max[l] * (float)M_LN2 + logf(sum[l]);
        sum[l] = 1 / sum[l];
    }
    a->k->unpack(ops_part(h->y, q0 * a->ldy), a->ldy, h->fwd.found, sum, queries, a->HS);
}

static void attend_head(void *ctx, int64_t index, int thread)
{
    const struct attention *a = ctx;
    struct head h = head_at(a, index, thread);
    int64_t lanes = a->p->tile_columns;
    if (a->p->steps == 1)
        h.fwd.panel = h.fwd.scores;
    a->p->pack_rows(h.fwd.k_rows, h.keys, a->ldk, 0, a->past + a->N, a->HS, 1);
    for (int64_t k0 = 0; k0 < a->past + a->N; k0 += KEYS)
        pack_turned(a, h.fwd.v_turned, h.values, a->ldk, k0, smaller(KEYS, a->past + a->N - k0));
    for (int64_t q0 = 0; q0 < a->N; q0 += lanes)
        attend_queries(&h, q0, smaller(lanes, a->N - q0));
}

/* ---- backward ----------------------------------------------------------------------------- */

/* A group of keys, k0 to k0 + keys - 1: some panels that are processed together. */
struct group {
    int64_t k0, keys;
};

/* A block of queries, q0 to q0 + queries - 1; only those from number `from` of the block on take
 * part. */
struct queries {
    int64_t q0, queries, from;
};

/* Returns the first query of a block, counted in the block, that sees key k, rounded down to the
 * start of a panel of rows. */
static int64_t first_to_see(const struct attention *a, int64_t q0, int64_t k)
{
    return larger(k - a->after - q0, 0) / a->p->tile_rows * a->p->tile_rows;
}

/* Computes sums[HS,lanes] += turned[HS,queries] panel[queries,lanes], where `turned` and `panel`
 * are packed: dv^T += dy^T P, or dk^T += Q^T dS. `first` 1: sums are overwritten instead. */
static void gather_queries(const struct head *h, float *sums, const float *turned,
                           const float *panel, const struct queries *b, int first)
{
    const struct attention *a = h->a;
    int64_t lanes = a->p->tile_columns, tall = round_up(a->HS, a->p->tile_rows);
    int64_t skipped = kernel_depth(a->p, b->from);
    a->p->multiply(&(struct kernel_product){ .C = cpu_f32(sums),
                                             .base = first ? OPS_NONE : cpu_f32(sums),
                                             .ldc = lanes,
                                             .ld_base = lanes,
                                             .A = turned + kernel_depth(a->p, b->q0) * tall,
                                             .a_from = skipped,
                                             .B = panel + skipped * lanes,
                                             .a_depth = kernel_depth(a->p, b->queries),
                                             .M = a->HS,
                                             .N = lanes,
                                             .depth = kernel_depth(a->p, b->queries) - skipped });
}

/* Computes P and dS of a block of queries and panel number `panel` of the group's keys. */
static void block_scores_bwd(const struct head *h, const struct group *g, int64_t panel,
                             const struct queries *b)
{
    const struct attention *a = h->a;
    int64_t lanes = a->p->tile_columns, at = panel * lanes, k = g->k0 + at;
    int64_t row = KERNEL_KEYS, own = at * kernel_depth(a->p, a->HS);
    for (int64_t r = b->from; r < b->queries; r += SOME) {
        int64_t q = b->q0 + r, some = smaller(SOME, b->queries - r);
        score(h, h->bwd.scores, h->bwd.q_rows, h->bwd.k_lanes + own, q, some, nothing);
        score(h, h->bwd.dP, h->bwd.dy_rows, h->bwd.v_lanes + own, q, some, nothing);
        a->k->softmax_rows_bwd(
            h->bwd.scores, h->bwd.dP,
            &(struct kernel_scores_bwd){ .queries = some,
                                         .keys = smaller(lanes, g->keys - at),
                                         .visible = q - k + a->after + 1,
                                         .hidden = q - k - a->before,
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

/* Does dq += dS K for the queries b->from to end - 1 of a block and the first `keys` keys of the
 * group. */
static void scatter(const struct head *h, const struct group *g, int64_t keys,
                    const struct queries *b, int64_t end)
{
    const struct attention *a = h->a;
    int64_t lanes = a->p->tile_columns, row = KERNEL_KEYS / a->p->steps;
    for (int64_t i = 0; i < a->HS && b->from < end; i += lanes) {
        float *dq = h->bwd.dq + (b->q0 + b->from) * a->HS + i;
        a->p->multiply_rows(
            &(struct kernel_product){ .C = cpu_f32(dq),
                                      .base = g->k0 || a->before < FAR ? cpu_f32(dq) : OPS_NONE,
                                      .ldc = a->HS,
                                      .ld_base = a->HS,
                                      .A = h->bwd.rows + b->from * row,
                                      .B = h->bwd.k_columns + i * kernel_depth(a->p, g->keys),
                                      .a_depth = row,
                                      .M = end - b->from,
                                      .N = smaller(lanes, a->HS - i),
                                      .depth = kernel_depth(a->p, keys) });
    }
}

/* Computes the gradients between a group of keys and a block of queries: adds to dk and dv of the
 * keys, and to dq of the queries. Goes through the panels of the group, and adds to dq of a query
 * after the last panel that the query sees. */
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
        int first = q0 <= larger(k - a->after, 0);
        struct queries seeing = { q0, queries, larger(k - a->after - q0, 0) / 2 * 2 };
        gather_queries(h, h->bwd.dv + i * lanes * a->HS, h->bwd.dy_turned, h->bwd.P, &seeing,
                       first);
        gather_queries(h, h->bwd.dk + i * lanes * a->HS, h->bwd.q_turned, h->bwd.dS, &seeing,
                       first);
        int64_t more = done < g->keys ? first_to_see(a, q0, g->k0 + done) : queries;
        scatter(h, g, done, &b, smaller(more, queries));
    }
}

/* Stores the gradients of some keys or values: in `to` if each query head has its own keys, else in
 * `sum`, added up over the query heads that share the keys. */
static void leave_keys(const struct head *h, struct ops_array to, float *sum, const float *panel,
                       int64_t key, int64_t keys)
{
    const struct attention *a = h->a;
    if (a->KV == a->NH) {
        a->k->unpack(ops_part(to, key * a->ldk), a->ldk, panel, NULL, keys, a->HS);
        return;
    }
    struct ops_array at = cpu_f32(sum + key * a->HS), turned = cpu_f32(h->bwd.turned);
    int first = h->index % (a->NH / a->KV) == 0;
    a->k->unpack(first ? at : turned, a->HS, panel, NULL, keys, a->HS);
    if (!first)
        a->k->add(at, turned, keys * a->HS);
}

static void attend_group_bwd(const struct head *h, const struct group *g)
{
    const struct attention *a = h->a;
    int64_t lanes = a->p->tile_columns;
    struct ops_array k = ops_part(h->keys, g->k0 * a->ldk);
    struct ops_array v = ops_part(h->values, g->k0 * a->ldk);
    a->p->pack_columns(h->bwd.k_lanes, NULL, k, a->ldk, 1, g->keys, a->HS);
    a->p->pack_columns(h->bwd.v_lanes, NULL, v, a->ldk, 1, g->keys, a->HS);
    a->p->pack_columns(h->bwd.k_columns, NULL, k, a->ldk, 0, a->HS, g->keys);
    const int64_t end = smaller(g->k0 + g->keys + a->before, a->N);
    for (int64_t q0 = larger(g->k0 - a->after, 0) / QUERIES * QUERIES; q0 < end; q0 += QUERIES)
        block_bwd(h, g, q0, smaller(QUERIES, a->N - q0));
    for (int64_t i = 0; i < g->keys; i += lanes) {
        int64_t key = g->k0 + i, keys = smaller(lanes, g->keys - i);
        leave_keys(h, h->dkeys, h->bwd.dk_sum, h->bwd.dk + i * a->HS, key, keys);
        leave_keys(h, h->dvalues, h->bwd.dv_sum, h->bwd.dv + i * a->HS, key, keys);
    }
}

/* Packs a block of queries for all groups of keys. dP is computed from scale * dy, so that dS is
 * the gradient of the scores before scaling. */
static void pack_queries(const struct head *h, int64_t q0, int64_t queries)
{
    const struct attention *a = h->a;
    struct ops_array q = ops_part(h->q, q0 * a->ldq), dy = ops_part(h->dy, q0 * a->ldy);
    struct ops_array y = ops_part(h->y_in, q0 * a->ldy);
    int64_t row = kernel_depth(a->p, a->HS);
    float factor = plain_scale(a);
    a->p->pack_rows(h->bwd.q_rows + q0 * row, q, a->ldq, 0, queries, a->HS, 1);
    pack_turned(a, h->bwd.q_turned, h->q, a->ldq, q0, queries);
    a->p->pack_rows(h->bwd.dy_rows + q0 * row, dy, a->ldy, 0, queries, a->HS, factor);
    pack_turned(a, h->bwd.dy_turned, h->dy, a->ldy, q0, queries);
    a->k->row_dots(h->bwd.dots + q0, dy, y, a->ldy, factor, queries, a->HS);
    for (int64_t i = q0; i < q0 + queries; i++)
        h->bwd.lse[i] = h->lse_in[i] * (float)M_LOG2E;
}

/* Computes the gradients of one query head. Adds up dq in memory of the thread and copies it to the
 * result at the end: neighbouring heads lie in the same rows of the result, so threads that added
 * there directly would slow each other down (false sharing). */
static void attend_head_bwd(const struct attention *a, int64_t index, int thread)
{
    struct head h = head_at(a, index, thread);
    int64_t group = KERNEL_KEYS;
    if (a->before < FAR) /* queries do not begin at the first group */
        memset(h.bwd.dq, 0, (size_t)(a->N * a->HS) * sizeof *h.bwd.dq);
    for (int64_t q0 = 0; q0 < a->N; q0 += QUERIES)
        pack_queries(&h, q0, smaller(QUERIES, a->N - q0));
    for (int64_t k0 = 0; k0 < a->N; k0 += group)
        attend_group_bwd(&h, &(struct group){ k0, smaller(group, a->N - k0) });
    for (int64_t q = 0; q < a->N; q++)
        a->k->copy(ops_part(h.dq, q * a->ldq), cpu_f32(h.bwd.dq + q * a->HS), a->HS);
}

/* ---- sequences of different lengths ----------------------------------------------------------- */

/* Computes the gradients of the query heads that share key head `index`, one after the other. */
static void attend_heads_bwd(void *ctx, int64_t index, int thread)
{
    const struct attention *a = ctx;
    const int64_t heads = a->NH / a->KV, last = index * heads + heads - 1;
    for (int64_t i = index * heads; i <= last; i++)
        attend_head_bwd(a, i, thread);
    if (heads == 1)
        return;
    struct head h = head_at(a, last, thread);
    for (int64_t key = 0; key < a->N; key++) {
        int64_t from = key * a->HS, to = key * a->ldk;
        a->k->copy(ops_part(h.dkeys, to), cpu_f32(h.bwd.dk_sum + from), a->HS);
        a->k->copy(ops_part(h.dvalues, to), cpu_f32(h.bwd.dv_sum + from), a->HS);
    }
}

/* The attentions of several sequences. */
struct sequences {
    struct attention *each;
    int64_t count; /* number of items in each of them */
    void (*fn)(void *ctx, int64_t index, int thread);
};

static void attend_one(void *ctx, int64_t index, int thread)
{
    const struct sequences *s = ctx;
    s->fn(&s->each[index / s->count], index % s->count, thread);
}

/* Calls fn(a, index, thread) in parallel for `count` items, index = 0 to count - 1, of each of the
 * B attentions. Each thread has scratch memory for one head. */
static void run_each(struct ops *o, struct attention *each, int64_t B, int64_t count,
                     void (*fn)(void *ctx, int64_t index, int thread))
{
    int64_t longest = 0;
    for (int64_t b = 0; b < B; b++)
        longest = larger(longest, lay_out(&(struct head){ .a = &each[b] }, NULL, &each[b]));
    float *work = cpu_work(o, o->threads * longest);
    for (int64_t b = 0; b < B; b++) {
        each[b].work = work;
        each[b].work_floats = longest;
    }
    pool_each(o->pool, B * count, attend_one, &(struct sequences){ each, count, fn });
}

/* Makes all arrays of *a begin `row` rows later. */
static void begin_at(struct attention *a, int64_t row)
{
    struct ops_array *const queries[] = { &a->q, &a->dq }, *const outputs[] = { &a->y, &a->y_in,
                                                                                &a->dy };
    struct ops_array *const keys[] = { &a->keys, &a->values, &a->dkeys, &a->dvalues };
    for (int i = 0; i < 2; i++)
        *queries[i] = ops_part(*queries[i], row * a->ldq);
    for (int i = 0; i < 4; i++)
        *keys[i] = ops_part(*keys[i], row * a->ldk);
    for (int i = 0; i < 3; i++)
        *outputs[i] = ops_part(*outputs[i], row * a->ldy);
    a->lse = a->lse ? a->lse + row * a->NH : NULL;
    a->lse_in = a->lse_in ? a->lse_in + row * a->NH : NULL;
}

/* Calls run_each for the sequences of p, each with its own rows and length. Sequences have dropout
 * masks of their own, but those of a causal model, which have one length, are parts of one mask. */
static void run(struct ops *o, const struct attention *all, const struct ops_attention *p,
                int64_t count, void (*fn)(void *ctx, int64_t index, int thread))
{
    SCOPED_MEM struct attention *each = mem_alloc((size_t)p->rows.B * sizeof *each);
    int64_t first = 0;
    for (int64_t b = 0; b < p->rows.B; b++) {
        struct attention *a = &each[b];
        *a = *all;
        a->N = ops_rows_of(&p->rows, b);
        if (p->causal && !p->rows.lengths)
            a->first_head += b * (p->all_heads ? p->all_heads : p->NH);
        else
            a->mask.key = rng_key(p->drop.key, (uint64_t)b);
        begin_at(a, first);
        first += a->N;
    }
    run_each(o, each, p->rows.B, count, fn);
}

/* ---- the doors ---------------------------------------------------------------------------- */

static struct attention attention_of(const struct ops *o, struct ops_qkv x,
                                     const struct ops_attention *a)
{
    return (struct attention){ .k = o->k,
                               .p = cpu_products(o),
                               .q = x.q,
                               .keys = x.k,
                               .values = x.v,
                               .ldy = a->NH * a->HS,
                               .ldq = x.ldq,
                               .ldk = x.ldk,
                               .N = a->rows.T,
                               .NH = a->NH,
                               .KV = a->KV ? a->KV : a->NH,
                               .HS = a->HS,
                               .first_head = a->first_head,
                               .scale = (float)a->scale,
                               .before = a->window ? a->window - 1 : FAR,
                               .after = a->causal   ? 0
                                        : a->window ? a->window - 1
                                                    : FAR,
                               .mask = ops_mask_of(a->drop) };
}

void cpu_attention_fwd(struct ops *o, struct ops_array y, struct ops_array lse, struct ops_qkv x,
                       const struct ops_attention *a)
{
    struct attention s = attention_of(o, x, a);
    s.y = y;
    s.lse = cpu_floats(lse);
    run(o, &s, a, s.NH, attend_head);
}

void cpu_attention_bwd(struct ops *o, struct ops_qkv dx, const struct ops_gradient *sums,
                       struct ops_array dy, struct ops_qkv x, struct ops_array y,
                       struct ops_array lse, const struct ops_attention *a)
{
    const int64_t N = ops_rows_count(&a->rows);
    struct attention s = attention_of(o, x, a);
    s.dq = dx.q;
    s.dkeys = dx.k;
    s.dvalues = dx.v;
    assert(dy.type == OPS_F32); /* packing scales it, which it cannot do with BF16 */
    s.dy = dy;
    s.y_in = y;
    s.lse_in = cpu_floats(lse);
    assert(dx.ldq == x.ldq && dx.ldk == x.ldk);
    run(o, &s, a, s.KV, attend_heads_bwd);
    if (sums) {
        cpu_column_sums(o, sums[0], dx.q, dx.ldq, N, s.NH * s.HS);
        cpu_column_sums(o, sums[1], dx.k, dx.ldk, N, s.KV * s.HS);
        cpu_column_sums(o, sums[2], dx.v, dx.ldk, N, s.KV * s.HS);
    }
}

/* ---- with a cache ------------------------------------------------------------------------- */

/* The attention of sequences over their caches in one layer. */
struct cached {
    struct attention all; /* q and y of all sequences */
    const struct ops_past *past;
    int64_t layer;
};

/* Returns the attention of sequence b. */
static struct attention sequence_of(const struct cached *c, int64_t b)
{
    struct attention a = c->all;
    const struct ops_past *p = &c->past[b];
    const int64_t width = a.KV * a.HS, first = c->layer * p->room * width;
    a.y = ops_part(a.y, b * a.N * a.ldy);
    a.q = ops_part(a.q, b * a.N * a.ldq);
    a.keys = ops_part(p->keys, first);
    a.values = ops_part(p->values, first);
    a.ldk = width;
    a.past = p->used;
    return a;
}

/* Computes one head of one sequence with few queries, query by query. The scores of a query are dot
 * products with the keys, which are read from the cache without packing. */
static void attend_head_streamed(void *ctx, int64_t index, int thread)
{
    const struct cached *c = ctx;
    const struct attention a = sequence_of(c, index / c->all.NH);
    const int64_t head = index % a.NH, column = head * a.HS, from = head / (a.NH / a.KV) * a.HS;
    float *scores = a.work + thread * a.work_floats, factor = plain_scale(&a);
    const struct ops_array keys = ops_part(a.keys, from), values = ops_part(a.values, from);
    for (int64_t i = 0; i < a.N; i++) {
        const int64_t first = first_key(&a, i), n = a.past + i + 1 - first;
        float *y = cpu_floats(a.y) + i * a.ldy + column;
        const float *q = cpu_floats(a.q) + i * a.ldq + column;
        a.k->stream_rows(scores, n, q, 1, ops_part(keys, first * a.ldk), a.ldk, a.HS, n);
        a.k->scale(scores, factor, n);
        a.k->softmax(scores, n);
        memset(y, 0, (size_t)a.HS * sizeof *y);
        a.k->stream_columns(y, a.ldy, scores, n, 1, ops_part(values, first * a.ldk), a.ldk, n,
                            a.HS);
    }
}

/* Copies the new keys and values of a sequence to its cache. */
static void remember(struct ops *o, const struct cached *c, struct ops_qkv x, int64_t b)
{
    const struct attention a = sequence_of(c, b);
    for (int64_t i = 0; i < a.N; i++) {
        const int64_t to = (a.past + i) * a.ldk, from = (b * a.N + i) * x.ldk;
        o->k->copy(ops_part(a.keys, to), ops_part(x.k, from), a.ldk);
        o->k->copy(ops_part(a.values, to), ops_part(x.v, from), a.ldk);
    }
}

void cpu_attention_cached(struct ops *o, struct ops_array y, const struct ops_past *past,
                          int64_t layer, struct ops_qkv x, const struct ops_attention *a)
{
    struct cached c = { attention_of(o, x, a), past, layer };
    int64_t longest = 0;
    c.all.y = y;
    for (int64_t b = 0; b < a->rows.B; b++) {
        remember(o, &c, x, b);
        longest = longest < past[b].used ? past[b].used : longest;
    }
    if (a->rows.T > FEW_QUERIES || x.q.type != OPS_F32) {
        SCOPED_MEM struct attention *each = mem_alloc((size_t)a->rows.B * sizeof *each);
        for (int64_t b = 0; b < a->rows.B; b++)
            each[b] = sequence_of(&c, b);
        run_each(o, each, a->rows.B, a->NH, attend_head);
        return;
    }
    c.all.work_floats = round_up(longest + a->rows.T, 16);
    c.all.work = cpu_work(o, o->threads * c.all.work_floats);
    pool_each(o->pool, a->rows.B * a->NH, attend_head_streamed, &c);
}
