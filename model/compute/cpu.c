/*
 * cpu.c - the CPU back end (backend.h): the context, its arrays, and operations on rows and
 * elements. Products, attention, losses and optimizers are in the files cpu_*.c.
 */
#include "model/compute/cpu.h"

#include <math.h>

#include "common/base/least.h"

enum {
    GRAIN = 8192,      /* numbers that are enough work for one thread */
    COLUMN_GRAIN = 64, /* columns of a sum over rows: a multiple of a cache line */
    NORM_BLOCK = 32,   /* rows of a norm whose gain gradients are summed at once */
};

/* ---- the context -------------------------------------------------------------------------- */

static int cpu_count(void)
{
    return 1;
}

/* Chooses what computes f32 products of large matrices: what the variable TEXTMILL_PRODUCTS says,
 * else our own kernels or, if there are none for this processor, OpenBLAS. */
static int choose_products(struct ops *o)
{
    const char *wanted = getenv("TEXTMILL_PRODUCTS");
    const int blas = wanted ? !strcmp(wanted, "openblas") : o->k == &kernels_plain;
    if (wanted && !blas && strcmp(wanted, "own") != 0)
        return err_set("TEXTMILL_PRODUCTS is '%s', not 'own' or 'openblas'", wanted);
    o->openblas = blas && cpu_openblas_open() == 0;
    if (wanted && blas && !o->openblas)
        return -1;
    snprintf(o->name, sizeof o->name, o->openblas ? "%s, products by OpenBLAS (%s)" : "%s",
             o->k->name, o->openblas ? cpu_openblas_core() : "");
    return 0;
}

static int cpu_open(struct ops *o, int)
{
    o->k = kernels_choose();
    if (!o->k || choose_products(o) < 0)
        return -1;
    o->pool = pool_new(o->threads);
    return 0;
}

static void cpu_close(struct ops *o)
{
    ops_room_free(o, &o->work);
    ops_room_free(o, &o->panels);
    ops_room_free(o, &o->operands);
    for (int i = 0; i < 2; i++)
        ops_room_free(o, &o->angles[i].table);
    pool_free(o->pool);
}

static const char *cpu_arithmetic(const struct ops *o)
{
    return o->openblas && o->precision == OPS_F32 ? o->name
                                                  : kernels_arithmetic(o->k, o->precision);
}

static uint64_t cpu_free_bytes(const struct ops *)
{
    return UINT64_MAX;
}

/* ---- arrays ------------------------------------------------------------------------------- */

/* Zeroes the array with all threads, because the first write to a page is expensive. */
static struct ops_array cpu_buffer(struct ops *o, enum ops_type type, int64_t n)
{
    /* huge pages, because large matrices are read in long strides */
    struct ops_array a = { mem_huge((size_t)n, ops_type_bytes(type)), type };
    ops_zero(o, a, n);
    return a;
}

static void cpu_buffer_free(struct ops *, struct ops_array a)
{
    free(a.address);
}

static void cpu_upload(struct ops *, struct ops_array to, const void *from, int64_t n)
{
    memcpy(to.address, from, (size_t)n * ops_type_bytes(to.type));
}

static void cpu_download(struct ops *, void *to, struct ops_array from, int64_t n)
{
    memcpy(to, from.address, (size_t)n * ops_type_bytes(from.type));
}

static void *cpu_map(struct ops *, struct ops_array a, int64_t)
{
    return a.address;
}

static void cpu_unmap(struct ops *, struct ops_array a, int64_t, void *mapped)
{
    assert(a.address == mapped);
    (void)a, (void)mapped;
}

/* The CPU has one memory and works in the order of the calls, so queues do nothing. Marks have no
 * event: ops.c neither waits for them nor frees them. */
static struct ops_array cpu_host_buffer(struct ops *o, int64_t bytes)
{
    return cpu_buffer(o, OPS_U8, bytes);
}

static void cpu_move(struct ops *, enum ops_queue, struct ops_array to, struct ops_array from,
                     int64_t n)
{
    memcpy(to.address, from.address, (size_t)n);
}

static void *cpu_map_later(struct ops *, struct ops_array a, int64_t, struct ops_mark *)
{
    return a.address;
}

float *cpu_at_least(struct ops *o, struct ops_room *r, int64_t floats)
{
    return cpu_floats(ops_room(o, r, OPS_F32, floats));
}

float *cpu_work(struct ops *o, int64_t floats)
{
    return cpu_at_least(o, &o->work, floats);
}

int64_t cpu_row_grain(int64_t C)
{
    return C >= GRAIN ? 1 : GRAIN / C;
}

/* ---- element by element ------------------------------------------------------------------- */

