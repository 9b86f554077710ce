#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "common/trace.h"
#include "model/context.h"

/* Rows whose logits exist at one time. More rows read and write the table less often. */
enum {
    CHUNK = 1024,
    COLUMN_GRAIN = 64, /* columns of the bias's gradient */
};

struct loss {
    const struct kernels *k;
    float *losses, *dx; /* all rows; dx may be NULL */
    unsigned char *correct;
    const float *x, *table, *bias; /* bias may be NULL */
    float *dtable, *dbias;
    const int32_t *labels;
    float scale;
    int first; /* dtable is set by the first chunk */
    int half;  /* x_rows, and logits when they are gradients */
    int64_t N, V, C;

    /* the chunk: `rows` rows that have a label, by their index */
    int64_t rows, ld;
    int64_t *index;
    float *logits, *x_rows, *dx_rows;
};

static void gather_rows(void *ctx, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const struct loss *l = ctx;
    for (int64_t r = begin; r < end; r++)
        l->k->make_row(l->x_rows + r * l->C, 0, l->x + l->index[r] * l->C, l->C, l->half);
}

static void scatter_rows(void *ctx, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const struct loss *l = ctx;
    for (int64_t r = begin; r < end; r++)
        memcpy(l->dx + l->index[r] * l->C, l->dx_rows + r * l->C, (size_t)l->C * sizeof(float));
}

static void cross_entropy_rows(void *ctx, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const struct loss *l = ctx;
    for (int64_t r = begin; r < end; r++) {
        int64_t n = l->index[r];
        float *logits = l->logits + r * l->ld;
        if (l->bias)
            l->k->add(logits, l->bias, l->V);
        l->losses[n] = (float)l->k->cross_entropy(logits, l->correct ? l->correct + n : NULL, l->V,
                                                  l->labels[n], l->dx != NULL, l->scale, l->half);
    }
}

static void bias_columns(void *ctx, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const struct loss *l = ctx;
    const float *from = l->logits + (l->half ? begin / 2 : begin);
    l->k->column_sums(l->dbias + begin, from, l->ld, l->rows, end - begin, l->half);
}

static void chunk_loss(struct ops *o, struct loss *l)
{
    pool_for(o->pool, l->rows, ops_row_grain(l->C), gather_rows, l);
    ops_matmul(o, l->logits, l->x_rows, l->table,
               &(struct ops_matmul){ .b_transposed = 1,
                                     .M = l->rows,
                                     .N = l->V,
                                     .K = l->C,
                                     .lda = l->C,
                                     .ldb = l->C,
                                     .ldc = l->ld,
                                     .a_form = OPS_FACTORS });
    pool_for(o->pool, l->rows, 1, cross_entropy_rows, l);
    if (!l->dx)
        return;
    ops_matmul(o, l->dx_rows, l->logits, l->table,
               &(struct ops_matmul){ .M = l->rows,
                                     .N = l->C,
                                     .K = l->V,
                                     .lda = l->ld,
                                     .ldb = l->C,
                                     .ldc = l->C,
                                     .a_form = OPS_FACTORS });
    ops_matmul(o, l->dtable, l->logits, l->x_rows,
               &(struct ops_matmul){ .a_transposed = 1,
                                     .M = l->V,
                                     .N = l->C,
                                     .K = l->rows,
                                     .lda = l->ld,
                                     .ldb = l->C,
                                     .ldc = l->C,
                                     .base = l->first ? NULL : l->dtable,
                                     .a_form = OPS_FACTORS,
                                     .b_form = OPS_FACTORS });
    l->first = 0;
    if (l->dbias)
        pool_for(o->pool, l->V, COLUMN_GRAIN, bias_columns, l);
    pool_for(o->pool, l->rows, ops_row_grain(l->C), scatter_rows, l);
}

/* Rows without a label have neither logits nor gradient. */
static int64_t labelled_rows(int64_t *index, const struct loss *l)
{
    int64_t count = 0;
    for (int64_t n = 0; n < l->N; n++) {
        if (l->labels[n] >= 0) {
            index[count++] = n;
            continue;
        }
        l->losses[n] = 0;
        if (l->correct)
            l->correct[n] = 0;
        if (l->dx)
            memset(l->dx + n * l->C, 0, (size_t)l->C * sizeof *l->dx);
    }
    return count;
}

static double run_chunks(struct ops *o, struct loss *l)
{
    int64_t *index = mem_alloc((size_t)l->N * sizeof *index);
    int64_t count = labelled_rows(index, l), chunks = (count + CHUNK - 1) / CHUNK;
    int64_t rows = chunks ? (count + chunks - 1) / chunks : 0; /* of equal size */
    l->half = ops_half(o, OPS_FACTORS);
    l->ld = (l->V + 15) / 16 * 16;
    l->logits = ops_work(o, rows * (l->ld + 2 * l->C));
    l->x_rows = l->logits + rows * l->ld;
    l->dx_rows = l->x_rows + rows * l->C;
    for (int64_t begin = 0; begin < count; begin += rows) {
        l->index = index + begin;
        l->rows = count - begin < rows ? count - begin : rows;
        chunk_loss(o, l);
    }
    double sum = 0;
    for (int64_t n = 0; n < l->N; n++)
        sum += l->losses[n];
    free(index);
    return sum;
}

double ops_loss_fwd(struct ops *o, float *losses, unsigned char *correct, const float *x,
                    const float *table, const int32_t *labels, int64_t N, int64_t V, int64_t C)
{
    return ops_biased_loss_fwd(o, losses, correct, x, table, NULL, labels, N, V, C);
}

double ops_biased_loss_fwd(struct ops *o, float *losses, unsigned char *correct, const float *x,
                           const float *table, const float *bias, const int32_t *labels, int64_t N,
                           int64_t V, int64_t C)
{
    TRACE_KERNEL(0, 0);
    struct loss l = { .k = o->k,
                      .losses = losses,
                      .correct = correct,
                      .x = x,
                      .table = table,
                      .bias = bias,
                      .labels = labels,
                      .N = N,
                      .V = V,
                      .C = C };
    return run_chunks(o, &l);
}

double ops_loss_fwd_bwd(struct ops *o, float *dx, float *dtable, const float *x, const float *table,
                        const int32_t *labels, double scale, int64_t N, int64_t V, int64_t C)
{
    return ops_biased_loss_fwd_bwd(o, NULL, NULL, dx, dtable, NULL, x, table, NULL, labels, scale,
                                   0, N, V, C);
}

double ops_biased_loss_fwd_bwd(struct ops *o, float *losses, unsigned char *correct, float *dx,
                               float *dtable, float *dbias, const float *x, const float *table,
                               const float *bias, const int32_t *labels, double scale, int first,
                               int64_t N, int64_t V, int64_t C)
{
    TRACE_KERNEL(0, 0);
    float *own = losses ? NULL : mem_alloc((size_t)N * sizeof *own);
    struct loss l = { .k = o->k,
                      .losses = losses ? losses : own,
                      .correct = correct,
                      .dx = dx,
                      .x = x,
                      .table = table,
                      .bias = bias,
                      .dtable = dtable,
                      .dbias = dbias,
                      .labels = labels,
                      .scale = (float)scale,
                      .first = first,
                      .N = N,
                      .V = V,
                      .C = C };
    double sum = run_chunks(o, &l);
    if (l.first) /* no row had a label */
        ops_zero(o, dtable, V * C);
    free(own);
    return sum;
}
