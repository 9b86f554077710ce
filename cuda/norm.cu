/* norm.cu - layer norm and RMSNorm. Rows are read for a second time from the cache. */
#include "cuda/kernel.h"

enum { THREADS = 256, WARPS = THREADS / WARP, EACH = 8, PARTS = 256, FEW_ROWS = 128 };

struct norm {
    struct view y, x, dy, gain, bias, dx;
    float *mean, *rstd;
    float *parts;            /* [count, kinds, C] sums of columns */
    int kinds;               /* for the gradients of gain and bias and, if 3, of dx before */
    float *sums;             /* [2, N] sums over the columns of each row; NULL: not kept */
    int64_t N, C, all, each; /* each: rows of a part */
    int64_t pieces;          /* eight columns each */
    int groups;              /* groups of threads, each of which has other rows */
    double epsilon;
    int rms, add;
    int few;   /* 1: a block computes a row, in norm_fwd */
    int whole; /* as in eight_at, of all arrays, in norm_bwd */
    int known; /* 1: the moments of the rows, or the sums, are known */
};

static inline struct norm norm_of(struct ops_array x, struct ops_moments kept,
                                  const struct ops_norm *l)
{
    struct norm s = { 0 };
    s.x = view_rows(x, l->C);
    s.gain = view_of(l->gain);
    s.bias = view_of(l->bias);
    s.mean = floats(view_of(kept.mean));
    s.rstd = floats(view_of(kept.rstd));
    s.N = l->N;
    s.C = l->C;
    s.all = l->all ? l->all : l->C;
    s.each = rows_of_block(l->N, PARTS);
    s.epsilon = l->epsilon;
    s.rms = l->rms;
    return s;
}

/* The first of this lane's eight columns, where each warp computes a row. */
#define FIRST ((int64_t)(threadIdx.x % WARP) * EACH)

/* The threads that compute a row: those of a warp, or of a block if there are few rows. */
struct lanes {
    int64_t first, step; /* a thread's first eight columns, and the columns to its next eight */
    float *room;         /* of block_join; NULL: a warp */
};

DEVICE float sum_lanes(float x, const struct lanes *l)
{
    return l->room ? block_join(x, l->room, 0) : warp_sum(x);
}

/* Computes the moments of the row at `at` together with the row's other threads. */
DEVICE void moments_of(const struct norm *a, int64_t at, const struct lanes *l, float *mean,
                       float *rstd)
{
    const int64_t C = a->C;
    float sum = 0;
    *mean = 0;
    UNROLL_BY(4)
    for (int64_t i = l->first; i < C && !a->rms; i += l->step) {
        struct eight x = get8(a->x, at + i, C - i);
        for (int j = 0; j < EACH; j++)
            sum += x.v[j];
    }
    if (!a->rms)
        *mean = sum_lanes(sum, l) / (float)C;
    sum = 0;
    UNROLL_BY(4)
    for (int64_t i = l->first; i < C; i += l->step) {
        struct eight x = get8(a->x, at + i, C - i);
        for (int j = 0; j < EACH; j++)
            if (i + j < C)
                sum += (x.v[j] - *mean) * (x.v[j] - *mean);
    }
    *rstd = (float)(1 / sqrt((double)sum_lanes(sum, l) / (double)C + a->epsilon));
}

