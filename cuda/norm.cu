/* norm.cu - layer norm and RMSNorm. A warp computes a row; it reads the row again from the cache.
 */
#include "cuda/kernel.h"

enum { THREADS = 256, WARPS = THREADS / WARP, EACH = 8, COLUMNS = 8 * WARP };

struct norm {
    struct view y, x, dy, gain, bias, dx;
    float *mean, *rstd;
    float *parts;            /* [count, 2, C] sums for the gradients of gain and bias */
    float *sums;             /* [2, N] sums over the columns of each row; NULL: not kept */
    int64_t N, C, all, each; /* each: rows of a part */
    double epsilon;
    int rms, add;
    int known; /* 1: the moments of the rows, or the sums, are known */
};

static inline struct norm norm_of(struct ops_array x, struct ops_moments kept,
                                  const struct ops_norm *l)
{
    struct norm s;
    s.x = view_rows(x, l->C);
    s.y = s.dy = s.dx = s.bias = view_of(OPS_NONE);
    s.gain = view_of(l->gain);
    s.mean = floats(view_of(kept.mean));
    s.rstd = floats(view_of(kept.rstd));
    s.parts = s.sums = 0;
    s.N = l->N;
    s.C = l->C;
    s.all = l->all ? l->all : l->C;
    s.each = 0;
    s.epsilon = l->epsilon;
    s.rms = l->rms;
    s.add = s.known = 0;
    return s;
}

/* The row of this warp, and the first of this lane's eight columns. */
#define ROW   ((int64_t)blockIdx.x * WARPS + threadIdx.x / WARP)
#define FIRST ((int64_t)(threadIdx.x % WARP) * EACH)

/* Computes the moments of the row at `at` together with the other threads of the warp. `begin` is
 * this thread's first column. */
DEVICE void moments_of(const struct norm *a, int64_t at, int64_t begin, float *mean, float *rstd)
{
    const int64_t C = a->C;
    float sum = 0;
    *mean = 0;
    UNROLL_BY(4)
    for (int64_t i = begin; i < C && !a->rms; i += EACH * WARP) {
        struct eight x = get8(a->x, at + i, C - i);
        for (int j = 0; j < EACH; j++)
            sum += x.v[j];
    }
    if (!a->rms)
        *mean = warp_sum(sum) / (float)C;
    sum = 0;
    UNROLL_BY(4)
    for (int64_t i = begin; i < C; i += EACH * WARP) {
        struct eight x = get8(a->x, at + i, C - i);
        for (int j = 0; j < EACH; j++)
            if (i + j < C)
                sum += (x.v[j] - *mean) * (x.v[j] - *mean);
    }
    *rstd = (float)(1 / sqrt((double)warp_sum(sum) / (double)C + a->epsilon));
}

/* Computes the moments of the rows, unless they are known, and the normalised rows, if they are
 * wanted. */
KERNEL(norm_fwd, norm, THREADS)
{
    const int64_t C = a.C, row = ROW, at = row * C;
    if (row >= a.N)
        return;
    float mean = a.known && !a.rms ? a.mean[row] : 0, rstd = a.known ? a.rstd[row] : 0;
    if (!a.known)
        moments_of(&a, at, FIRST, &mean, &rstd);
    UNROLL_BY(2)
    for (int64_t i = FIRST; i < C && a.y.at; i += EACH * WARP) {
        struct eight x = get8(a.x, at + i, C - i), gain = get8(a.gain, i, C - i);
        for (int j = 0; j < EACH; j++)
            x.v[j] = (x.v[j] - mean) * rstd * gain.v[j];
        if (a.bias.at) {
            struct eight bias = get8(a.bias, i, C - i);
            for (int j = 0; j < EACH; j++)
                x.v[j] += bias.v[j];
        }
        put8(a.y, at + i, C - i, x);
    }
    if (threadIdx.x % WARP == 0 && !a.known) {
        if (a.mean)
            a.mean[row] = mean;
        if (a.rstd)
            a.rstd[row] = rstd;
    }
}

EXTERN_C void cuda_norm_fwd(struct ops *o, struct ops_array y, struct ops_moments kept,
                            struct ops_array x, const struct ops_norm *l)
{
    struct norm s = norm_of(x, kept, l);
    s.y = view_rows(y, l->C);
    s.bias = view_of(l->bias);
    LAUNCH(o, norm_fwd, div_up(l->N, WARPS), 1, THREADS, 0, s);
}

EXTERN_C void cuda_norm_apply(struct ops *o, struct ops_array y, struct ops_moments kept,
                              struct ops_array x, const struct ops_norm *l)
{
    struct norm s = norm_of(x, kept, l);
    s.y = view_rows(y, l->C);
    s.bias = view_of(l->bias);
    s.known = 1;
    LAUNCH(o, norm_fwd, div_up(l->N, WARPS), 1, THREADS, 0, s);
}

/* With n = (x - mean) rstd and g = dy gain: dx = rstd (g - mean(g) - n mean(g n)). RMSNorm has no
 * mean(g). */
