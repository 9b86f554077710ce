/* attention.cu - attention in f32, for heads of any size up to HS_MOST. A warp computes one
 * query or, in kernels that sum over queries, one key.
 *
 *     for each block of queries of each head of each sequence           attend
 *         for each tile of 32 keys, in shared memory
 *             each lane has a key: s = scale q k; update max and sum
 *             each lane has some of the head's columns: y += p v
 *     y /= sum, lse = max + log(sum)
 *
 * Backward, where p is computed again from lse:
 *
 *     for each block of queries: dots = dy . y,                         attend_bwd_queries
 *         for each tile of keys: dq += ds k
 *     for each block of keys, each head of queries that uses them,
 *         each tile of queries: dv += p dy, dk += ds q                  attend_bwd_keys
 *
 * attention_mma.cu has the same on tensor cores, for bf16.
 */
#include "cuda/attention.h"

enum { WARPS = 8, THREADS = WARPS * WARP, TILE = WARP };
enum { HS_MOST = 256, MINE = HS_MOST / WARP, FEW = 4 };

static float scale_of(const struct ops_attention *a)
{
    return a->scale > 0 ? (float)a->scale : 1 / sqrtf((float)a->HS);
}

EXTERN_C struct attention cuda_attention_of(struct ops *o, struct ops_qkv x,
                                            const struct ops_attention *a)
{
    struct attention s = { 0 };
    s.q = view_rows(x.q, x.ldq);
    s.k = view_rows(x.k, x.ldk);
    s.v = view_rows(x.v, x.ldk);
    s.sequences = (const int64_t *)view_of(cuda_sequences(o, &a->rows)).at;
    s.ldq = x.ldq;
    s.ldk = x.ldk;
    s.ldy = a->NH * a->HS;
    s.B = a->rows.B;
    for (int64_t b = 0; b < s.B; b++)
        s.longest = ops_rows_of(&a->rows, b) > s.longest ? ops_rows_of(&a->rows, b) : s.longest;
    s.NH = a->NH;
    s.KV = a->KV ? a->KV : a->NH;
    s.HS = a->HS;
    s.first_head = a->first_head;
    s.all_heads = a->all_heads ? a->all_heads : a->NH;
    s.scale = scale_of(a);
    s.causal = a->causal;
    s.apart = !a->causal || a->rows.lengths;
    s.mask = ops_mask_of(a->drop);
    return s;
}

/* ---- forward ------------------------------------------------------------------------------ */

/* Loads rows from..from+TILE-1 of a head as floats into shared memory; rows from `end` on are 0.
 * Rows there begin HS + 1 apart, so that 32 lanes reading a column use different memory banks. */
DEVICE void load_tile(float *tile, struct view x, int64_t at, int64_t ld, int HS, int64_t from,
                      int64_t end)
{
    for (int i = threadIdx.x; i < TILE * HS; i += THREADS) {
        const int r = i / HS, c = i % HS;
        tile[r * (HS + 1) + c] = from + r < end ? get(x, at + (from + r) * ld + c) : 0;
    }
}

/* Loads one row of HS numbers for the warp into `row`, in shared memory; `exists` 0: zeros. */
DEVICE void load_row(float *row, struct view x, int64_t at, int HS, int exists)
{
    for (int i = threadIdx.x % WARP; i < HS; i += WARP)
        row[i] = exists ? get(x, at + i) : 0;
}

