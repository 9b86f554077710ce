#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/trace.h"
#include "model/context.h"

/* Panels of A are shared, in the last cache. A thread takes columns of C: it packs the columns of
 * B for itself, a slice of the sum at a time, and multiplies the slice while it is in its own
 * cache. Where there are rows enough it packs and multiplies rows of its own: packing B for each
 * thread is cheaper than reading what another core has just written. So threads meet twice in a
 * product of usual size. */
enum {
    SLICE = 768,           /* most layers of panels that are multiplied at once */
    A_FLOATS = 1 << 21,    /* of panels of A, about */
    A_ROWS = 3072,         /* most rows of them: a multiple of every tile_rows */
    CHUNK_PANELS = 2,      /* of B, that a thread takes */
    CHUNKS = 3,            /* a thread, at least, so that one that is held up is not waited for */
    OWN_ROWS = 384,        /* of C a thread, from which they are its own */
    PACK_PANELS = 8,       /* of A, that a thread packs at once */
    SMALL = 1 << 16,       /* multiplications below which threads do not pay */
    COLUMN_GRAIN = 64,     /* columns of a streamed product */
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

/* ---- one product over all threads -------------------------------------------------------- */

/* Rows m0 .. m0+rows-1 of C, and of the sum the part from k0 to k1, in slices. */
struct block {
    const struct kernel_products *p;
    const struct ops_matmul *s;
    float *C;
    const float *A, *B;
    int64_t m0, rows, k0, k1, slice;
    float *a_panels;
    int64_t a_slice; /* floats of a slice of them */
    float *chunks;   /* a chunk of B a thread */
    void (*column_sums)(float *, const float *, int64_t, int64_t, int64_t);
    int64_t chunk_columns, chunk_floats;
    int64_t slices, column_chunks;
    int64_t part_rows; /* a thread's work: these of a chunk's columns */
};

/* The panels of some rows, in one slice. */
static void pack_unit(void *ctx, int64_t unit, int thread)
{
    (void)thread;
    const struct block *b = ctx;
    const struct ops_matmul *s = b->s;
    int64_t height = PACK_PANELS * b->p->tile_rows, i = unit / b->slices * height;
    int64_t slice = unit % b->slices, k = b->k0 + slice * b->slice, m = b->m0 + i;
    int64_t depth = smaller(b->slice, b->k1 - k);
    const float *from = s->a_transposed ? b->A + k * s->lda + m : b->A + m * s->lda + k;
    b->p->pack_rows(b->a_panels + slice * b->a_slice + i * kernel_depth(b->p, depth), from, s->lda,
                    s->a_transposed, smaller(height, b->rows - i), depth, 1);
}

/* What is packed for the chunk of columns at j and the slice at k. */
static struct kernel_ahead columns_at(const struct block *b, int64_t j, int64_t k)
{
    const struct ops_matmul *s = b->s;
    int64_t columns = smaller(b->chunk_columns, s->N - j), steps = smaller(b->slice, b->k1 - k);
    if (s->b_transposed)
        return (struct kernel_ahead){ b->B + j * s->ldb + k, columns, steps, s->ldb };
    return (struct kernel_ahead){ b->B + k * s->ldb + j, steps, columns, s->ldb };
}

/* What this thread will pack when it is done with slice k of chunk c: the next slice, or the first
 * of the next chunk. */
static struct kernel_ahead after(const struct block *b, int64_t c, int64_t k)
{
    if (k + b->slice < b->k1)
        return columns_at(b, c * b->chunk_columns, k + b->slice);
    return columns_at(b, (c + 1) % b->column_chunks * b->chunk_columns, b->k0);
}

static void multiply_unit(void *ctx, int64_t unit, int thread)
{
    const struct block *b = ctx;
    const struct ops_matmul *s = b->s;
    int64_t c = unit % b->column_chunks, j = c * b->chunk_columns;
    int64_t i = unit / b->column_chunks * b->part_rows;
    int64_t rows = smaller(b->part_rows, b->rows - i), columns = smaller(b->chunk_columns, s->N - j);
    int64_t corner = (b->m0 + i) * s->ldc + j;
    float *chunk = b->chunks + thread * b->chunk_floats, *C = b->C + corner;
    const float *a = b->a_panels;
    for (int64_t k = b->k0; k < b->k1; k += b->slice, a += b->a_slice) {
        const float *from = columns_at(b, j, k).at;
        int64_t steps = smaller(b->slice, b->k1 - k), depth = kernel_depth(b->p, steps);
        b->p->pack_columns(chunk, from, s->ldb, s->b_transposed, columns, steps);
        if (s->sums && !b->m0 && !i)
            b->column_sums(s->sums + j, from, s->ldb, steps, columns);
        b->p->multiply(&(struct kernel_product){
            .C = C, .base = k ? C : s->base ? s->base + corner : NULL,
            .bias = k || !s->bias ? NULL : s->bias + j, .ldc = s->ldc, .A = a + i * depth,
            .B = chunk, .a_depth = depth, .M = rows, .N = columns, .depth = depth,
            .ahead = after(b, c, k) });
    }
}

/* How many parts rows are cut into: one a thread where there is no more of B to pack than of A, or
 * what gives all threads work. */
static int64_t parts_of_rows(const struct block *b, int threads)
{
    if (b->s->N <= b->rows && b->rows >= (int64_t)OWN_ROWS * threads)
        return threads;
    return pieces((int64_t)CHUNKS * threads, b->column_chunks);
}

static void multiply_block(struct ops *o, struct block *b, int threaded)
{
    int64_t parts = threaded ? parts_of_rows(b, o->threads) : 1;
    b->slices = pieces(b->k1 - b->k0, b->slice);
    b->part_rows = pieces(pieces(b->rows, parts), b->p->tile_rows) * b->p->tile_rows;
    int64_t packs = pieces(b->rows, PACK_PANELS * b->p->tile_rows) * b->slices;
    int64_t units = pieces(b->rows, b->part_rows) * b->column_chunks;
    if (threaded) {
        pool_each(o->pool, packs, pack_unit, b);
        pool_each(o->pool, units, multiply_unit, b);
        return;
    }
    for (int64_t i = 0; i < packs; i++)
        pack_unit(b, i, 0);
    for (int64_t i = 0; i < units; i++)
        multiply_unit(b, i, 0);
}

/* The sum over K goes in equal slices, so that the last is not a sliver. */
void ops_matmul(struct ops *o, float *C, const float *A, const float *B,
                const struct ops_matmul *shape)
{
    TRACE_KERNEL(2.0 * shape->M * shape->N * shape->K,
                 4.0 * (shape->M * shape->K + shape->K * shape->N + shape->M * shape->N));
    int64_t M = shape->M, K = shape->K;
    assert(M > 0 && shape->N > 0 && K > 0);
    int threaded = (double)M * (double)shape->N * (double)K >= SMALL;
    struct block b = { .p = ops_products(o), .s = shape, .C = C, .A = A, .B = B,
                       .column_sums = o->k->column_sums };
    int64_t layers = kernel_depth(b.p, K), slices = pieces(layers, SLICE), tile = b.p->tile_rows;
    layers = pieces(layers, slices);
    b.slice = layers * b.p->steps;
    b.a_slice = pieces(smaller(M, A_ROWS), tile) * tile * layers;
    slices = smaller(slices, A_FLOATS / b.a_slice > 0 ? A_FLOATS / b.a_slice : 1);
    b.chunk_columns = CHUNK_PANELS * b.p->tile_columns;
    b.column_chunks = pieces(shape->N, b.chunk_columns);
    b.chunk_floats = pieces(b.chunk_columns * layers, 16) * 16;
    b.chunks = ops_panels(o, o->threads * b.chunk_floats + slices * b.a_slice);
    b.a_panels = b.chunks + o->threads * b.chunk_floats;
    for (b.m0 = 0; b.m0 < M; b.m0 += A_ROWS)
        for (b.k0 = 0; b.k0 < K; b.k0 = b.k1) {
            b.rows = smaller(A_ROWS, M - b.m0);
            b.k1 = smaller(b.k0 + slices * b.slice, K);
            multiply_block(o, &b, threaded);
        }
}

/* ---- few rows: w is streamed ------------------------------------------------------------- */

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

/* ---- linear maps ------------------------------------------------------------------------- */

/* Rows of y before a streamed product is added: base + bias, either of which may be absent. */
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
    if (N > KERNEL_ROWS) {
        ops_matmul(o, y, x, w, &(struct ops_matmul){ .M = N, .N = O, .K = I, .lda = I, .ldb = O,
                                                     .ldc = O, .base = base, .bias = bias });
        return;
    }
    struct beginning b = { o->k, y, base, bias, O };
    struct streamed s = { o->k, y, x, w, N, I, O };
    pool_for(o->pool, N, ops_row_grain(O), begin_rows, &b);
    pool_for(o->pool, O, COLUMN_GRAIN, stream_columns_part, &s);
}