KERNEL(norm_bwd_rows, norm, THREADS)
{
    const int64_t C = a.C, row = ROW, at = row * C;
    if (row >= a.N)
        return;
    const float mean = a.rms ? 0 : a.mean[row], rstd = a.rstd[row];
    float sum = a.known ? a.sums[row] : 0, products = a.known ? a.sums[a.N + row] : 0;
    for (int64_t i = FIRST; i < C && !a.known; i += EACH * WARP) {
        struct eight x = get8(a.x, at + i, C - i), d = get8(a.dy, at + i, C - i);
        struct eight gain = get8(a.gain, i, C - i);
        for (int j = 0; j < EACH; j++) { /* d is 0 for columns that do not exist */
            sum += d.v[j] * gain.v[j];
            products += d.v[j] * gain.v[j] * ((x.v[j] - mean) * rstd);
        }
    }
    if (!a.known) {
        sum = a.rms ? 0 : warp_sum(sum);
        products = warp_sum(products);
    }
    if (!a.known && a.sums && threadIdx.x % WARP == 0) {
        a.sums[row] = sum;
        a.sums[a.N + row] = products;
    }
    sum /= (float)a.all;
    products /= (float)a.all;
    for (int64_t i = FIRST; i < C && a.dx.at; i += EACH * WARP) {
        struct eight x = get8(a.x, at + i, C - i), d = get8(a.dy, at + i, C - i);
        struct eight gain = get8(a.gain, i, C - i);
        for (int j = 0; j < EACH; j++)
            d.v[j] = (d.v[j] * gain.v[j] - sum - (x.v[j] - mean) * rstd * products) * rstd;
        if (a.add) {
            struct eight before = get8(a.dx, at + i, C - i);
            for (int j = 0; j < EACH; j++)
                d.v[j] += before.v[j];
        }
        put8(a.dx, at + i, C - i, d);
    }
}

/* Sums over a.each rows. Each lane has eight columns, and the rows are distributed over the warps.
 * The sums of the warps are added in order. */
KERNEL(norm_bwd_part, norm, THREADS)
{
    SHARED(float, sums); /* [2, WARPS, COLUMNS] */
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    const int64_t C = a.C, i = (int64_t)blockIdx.x * COLUMNS + lane * EACH;
    const int64_t first = (int64_t)blockIdx.y * a.each, end = least(first + a.each, a.N);
    float dgain[EACH] = { 0 }, dbias[EACH] = { 0 };
    for (int64_t r = first + warp; r < end && i < C; r += WARPS) {
        const float mean = a.rms ? 0 : a.mean[r], rstd = a.rstd[r];
        struct eight x = get8(a.x, r * C + i, C - i), d = get8(a.dy, r * C + i, C - i);
        for (int j = 0; j < EACH; j++) {
            dgain[j] += d.v[j] * ((x.v[j] - mean) * rstd);
            dbias[j] += d.v[j];
        }
    }
    for (int j = 0; j < EACH; j++) {
        sums[warp * COLUMNS + lane * EACH + j] = dgain[j];
        sums[(WARPS + warp) * COLUMNS + lane * EACH + j] = dbias[j];
    }
    BLOCK_BARRIER();
    const int64_t column = (int64_t)blockIdx.x * COLUMNS + threadIdx.x;
    for (int k = 0; k < 2 && column < C; k++) {
        float total = 0;
        for (int w = 0; w < WARPS; w++)
            total += sums[(k * WARPS + w) * COLUMNS + threadIdx.x];
        a.parts[(blockIdx.y * 2 + k) * C + column] = total;
    }
}

/* Runs the backward of `s`, which has no columns' sums yet. */
static inline void run_bwd(struct ops *o, struct norm s, struct ops_gradient dgain,
                           struct ops_gradient dbias)
{
    s.each = rows_of_block(s.N);
    const int64_t C = s.C, count = div_up(s.N, s.each);
    struct ops_array parts = cuda_room(o, ROOM_SUMS, OPS_F32, 2 * count * C);
    s.parts = floats(view_of(parts));
    LAUNCH(o, norm_bwd_part, div_up(C, COLUMNS), count, THREADS,
           2 * WARPS * COLUMNS * sizeof(float), s);
    cuda_add_parts(o, dgain, parts, 2 * C, count, C);
    if (!ops_is_none(dbias.to))
        cuda_add_parts(o, dbias, ops_part(parts, C), 2 * C, count, C);
    LAUNCH(o, norm_bwd_rows, div_up(s.N, WARPS), 1, THREADS, 0, s);
}

EXTERN_C void cuda_norm_bwd(struct ops *o, struct ops_gradient dx, struct ops_gradient dgain,
                            struct ops_gradient dbias, struct ops_array dy, struct ops_array x,
                            struct ops_moments kept, const struct ops_norm *l)
{
    struct norm s = norm_of(x, kept, l);
    s.dy = view_rows(dy, l->C);
    s.dx = view_rows(dx.to, l->C);
    s.add = dx.add;
    run_bwd(o, s, dgain, dbias);
}

EXTERN_C void cuda_norm_sums(struct ops *o, struct ops_array sums, struct ops_gradient dgain,
                             struct ops_gradient dbias, struct ops_array dy, struct ops_array x,
                             struct ops_moments kept, const struct ops_norm *l)
{
    struct norm s = norm_of(x, kept, l);
    s.dy = view_rows(dy, l->C);
    s.sums = floats(view_of(sums));
    run_bwd(o, s, dgain, dbias);
}

EXTERN_C void cuda_norm_dx(struct ops *o, struct ops_gradient dx, struct ops_array sums,
                           struct ops_array dy, struct ops_array x, struct ops_moments kept,
                           const struct ops_norm *l)
{
    struct norm s = norm_of(x, kept, l);
    s.dy = view_rows(dy, l->C);
    s.dx = view_rows(dx.to, l->C);
    s.add = dx.add;
    s.sums = floats(view_of(sums));
    s.known = 1;
    LAUNCH(o, norm_bwd_rows, div_up(l->N, WARPS), 1, THREADS, 0, s);
}