/* The arguments of a loop over elements. */
struct map {
    const struct kernels *k;
    void (*fn)(struct ops_array y, struct ops_array x, int64_t n);
    struct ops_array y, x;
    struct ops_mask mask;
    uint64_t first;
    int64_t columns, stride; /* for dropout: see struct ops_dropout */
};

static void zero_part(void *ctx, int64_t begin, int64_t end, int)
{
    const struct map *m = ctx;
    memset(ops_part(m->y, begin).address, 0, (size_t)(end - begin) * ops_type_bytes(m->y.type));
}

void cpu_zero(struct ops *o, struct ops_array x, int64_t n)
{
    int64_t grain = GRAIN * (int64_t)(sizeof(float)) / (int64_t)ops_type_bytes(x.type);
    pool_for(o->pool, n, grain, zero_part, &(struct map){ .y = x });
}

static void map_part(void *ctx, int64_t begin, int64_t end, int)
{
    const struct map *m = ctx;
    m->fn(ops_part(m->y, begin), ops_part(m->x, begin), end - begin);
}

void cpu_add(struct ops *o, struct ops_array y, struct ops_array x, int64_t n)
{
    pool_for(o->pool, n, GRAIN, map_part, &(struct map){ .fn = o->k->add, .y = y, .x = x });
}

void cpu_copy(struct ops *o, struct ops_array y, struct ops_array x, int64_t n)
{
    pool_for(o->pool, n, GRAIN, map_part, &(struct map){ .fn = o->k->copy, .y = y, .x = x });
}

struct gated {
    const struct kernels *k;
    struct ops_gate g;
    struct ops_array y, gate, up, dy, dgate, dup;
};

/* Computes elements begin to end - 1, row by row if the rows are apart. */
static void gated_part(void *ctx, int64_t begin, int64_t end, int)
{
    const struct gated *g = ctx;
    const int64_t I = g->g.ld == g->g.I ? g->g.N * g->g.I : g->g.I;
    for (int64_t i = begin, n; i < end; i += n) {
        const int64_t at = i / I * g->g.ld + i % I;
        struct ops_array y = ops_part(g->y, i), gate = ops_part(g->gate, at);
        struct ops_array up = ops_part(g->up, at);
        n = smaller(I - i % I, end - i);
        if (ops_is_none(g->dy))
            g->k->activation_fwd[g->g.f](y, gate, up, n);
        else
            g->k->activation_bwd[g->g.f](ops_part(g->dgate, at), ops_part(g->dup, at), y,
                                         ops_part(g->dy, i), gate, up, n);
    }
}

void cpu_gated_fwd(struct ops *o, const struct ops_gate *gate_of, struct ops_array y,
                   struct ops_array gate, struct ops_array up)
{
    struct gated g = { .k = o->k, .g = *gate_of, .y = y, .gate = gate, .up = up };
    pool_for(o->pool, g.g.N * g.g.I, GRAIN, gated_part, &g);
}

void cpu_gated_bwd(struct ops *o, const struct ops_gate *gate_of, struct ops_array dgate,
                   struct ops_array dup, struct ops_array y, struct ops_gradient sums,
                   struct ops_array dy, struct ops_array gate, struct ops_array up)
{
    struct gated g = { o->k, *gate_of, y, gate, up, dy, dgate, dup };
    pool_for(o->pool, g.g.N * g.g.I, GRAIN, gated_part, &g);
    if (!ops_is_none(sums.to))
        cpu_column_sums(o, sums, dgate, g.g.ld, g.g.N, g.g.I);
}

/* Runs in the calling thread: the arrays are too small for the pool. */
void cpu_tanh_fwd(struct ops *, struct ops_array x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        cpu_floats(x)[i] = tanhf(cpu_floats(x)[i]);
}

void cpu_tanh_bwd(struct ops *, struct ops_array d, struct ops_array y, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        cpu_floats(d)[i] *= 1 - cpu_floats(y)[i] * cpu_floats(y)[i];
}

/* ---- dropout ------------------------------------------------------------------------------ */

static void dropout_part(void *ctx, int64_t begin, int64_t end, int)
{
    const struct map *m = ctx;
    for (int64_t i = begin, n; i < end; i += n) {
        const int64_t row = i / m->columns, column = i % m->columns;
        n = m->columns - column < end - i ? m->columns - column : end - i;
        m->k->dropout(ops_part(m->y, i), OPS_NONE, ops_part(m->x, i), n, &m->mask,
                      m->first + (uint64_t)(row * m->stride + column));
    }
}

void cpu_dropout(struct ops *o, struct ops_array y, struct ops_array x, int64_t n,
                 struct ops_dropout drop)
{
    struct map m = { .k = o->k, .y = y, .x = x, .mask = ops_mask_of(drop), .first = drop.first };
    m.columns = drop.columns ? drop.columns : n;
    m.stride = drop.stride;
    if (m.mask.threshold)
        pool_for(o->pool, n, GRAIN, dropout_part, &m);
    else
        ops_copy(o, y, x, n);
}

