/* Every kernel against a plain loop in double precision, for every instruction set that this
 * processor has and for one and three threads; every backward against central differences of
 * that loop. */
#include <criterion/criterion.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"
#include "common/base/mem.h"
#include "common/base/rng.h"
#include "model/compute/cpu.h"
#include "model/compute/ops.h"
#include "tests/unit/arrays.h"
#include "tests/unit/gauss.h"

/* ---- contexts ---------------------------------------------------------------------------- */

enum { CONTEXTS_MAX = 8 }; /* sets of kernels */

/* Calls test(o) with each set of kernels, with one thread and with three. check-unit has tested
 * all sets but the first, AMX, so check-amx sets FIRST_KERNELS. */
static void in_contexts(enum ops_type precision, void (*test)(struct ops *o))
{
    for (int threads = 1; threads <= 3; threads += 2) {
        struct ops *o = ops_open("cpu", threads);
        cr_assert_not_null(o);
        ops_set_precision(o, precision);
        for (int i = 0; kernels_set(i) && !(i && getenv("FIRST_KERNELS")); i++) {
            o->k = kernels_set(i);
            test(o);
        }
        ops_free(o);
    }
}

static void in_all_contexts(void (*test)(struct ops *o))
{
    in_contexts(OPS_F32, test);
}

/* Returns the tolerance for results of more than one product: `f32`, or a greater one if the
 * products' operands are rounded to bf16. */
static double tolerance(const struct ops *o, double f32)
{
    return o->precision == OPS_BF16 ? 0.02 : f32;
}

/* Like cr_assert, for assertions about many numbers. Criterion sends a message for every assertion,
 * even if it holds; this macro sends one only if the condition is false. */
#define HOLDS(condition, ...)                                                                      \
    do {                                                                                           \
        if (!(condition))                                                                          \
            cr_assert_fail(__VA_ARGS__);                                                           \
    } while (0)

/* ---- numbers ----------------------------------------------------------------------------- */

/* n numbers as floats and as doubles. numbers() makes random ones with the deviation `scale`. */
struct numbers {
    float *f;
    double *d;
    int64_t n;
};

static struct numbers numbers(int64_t n, uint64_t key, double scale)
{
    struct numbers x = { mem_aligned((size_t)n, sizeof(float)),
                         mem_zalloc((size_t)n, sizeof(double)), n };
    struct rng r = { key, 0 };
    for (int64_t i = 0; i < n; i++) {
        x.f[i] = (float)(scale * rng_normal(&r));
        x.d[i] = x.f[i];
    }
    return x;
}

static void drop(struct numbers *x)
{
    free(x->f);
    free(x->d);
}

static void check(const char *what, const float *ours, const double *reference, int64_t n,
                  double tolerance)
{
    double largest = 1e-30;
    for (int64_t i = 0; i < n; i++)
        if (fabs(reference[i]) > largest)
            largest = fabs(reference[i]);
    for (int64_t i = 0; i < n; i++)
        HOLDS(fabs(ours[i] - reference[i]) <= tolerance * largest, "%s[%lld] is %.9g, not %.9g",
              what, (long long)i, ours[i], reference[i]);
}

/* Compares ours[x->n] with the gradient of loss(ctx) with respect to x->d, computed by central
 * differences. tolerated: the permitted error, relative to the greatest element. */
static void check_gradient_to(double tolerated, const char *what, const float *ours,
                              struct numbers *x, double (*loss)(void *ctx), void *ctx)
{
    const double h = 1e-5;
    double *gradient = mem_zalloc((size_t)x->n, sizeof *gradient);
    for (int64_t i = 0; i < x->n; i++) {
        double keep = x->d[i];
        x->d[i] = keep + h;
        double up = loss(ctx);
        x->d[i] = keep - h;
        gradient[i] = (up - loss(ctx)) / (2 * h);
        x->d[i] = keep;
    }
    check(what, ours, gradient, x->n, tolerated);
    free(gradient);
}

static void check_gradient(const char *what, const float *ours, struct numbers *x,
                           double (*loss)(void *ctx), void *ctx)
{
    check_gradient_to(1e-4, what, ours, x, loss, ctx);
}

static double inner_product(const double *a, const double *b, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* Returns a copy of x[n] of that type. The caller frees it with ops_buffer_free. */
static struct ops_array copy_as(struct ops *o, enum ops_type type, const float *x, int64_t n)
{
    struct ops_array a = ops_buffer(o, type, n);
    ops_copy(o, a, f32(x), n);
    return a;
}

static void take(struct ops *o, float *x, struct ops_array a, int64_t n)
{
    ops_copy(o, f32(x), a, n);
    ops_buffer_free(o, a);
}

/* ---- products ---------------------------------------------------------------------------- */

/* Returns the nearest number with a significand of 8 bits, at a tie the even one. */
static double as_bf16(double x)
{
    int exponent;
    double fraction = frexp(x, &exponent);
    return ldexp(rint(ldexp(fraction, 8)), exponent - 8);
}

/* What a product is added to: nothing, the old C, or a base and a bias. */
enum { FROM_NOTHING, FROM_ITSELF, FROM_BASE_AND_BIAS, BEGINNINGS };

/* Which arrays of a product are BF16: A, B, or C and the base. */
enum { HALF_A = 1, HALF_B = 2, HALF_ENDS = 4 };

static void round_numbers(struct numbers *x)
{
    for (int64_t i = 0; i < x->n; i++)
        x->d[i] = x->f[i] = (float)as_bf16(x->d[i]);
}

/* A product and its expected results, which are computed once for all contexts. */
struct product {
    int ta, tb, from;
    int64_t M, N, K, lda, ldb, ldc;
    enum ops_type of_a, of_b, of_ends;
    struct numbers a, b, base, bias;
    struct numbers c, sums; /* c.d, sums.d: wanted */
};

/* Returns n random numbers between -1 and 1, rounded to bf16 if `type` is OPS_BF16. */
static struct numbers entries(int64_t n, uint64_t key, enum ops_type type)
{
    struct numbers x = { mem_aligned((size_t)n, sizeof(float)),
                         mem_zalloc((size_t)n, sizeof(double)), n };
    for (int64_t i = 0; i < n; i++)
        x.d[i] = x.f[i] = (float)((double)(int64_t)rng_at(key, (uint64_t)i) * 0x1p-63);
    if (type == OPS_BF16)
        round_numbers(&x);
    return x;
}

/* Copies an operand of a product to a new array l[lines,K], rounded to bf16 if `precision` is
 * OPS_BF16. ld: the distance of x's rows; across: x is stored as [K,lines]. */
static double *lines_of(const struct numbers *x, int64_t ld, int across, int64_t lines, int64_t K,
                        enum ops_type precision)
{
    double *l = mem_zalloc((size_t)(lines * K), sizeof *l);
    for (int64_t i = 0; i < lines; i++)
        for (int64_t k = 0; k < K; k++)
            l[i * K + k] = x->d[across ? k * ld + i : i * ld + k];
    for (int64_t i = 0; i < lines * K && precision == OPS_BF16; i++)
        l[i] = as_bf16(l[i]);
    return l;
}

/* Computes the expected results p->c.d and p->sums.d with plain loops. */
static void multiply_plainly(struct product *p, enum ops_type precision)
{
    double *a = lines_of(&p->a, p->lda, p->ta, p->M, p->K, precision);
    double *b = lines_of(&p->b, p->ldb, !p->tb, p->N, p->K, precision);
    for (int64_t n = 0; n < p->N && !p->tb; n++)
        for (int64_t k = 0; k < p->K; k++)
            p->sums.d[n] += p->b.d[k * p->ldb + n]; /* not rounded but as an operand */
    for (int64_t m = 0; m < p->M; m++)
        for (int64_t n = 0; n < p->N; n++) {
            double *c = &p->c.d[m * p->ldc + n];
            double begin = p->from == FROM_ITSELF ? *c
                           : p->from == FROM_BASE_AND_BIAS
                               ? p->base.d[m * p->ldc + n] + p->bias.d[n]
                               : 0;
            *c = begin + inner_product(a + m * p->K, b + n * p->K, p->K);
        }
    free(a);
    free(b);
}

static struct product product(enum ops_type precision, int form, int from, int halves, int64_t M,
                              int64_t N, int64_t K)
{
    int ta = form & 1, tb = form >> 1;
    struct product p = { .ta = ta, .tb = tb, .from = from, .M = M, .N = N, .K = K };
    p.of_a = halves & HALF_A ? OPS_BF16 : OPS_F32;
    p.of_b = halves & HALF_B ? OPS_BF16 : OPS_F32;
    p.of_ends = halves & HALF_ENDS ? OPS_BF16 : OPS_F32;
    p.lda = (ta ? M : K) + 3;
    p.ldb = (tb ? K : N) + 5;
    p.ldc = N + 2;
    p.a = entries((ta ? K : M) * p.lda, 1, p.of_a);
    p.b = entries((tb ? N : K) * p.ldb, 2, p.of_b);
    p.c = entries(M * p.ldc, 3, p.of_ends);
    p.base = entries(M * p.ldc, 4, p.of_ends);
    p.bias = entries(N, 5, p.of_ends);
    p.sums = entries(N, 6, OPS_F32);
    multiply_plainly(&p, precision);
    return p;
}

static void product_in(struct ops *o, const struct product *p)
{
    struct ops_array A = copy_as(o, p->of_a, p->a.f, p->a.n);
    struct ops_array B = copy_as(o, p->of_b, p->b.f, p->b.n);
    struct ops_array C = copy_as(o, p->of_ends, p->c.f, p->c.n);
    struct ops_array D = copy_as(o, p->of_ends, p->base.f, p->base.n);
    struct ops_array E = copy_as(o, p->of_ends, p->bias.f, p->N);
    struct ops_array sums = copy_as(o, OPS_F32, p->sums.f, p->N);
    float *c = mem_alloc((size_t)p->c.n * sizeof *c), *s = mem_alloc((size_t)p->N * sizeof *s);
    ops_matmul(o, &(struct ops_matmul){ .C = { C, p->ldc },
                                        .A = { A, p->lda, p->ta },
                                        .B = { B, p->ldb, p->tb },
                                        .M = p->M,
                                        .N = p->N,
                                        .K = p->K,
                                        .base = p->from == FROM_ITSELF          ? C
                                                : p->from == FROM_BASE_AND_BIAS ? D
                                                                                : OPS_NONE,
                                        .bias = p->from == FROM_BASE_AND_BIAS ? E : OPS_NONE,
                                        .sums = p->tb ? OPS_NONE : sums });
    take(o, c, C, p->c.n); /* what stands between the rows is not touched */
    take(o, s, sums, p->N);
    check("matmul", c, p->c.d, p->c.n, p->of_ends == OPS_BF16 ? 4e-3 : 2e-6);
    check("column sums", s, p->sums.d, p->N, 4e-6);
    ops_buffer_free(o, A);
    ops_buffer_free(o, B);
    ops_buffer_free(o, D);
    ops_buffer_free(o, E);
    free(c);
    free(s);
}

static void drop_product(struct product *p)
{
    struct numbers *all[] = { &p->a, &p->b, &p->c, &p->base, &p->bias, &p->sums };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        drop(all[i]);
}

/* Checks all four forms of a product (each factor as it is or transposed) in each of the contexts,
 * a list that ends with NULL. size: M, N and K. */
static void products_in(struct ops *const *contexts, const int64_t size[3], int from, int halves)
{
    for (int form = 0; form < 4; form++) {
        struct product p = product(contexts[0]->precision, form, from, halves, size[0], size[1],
                                   size[2]);
        for (int i = 0; contexts[i]; i++)
            product_in(contexts[i], &p);
        drop_product(&p);
    }
}

static void all_products_in(struct ops *const *contexts)
{
    const int64_t sizes[][3] = { { 1, 1, 1 },     { 3, 5, 7 },      { 17, 33, 20 },  { 64, 64, 64 },
                                 { 100, 37, 65 }, { 31, 130, 129 }, { 5, 300, 41 },  { 13, 9, 800 },
                                 { 400, 21, 30 }, { 3100, 7, 4 },   { 6, 3200, 390 } };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (int from = 0; from < BEGINNINGS; from++)
            products_in(contexts, sizes[i], from, 0);
        for (int halves = HALF_A; halves < 2 * HALF_ENDS; halves++)
            products_in(contexts, sizes[i], halves % BEGINNINGS, halves);
    }
}

/* Checks all products with each set of kernels, with one thread and with three. */
static void products_by_kernels(enum ops_type precision)
{
    struct ops *contexts[2 * CONTEXTS_MAX + 1] = { NULL };
    int n = 0;
    for (int i = 0; kernels_set(i) && i < CONTEXTS_MAX; i++)
        for (int threads = 1; threads <= 3; threads += 2) {
            contexts[n] = ops_open("cpu", threads);
            ops_set_precision(contexts[n], precision);
            contexts[n++]->k = kernels_set(i);
        }
    all_products_in(contexts);
    while (n > 0)
        ops_free(contexts[--n]);
}

Test(ops, matmul)
{
    products_by_kernels(OPS_F32);
}

/* The tolerance is the one for f32, because products of bf16 numbers are exact in f32 and the sums
 * are f32. */
Test(ops, matmul_bf16)
{
    products_by_kernels(OPS_BF16);
}

/* With more threads than chunks, some threads take a part of another thread's chunk. */
Test(ops, matmul_many_threads)
{
    const int64_t sizes[][3] = { { 256, 768, 96 }, { 40, 40, 2000 }, { 300, 70, 33 } };
    struct ops *o = ops_open("cpu", 32);
    for (int precision = OPS_F32; precision <= OPS_BF16; precision++) {
        ops_set_precision(o, precision);
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            for (int from = 0; from < BEGINNINGS; from++)
                products_in((struct ops *const[]){ o, NULL }, sizes[i], from, 0);
    }
    ops_free(o);
}

/* Products that are packed in several blocks, because they have many rows, many columns or long
 * sums. The last two have large results whose rows begin at cache lines: these bypass the caches.
 */
