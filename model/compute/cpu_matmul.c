/*
 * cpu_matmul.c - matrix products of the host's back end (Goto, van de Geijn 2008).
 *
 * C[M,N] = base + bias + A[M,K] B[K,N]. The lines of A are its rows, those of B its columns. The
 * operand with fewer lines is packed once for all threads; the other one is divided into chunks.
 *
 *     for each block of lines of the shared operand           cpu_matmul
 *         for each part k0..k1 of the sum over K              cpu_matmul, multiply_block
 *             for each chunk, the threads sharing them        multiply_block, multiply_chunk
 *                 for each slice of that part                 multiply_chunk
 *                     pack the chunk's slice                  pack
 *                     for each piece of the shared operand    multiply_chunk
 *                         pack it, if nobody has yet          packed
 *                         C[rows,columns] += A B              multiply_pieces
 *
 * and the last line, for one thread, in kernels_products.inc:
 *
 *     for each panel of A's rows                              multiply
 *         for each panel of B's columns                       multiply
 *             for each step of K                              tile: its sums stay in registers
 *                 sums += a b                                 tile_step
 *
 * Products of few rows read the matrix without packing it (stream_columns_part; cpu_weights.c for
 * matrices that are stored transposed). Checked against plain loops in f64: multiply_plainly in
 * tests/unit/model/compute/test_ops.c.
 */
#include <sched.h>
#include <stdatomic.h>

#include "common/base/least.h"
#include "model/compute/cpu.h"

/* The smaller of A and B is packed once and shared by the threads, in the last-level cache. It is
 * packed in pieces, each by the first thread that needs the piece. The larger is divided into
 * chunks. A thread takes a chunk, packs one slice of the sum at a time into its own memory, and
 * multiplies the slice while it is in its own cache. Products prefetch the next panels
 * and the memory that is packed next; with AMX only the next panels, with AVX2 nothing. */
enum {
    SLICE = 768,             /* most layers of panels that are multiplied at once */
    SHARED_FLOATS = 1 << 21, /* approximate size of the panels of the shared operand */
    OTHER_FLOATS = 3 << 19,  /* approximate size of the threads' panels and of the program */
    SHARED_LINES = 3072,     /* most rows or columns in these panels */
    ROW_PANELS = 8,     /* panels in a piece of A; two such pieces fit the second-level cache */
    COLUMNS = 64,       /* columns in a piece of B */
    PARTS_MAX = 4,      /* most parts that the shared operand is divided into (parts_for) */
    SMALL = 1 << 16,    /* products with fewer multiplications than this use one thread */
    UNCACHED = 1 << 19, /* results of at least so many numbers bypass the caches */
    COLUMN_GRAIN = 64,  /* columns of a streamed product */
};

uint64_t cpu_bytes(const struct ops_sizes *s)
{
    const int64_t panels = smaller(s->N, s->C) * (s->V > s->wide ? s->V : s->wide);
    return (uint64_t)(smaller(panels, SHARED_FLOATS) + OTHER_FLOATS) * sizeof(float);
}

/* ---- one product over all threads -------------------------------------------------------- */

/* A or B as a set of lines, each of K numbers: the rows of A or the columns of B. Lines begin to
 * end - 1 take part, in pieces of whole panels. */
struct operand {
    struct ops_array x;
    int64_t ld;
    int of_rows; /* 1: A; 0: B */
    int across;  /* 1: neighbours in memory belong to different lines */
    int tile;    /* lines of a panel */
    int most;    /* panels of a piece */
    int64_t begin, end, pieces;
};

enum state { UNPACKED, TAKEN, PACKED };

/* The part of a product that sums from k0 to k1, in slices. */
struct block {
    const struct kernel_products *p;
    const struct ops_matmul *s;
    struct operand shared, chunks;
    struct ops_matrix partial; /* where sums are kept until the last slice: C, or f32 memory */
    int64_t k0, k1, slice, slices;
    float *panels;        /* panels of the shared operand */
    int64_t slice_floats; /* floats of these panels in each slice */
    atomic_uchar *states; /* state of its pieces, slice by slice */
    float *own;           /* panels of a chunk, for each thread */
    int64_t own_floats;
    int64_t parts; /* parts of the shared operand; a thread takes a chunk and one part */
    int threads;
};

struct piece {
    int64_t begin, lines;
};

