/*
 * cpu_loss.c - losses of the CPU back end: those of a decoder, which computes logits for a chunk of
 * rows at a time, and those of small heads.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "model/compute/cpu.h"

/* CHUNK: rows whose logits are in memory at one time. With more rows, the output matrix is read and
 * its gradient is written less often. */
enum {
    CHUNK = 1024,
    COLUMN_GRAIN = 64, /* columns of the bias's gradient */
};

struct loss {
    const struct kernels *k;
    struct ops_scores out;
    const struct ops_labels *l;
    const struct ops_decoder *d;
    struct ops_array x, dx; /* all rows; dx may be OPS_NONE */
    struct ops_gradient dtable, dbias;
    float scale;

    /* the current chunk: `rows` labels from `first` on */
    int64_t first, rows, ld;
    float *logits;
    struct ops_array dlogits, x_rows; /* operands of products: the gradients, in the logits' memory,
                                       * and the rows of x */
    float *dx_rows;
};

/* Returns the row of x for label i of the chunk. */
static int64_t row_of(const struct loss *l, int64_t i)
{
    const int64_t *rows = (const int64_t *)(void *)l->l->rows.address;
    return rows ? rows[l->first + i] : l->first + i;
}

static struct ops_array row(struct ops_array a, int64_t i, int64_t width)
{
    return ops_part(a, i * width);
}

static void gather_rows(void *ctx, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const struct loss *l = ctx;
    const int64_t C = l->d->C;
    for (int64_t r = begin; r < end; r++)
        l->k->copy(row(l->x_rows, r, C), row(l->x, row_of(l, r), C), C);
}

static void scatter_rows(void *ctx, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const struct loss *l = ctx;
    const int64_t C = l->d->C;
    for (int64_t r = begin; r < end; r++)
        l->k->copy(row(l->dx, row_of(l, r), C), row(cpu_f32(l->dx_rows), r, C), C);
}

static void cross_entropy_rows(void *ctx, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const struct loss *l = ctx;
    const int32_t *labels = (const int32_t *)(void *)l->l->labels.address;
    unsigned char *correct = (unsigned char *)l->out.correct.address;
    for (int64_t r = begin; r < end; r++) {
        int64_t i = l->first + r;
        float *logits = l->logits + r * l->ld;
        struct ops_array d = cpu_f32(logits);
        d.type = l->dlogits.type;
        if (!ops_is_none(l->d->bias))
            l->k->add(cpu_f32(logits), l->d->bias, l->d->V);
        cpu_floats(l->out.losses)[i] = (float)l->k->cross_entropy(
            logits, correct ? correct + i : NULL, l->d->V, labels[i],
            ops_is_none(l->dx) ? OPS_NONE : d, l->scale);
    }
}

/* Returns the distance of rows of the logits' gradients, in elements. */
static int64_t gradient_ld(const struct loss *l)
{
    return l->ld * (int64_t)(sizeof(float) / ops_type_bytes(l->dlogits.type));
}

static void bias_columns(void *ctx, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const struct loss *l = ctx;
    l->k->column_sums(cpu_floats(l->dbias.to) + begin, ops_part(l->dlogits, begin), gradient_ld(l),
                      l->rows, end - begin);
}

static void chunk_bwd(struct ops *o, struct loss *l)
{
    const int64_t V = l->d->V, C = l->d->C;
    struct ops_matrix d = { l->dlogits, gradient_ld(l), 0 }, turned = d;
    turned.transposed = 1;
    ops_matmul(o, &(struct ops_matmul){ .C = { cpu_f32(l->dx_rows), C },
                                        .A = d,
                                        .B = { l->d->table, C },
                                        .M = l->rows,
                                        .N = C,
                                        .K = V });
    ops_matmul(o, &(struct ops_matmul){ .C = { l->dtable.to, C },
                                        .A = turned,
                                        .B = { l->x_rows, C },
                                        .M = V,
                                        .N = C,
                                        .K = l->rows,
                                        .base = l->dtable.add ? l->dtable.to : OPS_NONE });
    l->dtable.add = 1;
    if (!ops_is_none(l->dbias.to))
        pool_for(o->pool, V, COLUMN_GRAIN, bias_columns, l);
    pool_for(o->pool, l->rows, cpu_row_grain(C), scatter_rows, l);
}