Test(ops, matmul_blocks)
{
    const struct {
        int form, from, halves;
        int64_t M, N, K;
    } cases[] = { { 0, FROM_ITSELF, 0, 3100, 3080, 1 },
                  { 1, FROM_BASE_AND_BIAS, 0, 13, 17, 180001 },
                  { 2, FROM_NOTHING, HALF_A | HALF_B, 13, 17, 180001 },
                  { 0, FROM_BASE_AND_BIAS, HALF_ENDS, 13, 17, 4001 },
                  { 0, FROM_BASE_AND_BIAS, 0, 700, 782, 70 },
                  { 1, FROM_NOTHING, 0, 690, 798, 33 } };
    struct ops *o = ops_open("cpu", 3);
    for (int precision = OPS_F32; precision <= OPS_BF16; precision++)
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            struct product p = product(precision, cases[i].form, cases[i].from, cases[i].halves,
                                       cases[i].M, cases[i].N, cases[i].K);
            ops_set_precision(o, precision);
            product_in(o, &p);
            drop_product(&p);
        }
    ops_free(o);
}

static void bf16_rounding_in(struct ops *o)
{
    const struct {
        float x, wanted;
    } cases[] = {
        { 1, 1 },
        { 1 + 0x1p-8f, 1 }, /* ties go to even */
        { 1 + 0x3p-8f, 1 + 0x1p-6f },
        { 1 + 0x1.0002p-8f, 1 + 0x1p-7f }, /* above a tie */
        { -1 - 0x1.0002p-8f, -1 - 0x1p-7f },
        { 0x1.ffp127f, INFINITY },
        { 0x1.fep127f, 0x1.fep127f },
        { -INFINITY, -INFINITY },
        { 0x1p-120f, 0x1p-120f },
    };
    float unit = 1, y, x;
    const struct ops_matmul left = {
        .C = { f32(&y), 1 }, .A = { f32(&x), 1 }, .B = { f32(&unit), 1 }, .M = 1, .N = 1, .K = 1
    };
    struct ops_matmul right = left;
    right.A = left.B;
    right.B = left.A;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        x = cases[i].x;
        ops_matmul(o, &left);
        cr_assert_eq(y, cases[i].wanted, "%a becomes %a, not %a", cases[i].x, y, cases[i].wanted);
        ops_matmul(o, &right);
        cr_assert_eq(y, cases[i].wanted, "%a becomes %a, not %a", cases[i].x, y, cases[i].wanted);
    }
    const uint32_t bits = 0x7f800001; /* a NaN whose 16 high bits alone are an infinity's */
    memcpy(&x, &bits, sizeof x);
    ops_matmul(o, &left);
    cr_assert(isnan(y), "a NaN becomes %g", y);
}

Test(ops, bf16_rounding)
{
    in_contexts(OPS_BF16, bf16_rounding_in);
}

struct linear {
    struct numbers x, w, bias, dy, base;
    int64_t N, I, O;
};

/* A product large enough that threads share all of its loops: one thread and four threads must give
 * the same bits. */
Test(ops, matmul_threads)
{
    enum { M = 700, N = 130, K = 900 };
    struct numbers a = numbers(M * K, 1, 1), b = numbers(K * N, 2, 1);
    float *c[4];
    for (int i = 0; i < 4; i++) {
        struct ops *o = ops_open("cpu", i % 2 ? 4 : 1);
        ops_set_precision(o, i / 2 ? OPS_BF16 : OPS_F32);
        c[i] = mem_aligned(M * N, sizeof **c);
        ops_matmul(o, &(struct ops_matmul){ .C = { f32(c[i]), N },
                                            .A = { f32(a.f), K },
                                            .B = { f32(b.f), N },
                                            .M = M,
                                            .N = N,
                                            .K = K });
        ops_free(o);
    }
    cr_assert_eq(0, memcmp(c[0], c[1], M * N * sizeof **c));
    cr_assert_eq(0, memcmp(c[2], c[3], M * N * sizeof **c));
    cr_assert_neq(0, memcmp(c[0], c[2], M * N * sizeof **c));
    for (int i = 0; i < 4; i++)
        free(c[i]);
    drop(&a);
    drop(&b);
}

static void linear_reference(double *y, const struct linear *l, const double *base,
                             const double *bias)
{
    for (int64_t n = 0; n < l->N; n++)
        for (int64_t out = 0; out < l->O; out++) {
            double sum = (bias ? bias[out] : 0) + (base ? base[n * l->O + out] : 0);
            for (int64_t in = 0; in < l->I; in++)
                sum += l->x.d[n * l->I + in] * l->w.d[in * l->O + out];
            y[n * l->O + out] = sum;
        }
}

static double linear_loss(void *ctx)
{
    struct linear *l = ctx;
    double *y = mem_zalloc((size_t)(l->N * l->O), sizeof *y);
    linear_reference(y, l, NULL, l->bias.d);
    double loss = inner_product(y, l->dy.d, l->N * l->O);
    free(y);
    return loss;
}

static struct ops_linear map_of(const struct linear *l, int bias)
{
    return (
        struct ops_linear){ f32(l->w.f), bias ? f32(l->bias.f) : OPS_NONE, l->N, l->I, l->O, 0, 0 };
}

static void check_linear_fwd(struct ops *o, struct linear *l)
{
    struct numbers y = numbers(l->N * l->O, 9, 1);
    const struct ops_linear with = map_of(l, 1), without = map_of(l, 0);
    ops_linear_fwd(o, f32(y.f), f32(l->x.f), &with, 1);
    linear_reference(y.d, l, NULL, l->bias.d);
    check("linear_fwd", y.f, y.d, y.n, 1e-6);
    ops_linear_fwd(o, f32(y.f), f32(l->x.f), &without, 1);
    linear_reference(y.d, l, NULL, NULL);
    check("linear_fwd without bias", y.f, y.d, y.n, 1e-6);
    ops_residual_fwd(o, f32(y.f), f32(l->base.f), f32(l->x.f), &with, (struct ops_dropout){ 0 });
    linear_reference(y.d, l, l->base.d, l->bias.d);
    check("residual_fwd", y.f, y.d, y.n, 1e-6);
    drop(&y);
}

/* Checks the backward of a linear map. Gradients of parameters must be added to the old values,
 * which are 1 here. */
static void check_linear_bwd(struct ops *o, struct linear *l)
{
    struct numbers dx = numbers(l->x.n, 10, 1), dw = numbers(l->w.n, 11, 0);
    struct numbers dbias = numbers(l->O, 12, 0);
    for (int64_t i = 0; i < dw.n; i++)
        dw.f[i] = 1;
    for (int64_t i = 0; i < dbias.n; i++)
        dbias.f[i] = 1;
    const struct ops_linear map = map_of(l, 1);
    ops_linear_bwd(o, ops_set(f32(dx.f)), ops_added(f32(dw.f)), ops_added(f32(dbias.f)),
                   f32(l->dy.f), f32(l->x.f), &map);
    for (int64_t i = 0; i < dw.n; i++)
        dw.f[i] -= 1;
    for (int64_t i = 0; i < dbias.n; i++)
        dbias.f[i] -= 1;
    check_gradient("linear dx", dx.f, &l->x, linear_loss, l);
    check_gradient("linear dw", dw.f, &l->w, linear_loss, l);
    check_gradient("linear dbias", dbias.f, &l->bias, linear_loss, l);
    drop(&dx);
    drop(&dw);
    drop(&dbias);
}

static void linear_in(struct ops *o)
{
    for (int64_t N = 1; N <= 9; N += 2) {
        struct linear l = { .N = N, .I = 19, .O = 70 };
        l.x = numbers(l.N * l.I, 4, 1);
        l.w = numbers(l.I * l.O, 5, 1);
        l.bias = numbers(l.O, 6, 1);
        l.dy = numbers(l.N * l.O, 7, 1);
        l.base = numbers(l.N * l.O, 8, 1);
        check_linear_fwd(o, &l);
        if (N == 5)
            check_linear_bwd(o, &l);
        drop(&l.x);
        drop(&l.w);
        drop(&l.bias);
        drop(&l.dy);
        drop(&l.base);
    }
}

Test(ops, linear)
{
    in_all_contexts(linear_in);
}

/* Few rows give the bits that each of them gives alone. So do many columns: a kernel
 * takes a part at a time. */
static void few_rows_in(struct ops *o)
{
    const int64_t I = 53, O = 901;
    for (int64_t N = 2; N <= OPS_FEW_ROWS; N += 3) {
        struct numbers x = numbers(N * I, 1, 1), w = numbers(I * O, 2, 1), y = numbers(N * O, 3, 1);
        struct numbers bias = numbers(O, 4, 1), one = numbers(O, 5, 1);
        struct ops_linear l = { f32(w.f), f32(bias.f), N, I, O, 0, 0 };
        for (int type = OPS_F32; type <= OPS_BF16; type++) {
            l.w = copy_as(o, (enum ops_type)type, w.f, w.n);
            l.N = N;
            ops_linear_fwd(o, f32(y.f), f32(x.f), &l, 1);
            l.N = 1;
            for (int64_t n = 0; n < N; n++) {
                ops_linear_fwd(o, f32(one.f), f32(x.f + n * I), &l, 1);
                HOLDS(!memcmp(one.f, y.f + n * O, (size_t)O * sizeof(float)),
                      "row %lld of %lld, type %d", (long long)n, (long long)N, type);
            }
            ops_buffer_free(o, l.w);
        }
        struct numbers *all[] = { &x, &w, &y, &bias, &one };
        for (size_t i = 0; i < sizeof all / sizeof *all; i++)
            drop(all[i]);
    }
}

Test(ops, linear_of_few_rows)
{
    in_all_contexts(few_rows_in);
    in_contexts(OPS_BF16, few_rows_in);
}

/* Operands that are stored as bf16 must give the same bits as floats that are rounded on the way.
 * dbias is different: it is the sum of the numbers as they are stored. */
static void linear_operands_in(struct ops *o)
{
    enum { N = 40, I = 41, O = 70 }; /* more than OPS_FEW_ROWS */
    struct numbers x = numbers(N * I, 1, 1), dy = numbers(N * O, 2, 1), w = numbers(I * O, 3, 1);
    struct numbers y[2], dx[2], dw[2];
    const struct ops_linear map = { f32(w.f), OPS_NONE, N, I, O, 0, 0 };
    for (int made = 0; made < 2; made++) {
        enum ops_type type = made ? ops_operand(o) : OPS_F32;
        y[made] = numbers(N * O, 4, 1);
        dx[made] = numbers(N * I, 5, 1);
        dw[made] = numbers(I * O, 6, 1);
        struct ops_array xs = copy_as(o, type, x.f, x.n), dys = copy_as(o, type, dy.f, dy.n);
        ops_linear_fwd(o, f32(y[made].f), xs, &map, 1);
        ops_residual_fwd(o, f32(y[made].f), f32(w.f), xs, &map, (struct ops_dropout){ 0 });
        ops_linear_bwd(o, ops_set(f32(dx[made].f)), ops_set(f32(dw[made].f)),
                       (struct ops_gradient){ 0 }, dys, xs, &map);
        ops_buffer_free(o, xs);
        ops_buffer_free(o, dys);
    }
    cr_assert_eq(0, memcmp(y[0].f, y[1].f, N * O * sizeof(float)));
    cr_assert_eq(0, memcmp(dx[0].f, dx[1].f, N * I * sizeof(float)));
    cr_assert_eq(0, memcmp(dw[0].f, dw[1].f, I * O * sizeof(float)));
    struct numbers *all[] = { &x, &dy, &w, &y[0], &y[1], &dx[0], &dx[1], &dw[0], &dw[1] };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        drop(all[i]);
}

Test(ops, linear_operands)
{
    in_all_contexts(linear_operands_in);
    in_contexts(OPS_BF16, linear_operands_in);
}

static void logits_of(struct ops *o, int64_t N, int64_t V, int64_t C)
{
    struct numbers x = numbers(N * C, 1, 1), table = numbers(V * C, 2, 1);
    struct numbers y = numbers(N * V, 3, 1);
    for (int64_t n = 0; n < N; n++)
        for (int64_t v = 0; v < V; v++)
            y.d[n * V + v] = inner_product(x.d + n * C, table.d + v * C, C);
    ops_logits(o, f32(y.f), f32(x.f), N,
               &(struct ops_decoder){ .table = f32(table.f), .V = V, .C = C });
    check("logits", y.f, y.d, y.n, 1e-6);
    drop(&x);
    drop(&table);
    drop(&y);
}

static void logits_in(struct ops *o)
{
    for (int64_t N = 1; N <= 6; N++)
        logits_of(o, N, 301, 67);
    logits_of(o, 1, 37, 1301); /* more numbers than a kernel multiplies at once */
    logits_of(o, 9, 37, 1301);
}

Test(ops, logits)
{
    in_all_contexts(logits_in);
}

/* Rows give the bits that each of them gives alone, also in lines that a kernel multiplies part by
 * part, and for a last line of few outputs. */
static void logits_of_few_rows_in(struct ops *o)
{
    enum { V = 39, C = 1037 };
    struct numbers x = numbers(OPS_FEW_ROWS * C, 1, 1), w = numbers(V * C, 2, 1);
    struct numbers y = numbers(OPS_FEW_ROWS * V, 3, 1), one = numbers(V, 4, 1);
    for (int type = OPS_F32; type <= OPS_BF16; type++) {
        struct ops_decoder d = { .table = copy_as(o, (enum ops_type)type, w.f, w.n),
                                 .V = V,
                                 .C = C };
        for (int64_t N = 2; N <= OPS_FEW_ROWS; N += 3) {
            ops_logits(o, f32(y.f), f32(x.f), N, &d);
            for (int64_t n = 0; n < N; n++) {
                ops_logits(o, f32(one.f), f32(x.f + n * C), 1, &d);
                HOLDS(!memcmp(one.f, y.f + n * V, V * sizeof(float)), "row %lld of %lld, type %d",
                      (long long)n, (long long)N, type);
            }
        }
        ops_buffer_free(o, d.table);
    }
    struct numbers *all[] = { &x, &w, &y, &one };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        drop(all[i]);
}

Test(ops, logits_of_few_rows)
{
    in_all_contexts(logits_of_few_rows_in);
}

/* ---- layer norm, GELU, sums -------------------------------------------------------------- */

struct norm {
    struct numbers x, gain, bias, dy; /* RMSNorm has no bias */
    int64_t N, C;
    int rms;
};

