/* sums.cu - sums over elements and over rows. The order of additions depends only on the number of
 * elements: parts of fixed size are summed, and then the parts are added in order. */
#include "cuda/kernel.h"

enum {
    THREADS = 256,
    EACH = 8,  /* numbers that a thread loads at once */
    RUNS = 32, /* most runs of a launch */
};

/* ---- of all elements, in f64 -------------------------------------------------------------- */

/* Arguments of the sums of all elements. One block sums a piece of a run (struct ops_run). */
struct total {
    struct view x;
    double *parts, *sum;
    struct ops_run run[RUNS];
    int64_t count; /* number of parts */
    int square, add;
};

DEVICE double sum_of_eight(struct view x, int64_t i, int64_t n, int square)
{
    double sum = 0;
    struct eight v;
    if (x.type == OPS_U8)
        for (int j = 0; j < EACH; j++)
            v.v[j] = j < n ? ((const unsigned char *)x.at)[i + j] : 0;
    else
        v = get8(x, i, n);
    for (int j = 0; j < EACH; j++)
        sum += square ? (double)v.v[j] * v.v[j] : v.v[j];
    return sum;
}

KERNEL(sum_part, total, THREADS)
{
    SHARED(double, warps);
    int64_t piece = blockIdx.x;
    int r = 0;
    for (; piece >= div_up(a.run[r].n, OPS_PIECE); r++)
        piece -= div_up(a.run[r].n, OPS_PIECE);
    const int64_t first = piece * OPS_PIECE, n = least(a.run[r].n - first, OPS_PIECE);
    struct view x = a.x;
    x.wide &= a.run[r].first % EACH == 0;
    double sum = 0;
    UNROLL_BY(4)
    for (int64_t i = threadIdx.x * EACH; i < n; i += THREADS * EACH)
        sum += sum_of_eight(x, a.run[r].first + first + i, n - i, a.square);
    sum = warp_sum_f64(sum);
    if (threadIdx.x % WARP == 0)
        warps[threadIdx.x / WARP] = sum;
    BLOCK_BARRIER();
    if (threadIdx.x < WARP) {
        sum = warp_sum_f64(threadIdx.x < THREADS / WARP ? warps[threadIdx.x] : 0);
        if (!threadIdx.x)
            a.parts[a.run[r].sum + piece] = sum;
    }
}

/* Run by one warp: each lane adds its parts, then the lanes' sums are added. */
KERNEL(sum_parts, total, THREADS)
{
    double sum = 0;
    for (int64_t i = threadIdx.x; i < a.count; i += WARP)
        sum += a.parts[i];
    sum = warp_sum_f64(sum);
    if (!threadIdx.x)
        *a.sum = a.add ? *a.sum + sum : sum;
}

static struct total sum_runs(struct ops *o, double *parts, struct ops_array x,
                             const struct ops_run *runs, int count, int square)
{
    struct total t = { 0 };
    t.x = view_of(x);
    t.parts = parts;
    t.square = square;
    for (int i = 0; i < count; i++) {
        t.run[i] = runs[i];
        t.count += ops_pieces(runs[i].n);
    }
    LAUNCH(o, sum_part, t.count, 1, THREADS, THREADS / WARP * sizeof(double), t);
    return t;
}

EXTERN_C void cuda_sum_squares(struct ops *o, struct ops_array sums, struct ops_array x,
                               const struct ops_run *runs, int count)
{
    for (int i = 0; i < count; i += RUNS)
        sum_runs(o, (double *)view_of(sums).at, x, runs + i, (int)least(count - i, RUNS), 1);
}

/* Sets *sum to the sum of x (`square` 1: of its squares), or adds it to *sum if `add` is 1. */
static void sum_all(struct ops *o, struct ops_array sum, struct ops_array x, int64_t n, int square,
                    int add)
{
    const struct ops_run all = { 0, n, 0 };
    struct ops_array parts = cuda_room(o, ROOM_SUMS, OPS_F64, ops_pieces(n));
    struct total t = sum_runs(o, (double *)view_of(parts).at, x, &all, 1, square);
    t.sum = (double *)view_of(sum).at;
    t.add = add;
    LAUNCH(o, sum_parts, 1, 1, WARP, 0, t);
}

EXTERN_C void cuda_all_squares(struct ops *o, struct ops_array sum, struct ops_array x, int64_t n)
{
    sum_all(o, sum, x, n, 1, 0);
}

EXTERN_C void cuda_add_sum(struct ops *o, struct ops_array sum, struct ops_array x, int64_t n)
{
    sum_all(o, sum, x, n, 0, 1);
}

/* ---- of columns --------------------------------------------------------------------------- */

struct columns {
    struct view x;
    float *parts, *to;                /* parts [count,n] */
    int64_t ld, rows, each, n, count; /* each: rows of a part */
    int add;
};