static struct piece piece_at(const struct operand *f, int64_t i)
{
    int64_t panels = pieces(f->end - f->begin, f->tile);
    int64_t begin = f->begin + panels * i / f->pieces * f->tile;
    int64_t end = f->begin + panels * (i + 1) / f->pieces * f->tile;
    return (struct piece){ begin, smaller(end, f->end) - begin };
}

static struct ops_array source(const struct operand *f, int64_t line, int64_t k)
{
    int64_t row = f->across ? k : line, place = f->across ? line : k;
    return ops_part(f->x, row * f->ld + place);
}

/* Returns the number of values of k, the index of the sum, in the slice that begins at k. */
static int64_t steps_at(const struct block *b, int64_t k)
{
    return smaller(b->slice, b->k1 - k);
}

/* Returns the memory that packing piece i of operand f will read, in the slice of the sum that
 * begins at k, so that a product can prefetch it. The memory is divided into `parts` equal shares;
 * returns the share with number `part`. */
static struct kernel_ahead ahead(const struct block *b, const struct operand *f, int64_t i,
                                 int64_t k, int64_t part, int64_t parts)
{
    struct piece p = piece_at(f, i);
    int64_t rows = f->across ? steps_at(b, k) : p.lines;
    int64_t numbers = f->across ? p.lines : steps_at(b, k);
    int64_t beyond = f->across && f->of_rows ? 32 : 0; /* where the last vector may end */
    int64_t bytes = (int64_t)ops_type_bytes(f->x.type);
    int64_t begin = rows * part / parts, end = rows * (part + 1) / parts;
    return (struct kernel_ahead){ .at = f->across ? source(f, p.begin, k + begin).address
                                                  : source(f, p.begin + begin, k).address,
                                  .rows = end - begin,
                                  .bytes = numbers * bytes + beyond,
                                  .ld = f->ld * bytes };
}

/* Packs the piece p of operand f, in the slice that begins at k, into `panels`. `once` 1: no other
 * thread packs these lines, so the sums of the columns are added here. */
static void pack(const struct block *b, const struct operand *f, float *panels, struct piece p,
                 int64_t k, int once)
{
    struct ops_array from = source(f, p.begin, k);
    int64_t steps = steps_at(b, k);
    float *sums = once ? cpu_floats(ops_part(b->s->sums, p.begin)) : NULL;
    if (f->of_rows)
        b->p->pack_rows(panels, from, f->ld, f->across, p.lines, steps, 1);
    else
        b->p->pack_columns(panels, sums, from, f->ld, !f->across, p.lines, steps);
}

static atomic_uchar *state_at(const struct block *b, int64_t i, int64_t k)
{
    return b->states + (k - b->k0) / b->slice * b->shared.pieces + i;
}

/* Returns the panels of piece p of the shared operand in the slice at k. */
static float *shared_panels(const struct block *b, struct piece p, int64_t k)
{
    return b->panels + (k - b->k0) / b->slice * b->slice_floats +
           (p.begin - b->shared.begin) * kernel_depth(b->p, steps_at(b, k));
}

/* Returns the packed panels of piece i in the slice at k. The first thread that calls this packs
 * them; other threads wait for it. The slices of a piece are packed in order. */
static const float *packed(const struct block *b, int64_t i, struct piece p, int64_t k)
{
    float *panels = shared_panels(b, p, k);
    atomic_uchar *state = state_at(b, i, k);
    unsigned char found = UNPACKED;
    if (atomic_load_explicit(state, memory_order_acquire) == PACKED)
        return panels;
    if (atomic_compare_exchange_strong(state, &found, TAKEN)) {
        pack(b, &b->shared, panels, p, k, 1);
        atomic_store_explicit(state, PACKED, memory_order_release);
    }
    while (atomic_load_explicit(state, memory_order_acquire) != PACKED)
        sched_yield();
    return panels;
}

/* Sets next[] to the memory to prefetch for piece i: its panels, which may be in another thread's
 * cache, and the matrix that they are packed from, if they are not packed yet. */
static void ask_piece(const struct block *b, int64_t i, int64_t k, struct kernel_ahead next[2])
{
    struct piece p = piece_at(&b->shared, i);
    int missing = atomic_load_explicit(state_at(b, i, k), memory_order_relaxed) == UNPACKED;
    int64_t lines = pieces(p.lines, b->shared.tile) * b->shared.tile;
    next[0] = (struct kernel_ahead){ .at = (char *)shared_panels(b, p, k),
                                     .rows = 1,
                                     .writes = missing,
                                     .bytes = 4 * lines * kernel_depth(b->p, steps_at(b, k)) };
    if (missing)
        next[1] = ahead(b, &b->shared, i, k, 0, 1);
}