static void norm_reference(double *y, const struct norm *l)
{
    for (int64_t n = 0; n < l->N; n++) {
        const double *x = l->x.d + n * l->C;
        double mean = 0, variance = 0;
        for (int64_t i = 0; i < l->C && !l->rms; i++)
            mean += x[i] / (double)l->C;
        for (int64_t i = 0; i < l->C; i++)
            variance += (x[i] - mean) * (x[i] - mean) / (double)l->C;
        for (int64_t i = 0; i < l->C; i++)
            y[n * l->C + i] = (x[i] - mean) / sqrt(variance + 1e-5) * l->gain.d[i] +
                              (l->rms ? 0 : l->bias.d[i]);
    }
}

static double norm_loss(void *ctx)
{
    struct norm *l = ctx;
    double *y = mem_zalloc((size_t)(l->N * l->C), sizeof *y);
    norm_reference(y, l);
    double loss = inner_product(y, l->dy.d, l->N * l->C);
    free(y);
    return loss;
}

static void check_norm(struct ops *o, struct norm *l)
{
    struct numbers y = numbers(l->N * l->C, 5, 1), dx = numbers(l->N * l->C, 6, 1);
    struct numbers dgain = numbers(l->C, 7, 0), dbias = numbers(l->C, 8, 0);
    struct numbers before = numbers(l->C, 11, 1), again = numbers(l->N * l->C, 12, 1);
    struct numbers mean = numbers(l->N, 9, 1), rstd = numbers(l->N, 9, 1);
    const struct ops_norm norm = { .gain = f32(l->gain.f),
                                   .bias = l->rms ? OPS_NONE : f32(l->bias.f),
                                   .N = l->N,
                                   .C = l->C,
                                   .epsilon = 1e-5,
                                   .rms = l->rms };
    const struct ops_moments kept = { l->rms ? OPS_NONE : f32(mean.f), f32(rstd.f), 0 };
    struct ops_array gb = l->rms ? OPS_NONE : f32(dbias.f);
    struct ops_array half = ops_buffer(o, ops_operand(o), y.n);
    ops_norm_fwd(o, half, kept, f32(l->x.f), &norm);
    take(o, y.f, half, y.n);
    norm_reference(y.d, l);
    check("norm_fwd, operands", y.f, y.d, y.n, tolerance(o, 2e-6));
    ops_norm_fwd(o, f32(y.f), kept, f32(l->x.f), &norm);
    check("norm_fwd", y.f, y.d, y.n, 2e-6);
    struct ops_norm_bwd b = { .dx = ops_set(f32(dx.f)),
                              .dgain = ops_added(f32(dgain.f)),
                              .dbias = ops_added(gb),
                              .dy = f32(l->dy.f),
                              .x = f32(l->x.f),
                              .kept = kept };
    ops_norm_bwd(o, &b, &norm);
    check_gradient("layernorm dx", dx.f, &l->x, norm_loss, l);
    check_gradient("layernorm dgain", dgain.f, &l->gain, norm_loss, l);
    if (!l->rms)
        check_gradient("layernorm dbias", dbias.f, &l->bias, norm_loss, l);
    memcpy(again.d, y.d, (size_t)y.n * sizeof *y.d);
    for (int64_t i = 0; i < dx.n; i++) /* once more, onto a base */
        dx.d[i] = (double)dx.f[i] + y.f[i];
    for (int64_t i = 0; i < y.n; i++)
        before.d[i % l->C] = (i < l->C ? before.f[i] : before.d[i % l->C]) + y.f[i];
    b.dx = ops_added(f32(y.f));
    b.before = ops_added(f32(before.f));
    b.y = f32(again.f);
    ops_norm_bwd(o, &b, &norm);
    check("layernorm dx onto base", y.f, dx.d, dx.n, 1e-6);
    check("layernorm base", before.f, before.d, before.n, 2e-6);
    check("layernorm again", again.f, again.d, again.n, 2e-6);
    for (int64_t i = 0; i < dgain.n; i++)
        dgain.f[i] /= 2;
    check_gradient("layernorm dgain added", dgain.f, &l->gain, norm_loss, l);
    b = (struct ops_norm_bwd){ .dx = ops_set(f32(dx.f)),
                               .dgain = ops_set(f32(dgain.f)),
                               .dbias = ops_set(gb),
                               .dy = f32(l->dy.f),
                               .x = f32(l->x.f),
                               .kept = kept };
    ops_norm_bwd(o, &b, &norm);
    check_gradient("layernorm dgain set", dgain.f, &l->gain, norm_loss, l);
    if (!l->rms)
        check_gradient("layernorm dbias set", dbias.f, &l->bias, norm_loss, l);
    drop(&y);
    drop(&dx);
    drop(&dgain);
    drop(&dbias);
    drop(&before);
    drop(&again);
    drop(&mean);
    drop(&rstd);
}

static void norm_in(struct ops *o)
{
    enum { WIDTHS = 6 };
    const int64_t widths[WIDTHS] = { 1, 3, 16, 37, 64, 130 };
    for (int i = 0; i < 2 * WIDTHS; i++) {
        struct norm l = { .N = 5, .C = widths[i % WIDTHS], .rms = i >= WIDTHS };
        l.x = numbers(l.N * l.C, 1, 2);
        l.gain = numbers(l.C, 2, 1);
        l.bias = numbers(l.C, 3, 1);
        l.dy = numbers(l.N * l.C, 4, 1);
        for (int64_t n = 0; n < l.x.n; n++)
            l.x.d[n] = l.x.f[n] += 3; /* a mean that must be taken off */
        if (l.C > 1)
            check_norm(o, &l);
        drop(&l.x);
        drop(&l.gain);
        drop(&l.bias);
        drop(&l.dy);
    }
}

/* The moments of rows from those of their halves. */
static void norm_join_in(struct ops *o)
{
    enum { N = 5, C = 12, RANKS = 2 };
    for (int rms = 0; rms <= 1; rms++) {
        struct numbers x = numbers((int64_t)N * C, 1, 2), gain = numbers(C, 2, 1);
        struct numbers mean = numbers(N, 3, 1), rstd = numbers(N, 4, 1);
        float half[N * C / RANKS], parts[RANKS * 2 * N];
        struct ops_norm norm = {
            .gain = f32(gain.f), .bias = f32(gain.f), .N = N, .C = C, .epsilon = 1e-5, .rms = rms
        };
        const struct ops_moments kept = { .mean = rms ? OPS_NONE : f32(mean.f),
                                          .rstd = f32(rstd.f) };
        for (int64_t i = 0; i < x.n; i++)
            x.f[i] += i % C < C / RANKS ? 3 : -1;
        ops_norm_fwd(o, OPS_NONE, kept, f32(x.f), &norm);
        for (int n = 0; n < N; n++) {
            mean.d[n] = mean.f[n];
            rstd.d[n] = rstd.f[n];
        }
        norm.C = C / RANKS;
        for (int q = 0; q < RANKS; q++) {
            float *own = parts + (ptrdiff_t)q * (rms ? 1 : 2) * N;
            for (int64_t i = 0; i < N * norm.C; i++)
                half[i] = x.f[i / norm.C * C + q * norm.C + i % norm.C];
            ops_norm_fwd(
                o, OPS_NONE,
                (struct ops_moments){ .mean = rms ? OPS_NONE : f32(own + N), .rstd = f32(own) },
                f32(half), &norm);
        }
        ops_norm_join(o, kept, f32(parts), RANKS, &norm);
        check("norm_join rstd", rstd.f, rstd.d, N, 2e-6);
        if (!rms)
            check("norm_join mean", mean.f, mean.d, N, 2e-6);
        drop(&x);
        drop(&gain);
        drop(&mean);
        drop(&rstd);
    }
}

Test(ops, norms)
{
    in_all_contexts(norm_in);
    in_all_contexts(norm_join_in);
    in_contexts(OPS_BF16, norm_in);
}

static double gelu(double x)
{
    return 0.5 * x * (1 + tanh(sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x)));
}

static double gelu_erf(double x)
{
    return 0.5 * x * erfc(-x / sqrt(2));
}

static double relu(double x)
{
    return x > 0 ? x : 0;
}

static double silu(double x)
{
    return x / (1 + exp(-x));
}

struct activation {
    double (*value)(double x);
    enum ops_activation f;
    double near_zero; /* absolute error that is allowed */
};

/* A gated unit without a gate. */
static void activate(struct ops *o, enum ops_activation f, struct ops_array y, struct ops_array x,
                     int64_t n)
{
    ops_gated_fwd(o, &(struct ops_gate){ f, 1, n, n }, y, x, OPS_NONE);
}

static void check_activation(struct ops *o, struct activation form)
{
    enum { N = 61 * 329 };
    const struct ops_gate alone = { form.f, 1, N, N };
    struct numbers x = numbers(N, 1, 1), y = numbers(N, 2, 1), d = numbers(N, 3, 1);
    for (int64_t i = 0; i < N; i++) { /* from -50 to 50, and the ends of the floats */
        x.f[i] = (float)(i - N / 2) / 200;
        if (i < 4)
            x.f[i] = (float[]){ -1e30f, 1e10f, -1e-30f, -200 }[i];
        x.d[i] = x.f[i];
    }
    activate(o, form.f, f32(y.f), f32(x.f), N);
    for (int64_t i = 0; i < N; i++) {
        double wanted = form.value(x.d[i]);
        HOLDS(fabs(y.f[i] - wanted) <= 1e-6 * fabs(wanted) + form.near_zero, "f(%g) is %g, not %g",
              x.f[i], y.f[i], wanted);
    }
    memcpy(d.d, x.d, N * sizeof *d.d);
    for (int64_t i = 0; i < N; i++)
        d.f[i] = 2;
    struct ops_array dx = copy_as(o, ops_operand(o), d.f, N);
    struct ops_array again = ops_buffer(o, ops_operand(o), N);
    const struct ops_gradient none = { 0 };
    ops_gated_bwd(o, &alone, dx, OPS_NONE, again, none, dx, f32(x.f), OPS_NONE);
    ops_gated_bwd(o, &alone, f32(d.f), OPS_NONE, f32(x.f), none, f32(d.f), f32(x.f), OPS_NONE);
    for (int half = 0; half < 2; half++) {
        for (int64_t i = 0; i < N; i++) {
            double h = 1e-5 * (1 + fabs(d.d[i]));
            double slope = (form.value(d.d[i] + h) - form.value(d.d[i] - h)) / (2 * h);
            double wanted = fabs(d.d[i]) > 1e6 ? (d.d[i] > 0) : slope;
            if (form.f == OPS_RELU)
                wanted = d.d[i] > 0; /* there is no slope at 0 */
            double most = (half ? tolerance(o, 0) : 0) / 2 * fabs(wanted) + 1e-5;
            HOLDS(fabs(d.f[i] - 2 * wanted) <= most, "f'(%g) is %g, not %g", d.d[i], d.f[i] / 2,
                  wanted);
            double rounded = (half ? tolerance(o, 1e-6) : 1e-6) * fabs(y.f[i]);
            HOLDS(fabs((double)x.f[i] - y.f[i]) <= rounded + 1e-37, "%g, not %g", x.f[i], y.f[i]);
        }
        ops_copy(o, f32(d.f), dx, N);
        ops_copy(o, f32(x.f), again, N);
    }
    activate(o, form.f, again, f32(y.f), N);
    take(o, y.f, again, N);
    for (int64_t i = 0; i < N; i++) {
        double wanted = form.value(form.value(d.d[i]));
        HOLDS(fabs(y.f[i] - wanted) <= tolerance(o, 1e-5) * fabs(wanted) + 1e-6, "%g, not %g",
              y.f[i], wanted);
    }
    ops_buffer_free(o, dx);
    drop(&x);
    drop(&y);
    drop(&d);
}

static void activations_in(struct ops *o)
{
    check_activation(o, (struct activation){ gelu, OPS_GELU_TANH, 1e-7 });
    check_activation(o, (struct activation){ gelu_erf, OPS_GELU, 4e-7 });
    check_activation(o, (struct activation){ relu, OPS_RELU, 0 });
    check_activation(o, (struct activation){ silu, OPS_SILU, 2e-36 });
}

Test(ops, activations)
{
    in_all_contexts(activations_in);
    in_contexts(OPS_BF16, activations_in);
}

/* A NaN must stay a NaN: otherwise it would not be seen that a training diverges. */
static void nan_stays_in(struct ops *o)
{
    enum { N = 67 };
    struct numbers x = numbers(N, 1, 1), y = numbers(N, 2, 1);
    for (int f = 0; f < OPS_ACTIVATIONS; f++) {
        x.f[f] = x.f[N - 1] = NAN;
        activate(o, (enum ops_activation)f, f32(y.f), f32(x.f), N);
        HOLDS(isnan(y.f[f]) && isnan(y.f[N - 1]), "activation %d: %g, %g", f, y.f[f], y.f[N - 1]);
    }
    drop(&x);
    drop(&y);
}

Test(ops, activations_keep_nan)
{
    in_all_contexts(nan_stays_in);
}

/* Checks f(gate) * up and its gradients, in place and in other arrays, with f32 and bf16. */
static void gated_in(struct ops *o)
{
    enum { N = 10007 };
    double (*const values[])(double) = { gelu, gelu_erf, relu, silu };
    struct numbers gate = numbers(N, 1, 3), up = numbers(N, 2, 1), dy = numbers(N, 3, 1);
    struct numbers y = numbers(N, 4, 1), dgate = numbers(N, 5, 1), dup = numbers(N, 6, 1);
    for (int f = 0; f < OPS_ACTIVATIONS; f++) {
        for (int64_t i = 0; i < N; i++) {
            double v = values[f](gate.d[i]), h = 1e-5;
            double slope = (values[f](gate.d[i] + h) - values[f](gate.d[i] - h)) / (2 * h);
            y.d[i] = v * up.d[i];
            dgate.d[i] = dy.d[i] * up.d[i] * slope;
            dup.d[i] = dy.d[i] * v;
        }
        const struct ops_gate form = { f, 1, N, N };
        const struct ops_gradient none = { 0 };
        ops_gated_fwd(o, &form, f32(y.f), f32(gate.f), f32(up.f));
        check("gated_fwd", y.f, y.d, N, 1e-6);
        const enum ops_type type = ops_operand(o);
        struct ops_array a = ops_buffer(o, type, N), b = ops_buffer(o, type, N);
        struct ops_array c = copy_as(o, type, dy.f, N);
        ops_gated_bwd(o, &form, a, b, c, none, f32(dy.f), f32(gate.f), f32(up.f));
        take(o, dgate.f, a, N);
        take(o, dup.f, b, N);
        take(o, y.f, c, N);
        check("gated dgate", dgate.f, dgate.d, N, tolerance(o, 1e-5));
        check("gated dup", dup.f, dup.d, N, tolerance(o, 1e-6));
        check("gated again", y.f, y.d, N, tolerance(o, 1e-6));
        struct numbers g = numbers(N, 1, 3), u = numbers(N, 2, 1), d = numbers(N, 3, 1);
        ops_gated_bwd(o, &form, f32(g.f), f32(u.f), f32(d.f), none, f32(d.f), f32(g.f), f32(u.f));
        check("gated dgate in place", g.f, dgate.d, N, 1e-5);
        check("gated dup in place", u.f, dup.d, N, 1e-6);
        check("gated in place", d.f, y.d, N, 1e-6);
        drop(&g);
        drop(&u);
        drop(&d);
    }
    struct numbers *all[] = { &gate, &up, &dy, &y, &dgate, &dup };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        drop(all[i]);
}

