/* Weights in small types: the numbers that they hold, and products with them against plain loops in
 * double precision, by every set of kernels that this processor runs. */
#include <criterion/criterion.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "common/rng.h"
#include "model/cpu.h"
#include "model/half.h"
#include "model/stored.h"
#include "tests/unit/arrays.h"

#define HOLDS(condition, ...)                                                                      \
    do {                                                                                           \
        if (!(condition))                                                                          \
            cr_assert_fail(__VA_ARGS__);                                                           \
    } while (0)

static float *normals(int64_t n, uint64_t key)
{
    float *x = mem_alloc((size_t)n * sizeof *x);
    struct rng r = { key, 0 };
    for (int64_t i = 0; i < n; i++)
        x[i] = (float)rng_normal(&r);
    return x;
}

/* ---- numbers ------------------------------------------------------------------------------ */

Test(half, every_number)
{
    for (uint32_t h = 0; h < 1 << 16; h++) {
        float x = half_read(h), exact = ldexpf((float)(h & 1023), -24);
        int exponent = h >> 10 & 31;
        if (exponent)
            exact = ldexpf((float)(1024 + (h & 1023)), exponent - 25);
        if (exponent < 31)
            HOLDS(x == (h & 0x8000 ? -exact : exact), "%#x is %.9g", h, x);
        else
            HOLDS(h & 1023 ? isnan(x) : isinf(x), "%#x is %.9g", h, x);
        HOLDS((isnan(x) && isnan(half_read(half_make(x)))) || half_make(x) == h, "%#x", h);
    }
}

/* Half way to the next number: to the even one. */
Test(half, rounds_to_even)
{
    for (uint32_t h = 0; h < 0x7bff; h++) {
        double low = half_read(h), high = half_read(h + 1), middle = (low + high) / 2;
        float below = nextafterf((float)middle, 0), above = nextafterf((float)middle, INFINITY);
        HOLDS(half_make((float)middle) == h + (h & 1), "%#x: middle", h);
        HOLDS(half_make(below) == h && half_make(above) == h + 1, "%#x: beside the middle", h);
    }
    cr_assert_eq(half_make(65519.99f), 0x7bff);
    cr_assert_eq(half_make(65520), 0x7c00);
}

/* The error of a number is at most half a step; the largest of a block is exact to f16's. */
Test(stored, blocks_of_8_bits)
{
    float *x = normals(320, 1), y[320];
    unsigned char blocks[10 * STORED_Q8_BYTES];
    memset(x + 64, 0, 32 * sizeof *x);
    stored_make(OPS_Q8, blocks, x, 320);
    stored_read(OPS_Q8, y, blocks, 320);
    for (int b = 0; b < 10; b++) {
        const unsigned char *block = blocks + b * STORED_Q8_BYTES;
        float d = half_read((uint32_t)block[0] | (uint32_t)block[1] << 8);
        for (int i = 32 * b; i < 32 * b + 32; i++)
            HOLDS(fabsf(x[i] - y[i]) <= d * 0.57f, "x[%d] = %g became %g", i, x[i], y[i]);
    }
    free(x);
}

/* No worse than ggml's own choice of a scale, which is that of the largest number. */
Test(stored, blocks_of_4_bits)
{
    float *x = normals(3200, 2), y[3200];
    unsigned char blocks[100 * STORED_Q4_BYTES];
    double ours = 0, theirs = 0;
    stored_make(OPS_Q4, blocks, x, 3200);
    stored_read(OPS_Q4, y, blocks, 3200);
    for (int b = 0; b < 100; b++) {
        float most = 0;
        for (int i = 32 * b; i < 32 * b + 32; i++)
            most = fabsf(x[i]) > fabsf(most) ? x[i] : most;
        float d = most / -8;
        for (int i = 32 * b; i < 32 * b + 32; i++) {
            float q = rintf(x[i] / d) > 7 ? 7 : rintf(x[i] / d);
            theirs += pow(x[i] - d * q, 2);
            ours += pow(x[i] - y[i], 2);
        }
    }
    cr_assert_lt(ours, 0.93 * theirs, "%g, %g", ours, theirs);
    free(x);
}