static struct ops_array corner(const struct ops_matrix *m, int64_t row, int64_t column)
{
    return ops_part(m->x, row * m->ld + column);
}

/* Multiplies a packed chunk with piece i in the slice at k. */
static void multiply_pieces(const struct block *b, const float *own, struct piece chunk, int64_t i,
                            int64_t k, const struct kernel_ahead next[KERNEL_AHEAD])
{
    const struct ops_matmul *s = b->s;
    int of_rows = b->shared.of_rows;
    struct piece piece = piece_at(&b->shared, i);
    struct piece rows = of_rows ? piece : chunk, columns = of_rows ? chunk : piece;
    const float *panels = packed(b, i, piece, k);
    int64_t depth = kernel_depth(b->p, steps_at(b, k));
    const struct ops_matrix *to = k + b->slice < s->K ? &b->partial : &s->C;
    struct ops_matrix base = k ? b->partial : (struct ops_matrix){ s->base, s->C.ld, 0 };
    struct ops_array bias = k ? OPS_NONE : s->bias;
    b->p->multiply(&(struct kernel_product){ .C = corner(to, rows.begin, columns.begin),
                                             .base = corner(&base, rows.begin, columns.begin),
                                             .bias = ops_part(bias, columns.begin),
                                             .ldc = to->ld,
                                             .ld_base = base.ld,
                                             .A = of_rows ? panels : own,
                                             .B = of_rows ? own : panels,
                                             .a_depth = depth,
                                             .M = rows.lines,
                                             .N = columns.lines,
                                             .depth = depth,
                                             .uncached = base.x.address != to->x.address &&
                                                         to == &s->C && s->M * s->N >= UNCACHED,
                                             .ahead = { next[0], next[1], next[2] } });
}

/* Multiplies a chunk with the pieces of one part. Threads begin at different pieces, so that each
 * packs some. The next chunk is prefetched in as many steps as there are pieces. */
static void multiply_chunk(void *ctx, int64_t unit, int thread)
{
    const struct block *b = ctx;
    float *own = b->own + thread * b->own_floats;
    int64_t c = unit / b->parts, part = unit % b->parts;
    int64_t begin = b->shared.pieces * part / b->parts;
    int64_t n = b->shared.pieces * (part + 1) / b->parts - begin, first = thread * n / b->threads;
    struct piece chunk = piece_at(&b->chunks, c);
    for (int64_t k = b->k0; k < b->k1; k += b->slice) {
        int last = k + b->slice >= b->k1;
        int64_t next_chunk = (unit + last) / b->parts;
        pack(b, &b->chunks, own, chunk, k, !b->shared.begin && !part);
        for (int64_t i = 0; i < n; i++) {
            int64_t now = begin + (first + i) % n, then = begin + (first + i + 1) % n;
            struct kernel_ahead next[KERNEL_AHEAD] = { 0 };
            ask_piece(b, then, k, next);
            if (next_chunk < b->chunks.pieces)
                next[2] = ahead(b, &b->chunks, next_chunk, last ? b->k0 : k + b->slice, i, n);
            multiply_pieces(b, own, chunk, now, k, next);
        }
    }
}

static void multiply_block(struct ops *o, struct block *b, int threaded)
{
    int64_t units = b->chunks.pieces * b->parts;
    memset(b->states, UNPACKED, (size_t)(b->slices * b->shared.pieces));
    if (threaded)
        pool_each(o->pool, units, multiply_chunk, b);
    else
        for (int64_t unit = 0; unit < units; unit++)
            multiply_chunk(b, unit, 0);
}

/* Returns into how many parts, at most `panels`, the panels of the shared operand are divided. A
 * task of a thread multiplies one chunk of the other operand with one part. With few chunks for
 * each thread, some threads would have no task, or one more than others. More parts balance the
 * work, but a chunk is packed again for each part, so more parts are used only if that saves a
 * tenth of the time. */
static int64_t parts_for(int64_t chunks, int64_t panels, int threads)
{
    int64_t best = 1;
    for (int64_t parts = 2; parts <= smaller(PARTS_MAX, panels); parts++)
        if (10 * pieces(chunks * parts, threads) * best <
            9 * pieces(chunks * best, threads) * parts)
            best = parts;
    return best;
}

/* Divides the lines [begin, end) into as few pieces as possible, or into a multiple of `even`
 * pieces. */