/* Gate and up side by side in rows give the same as in arrays of their own. */
static void gated_rows_in(struct ops *o)
{
    enum { ROWS = 331, I = 37, N = ROWS * I };
    struct numbers gate = numbers(N, 1, 3), up = numbers(N, 2, 1), dy = numbers(N, 3, 1);
    struct numbers y = numbers(N, 4, 1), both = numbers(2 * N, 5, 1), d = numbers(2 * N, 6, 1);
    const struct ops_gate whole = { OPS_GELU, 1, N, N }, rows = { OPS_GELU, ROWS, I, 2 * I };
    for (int64_t r = 0; r < ROWS; r++) {
        memcpy(both.f + 2 * r * I, gate.f + r * I, I * sizeof *both.f);
        memcpy(both.f + (2 * r + 1) * I, up.f + r * I, I * sizeof *both.f);
    }
    ops_gated_fwd(o, &whole, f32(y.f), f32(gate.f), f32(up.f));
    for (int64_t i = 0; i < N; i++)
        y.d[i] = y.f[i];
    ops_gated_fwd(o, &rows, f32(y.f), f32(both.f), f32(both.f + I));
    check("gated rows", y.f, y.d, N, 0);
    const struct ops_gradient none = { 0 };
    ops_gated_bwd(o, &rows, f32(d.f), f32(d.f + I), f32(y.f), none, f32(dy.f), f32(both.f),
                  f32(both.f + I));
    ops_gated_bwd(o, &whole, f32(gate.f), f32(up.f), f32(y.f), none, f32(dy.f), f32(gate.f),
                  f32(up.f));
    for (int64_t r = 0; r < ROWS; r++) {
        cr_assert(!memcmp(d.f + 2 * r * I, gate.f + r * I, I * sizeof *d.f));
        cr_assert(!memcmp(d.f + (2 * r + 1) * I, up.f + r * I, I * sizeof *d.f));
    }
    struct numbers *all[] = { &gate, &up, &dy, &y, &both, &d };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        drop(all[i]);
}

Test(ops, gated)
{
    in_all_contexts(gated_rows_in);
    in_all_contexts(gated_in);
    in_contexts(OPS_BF16, gated_in);
}

/* Returns pair i's frequency by YaRN. The limits are the pairs whose waves fit s->high and s->low
 * times. */
static double yarned(double frequency, int64_t i, int64_t HS, const struct ops_stretch *s)
{
    const double pi = 3.141592653589793, step = -2 * log(500) / (double)HS;
    double first = log(s->high * 2 * pi / s->original) / step;
    double last = log(s->low * 2 * pi / s->original) / step;
    if (s->whole)
        first = floor(first), last = ceil(last);
    first = first < 0 ? 0 : first;
    double share = ((double)i - first) / (last - first);
    share = share < 0 ? 0 : share > 1 ? 1 : share;
    return frequency * (1 - share) + frequency / s->factor * share;
}

/* Returns the stretched frequency: long waves are stretched by s->factor, short ones are not, and
 * waves between the two limits by a share of it. */
static double stretched(double frequency, int64_t i, int64_t HS, const struct ops_stretch *s)
{
    const double pi = 3.141592653589793, wave = 2 * pi / frequency;
    if (s->divided)
        return frequency / (double)s->divisors[i];
    if (s->yarn)
        return yarned(frequency, i, HS, s);
    if (!s->original)
        return s->factor ? frequency / s->factor : frequency;
    if (wave < s->original / s->high)
        return frequency;
    if (wave > s->original / s->low)
        return frequency / s->factor;
    double share = (s->original / wave - s->low) / (s->high - s->low);
    return (1 - share) * frequency / s->factor + share * frequency;
}

/* Checks the rotation of `heads` heads of size HS in rows that have other numbers behind them, and
 * the rotation back. first: the first place; negative: the places are given one by one. */
static void rotate_of(struct ops *o, int64_t HS, int64_t heads, int64_t first,
                      struct ops_stretch stretch)
{
    enum { N = 11, T = 4 };
    const int64_t ld = heads * HS + 3;
    struct numbers x = numbers(N * ld, 1, 1);
    uint32_t places[N];
    const double scale = stretch.scale ? stretch.scale : 1;
    for (int64_t n = 0; n < N; n++) {
        places[n] = (uint32_t)(first < 0 ? n * 37 % 100 : first + n % T);
        for (int64_t h = 0; h < heads; h++)
            for (int64_t i = 0; i < HS / 2; i++) {
                double *a = &x.d[n * ld + h * HS + i], *b = a + HS / 2, was = *a;
                double frequency = pow(500, -2.0 * (double)i / (double)HS);
                double angle = places[n] * stretched(frequency, i, HS, &stretch);
                const double b0 = *b * scale, a0 = was * scale;
                *a = a0 * cos(angle) - b0 * sin(angle);
                *b = b0 * cos(angle) + a0 * sin(angle);
            }
    }
    const struct ops_tokens t = { .N = N,
                                  .T = T,
                                  .first = first < 0 ? 100 - T : first,
                                  .places = first < 0 ? ops_host_array(places, OPS_U32)
                                                      : OPS_NONE };
    struct ops_rotary r = { .heads = heads, .HS = HS, .ld = ld, .base = 500, .stretch = stretch };
    struct numbers again = numbers(N * ld, 1, 1);
    ops_rotate(o, f32(x.f), &t, &r);
    check("rotate", x.f, x.d, x.n, 1e-6);
    r.back = 1;
    ops_rotate(o, f32(x.f), &t, &r);
    for (int64_t i = 0; i < x.n; i++)
        again.d[i] *= i % ld < heads * HS ? scale * scale : 1;
    check("rotate back", x.f, again.d, x.n, 1e-6);
    drop(&x);
    drop(&again);
}

static void rotate_in(struct ops *o)
{
    const struct ops_stretch none = { 0 }, linear = { .factor = 2.5 },
                             llama = { 8, 1, 4, 300, .scale = 0 };
    const struct ops_stretch yarn = { 4, 1, 32, 400, 1.25, .yarn = 1, .whole = 1 };
    struct ops_stretch part = yarn;
    part.whole = 0;
    rotate_of(o, 2, 1, 0, none);
    rotate_of(o, 10, 3, 7, none);
    rotate_of(o, 64, 2, -1, none);
    rotate_of(o, 64, 2, -1, linear);
    rotate_of(o, 64, 2, -1, llama);
    rotate_of(o, 64, 2, -1, yarn);
    rotate_of(o, 64, 2, 9, part);
    struct ops_stretch own = { .scale = 1.2, .divided = 32 };
    for (int i = 0; i < 32; i++)
        own.divisors[i] = 1 + (float)(i * i % 7) / 3;
    rotate_of(o, 64, 2, -1, own);
    own.divisors[31] = 9; /* a table for other divisors is another one */
    rotate_of(o, 64, 2, -1, own);
    rotate_of(o, 128, 1, 3, none);
}

Test(ops, rotate)
{
    in_all_contexts(rotate_in);
}

static double squares(struct ops *o, const float *x, int64_t n)
{
    double sums[4], sum = 0;
    ops_sum_squares(o, ops_host_array(sums, OPS_F64), f32(x), &(struct ops_run){ 0, n, 0 }, 1);
    for (int64_t i = 0; i < ops_pieces(n); i++)
        sum += sums[i];
    return sum;
}

static void sums_in(struct ops *o)
{
    enum { N = 200003 };
    struct numbers x = numbers(N, 1, 1), y = numbers(N, 2, 1);
    double wanted = inner_product(x.d, x.d, N);
    cr_assert_float_eq(squares(o, x.f, N), wanted, 1e-10 * wanted);
    cr_assert_eq(squares(o, x.f, 0), 0);
    double sum = 5, plain = 5;
    const unsigned char bytes[] = { 1, 0, 1, 1 };
    for (int64_t i = 0; i < N; i++)
        plain += x.f[i];
    ops_add_sum(o, ops_host_array(&sum, OPS_F64), f32(x.f), N);
    cr_assert_eq(sum, plain);
    ops_add_sum(o, ops_host_array(&sum, OPS_F64), ops_host_array((void *)bytes, OPS_U8), 4);
    cr_assert_eq(sum, plain + 3);
    for (int64_t i = 0; i < N; i++)
        y.d[i] += x.d[i];
    ops_add(o, f32(y.f), f32(x.f), N);
    check("add", y.f, y.d, N, 1e-6);
    ops_zero(o, f32(y.f + 1), N - 1);
    cr_assert_float_eq(y.f[0], y.d[0], 1e-6);
    for (int64_t i = 1; i < N; i++)
        HOLDS(y.f[i] == 0, "[%d] is %g", (int)i, y.f[i]);
    drop(&x);
    drop(&y);
}

Test(ops, sums)
{
    in_all_contexts(sums_in);
}

/* ---- AdamW ------------------------------------------------------------------------------- */

static void adamw_in(struct ops *o)
{
    enum { N = 10007 };
    struct numbers w = numbers(N, 1, 1), m = numbers(N, 2, 0.1), v = numbers(N, 3, 1);
    struct numbers g = numbers(N, 4, 1);
    struct ops_adamw h = { .rate = 0.01,
                           .beta1 = 0.9,
                           .beta2 = 0.95,
                           .epsilon = 1e-3,
                           .decay = 0.1,
                           .gradient_scale = 0.5,
                           .m_correction = 1.3,
                           .v_correction = 2.5 };
    for (int64_t i = 0; i < N; i++) {
        v.d[i] = v.f[i] = fabsf(v.f[i]);
        double gi = 0.5 * g.d[i];
        m.d[i] = 0.9 * m.d[i] + 0.1 * gi;
        v.d[i] = 0.95 * v.d[i] + 0.05 * gi * gi;
        w.d[i] -= 0.01 * (m.d[i] * 1.3 / (sqrt(v.d[i] * 2.5) + 1e-3) + 0.1 * w.d[i]);
    }
    const struct ops_state state[] = { { f32(w.f), 0 }, { f32(m.f), 0 }, { f32(v.f), 0 } };
    ops_adamw(o, state, f32(g.f), N, &h);
    check("adamw w", w.f, w.d, N, 1e-6);
    check("adamw m", m.f, m.d, N, 1e-6);
    check("adamw v", v.f, v.d, N, 1e-6);
    drop(&w);
    drop(&m);
    drop(&v);
    drop(&g);
}

Test(ops, adamw)
{
    in_all_contexts(adamw_in);
}

/* ---- bf16 as it is stored ----------------------------------------------------------------- */

static float float_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static uint16_t *halves_of(struct ops_array a)
{
    return (uint16_t *)(void *)a.address;
}

static void stored_bf16_in(struct ops *o)
{
    enum { N = 100003, FIRST = 4096 };
    struct numbers x = numbers(N, 3, 1);
    struct ops_array y = ops_buffer(o, OPS_BF16, N), again = ops_buffer(o, OPS_BF16, N);
    float *back = mem_alloc(N * sizeof *back);
    double error = 0;
    ops_round(o, (struct ops_state){ y, 99 }, f32(x.f), N, FIRST);
    ops_copy(o, f32(back), y, N);
    for (uint64_t i = 0; i < N; i++) {
        uint32_t bits, share = (uint32_t)(rng_at(99, (FIRST + i) / 4) >> 16 * (i % 4)) & 0xffff;
        memcpy(&bits, &x.f[i], sizeof bits);
        HOLDS(halves_of(y)[i] == (uint16_t)((bits + share) >> 16), "%d", (int)i);
        HOLDS(back[i] == float_of((uint32_t)halves_of(y)[i] << 16), "%d", (int)i);
        error += (double)back[i] - x.f[i];
    }
    cr_assert_lt(fabs(error) / N, 1e-5); /* numbers are of size 1, a step of theirs is 1/256 */
    ops_round(o, (struct ops_state){ again, 7 }, f32(back), N, 0);
    cr_assert_arr_eq(halves_of(y), halves_of(again), 2 * N); /* what is bf16 stays */
    const float odd[] = { INFINITY, -INFINITY, float_of(0x7f800001), float_of(0xffffffff), -0.0f };
    ops_round(o, (struct ops_state){ y, 1 }, f32(odd), 5, 0);
    ops_copy(o, f32(back), y, 5);
    cr_assert(back[0] == INFINITY && back[1] == -INFINITY && isnan(back[2]) && isnan(back[3]));
    cr_assert(back[4] == 0 && signbit(back[4]));
    ops_buffer_free(o, y);
    ops_buffer_free(o, again);
    free(back);
    drop(&x);
}

Test(ops, stored_bf16)
{
    in_all_contexts(stored_bf16_in);
}

/* AdamW with some of the state as bf16 must give the same bits as separate passes. Bit i of
 * `halves` says that the array i of the state is bf16. */
static void check_state(struct ops *o, int halves)
{
    enum { N = 20003 };
    const struct ops_adamw h = { 1e-2, 0.9, 0.99, 1e-8, 0.1, 0.5, 1.5, 2, 0 };
    struct numbers g = numbers(N, 5, 1), x[OPS_STATES];
    struct ops_state state[OPS_STATES], plain[OPS_STATES];
    for (int i = 0; i < OPS_STATES; i++) {
        x[i] = numbers(N, (uint64_t)i + 6, 1);
        for (int64_t k = 0; k < N && i == OPS_V; k++)
            x[i].f[k] = fabsf(x[i].f[k]);
        enum ops_type type = halves >> i & 1 ? OPS_BF16 : OPS_F32;
        state[i] = (struct ops_state){ copy_as(o, type, x[i].f, N), (uint64_t)i + 40 };
        ops_copy(o, f32(x[i].f), state[i].at, N);
        plain[i] = (struct ops_state){ f32(x[i].f), 0 };
    }
    ops_adamw(o, state, f32(g.f), N, &h);
    ops_adamw(o, plain, f32(g.f), N, &h);
    for (int i = 0; i < OPS_STATES; i++) {
        enum ops_type type = state[i].at.type;
        struct ops_array want = copy_as(o, type, x[i].f, N);
        if (type == OPS_BF16)
            ops_round(o, (struct ops_state){ want, state[i].key }, f32(x[i].f), N, 0);
        cr_assert_arr_eq(state[i].at.address, want.address, N * ops_type_bytes(type), "array %d",
                         i);
        ops_buffer_free(o, state[i].at);
        ops_buffer_free(o, want);
        drop(&x[i]);
    }
    drop(&g);
}

