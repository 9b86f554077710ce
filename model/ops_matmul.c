#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "model/blas.h"
#include "model/context.h"

enum {
    TILE = 16,           /* bounds of a thread's part are multiples of the register tile */
    SMALL = 1 << 15,     /* multiplications below which threads do not pay */
    COLUMN_GRAIN = 64,   /* columns of a streamed product or of a bias gradient */
    STREAM_GRAIN = 256,  /* rows of the table in a streamed product of dots */
};

/* ---- one product over all threads ----------------------------------------------------------- */

struct product {
    float *C;
    const float *A, *B;
    const struct ops_matmul *s;
    int row_parts, column_parts;
};

/* The bounds of part i of n among `size` rows or columns. */
static void part_bounds(int64_t *begin, int64_t *end, int64_t size, int i, int n)
{
    int64_t tiles = (size + TILE - 1) / TILE;
    *begin = tiles * i / n * TILE;
    *end = tiles * (i + 1) / n * TILE;
    if (*end > size)
        *end = size;
}

static void multiply_part(void *ctx, int thread)
{
    const struct product *p = ctx;
    const struct ops_matmul *s = p->s;
    if (thread >= p->row_parts * p->column_parts)
        return;
    int64_t m0, m1, n0, n1;
    part_bounds(&m0, &m1, s->M, thread / p->column_parts, p->row_parts);
    part_bounds(&n0, &n1, s->N, thread % p->column_parts, p->column_parts);
    if (m0 >= m1 || n0 >= n1)
        return;
    blas_gemm(s->a_transposed ? BLAS_TRANSPOSED : BLAS_PLAIN,
              s->b_transposed ? BLAS_TRANSPOSED : BLAS_PLAIN, m1 - m0, n1 - n0, s->K, s->alpha,
              p->A + m0 * (s->a_transposed ? 1 : s->lda), s->lda,
              p->B + n0 * (s->b_transposed ? s->ldb : 1), s->ldb, s->beta,
              p->C + m0 * s->ldc + n0, s->ldc);
}

/* Parts side by side pack A again, parts below each other B: the grid that packs least. */
static void choose_grid(struct product *p, int threads)
{
    double least = 0;
    for (int rows = 1; rows <= threads; rows++) {
        if (threads % rows)
            continue;
        double packed = (double)rows * (double)p->s->N + (double)(threads / rows) * (double)p->s->M;
        if (rows == 1 || packed < least) {
            least = packed;
            p->row_parts = rows;
            p->column_parts = threads / rows;
        }
    }
}

void ops_matmul(struct ops *o, float *C, const float *A, const float *B,
                const struct ops_matmul *shape)
{
    struct product p = { C, A, B, shape, 1, 1 };
    if ((double)shape->M * (double)shape->N * (double)shape->K < SMALL) {
        multiply_part(&p, 0);
        return;
    }
    choose_grid(&p, o->threads);
    pool_run(o->pool, multiply_part, &p);
}

/* ---- few rows: w is streamed ---------------------------------------------------------------- */

struct streamed {
    const struct kernels *k;
    float *y;
    const float *x, *w;
    int64_t N, I, O;
};

static void stream_columns_part(void *ctx, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const struct streamed *s = ctx;
    s->k->stream_columns(s->y + begin, s->O, s->x, s->I, s->N, s->w + begin, s->O, s->I,
                         end - begin);
}

static void stream_rows_part(void *ctx, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const struct streamed *s = ctx;
    s->k->stream_rows(s->y + begin, s->O, s->x, s->I, s->N, s->w + begin * s->I, s->I, s->I,
                      end - begin);
}

/* ---- linear maps -------------------------------------------------------------------------- */

/* Rows of y before the product is added to them: base + bias, either of which may be absent. */
struct beginning {
    const struct kernels *k;
    float *y;
    const float *base, *bias;
    int64_t O;
};

static void begin_rows(void *ctx, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const struct beginning *b = ctx;
    for (int64_t n = begin; n < end; n++) {
        float *y = b->y + n * b->O;
        if (b->base && b->bias)
            b->k->sum(y, b->base + n * b->O, b->bias, b->O);
        else if (b->base || b->bias)
            memcpy(y, b->base ? b->base + n * b->O : b->bias, (size_t)b->O * sizeof *y);
        else
            memset(y, 0, (size_t)b->O * sizeof *y);
    }
}