/* ---- norms -------------------------------------------------------------------------------- */

struct norm {
    const struct kernels *k;
    const struct ops_norm *l;
    struct ops_array y, x;
    struct ops_moments kept;
    const struct ops_norm_bwd *b;
    float *sums; /* [blocks,2C] column sums of each block of rows */
    int64_t blocks;
};

/* Computes the moments of the rows, unless they are known, and the normalised rows if wanted. */
static void norm_fwd_rows(void *ctx, int64_t begin, int64_t end, int)
{
    const struct norm *s = ctx;
    const int64_t C = s->l->C;
    const int known = s->kept.known;
    float *means = cpu_floats(s->kept.mean), *rstds = cpu_floats(s->kept.rstd);
    for (int64_t n = begin; n < end; n++) {
        float mean = known && !s->l->rms ? means[n] : 0, rstd = known ? rstds[n] : 0;
        if (!known)
            s->k->norm_moments(&mean, &rstd, ops_part(s->x, n * C), s->l);
        if (!ops_is_none(s->y))
            s->k->norm_apply(ops_part(s->y, n * C), mean, rstd, ops_part(s->x, n * C), s->l);
        if (means)
            means[n] = mean;
        if (rstds)
            rstds[n] = rstd;
    }
}

void cpu_norm_fwd(struct ops *o, struct ops_array y, struct ops_moments kept, struct ops_array x,
                  const struct ops_norm *l)
{
    struct norm s = { .k = o->k, .l = l, .y = y, .x = x, .kept = kept };
    pool_for(o->pool, l->N, cpu_row_grain(l->C), norm_fwd_rows, &s);
}

static void norm_bwd_row(const struct norm *s, int64_t n, float *dgain, float *dbias)
{
    const int64_t C = s->l->C;
    const struct ops_norm_bwd *b = s->b;
    const struct ops_array dy = ops_part(b->dy, n * C), x = ops_part(b->x, n * C);
    const float mean = s->l->rms ? 0 : cpu_floats(b->kept.mean)[n];
    const float rstd = cpu_floats(b->kept.rstd)[n];
    float *kept = cpu_floats(b->sums),
          sums[2] = { kept ? kept[n] : 0, kept ? kept[s->l->N + n] : 0 };
    if (dgain)
        s->k->norm_sums(sums, dgain, dbias, dy, x, mean, rstd, s->l);
    if (!ops_is_none(b->dx.to)) {
        s->k->norm_dx(ops_gradient_part(b->dx, n * C), sums, dy, x, mean, rstd, s->l);
    } else {
        kept[n] = sums[0];
        kept[s->l->N + n] = sums[1];
    }
}

/* Sums the gradients of gain and bias over each block of rows into sums[block,2C]. The blocks do
 * not depend on the number of threads, and their sums are added in order, so the bits are the
 * same. */
static void norm_bwd_blocks(void *ctx, int64_t begin, int64_t end, int)
{
    const struct norm *s = ctx;
    const int64_t C = s->l->C;
    memset(s->sums + 2 * C * begin, 0, (size_t)(2 * C * (end - begin)) * sizeof *s->sums);
    for (int64_t n = begin * NORM_BLOCK; n < end * NORM_BLOCK && n < s->l->N; n++) {
        float *sums = s->sums + n / NORM_BLOCK * 2 * C;
        norm_bwd_row(s, n, sums, sums + C);
    }
}

static void norm_dx_rows(void *ctx, int64_t begin, int64_t end, int)
{
    for (int64_t n = begin; n < end; n++)
        norm_bwd_row(ctx, n, NULL, NULL);
}

static void norm_sum_columns(void *ctx, int64_t begin, int64_t end, int)
{
    const struct norm *s = ctx;
    const int64_t C = s->l->C;
    const struct ops_gradient to[] = { s->b->dgain, s->b->dbias };
    for (int i = 0; i < 2 && !ops_is_none(to[i].to); i++) {
        float *sums = cpu_floats(to[i].to) + begin;
        if (!to[i].add)
            memset(sums, 0, (size_t)(end - begin) * sizeof *sums);
        s->k->column_sums(sums, cpu_f32(s->sums + i * C + begin), 2 * C, s->blocks, end - begin);
    }
}