static void run_chunks(struct ops *o, struct loss *l)
{
    const int64_t V = l->d->V, C = l->d->C, count = l->l->n, chunks = (count + CHUNK - 1) / CHUNK;
    int64_t rows = chunks ? (count + chunks - 1) / chunks : 0; /* of equal size */
    l->ld = (V + 15) / 16 * 16;
    l->logits = cpu_work(o, rows * (l->ld + 2 * C));
    l->dx_rows = l->logits + rows * l->ld;
    l->dlogits = cpu_f32(l->logits);
    l->x_rows = cpu_f32(l->dx_rows + rows * C);
    l->dlogits.type = l->x_rows.type = ops_operand(o);
    for (l->first = 0; l->first < count; l->first += rows) {
        l->rows = count - l->first < rows ? count - l->first : rows;
        pool_for(o->pool, l->rows, cpu_row_grain(C), gather_rows, l);
        const struct ops_linear decoder = { l->d->table, OPS_NONE, l->rows, C, V, 1 };
        if (ops_is_none(l->dx))
            cpu_multiply_turned(o, cpu_f32(l->logits), l->ld, l->x_rows, &decoder);
        else
            cpu_multiply_in_order(o, cpu_f32(l->logits), l->ld, l->x_rows, &decoder);
        pool_for(o->pool, l->rows, 1, cross_entropy_rows, l);
        if (!ops_is_none(l->dx))
            chunk_bwd(o, l);
    }
}

void cpu_loss_fwd(struct ops *o, struct ops_scores out, struct ops_array x,
                  const struct ops_labels *l, const struct ops_decoder *d)
{
    run_chunks(o, &(struct loss){ .k = o->k, .out = out, .l = l, .d = d, .x = x });
}

void cpu_loss_fwd_bwd(struct ops *o, struct ops_scores out, struct ops_array dx,
                      struct ops_gradient dtable, struct ops_gradient dbias, struct ops_array x,
                      int64_t N, double scale, const struct ops_labels *l,
                      const struct ops_decoder *d)
{
    struct loss s = { .k = o->k,
                      .out = out,
                      .l = l,
                      .d = d,
                      .x = x,
                      .dx = dx,
                      .dtable = dtable,
                      .dbias = dbias,
                      .scale = (float)scale };
    if (l->n < N)
        cpu_zero(o, dx, N * d->C);
    if (!ops_is_none(dbias.to) && !dbias.add)
        cpu_zero(o, dbias.to, d->V);
    if (!l->n && !dtable.add)
        cpu_zero(o, dtable.to, d->V * d->C);
    run_chunks(o, &s);
}

/* ---- columns of longer rows --------------------------------------------------------------- */

struct columns {
    const struct kernels *k;
    const struct ops_columns *c;
    struct ops_scores out;
    int gradient;
    float scale;
};

static float *logits_of(const struct columns *s, int64_t r)
{
    return cpu_floats(s->c->logits) + r * s->c->V;
}

/* Returns the column of row r's label among this rank's columns, or -1 if another rank has it. */
static int64_t column_of(const struct ops_columns *c, int64_t r)
{
    int64_t column = ((const int32_t *)(void *)c->labels.address)[r] - c->first;
    return column >= 0 && column < c->V ? column : -1;
}

static void most_of_rows(void *ctx, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const struct columns *s = ctx;
    for (int64_t r = begin; r < end; r++)
        cpu_floats(s->c->most)[r] = s->k->largest(logits_of(s, r), s->c->V);
}

