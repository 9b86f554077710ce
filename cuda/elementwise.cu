/* elementwise.cu - operations on single numbers. Each thread computes eight numbers. */
#include <assert.h>

#include "cuda/kernel.h"

enum { THREADS = 256, EACH = 8 };

struct map {
    struct view y, x, dx, dy, up, dup;
    int64_t n;
    int f; /* enum ops_activation */
    float y_scale, x_scale;
    struct ops_mask mask;
    uint64_t first;
    int64_t columns, stride; /* for dropout: see struct ops_dropout */
    float *parts;            /* for sums of columns: [parts,columns], each of `each` rows */
    int64_t rows, each;
};

#define FIRST           (((int64_t)blockIdx.x * THREADS + threadIdx.x) * EACH)
#define RUN(o, name, m) LAUNCH(o, name, div_up((m).n, THREADS *EACH), 1, THREADS, 0, m)

static inline struct map map_of(struct ops_array y, struct ops_array x, int64_t n)
{
    struct map m = { 0 };
    m.y = view_of(y);
    m.x = view_of(x);
    m.n = n;
    return m;
}

/* Defines a kernel that replaces each number y of the array `to` by an expression of y and of x,
 * the number of the array `from`. */
#define EIGHT(name, to, from, expression)                                                          \
    KERNEL(name, map, THREADS)                                                                     \
    {                                                                                              \
        const int64_t i = FIRST, n = a.n - i;                                                      \
        if (n <= 0)                                                                                \
            return;                                                                                \
        struct eight all = get8(a.to, i, n), others = get8(a.from, i, n);                          \
        for (int j = 0; j < EACH; j++) {                                                           \
            const float y = all.v[j], x = others.v[j];                                             \
            (void)y; /* an expression need not use both */                                         \
            all.v[j] = expression;                                                                 \
        }                                                                                          \
        put8(a.to, i, n, all);                                                                     \
    }

/* ---- sums and copies ---------------------------------------------------------------------- */

EIGHT(add, y, x, x + y)

EXTERN_C void cuda_add(struct ops *o, struct ops_array y, struct ops_array x, int64_t n)
{
    struct map m = map_of(y, x, n);
    RUN(o, add, m);
}

KERNEL(copy, map, THREADS)
{
    const int64_t i = FIRST, n = a.n - i;
    if (n > 0)
        put8(a.y, i, n, get8(a.x, i, n));
}

EXTERN_C void cuda_copy(struct ops *o, struct ops_array y, struct ops_array x, int64_t n)
{
    struct map m = map_of(y, x, n);
    RUN(o, copy, m);
}

EIGHT(blend, y, x, (a.y_scale * y + a.x_scale * x))

EXTERN_C void cuda_blend(struct ops *o, struct ops_array y, double y_scale, struct ops_array x,
                         double x_scale, int64_t n)
{
    struct map m = map_of(y, x, n);
    m.y_scale = (float)y_scale;
    m.x_scale = (float)x_scale;
    RUN(o, blend, m);
}

/* ---- activations -------------------------------------------------------------------------- */

/* GELU: 0.5 x (1 + tanh(u)) = x / (1 + exp(-2u)), with 2u = x (GELU_A + GELU_B x^2). */
#define GELU_A 1.5957691216057308f
#define GELU_B 0.07135481627260025f

/* Returns the distribution function of the normal distribution at x. */
DEVICE float normal_distribution(float x)
{
    return 0.5f * erfcf(x * -0.70710678118654752f);
}

/* Returns f(x), and sets *slope to f'(x). x is held in a range in which the powers do not overflow;
 * outside it the slope is 0 or 1. A NaN stays one. */
DEVICE float activation(int f, float x, float *slope)
{
    float held, e, s;
    switch (f) {
    case OPS_GELU_TANH:
        held = fminf(fmaxf(x, -8), 8);
        e = power2(-LOG2_E * held * (GELU_A + GELU_B * held * held));
        s = reciprocal(1 + e);
        *slope = s + held * (GELU_A + 3 * GELU_B * held * held) * s * (e * s);
        return x * s;
    case OPS_GELU:
        held = fminf(fmaxf(x, -16), 16);
        s = normal_distribution(held);
        *slope = s + held * power2(-0.5f * LOG2_E * held * held) * 0.3989422804f;
        return x * s;
    case OPS_RELU: *slope = x > 0 ? 1 : 0; return x < 0 ? 0 : x;
    default:
        held = fminf(fmaxf(x, -80), 80);
        e = power2(-LOG2_E * held);
        s = reciprocal(1 + e);
        *slope = s + held * s * (e * s);
        return x < -87 ? 0 : x * s;
    }
}