void ops_linear_fwd(struct ops *o, float *y, const float *x, const float *w, const float *bias,
                    int64_t N, int64_t I, int64_t O)
{
    TRACE_KERNEL(0, 0);
    affine(o, y, NULL, x, w, bias, N, I, O);
}

static void linear_bwd(struct ops *o, float *dx, float *dw, float *dbias, const float *dy,
                       const float *x, const float *w, int64_t N, int64_t I, int64_t O, int add)
{
    TRACE("kernel", "ops_linear_bwd", -1, 0, 0);
    if (dx)
        ops_matmul(o, dx, dy, w, &(struct ops_matmul){ .b_transposed = 1, .M = N, .N = I, .K = O,
                                                       .lda = O, .ldb = O, .ldc = I });
    if (dbias && !add)
        memset(dbias, 0, (size_t)O * sizeof *dbias);
    ops_matmul(o, dw, x, dy, &(struct ops_matmul){ .a_transposed = 1, .M = I, .N = O, .K = N,
                                                   .lda = I, .ldb = O, .ldc = O,
                                                   .base = add ? dw : NULL, .sums = dbias });
}

void ops_linear_bwd(struct ops *o, float *dx, float *dw, float *dbias, const float *dy,
                    const float *x, const float *w, int64_t N, int64_t I, int64_t O)
{
    linear_bwd(o, dx, dw, dbias, dy, x, w, N, I, O, 1);
}

