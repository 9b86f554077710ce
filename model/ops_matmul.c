#include <assert.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/trace.h"
#include "model/context.h"

/* The smaller of A and B is packed once and shared, in the last cache, piece by piece by the thread
 * that comes to a piece first. The larger goes by in chunks: a thread takes one, packs it for
 * itself, a slice of the sum at a time, and multiplies the slice while it is in its own cache. What
 * is packed next is asked for during the products before, so that threads wait neither for memory
 * nor, but at the end, for each other. */
enum {
    SLICE = 768,             /* most layers of panels that are multiplied at once */
    SHARED_FLOATS = 1 << 21, /* of panels that are shared, about */
    SHARED_LINES = 3072,     /* most rows or columns of them */
    ROW_PANELS = 8,     /* of A in a piece: with the next one's rows they fit the second cache */
    COLUMN_PANELS = 2,  /* of B */
    SMALL = 1 << 16,    /* multiplications below which threads do not pay */
    COLUMN_GRAIN = 64,  /* columns of a streamed product */
    STREAM_GRAIN = 256, /* rows of the table in a streamed product of dots */
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

/* A or B as lines, the rows of the one and the columns of the other, each of K numbers; and those
 * of them that take part, in pieces of whole panels. */
struct factor {
    const float *x;
    int64_t ld;
    int of_rows; /* A */
    int across;  /* neighbours in memory are of different lines */
    int half;    /* halves, from the beginning of each row in memory on */
    int tile;    /* lines of a panel */
    int most;    /* panels of a piece */
    int64_t begin, end, pieces;
};

enum state { UNPACKED, TAKEN, PACKED };

/* The part of a product that is the sum from k0 to k1, in slices. */
struct block {
    const struct kernel_products *p;
    const struct ops_matmul *s;
    float *C;
    struct factor shared, chunks;
    int64_t k0, k1, slice, slices;
    float *panels;        /* of the shared factor, */
    int64_t slice_floats; /* in each slice */
    atomic_uchar *states; /* of its pieces, slice by slice */
    float *own;           /* panels of a chunk, for each thread */
    int64_t own_floats;
    int threads;
};

struct piece {
    int64_t begin, lines;
};

static struct piece piece_at(const struct factor *f, int64_t i)
{
    int64_t panels = pieces(f->end - f->begin, f->tile);
    int64_t begin = f->begin + panels * i / f->pieces * f->tile;
    int64_t end = f->begin + panels * (i + 1) / f->pieces * f->tile;
    return (struct piece){ begin, smaller(end, f->end) - begin };
}

static const float *source(const struct factor *f, int64_t line, int64_t k)
{
    int64_t row = f->across ? k : line, place = f->across ? line : k;
    return f->x + row * f->ld + (f->half ? place / 2 : place); /* which is even */
}

/* Steps of the slice at k. */
static int64_t steps_at(const struct block *b, int64_t k)
{
    return smaller(b->slice, b->k1 - k);
}

/* Of the memory that will be packed for a piece in the slice at k, the part-th of so many parts. */
static struct kernel_ahead ahead(const struct block *b, const struct factor *f, int64_t i,
                                 int64_t k, int64_t part, int64_t parts)
{
    struct piece p = piece_at(f, i);
    int64_t rows = f->across ? steps_at(b, k) : p.lines;
    int64_t numbers = f->across ? p.lines : steps_at(b, k);
    int64_t beyond = f->across && f->of_rows ? 8 : 0; /* where the last vector may end */
    int64_t begin = rows * part / parts, end = rows * (part + 1) / parts;
    return (struct kernel_ahead){ .at = f->across ? source(f, p.begin, k + begin)
                                                  : source(f, p.begin + begin, k),
                                  .rows = end - begin,
                                  .floats = (f->half ? numbers / 2 : numbers) + beyond,
                                  .ld = f->ld };
}

static void pack(const struct block *b, const struct factor *f, float *panels, struct piece p,
                 int64_t k)
{
    const float *from = source(f, p.begin, k);
    int64_t steps = steps_at(b, k);
    int once = f == &b->shared || !b->shared.begin; /* chunks go by once a shared block */
    float *sums = b->s->sums && once ? b->s->sums + p.begin : NULL;
    if (f->of_rows)
        b->p->pack_rows(panels, from, f->ld, f->across, f->half, p.lines, steps, 1);
    else
        b->p->pack_columns(panels, sums, from, f->ld, !f->across, f->half, p.lines, steps);
}

static atomic_uchar *state_at(const struct block *b, int64_t i, int64_t k)
{
    return b->states + (k - b->k0) / b->slice * b->shared.pieces + i;
}

/* Where the panels of piece i of the shared factor lie in the slice at k. */
static float *shared_panels(const struct block *b, struct piece p, int64_t k)
{
    return b->panels + (k - b->k0) / b->slice * b->slice_floats +
           (p.begin - b->shared.begin) * kernel_depth(b->p, steps_at(b, k));
}

/* Who comes first packs them; who comes meanwhile waits. Slices of a piece are packed in their
 * order. */
static const float *packed(const struct block *b, int64_t i, struct piece p, int64_t k)
{
    float *panels = shared_panels(b, p, k);
    atomic_uchar *state = state_at(b, i, k);
    unsigned char found = UNPACKED;
    if (atomic_load_explicit(state, memory_order_acquire) == PACKED)
        return panels;
    if (atomic_compare_exchange_strong(state, &found, TAKEN)) {
        pack(b, &b->shared, panels, p, k);
        atomic_store_explicit(state, PACKED, memory_order_release);
    }
    while (atomic_load_explicit(state, memory_order_acquire) != PACKED)
        sched_yield();
    return panels;
}

/* What will be used of piece i: its panels, which may be in another thread's cache, and what they
 * are made of if they are not yet. */
static void ask_piece(const struct block *b, int64_t i, int64_t k, struct kernel_ahead next[2])
{
    struct piece p = piece_at(&b->shared, i);
    int missing = atomic_load_explicit(state_at(b, i, k), memory_order_relaxed) == UNPACKED;
    int64_t lines = pieces(p.lines, b->shared.tile) * b->shared.tile;
    next[0] = (struct kernel_ahead){ .at = shared_panels(b, p, k),
                                     .rows = 1,
                                     .writes = missing,
                                     .floats = lines * kernel_depth(b->p, steps_at(b, k)) };
    if (missing)
        next[1] = ahead(b, &b->shared, i, k, 0, 1);
}

/* A packed chunk meets piece i in the slice at k. */
static void multiply_pieces(const struct block *b, const float *own, struct piece chunk, int64_t i,
                            int64_t k, const struct kernel_ahead next[KERNEL_AHEAD])
{
    const struct ops_matmul *s = b->s;
    int of_rows = b->shared.of_rows;
    struct piece piece = piece_at(&b->shared, i);
    struct piece rows = of_rows ? piece : chunk, columns = of_rows ? chunk : piece;
    const float *panels = packed(b, i, piece, k);
    int64_t corner = rows.begin * s->ldc + columns.begin,
            depth = kernel_depth(b->p, steps_at(b, k));
    b->p->multiply(&(struct kernel_product){ .C = b->C + corner,
                                             .base = k         ? b->C + corner
                                                     : s->base ? s->base + corner
                                                               : NULL,
                                             .bias = k || !s->bias ? NULL : s->bias + columns.begin,
                                             .ldc = s->ldc,
                                             .A = of_rows ? panels : own,
                                             .B = of_rows ? own : panels,
                                             .a_depth = depth,
                                             .M = rows.lines,
                                             .N = columns.lines,
                                             .depth = depth,
                                             .ahead = { next[0], next[1], next[2] } });
}

/* Threads begin at different pieces, so that each packs some. The next chunk is asked for in as
 * many parts as there are pieces. */
static void multiply_chunk(void *ctx, int64_t c, int thread)
{
    const struct block *b = ctx;
    float *own = b->own + thread * b->own_floats;
    int64_t n = b->shared.pieces, first = thread * n / b->threads;
    struct piece chunk = piece_at(&b->chunks, c);
    for (int64_t k = b->k0; k < b->k1; k += b->slice) {
        int last = k + b->slice >= b->k1;
        pack(b, &b->chunks, own, chunk, k);
        for (int64_t i = 0; i < n; i++) {
            int64_t now = (first + i) % n, then = (now + 1) % n;
            struct kernel_ahead next[KERNEL_AHEAD] = { 0 };
            ask_piece(b, then, k, next);
            if (!last || c + 1 < b->chunks.pieces)
                next[2] = ahead(b, &b->chunks, c + last, last ? b->k0 : k + b->slice, i, n);
            multiply_pieces(b, own, chunk, now, k, next);
        }
    }
}

static void multiply_block(struct ops *o, struct block *b, int threaded)
{
    memset(b->states, UNPACKED, (size_t)(b->slices * b->shared.pieces));
    if (threaded)
        pool_each(o->pool, b->chunks.pieces, multiply_chunk, b);
    else
        for (int64_t c = 0; c < b->chunks.pieces; c++)
            multiply_chunk(b, c, 0);
}

/* The lines begin..end-1 in as few pieces as will do, or a multiple of `even` of them. */
static void cut(struct factor *f, int64_t begin, int64_t end, int64_t even)
{
    int64_t panels = pieces(end - begin, f->tile);
    f->begin = begin;
    f->end = end;
    f->pieces = smaller(pieces(panels, f->most * even) * even, panels);
}

/* Lays out the panels: of slices, of the sum over K in equal ones, so that the last is not a
 * sliver, and in each of so many lines of the shared factor. */
static void lay_out(struct ops *o, struct block *b, int64_t lines)
{
    int64_t layers = kernel_depth(b->p, b->s->K), slices = pieces(layers, SLICE);
    layers = pieces(layers, slices);
    b->slice = layers * b->p->steps;
    b->slice_floats = lines * layers;
    int64_t fit = SHARED_FLOATS / b->slice_floats;
    b->slices = smaller(slices, fit > 0 ? fit : 1);
    b->own_floats = pieces(b->chunks.most * b->chunks.tile * layers, 16) * 16;
    int64_t shared = pieces(b->slices * b->slice_floats, 16) * 16;
    b->own = ops_panels(o, o->threads * b->own_floats + shared + b->slices * lines);
    b->panels = b->own + o->threads * b->own_floats;
    b->states = (atomic_uchar *)(b->panels + shared);
}

void ops_matmul(struct ops *o, float *C, const float *A, const float *B,
                const struct ops_matmul *shape)
{
    TRACE_KERNEL(2.0 * shape->M * shape->N * shape->K,
                 4.0 * (shape->M * shape->K + shape->K * shape->N + shape->M * shape->N));
    const struct kernel_products *p = ops_products(o);
    const int64_t M = shape->M, N = shape->N, K = shape->K;
    assert(M > 0 && N > 0 && K > 0 && !(shape->sums && shape->b_transposed));
    int shares_a = M <= N;
    struct factor a = { .x = A,
                        .ld = shape->lda,
                        .of_rows = 1,
                        .across = shape->a_transposed,
                        .half = ops_half(o, shape->a_form),
                        .tile = p->tile_rows,
                        .most = ROW_PANELS };
    struct factor c = { .x = B,
                        .ld = shape->ldb,
                        .across = !shape->b_transposed,
                        .half = ops_half(o, shape->b_form),
                        .tile = p->tile_columns,
                        .most = COLUMN_PANELS };
    struct block b = { .p = p,
                       .s = shape,
                       .C = C,
                       .shared = shares_a ? a : c,
                       .chunks = shares_a ? c : a,
                       .threads = o->threads };
    int64_t shared = shares_a ? M : N, tile = b.shared.tile;
    int64_t lines = pieces(pieces(shared, pieces(shared, SHARED_LINES)), tile) * tile;
    lay_out(o, &b, lines);
    cut(&b.chunks, 0, shares_a ? N : M, o->threads);
    for (int64_t begin = 0; begin < shared; begin += lines) {
        cut(&b.shared, begin, smaller(begin + lines, shared), 1);
        for (b.k0 = 0; b.k0 < K; b.k0 = b.k1) {
            b.k1 = smaller(b.k0 + b.slices * b.slice, K);
            multiply_block(o, &b, (double)M * (double)N * (double)K >= SMALL);
        }
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
static void affine(struct ops *o, float *y, const float *base, struct ops_factor x, const float *w,
                   const float *bias, int64_t N, int64_t I, int64_t O)
{
    if (N > KERNEL_ROWS || ops_half(o, x.form)) {
        ops_matmul(o, y, x.x, w,
                   &(struct ops_matmul){ .M = N,
                                         .N = O,
                                         .K = I,
                                         .lda = I,
                                         .ldb = O,
                                         .ldc = O,
                                         .base = base,
                                         .bias = bias,
                                         .a_form = x.form });
        return;
    }
    struct beginning b = { o->k, y, base, bias, O };
    struct streamed s = { o->k, y, x.x, w, N, I, O };
    pool_for(o->pool, N, ops_row_grain(O), begin_rows, &b);
    pool_for(o->pool, O, COLUMN_GRAIN, stream_columns_part, &s);
}

void ops_linear_fwd(struct ops *o, float *y, struct ops_factor x, const float *w, const float *bias,
                    int64_t N, int64_t I, int64_t O)
{
    TRACE_KERNEL(0, 0);
    affine(o, y, NULL, x, w, bias, N, I, O);
}

static void linear_bwd(struct ops *o, float *dx, float *dw, float *dbias, struct ops_factor dy,
                       struct ops_factor x, const float *w, int64_t N, int64_t I, int64_t O,
                       int add)
{
    TRACE("kernel", "ops_linear_bwd", -1, 0, 0);
    if (dx)
        ops_matmul(o, dx, dy.x, w,
                   &(struct ops_matmul){ .b_transposed = 1,
                                         .M = N,
                                         .N = I,
                                         .K = O,
                                         .lda = O,
                                         .ldb = O,
                                         .ldc = I,
                                         .a_form = dy.form });
    if (dbias && !add)
        memset(dbias, 0, (size_t)O * sizeof *dbias);
    ops_matmul(o, dw, x.x, dy.x,
               &(struct ops_matmul){ .a_transposed = 1,
                                     .M = I,
                                     .N = O,
                                     .K = N,
                                     .lda = I,
                                     .ldb = O,
                                     .ldc = O,
                                     .base = add ? dw : NULL,
                                     .sums = dbias,
                                     .a_form = x.form,
                                     .b_form = dy.form });
}

void ops_linear_bwd(struct ops *o, float *dx, float *dw, float *dbias, struct ops_factor dy,
                    struct ops_factor x, const float *w, int64_t N, int64_t I, int64_t O)
{
    linear_bwd(o, dx, dw, dbias, dy, x, w, N, I, O, 1);
}

void ops_linear_bwd_first(struct ops *o, float *dx, float *dw, float *dbias, struct ops_factor dy,
                          struct ops_factor x, const float *w, int64_t N, int64_t I, int64_t O)
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

void ops_residual_fwd(struct ops *o, float *y, const float *base, struct ops_factor x,
                      const float *w, const float *bias, int64_t N, int64_t I, int64_t O,
                      struct ops_dropout drop)
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
    ops_matmul(o, logits, x, table,
               &(struct ops_matmul){
                   .b_transposed = 1, .M = N, .N = V, .K = C, .lda = C, .ldb = C, .ldc = V });
}
