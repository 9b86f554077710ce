#include "model/ops.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "common/trace.h"
#include "model/context.h"

enum {
    GRAIN = 8192,      /* floats of an element-wise loop that are worth a thread */
    COLUMN_GRAIN = 64, /* columns of a sum over rows: a multiple of a cache line */
    NORM_BLOCK = 32,   /* rows of a layer norm whose gradients of gains are summed at once */
    STATE_PIECE =
        512, /* elements of state that are floats at a time where bf16 is kept: of 4 each */
    SUM_BLOCK = 1 << 16, /* floats of sum_squares that are summed at once */
};

/* ---- the context ------------------------------------------------------------------------- */

struct ops *ops_new(int threads)
{
    struct ops *o = mem_zalloc(1, sizeof *o);
    o->threads = threads < 1 ? 1 : threads;
    o->pool = pool_new(o->threads);
    o->k = kernels_choose();
    return o;
}

void ops_free(struct ops *o)
{
    if (!o)
        return;
    ops_buffer_free(o, o->scratch.data, o->scratch.floats);
    ops_buffer_free(o, o->work.data, o->work.floats);
    ops_buffer_free(o, o->panels.data, o->panels.floats);
    pool_free(o->pool);
    free(o);
}

void ops_set_precision(struct ops *o, enum ops_precision precision)
{
    o->precision = precision;
}

int ops_threads(const struct ops *o)
{
    return o->threads;
}

const char *ops_describe(const struct ops *o)
{
    return o->k->name;
}

const char *ops_kernels(void)
{
    return kernels_choose()->name;
}

/* ---- buffers ----------------------------------------------------------------------------- */

/* The first touch of a page costs more than anything that is later done with it: the threads
 * share that. */
float *ops_buffer(struct ops *o, int64_t floats)
{
    assert(floats >= 0);
    float *p = mem_huge((size_t)floats,
                        sizeof *p); /* the large matrices are read in long strides */
    ops_zero(o, p, floats);
    return p;
}

void ops_buffer_free(struct ops *o, float *buffer, int64_t floats)
{
    (void)o;
    (void)floats;
    free(buffer);
}

static float *arena_at_least(struct ops *o, struct arena *a, int64_t floats)
{
    if (a->floats < floats) {
        ops_buffer_free(o, a->data, a->floats);
        a->data = ops_buffer(o, floats);
        a->floats = floats;
    }
    return a->data;
}

float *ops_scratch(struct ops *o, int64_t floats)
{
    return arena_at_least(o, &o->scratch, floats);
}

float *ops_work(struct ops *o, int64_t floats)
{
    return arena_at_least(o, &o->work, floats);
}

float *ops_panels(struct ops *o, int64_t floats)
{
    return arena_at_least(o, &o->panels, floats);
}

int64_t ops_row_grain(int64_t C)
{
    return C >= GRAIN ? 1 : GRAIN / C;
}

/* ---- element by element ------------------------------------------------------------------ */

/* The arguments of a loop over elements. */
struct map {
    const struct kernels *k;
    float *y, *x;
    const float *in;
    struct kernel_mask mask;
};

static void zero_part(void *ctx, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    struct map *m = ctx;
    memset(m->y + begin, 0, (size_t)(end - begin) * sizeof *m->y);
}

void ops_zero(struct ops *o, float *x, int64_t n)
{
    TRACE_KERNEL(0, 4.0 * n);
    pool_for(o->pool, n, GRAIN, zero_part, &(struct map){ .y = x });
}

static void add_part(void *ctx, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    struct map *m = ctx;
    m->k->add(m->y + begin, m->in + begin, end - begin);
}

void ops_add(struct ops *o, float *y, const float *x, int64_t n)
{
    TRACE_KERNEL(n, 12.0 * n);
    pool_for(o->pool, n, GRAIN, add_part, &(struct map){ .k = o->k, .y = y, .in = x });
}

static void copy_part(void *ctx, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    struct map *m = ctx;
    memcpy(m->y + begin, m->in + begin, (size_t)(end - begin) * sizeof *m->y);
}

void ops_copy(struct ops *o, float *y, const float *x, int64_t n)
{
    TRACE_KERNEL(0, 8.0 * n);
    if (y != x)
        pool_for(o->pool, n, GRAIN, copy_part, &(struct map){ .y = y, .in = x });
}