Test(stored, small_types_hold_what_they_hold)
{
    const enum ops_type types[] = { OPS_F32, OPS_BF16, OPS_F16, OPS_Q8, OPS_Q4 };
    float *x = normals(256, 3), y[256];
    unsigned char once[1024], twice[1024];
    for (int t = 0; t < 5; t++) {
        const uint64_t bytes = stored_bytes(types[t], 256);
        stored_make(types[t], once, x, 256);
        cr_assert_eq(stored_bad(types[t], once, 256), -1);
        stored_read(types[t], y, once, 256);
        if (types[t] != OPS_Q4) { /* whose scales are chosen by what the numbers were */
            stored_make(types[t], twice, y, 256);
            cr_assert(!memcmp(once, twice, bytes), "type %d", t);
        }
        unsigned char *last = once + bytes -
                              (t == 3   ? STORED_Q8_BYTES
                               : t == 4 ? STORED_Q4_BYTES
                                        : bytes / 256);
        last[0] = last[1] = last[types[t] == OPS_F32 ? 3 : 1] = 0x7f;
        last[types[t] == OPS_F32 ? 2 : 0] = 0xff;
        cr_assert_eq(stored_bad(types[t], once, 256),
                     types[t] == OPS_Q8 || types[t] == OPS_Q4 ? 224 : 255);
    }
    free(x);
}

/* ---- products ----------------------------------------------------------------------------- */

/* A map whose weights are of a type, and what the products should be: with Q8 and Q4 those of x
 * rounded to blocks. */
struct map {
    enum ops_type type;
    int64_t N, I, O;
    float *x, *bias, *base;
    char *rows;
    double *y;
};

static double rounded(const float *x, int64_t i, enum ops_type type)
{
    float most = 0;
    if (type != OPS_Q8 && type != OPS_Q4)
        return x[i];
    for (int64_t k = i / 32 * 32; k < i / 32 * 32 + 32; k++)
        most = fmaxf(most, fabsf(x[k]));
    return most ? rintf(x[i] * (127 / most)) * (double)(most / 127) : 0;
}

static struct map map(enum ops_type type, int64_t N, int64_t I, int64_t O)
{
    struct map m = { .type = type, .N = N, .I = I, .O = O };
    float *w = normals(O * I, 4);
    m.x = normals(N * I, 5);
    m.bias = normals(O, 6);
    m.base = normals(N * O, 7);
    m.rows = mem_alloc((size_t)O * stored_bytes(type, I));
    m.y = mem_alloc((size_t)(N * O) * sizeof *m.y);
    for (int64_t o = 0; o < O; o++) {
        char *row = m.rows + (uint64_t)o * stored_bytes(type, I);
        stored_make(type, row, w + o * I, I);
        stored_read(type, w + o * I, row, I);
    }
    for (int64_t n = 0; n < N; n++)
        for (int64_t o = 0; o < O; o++) {
            double sum = m.base[n * O + o] + m.bias[o];
            for (int64_t i = 0; i < I; i++)
                sum += rounded(m.x + n * I, i, type) * w[o * I + i];
            m.y[n * O + o] = sum;
        }
    free(w);
    return m;
}

static void drop(struct map *m)
{
    free(m->x);
    free(m->bias);
    free(m->base);
    free(m->rows);
    free(m->y);
}

/* The products with all rows, and with each alone: the same bits, while weights are streamed. */
static void check_map(struct ops *o, const struct map *m)
{
    struct ops_linear l = { f32(NULL), f32(m->bias), m->N, m->I, m->O, 1 };
    float *y = mem_alloc((size_t)(m->N * m->O) * sizeof *y), *one = mem_alloc((size_t)m->O * 4);
    l.w = ops_weights(o, m->type, m->rows, m->O, m->I, 0);
    ops_residual_fwd(o, f32(y), f32(m->base), f32(m->x), &l, (struct ops_dropout){ 0 });
    double largest = 0;
    for (int64_t i = 0; i < m->N * m->O; i++)
        largest = fmax(largest, fabs(m->y[i]));
    for (int64_t i = 0; i < m->N * m->O; i++)
        HOLDS(fabs(y[i] - m->y[i]) < 3e-6 * largest, "type %d, %s, y[%lld] is %.9g, not %.9g",
              m->type, o->k->name, (long long)i, y[i], m->y[i]);
    l.N = 1;
    for (int64_t n = 0; n < m->N && (m->N <= OPS_FEW_ROWS || cpu_in_blocks(l.w)); n++) {
        ops_residual_fwd(o, f32(one), f32(m->base + n * m->O), f32(m->x + n * m->I), &l,
                         (struct ops_dropout){ 0 });
        HOLDS(!memcmp(one, y + n * m->O, (size_t)m->O * sizeof *one), "row %lld differs alone",
              (long long)n);
    }
    ops_weights_free(o, l.w, NULL);
    free(y);
    free(one);
}

