#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "model/context.h"

enum {
    BLOCK_DEPTH = 384,     /* most of K that is multiplied at once */
    BLOCK_ROWS = 3072,     /* of A whose panels exist at once, and */
    BLOCK_COLUMNS = 3072,  /* of B: both stay in the last cache */
    UNIT_ROWS = 384,       /* of A that a thread multiplies at once: they stay in its own cache */
    UNITS = 8,             /* pieces a thread, so that one that is held up is not waited for */
    PACK_PANELS = 4,       /* panels that a thread packs at once */
    SMALL = 1 << 16,       /* multiplications below which threads do not pay */
    COLUMN_GRAIN = 64,     /* columns of a streamed product or of a bias gradient */
    STREAM_GRAIN = 256,    /* rows of the table in a streamed product of dots */
};

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t pieces(int64_t n, int64_t size)
{
    return (n + size - 1) / size;
}

/* ---- one product over all threads ----------------------------------------------------------- */

/* A block: rows m0.., columns n0.., and of the sum the part k0... */
struct block {
    const struct kernels *k;
    const struct ops_matmul *s;
    float *C;
    const float *A, *B;
    float *a_panels, *b_panels;
    int64_t m0, n0, k0, rows, columns, depth;
    int pack_a;             /* 0: the panels of A are those of the block before */
    int64_t a_units;        /* of packing; those of B follow */
    int64_t unit_columns, column_units;
};

static void pack_a_unit(const struct block *b, int64_t unit)
{
    const struct ops_matmul *s = b->s;
    int64_t height = PACK_PANELS * b->k->tile_rows, i = unit * height;
    const float *from = s->a_transposed ? b->A + b->k0 * s->lda + b->m0 + i
                                        : b->A + (b->m0 + i) * s->lda + b->k0;
    b->k->pack_rows(b->a_panels + i * b->depth, from, s->lda, s->a_transposed,
                    smaller(height, b->rows - i), b->depth, 1);
}

static void pack_b_unit(const struct block *b, int64_t unit)
{
    const struct ops_matmul *s = b->s;
    int64_t width = PACK_PANELS * b->k->tile_columns, j = unit * width;
    const float *from = s->b_transposed ? b->B + (b->n0 + j) * s->ldb + b->k0
                                        : b->B + b->k0 * s->ldb + b->n0 + j;
    b->k->pack_columns(b->b_panels + j * b->depth, from, s->ldb, s->b_transposed,
                       smaller(width, b->columns - j), b->depth);
}

static void pack_unit(void *ctx, int64_t unit, int thread)
{
    (void)thread;
    const struct block *b = ctx;
    if (unit < b->a_units)
        pack_a_unit(b, unit);
    else
        pack_b_unit(b, unit - b->a_units);
}

static void multiply_unit(void *ctx, int64_t unit, int thread)
{
    (void)thread;
    const struct block *b = ctx;
    const struct ops_matmul *s = b->s;
    int64_t i = unit / b->column_units * UNIT_ROWS, j = unit % b->column_units * b->unit_columns;
    b->k->multiply(b->C + (b->m0 + i) * s->ldc + b->n0 + j, s->ldc, b->a_panels + i * b->depth,
                   b->depth, b->b_panels + j * b->depth, smaller(UNIT_ROWS, b->rows - i),
                   smaller(b->unit_columns, b->columns - j), b->depth, s->add || b->k0);
}

static void multiply_block(struct ops *o, struct block *b, int threaded)
{
    int64_t tile = b->k->tile_columns, row_units = pieces(b->rows, UNIT_ROWS);
    b->a_units = b->pack_a ? pieces(b->rows, PACK_PANELS * b->k->tile_rows) : 0;
    int64_t units = b->a_units + pieces(b->columns, PACK_PANELS * tile);
    int64_t wanted = pieces((int64_t)UNITS * o->threads, row_units);
    b->unit_columns = pieces(pieces(b->columns, wanted), tile) * tile;
    b->column_units = pieces(b->columns, b->unit_columns);
    if (threaded) {
        pool_each(o->pool, units, pack_unit, b);
        pool_each(o->pool, row_units * b->column_units, multiply_unit, b);
        return;
    }
    for (int64_t i = 0; i < units; i++)
        pack_unit(b, i, 0);
    for (int64_t i = 0; i < row_units * b->column_units; i++)
        multiply_unit(b, i, 0);
}

/* The sum over K goes in equal parts, so that the last is not a sliver. */
void ops_matmul(struct ops *o, float *C, const float *A, const float *B,
                const struct ops_matmul *shape)
{
    int64_t M = shape->M, N = shape->N, K = shape->K;
    assert(M > 0 && N > 0 && K > 0);
    int threaded = (double)M * (double)N * (double)K >= SMALL;
    int64_t depth = pieces(K, pieces(K, BLOCK_DEPTH));
    struct block b = { .k = o->k, .s = shape, .C = C, .A = A, .B = B };
    int64_t a_floats = pieces((smaller(M, BLOCK_ROWS) + b.k->tile_rows) * depth, 16) * 16;
    int64_t b_floats = (smaller(N, BLOCK_COLUMNS) + b.k->tile_columns) * depth;
    b.a_panels = ops_panels(o, a_floats + b_floats);
    b.b_panels = b.a_panels + a_floats;
    for (b.m0 = 0; b.m0 < M; b.m0 += BLOCK_ROWS)
        for (b.k0 = 0; b.k0 < K; b.k0 += depth)
            for (b.n0 = 0; b.n0 < N; b.n0 += BLOCK_COLUMNS) {
                b.rows = smaller(BLOCK_ROWS, M - b.m0);
                b.depth = smaller(depth, K - b.k0);
                b.columns = smaller(BLOCK_COLUMNS, N - b.n0);
                b.pack_a = b.n0 == 0;
                multiply_block(o, &b, threaded);
            }
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

/* y = base + x w + bias. */
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
    ops_matmul(o, y, x, w, &(struct ops_matmul){ .add = 1, .M = N, .N = O, .K = I, .lda = I,
                                                 .ldb = O, .ldc = O });
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
                                                       .lda = O, .ldb = O, .ldc = I });
    ops_matmul(o, dw, x, dy, &(struct ops_matmul){ .a_transposed = 1, .add = 1, .M = I, .N = O,
                                                   .K = N, .lda = I, .ldb = O, .ldc = O });
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
                                                          .K = C, .lda = C, .ldb = C, .ldc = V });
}