DEVICE float dot(const float *x, const float *y, int n)
{
    float sum = 0;
    for (int i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

/* Adds to y the sum of the tile's rows, each times a weight: row r times the `weight` of lane r.
 * Each lane has the columns lane, lane + 32, ... of y. */
DEVICE void add_weighted(float *y, float weight, const float *tile, int HS)
{
    const int lane = threadIdx.x % WARP;
    for (int r = 0; r < TILE; r++) {
        const float w = warp_from(weight, r);
        for (int i = 0; i < MINE; i++)
            if (i * WARP + lane < HS)
                y[i] += w * tile[r * (HS + 1) + i * WARP + lane];
    }
}

DEVICE void put_row(struct view to, int64_t at, const float *y, float factor, int HS)
{
    const int lane = threadIdx.x % WARP;
    for (int i = 0; i < MINE; i++)
        if (i * WARP + lane < HS)
            put(to, at + i * WARP + lane, y[i] * factor);
}

/* Returns the bytes of shared memory: two tiles, and up to two rows for each warp. */
static inline size_t shared_bytes(const struct attention *a)
{
    return (size_t)(2 * TILE * (a->HS + 1) + 2 * WARPS * a->HS) * sizeof(float);
}

KERNEL(attend, attention, THREADS)
{
    SHARED(float, keys);
    const int HS = (int)a.HS, lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    float *values = keys + TILE * (HS + 1), *query = values + TILE * (HS + 1) + warp * HS;
    const struct head h = head_of(&a, a.from + blockIdx.y);
    const int64_t first = (int64_t)blockIdx.x * WARPS, q = first + warp;
    if (first >= h.queries)
        return;
    const int64_t visible = visible_to(&a, &h, q);
    const int64_t end = visible_to(&a, &h, least(first + WARPS, h.queries) - 1);
    load_row(query, a.q, h.q + q * a.ldq, HS, q < h.queries);
    float y[MINE] = { 0 }, max = -INFINITY, sum = 0;
    for (int64_t k0 = 0; k0 < end; k0 += TILE) {
        BLOCK_BARRIER(); /* the tile before has been read */
        load_tile(keys, a.k, h.k, a.ldk, HS, k0, end);
        load_tile(values, a.v, h.k, a.ldk, HS, k0, end);
        BLOCK_BARRIER();
        const float s = k0 + lane < visible ? a.scale * dot(query, keys + lane * (HS + 1), HS)
                                            : -INFINITY;
        const float higher = fmaxf(max, warp_max(s));
        if (!(higher > -INFINITY)) /* the condition is the same in the whole warp */
            continue;
        const float shrink = expf(max - higher), p = expf(s - higher);
        sum = sum * shrink + warp_sum(p);
        max = higher;
        for (int i = 0; i < MINE; i++)
            y[i] *= shrink;
        add_weighted(y, p * mask_at(h.mask, mask_index(&h, q, k0 + lane)), values, HS);
    }
    if (q >= h.queries)
        return;
    put_row(a.y, h.y + q * a.ldy, y, 1 / sum, HS);
    if (a.lse && !lane)
        a.lse[h.sums + q] = max + logf(sum);
}

static void run_attend(struct ops *o, struct attention a)
{
    LAUNCH_HEADS(o, attend, div_up(a.longest, WARPS), a.B * a.NH, shared_bytes(&a), a);
}

EXTERN_C void cuda_attention_fwd(struct ops *o, struct ops_array y, struct ops_array lse,
                                 struct ops_qkv x, const struct ops_attention *p)
{
    struct attention a = cuda_attention_of(o, x, p);
    a.y = view_rows(y, a.ldy);
    a.lse = floats(view_of(lse));
    if (o->precision != OPS_BF16 || !cuda_attention_mma(o, &a, 0))
        run_attend(o, a);
}

/* ---- backward ----------------------------------------------------------------------------- */

KERNEL(attend_bwd_queries, attention, THREADS)
{
    SHARED(float, keys);
    const int HS = (int)a.HS, lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    float *values = keys + TILE * (HS + 1), *query = values + TILE * (HS + 1) + warp * HS;
    float *dy = query + WARPS * HS;
    const struct head h = head_of(&a, a.from + blockIdx.y);
    const int64_t first = (int64_t)blockIdx.x * WARPS, q = first + warp;
    if (first >= h.queries)
        return;
    const int64_t visible = visible_to(&a, &h, q);
    const int64_t end = visible_to(&a, &h, least(first + WARPS, h.queries) - 1);
    const float lse = q < h.queries ? a.lse[h.sums + q] : 0;
    float dots = 0;
    load_row(query, a.q, h.q + q * a.ldq, HS, q < h.queries);
    load_row(dy, a.dy, h.y + q * a.ldy, HS, q < h.queries);
    for (int i = lane; i < HS && q < h.queries; i += WARP) /* what this lane has loaded */
        dots += dy[i] * get(a.y, h.y + q * a.ldy + i);
    dots = warp_sum(dots);
    if (!lane && q < h.queries)
        a.dots[h.sums + q] = dots;
    float dq[MINE] = { 0 };
    for (int64_t k0 = 0; k0 < end; k0 += TILE) {
        BLOCK_BARRIER();
        load_tile(keys, a.k, h.k, a.ldk, HS, k0, end);
        load_tile(values, a.v, h.k, a.ldk, HS, k0, end);
        BLOCK_BARRIER();
        float ds = 0;
        if (k0 + lane < visible) {
            const float p = expf(a.scale * dot(query, keys + lane * (HS + 1), HS) - lse);
            const float dp = dot(dy, values + lane * (HS + 1), HS);
            ds = a.scale * p * (mask_at(h.mask, mask_index(&h, q, k0 + lane)) * dp - dots);
        }
        add_weighted(dq, ds, keys, HS);
    }
    if (q < h.queries)
        put_row(a.dq, h.q + q * a.ldq, dq, 1, HS);
}

/* Computes dk and dv, in one warp for each key of a key head. */
KERNEL(attend_bwd_keys, attention, THREADS)
{
    SHARED(float, queries);
    const int HS = (int)a.HS, lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    float *dys = queries + TILE * (HS + 1), *key = dys + TILE * (HS + 1) + warp * HS;
    float *value = key + WARPS * HS;
    const int64_t heads = a.NH / a.KV, number = (a.from + blockIdx.y) * heads; /* query head */
    struct head h = head_of(&a, number);
    const int64_t first = (int64_t)blockIdx.x * WARPS, k = first + warp;
    if (first >= h.keys)
        return;
    load_row(key, a.k, h.k + k * a.ldk, HS, k < h.keys);
    load_row(value, a.v, h.k + k * a.ldk, HS, k < h.keys);
    float dk[MINE] = { 0 }, dv[MINE] = { 0 };
    for (int64_t i = 0; i < heads; i++) {
        h = head_of(&a, number + i);
        for (int64_t q0 = a.causal ? first / TILE * TILE : 0; q0 < h.queries; q0 += TILE) {
            const int64_t q = q0 + lane;
            BLOCK_BARRIER();
            load_tile(queries, a.q, h.q, a.ldq, HS, q0, h.queries);
            load_tile(dys, a.dy, h.y, a.ldy, HS, q0, h.queries);
            BLOCK_BARRIER();
            float kept = 0, ds = 0;
            if (k < visible_to(&a, &h, q)) {
                const float s = a.scale * dot(queries + lane * (HS + 1), key, HS);
                const float p = expf(s - a.lse[h.sums + q]);
                const float keep = mask_at(h.mask, mask_index(&h, q, k));
                const float dp = dot(dys + lane * (HS + 1), value, HS);
                kept = p * keep;
                ds = a.scale * p * (keep * dp - a.dots[h.sums + q]);
            }
            add_weighted(dv, kept, dys, HS);
            add_weighted(dk, ds, queries, HS);
        }
    }
    if (k < h.keys) {
        put_row(a.dk, h.k + k * a.ldk, dk, 1, HS);
        put_row(a.dv, h.k + k * a.ldk, dv, 1, HS);
    }
}

/* Sums the columns of the gradients d.q[rows,C], d.k[rows,K] and d.v[rows,K]: in one call if the
 * gradients are adjacent in memory, and their sums are, too. */
static void sum_columns(struct ops *o, const struct ops_gradient *sums, struct ops_qkv d,
                        int64_t rows, int64_t C, int64_t K)
{
    const int joined = d.ldq == d.ldk && ops_part(d.q, C).address == d.k.address &&
                       ops_part(d.k, K).address == d.v.address &&
                       ops_part(sums[0].to, C).address == sums[1].to.address &&
                       ops_part(sums[1].to, K).address == sums[2].to.address;
    cuda_column_sums(o, sums[0], d.q, d.ldq, rows, joined ? C + 2 * K : C);
    if (joined)
        return;
    cuda_column_sums(o, sums[1], d.k, d.ldk, rows, K);
    cuda_column_sums(o, sums[2], d.v, d.ldk, rows, K);
}

/* Computes the backward on tensor cores. Each block of queries or keys sums the columns of its
 * rows, and these sums are added. some 1: sequences have different lengths, so some blocks have no
 * rows. Returns 0 if the tensor core kernels do not support the head size here, else 1. */
static int run_bwd_mma(struct ops *o, struct attention a, const struct ops_gradient *sums, int some)
{
    const int64_t C = a.NH * a.HS, K = a.KV * a.HS, ld = C + 2 * K;
    const int64_t rows = a.B * div_up(a.longest, MMA_ROWS);
    struct ops_array parts = OPS_NONE;
    if (sums) {
        parts = cuda_room(o, ROOM_WORK, OPS_F32, rows * ld);
        if (some)
            cuda_zero(o, parts, rows * ld);
        a.parts = floats(view_of(parts));
    }
    const struct ops_qkv all = { parts, ops_part(parts, C), ops_part(parts, C + K), ld, ld };
    if (!cuda_attention_mma(o, &a, 1))
        return 0;
    if (sums)
        sum_columns(o, sums, all, rows, C, K);
    return 1;
}

EXTERN_C void cuda_attention_bwd(struct ops *o, struct ops_qkv dx, const struct ops_gradient *sums,
                                 struct ops_array dy, struct ops_qkv x, struct ops_array y,
                                 struct ops_array lse, const struct ops_attention *p)
{
    struct attention a = cuda_attention_of(o, x, p);
    const int64_t rows = ops_rows_count(&p->rows);
    a.y = view_rows(y, a.ldy);
    a.dy = view_rows(dy, a.ldy);
    a.dq = view_rows(dx.q, a.ldq);
    a.dk = view_rows(dx.k, a.ldk);
    a.dv = view_rows(dx.v, a.ldk);
    a.lse = floats(view_of(lse));
    a.dots = floats(view_of(cuda_room(o, ROOM_SUMS, OPS_F32, rows * a.NH)));
    const int64_t blocks = div_up(a.longest, WARPS);
    if (o->precision == OPS_BF16 && run_bwd_mma(o, a, sums, p->rows.lengths != NULL))
        return;
    LAUNCH_HEADS(o, attend_bwd_queries, blocks, a.B * a.NH, shared_bytes(&a), a);
    LAUNCH_HEADS(o, attend_bwd_keys, blocks, a.B * a.KV, shared_bytes(&a), a);
    if (sums)
        sum_columns(o, sums, dx, rows, a.NH * a.HS, a.KV * a.HS);
}

/* ---- with a cache ------------------------------------------------------------------------- */

/* For few queries over many keys. So that the whole device is used, a warp computes 32 keys, a
 * piece, for one query; attend_join then joins the pieces in order. The arguments do not depend on
 * the lengths of the texts, which are in `pasts` (ops_repeat). */
struct cached {
    struct view q, k, v, y;        /* of the new positions; rows begin ldq, ldk or ldy apart */
    const struct cuda_past *pasts; /* [B] */
    int64_t layer, rows, N;        /* N: new positions of each text; rows: those of all */
    int64_t NH, KV, HS, ldq, ldk, ldy;
    int64_t pieces; /* pieces of the longest text that the caches have room for */
    int type;       /* of the keys and values in the cache */
    float scale;
    float *parts; /* results of the pieces: [queries, pieces, HS + 2]: y, maximum and sum */
};

/* Returns the layer's part of `at`, the cached keys or values of a text. */
DEVICE struct view past_view(const struct cached *a, const struct cuda_past *past, char *at)
{
    const int64_t C = a->KV * a->HS;
    struct view v;
    v.at = at + a->layer * past->room * C * (a->type == OPS_BF16 ? 2 : 4);
    v.type = a->type;
    v.wide = (uintptr_t)v.at % 16 == 0 && C % 8 == 0;
    return v;
}

/* Each thread copies eight numbers to the cache: keys if blockIdx.y is 0, else values. */
KERNEL(append_past, cached, THREADS)
{
    const int64_t C = a.KV * a.HS, pieces = (C + 7) / 8;
    const int64_t at = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    const int64_t row = at / pieces, i = at % pieces * 8;
    if (row >= a.rows)
        return;
    const struct cuda_past *past = a.pasts + row / a.N;
    const struct view to = past_view(&a, past, blockIdx.y ? past->values : past->keys);
    put8(to, (past->used + row % a.N) * C + i, C - i,
         get8(blockIdx.y ? a.v : a.k, row * a.ldk + i, C - i));
}

/* One query of one head of a text. query_of numbers all queries in the order [B,NH,N]. */
struct query {
    const struct cuda_past *past;
    int64_t q, k, y; /* first elements; k: in the rows of the cache */
    int64_t visible, pieces;
};

DEVICE struct query query_of(const struct cached *a, int64_t number)
{
    const int64_t n = number % a->N, head = number / a->N % a->NH, b = number / a->N / a->NH;
    struct query q;
    q.past = a->pasts + b;
    q.q = (b * a->N + n) * a->ldq + head * a->HS;
    q.k = head / (a->NH / a->KV) * a->HS;
    q.y = (b * a->N + n) * a->ldy + head * a->HS;
    q.visible = q.past->used + n + 1;
    q.pieces = (q.past->used + a->N + TILE - 1) / TILE;
    return q;
}

/* Computes a piece of a query's attention: the maximum of its scores and, relative to it, the sum
 * of the weights and y. Lane i has columns 8 i to 8 i + 7 of y. `whole`: as in eight_at. */
DEVICE void piece_of(float *y, float *max, float *sum, const struct cached *a,
                     const struct query *q, const float *query, struct view keys,
                     struct view values, int64_t piece, const int whole)
{
    const int HS = (int)a->HS, lane = threadIdx.x % WARP;
    const int64_t ld = a->KV * HS, k = piece * TILE + lane, last = q->visible - 1;
    const int lanes = (HS + 7) / 8, groups = WARP / lanes; /* of a row; of lanes that have a row */
    const int group = lane / lanes, column = lane % lanes * 8;
    float s = 0, mine[8] = { 0 };
    UNROLL_BY(8)
    for (int i = 0; i < HS; i += 8) {
        struct eight x = eight_at(keys, q->k + least(k, last) * ld + i, HS - i, whole);
        for (int j = 0; j < 8 && i + j < HS; j++)
            s += query[i + j] * x.v[j];
    }
    s = k <= last ? s * a->scale : -INFINITY;
    *max = warp_max(s);
    const float p = *max > -INFINITY ? expf(s - *max) : 0;
    *sum = warp_sum(p);
    UNROLL_BY(8)
    for (int r = 0; r < TILE; r += groups) { /* keys after the last one have weight 0 */
        const int row = r + group;
        const float weight = warp_from(p, row % WARP) * (group < groups && row < TILE);
        const int64_t at = q->k + least(piece * TILE + row, last) * ld + column;
        struct eight v = eight_at(values, at, HS - column, whole);
        for (int j = 0; j < 8; j++)
            mine[j] += weight * v.v[j];
    }
    for (int j = 0; j < 8; j++) {
        y[j] = mine[j];
        for (int g = 1; g < groups; g++)
            y[j] += warp_from(mine[j], (lane + g * lanes) % WARP);
    }
}

/* Computes the pieces of query number blockIdx.x, one in each warp. Blocks of pieces beyond the
 * text do nothing. */
KERNEL(attend_piece, cached, THREADS)
{
    SHARED(float, query);
    const int HS = (int)a.HS, lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    const struct query q = query_of(&a, blockIdx.x);
    const int64_t piece = (int64_t)blockIdx.y * WARPS + warp;
    if (piece - warp >= q.pieces)
        return;
    for (int i = threadIdx.x; i < HS; i += THREADS)
        query[i] = get(a.q, q.q + i);
    BLOCK_BARRIER();
    if (piece >= q.pieces)
        return;
    const struct view keys = past_view(&a, q.past, q.past->keys);
    const struct view values = past_view(&a, q.past, q.past->values);
    float y[8], max, sum;
    if (keys.wide && values.wide && HS % 8 == 0)
        piece_of(y, &max, &sum, &a, &q, query, keys, values, piece, 1);
    else
        piece_of(y, &max, &sum, &a, &q, query, keys, values, piece, 0);
    float *part = a.parts + (blockIdx.x * a.pieces + piece) * (HS + 2);
    for (int j = 0; j < 8; j++)
        if (8 * lane + j < HS)
            part[8 * lane + j] = y[j];
    if (!lane) {
        part[HS] = max;
        part[HS + 1] = sum;
    }
}

/* Each block is one warp and joins the pieces of one query. */
KERNEL(attend_join, cached, THREADS)
{
    const int HS = (int)a.HS, lane = threadIdx.x;
    const struct query q = query_of(&a, blockIdx.x);
    const float *parts = a.parts + blockIdx.x * a.pieces * (HS + 2);
    float max = -INFINITY, sum = 0, y[MINE] = { 0 };
    for (int64_t p = 0; p < q.pieces; p++)
        max = fmaxf(max, parts[p * (HS + 2) + HS]);
    for (int64_t p = 0; p < q.pieces; p++) {
        const float *part = parts + p * (HS + 2), factor = expf(part[HS] - max);
        sum += factor * part[HS + 1];
        for (int i = 0; i < MINE; i++)
            if (i * WARP + lane < HS)
                y[i] += factor * part[i * WARP + lane];
    }
    put_row(a.y, q.y, y, 1 / sum, HS);
}

static void run_pieces(struct ops *o, struct ops_array y, const struct ops_past *past,
                       int64_t layer, struct ops_qkv x, const struct ops_attention *p)
{
    struct cached a;
    const int64_t B = p->rows.B;
    a.q = view_rows(x.q, x.ldq);
    a.k = view_rows(x.k, x.ldk);
    a.v = view_rows(x.v, x.ldk);
    a.ldq = x.ldq;
    a.ldk = x.ldk;
    a.ldy = p->NH * p->HS;
    a.y = view_rows(y, a.ldy);
    a.pasts = (const struct cuda_past *)view_of(cuda_pasts(o, past, B)).at;
    a.layer = layer;
    a.N = p->rows.T;
    a.rows = B * a.N;
    a.NH = p->NH;
    a.KV = p->KV ? p->KV : p->NH;
    a.HS = p->HS;
    a.pieces = div_up(ops_most_room(past, B), TILE);
    a.type = past->keys.type;
    a.scale = scale_of(p);
    const int64_t queries = a.rows * a.NH, copies = a.rows * div_up(a.KV * a.HS, 8);
    a.parts = floats(view_of(cuda_room(o, ROOM_SUMS, OPS_F32, queries * a.pieces * (a.HS + 2))));
    LAUNCH(o, append_past, div_up(copies, THREADS), 2, THREADS, 0, a);
    LAUNCH(o, attend_piece, queries, div_up(a.pieces, WARPS), THREADS, a.HS * sizeof(float), a);
    LAUNCH(o, attend_join, queries, 1, WARP, 0, a);
}

/* Computes the attention of one sequence, whose cache of the layer begins at keys and values. */
static void attend_past(struct ops *o, struct ops_array y, struct ops_array keys,
                        struct ops_array values, int64_t past, struct ops_qkv x,
                        const struct ops_attention *p)
{
    struct attention a = cuda_attention_of(o, x, p);
    const int64_t C = a.KV * a.HS, N = p->rows.T;
    const struct ops_matrix new_keys = { x.k, x.ldk, 0 }, new_values = { x.v, x.ldk, 0 };
    cuda_copy_rows(o, ops_part(keys, past * C), new_keys, N, C);
    cuda_copy_rows(o, ops_part(values, past * C), new_values, N, C);
    a.k = view_rows(keys, C);
    a.v = view_rows(values, C);
    a.ldk = C;
    a.past = past;
    a.causal = 1;
    a.y = view_rows(y, a.ldy);
    run_attend(o, a);
}

EXTERN_C void cuda_attention_cached(struct ops *o, struct ops_array y, const struct ops_past *past,
                                    int64_t layer, struct ops_qkv x, const struct ops_attention *p)
{
    const int64_t C = p->NH * p->HS, K = (p->KV ? p->KV : p->NH) * p->HS, N = p->rows.T;
    struct ops_attention one = *p;
    if (N <= FEW) {
        run_pieces(o, y, past, layer, x, p);
        return;
    }
    one.rows.B = 1;
    for (int64_t b = 0; b < p->rows.B; b++) {
        const int64_t first = layer * past[b].room * K, row = b * N;
        const struct ops_qkv part = { ops_part(x.q, row * x.ldq), ops_part(x.k, row * x.ldk),
                                      ops_part(x.v, row * x.ldk), x.ldq, x.ldk };
        attend_past(o, ops_part(y, row * C), ops_part(past[b].keys, first),
                    ops_part(past[b].values, first), past[b].used, part, &one);
    }
}

EXTERN_C char *cuda_address(struct ops_array a)
{
    return view_of(a).at;
}
