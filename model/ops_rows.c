#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "common/trace.h"
#include "model/context.h"

/* Sequences without their padding, and the small heads on some of their rows. */
enum { COLUMN_GRAIN = 64 }; /* columns of a sum over rows: a multiple of a cache line */

int64_t ops_rows_of(const struct ops_rows *rows, int64_t b)
{
    return rows->lengths ? rows->lengths[b] : rows->T;
}

int64_t ops_rows_count(const struct ops_rows *rows)
{
    int64_t count = 0;
    for (int64_t b = 0; b < rows->B; b++)
        count += ops_rows_of(rows, b);
    return count;
}

void ops_rows_index(int64_t *index, const struct ops_rows *rows)
{
    for (int64_t b = 0; b < rows->B; b++)
        for (int64_t t = 0; t < ops_rows_of(rows, b); t++)
            *index++ = b * rows->T + t;
}

/* ---- embedding ---------------------------------------------------------------------------- */

struct embedding {
    const struct kernels *k;
    const uint32_t *ids, *segments;
    int64_t *index; /* [N] */
    int64_t N, T, C;
    float *x;
    const float *table, *positions, *types;
    const float *dx;
    float *dtable, *dpositions, *dtypes;
};

static uint32_t segment_at(const struct embedding *e, int64_t token)
{
    return e->segments ? e->segments[token] : 0;
}

static void embed_rows(void *ctx, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const struct embedding *e = ctx;
    for (int64_t n = begin; n < end; n++) {
        int64_t token = e->index[n];
        float *x = e->x + n * e->C;
        e->k->sum(x, e->table + (int64_t)e->ids[token] * e->C, e->positions + token % e->T * e->C,
                  e->C);
        e->k->add(x, e->types + (int64_t)segment_at(e, token) * e->C, e->C);
    }
}

/* A thread has columns of its own, so that rows of equal ids do not meet and are added in order. */
static void embed_columns_bwd(void *ctx, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const struct embedding *e = ctx;
    for (int64_t n = 0; n < e->N; n++) {
        int64_t token = e->index[n], columns = end - begin;
        const float *dx = e->dx + n * e->C + begin;
        e->k->add(e->dtable + (int64_t)e->ids[token] * e->C + begin, dx, columns);
        e->k->add(e->dpositions + token % e->T * e->C + begin, dx, columns);
        e->k->add(e->dtypes + (int64_t)segment_at(e, token) * e->C + begin, dx, columns);
    }
}

static void index_rows(struct embedding *e, const struct ops_rows *rows)
{
    e->N = ops_rows_count(rows);
    e->T = rows->T;
    e->index = mem_alloc((size_t)e->N * sizeof *e->index);
    ops_rows_index(e->index, rows);
}

void ops_embed_rows_fwd(struct ops *o, float *x, const uint32_t *ids, const uint32_t *segments,
                        const float *table, const float *positions, const float *types,
                        const struct ops_rows *rows, int64_t C)
{
    TRACE_KERNEL(0, 16.0 * rows->B * rows->T * C);
    struct embedding e = { .k = o->k,
                           .ids = ids,
                           .segments = segments,
                           .C = C,
                           .x = x,
                           .table = table,
                           .positions = positions,
                           .types = types };
    index_rows(&e, rows);
    pool_for(o->pool, e.N, ops_row_grain(C), embed_rows, &e);
    free(e.index);
}

void ops_embed_rows_bwd(struct ops *o, float *dtable, float *dpositions, float *dtypes,
                        const float *dx, const uint32_t *ids, const uint32_t *segments,
                        const struct ops_rows *rows, int64_t C)
{
    TRACE_KERNEL(0, 16.0 * rows->B * rows->T * C);
    struct embedding e = { .k = o->k,
                           .ids = ids,
                           .segments = segments,
                           .C = C,
                           .dx = dx,
                           .dtable = dtable,
                           .dpositions = dpositions,
                           .dtypes = dtypes };
    index_rows(&e, rows);
    pool_for(o->pool, C, COLUMN_GRAIN, embed_columns_bwd, &e);
    free(e.index);
}

/* ---- some of the rows --------------------------------------------------------------------- */

struct some {
    const struct kernels *k;
    float *y;
    const float *x;
    const int64_t *index;
    int64_t C;
};

static void gather_rows(void *ctx, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const struct some *s = ctx;
    for (int64_t i = begin; i < end; i++)
        memcpy(s->y + i * s->C, s->x + s->index[i] * s->C, (size_t)s->C * sizeof *s->y);
}

void ops_gather_rows(struct ops *o, float *y, const float *x, const int64_t *index, int64_t n,
                     int64_t C)
{
    TRACE_KERNEL(0, 8.0 * n * C);
    pool_for(o->pool, n, ops_row_grain(C), gather_rows, &(struct some){ o->k, y, x, index, C });
}

static void scatter_rows(void *ctx, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const struct some *s = ctx;
    for (int64_t i = begin; i < end; i++)
        s->k->add(s->y + s->index[i] * s->C, s->x + i * s->C, s->C);
}

void ops_scatter_rows(struct ops *o, float *y, const float *x, const int64_t *index, int64_t n,
                      int64_t C)
{
    TRACE_KERNEL(0, 12.0 * n * C);
    pool_for(o->pool, n, ops_row_grain(C), scatter_rows, &(struct some){ o->k, y, x, index, C });
}

/* ---- small heads: not worth a thread ------------------------------------------------------ */

void ops_tanh_fwd(struct ops *o, float *x, int64_t n)
{
    (void)o;
    for (int64_t i = 0; i < n; i++)
        x[i] = tanhf(x[i]);
}

void ops_tanh_bwd(struct ops *o, float *d, const float *y, int64_t n)
{
    (void)o;
    for (int64_t i = 0; i < n; i++)
        d[i] *= 1 - y[i] * y[i];
}

double ops_cross_entropy(struct ops *o, float *losses, unsigned char *correct, float *logits,
                         const int32_t *labels, int gradient, double scale, int64_t N, int64_t V)
{
    double sum = 0;
    for (int64_t n = 0; n < N; n++) {
        double loss = 0;
        if (labels[n] >= 0) {
            loss = o->k->cross_entropy(logits + n * V, correct ? correct + n : NULL, V, labels[n],
                                       gradient, (float)scale, 0);
        } else {
            if (gradient)
                memset(logits + n * V, 0, (size_t)V * sizeof *logits);
            if (correct)
                correct[n] = 0;
        }
        if (losses)
            losses[n] = (float)loss;
        sum += loss;
    }
    return sum;
}