/* Computes the moments of the rows, unless they are known, and the normalised rows if wanted. */
KERNEL(norm_fwd, norm, THREADS)
{
    SHARED(float, room);
    const int64_t C = a.C, rows = a.few ? 1 : WARPS, width = THREADS / rows;
    const int64_t row = blockIdx.x * rows + threadIdx.x / width, at = row * C;
    const struct lanes l = { threadIdx.x % width * EACH, width * EACH, a.few ? room : NULL };
    if (row >= a.N)
        return;
    float mean = a.known && !a.rms ? a.mean[row] : 0, rstd = a.known ? a.rstd[row] : 0;
    if (!a.known)
        moments_of(&a, at, &l, &mean, &rstd);
    UNROLL_BY(2)
    for (int64_t i = l.first; i < C && a.y.at; i += l.step) {
        struct eight x = get8(a.x, at + i, C - i), gain = get8(a.gain, i, C - i);
        for (int j = 0; j < EACH; j++)
            x.v[j] = (x.v[j] - mean) * rstd * gain.v[j];
        add8(&x, a.bias, i, C - i);
        put8(a.y, at + i, C - i, x);
    }
    if (!l.first && !a.known) {
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
    s.known = kept.known;
    s.few = l->N <= FEW_ROWS;
    LAUNCH(o, norm_fwd, s.few ? l->N : div_up(l->N, WARPS), 1, THREADS, SUM_FLOATS * sizeof(float),
           s);
}

/* What the gradients of a row need. sum, products: the means of g and of g n (norm_bwd). */
struct row {
    float mean, rstd, sum, products;
};

/* Computes struct row for a row with the other threads of the warp. `whole`: as in eight_at. */
DEVICE struct row sums_of(const struct norm *a, int64_t row, const int whole)
{
    const int64_t C = a->C, at = row * C;
    struct row s = { a->rms ? 0 : a->mean[row], a->rstd[row], 0, 0 };
    UNROLL_BY(3)
    for (int64_t i = a->known ? C : FIRST; i < C; i += EACH * WARP) {
        struct eight x = eight_at(a->x, at + i, C - i, whole);
        struct eight d = eight_at(a->dy, at + i, C - i, whole);
        struct eight gain = eight_at(a->gain, i, C - i, whole);
        for (int j = 0; j < EACH; j++) { /* d is 0 for columns that do not exist */
            s.sum += d.v[j] * gain.v[j];
            s.products += d.v[j] * gain.v[j] * ((x.v[j] - s.mean) * s.rstd);
        }
    }
    s.sum = a->known ? a->sums[row] : a->rms ? 0 : warp_sum(s.sum);
    s.products = a->known ? a->sums[a->N + row] : warp_sum(s.products);
    if (!a->known && a->sums && threadIdx.x % WARP == 0) {
        a->sums[row] = s.sum;
        a->sums[a->N + row] = s.products;
    }
    s.sum /= (float)a->all;
    s.products /= (float)a->all;
    return s;
}

/* Computes columns i to i + 7 of dx and, if it is wanted, of y for rows row, row + a->groups, ...
 * below row + count. Adds the sums over these rows of dy n, of dy and of dx before to
 * totals[a->kinds, EACH, a->pieces]. Two rows are read at a time. `whole`: as in eight_at. */
DEVICE void columns_of(const struct norm *a, const struct row *rows, int64_t row, int count,
                       int64_t i, float *totals, const int whole)
{
    enum { AT_ONCE = 2 };
    const int64_t C = a->C, n = C - i;
    const int add = a->add;
    const struct eight gain = eight_at(a->gain, i, n, whole);
    float dgain[EACH] = { 0 }, dbias[EACH] = { 0 }, old[EACH] = { 0 };
    for (int first = 0; first < count; first += AT_ONCE * a->groups) {
        struct eight x[AT_ONCE], d[AT_ONCE], before[AT_ONCE];
        int64_t at[AT_ONCE];
        UNROLL
        for (int u = 0; u < AT_ONCE; u++) {
            const int r = first + u * a->groups; /* beyond the last row, the first is read again */
            at[u] = (row + (r < count ? r : first)) * C + i;
            x[u] = eight_at(a->x, at[u], n, whole);
            d[u] = eight_at(a->dy, at[u], n, whole);
        }
        if (add)
            UNROLL
        for (int u = 0; u < AT_ONCE; u++)
            before[u] = eight_at(a->dx, at[u], n, whole);
        UNROLL
        for (int u = 0; u < AT_ONCE; u++) {
            if (first + u * a->groups >= count)
                continue;
            const struct row s = rows[first + u * a->groups];
            for (int j = 0; j < EACH; j++) {
                const float normal = (x[u].v[j] - s.mean) * s.rstd;
                dgain[j] += d[u].v[j] * normal;
                dbias[j] += d[u].v[j];
                d[u].v[j] = (d[u].v[j] * gain.v[j] - s.sum - normal * s.products) * s.rstd;
                x[u].v[j] = normal * gain.v[j];
            }
            if (a->y.at) {
                add8(&x[u], a->bias, i, n);
                put8(a->y, at[u], n, x[u]);
            }
            for (int j = 0; j < EACH && add; j++) {
                d[u].v[j] += before[u].v[j];
                old[j] += before[u].v[j];
            }
            if (a->dx.at)
                put8(a->dx, at[u], n, d[u]);
        }
    }
    for (int j = 0; j < EACH; j++) {
        totals[j * a->pieces + i / EACH] += dgain[j];
        totals[(EACH + j) * a->pieces + i / EACH] += dbias[j];
        if (a->kinds > 2)
            totals[(2 * EACH + j) * a->pieces + i / EACH] += old[j];
    }
}

/* With n = (x - mean) rstd and g = dy gain: dx = rstd (g - mean(g) - n mean(g n)). RMSNorm has no
 * mean(g). The gradients of gain and bias are the sums of dy n and of dy over the rows.
 *
 * A block has a.each rows, and takes WARPS at a time: each warp sums over a row, and then each
 * thread computes eight columns of some rows, which it reads from the cache. Groups of threads have
 * the same columns and other rows. */
KERNEL(norm_bwd, norm, THREADS)
{
    SHARED(struct row, rows);                /* [WARPS] */
    float *totals = (float *)(rows + WARPS); /* [groups, kinds, EACH, pieces] */
    const int64_t first = blockIdx.x * a.each, end = least(first + a.each, a.N);
    const int across = (int)least(a.pieces, THREADS), group = threadIdx.x / across;
    const int64_t begin = group < a.groups ? threadIdx.x % across * EACH : a.C,
                  all = a.kinds * EACH * a.pieces;
    const int warp = threadIdx.x / WARP;
    for (int64_t i = threadIdx.x; i < a.groups * all; i += THREADS)
        totals[i] = 0;
    for (int64_t row = first; row < end; row += WARPS) {
        BLOCK_BARRIER(); /* the previous rows' sums have been read */
        if (row + warp < end)
            rows[warp] = a.whole ? sums_of(&a, row + warp, 1) : sums_of(&a, row + warp, 0);
        BLOCK_BARRIER(); /* these are there */
        const int count = (int)least(end - row, WARPS) - group;
        for (int64_t i = begin; i < a.C; i += across * EACH)
            if (a.whole)
                columns_of(&a, rows + group, row + group, count, i, totals + group * all, 1);
            else
                columns_of(&a, rows + group, row + group, count, i, totals + group * all, 0);
    }
    BLOCK_BARRIER(); /* the totals are there */
    for (int64_t i = threadIdx.x; i < all && a.parts; i += THREADS) {
        const int64_t column = i % a.pieces * EACH + i / a.pieces % EACH;
        float total = 0;
        for (int g = 0; g < a.groups; g++)
            total += totals[g * all + i];
        if (column < a.C)
            a.parts[(blockIdx.x * a.kinds + i / (EACH * a.pieces)) * a.C + column] = total;
    }
}

EXTERN_C void cuda_norm_bwd(struct ops *o, const struct ops_norm_bwd *b, const struct ops_norm *l)
{
    const struct ops_gradient to[] = { b->dgain, b->dbias, b->before };
    struct norm s = norm_of(b->x, b->kept, l);
    struct ops_array parts = OPS_NONE;
    const int64_t count = div_up(s.N, s.each);
    s.dy = view_rows(b->dy, l->C);
    s.dx = view_rows(b->dx.to, l->C);
    s.add = b->dx.add;
    s.y = view_rows(b->y, l->C);
    s.sums = floats(view_of(b->sums));
    s.known = ops_is_none(b->dgain.to);
    s.kinds = ops_is_none(b->before.to) ? 2 : 3;
    if (!s.known)
        parts = cuda_room(o, ROOM_SUMS, OPS_F32, s.kinds * count * s.C);
    s.parts = floats(view_of(parts));
    s.whole = s.C % EACH == 0;
    for (int i = 0; i < 6; i++) {
        const struct view v = ((struct view[]){ s.x, s.dy, s.dx, s.y, s.gain, s.bias })[i];
        s.whole &= !v.at || v.wide;
    }
    s.pieces = div_up(s.C, EACH);
    s.groups = s.pieces < THREADS ? (int)least(THREADS / s.pieces, WARPS) : 1;
    LAUNCH(o, norm_bwd, count, 1, THREADS,
           WARPS * sizeof(struct row) + s.kinds * EACH * s.pieces * s.groups * sizeof(float), s);
    for (int k = 0; k < s.kinds; k++)
        if (!ops_is_none(to[k].to))
            cuda_add_parts(o, to[k], ops_part(parts, k * s.C), s.kinds * s.C, count, s.C);
}

/* ---- parts of rows ------------------------------------------------------------------------ */

struct joined {
    const float *parts; /* [ranks, 2, N]; without mean [ranks, N] */
    float *mean, *rstd; /* mean: NULL for RMSNorm */
    int64_t N;
    int ranks;
};

KERNEL(norm_join, joined, THREADS)
{
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x, each = a.mean ? 2 * a.N : a.N;
    double mean = 0, squares = 0;
    if (i >= a.N)
        return;
    for (int q = 0; q < a.ranks && a.mean; q++)
        mean += (double)a.parts[q * each + a.N + i] / a.ranks;
    for (int q = 0; q < a.ranks; q++) {
        const double r = a.parts[q * each + i];
        const double d = a.mean ? a.parts[q * each + a.N + i] - mean : 0;
        squares += (1 / (r * r) + d * d) / a.ranks;
    }
    a.rstd[i] = (float)(1 / sqrt(squares));
    if (a.mean)
        a.mean[i] = (float)mean;
}

EXTERN_C void cuda_norm_join(struct ops *o, struct ops_moments kept, struct ops_array parts,
                             int ranks, const struct ops_norm *l)
{
    struct joined s;
    s.parts = floats(view_of(parts));
    s.mean = l->rms ? 0 : floats(view_of(kept.mean));
    s.rstd = floats(view_of(kept.rstd));
    s.N = l->N;
    s.ranks = ranks;
    LAUNCH(o, norm_join, div_up(l->N, THREADS), 1, THREADS, 0, s);
}