static void adamw_state_in(struct ops *o)
{
    for (int halves = 0; halves < 1 << OPS_STATES; halves++)
        check_state(o, halves);
}

Test(ops, adamw_of_bf16)
{
    in_all_contexts(adamw_state_in);
}

/* ---- dropout ----------------------------------------------------------------------------- */

/* Returns element i of a dropout mask by its definition in ops.h and kernels.h: 0, or 1 / (1 -
 * rate). */
static double mask_at(struct ops_dropout d, uint64_t i)
{
    uint64_t pair = rng_at(d.key, i / 2);
    uint32_t number = i % 2 ? (uint32_t)(pair >> 32) : (uint32_t)pair;
    return number >= (uint32_t)(d.rate * 0x1p32) ? 1 / (1 - d.rate) : 0;
}

static void dropout_in(struct ops *o)
{
    enum { N = 100003 };
    struct ops_dropout d = { .key = 77, .rate = 0.3 };
    struct numbers x = numbers(N, 1, 1), y = numbers(N, 2, 1);
    int64_t kept = 0;
    for (int64_t i = 0; i < N; i++) {
        y.d[i] = x.d[i] * mask_at(d, (uint64_t)i);
        kept += mask_at(d, (uint64_t)i) != 0;
    }
    cr_assert(llabs(kept - (int64_t)(0.7 * N)) < 1000, "%lld kept", (long long)kept);
    ops_dropout(o, f32(y.f), f32(x.f), N, d);
    check("dropout", y.f, y.d, N, 1e-6);
    ops_dropout(o, f32(y.f), f32(x.f), N, (struct ops_dropout){ .key = 77 });
    check("no dropout", y.f, x.d, N, 0);
    drop(&x);
    drop(&y);
}

/* A part of a matrix with some of its columns must have the mask of these columns of the whole
 * matrix. */
static void dropout_of_columns_in(struct ops *o)
{
    enum { ROWS = 701, ALL = 64, FIRST = 24, OWN = 26 };
    struct ops_dropout d = {
        .key = 77, .rate = 0.3, .first = FIRST, .columns = OWN, .stride = ALL
    };
    struct numbers x = numbers(ROWS * OWN, 1, 1), y = numbers(ROWS * OWN, 2, 1);
    for (int64_t i = 0; i < ROWS * OWN; i++)
        y.d[i] = x.d[i] * mask_at(d, (uint64_t)(i / OWN * ALL + FIRST + i % OWN));
    ops_dropout(o, f32(y.f), f32(x.f), ROWS * OWN, d);
    check("dropout of columns", y.f, y.d, ROWS * OWN, 1e-6);
    drop(&x);
    drop(&y);
}

Test(ops, dropout_of_columns)
{
    in_all_contexts(dropout_of_columns_in);
}

Test(ops, dropout)
{
    in_all_contexts(dropout_in);
}

static void residual_dropout_in(struct ops *o)
{
    struct linear l = { .N = 33, .I = 12, .O = 41 };
    struct ops_dropout d = { .key = 5, .rate = 0.2 };
    l.x = numbers(l.N * l.I, 4, 1);
    l.w = numbers(l.I * l.O, 5, 1);
    l.bias = numbers(l.O, 6, 1);
    l.base = numbers(l.N * l.O, 8, 1);
    struct numbers y = numbers(l.N * l.O, 9, 1);
    linear_reference(y.d, &l, NULL, l.bias.d);
    for (int64_t i = 0; i < y.n; i++)
        y.d[i] = l.base.d[i] + y.d[i] * mask_at(d, (uint64_t)i);
    const struct ops_linear map = map_of(&l, 1);
    ops_residual_fwd(o, f32(y.f), f32(l.base.f), f32(l.x.f), &map, d);
    check("residual with dropout", y.f, y.d, y.n, 1e-6);
    drop(&l.x);
    drop(&l.w);
    drop(&l.bias);
    drop(&l.base);
    drop(&y);
}

Test(ops, residual_dropout)
{
    in_all_contexts(residual_dropout_in);
}

/* ---- embedding --------------------------------------------------------------------------- */

/* Returns the tables to which the gradients of an embedding are added. positions and types may be
 * NULL. */
static struct ops_embedding tables(const struct numbers *words, const struct numbers *positions,
                                   const struct numbers *types, int64_t C)
{
    return (struct ops_embedding){ f32(words->f), positions ? f32(positions->f) : OPS_NONE,
                                   types ? f32(types->f) : OPS_NONE, C };
}

/* Checks the embedding. Places count from `first`; negative: they are given one by one. Positions
 * and types may be absent. */
static void embedding_of(struct ops *o, int has_positions, int has_types, int64_t first)
{
    enum { T = 5, C = 70, V = 4, N = 15, TYPES = 2, PLACES = T + 2 };
    struct numbers x = numbers(N * C, 1, 1), words = numbers(V * C, 2, 1);
    struct numbers positions = numbers(PLACES * C, 3, 1), dx = numbers(N * C, 4, 1);
    struct numbers types = numbers(TYPES * C, 7, 1), dtypes = numbers(TYPES * C, 8, 1);
    struct numbers dwords = numbers(V * C, 5, 1), dpositions = numbers(PLACES * C, 6, 1);
    uint32_t ids[N], places[N], segments[N];
    for (int64_t n = 0; n < N; n++) { /* ids meet again and again */
        ids[n] = (uint32_t)(rng_at(1, (uint64_t)n) % (uint64_t)V);
        places[n] = (uint32_t)(first < 0 ? n * n % PLACES : first + n % T);
        segments[n] = n % 3 == 1;
        for (int64_t c = 0; c < C; c++) {
            int64_t i = n * C + c;
            x.d[i] = words.d[ids[n] * C + c];
            x.d[i] += has_positions ? positions.d[places[n] * C + c] : 0;
            x.d[i] += has_types ? types.d[segments[n] * C + c] : 0;
            dwords.d[ids[n] * C + c] += dx.d[i];
            dpositions.d[places[n] * C + c] += has_positions ? dx.d[i] : 0;
            dtypes.d[segments[n] * C + c] += has_types ? dx.d[i] : 0;
        }
    }
    const struct ops_tokens t = { .N = N,
                                  .T = T,
                                  .first = first < 0 ? 100 - T : first,
                                  .ids = ops_host_array(ids, OPS_U32),
                                  .places = first < 0 ? ops_host_array(places, OPS_U32) : OPS_NONE,
                                  .segments = ops_host_array(segments, OPS_U32) };
    const struct ops_embedding e = tables(&words, has_positions ? &positions : NULL,
                                          has_types ? &types : NULL, C);
    const struct ops_embedding d = tables(&dwords, has_positions ? &dpositions : NULL,
                                          has_types ? &dtypes : NULL, C);
    ops_embedding_fwd(o, f32(x.f), &t, &e);
    check("embedding_fwd", x.f, x.d, x.n, 1e-6);
    ops_embedding_bwd(o, &d, f32(dx.f), &t);
    check("embedding dwords", dwords.f, dwords.d, dwords.n, 1e-6);
    check("embedding dpositions", dpositions.f, dpositions.d, dpositions.n, 1e-6);
    check("embedding dtypes", dtypes.f, dtypes.d, dtypes.n, 1e-6);
    struct numbers *all[] = { &x, &words, &positions, &dx, &types, &dtypes, &dwords, &dpositions };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        drop(all[i]);
}

static void embedding_in(struct ops *o)
{
    embedding_of(o, 1, 0, 0);
    embedding_of(o, 1, 0, 2);
    embedding_of(o, 1, 1, -1);
    embedding_of(o, 0, 1, 0);
}

Test(ops, embedding)
{
    in_all_contexts(embedding_in);
}

/* ---- attention --------------------------------------------------------------------------- */

struct attention_case {
    struct numbers qkv, dy;
    int64_t B, T, NH, HS;
    struct ops_dropout drop;
    int64_t window;
};

/* Returns 1 if query t sees key k. */
static int sees(int64_t t, int64_t k, int causal, int64_t window)
{
    return (!causal || k <= t) && (!window || llabs(t - k) < window);
}

static struct ops_attention form_of(const struct attention_case *a)
{
    return (struct ops_attention){ .rows = { a->B, a->T, NULL },
                                   .NH = a->NH,
                                   .HS = a->HS,
                                   .causal = 1,
                                   .window = a->window,
                                   .drop = a->drop };
}

static void attention_query(double *y, double *lse, const struct attention_case *a, int64_t b,
                            int64_t h, int64_t t, double *p)
{
    int64_t C = a->NH * a->HS;
    const double *rows = a->qkv.d + b * a->T * 3 * C + h * a->HS;
    uint64_t stride = (uint64_t)(a->T + 1) / 2 * 2, first = (uint64_t)((b * a->NH + h) * a->T + t);
    double sum = 0;
    for (int64_t k = 0; k <= t; k++) {
        double s = inner_product(rows + t * 3 * C, rows + k * 3 * C + C, a->HS);
        sum += p[k] = sees(t, k, 1, a->window) ? exp(s / sqrt((double)a->HS)) : 0;
    }
    *lse = log(sum);
    for (int64_t i = 0; i < a->HS; i++) {
        double total = 0;
        for (int64_t k = 0; k <= t; k++) {
            double mask = a->drop.rate > 0 ? mask_at(a->drop, first * stride + (uint64_t)k) : 1;
            total += p[k] / sum * mask * rows[k * 3 * C + 2 * C + i];
        }
        y[(b * a->T + t) * C + h * a->HS + i] = total;
    }
}

static void attention_reference(double *y, double *lse, const struct attention_case *a)
{
    double *p = mem_zalloc((size_t)a->T, sizeof *p);
    for (int64_t b = 0; b < a->B; b++)
        for (int64_t h = 0; h < a->NH; h++)
            for (int64_t t = 0; t < a->T; t++)
                attention_query(y, &lse[(b * a->NH + h) * a->T + t], a, b, h, t, p);
    free(p);
}

static double attention_loss(void *ctx)
{
    struct attention_case *a = ctx;
    int64_t N = a->B * a->T, C = a->NH * a->HS;
    double *y = mem_zalloc((size_t)(N * C), sizeof *y);
    double *lse = mem_zalloc((size_t)(N * a->NH), sizeof *lse);
    attention_reference(y, lse, a);
    double loss = inner_product(y, a->dy.d, N * C);
    free(y);
    free(lse);
    return loss;
}

static void attention_of(struct ops *o, struct attention_case a, int backward)
{
    int64_t N = a.B * a.T, C = a.NH * a.HS;
    a.qkv = numbers(N * 3 * C, 1, 1);
    a.dy = numbers(N * C, 2, 1);
    struct numbers y = numbers(N * C, 3, 1), lse = numbers(N * a.NH, 4, 1);
    struct numbers d = numbers(N * 3 * C, 5, 1);
    attention_reference(y.d, lse.d, &a);
    const struct ops_attention form = form_of(&a);
    ops_attention_fwd(o, f32(y.f), f32(lse.f), side_by_side(f32(a.qkv.f), C), &form);
    check("attention_fwd", y.f, y.d, y.n, tolerance(o, 3e-6));
    check("attention lse", lse.f, lse.d, lse.n, tolerance(o, 1e-6));
    if (backward) {
        struct ops_array dqkv = ops_buffer(o, ops_operand(o), d.n);
        ops_attention_bwd(o, side_by_side(dqkv, C), NULL, f32(a.dy.f),
                          side_by_side(f32(a.qkv.f), C), f32(y.f), f32(lse.f), &form);
        take(o, d.f, dqkv, d.n);
        check_gradient_to(tolerance(o, 1e-4), "attention dqkv", d.f, &a.qkv, attention_loss, &a);
    }
    drop(&a.qkv);
    drop(&a.dy);
    drop(&y);
    drop(&lse);
    drop(&d);
}

static void attention_in(struct ops *o)
{
    struct ops_dropout some = { .key = 3, .rate = 0.25 };
    attention_of(o, (struct attention_case){ .B = 1, .T = 1, .NH = 1, .HS = 4 }, 1);
    attention_of(o, (struct attention_case){ .B = 2, .T = 9, .NH = 2, .HS = 5 }, 1);
    attention_of(o, (struct attention_case){ .B = 2, .T = 9, .NH = 2, .HS = 5, .drop = some }, 1);
    attention_of(o, (struct attention_case){ .B = 1, .T = 21, .NH = 1, .HS = 17, .drop = some }, 1);
    /* several blocks of queries and of keys */
    attention_of(o, (struct attention_case){ .B = 1, .T = 531, .NH = 2, .HS = 70 }, 0);
    attention_of(o, (struct attention_case){ .B = 1, .T = 700, .NH = 2, .HS = 6 }, 0);
    attention_of(o, (struct attention_case){ .B = 1, .T = 651, .NH = 1, .HS = 6, .drop = some }, 0);
    attention_of(o, (struct attention_case){ .B = 2, .T = 9, .NH = 2, .HS = 5, .window = 4 }, 1);
    attention_of(
        o, (struct attention_case){ .B = 1, .T = 21, .NH = 1, .HS = 17, .drop = some, .window = 1 },
        1);
    for (int64_t window = 7; window < 600; window = 2 * window + 5)
        attention_of(
            o, (struct attention_case){ .B = 1, .T = 1031, .NH = 1, .HS = 6, .window = window }, 0);
}

Test(ops, attention)
{
    in_all_contexts(attention_in);
    in_contexts(OPS_BF16, attention_in);
}

/* Checks the backward of attention over several blocks, by the difference along one random
 * direction. */