/* GELU of rows, since factors lie row by row. */
struct gelu {
    void (*fwd)(float *y, const float *x, int64_t n, int half); /* or */
    void (*bwd)(float *d, float *x, int64_t n, int half);
    float *y, *x; /* y: d in the backward */
    const float *in;
    int64_t C;
    int half;
};

static void gelu_rows(void *ctx, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const struct gelu *g = ctx;
    for (int64_t at = begin * g->C; at < end * g->C; at += g->C)
        if (g->fwd)
            g->fwd(g->y + at, g->in + at, g->C, g->half);
        else
            g->bwd(g->y + at, g->x + at, g->C, g->half);
}

void ops_gelu_fwd(struct ops *o, enum ops_form form, float *y, const float *x, int64_t N, int64_t C)
{
    TRACE_KERNEL(0, 8.0 * N * C);
    struct gelu g = { o->k->gelu_fwd, NULL, y, NULL, x, C, ops_half(o, form) };
    pool_for(o->pool, N, ops_row_grain(C), gelu_rows, &g);
}

void ops_gelu_bwd(struct ops *o, float *d, float *x, int64_t N, int64_t C)
{
    TRACE_KERNEL(0, 16.0 * N * C);
    struct gelu g = { NULL, o->k->gelu_bwd, d, x, NULL, C, ops_half(o, OPS_FACTORS) };
    pool_for(o->pool, N, ops_row_grain(C), gelu_rows, &g);
}

void ops_gelu_erf_fwd(struct ops *o, enum ops_form form, float *y, const float *x, int64_t N,
                      int64_t C)
{
    TRACE_KERNEL(0, 8.0 * N * C);
    struct gelu g = { o->k->gelu_erf_fwd, NULL, y, NULL, x, C, ops_half(o, form) };
    pool_for(o->pool, N, ops_row_grain(C), gelu_rows, &g);
}

void ops_gelu_erf_bwd(struct ops *o, float *d, float *x, int64_t N, int64_t C)
{
    TRACE_KERNEL(0, 16.0 * N * C);
    struct gelu g = { NULL, o->k->gelu_erf_bwd, d, x, NULL, C, ops_half(o, OPS_FACTORS) };
    pool_for(o->pool, N, ops_row_grain(C), gelu_rows, &g);
}

/* ---- dropout ----------------------------------------------------------------------------- */

struct kernel_mask ops_mask(struct ops_dropout drop)
{
    assert(drop.rate >= 0 && drop.rate < 1);
    uint32_t threshold = (uint32_t)(drop.rate * 0x1p32);
    float scale = threshold ? (float)(1 / (1 - drop.rate)) : 1;
    return (struct kernel_mask){ drop.key, threshold, scale };
}

static void dropout_part(void *ctx, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    struct map *m = ctx;
    m->k->dropout(m->y + begin, NULL, m->in + begin, end - begin, &m->mask, (uint64_t)begin);
}

void ops_dropout_bwd(struct ops *o, float *dx, const float *dy, int64_t n, struct ops_dropout drop)
{
    TRACE_KERNEL(0, drop.rate > 0 ? 8.0 * n : 0);
    struct map m = { .k = o->k, .y = dx, .in = dy, .mask = ops_mask(drop) };
    if (m.mask.threshold)
        pool_for(o->pool, n, GRAIN, dropout_part, &m);
    else
        ops_copy(o, dx, dy, n);
}

/* ---- layer norm -------------------------------------------------------------------------- */

struct layernorm {
    const struct kernels *k;
    float *y, *mean, *rstd;         /* forward */
    float *dx, *dgain, *dbias;      /* backward */
    const float *base, *dy, *m, *r; /* m, r: mean and rstd, read */
    float *sums;                    /* of blocks of rows, by column */
    const float *x, *gain, *bias;
    int64_t N, C, blocks;
    double epsilon;
    int half; /* y */
};

static void layernorm_fwd_rows(void *ctx, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    struct layernorm *l = ctx;
    float mean, rstd;
    for (int64_t n = begin; n < end; n++) {
        l->k->layernorm_fwd(l->y + n * l->C, &mean, &rstd, l->x + n * l->C, l->gain, l->bias, l->C,
                            l->epsilon, l->half);
        if (l->mean)
            l->mean[n] = mean;
        if (l->rstd)
            l->rstd[n] = rstd;
    }
}

