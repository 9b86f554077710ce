/* sums.cu - sums over elements and over rows. The order of additions depends only on the number of
 * elements: parts of fixed size are summed, and then the parts are added in order. */
#include "cuda/kernel.h"

enum {
    THREADS = 256,
    PART = 1 << 16,   /* elements per partial sum in f64 */
    COLUMNS = 8 * 32, /* columns per block: eight per thread */
};

/* ---- of all elements, in f64 -------------------------------------------------------------- */

struct total {
    struct view x;
    double *parts, *sum;
    int64_t n, count; /* count: number of parts */
    int square, add;
};

DEVICE double warp_sum_f64(double x)
{
    for (int bits = WARP / 2; bits; bits /= 2)
        x += warp_xor(x, bits);
    return x;
}

DEVICE double element(const struct view x, int64_t i, int square)
{
    double v = x.type == OPS_U8 ? ((const unsigned char *)x.at)[i] : get(x, i);
    return square ? v * v : v;
}

KERNEL(sum_part, total, THREADS)
{
    SHARED(double, warps);
    const int64_t first = (int64_t)blockIdx.x * PART;
    double sum = 0;
    for (int64_t i = first + threadIdx.x; i < first + PART && i < a.n; i += THREADS)
        sum += element(a.x, i, a.square);
    sum = warp_sum_f64(sum);
    if (threadIdx.x % WARP == 0)
        warps[threadIdx.x / WARP] = sum;
    BLOCK_BARRIER();
    if (threadIdx.x < WARP) {
        sum = warp_sum_f64(threadIdx.x < THREADS / WARP ? warps[threadIdx.x] : 0);
        if (!threadIdx.x)
            a.parts[blockIdx.x] = sum;
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

static void sum_all(struct ops *o, struct ops_array sum, struct ops_array x, int64_t n, int square,
                    int add)
{
    struct total t;
    t.n = n;
    t.count = div_up(n, PART);
    t.x = view_of(x);
    t.parts = (double *)view_of(cuda_room(o, ROOM_SUMS, OPS_F64, t.count)).at;
    t.sum = (double *)view_of(sum).at;
    t.square = square;
    t.add = add;
    if (n > 0)
        LAUNCH(o, sum_part, t.count, 1, THREADS, THREADS / WARP * sizeof(double), t);
    LAUNCH(o, sum_parts, 1, 1, WARP, 0, t);
}

EXTERN_C void cuda_sum_squares(struct ops *o, struct ops_array sum, struct ops_array x, int64_t n)
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

/* Each lane has eight columns, and the rows are distributed over the warps. The sums of the warps
 * are added in order. */
KERNEL(column_part, columns, THREADS)
{
    SHARED(float, warps); /* [warps,COLUMNS] */
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    const int64_t i = (int64_t)blockIdx.x * COLUMNS + lane * 8;
    const int64_t first = (int64_t)blockIdx.y * a.each, end = least(first + a.each, a.rows);
    float sum[8] = { 0 };
    for (int64_t r = first + warp; r < end && i < a.n; r += THREADS / WARP) {
        struct eight x = get8(a.x, r * a.ld + i, a.n - i);
        for (int j = 0; j < 8; j++)
            sum[j] += x.v[j];
    }
    for (int j = 0; j < 8; j++)
        warps[warp * COLUMNS + lane * 8 + j] = sum[j];
    BLOCK_BARRIER();
    const int64_t column = (int64_t)blockIdx.x * COLUMNS + threadIdx.x;
    if (column < a.n) {
        float total = 0;
        for (int w = 0; w < THREADS / WARP; w++)
            total += warps[w * COLUMNS + threadIdx.x];
        a.parts[blockIdx.y * a.n + column] = total;
    }
}

KERNEL(column_parts, columns, THREADS)
{
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i >= a.n)
        return;
    float total = 0;
    for (int64_t p = 0; p < a.count; p++)
        total += a.parts[p * a.ld + i];
    a.to[i] = a.add ? a.to[i] + total : total;
}

EXTERN_C void cuda_add_parts(struct ops *o, struct ops_gradient to, struct ops_array parts,
                             int64_t ld, int64_t count, int64_t n)
{
    struct columns c;
    c.x = view_of(OPS_NONE);
    c.parts = floats(view_of(parts));
    c.to = floats(view_of(to.to));
    c.ld = ld;
    c.rows = c.each = 0;
    c.n = n;
    c.count = count;
    c.add = to.add;
    LAUNCH(o, column_parts, div_up(n, THREADS), 1, THREADS, 0, c);
}

EXTERN_C void cuda_column_sums(struct ops *o, struct ops_gradient to, struct ops_array x,
                               int64_t ld, int64_t rows, int64_t n)
{
    const int64_t each = rows_of_block(rows), count = div_up(rows, each);
    struct ops_array parts = cuda_room(o, ROOM_SUMS, OPS_F32, count * n);
    struct columns c;
    c.x = view_rows(x, ld);
    c.parts = floats(view_of(parts));
    c.to = 0;
    c.ld = ld;
    c.rows = rows;
    c.each = each;
    c.n = n;
    c.count = count;
    c.add = 0;
    if (rows > 0)
        LAUNCH(o, column_part, div_up(n, COLUMNS), count, THREADS,
               THREADS / WARP * COLUMNS * sizeof(float), c);
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

/* Each thread adds one element. sum[l] is the sum of 2^l neighbours that has no right one yet; they
 * are counted like the bits of a binary number. */
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
    if (n > 0)
        LAUNCH(o, add_tree, div_up(n, THREADS), 1, THREADS, 0, t);
}
