/*
 * cpu_weights.c - CPU back end: products with weights that are [out,in], in f32, bf16, f16 or in
 * groups of blocks of integers (stored.h).
 *
 * When a text is generated, these products read much memory and compute little. So they have few
 * stages: the rows are converted once for all maps that read them, and each thread takes chunks of
 * outputs, which it completes with bias and base.
 */

#include "common/base/least.h"
#include "model/compute/cpu.h"
#include "model/compute/stored.h"

enum {
    OUTPUTS = STORED_GROUP,
    WIDEN_CHUNK = 1024,    /* f16 outputs that are converted to f32 at a time */
    PREPARE_GRAIN = 8192,  /* minimum numbers of rows to prepare per thread */
    ROWS_BYTES = 1 << 19,  /* bytes of quantized rows per pass over a chunk of weights */
    CHUNK_BYTES = 1 << 17, /* about the bytes of weights in a chunk for few rows */
    CHUNKS = 8,            /* minimum chunks per thread, if there are enough outputs */
    ALL_ROWS = 1 << 30,    /* more rows than any product has */
    PANELS = 32,           /* rows at a time are a multiple of these, or all */
};

/* ---- products in chunks of outputs --------------------------------------------------------- */

/* y[N,O] = base[N,O] + x[N,I] w^T + bias for each of `count` maps of the same rows. A row has the
 * same bits whatever the number of rows is. */
struct product {
    const struct kernels *k;
    const struct form *form;
    const struct ops_linear *maps;
    int count;
    struct ops_array x, base; /* base: of a single map, or OPS_NONE */
    struct ops_array y;       /* the first map's y; those of the other maps follow it */
    int64_t ldy;              /* numbers from a row of y to the next; 0: O */
    float *rows;              /* x as the form's kernel reads it */
    int parts;                /* parts of each row: 1 or 2 (struct kernel_blocks) */
    int64_t first, N;         /* the rows that are multiplied at this time */
    int64_t chunk;            /* outputs of a chunk */
};

/* Some outputs of a map, for the rows that are multiplied now: y[N,n], with rows ld numbers
 * apart. */
struct outputs {
    const struct ops_linear *map;
    int64_t begin, n, ld;
    float *y;
};

/* A way to compute a struct product. */
struct form {
    int64_t rows;        /* most rows at a time */
    int64_t step;        /* numbers of a row that are prepared together */
    int64_t step_floats; /* floats that they need */
    int64_t outputs;     /* the kernel is fastest with multiples of this number */
    /* Prepares the steps [begin, end) of each row; NULL: the kernel reads x itself. */
    void (*prepare)(const struct product *p, int64_t begin, int64_t end);
    void (*multiply)(const struct product *p, const struct outputs *to);
};

static struct ops_array row_of(const struct product *p, int64_t n)
{
    return ops_part(p->x, (p->first + n) * p->maps->I);
}

static void prepare_steps(void *ctx, int64_t begin, int64_t end, int)
{
    const struct product *p = ctx;
    p->form->prepare(p, begin, end);
}

/* Returns chunk number i, counted through the chunks of all maps. */
static struct outputs chunk_at(const struct product *p, int64_t i)
{
    const struct ops_linear *map = p->maps;
    int64_t before = 0; /* numbers of y that belong to the maps before */
    for (; i >= pieces(map->O, p->chunk); map++) {
        i -= pieces(map->O, p->chunk);
        before += map->N * map->O;
    }
    const int64_t begin = i * p->chunk, ld = p->ldy ? p->ldy : map->O;
    return (struct outputs){ map, begin, smaller(p->chunk, map->O - begin), ld,
                             cpu_floats(p->y) + before + p->first * ld + begin };
}

static void multiply_chunk(void *ctx, int64_t i, int)
{
    const struct product *p = ctx;
    const struct outputs to = chunk_at(p, i);
    const struct ops_linear *l = to.map;
    p->form->multiply(p, &to);
    for (int64_t n = 0; n < p->N; n++) {
        const struct ops_array y = cpu_f32(to.y + n * to.ld);
        if (!ops_is_none(p->base))
            p->k->add(y, ops_part(p->base, (p->first + n) * l->O + to.begin), to.n);
        if (!ops_is_none(l->bias))
            p->k->add(y, ops_part(l->bias, to.begin), to.n);
    }
}

/* Returns how many outputs a chunk has. Chunks of few rows are small, so that threads that are
 * ahead help the others; for many rows, a thread's weights stay in its cache. */