static void attention_direction_of(struct ops *o, struct attention_case a)
{
    int64_t n = a.T * 3 * a.HS;
    a.qkv = numbers(n, 1, 1);
    a.dy = numbers(a.T * a.HS, 2, 1);
    struct numbers y = numbers(a.T * a.HS, 3, 1), lse = numbers(a.T, 4, 1);
    struct numbers d = numbers(n, 5, 1), direction = numbers(n, 6, 1);
    const struct ops_attention form = form_of(&a);
    const struct ops_qkv qkv = side_by_side(f32(a.qkv.f), a.HS);
    struct ops_array dqkv = ops_buffer(o, ops_operand(o), n);
    ops_attention_fwd(o, f32(y.f), f32(lse.f), qkv, &form);
    ops_attention_bwd(o, side_by_side(dqkv, a.HS), NULL, f32(a.dy.f), qkv, f32(y.f), f32(lse.f),
                      &form);
    take(o, d.f, dqkv, n);
    double slope = 0, h = 1e-5;
    for (int64_t i = 0; i < n; i++) {
        slope += d.f[i] * direction.d[i];
        a.qkv.d[i] += h * direction.d[i];
    }
    double up = attention_loss(&a);
    for (int64_t i = 0; i < n; i++)
        a.qkv.d[i] -= 2 * h * direction.d[i];
    double wanted = (up - attention_loss(&a)) / (2 * h);
    cr_assert_float_eq(slope, wanted, tolerance(o, 1e-4) * fabs(wanted), "%.9g, not %.9g", slope,
                       wanted);
    drop(&a.qkv);
    drop(&a.dy);
    drop(&y);
    drop(&lse);
    drop(&d);
    drop(&direction);
}

static void attention_direction_in(struct ops *o)
{
    attention_direction_of(
        o, (struct attention_case){ .B = 1, .T = 600, .NH = 1, .HS = 20, .drop = { 3, 0.1 } });
    attention_direction_of(o, (struct attention_case){ .B = 1, .T = 261, .NH = 1, .HS = 70 });
}

static void attention_windows_in(struct ops *o)
{
    for (int64_t window = 5; window < 600; window = 3 * window + 4)
        attention_direction_of(
            o, (struct attention_case){ .B = 1, .T = 600, .NH = 1, .HS = 20, .window = window });
}

Test(ops, attention_direction)
{
    in_all_contexts(attention_direction_in);
    in_all_contexts(attention_windows_in);
    in_contexts(OPS_BF16, attention_direction_in);
}

/* Attention over pieces of a sequence, with a cache, must give the same as over the whole sequence
 * at once. The pieces have numbers of type `type`. */
static void attention_cached_of(struct ops *o, int64_t window, enum ops_type type)
{
    int64_t T = 150, NH = 3, HS = 10, C = NH * HS;
    const int64_t pieces[] = { 7, 1, 4, 100, 1, 1, 2, 34 };
    struct numbers qkv = numbers(T * 3 * C, 1, 1), whole = numbers(T * C, 2, 1);
    struct numbers y = numbers(T * C, 3, 1), keys = numbers(T * C, 4, 1);
    struct numbers values = numbers(T * C, 5, 1);
    struct ops_array given = ops_buffer(o, type, qkv.n);
    struct ops_attention form = {
        .rows = { 1, T, NULL }, .NH = NH, .HS = HS, .causal = 1, .window = window
    };
    ops_copy(o, given, f32(qkv.f), qkv.n);
    ops_copy(o, f32(qkv.f), given, qkv.n);
    ops_attention_fwd(o, f32(whole.f), OPS_NONE, side_by_side(f32(qkv.f), C), &form);
    for (int64_t i = 0; i < whole.n; i++)
        whole.d[i] = whole.f[i];
    int64_t past = 0;
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        form.rows.T = pieces[i];
        const struct ops_past p = { f32(keys.f), f32(values.f), T, past };
        ops_attention_cached(o, f32(y.f + past * C), &p, 0,
                             side_by_side(ops_part(given, past * 3 * C), C), &form);
        past += pieces[i];
    }
    cr_assert_eq(past, T);
    check("attention_cached", y.f, whole.d, y.n, 1e-6);
    for (int64_t t = 0; t < T; t++) {
        cr_assert_eq(0, memcmp(keys.f + t * C, qkv.f + t * 3 * C + C, (size_t)C * 4));
        cr_assert_eq(0, memcmp(values.f + t * C, qkv.f + t * 3 * C + 2 * C, (size_t)C * 4));
    }
    ops_buffer_free(o, given);
    drop(&qkv);
    drop(&whole);
    drop(&y);
    drop(&keys);
    drop(&values);
}

static void attention_cached_in(struct ops *o)
{
    attention_cached_of(o, 0, OPS_F32);
    attention_cached_of(o, 1, OPS_F32);
    attention_cached_of(o, 23, OPS_BF16);
}

Test(ops, attention_cached)
{
    in_all_contexts(attention_cached_in);
}

/* ---- attention of sequences of different lengths -------------------------------------------------- */

struct rows_case {
    struct numbers q, k, v, dy;
    struct ops_rows rows;
    int64_t NH, HS;
    struct ops_dropout drop;
    int causal;
    int64_t window;
};

/* Computes the output for query t of head h by plain loops: of sequence b, which starts at row
 * `first` and has n rows. p: room for n numbers. */
static void rows_query(double *y, const struct rows_case *a, int64_t b, int64_t first, int64_t n,
                       int64_t h, int64_t t, double *p)
{
    int64_t C = a->NH * a->HS, stride = (n + 1) / 2 * 2, at = first * C + h * a->HS;
    struct ops_dropout drop = { .key = rng_key(a->drop.key, (uint64_t)b), .rate = a->drop.rate };
    const int64_t end = a->causal ? t + 1 : n;
    double sum = 0;
    for (int64_t k = 0; k < end; k++) {
        const double s = inner_product(a->q.d + at + t * C, a->k.d + at + k * C, a->HS);
        sum += p[k] = sees(t, k, a->causal, a->window) ? exp(s / sqrt((double)a->HS)) : 0;
    }
    for (int64_t i = 0; i < a->HS; i++)
        y[at + t * C + i] = 0;
    for (int64_t k = 0; k < end; k++) {
        double mask = drop.rate > 0 ? mask_at(drop, (uint64_t)((h * n + t) * stride + k)) : 1;
        for (int64_t i = 0; i < a->HS; i++)
            y[at + t * C + i] += p[k] / sum * mask * a->v.d[at + k * C + i];
    }
}

static double rows_loss(double *y, const struct rows_case *a)
{
    double *p = mem_zalloc((size_t)a->rows.T, sizeof *p);
    int64_t first = 0;
    for (int64_t b = 0; b < a->rows.B; first += ops_rows_of(&a->rows, b++))
        for (int64_t h = 0; h < a->NH; h++)
            for (int64_t t = 0; t < ops_rows_of(&a->rows, b); t++)
                rows_query(y, a, b, first, ops_rows_of(&a->rows, b), h, t, p);
    free(p);
    return inner_product(y, a->dy.d, a->dy.n);
}

static void move(struct numbers *x, const struct numbers *direction, double h)
{
    for (int64_t i = 0; i < x->n; i++)
        x->d[i] += h * direction->d[i];
}

/* Compares the forward with plain loops, and the backward with differences along a random direction
 * of each input. */
static void attention_rows_of(struct ops *o, struct rows_case a)
{
    const double h = 1e-5;
    int64_t N = ops_rows_count(&a.rows), C = a.NH * a.HS;
    a.dy = numbers(N * C, 4, 1);
    struct numbers *inputs[3] = { &a.q, &a.k, &a.v }, d[3];
    struct numbers y = numbers(N * C, 5, 1), lse = numbers(N * a.NH, 6, 1);
    for (uint64_t i = 0; i < 3; i++) {
        *inputs[i] = numbers(N * C, 1 + i, 1);
        d[i] = numbers(N * C, 7 + i, 1);
    }
    rows_loss(y.d, &a);
    const struct ops_attention form = { .rows = a.rows,
                                        .NH = a.NH,
                                        .HS = a.HS,
                                        .causal = a.causal,
                                        .window = a.window,
                                        .drop = a.drop };
    const struct ops_qkv qkv = { f32(a.q.f), f32(a.k.f), f32(a.v.f), C, C };
    ops_attention_fwd(o, f32(y.f), f32(lse.f), qkv, &form);
    check("attention of rows, fwd", y.f, y.d, y.n, 3e-6);
    struct numbers columns = numbers(3 * C, 10, 1);
    struct ops_gradient sums[3];
    for (int i = 0; i < 3; i++)
        sums[i] = (struct ops_gradient){ f32(columns.f + i * C), i == 1 };
    ops_attention_bwd(o, (struct ops_qkv){ f32(d[0].f), f32(d[1].f), f32(d[2].f), C, C }, sums,
                      f32(a.dy.f), qkv, f32(y.f), f32(lse.f), &form);
    for (int64_t i = 0; i < 3 * C; i++) {
        columns.d[i] = i / C == 1 ? columns.d[i] : 0;
        for (int64_t n = 0; n < N; n++)
            columns.d[i] += d[i / C].f[n * C + i % C];
    }
    check("attention of rows, sums", columns.f, columns.d, columns.n, 3e-6);
    drop(&columns);
    for (int i = 0; i < 3; i++) {
        double slope = 0;
        for (int64_t e = 0; e < N * C; e++)
            slope += d[i].f[e] * d[i].d[e];
        move(inputs[i], &d[i], h);
        double up = rows_loss(y.d, &a);
        move(inputs[i], &d[i], -2 * h);
        double wanted = (up - rows_loss(y.d, &a)) / (2 * h);
        move(inputs[i], &d[i], h);
        cr_assert_float_eq(slope, wanted, 2e-4 * fabs(wanted) + 1e-4, "input %d: %.9g, not %.9g", i,
                           slope, wanted);
    }
    for (int i = 0; i < 3; i++) {
        drop(inputs[i]);
        drop(&d[i]);
    }
    drop(&a.dy);
    drop(&y);
    drop(&lse);
}

static void attention_rows_in(struct ops *o)
{
    const int64_t few[] = { 9, 1, 6 }, many[] = { 3, 531 }; /* many: several blocks of keys */
    struct ops_dropout some = { .key = 3, .rate = 0.25 };
    attention_rows_of(o, (struct rows_case){ .rows = { 3, 9, few }, .NH = 2, .HS = 5 });
    attention_rows_of(o,
                      (struct rows_case){ .rows = { 3, 9, few }, .NH = 2, .HS = 5, .drop = some });
    attention_rows_of(o, (struct rows_case){ .rows = { 2, 33, NULL }, .NH = 1, .HS = 17 });
    attention_rows_of(
        o, (struct rows_case){ .rows = { 2, 531, many }, .NH = 1, .HS = 6, .drop = some });
    attention_rows_of(o,
                      (struct rows_case){ .rows = { 3, 9, few }, .NH = 2, .HS = 5, .causal = 1 });
    attention_rows_of(o,
                      (struct rows_case){
                          .rows = { 2, 531, many }, .NH = 1, .HS = 6, .drop = some, .causal = 1 });
    for (int causal = 0; causal < 2; causal++) {
        attention_rows_of(
            o, (struct rows_case){
                   .rows = { 3, 9, few }, .NH = 2, .HS = 5, .causal = causal, .window = 3 });
        for (int64_t window = 6; window < 600; window = 4 * window + 9)
            attention_rows_of(o, (struct rows_case){ .rows = { 2, 531, many },
                                                     .NH = 1,
                                                     .HS = 6,
                                                     .drop = some,
                                                     .causal = causal,
                                                     .window = window });
    }
}

Test(ops, attention_rows)
{
    in_all_contexts(attention_rows_in);
}

/* Compares attention with bf16 products with attention with f32 products. */
static void attention_rows_bf16_of(struct ops *o, int causal)
{
    enum { NH = 2, HS = 5, C = NH * HS };
    const int64_t lengths[] = { 9, 40 };
    const struct ops_rows rows = { 2, 40, lengths };
    const int64_t N = ops_rows_count(&rows);
    struct numbers q = numbers(N * C, 1, 1), k = numbers(N * C, 2, 1), v = numbers(N * C, 3, 1);
    struct numbers dy = numbers(N * C, 4, 1), y = numbers(N * C, 5, 1), lse = numbers(N * NH, 6, 1);
    struct numbers d[3];
    for (int i = 0; i < 3; i++)
        d[i] = numbers(N * C, 7, 1);
    const struct ops_attention form = { .rows = rows, .NH = NH, .HS = HS, .causal = causal };
    for (int precision = OPS_F32; precision <= OPS_BF16; precision++) {
        const enum ops_type type = (enum ops_type)precision;
        struct ops_array in[3] = { copy_as(o, type, q.f, N * C), copy_as(o, type, k.f, N * C),
                                   copy_as(o, type, v.f, N * C) };
        struct ops_array out[4];
        for (int i = 0; i < 4; i++)
            out[i] = ops_buffer(o, type, N * C);
        ops_set_precision(o, type);
        const struct ops_qkv qkv = { in[0], in[1], in[2], C, C };
        ops_attention_fwd(o, out[3], f32(lse.f), qkv, &form);
        ops_attention_bwd(o, (struct ops_qkv){ out[0], out[1], out[2], C, C }, NULL, f32(dy.f), qkv,
                          out[3], f32(lse.f), &form);
        ops_buffer_free(o, out[3]);
        for (int i = 0; i < 3; i++) {
            take(o, d[i].f, out[i], N * C);
            ops_buffer_free(o, in[i]);
            if (precision == OPS_BF16)
                check("attention of rows, bwd", d[i].f, d[i].d, N * C, tolerance(o, 0));
            for (int64_t e = 0; e < N * C; e++)
                d[i].d[e] = d[i].f[e];
        }
    }
    struct numbers *all[] = { &q, &k, &v, &dy, &y, &lse, &d[0], &d[1], &d[2] };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        drop(all[i]);
}

static void attention_rows_bf16_in(struct ops *o)
{
    attention_rows_bf16_of(o, 0);
    attention_rows_bf16_of(o, 1);
}

Test(ops, attention_rows_bf16)
{
    in_contexts(OPS_BF16, attention_rows_bf16_in);
}

/* ---- heads that share keys and values, and other scales ------------------------------------ */

struct grouped {
    int64_t T, NH, KV, HS;
    int causal;
    double scale;
    struct ops_dropout drop;
};