/* Defines a kernel that calls `run` with the activation as a constant, selected once. */
#define WITH_ACTIVATION(name, run)                                                                 \
    KERNEL(name, map, THREADS)                                                                     \
    {                                                                                              \
        switch (a.f) {                                                                             \
        case OPS_GELU_TANH: run(&a, OPS_GELU_TANH); break;                                         \
        case OPS_GELU: run(&a, OPS_GELU); break;                                                   \
        case OPS_RELU: run(&a, OPS_RELU); break;                                                   \
        default: run(&a, OPS_SILU);                                                                \
        }                                                                                          \
    }

/* Returns the numbers that multiply the activations: those of `up`; 1 if there is no gate. */
DEVICE struct eight factors_of(const struct map *a, int64_t i, int64_t n)
{
    struct eight ones;
    for (int j = 0; j < EACH; j++)
        ones.v[j] = 1;
    return a->up.at ? get8(a->up, i, n) : ones;
}

DEVICE void activate(const struct map *a, const int f)
{
    const int64_t i = FIRST, n = a->n - i;
    float slope;
    if (n <= 0)
        return;
    struct eight x = get8(a->x, i, n), up = factors_of(a, i, n);
    for (int j = 0; j < EACH; j++)
        x.v[j] = activation(f, x.v[j], &slope) * up.v[j];
    put8(a->y, i, n, x);
}

WITH_ACTIVATION(activation_fwd, activate)

EXTERN_C void cuda_gated_fwd(struct ops *o, const struct ops_gate *g, struct ops_array y,
                             struct ops_array gate, struct ops_array up)
{
    assert(g->ld == g->I);
    struct map m = map_of(y, gate, g->N * g->I);
    m.f = g->f;
    m.up = view_of(up);
    RUN(o, activation_fwd, m);
}

/* Computes dx, y and, of a gate, dup. Reads all inputs before it writes, because outputs may be the
 * same arrays. */
DEVICE void activate_bwd(const struct map *a, const int f)
{
    const int64_t i = FIRST, n = a->n - i;
    if (n <= 0)
        return;
    struct eight x = get8(a->x, i, n), up = factors_of(a, i, n), d = get8(a->dy, i, n), y;
    for (int j = 0; j < EACH; j++) {
        float slope;
        const float active = activation(f, x.v[j], &slope);
        x.v[j] = d.v[j] * up.v[j] * slope;
        y.v[j] = active * up.v[j];
        up.v[j] = d.v[j] * active;
    }
    put8(a->dx, i, n, x);
    if (a->dup.at)
        put8(a->dup, i, n, up);
    put8(a->y, i, n, y);
}

WITH_ACTIVATION(activation_bwd, activate_bwd)

/* Does what activate_bwd does, and sums the columns of dx as it is stored. All arrays have a
 * multiple of eight columns. A row is read while the one before it is computed. */
DEVICE void activate_sums(const struct map *a, const int f)
{
    SHARED(float, warps);
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    const int64_t begin = (int64_t)blockIdx.x * COLUMN_BLOCK, i = begin + lane * EACH;
    const int64_t n = a->columns - i, first = (int64_t)blockIdx.y * a->each;
    const int64_t end = least(first + a->each, a->rows);
    float sum[EACH] = { 0 };
    struct eight next_x, next_d;
    int64_t r = first + warp;
    if (r < end && n > 0) {
        next_x = wide_eight(a->x, r * a->columns + i);
        next_d = wide_eight(a->dy, r * a->columns + i);
    }
    for (; r < end && n > 0; r += COLUMN_BLOCK / WARP) {
        const int64_t at = r * a->columns + i;
        const int64_t more = r + COLUMN_BLOCK / WARP < end ? COLUMN_BLOCK / WARP : 0;
        struct eight x = next_x, d = next_d;
        next_x = wide_eight(a->x, at + more * a->columns);
        next_d = wide_eight(a->dy, at + more * a->columns);
        for (int j = 0; j < EACH; j++) {
            float slope;
            x.v[j] = activation(f, x.v[j], &slope);
            d.v[j] *= slope;
            sum[j] += a->dx.type == OPS_BF16 ? from_bf16(nearest_bf16(d.v[j])) : d.v[j];
        }
        put8(a->y, at, n, x);
        put8(a->dx, at, n, d);
    }
    put_columns(a->parts + blockIdx.y * a->columns, begin, a->columns, sum, warps);
}

WITH_ACTIVATION(activation_sums, activate_sums)