void cpu_norm_bwd(struct ops *o, const struct ops_norm_bwd *b, const struct ops_norm *l)
{
    struct norm s = { .k = o->k, .l = l, .b = b };
    if (!ops_is_none(b->y))
        cpu_norm_fwd(o, b->y, (struct ops_moments){ b->kept.mean, b->kept.rstd, 1 }, b->x, l);
    if (!ops_is_none(b->before.to))
        cpu_column_sums(o, b->before, b->dx.to, l->C, l->N, l->C);
    if (ops_is_none(b->dgain.to)) {
        pool_for(o->pool, l->N, cpu_row_grain(l->C), norm_dx_rows, &s);
        return;
    }
    s.blocks = (l->N + NORM_BLOCK - 1) / NORM_BLOCK;
    s.sums = cpu_work(o, s.blocks * 2 * l->C);
    pool_for(o->pool, s.blocks, 1, norm_bwd_blocks, &s);
    pool_for(o->pool, l->C, COLUMN_GRAIN, norm_sum_columns, &s);
}

void cpu_norm_join(struct ops *, struct ops_moments kept, struct ops_array parts, int ranks,
                   const struct ops_norm *l)
{
    const int64_t N = l->N, each = l->rms ? N : 2 * N;
    const float *from = cpu_floats(parts);
    for (int64_t i = 0; i < N; i++) {
        double mean = 0, squares = 0;
        for (int q = 0; q < ranks && !l->rms; q++)
            mean += (double)from[q * each + N + i] / ranks;
        for (int q = 0; q < ranks; q++) {
            const double r = from[q * each + i], d = l->rms ? 0 : from[q * each + N + i] - mean;
            squares += (1 / (r * r) + d * d) / ranks;
        }
        cpu_floats(kept.rstd)[i] = (float)(1 / sqrt(squares));
        if (!l->rms)
            cpu_floats(kept.mean)[i] = (float)mean;
    }
}

/* ---- sums --------------------------------------------------------------------------------- */

struct squares {
    const struct kernels *k;
    const float *x;
    double *blocks;
    int64_t n;
};

static void squares_part(void *ctx, int64_t begin, int64_t end, int)
{
    struct squares *s = ctx;
    for (int64_t b = begin; b < end; b++) {
        int64_t first = b * OPS_PIECE, rest = s->n - first;
        s->blocks[b] = s->k->sum_squares(s->x + first, rest < OPS_PIECE ? rest : OPS_PIECE);
    }
}

static void square_pieces(struct ops *o, double *pieces, const float *x, int64_t n)
{
    struct squares s = { .k = o->k, .x = x, .n = n, .blocks = pieces };
    pool_for(o->pool, ops_pieces(n), 1, squares_part, &s);
}

double cpu_squares(struct ops *o, struct ops_array x, int64_t n)
{
    const int64_t count = ops_pieces(n);
    double *pieces = (double *)(void *)cpu_work(o, 2 * count), total = 0;
    square_pieces(o, pieces, cpu_floats(x), n);
    for (int64_t i = 0; i < count; i++)
        total += pieces[i];
    return total;
}

void cpu_normalise(struct ops *o, struct ops_array x, int64_t n)
{
    const double norm = sqrt(cpu_squares(o, x, n));
    cpu_blend(o, x, 1 / (norm > 1e-30 ? norm : 1e-30), x, 0, n);
}

void cpu_sum_squares(struct ops *o, struct ops_array sums, struct ops_array x,
                     const struct ops_run *runs, int count)
{
    for (int i = 0; i < count; i++)
        square_pieces(o, (double *)(void *)sums.address + runs[i].sum,
                      cpu_floats(x) + runs[i].first, runs[i].n);
}

void cpu_add_sum(struct ops *, struct ops_array sum, struct ops_array x, int64_t n)
{
    double total = *(double *)(void *)sum.address;
    for (int64_t i = 0; i < n; i++)
        total += x.type == OPS_F32 ? cpu_floats(x)[i] : ((unsigned char *)x.address)[i];
    *(double *)(void *)sum.address = total;
}

/* ---- the table ---------------------------------------------------------------------------- */

static void cpu_each(struct ops *o, int64_t n, void (*fn)(void *ctx, int64_t i, int thread),
                     void *ctx)
{
    pool_each(o->pool, n, fn, ctx);
}

#define CPU_ROW(name) .name = cpu_##name,

const struct ops_backend ops_cpu = {
    .context = sizeof(struct ops),
    .count = cpu_count,
    .open = cpu_open,
    .close = cpu_close,
    .arithmetic = cpu_arithmetic,
    .free_bytes = cpu_free_bytes,
    .buffer = cpu_buffer,
    .buffer_free = cpu_buffer_free,
    .upload = cpu_upload,
    .download = cpu_download,
    .map = cpu_map,
    .fill = cpu_map,
    .unmap = cpu_unmap,
    .host_buffer = cpu_host_buffer,
    .map_later = cpu_map_later,
    .move = cpu_move,
    .each = cpu_each,
    OPS_OPERATIONS(CPU_ROW).logits = cpu_logits,
    .bytes = cpu_bytes,
    .loss_rows = 1024, /* fewer: the table is read, and its gradient is written, more often */
    .column_sums = cpu_column_sums,
    .cross_entropy = cpu_cross_entropy,
};