void ops_layernorm_fwd(struct ops *o, enum ops_form form, float *y, float *mean, float *rstd,
                       const float *x, const float *gain, const float *bias, int64_t N, int64_t C,
                       double epsilon)
{
    TRACE_KERNEL(0, 8.0 * N * C);
    struct layernorm l = { .k = o->k,
                           .y = y,
                           .mean = mean,
                           .rstd = rstd,
                           .x = x,
                           .gain = gain,
                           .bias = bias,
                           .N = N,
                           .C = C,
                           .epsilon = epsilon,
                           .half = ops_half(o, form) };
    pool_for(o->pool, N, ops_row_grain(C), layernorm_fwd_rows, &l);
}

/* Gradients of gain and bias are summed by blocks of rows, whatever the number of threads, each
 * into sums[block,2C], and these in order. */
static void layernorm_bwd_blocks(void *ctx, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    struct layernorm *l = ctx;
    const int64_t C = l->C;
    memset(l->sums + 2 * C * begin, 0, (size_t)(2 * C * (end - begin)) * sizeof *l->sums);
    for (int64_t n = begin * NORM_BLOCK; n < end * NORM_BLOCK && n < l->N; n++) {
        float *sums = l->sums + n / NORM_BLOCK * 2 * C;
        l->k->layernorm_bwd(l->dx + n * C, sums, sums + C, l->base ? l->base + n * C : NULL,
                            l->dy + n * C, l->x + n * C, l->gain, l->m[n], l->r[n], C);
    }
}

static void layernorm_sum_columns(void *ctx, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    struct layernorm *l = ctx;
    const float *sums = l->sums + begin;
    l->k->column_sums(l->dgain + begin, sums, 2 * l->C, l->blocks, end - begin, 0);
    l->k->column_sums(l->dbias + begin, sums + l->C, 2 * l->C, l->blocks, end - begin, 0);
}

void ops_layernorm_bwd(struct ops *o, float *dx, float *dgain, float *dbias, const float *base,
                       const float *dy, const float *x, const float *gain, const float *mean,
                       const float *rstd, int64_t N, int64_t C)
{
    TRACE_KERNEL(0, 16.0 * N * C);
    struct layernorm l = { .k = o->k,
                           .dx = dx,
                           .dgain = dgain,
                           .dbias = dbias,
                           .base = base,
                           .dy = dy,
                           .x = x,
                           .gain = gain,
                           .m = mean,
                           .r = rstd,
                           .N = N,
                           .C = C };
    l.blocks = (N + NORM_BLOCK - 1) / NORM_BLOCK;
    l.sums = ops_work(o, l.blocks * 2 * C);
    pool_for(o->pool, l.blocks, 1, layernorm_bwd_blocks, &l);
    pool_for(o->pool, C, COLUMN_GRAIN, layernorm_sum_columns, &l);
}

/* ---- embedding --------------------------------------------------------------------------- */

struct embedding {
    const struct kernels *k;
    float *x, *dtable, *dpositions;
    const float *table, *positions, *dx;
    const uint32_t *ids;
    int64_t T, C, N;
    struct kernel_mask mask;
};

static void embedding_fwd_rows(void *ctx, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    struct embedding *e = ctx;
    for (int64_t n = begin; n < end; n++)
        e->k->sum(e->x + n * e->C, e->table + (int64_t)e->ids[n] * e->C,
                  e->positions + n % e->T * e->C, e->C);
}

void ops_embedding_fwd(struct ops *o, float *x, const uint32_t *ids, const float *table,
                       const float *positions, int64_t B, int64_t T, int64_t C,
                       struct ops_dropout drop)
{
    TRACE_KERNEL(0, 12.0 * B * T * C);
    struct embedding e = {
        .k = o->k, .x = x, .ids = ids, .table = table, .positions = positions, .T = T, .C = C
    };
    pool_for(o->pool, B * T, ops_row_grain(C), embedding_fwd_rows, &e);
    ops_dropout_bwd(o, x, x, B * T * C, drop); /* a mask multiplies x and dx alike */
}

/* A thread has columns of its own, so that rows of equal ids do not meet and
 * are added in order. */