EXTERN_C void cuda_gated_bwd(struct ops *o, const struct ops_gate *g, struct ops_array dgate,
                             struct ops_array dup, struct ops_array y, struct ops_gradient sums,
                             struct ops_array dy, struct ops_array gate, struct ops_array up)
{
    const int summed = !ops_is_none(sums.to);
    const int64_t N = g->N, I = g->I;
    const int64_t ld = summed ? I : EACH; /* rows do not matter if nothing is summed */
    struct map m = map_of(OPS_NONE, OPS_NONE, N * I);
    assert(g->ld == I && (!summed || ops_is_none(up)));
    m.f = g->f;
    m.x = view_rows(gate, ld);
    m.y = view_rows(y, ld);
    m.dx = view_rows(dgate, ld);
    m.dy = view_rows(dy, ld);
    m.up = view_of(up);
    m.dup = view_of(dup);
    if (!summed || I % EACH || !m.x.wide || !m.y.wide || !m.dx.wide || !m.dy.wide) {
        RUN(o, activation_bwd, m);
        if (summed)
            cuda_column_sums(o, sums, dgate, I, N, I);
        return;
    }
    m.columns = I;
    m.rows = N;
    m.each = rows_of_block(N, COLUMN_PARTS);
    const int64_t count = div_up(N, m.each);
    struct ops_array parts = cuda_room(o, ROOM_SUMS, OPS_F32, count * I);
    m.parts = floats(view_of(parts));
    LAUNCH(o, activation_sums, div_up(I, COLUMN_BLOCK), count, COLUMN_BLOCK, COLUMN_SHARED, m);
    cuda_add_parts(o, sums, parts, I, count, I);
}

EIGHT(tanh_fwd, y, y, tanhf(x))

EXTERN_C void cuda_tanh_fwd(struct ops *o, struct ops_array x, int64_t n)
{
    struct map m = map_of(x, x, n);
    RUN(o, tanh_fwd, m);
}

EIGHT(tanh_bwd, dx, x, (1 - x * x) * y)

EXTERN_C void cuda_tanh_bwd(struct ops *o, struct ops_array d, struct ops_array y, int64_t n)
{
    struct map m = map_of(d, y, n);
    m.dx = m.y;
    RUN(o, tanh_bwd, m);
}

/* ---- dropout ------------------------------------------------------------------------------ */

/* Returns the offset of element i in the mask; i is even. */
DEVICE int64_t place_of(const struct map *a, int64_t i)
{
    return a->columns ? i / a->columns * a->stride + i % a->columns : i;
}

/* Computes y = dy + mask * x, where dy is the base. */
KERNEL(residual, map, THREADS)
{
    const int64_t i = FIRST, n = a.n - i;
    if (n <= 0)
        return;
    struct eight x = get8(a.x, i, n);
    for (int j = 0; j < EACH && a.mask.threshold; j += 2) {
        float low, high;
        mask_pair(a.mask, a.first + (uint64_t)place_of(&a, i + j), &low, &high);
        x.v[j] *= low;
        x.v[j + 1] *= high;
    }
    add8(&x, a.dy, i, n);
    put8(a.y, i, n, x);
}

EXTERN_C void cuda_residual(struct ops *o, struct ops_array y, struct ops_array base,
                            struct ops_array x, int64_t n, struct ops_dropout drop)
{
    struct map m = map_of(y, x, n);
    m.dy = view_of(base);
    m.mask = ops_mask_of(drop);
    RUN(o, residual, m);
}

EXTERN_C void cuda_dropout(struct ops *o, struct ops_array y, struct ops_array x, int64_t n,
                           struct ops_dropout drop)
{
    struct map m = map_of(y, x, n);
    m.mask = ops_mask_of(drop);
    m.first = drop.first;
    m.columns = drop.columns;
    m.stride = drop.stride;
    RUN(o, residual, m);
}

/* ---- rows --------------------------------------------------------------------------------- */

struct row_map {
    struct view y, x, base, bias;
    int64_t ldy, ldx, rows, n, pieces; /* pieces: groups of eight numbers in a row */
};

/* Each thread computes eight numbers of a row. */
KERNEL(add_rows, row_map, THREADS)
{
    const int64_t at = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    const int64_t r = at / a.pieces, i = at % a.pieces * EACH, n = a.n - i;
    if (r >= a.rows)
        return;
    struct eight x = get8(a.x, r * a.ldx + i, n);
    add8(&x, a.base, r * a.ldy + i, n);
    add8(&x, a.bias, i, n);
    put8(a.y, r * a.ldy + i, n, x);
}

EXTERN_C void cuda_add_rows(struct ops *o, struct ops_matrix y, struct ops_array x, int64_t ldx,
                            struct ops_array base, struct ops_array bias, int64_t rows, int64_t n)
{
    struct row_map m;
    m.y = view_rows(y.x, y.ld);
    m.x = view_rows(x, ldx);
    m.base = view_rows(base, y.ld);
    m.bias = view_of(bias);
    m.ldy = y.ld;
    m.ldx = ldx;
    m.rows = rows;
    m.n = n;
    m.pieces = div_up(n, EACH);
    LAUNCH(o, add_rows, div_up(rows * m.pieces, THREADS), 1, THREADS, 0, m);
}

EXTERN_C void cuda_copy_rows(struct ops *o, struct ops_array y, struct ops_matrix x, int64_t rows,
                             int64_t n)
{
    struct ops_matrix to = { y, n, 0 };
    cuda_add_rows(o, to, x.x, x.ld, OPS_NONE, OPS_NONE, rows, n);
}