/* Writes x[N,KV*HS] to to[N,NH*HS], each head repeated NH / KV times. */
static void repeat_heads(float *to, const float *x, int64_t N, const struct grouped *g)
{
    for (int64_t n = 0; n < N; n++)
        for (int64_t h = 0; h < g->NH; h++)
            memcpy(to + (n * g->NH + h) * g->HS, x + (n * g->KV + h / (g->NH / g->KV)) * g->HS,
                   (size_t)g->HS * sizeof *x);
}

/* Sums d[N,NH*HS] over the heads that share a head of keys, into to[N,KV*HS]. */
static void sum_heads(double *to, const float *d, int64_t N, const struct grouped *g)
{
    memset(to, 0, (size_t)(N * g->KV * g->HS) * sizeof *to);
    for (int64_t n = 0; n < N; n++)
        for (int64_t h = 0; h < g->NH; h++)
            for (int64_t i = 0; i < g->HS; i++)
                to[(n * g->KV + h / (g->NH / g->KV)) * g->HS + i] += d[(n * g->NH + h) * g->HS + i];
}

/* Grouped attention must give the same as attention with repeated keys and values, and with queries
 * that are multiplied by the scale before. */
static void grouped_of(struct ops *o, struct grouped g)
{
    const int64_t lengths[] = { g.T, g.T - 3 }, N = g.causal ? 2 * g.T : 2 * g.T - 3;
    const int64_t C = g.NH * g.HS, K = g.KV * g.HS;
    const double factor = g.scale > 0 ? g.scale * sqrt((double)g.HS) : 1;
    struct ops_attention form = { .rows = { 2, g.T, g.causal ? NULL : lengths },
                                  .NH = g.NH,
                                  .HS = g.HS,
                                  .causal = g.causal,
                                  .drop = g.drop };
    struct numbers q = numbers(N * C, 1, 1), k = numbers(N * K, 2, 1), v = numbers(N * K, 3, 1);
    struct numbers dy = numbers(N * C, 4, 1), y = numbers(N * C, 5, 1),
                   lse = numbers(N * g.NH, 6, 1);
    struct numbers Q = numbers(N * C, 1, factor), k2 = numbers(N * C, 7, 1),
                   v2 = numbers(N * C, 8, 1);
    struct numbers dq = numbers(N * C, 9, 1), dk = numbers(N * K, 9, 1), dv = numbers(N * K, 9, 1);
    struct numbers dk2 = numbers(N * C, 9, 1), dv2 = numbers(N * C, 9, 1);
    repeat_heads(k2.f, k.f, N, &g);
    repeat_heads(v2.f, v.f, N, &g);
    const struct ops_qkv many = { f32(Q.f), f32(k2.f), f32(v2.f), C, C };
    ops_attention_fwd(o, f32(y.f), f32(lse.f), many, &form);
    ops_attention_bwd(o, (struct ops_qkv){ f32(dq.f), f32(dk2.f), f32(dv2.f), C, C }, NULL,
                      f32(dy.f), many, f32(y.f), f32(lse.f), &form);
    for (int64_t i = 0; i < N * C; i++) {
        y.d[i] = y.f[i];
        dq.d[i] = dq.f[i] * factor;
    }
    sum_heads(dk.d, dk2.f, N, &g);
    sum_heads(dv.d, dv2.f, N, &g);
    form.KV = g.KV;
    form.scale = g.scale;
    const struct ops_qkv few = { f32(q.f), f32(k.f), f32(v.f), C, K };
    ops_attention_fwd(o, f32(y.f), f32(lse.f), few, &form);
    check("grouped y", y.f, y.d, N * C, tolerance(o, 2e-6));
    ops_attention_bwd(o, (struct ops_qkv){ f32(dq.f), f32(dk.f), f32(dv.f), C, K }, NULL, f32(dy.f),
                      few, f32(y.f), f32(lse.f), &form);
    check("grouped dq", dq.f, dq.d, N * C, tolerance(o, 1e-5));
    check("grouped dk", dk.f, dk.d, N * K, tolerance(o, 1e-5));
    check("grouped dv", dv.f, dv.d, N * K, tolerance(o, 1e-5));
    struct numbers *all[] = { &q, &k, &v, &dy, &y, &lse, &Q, &k2, &v2, &dq, &dk, &dv, &dk2, &dv2 };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        drop(all[i]);
}

static void grouped_in(struct ops *o)
{
    grouped_of(o, (struct grouped){ 9, 4, 2, 6, 1, 0, { 0 } });
    grouped_of(o, (struct grouped){ 37, 6, 1, 10, 1, 0, { .key = 3, .rate = 0.25 } });
    grouped_of(o, (struct grouped){ 37, 6, 3, 10, 0, 0, { .key = 3, .rate = 0.25 } });
    grouped_of(o, (struct grouped){ 300, 3, 1, 16, 1, 0.1, { 0 } });
    grouped_of(o, (struct grouped){ 40, 2, 2, 8, 1, 0.2, { 0 } });
}

Test(ops, attention_grouped)
{
    in_all_contexts(grouped_in);
    in_contexts(OPS_BF16, grouped_in);
}

/* Grouped attention over pieces, with a cache, must give the same as over the whole sequence at
 * once. */
static void grouped_cached_in(struct ops *o)
{
    enum { T = 30, NH = 6, KV = 2, HS = 10, C = NH * HS, K = KV * HS };
    const int64_t pieces[] = { 7, 1, 4, 1, 17 };
    struct numbers q = numbers(T * C, 1, 1), k = numbers(T * K, 2, 1), v = numbers(T * K, 3, 1);
    struct numbers y = numbers(T * C, 4, 1), keys = numbers(T * K, 5, 1),
                   values = numbers(T * K, 6, 1);
    struct ops_attention form = {
        .rows = { 1, T, NULL }, .NH = NH, .KV = KV, .HS = HS, .causal = 1, .scale = 0.2
    };
    ops_attention_fwd(o, f32(y.f), OPS_NONE, (struct ops_qkv){ f32(q.f), f32(k.f), f32(v.f), C, K },
                      &form);
    for (int64_t i = 0; i < y.n; i++)
        y.d[i] = y.f[i];
    for (int64_t i = 0, past = 0; past < T; past += pieces[i++]) {
        const struct ops_qkv x = { f32(q.f + past * C), f32(k.f + past * K), f32(v.f + past * K), C,
                                   K };
        form.rows.T = pieces[i];
        const struct ops_past p = { f32(keys.f), f32(values.f), T, past };
        ops_attention_cached(o, f32(y.f + past * C), &p, 0, x, &form);
    }
    check("grouped, cached", y.f, y.d, y.n, 2e-6);
    struct numbers *all[] = { &q, &k, &v, &y, &keys, &values };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        drop(all[i]);
}

Test(ops, attention_grouped_cached)
{
    in_all_contexts(grouped_cached_in);
}

/* Attention of several sequences with caches of different lengths must give the same bits as of
 * each sequence alone, and must leave the same keys and values in their layer of the caches. */
static void cached_together_in(struct ops *o, int64_t T, enum ops_type type)
{
    enum { B = 3, NH = 4, KV = 2, HS = 10, C = NH * HS, K = KV * HS, ROOM = 40, LAYERS = 2 };
    const int64_t used[B] = { 20, 0, 33 }, one_cache = LAYERS * ROOM * K;
    struct numbers q = numbers(B * T * C, 1, 1), k = numbers(B * T * K, 2, 1);
    struct numbers v = numbers(B * T * K, 3, 1), y = numbers(B * T * C, 4, 1);
    struct numbers want = numbers(B * T * C, 5, 1), old = numbers(2 * B * one_cache, 6, 1);
    struct ops_past together[B], alone[B];
    struct ops_array caches = ops_buffer(o, type, 4 * B * one_cache);
    for (int i = 0; i < 4 * B; i++)
        ops_copy(o, ops_part(caches, i * one_cache), f32(old.f + i % (2 * B) * one_cache),
                 one_cache);
    for (int b = 0; b < B; b++) {
        together[b] = (struct ops_past){ ops_part(caches, 2 * b * one_cache),
                                         ops_part(caches, (2 * b + 1) * one_cache), ROOM, used[b] };
        alone[b] = (struct ops_past){ ops_part(caches, 2 * (B + b) * one_cache),
                                      ops_part(caches, (2 * (B + b) + 1) * one_cache), ROOM,
                                      used[b] };
    }
    struct ops_attention form = {
        .rows = { B, T, NULL }, .NH = NH, .KV = KV, .HS = HS, .causal = 1
    };
    ops_attention_cached(o, f32(y.f), together, 1,
                         (struct ops_qkv){ f32(q.f), f32(k.f), f32(v.f), C, K }, &form);
    form.rows.B = 1;
    for (int64_t b = 0; b < B; b++)
        ops_attention_cached(o, f32(want.f + b * T * C), &alone[b], 1,
                             (struct ops_qkv){ f32(q.f + b * T * C), f32(k.f + b * T * K),
                                               f32(v.f + b * T * K), C, K },
                             &form);
    cr_expect(!memcmp(y.f, want.f, (size_t)y.n * sizeof *y.f), "T %ld, type %d", (long)T, type);
    const size_t half = (size_t)(2 * B * one_cache) * ops_type_bytes(type);
    cr_expect(!memcmp(caches.address, caches.address + half, half), "T %ld, type %d", (long)T,
              type);
    ops_buffer_free(o, caches);
    struct numbers *all[] = { &q, &k, &v, &y, &want, &old };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        drop(all[i]);
}

static void cached_together(struct ops *o)
{
    for (int64_t T = 1; T <= 7; T += 2) /* few queries and many take different ways */
        for (int type = OPS_F32; type <= OPS_BF16; type++)
            cached_together_in(o, T, (enum ops_type)type);
}

Test(ops, attention_cached_together)
{
    in_all_contexts(cached_together);
}

/* ---- loss -------------------------------------------------------------------------------- */

/* A loss over n labels. Label i belongs to the row rows[i] of x[N,C]; there are V logits per
 * row. */
struct loss_case {
    struct numbers x, table, bias; /* the bias is 0 */
    int64_t *rows;
    int32_t *labels;
    int64_t n, N, V, C;
};

/* Sets logs[V] to the log probabilities of label i's row. Returns the largest. */
static double log_probabilities(double *logs, const struct loss_case *l, int64_t i)
{
    double sum = 0, top = -INFINITY;
    for (int64_t v = 0; v < l->V; v++) {
        logs[v] = l->bias.d[v] +
                  inner_product(l->x.d + l->rows[i] * l->C, l->table.d + v * l->C, l->C);
        sum += exp(logs[v]);
    }
    for (int64_t v = 0; v < l->V; v++) {
        logs[v] -= log(sum);
        top = logs[v] > top ? logs[v] : top;
    }
    return top;
}

static double loss_reference(const struct loss_case *l, double *losses, unsigned char *correct)
{
    double total = 0, *logs = mem_zalloc((size_t)l->V, sizeof *logs);
    for (int64_t i = 0; i < l->n; i++) {
        const double top = log_probabilities(logs, l, i), loss = -logs[l->labels[i]];
        if (losses)
            losses[i] = loss;
        if (correct)
            correct[i] = logs[l->labels[i]] == top;
        total += loss;
    }
    free(logs);
    return total;
}

static double third_of_loss(void *ctx)
{
    return loss_reference(ctx, NULL, NULL) / 3;
}

struct taught_case {
    const struct loss_case *model, *teacher;
    double share;
};

/* Returns a third of the cross entropy to targets of which the teacher has a share. */
static double third_of_taught_loss(void *ctx)
{
    const struct taught_case *c = ctx;
    const struct loss_case *l = c->model;
    double total = 0, *logs = mem_zalloc((size_t)(2 * l->V), sizeof *logs), *wanted = logs + l->V;
    for (int64_t i = 0; i < l->n; i++) {
        log_probabilities(logs, l, i);
        log_probabilities(wanted, c->teacher, i);
        for (int64_t v = 0; v < l->V; v++)
            total -= logs[v] * ((v == l->labels[i]) * (1 - c->share) + c->share * exp(wanted[v]));
    }
    free(logs);
    return total / 3;
}

/* Makes a loss_case in which every third row has no label, or with `all`, in which all rows have
 * labels. */
static struct loss_case loss_case(int64_t N, int64_t V, int64_t C, int all)
{
    struct loss_case l = { .x = numbers(N * C, 1, 1),
                           .table = numbers(V * C, 2, 0.5),
                           .bias = numbers(V, 3, 0) };
    l.N = N;
    l.V = V;
    l.C = C;
    l.labels = mem_zalloc((size_t)N, sizeof *l.labels);
    l.rows = mem_zalloc((size_t)N, sizeof *l.rows);
    for (int64_t n = 0; n < N; n++) {
        if (n % 3 == 1 && !all)
            continue;
        l.labels[l.n] = (int32_t)(rng_at(3, (uint64_t)n) % (uint64_t)V);
        l.rows[l.n++] = n;
    }
    return l;
}

static struct ops_labels labels_of(const struct loss_case *l)
{
    return (struct ops_labels){ .n = l->n,
                                .rows = l->n == l->N ? OPS_NONE : ops_host_array(l->rows, OPS_I64),
                                .labels = ops_host_array(l->labels, OPS_I32) };
}

static struct ops_decoder decoder_of(const struct loss_case *l, int bias)
{
    return (struct ops_decoder){
        .table = f32(l->table.f), .bias = bias ? f32(l->bias.f) : OPS_NONE, .V = l->V, .C = l->C
    };
}

static void drop_case(struct loss_case *l)
{
    drop(&l->x);
    drop(&l->table);
    drop(&l->bias);
    free(l->labels);
    free(l->rows);
}

/* The losses of the labels without gradients. */
static void losses_of(struct ops *o, struct ops_scores out, struct ops_array x,
                      const struct ops_labels *l, const struct ops_decoder *d)
{
    const struct ops_gradient none = { 0 };
    ops_loss(o, out, OPS_NONE, none, none, x, l->n, 1, l, d);
}