static void cut(struct operand *f, int64_t begin, int64_t end, int64_t even)
{
    int64_t panels = pieces(end - begin, f->tile);
    f->begin = begin;
    f->end = end;
    f->pieces = smaller(pieces(panels, f->most * even) * even, panels);
}

/* Divides the sum over K into slices of equal size, so that the last is not small, and computes the
 * size of the panels of `lines` lines of the shared operand in each slice. */
static void lay_out(struct ops *o, struct block *b, int64_t lines)
{
    int64_t layers = kernel_depth(b->p, b->s->K), slices = pieces(layers, SLICE);
    layers = pieces(layers, slices);
    b->slice = layers * b->p->steps;
    b->slice_floats = lines * layers;
    b->chunks.most = larger(b->chunks.most, b->p->kept_floats / (b->chunks.tile * layers));
    int64_t fit = SHARED_FLOATS / b->slice_floats;
    b->slices = smaller(slices, fit > 0 ? fit : 1);
    b->own_floats = pieces(b->chunks.most * b->chunks.tile * layers, 16) * 16;
    int64_t shared = pieces(b->slices * b->slice_floats, 16) * 16;
    int in_c = b->s->C.x.type == OPS_F32 || slices == 1;
    int64_t partial = in_c ? 0 : pieces(b->s->M * b->s->N, 16) * 16;
    b->own = cpu_at_least(o, &o->panels,
                          partial + o->threads * b->own_floats + shared + b->slices * lines);
    b->partial = in_c ? b->s->C : (struct ops_matrix){ cpu_f32(b->own), b->s->N, 0 };
    b->own += partial;
    b->panels = b->own + o->threads * b->own_floats;
    b->states = (atomic_uchar *)(b->panels + shared);
}

static struct operand operand(const struct ops_matrix *m, int of_rows, int tile)
{
    return (struct operand){ .x = m->x,
                             .ld = m->ld,
                             .of_rows = of_rows,
                             .across = of_rows ? m->transposed : !m->transposed,
                             .tile = tile,
                             .most = of_rows ? ROW_PANELS : COLUMNS / tile };
}

void cpu_matmul(struct ops *o, const struct ops_matmul *s)
{
    const struct kernel_products *p = cpu_products(o);
    const int64_t M = s->M, N = s->N, K = s->K;
    if (o->openblas && o->precision == OPS_F32) {
        cpu_openblas_matmul(o, s);
        return;
    }
    int shares_a = M <= N;
    struct operand a = operand(&s->A, 1, p->tile_rows), c = operand(&s->B, 0, p->tile_columns);
    struct block b = { .p = p,
                       .s = s,
                       .shared = shares_a ? a : c,
                       .chunks = shares_a ? c : a,
                       .threads = o->threads };
    int64_t shared = shares_a ? M : N, tile = b.shared.tile;
    int64_t lines = pieces(pieces(shared, pieces(shared, SHARED_LINES)), tile) * tile;
    lay_out(o, &b, lines);
    cut(&b.chunks, 0, shares_a ? N : M, o->threads);
    for (int64_t begin = 0; begin < shared; begin += lines) {
        int64_t end = smaller(begin + lines, shared);
        b.parts = parts_for(b.chunks.pieces, pieces(end - begin, tile), o->threads);
        cut(&b.shared, begin, end, b.parts);
        for (b.k0 = 0; b.k0 < K; b.k0 = b.k1) {
            b.k1 = smaller(b.k0 + b.slices * b.slice, K);
            multiply_block(o, &b, (double)M * (double)N * (double)K >= SMALL);
        }
    }
}

/* ---- few rows: w is streamed ------------------------------------------------------------- */

/* A product y = base + x w + bias of few rows. base and the map's bias may be OPS_NONE. */
struct streamed {
    const struct kernels *k;
    struct ops_array y, base, x;
    const struct ops_linear *l;
};

/* Sets rows of y to base + bias, to which the product is added. */
static void begin_rows(void *ctx, int64_t begin, int64_t end, int)
{
    const struct streamed *s = ctx;
    const struct ops_array bias = s->l->bias;
    const int64_t O = s->l->O;
    for (int64_t n = begin; n < end; n++) {
        struct ops_array y = ops_part(s->y, n * O), base = ops_part(s->base, n * O);
        if (!ops_is_none(base) && !ops_is_none(bias))
            s->k->sum(y, base, bias, O);
        else if (!ops_is_none(base) || !ops_is_none(bias))
            s->k->copy(y, ops_is_none(base) ? bias : base, O);
        else
            memset(y.address, 0, (size_t)O * sizeof(float));
    }
}