static void embedding_bwd_columns(void *ctx, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    struct embedding *e = ctx;
    for (int64_t n = 0; n < e->N; n++) {
        const float *dx = e->dx + n * e->C + begin;
        e->k->add(e->dtable + (int64_t)e->ids[n] * e->C + begin, dx, end - begin);
        e->k->add(e->dpositions + n % e->T * e->C + begin, dx, end - begin);
    }
}

void ops_embedding_bwd(struct ops *o, float *dtable, float *dpositions, float *dx,
                       const uint32_t *ids, int64_t B, int64_t T, int64_t C,
                       struct ops_dropout drop)
{
    TRACE_KERNEL(0, 12.0 * B * T * C);
    struct embedding e = { .k = o->k,
                           .dtable = dtable,
                           .dpositions = dpositions,
                           .dx = dx,
                           .ids = ids,
                           .T = T,
                           .C = C,
                           .N = B * T };
    ops_dropout_bwd(o, dx, dx, B * T * C, drop);
    pool_for(o->pool, C, COLUMN_GRAIN, embedding_bwd_columns, &e);
}

/* ---- the optimizer's part ---------------------------------------------------------------- */

struct squares {
    const struct kernels *k;
    const float *x;
    double *blocks;
    int64_t n;
};

static void squares_part(void *ctx, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    struct squares *s = ctx;
    for (int64_t b = begin; b < end; b++) {
        int64_t first = b * SUM_BLOCK, rest = s->n - first;
        s->blocks[b] = s->k->sum_squares(s->x + first, rest < SUM_BLOCK ? rest : SUM_BLOCK);
    }
}

/* Blocks of one size, whatever the number of threads: the sum has one order. */
double ops_sum_squares(struct ops *o, const float *x, int64_t n)
{
    TRACE_KERNEL(2.0 * n, 4.0 * n);
    int64_t blocks = (n + SUM_BLOCK - 1) / SUM_BLOCK;
    struct squares s = { .k = o->k, .x = x, .n = n };
    s.blocks = (double *)(void *)ops_work(o, 2 * blocks);
    pool_for(o->pool, blocks, 1, squares_part, &s);
    double total = 0;
    for (int64_t b = 0; b < blocks; b++)
        total += s.blocks[b];
    return total;
}

struct adamw {
    const struct kernels *k;
    const struct ops_state *state;
    const float *gradient;
    const struct ops_adamw *h;
};

/* n <= STATE_PIECE elements from `first` on. */
static void adamw_piece(const struct adamw *a, int64_t first, int64_t n)
{
    float floats[OPS_STATES][STATE_PIECE], *at[OPS_STATES];
    for (int i = 0; i < OPS_STATES; i++) {
        const struct ops_state *s = &a->state[i];
        at[i] = s->half ? floats[i] : (float *)s->at + first;
        if (s->half)
            a->k->from_bf16(at[i], (const uint16_t *)s->at + first, n);
    }
    a->k->adamw(at[OPS_W], at[OPS_M], at[OPS_V], a->gradient + first, n, a->h);
    for (int i = 0; i < OPS_STATES; i++) {
        const struct ops_state *s = &a->state[i];
        if (s->half)
            a->k->round_bf16((uint16_t *)s->at + first, at[i], n, s->key, (uint64_t)first);
    }
}

static void adamw_part(void *ctx, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    for (int64_t i = begin; i < end; i += STATE_PIECE)
        adamw_piece(ctx, i, end - i < STATE_PIECE ? end - i : STATE_PIECE);
}

void ops_adamw_state(struct ops *o, const struct ops_state state[OPS_STATES], const float *gradient,
                     int64_t n, const struct ops_adamw *h)
{
    int halves = 0;
    for (int i = 0; i < OPS_STATES; i++)
        halves += state[i].half;
    TRACE_KERNEL(0, (28.0 - 4 * halves) * n);
    pool_for(o->pool, n, GRAIN, adamw_part, &(struct adamw){ o->k, state, gradient, h });
}

void ops_adamw(struct ops *o, float *w, float *m, float *v, const float *gradient, int64_t n,
               const struct ops_adamw *h)
{
    const struct ops_state state[OPS_STATES] = { { .at = w }, { .at = m }, { .at = v } };
    ops_adamw_state(o, state, gradient, n, h);
}