static void sums_of_rows(void *ctx, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const struct columns *s = ctx;
    for (int64_t r = begin; r < end; r++) {
        float *logits = logits_of(s, r);
        int64_t label = column_of(s->c, r);
        cpu_floats(s->c->wanted)[r] = label < 0 ? 0 : logits[label];
        cpu_floats(s->c->sums)[r] = s->k->exponentials(logits, cpu_floats(s->c->most)[r], s->c->V);
    }
}

static void losses_of_rows(void *ctx, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const struct columns *s = ctx;
    unsigned char *correct = (unsigned char *)s->out.correct.address;
    for (int64_t r = begin; r < end; r++) {
        const float most = cpu_floats(s->c->most)[r], wanted = cpu_floats(s->c->wanted)[r];
        const float sum = cpu_floats(s->c->sums)[r];
        int64_t label = column_of(s->c, r);
        cpu_floats(s->out.losses)[r] = (float)(log((double)sum) + (double)most - (double)wanted);
        if (correct)
            correct[r] = wanted >= most;
        if (!s->gradient)
            continue;
        s->k->scale(logits_of(s, r), s->scale / sum, s->c->V);
        if (label >= 0)
            logits_of(s, r)[label] -= s->scale;
    }
}

void cpu_columns_most(struct ops *o, const struct ops_columns *c)
{
    pool_for(o->pool, c->n, cpu_row_grain(c->V), most_of_rows,
             &(struct columns){ .k = o->k, .c = c });
}

void cpu_columns_sums(struct ops *o, const struct ops_columns *c)
{
    pool_for(o->pool, c->n, cpu_row_grain(c->V), sums_of_rows,
             &(struct columns){ .k = o->k, .c = c });
}

void cpu_columns_loss(struct ops *o, struct ops_scores out, const struct ops_columns *c,
                      int gradient, double scale)
{
    struct columns s = { o->k, c, out, gradient, (float)scale };
    pool_for(o->pool, c->n, cpu_row_grain(c->V), losses_of_rows, &s);
}

/* ---- small heads: not worth a thread ------------------------------------------------------ */

/* Sets the scores of row i from its n logits and its label; a label outside 0 to n-1 has loss 0.
 * `gradient` 1: replaces the logits by the gradients of scale * loss. */
static void score_row(struct ops *o, struct ops_scores out, int64_t i, float *logits, int64_t n,
                      int64_t label, int gradient, double scale)
{
    unsigned char *correct = (unsigned char *)out.correct.address;
    double loss = 0;
    if (label >= 0 && label < n) {
        loss = o->k->cross_entropy(logits, correct ? correct + i : NULL, n, label,
                                   gradient ? cpu_f32(logits) : OPS_NONE, (float)scale);
    } else {
        if (gradient)
            memset(logits, 0, (size_t)n * sizeof *logits);
        if (correct)
            correct[i] = 0;
    }
    cpu_floats(out.losses)[i] = (float)loss;
}

static int64_t label_at(const struct ops_labels *l, int64_t i)
{
    return ((const int32_t *)(void *)l->labels.address)[i];
}

void cpu_cross_entropy(struct ops *o, struct ops_scores out, struct ops_array logits, int64_t V,
                       const struct ops_labels *l, int gradient, double scale)
{
    for (int64_t i = 0; i < l->n; i++)
        score_row(o, out, i, cpu_floats(logits) + i * V, V, label_at(l, i), gradient, scale);
}

void cpu_span_loss(struct ops *o, struct ops_scores out, struct ops_array logits, int side,
                   const struct ops_labels *l, const struct ops_rows *rows, int gradient,
                   double scale)
{
    float *column = mem_alloc((size_t)rows->T * sizeof *column), *at = cpu_floats(logits) + side;
    for (int64_t b = 0; b < rows->B; b++) {
        int64_t n = ops_rows_of(rows, b);
        for (int64_t i = 0; i < n; i++)
            column[i] = at[2 * i];
        score_row(o, out, b, column, n, label_at(l, b), gradient, scale);
        for (int64_t i = 0; i < n && gradient; i++)
            at[2 * i] = column[i];
        at += 2 * n;
    }
    free(column);
}