static void stream_columns_part(void *ctx, int64_t begin, int64_t end, int)
{
    const struct streamed *s = ctx;
    const struct ops_linear *l = s->l;
    s->k->stream_columns(cpu_floats(s->y) + begin, l->O, cpu_floats(s->x), l->I, l->N,
                         ops_part(l->w, begin), l->O, l->I, end - begin);
}

/* ---- linear maps ------------------------------------------------------------------------- */

/* y = base + x w + bias. */
static void affine(struct ops *o, struct ops_array y, struct ops_array base, struct ops_array x,
                   const struct ops_linear *l)
{
    struct streamed s = { o->k, y, base, x, l };
    if (l->turned) {
        cpu_turned_fwd(o, y, 0, base, x, l, 1, 0);
        return;
    }
    if (l->N > OPS_FEW_ROWS || y.type != OPS_F32 || x.type != OPS_F32) {
        const struct ops_matmul p = ops_product(y, base, x, l);
        ops_matmul(o, &p);
        return;
    }
    pool_for(o->pool, l->N, cpu_row_grain(l->O), begin_rows, &s);
    pool_for(o->pool, l->O, COLUMN_GRAIN, stream_columns_part, &s);
}

void cpu_linear_fwd(struct ops *o, struct ops_array y, struct ops_array x,
                    const struct ops_linear *l, int count)
{
    if (l->turned)
        cpu_turned_fwd(o, y, 0, OPS_NONE, x, l, count, 0);
    else
        for (int i = 0; i < count; y = ops_part(y, l[i].N * l[i].O), i++)
            affine(o, y, OPS_NONE, x, &l[i]);
}

struct columns {
    const struct kernels *k;
    float *sums;
    struct ops_array x;
    int64_t rows, ld;
};

static void sum_columns(void *ctx, int64_t begin, int64_t end, int)
{
    const struct columns *c = ctx;
    c->k->column_sums(c->sums + begin, ops_part(c->x, begin), c->ld, c->rows, end - begin);
}

void cpu_column_sums(struct ops *o, struct ops_gradient to, struct ops_array x, int64_t ld,
                     int64_t rows, int64_t n)
{
    if (!to.add)
        memset(to.to.address, 0, (size_t)n * sizeof(float));
    pool_for(o->pool, n, COLUMN_GRAIN, sum_columns,
             &(struct columns){ o->k, cpu_floats(to.to), x, rows, ld });
}

void cpu_linear_bwd(struct ops *o, struct ops_gradient dx, struct ops_gradient dw,
                    struct ops_gradient dbias, struct ops_array dy, struct ops_array x,
                    const struct ops_linear *l)
{
    const struct ops_matrix d = { dy, l->O, 0 };
    const struct ops_matmul p = ops_product_dx(dx, d, l);
    struct ops_matmul q = ops_product_dw(dw, x, d, l);
    assert(!l->turned);
    if (!ops_is_none(dx.to))
        ops_matmul(o, &p);
    if (ops_is_none(dw.to)) {
        if (!ops_is_none(dbias.to))
            cpu_column_sums(o, dbias, dy, l->O, l->N, l->O);
        return;
    }
    if (!ops_is_none(dbias.to) && !dbias.add)
        memset(dbias.to.address, 0, (size_t)l->O * sizeof(float));
    q.sums = dbias.to;
    ops_matmul(o, &q);
}

/* ---- residual branches -------------------------------------------------------------------- */

struct residual {
    const struct kernels *k;
    struct ops_array y, base;
    int64_t O;
    struct ops_mask mask;
};

static void residual_rows(void *ctx, int64_t begin, int64_t end, int)
{
    const struct residual *r = ctx;
    int64_t first = begin * r->O;
    struct ops_array y = ops_part(r->y, first);
    r->k->dropout(y, ops_part(r->base, first), y, (end - begin) * r->O, &r->mask, (uint64_t)first);
}

void cpu_residual_fwd(struct ops *o, struct ops_array y, struct ops_array base, struct ops_array x,
                      const struct ops_linear *l, struct ops_dropout drop)
{
    struct residual r = { o->k, y, base, l->O, ops_mask_of(drop) };
    affine(o, y, r.mask.threshold ? OPS_NONE : base, x, l);
    /* an even number of rows per piece, because masks are computed in pairs */
    if (r.mask.threshold)
        pool_for(o->pool, l->N, 2 * cpu_row_grain(l->O), residual_rows, &r);
}