static int64_t chunk_of(const struct product *p, int threads)
{
    const struct ops_linear *l = p->maps;
    const int64_t unit = p->form->outputs;
    int64_t units = 0;
    for (int i = 0; i < p->count; i++)
        units += pieces(l[i].O, unit);
    if (p->N > OPS_FEW_ROWS)
        return pieces(units, 2 * threads) * unit;
    const int64_t bytes = unit * (int64_t)stored_bytes(l->w.type, l->I);
    return smaller(pieces(CHUNK_BYTES, bytes), pieces(units, CHUNKS * threads)) * unit;
}

static void run(struct ops *o, struct product *p)
{
    const struct form *f = p->form;
    const int64_t all = p->maps->N, times = pieces(all, f->rows),
                  some = pieces(pieces(all, times), PANELS) * PANELS,
                  steps = pieces(p->maps->I, f->step);
    int64_t chunks = 0;
    p->k = o->k;
    p->parts = stored_grouped(p->maps->w.type) && p->maps->fine ? 2 : 1;
    p->N = smaller(some, all);
    p->chunk = chunk_of(p, o->threads);
    for (int i = 0; i < p->count; i++)
        chunks += pieces(p->maps[i].O, p->chunk);
    if (f->prepare)
        p->rows = cpu_at_least(o, &o->operands, p->N * p->parts * steps * f->step_floats);
    for (; p->first < all; p->first += some) {
        p->N = smaller(some, all - p->first);
        if (f->prepare)
            pool_for(o->pool, steps, pieces(PREPARE_GRAIN, p->N * f->step), prepare_steps, p);
        pool_each(o->pool, chunks, multiply_chunk, p);
    }
}

/* ---- weights in blocks: rows are rounded to blocks of 8-bit integers ------------------------ */

static char *band_of(const struct product *p, int64_t n)
{
    return (char *)p->rows +
           n / KERNEL_BAND * KERNEL_BAND * pieces(p->maps->I, STORED_BLOCK) * KERNEL_BLOCK_BYTES;
}

static void prepare_blocks(const struct product *p, int64_t begin, int64_t end)
{
    const int64_t all = p->N * p->parts;
    for (int64_t n = 0; n < all; n += p->parts) {
        const int64_t row = n % KERNEL_BAND, rows = smaller(KERNEL_BAND, all - (n - row));
        p->k->to_blocks(band_of(p, n) + begin * rows * KERNEL_BLOCK_BYTES, row, rows, p->parts,
                        ops_part(row_of(p, n / p->parts), begin * STORED_BLOCK), end - begin);
    }
}

/* Multiplies rows by weights in blocks. Each pass takes only as many rows as fit in the L2 cache
 * beside the weights that stream through it. */
static void multiply_blocks(const struct product *p, const struct outputs *to)
{
    const int64_t blocks = p->maps->I / STORED_BLOCK, row_bytes = blocks * KERNEL_BLOCK_BYTES;
    const int64_t fit = ROWS_BYTES / row_bytes / KERNEL_BAND * KERNEL_BAND,
                  most = fit > KERNEL_BAND ? fit : KERNEL_BAND, all = p->N * p->parts;
    const enum ops_type type = to->map->w.type;
    const char *w = to->map->w.address +
                    to->begin / OUTPUTS * (int64_t)stored_group_bytes(type, to->map->I);
    for (int64_t n = 0; n < all; n += most) {
        const struct kernel_blocks x = { band_of(p, n), smaller(most, all - n), blocks, type,
                                         p->parts };
        p->k->multiply_blocks(to->y + n / p->parts * to->ld, to->ld, &x, w, to->n);
    }
}

static const struct form in_blocks = { ALL_ROWS, STORED_BLOCK,   KERNEL_BLOCK_BYTES / sizeof(float),
                                       OUTPUTS,  prepare_blocks, multiply_blocks };

/* ---- few rows ------------------------------------------------------------------------------- */

static void prepare_few(const struct product *p, int64_t begin, int64_t end)
{
    const int64_t I = p->maps->I;
    p->k->pack_few(p->rows, cpu_floats(row_of(p, 0)), I, p->N, I, begin, end);
}

static void multiply_few(const struct product *p, const struct outputs *to)
{
    const int64_t I = to->map->I;
    p->k->stream_rows(to->y, to->ld, p->rows ? p->rows : cpu_floats(row_of(p, 0)), p->N,
                      ops_part(to->map->w, to->begin * I), I, I, to->n);
}

static const struct form of_few = { OPS_FEW_ROWS, KERNEL_FEW,  KERNEL_FEW,
                                    KERNEL_LINES, prepare_few, multiply_few };
static const struct form of_one = { 1, KERNEL_FEW, 0, KERNEL_LINES, NULL, multiply_few };

/* ---- weights in bf16 or f16, by tile registers ---------------------------------------------- */

static void prepare_parts(const struct product *p, int64_t begin, int64_t end)
{
    const int64_t I = p->maps->I;
    p->k->split_rows(p->rows, cpu_floats(row_of(p, 0)), I, p->N, I, begin, end, p->maps->w.type);
}