KERNEL(column_part, columns, COLUMN_BLOCK)
{
    SHARED(float, warps);
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    const int64_t begin = (int64_t)blockIdx.x * COLUMN_BLOCK, i = begin + lane * 8;
    const int64_t first = (int64_t)blockIdx.y * a.each, end = least(first + a.each, a.rows);
    float sum[8] = { 0 };
    for (int64_t r = first + warp; r < end && i < a.n; r += COLUMN_BLOCK / WARP) {
        struct eight x = get8(a.x, r * a.ld + i, a.n - i);
        for (int j = 0; j < 8; j++)
            sum[j] += x.v[j];
    }
    put_columns(a.parts + blockIdx.y * a.n, begin, a.n, sum, warps);
}

/* Adds the parts of each column: a lane has a column, and each warp adds some parts in order. */
KERNEL(column_parts, columns, THREADS)
{
    SHARED(float, warps); /* [warps,WARP] */
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    const int64_t i = (int64_t)blockIdx.x * WARP + lane, each = div_up(a.count, THREADS / WARP);
    float total = 0;
    UNROLL_BY(8)
    for (int64_t p = warp * each; p < least((warp + 1) * each, a.count) && i < a.n; p++)
        total += a.parts[p * a.ld + i];
    warps[threadIdx.x] = total;
    BLOCK_BARRIER();
    if (warp || i >= a.n)
        return;
    for (int w = 1; w < THREADS / WARP; w++)
        total += warps[w * WARP + lane];
    a.to[i] = a.add ? a.to[i] + total : total;
}

EXTERN_C void cuda_add_parts(struct ops *o, struct ops_gradient to, struct ops_array parts,
                             int64_t ld, int64_t count, int64_t n)
{
    struct columns c = { 0 };
    c.parts = floats(view_of(parts));
    c.to = floats(view_of(to.to));
    c.ld = ld;
    c.n = n;
    c.count = count;
    c.add = to.add;
    LAUNCH(o, column_parts, div_up(n, WARP), 1, THREADS, THREADS * sizeof(float), c);
}

EXTERN_C void cuda_column_sums(struct ops *o, struct ops_gradient to, struct ops_array x,
                               int64_t ld, int64_t rows, int64_t n)
{
    const int64_t each = rows_of_block(rows, COLUMN_PARTS), count = div_up(rows, each);
    struct ops_array parts = cuda_room(o, ROOM_SUMS, OPS_F32, count * n);
    struct columns c = { 0 };
    c.x = view_rows(x, ld);
    c.parts = floats(view_of(parts));
    c.ld = ld;
    c.rows = rows;
    c.each = each;
    c.n = n;
    c.count = count;
    LAUNCH(o, column_part, div_up(n, COLUMN_BLOCK), count, COLUMN_BLOCK, COLUMN_SHARED, c);
    cuda_add_parts(o, to, parts, n, count, n);
}

/* ---- over the members of a group ---------------------------------------------------------- */

enum { LEVELS = 16 }; /* more than the logarithm of any number of members */

struct tree {
    float *to;
    const float *others;
    int64_t ld, n;
    int own, count, most;
};

DEVICE float join(float left, float right, int most)
{
    return most ? left >= right ? left : right : left + right;
}

/* Each thread joins one element of all arrays. After k arrays, sum[l] is the sum of 2^l
 * neighbouring arrays wherever bit l of k is 1; it waits for the sum of the next 2^l arrays. */
KERNEL(add_tree, tree, THREADS)
{
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    float sum[LEVELS], x = 0;
    if (i >= a.n)
        return;
    for (int k = 0; k < a.count; k++) {
        int open = 1; /* x is not yet in sum[] */
        x = k == a.own ? a.to[i] : a.others[k * a.ld + i];
        UNROLL
        for (int l = 0; l < LEVELS; l++) {
            const int full = k >> l & 1;
            if (open && full)
                x = join(sum[l], x, a.most);
            else if (open)
                sum[l] = x;
            open &= full;
        }
    }
    int none = 1;
    UNROLL
    for (int l = 0; l < LEVELS; l++)
        if (a.count >> l & 1) {
            x = none ? sum[l] : join(sum[l], x, a.most);
            none = 0;
        }
    a.to[i] = x;
}

EXTERN_C void cuda_add_tree(struct ops *o, struct ops_array to, struct ops_array others, int64_t ld,
                            int own, int count, int64_t n, int most)
{
    struct tree t;
    t.to = (float *)view_of(to).at;
    t.others = (const float *)view_of(others).at;
    t.ld = ld;
    t.n = n;
    t.own = own;
    t.count = count;
    t.most = most;
    LAUNCH(o, add_tree, div_up(n, THREADS), 1, THREADS, 0, t);
}