static void check_in_contexts(const struct map *m)
{
    for (int threads = 1; threads <= 3; threads += 2) {
        struct ops *o = ops_new(threads);
        for (int i = 0; kernels_set(i); i++) {
            o->k = kernels_set(i);
            check_map(o, m);
        }
        ops_free(o);
    }
}

static void check_type(enum ops_type type)
{
    const int64_t sizes[][3] = { { 1, 32, 16 },   { 1, 320, 37 }, { 2, 64, 100 }, { 3, 96, 1 },
                                 { 7, 1600, 50 }, { 32, 64, 65 }, { 70, 96, 33 } };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct map m = map(type, sizes[i][0], sizes[i][1], sizes[i][2]);
        check_in_contexts(&m);
        drop(&m);
    }
}

Test(weights, f32)
{
    check_type(OPS_F32);
}

Test(weights, bf16)
{
    check_type(OPS_BF16);
}

Test(weights, f16)
{
    check_type(OPS_F16);
}

Test(weights, int8)
{
    check_type(OPS_Q8);
}

Test(weights, int4)
{
    check_type(OPS_Q4);
}

/* What is no number stays none: else a damaged model would write nonsense. */
Test(weights, what_is_no_number)
{
    const float bad[] = { NAN, INFINITY, -INFINITY };
    for (int i = 0; kernels_set(i); i++)
        for (int b = 0; b < 3; b++) {
            struct ops *o = ops_new(1);
            struct map m = map(OPS_Q8, 1, 96, 16);
            struct ops_linear l = { f32(NULL), OPS_NONE, 1, 96, 16, 1 };
            float y[16];
            o->k = kernels_set(i);
            l.w = ops_weights(o, m.type, m.rows, 16, 96, 0);
            m.x[40 + b] = bad[b];
            ops_linear_fwd(o, f32(y), f32(m.x), &l);
            HOLDS(!isfinite(y[0]) && !isfinite(y[15]), "%g became %g", bad[b], y[0]);
            ops_weights_free(o, l.w, NULL);
            ops_free(o);
            drop(&m);
        }
}

/* No whole vectors, either: numbers of 2 bytes in rows of any length. */
Test(weights, odd_rows)
{
    for (int64_t I = 1; I < 140; I += 23) {
        struct map m = map(OPS_F16, 3, I, 5), n = map(OPS_BF16, 40, I, 9);
        check_in_contexts(&m);
        check_in_contexts(&n);
        drop(&m);
        drop(&n);
    }
}

/* Integers as large as they can be: no sum of products may leave its bits. */
Test(weights, largest_integers)
{
    for (int sign = -1; sign <= 1; sign += 2) {
        struct map m = map(OPS_Q8, 2, 64, 16);
        for (int64_t b = 0; b < m.O * 2; b++)
            for (int i = 0; i < STORED_BLOCK; i++)
                m.rows[b * STORED_Q8_BYTES + 2 + i] = sign < 0 ? -128 : 127;
        for (int64_t i = 0; i < m.N * m.I; i++)
            m.x[i] = i < m.I ? 3 : -3;
        for (int64_t n = 0; n < m.N; n++)
            for (int64_t o = 0; o < m.O; o++) {
                double sum = m.base[n * m.O + o] + m.bias[o];
                for (int64_t i = 0; i < m.I; i++) {
                    float w[STORED_BLOCK];
                    stored_read(OPS_Q8, w, m.rows + (o * 2 + i / 32) * STORED_Q8_BYTES, 32);
                    sum += m.x[n * m.I + i] * (double)w[i % 32];
                }
                m.y[n * m.O + o] = sum;
            }
        check_in_contexts(&m);
        drop(&m);
    }
}

/* A row of f32 weights [in,out], too, has the bits that it has alone. */
Test(weights, rows_alone_f32)
{
    struct map m = map(OPS_F32, 32, 100, 130);
    float y[32 * 130], one[130];
    for (int i = 0; kernels_set(i); i++) {
        struct ops *o = ops_new(2);
        struct ops_linear l = { f32((float *)(void *)m.rows), f32(m.bias), 32, 100, 130, 0 };
        o->k = kernels_set(i);
        ops_linear_fwd(o, f32(y), f32(m.x), &l);
        l.N = 1;
        for (int n = 0; n < 32; n++) {
            ops_linear_fwd(o, f32(one), f32(m.x + n * 100), &l);
            HOLDS(!memcmp(one, y + n * 130, sizeof one), "row %d differs alone", n);
        }
        ops_free(o);
    }
    drop(&m);
}