static void multiply_parts(const struct product *p, const struct outputs *to)
{
    const int64_t I = to->map->I;
    p->k->multiply_split(to->y, to->ld, p->rows, p->N, ops_part(to->map->w, to->begin * I), I,
                         to->n);
}

static const struct form in_parts = {
    KERNEL_SPLIT_ROWS, KERNEL_STEP,   KERNEL_STEP / 2 * KERNEL_PARTS,
    2 * OUTPUTS,       prepare_parts, multiply_parts
};

/* ---- products with any type of weights ---------------------------------------------------- */

/* Returns 1 if tile registers compute the product, else 0. For few rows and f16 they are slower. */
static int by_tiles(const struct ops *o, const struct ops_linear *l)
{
    const int few = l->N <= OPS_FEW_ROWS, many = o->precision == OPS_F32 && !o->openblas;
    if (!o->k->multiply_split)
        return 0;
    return l->w.type == OPS_BF16 ? few || many : l->w.type == OPS_F16 && !few && many;
}

/* Returns the form of the product, or NULL if it has none. in_order: not by tile registers, whose
 * order of sums differs from that of the other kernels. */
static const struct form *form_of(const struct ops *o, struct ops_array y, struct ops_array x,
                                  const struct ops_linear *l, int in_order)
{
    const int floats = x.type == OPS_F32 && y.type == OPS_F32;
    if (stored_grouped(l->w.type))
        return &in_blocks;
    if (!in_order && floats && by_tiles(o, l))
        return &in_parts;
    if (floats && l->N <= OPS_FEW_ROWS)
        return l->N == 1 ? &of_one : &of_few;
    return NULL;
}

/* Computes y[N,O] = x[N,I] w^T for many rows. The weights are not in blocks. Those in f16 are
 * converted to f32, WIDEN_CHUNK outputs at a time. */
static void multiply_packed(struct ops *o, struct ops_array y, int64_t ldy, struct ops_array x,
                            const struct ops_linear *l)
{
    const int half = l->w.type == OPS_F16;
    const int64_t chunk = half ? smaller(l->O, WIDEN_CHUNK) : l->O;
    struct ops_array w = half ? cpu_f32(cpu_at_least(o, &o->operands, chunk * l->I)) : l->w;
    for (int64_t first = 0; first < l->O; first += chunk) {
        const int64_t n = smaller(chunk, l->O - first);
        if (half)
            cpu_copy(o, w, ops_part(l->w, first * l->I), n * l->I);
        const struct ops_linear part = { .w = w, .N = l->N, .I = l->I, .O = n, .turned = 1 };
        struct ops_matmul p = ops_product(ops_part(y, first), OPS_NONE, x, &part);
        p.C.ld = ldy;
        ops_matmul(o, &p);
    }
}

struct sum {
    const struct kernels *k;
    struct ops_array y, base, bias;
    int64_t O, ld; /* rows of y and of base are ld apart */
};

static void add_rows(void *ctx, int64_t begin, int64_t end, int)
{
    const struct sum *s = ctx;
    for (int64_t n = begin; n < end; n++) {
        if (!ops_is_none(s->base))
            s->k->add(ops_part(s->y, n * s->ld), ops_part(s->base, n * s->ld), s->O);
        if (!ops_is_none(s->bias))
            s->k->add(ops_part(s->y, n * s->ld), s->bias, s->O);
    }
}

void cpu_turned_fwd(struct ops *o, struct ops_array y, int64_t ldy, struct ops_array base,
                    struct ops_array x, const struct ops_linear *l, int count, int in_order)
{
    const struct form *form = form_of(o, y, x, l, in_order);
    if (form) {
        struct product p = { .form = form, .maps = l, .count = count, .x = x, .base = base };
        p.y = y;
        p.ldy = ldy;
        run(o, &p);
        return;
    }
    for (int i = 0; i < count; y = ops_part(y, l[i].N * l[i].O), i++) {
        struct sum s = { o->k, y, base, l[i].bias, l[i].O, ldy ? ldy : l[i].O };
        multiply_packed(o, y, s.ld, x, &l[i]);
        if (!ops_is_none(base) || !ops_is_none(s.bias))
            pool_for(o->pool, l[i].N, cpu_row_grain(s.O), add_rows, &s);
    }
}

void cpu_logits(struct ops *o, struct ops_array logits, int64_t ld, struct ops_array x, int64_t N,
                const struct ops_decoder *d, int training)
{
    const struct ops_linear l = {
        .w = d->table, .bias = d->bias, .N = N, .I = d->C, .O = d->V, .turned = 1, .fine = 1
    };
    cpu_turned_fwd(o, logits, ld, OPS_NONE, x, &l, 1, training);
}