void ops_linear_bwd_first(struct ops *o, float *dx, float *dw, float *dbias, const float *dy,
                          const float *x, const float *w, int64_t N, int64_t I, int64_t O)
{
    linear_bwd(o, dx, dw, dbias, dy, x, w, N, I, O, 0);
}

/* ---- residual branches ------------------------------------------------------------------- */

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
    TRACE_KERNEL(0, 0);
    assert(y != base);
    struct residual r = { o->k, y, base, O, ops_mask(drop) };
    affine(o, y, r.mask.threshold ? NULL : base, x, w, bias, N, I, O);
    if (r.mask.threshold) /* an even number of rows a piece: masks come in pairs */
        pool_for(o->pool, N, 2 * ops_row_grain(O), residual_rows, &r);
}

/* ---- the decoder ------------------------------------------------------------------------- */

void ops_logits(struct ops *o, float *logits, const float *x, const float *table, int64_t N,
                int64_t V, int64_t C)
{
    TRACE_KERNEL(0, 0);
    if (N <= KERNEL_ROWS) {
        struct streamed s = { o->k, logits, x, table, N, C, V };
        pool_for(o->pool, V, STREAM_GRAIN, stream_rows_part, &s);
        return;
    }
    ops_matmul(o, logits, x, table, &(struct ops_matmul){ .b_transposed = 1, .M = N, .N = V,
                                                          .K = C, .lda = C, .ldb = C, .ldc = V });
}