static void loss_fwd_of(struct ops *o, struct loss_case l, int bias)
{
    const struct ops_labels labels = labels_of(&l);
    const struct ops_decoder decoder = decoder_of(&l, bias);
    struct numbers losses = numbers(l.N, 4, 1);
    unsigned char *correct = mem_zalloc((size_t)l.N, 1), *wanted = mem_zalloc((size_t)l.N, 1);
    ops_scratch_begin(o);
    losses_of(o, (struct ops_scores){ f32(losses.f), ops_host_array(correct, OPS_U8) }, f32(l.x.f),
              &labels, &decoder);
    loss_reference(&l, losses.d, wanted);
    check("losses", losses.f, losses.d, l.n, tolerance(o, 1e-6));
    cr_assert(o->precision == OPS_BF16 || !memcmp(correct, wanted, (size_t)l.n));
    free(correct);
    free(wanted);
    drop(&losses);
    drop_case(&l);
}

/* Checks the gradients of the loss. add: they are added to the old values, which are 1; otherwise
 * they replace the old values, which are NaN. bias: whether the decoder has a bias. */
static void loss_bwd_of(struct ops *o, struct loss_case l, int bias, int add)
{
    const struct ops_labels labels = labels_of(&l);
    const struct ops_decoder decoder = decoder_of(&l, bias);
    struct numbers losses = numbers(l.N, 4, 1), dx = numbers(l.x.n, 5, 1);
    struct numbers dtable = numbers(l.table.n, 6, 0), dbias = numbers(l.V, 7, 0);
    struct numbers *added[] = { &dtable, &dbias };
    for (int i = 0; i < 2; i++)
        for (int64_t k = 0; k < added[i]->n; k++)
            added[i]->f[k] = add ? 1 : NAN;
    const struct ops_gradient g = { f32(dtable.f), add };
    const struct ops_gradient gb = { bias ? f32(dbias.f) : OPS_NONE, add };
    ops_scratch_begin(o);
    ops_loss(o, (struct ops_scores){ .losses = f32(losses.f) }, f32(dx.f), g, gb, f32(l.x.f), l.N,
             1.0 / 3, &labels, &decoder);
    for (int i = 0; i < 2; i++)
        for (int64_t k = 0; k < added[i]->n; k++)
            added[i]->f[k] -= (float)add;
    loss_reference(&l, losses.d, NULL);
    check("losses", losses.f, losses.d, l.n, tolerance(o, 1e-6));
    check_gradient_to(tolerance(o, 1e-4), "loss dx", dx.f, &l.x, third_of_loss, &l);
    check_gradient_to(tolerance(o, 1e-4), "loss dtable", dtable.f, &l.table, third_of_loss, &l);
    if (bias)
        check_gradient_to(tolerance(o, 1e-4), "loss dbias", dbias.f, &l.bias, third_of_loss, &l);
    drop(&losses);
    drop(&dx);
    drop(&dtable);
    drop(&dbias);
    drop_case(&l);
}

/* Checks the gradients of a loss with a teacher, and that the losses are those without it. */
static void taught_by(struct ops *o, struct loss_case l, struct loss_case teacher)
{
    struct taught_case c = { &l, &teacher, 0.3 };
    const struct ops_teacher t = { f32(teacher.x.f), decoder_of(&teacher, 0), c.share };
    struct ops_labels labels = labels_of(&l);
    const struct ops_decoder decoder = decoder_of(&l, 0);
    struct numbers losses = numbers(l.N, 4, 1), dx = numbers(l.x.n, 5, 1);
    struct numbers dtable = numbers(l.table.n, 6, 0);
    labels.teacher = &t;
    ops_scratch_begin(o);
    ops_loss(o, (struct ops_scores){ .losses = f32(losses.f) }, f32(dx.f), ops_set(f32(dtable.f)),
             (struct ops_gradient){ 0 }, f32(l.x.f), l.N, 1.0 / 3, &labels, &decoder);
    loss_reference(&l, losses.d, NULL);
    check("losses", losses.f, losses.d, l.n, tolerance(o, 1e-6));
    check_gradient_to(tolerance(o, 1e-4), "taught dx", dx.f, &l.x, third_of_taught_loss, &c);
    check_gradient_to(tolerance(o, 1e-4), "taught dtable", dtable.f, &l.table, third_of_taught_loss,
                      &c);
    drop(&losses);
    drop(&dx);
    drop(&dtable);
    drop_case(&l);
    drop_case(&teacher);
}

static void loss_with_teacher_in(struct ops *o)
{
    taught_by(o, loss_case(10, 77, 9, 0), loss_case(10, 77, 4, 0));
    taught_by(o, loss_case(10, 77, 9, 1), loss_case(10, 77, 13, 1));
}

Test(ops, loss_with_teacher)
{
    in_all_contexts(loss_with_teacher_in);
    in_contexts(OPS_BF16, loss_with_teacher_in);
}

static struct loss_case with_bias(struct loss_case l)
{
    drop(&l.bias);
    l.bias = numbers(l.V, 8, 1);
    return l;
}

static void loss_in(struct ops *o)
{
    loss_fwd_of(o, loss_case(20, 131, 10, 0), 0);
    loss_fwd_of(o, loss_case(1, 2, 3, 1), 0);
    loss_fwd_of(o, loss_case(4000, 19, 4, 0), 0); /* several chunks */
    loss_fwd_of(o, loss_case(2500, 19, 4, 1), 0);
    loss_fwd_of(o, with_bias(loss_case(20, 131, 10, 0)), 1);
    for (int add = 0; add < 2; add++) {
        loss_bwd_of(o, loss_case(10, 77, 9, 0), 0, add);
        loss_bwd_of(o, loss_case(10, 77, 9, 1), 0, add);
        loss_bwd_of(o, with_bias(loss_case(10, 77, 9, 0)), 1, add);
    }
}

Test(ops, loss)
{
    in_all_contexts(loss_in);
    in_contexts(OPS_BF16, loss_in);
}

static void loss_without_labels_in(struct ops *o)
{
    struct loss_case l = loss_case(5, 7, 4, 0);
    struct numbers dx = numbers(l.x.n, 5, 1), dtable = numbers(l.table.n, 6, 1);
    const struct ops_labels none = { 0 };
    const struct ops_decoder decoder = decoder_of(&l, 0);
    ops_loss(o, (struct ops_scores){ 0 }, f32(dx.f), ops_set(f32(dtable.f)),
             (struct ops_gradient){ 0 }, f32(l.x.f), 5, 1, &none, &decoder);
    for (int64_t i = 0; i < dx.n; i++)
        HOLDS(dx.f[i] == 0, "dx[%d] is %g", (int)i, dx.f[i]);
    for (int64_t i = 0; i < dtable.n; i++)
        HOLDS(dtable.f[i] == 0, "dtable[%d] is %g", (int)i, dtable.f[i]);
    drop(&dx);
    drop(&dtable);
    drop_case(&l);
}

Test(ops, loss_without_labels)
{
    in_all_contexts(loss_without_labels_in);
}

/* Large logits must neither overflow nor hide the label's logit. */
Test(ops, loss_of_large_logits)
{
    struct ops *o = ops_open("cpu", 1);
    float x[2] = { 100, -100 }, table[6] = { 50, 0, 0, 50, -3, 1 }, losses[1];
    int32_t label = 0;
    unsigned char correct;
    const struct ops_labels labels = { .n = 1, .labels = ops_host_array(&label, OPS_I32) };
    const struct ops_decoder decoder = { .table = f32(table), .V = 3, .C = 2 };
    const struct ops_scores out = { f32(losses), ops_host_array(&correct, OPS_U8) };
    losses_of(o, out, f32(x), &labels, &decoder);
    cr_assert_float_eq(losses[0], 0, 1e-6);
    cr_assert(correct);
    label = 1;
    losses_of(o, out, f32(x), &labels, &decoder);
    cr_assert_float_eq(losses[0], 10000, 1e-2);
    cr_assert_not(correct);
    ops_free(o);
}

/* A NaN must stay a NaN. */
Test(ops, nan_stays)
{
    struct ops *o = ops_open("cpu", 1);
    float x[20] = { [3] = NAN }, y[20];
    activate(o, OPS_GELU_TANH, f32(y), f32(x), 20);
    cr_assert(isnan(y[3]) && y[4] == 0);
    cr_assert(isnan(squares(o, x, 20)));
    ops_free(o);
}

/* ---- the choice of kernels ------------------------------------------------------------------ */

/* TEXTMILL_KERNELS chooses kernels by their word; an unknown word is an error. */
Test(ops, kernels_by_word)
{
    const struct kernels *k;
    setenv("TEXTMILL_PRODUCTS", "own", 1);
    for (int i = 0; (k = kernels_set(i)); i++) {
        setenv("TEXTMILL_KERNELS", k->word, 1);
        struct ops *o = ops_open("cpu", 1);
        cr_assert_eq(o->k, k);
        cr_assert_str_eq(ops_describe(o), k->name);
        cr_assert_str_eq(ops_kernels(), k->name);
        ops_free(o);
    }
    setenv("TEXTMILL_KERNELS", "mmx", 1);
    cr_assert_null(ops_open("cpu", 1));
    cr_assert(strstr(err_get(), "'mmx'"), "%s", err_get());
    unsetenv("TEXTMILL_KERNELS");
}

/* ---- OpenBLAS's products ------------------------------------------------------------------- */

/* Tests run in processes of their own. */
static void by_openblas(void)
{
    setenv("TEXTMILL_PRODUCTS", "openblas", 1);
}

Test(ops, an_unknown_word_for_products)
{
    setenv("TEXTMILL_PRODUCTS", "mkl", 1);
    cr_assert_null(ops_open("cpu", 1));
    cr_assert(strstr(err_get(), "TEXTMILL_PRODUCTS is 'mkl'"), "%s", err_get());
}

/* Checks all functions that are made of products, with OpenBLAS. */
Test(ops, products_by_openblas, .init = by_openblas)
{
    void (*const tests[])(struct ops * o) = { linear_in, linear_operands_in, logits_in,
                                              residual_dropout_in, loss_in };
    for (int threads = 1; threads <= 3; threads += 2) {
        struct ops *o = ops_open("cpu", threads);
        if (!o)
            cr_skip_test("%s", err_get());
        cr_assert(strstr(ops_describe(o), "OpenBLAS"), "%s", ops_describe(o));
        all_products_in((struct ops *const[]){ o, NULL });
        for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
            tests[i](o);
        ops_free(o);
    }
}

/* If TEXTMILL_KERNELS asks for kernels, OpenBLAS must use kernels for the same instructions. */
Test(ops, openblas_follows_the_kernels, .init = by_openblas)
{
    setenv("TEXTMILL_KERNELS", "avx2", 1);
    setenv("OPENBLAS_CORETYPE", "Prescott", 1);
    struct ops *o = ops_open("cpu", 1);
    if (!o || kernels_set(0) == o->k)
        cr_skip_test("%s", err_get());
    cr_assert(strstr(ops_describe(o), "Haswell"), "%s", ops_describe(o));
    ops_free(o);
}

/* With more than one tile, and incomplete tiles: one thread and four threads must give the same
 * bits. */
Test(ops, openblas_threads, .init = by_openblas)
{
    enum { M = 500, N = 1700, K = 90 };
    struct numbers a = numbers(M * K, 1, 1), b = numbers(K * N, 2, 1), c[2];
    for (int i = 0; i < 2; i++) {
        struct ops *o = ops_open("cpu", i ? 4 : 1);
        if (!o)
            cr_skip_test("%s", err_get());
        c[i] = numbers(M * N, 3, 1);
        ops_matmul(o, &(struct ops_matmul){ .C = { f32(c[i].f), N },
                                            .A = { f32(a.f), K },
                                            .B = { f32(b.f), N },
                                            .M = M,
                                            .N = N,
                                            .K = K,
                                            .base = f32(c[i].f) });
        ops_free(o);
    }
    for (int64_t m = 0; m < M; m++)
        for (int64_t n = 0; n < N; n++)
            for (int64_t k = 0; k < K; k++)
                c[0].d[m * N + n] += a.d[m * K + k] * b.d[k * N + n];
    check("tiles", c[0].f, c[0].d, M * N, 2e-6);
    cr_assert_eq(0, memcmp(c[0].f, c[1].f, M * N * sizeof(float)));
    drop(&a);
    drop(&b);
    drop(&c[0]);
    drop(&c[1]);
}

/* ---- buffers ----------------------------------------------------------------------------- */

Test(ops, buffers)
{
    struct ops *o = ops_open("cpu", 2);
    const int64_t sizes[] = { 0, 1, 1000, (1 << 18) - 1, 1 << 18, 3000001 };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct ops_array a = ops_buffer(o, OPS_F32, sizes[i]);
        float *p = ops_map(o, a, sizes[i]);
        cr_assert_eq((uintptr_t)p % 64, 0);
        for (int64_t n = 0; n < sizes[i]; n++)
            HOLDS(p[n] == 0, "[%lld] is %g", (long long)n, p[n]);
        ops_unmap(o, a, sizes[i], p);
        ops_buffer_free(o, a);
    }
    cr_assert_eq(ops_threads(o), 2);
    cr_assert(strstr(ops_describe(o), "kernels"));
    ops_free(o);
}

/* Pieces of scratch memory must not overlap, and must stay in place while others are taken. In
 * later rounds they come from one block. */
Test(ops, scratch)
{
    struct ops *o = ops_open("cpu", 1);
    char *first = NULL;
    for (int round = 0; round < 3; round++) {
        struct ops_array p[3];
        ops_scratch_begin(o);
        for (int i = 0; i < 3; i++) {
            p[i] = ops_scratch(o, OPS_F32, 1000 << i);
            cr_assert_eq((uintptr_t)p[i].address % 64, 0);
            floats(p[i])[0] = floats(p[i])[(1000 << i) - 1] = (float)i;
        }
        for (int i = 0; i < 3; i++)
            cr_assert(floats(p[i])[0] == (float)i && floats(p[i])[(1000 << i) - 1] == (float)i);
        cr_assert(round < 2 || first == p[0].address);
        first = p[0].address;
    }
    ops_free(o);
}

/* Downloaded numbers must be those that were uploaded, in any type; a part of an array must begin
 * at the right place. */
Test(ops, upload_and_download)
{
    struct ops *o = ops_open("cpu", 1);
    const int64_t in[] = { 5, -7, 1LL << 40 };
    int64_t out[2];
    struct ops_array a = ops_buffer(o, OPS_I64, 3);
    ops_upload(o, a, in, 3);
    ops_download(o, out, ops_part(a, 1), 2);
    cr_assert(out[0] == -7 && out[1] == 1LL << 40);
    ops_buffer_free(o, a);
    cr_assert(ops_is_none(ops_part(OPS_NONE, 7)));
    ops_free(o);
}