/* y = base + x w + bias. That y begins as the sum of the others costs nothing: the library would
 * clear it first. */
static void affine(struct ops *o, float *y, const float *base, const float *x, const float *w,
                   const float *bias, int64_t N, int64_t I, int64_t O)
{
    struct beginning b = { o->k, y, base, bias, O };
    pool_for(o->pool, N, ops_row_grain(O), begin_rows, &b);
    if (N <= KERNEL_ROWS) {
        struct streamed s = { o->k, y, x, w, N, I, O };
        pool_for(o->pool, O, COLUMN_GRAIN, stream_columns_part, &s);
        return;
    }
    ops_matmul(o, y, x, w, &(struct ops_matmul){ .M = N, .N = O, .K = I, .lda = I, .ldb = O,
                                                 .ldc = O, .alpha = 1, .beta = 1 });
}

void ops_linear_fwd(struct ops *o, float *y, const float *x, const float *w, const float *bias,
                    int64_t N, int64_t I, int64_t O)
{
    affine(o, y, NULL, x, w, bias, N, I, O);
}

struct bias_bwd {
    const struct kernels *k;
    float *dbias;
    const float *dy;
    int64_t N, O;
};

static void bias_bwd_columns(void *ctx, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const struct bias_bwd *b = ctx;
    b->k->column_sums(b->dbias + begin, b->dy + begin, b->O, b->N, end - begin);
}

void ops_linear_bwd(struct ops *o, float *dx, float *dw, float *dbias, const float *dy,
                    const float *x, const float *w, int64_t N, int64_t I, int64_t O)
{
    if (dx)
        ops_matmul(o, dx, dy, w, &(struct ops_matmul){ .b_transposed = 1, .M = N, .N = I, .K = O,
                                                       .lda = O, .ldb = O, .ldc = I, .alpha = 1 });
    ops_matmul(o, dw, x, dy, &(struct ops_matmul){ .a_transposed = 1, .M = I, .N = O, .K = N,
                                                   .lda = I, .ldb = O, .ldc = O, .alpha = 1,
                                                   .beta = 1 });
    struct bias_bwd b = { o->k, dbias, dy, N, O };
    if (dbias)
        pool_for(o->pool, O, COLUMN_GRAIN, bias_bwd_columns, &b);
}

/* ---- residual branches -------------------------------------------------------------------- */

struct residual {
    const struct kernels *k;
    float *y;
    const float *base;
    int64_t O;
    struct kernel_mask mask;
};

static void residual_rows(void *ctx, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const struct residual *r = ctx;
    int64_t first = begin * r->O;
    r->k->dropout(r->y + first, r->base + first, r->y + first, (end - begin) * r->O, &r->mask,
                  (uint64_t)first);
}

void ops_residual_fwd(struct ops *o, float *y, const float *base, const float *x, const float *w,
                      const float *bias, int64_t N, int64_t I, int64_t O, struct ops_dropout drop)
{
    assert(y != base);
    struct residual r = { o->k, y, base, O, ops_mask(drop) };
    affine(o, y, r.mask.threshold ? NULL : base, x, w, bias, N, I, O);
    if (r.mask.threshold) /* an even number of rows a piece: masks come in pairs */
        pool_for(o->pool, N, 2 * ops_row_grain(O), residual_rows, &r);
}

/* ---- the decoder -------------------------------------------------------------------------- */

void ops_logits(struct ops *o, float *logits, const float *x, const float *table, int64_t N,
                int64_t V, int64_t C)
{
    if (N <= KERNEL_ROWS) {
        struct streamed s = { o->k, logits, x, table, N, C, V };
        pool_for(o->pool, V, STREAM_GRAIN, stream_rows_part, &s);
        return;
    }
    ops_matmul(o, logits, x, table, &(struct ops_matmul){ .b_transposed = 1, .M = N, .N = V,
                                                          .K = C, .lda = C, .ldb = C, .ldc = V,
                                                          .alpha = 1 });
}
