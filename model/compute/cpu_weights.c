/*
 * cpu_weights.c - CPU back end: products with weights that are [out,in], in f32, bf16, f16 or in
 * groups of blocks of integers (stored.h).
 */
#include <assert.h>

#include "model/compute/cpu.h"
#include "model/compute/stored.h"

enum {
    OUTPUTS = STORED_GROUP,
    CHUNK = 1024,          /* f16 outputs that are converted to f32 at a time */
    ROWS_BYTES = 1 << 19,  /* bytes of quantized rows per pass over a thread's weights */
    PACK_GRAIN = 1 << 14,  /* minimum numbers of rows to pack per thread */
    WIDEN_GRAIN = 1 << 16, /* minimum numbers to widen per thread */
    SPLIT_GRAIN = 128,     /* minimum steps of rows to split per thread */
};

static int64_t pieces(int64_t n, int64_t size)
{
    return (n + size - 1) / size;
}

int cpu_in_blocks(struct ops_array w)
{
    return stored_grouped(w.type);
}

/* ---- products with blocks ----------------------------------------------------------------- */

struct blocked {
    const struct kernels *k;
    struct ops_array x, y;
    const char *w;
    enum ops_type type;
    struct kernel_blocks rows;
    char *bands; /* the rows */
    int64_t ldy, O;
};

static void rows_to_blocks(void *ctx, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const struct blocked *s = ctx;
    const int64_t blocks = s->rows.blocks;
    for (int64_t n = begin; n < end; n++) {
        const int64_t row = n % KERNEL_BAND, left = s->rows.rows - (n - row);
        s->k->to_blocks(s->bands + (n - row) * blocks * KERNEL_BLOCK_BYTES, row,
                        left < KERNEL_BAND ? left : KERNEL_BAND,
                        ops_part(s->x, n * blocks * STORED_BLOCK), blocks, s->type);
    }
}

/* Multiplies all rows by the output groups [begin, end). Each pass takes only as many rows as fit
 * in the L2 cache beside the weights that stream through it. */
static void multiply_groups(void *ctx, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const struct blocked *s = ctx;
    const int64_t blocks = s->rows.blocks, row_bytes = blocks * KERNEL_BLOCK_BYTES;
    const int64_t fit = ROWS_BYTES / row_bytes / KERNEL_BAND * KERNEL_BAND,
                  most = fit > KERNEL_BAND ? fit : KERNEL_BAND;
    const char *w = s->w + begin * (int64_t)stored_group_bytes(s->type, blocks * STORED_BLOCK);
    const int64_t outputs = (end * OUTPUTS < s->O ? end * OUTPUTS : s->O) - begin * OUTPUTS;
    for (int64_t first = 0; first < s->rows.rows; first += most) {
        const int64_t left = s->rows.rows - first;
        const struct kernel_blocks x = { s->bands + first * row_bytes, left < most ? left : most,
                                         blocks };
        (s->type == OPS_Q8 ? s->k->multiply_q8 : s->k->multiply_q4)(
            cpu_floats(s->y) + first * s->ldy + begin * OUTPUTS, s->ldy, &x, w, outputs);
    }
}

/* y[N,O] = x[N,I] w^T. Quantizes x to blocks of 8-bit integers first. */
static void multiply_blocks(struct ops *o, struct ops_array y, int64_t ldy, struct ops_array x,
                            const struct ops_linear *l)
{
    const int64_t blocks = l->I / STORED_BLOCK;
    struct blocked s = { .k = o->k, .x = x, .y = y, .w = l->w.address, .type = l->w.type };
    s.ldy = ldy;
    s.O = l->O;
    s.bands = (char *)cpu_at_least(o, &o->operands,
                                   l->N * blocks * KERNEL_BLOCK_BYTES / (int64_t)sizeof(float));
    s.rows = (struct kernel_blocks){ s.bands, l->N, blocks };
    assert(y.type == OPS_F32);
    pool_for(o->pool, l->N, cpu_row_grain(l->I), rows_to_blocks, &s);
    pool_for(o->pool, pieces(l->O, OUTPUTS), 1, multiply_groups, &s);
}

/* ---- products with any type of weights ---------------------------------------------------- */

struct widening {
    const struct kernels *k;
    struct ops_array from;
    float *to;
};

static void widen(void *ctx, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const struct widening *s = ctx;
    s->k->from_f16(s->to + begin, ops_part(s->from, begin), end - begin);
}

/* y[N,O] = x[N,I] w^T for many rows: converts f16 weights to f32, CHUNK outputs at a time. */
static void multiply_f16(struct ops *o, struct ops_array y, int64_t ldy, struct ops_array x,
                         const struct ops_linear *l)
{
    struct ops_linear some = *l;
    struct widening s = { .k = o->k };
    const int64_t chunk = l->O < CHUNK ? l->O : CHUNK;
    s.to = cpu_at_least(o, &o->operands, chunk * l->I);
    for (int64_t first = 0; first < l->O; first += chunk) {
        some.O = l->O - first < chunk ? l->O - first : chunk;
        some.w = cpu_f32(s.to);
        s.from = ops_part(l->w, first * l->I);
        pool_for(o->pool, some.O * l->I, WIDEN_GRAIN, widen, &s);
        cpu_multiply_turned(o, ops_part(y, first), ldy, x, &some);
    }
}

struct streamed {
    const struct kernels *k;
    float *y, *panels;
    const float *x; /* [N,I], or a single row or panels for stream_rows */
    struct ops_array w;
    int64_t N, I, ldy;
};

static void pack_blocks(void *ctx, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const struct streamed *s = ctx;
    s->k->pack_few(s->panels, s->x, s->I, s->N, s->I, begin, end);
}

static void stream_outputs(void *ctx, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const struct streamed *s = ctx;
    s->k->stream_rows(s->y + begin, s->ldy, s->x, s->N, ops_part(s->w, begin * s->I), s->I, s->I,
                      end - begin);
}

/* y[N,O] = x[N,I] w^T for few rows. */
static void multiply_few(struct ops *o, float *y, int64_t ldy, const float *x,
                         const struct ops_linear *l)
{
    const int64_t blocks = pieces(l->I, KERNEL_FEW);
    struct streamed s = { o->k, y, NULL, x, l->w, l->N, l->I, ldy };
    if (l->N > 1) {
        s.panels = cpu_at_least(o, &o->operands, l->N * blocks * KERNEL_FEW);
        pool_for(o->pool, blocks, pieces(PACK_GRAIN, l->N * KERNEL_FEW), pack_blocks, &s);
        s.x = s.panels;
    }
    pool_for(o->pool, l->O, OUTPUTS, stream_outputs, &s);
}

/* Rows in the form of multiply_split. */
struct divided {
    const struct kernels *k;
    const float *x;
    float *parts, *y;
    struct ops_array w;
    int64_t N, I, ldy;
};

static void split_steps(void *ctx, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const struct divided *s = ctx;
    s->k->split_rows(s->parts, s->x, s->I, s->N, s->I, begin, end);
}

static void multiply_outputs(void *ctx, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const struct divided *s = ctx;
    s->k->multiply_split(s->y + begin, s->ldy, s->parts, s->N, ops_part(s->w, begin * s->I), s->I,
                         end - begin);
}

/* y[N,O] = x[N,I] w^T by tile registers, for chunks of rows of about the same size. */
static void multiply_split(struct ops *o, struct ops_array y, int64_t ldy, struct ops_array x,
                           const struct ops_linear *l)
{
    const int64_t chunks = pieces(l->N, KERNEL_SPLIT_ROWS), chunk = pieces(l->N, chunks);
    struct divided s = { .k = o->k, .w = l->w, .I = l->I, .ldy = ldy };
    s.parts = cpu_at_least(o, &o->operands, kernel_split_floats(chunk, l->I));
    for (int64_t first = 0; first < l->N; first += chunk) {
        s.N = l->N - first < chunk ? l->N - first : chunk;
        s.x = cpu_floats(x) + first * l->I;
        s.y = cpu_floats(y) + first * ldy;
        pool_for(o->pool, pieces(l->I, KERNEL_STEP), SPLIT_GRAIN / s.N + 1, split_steps, &s);
        pool_for(o->pool, l->O, 2 * OUTPUTS, multiply_outputs, &s);
    }
}

/* Returns 1 if tile registers can multiply these rows, else 0. Then a row has the same bits
 * whatever the number of rows is. */
static int by_split(const struct ops *o, struct ops_array y, struct ops_array x,
                    const struct ops_linear *l)
{
    return o->k->multiply_split && l->w.type == OPS_BF16 && x.type == OPS_F32 &&
           y.type == OPS_F32 && (l->N <= OPS_FEW_ROWS || (o->precision == OPS_F32 && !o->openblas));
}

void cpu_multiply_in_order(struct ops *o, struct ops_array y, int64_t ldy, struct ops_array x,
                           const struct ops_linear *l)
{
    if (cpu_in_blocks(l->w)) {
        multiply_blocks(o, y, ldy, x, l);
    } else if (l->N <= OPS_FEW_ROWS && x.type == OPS_F32 && y.type == OPS_F32) {
        multiply_few(o, cpu_floats(y), ldy, cpu_floats(x), l);
    } else if (l->w.type == OPS_F16) {
        multiply_f16(o, y, ldy, x, l);
    } else {
        ops_matmul(o, &(struct ops_matmul){ .C = { y, ldy },
                                            .A = { x, l->I },
                                            .B = { l->w, l->I, 1 },
                                            .M = l->N,
                                            .N = l->O,
                                            .K = l->I });
    }
}

void cpu_multiply_turned(struct ops *o, struct ops_array y, int64_t ldy, struct ops_array x,
                         const struct ops_linear *l)
{
    if (by_split(o, y, x, l))
        multiply_split(o, y, ldy, x, l);
    else
        cpu_multiply_in_order(o, y, ldy, x, l);
}
