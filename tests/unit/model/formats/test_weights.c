/* Weights in small types: the numbers that they hold, and products with them against plain loops in
 * double precision, by every set of kernels that this processor runs. */
#include <criterion/criterion.h>

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/crc32c.h"
#include "common/base/err.h"
#include "common/base/mem.h"
#include "common/base/rng.h"
#include "common/files/compress.h"
#include "model/compute/cpu.h"
#include "model/compute/half.h"
#include "model/compute/stored.h"
#include "model/formats/matrix.h"
#include "tests/unit/arrays.h"
#include "tests/unit/gauss.h"

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

/* A float in the middle between two f16 numbers must become the one whose last bit is 0. */
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

/* In a block of 8-bit numbers with the scale d, the error of a number must be at most half of d,
 * and a little more for the rounding of d to f16. */
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

/* The squared error of 4-bit blocks must be far below that of ggml's Q4_0, which has as many bytes,
 * and whose scale is the number of greatest absolute value divided by -8. */
Test(stored, blocks_of_4_bits)
{
    float *x = normals(3200, 2), y[3200];
    unsigned char blocks[100 * STORED_Q4_BYTES];
    double ours = 0, theirs = 0;
    stored_make(OPS_IQ4_NL, blocks, x, 3200);
    stored_read(OPS_IQ4_NL, y, blocks, 3200);
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
    cr_assert_lt(ours, 0.8 * theirs, "%g, %g", ours, theirs);
    free(x);
}

Test(stored, small_types_hold_what_they_hold)
{
    const enum ops_type types[] = { OPS_F32, OPS_BF16, OPS_F16, OPS_Q8, OPS_IQ4_NL };
    float *x = normals(256, 3), y[256];
    unsigned char once[1024], twice[1024];
    for (int t = 0; t < 5; t++) {
        const uint64_t bytes = stored_bytes(types[t], 256);
        stored_make(types[t], once, x, 256);
        cr_assert_eq(stored_bad(types[t], once, 256), -1);
        stored_read(types[t], y, once, 256);
        if (types[t] != OPS_IQ4_NL) { /* whose scales are chosen by what the numbers were */
            stored_make(types[t], twice, y, 256);
            cr_assert(!memcmp(once, twice, bytes), "type %d", t);
        }
        unsigned char *last = once + bytes -
                              (t == 3   ? STORED_Q8_BYTES
                               : t == 4 ? STORED_Q4_BYTES
                                        : bytes / 256);
        last[0] = last[1] = last[types[t] == OPS_F32 ? 3 : 1] = 0x7f;
        last[types[t] == OPS_F32 ? 2 : 0] = 0xff;
        cr_assert_eq(stored_bad(types[t], once, 256), stored_grouped(types[t]) ? 224 : 255);
    }
    free(x);
}

/* Blocks of 4-bit numbers must have the same bytes as these plain loops give, whatever instructions
 * the compiler uses for this processor. */
static int plain_index(float x)
{
    const signed char *v = stored_values(OPS_IQ4_NL);
    int q = 0;
    while (q < 15 && x - (float)v[q] > (float)v[q + 1] - x)
        q++;
    return q;
}

/* Keeps in best[0] the factor, in best[1] and best[2] the sums of x*v and v*v. */
static void plain_try(volatile float *best, const float *x, float factor)
{
    volatile float xv = 0, vv = 0, product, left, right; /* volatile: each result is rounded */
    for (int i = 0; i < 32; i++) {
        const float v = stored_values(OPS_IQ4_NL)[plain_index(x[i] * factor)];
        product = x[i] * v;
        xv = xv + product;
        vv = vv + v * v;
    }
    left = xv * xv;
    left = left * best[2];
    right = best[1] * best[1];
    right = right * vv;
    if (left > right) {
        best[0] = factor;
        best[1] = xv;
        best[2] = vv;
    }
}

/* Makes a block whose numbers are not all 0. */
static void plain_block(unsigned char *out, const float *numbers)
{
    const float factors[8] = { -134, -124, -114, -104, 132, 122, 113, 105 };
    volatile float best[3] = { 0, 0, 1 }, xx = 0, square, scale;
    float most = 0, x[32];
    for (int i = 0; i < 32; i++)
        most = fabsf(numbers[i]) > fabsf(most) ? numbers[i] : most;
    for (int i = 0; i < 32; i++) {
        x[i] = numbers[i] * (1 / most);
        square = x[i] * x[i];
        xx = xx + square;
    }
    for (int f = 0; f < 8; f++)
        plain_try(best, x, factors[f]);
    plain_try(best, x, best[2] / best[1]);
    scale = xx / best[1];
    const uint16_t bits = half_make(most * scale);
    memcpy(out, &bits, 2);
    for (int i = 0; i < 16; i++)
        out[2 + i] = (unsigned char)(plain_index(x[i] * best[0]) | plain_index(x[i + 16] * best[0])
                                                                       << 4);
}

/* All numbers of blocks that are made together count: 100 blocks leave a group of 4. */
Test(stored, blocks_of_4_bits_as_plain_loops)
{
    float *x = normals(3200, 8);
    unsigned char blocks[100 * STORED_Q4_BYTES], wanted[STORED_Q4_BYTES];
    stored_make(OPS_IQ4_NL, blocks, x, 3200);
    for (int b = 0; b < 100; b++) {
        plain_block(wanted, x + 32 * b);
        HOLDS(!memcmp(blocks + b * STORED_Q4_BYTES, wanted, sizeof wanted), "block %d", b);
    }
    free(x);
}

/* The products of a row with 4-bit numbers must not be smaller, on average, than with the row's own
 * numbers. With the scales of the least error they are smaller by 0.7 %. */
Test(stored, blocks_of_4_bits_do_not_shrink)
{
    float *x = normals(3200, 9), y[3200];
    unsigned char blocks[100 * STORED_Q4_BYTES];
    stored_make(OPS_IQ4_NL, blocks, x, 3200);
    stored_read(OPS_IQ4_NL, y, blocks, 3200);
    for (int b = 0; b < 100; b++) {
        double xx = 0, xy = 0;
        for (int i = 32 * b; i < 32 * b + 32; i++) {
            xx += (double)x[i] * x[i];
            xy += (double)x[i] * y[i];
        }
        HOLDS(fabs(xy / xx - 1) < 5e-4, "block %d: %g of %g", b, xy, xx);
    }
    free(x);
}

/* Numbers that 4-bit blocks can hold stay what they are. Blocks of zeros, of the least and of the
 * largest numbers have finite scales. */
Test(stored, blocks_of_4_bits_at_the_limits)
{
    float x[192], y[192];
    unsigned char blocks[6 * STORED_Q4_BYTES];
    const float scales[6] = { 0.0078125f, -0.0078125f, 0, 1e-40f, 6e4f, 2e36f };
    const signed char *values = stored_values(OPS_IQ4_NL);
    for (int b = 0; b < 6; b++)
        for (int i = 0; i < 32; i++)
            x[32 * b + i] = scales[b] * (float)values[i * 5 % 16];
    stored_make(OPS_IQ4_NL, blocks, x, 192);
    cr_assert_eq(stored_bad(OPS_IQ4_NL, blocks, 192), -1);
    stored_read(OPS_IQ4_NL, y, blocks, 192);
    for (int i = 0; i < 192; i++)
        if (i < 96 || (i >= 128 && i < 160))
            HOLDS(y[i] == (i < 128 ? x[i] : half_read(half_make(6e4f)) * (float)values[i * 5 % 16]),
                  "x[%d] = %g became %g", i, x[i], y[i]);
        else
            HOLDS(i >= 160 ? fabsf(y[i]) <= 127 * 65504.0f : y[i] == 0, "x[%d] became %g", i, y[i]);
}

/* Reads 16 blocks of each type, whose bytes are random but for finite scales. The sums are those of
 * what the package gguf 0.19 of PyPI reads (gguf.quants.dequantize), as f32. */
Test(stored, all_blocks)
{
    static const struct {
        enum ops_type type;
        uint32_t sum;
    } rows[] = {
        { OPS_Q8, 0xd37e4b40u },    { OPS_Q4, 0xce7b1dedu },      { OPS_Q4_1, 0x8cbe7b07u },
        { OPS_Q5_0, 0x6f580d77u },  { OPS_Q5_1, 0xc72ea7b0u },    { OPS_IQ4_NL, 0x9f24f1aau },
        { OPS_MXFP4, 0x5aa5261au }, { OPS_NVFP4, 0xc157b207u },   { OPS_Q2_K, 0xec10ba58u },
        { OPS_Q3_K, 0x67d88fb3u },  { OPS_Q4_K, 0xabc98685u },    { OPS_Q5_K, 0xa70ad10au },
        { OPS_Q6_K, 0x0ccdcba9u },  { OPS_IQ4_XS, 0x86e85a88u },  { OPS_TQ1_0, 0x128a55c7u },
        { OPS_TQ2_0, 0xcbc03cc7u }, { OPS_IQ2_XXS, 0x66c208e7u }, { OPS_IQ2_XS, 0x8a42a520u },
        { OPS_IQ2_S, 0x6884dc07u }, { OPS_IQ3_XXS, 0x39e4814cu }, { OPS_IQ3_S, 0x56d44629u },
        { OPS_IQ1_S, 0xa40f2424u }, { OPS_IQ1_M, 0x7772992bu },
    };
    unsigned char in[16 * 210];
    float out[16 * 256];
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        const struct stored_blocks *b = stored_blocks(rows[r].type);
        uint32_t x = 1;
        for (int64_t i = 0; i < 16 * b->bytes; i++)
            in[i] = (unsigned char)((x = x * 1664525u + 1013904223u) >> 24);
        for (int64_t k = 0; k < 16; k++)
            for (int s = 0; s < b->scales; s++)
                in[k * b->bytes + b->scales_at + 2 * s + 1] &= 0xBF;
        for (int64_t k = 0; k < 16 && rows[r].type == OPS_IQ1_M; k++)
            in[k * b->bytes + 55] &= 0xBF; /* has a part of the scale */
        for (int64_t k = 0; k < 16 && rows[r].type == OPS_MXFP4; k++)
            in[k * b->bytes] %= 250; /* larger powers of two have numbers that are infinite */
        cr_assert_eq(stored_bad(rows[r].type, in, 16 * b->numbers), -1);
        stored_read(rows[r].type, out, in, 16 * b->numbers);
        cr_assert_eq(compress_crc32(out, (uint64_t)(16 * b->numbers) * sizeof *out), rows[r].sum,
                     "type %d", (int)rows[r].type);
    }
}

/* Reads a Q4_K block, whose scales and minima of 6 bits are packed as ggml packs them. */
Test(stored, q4_k)
{
    unsigned char s[8], o[8], block[144] = { 0 };
    float x[256], out[256];
    const uint16_t half = half_make(0.5f), quarter = half_make(0.25f);
    memcpy(block, &half, 2);
    memcpy(block + 2, &quarter, 2);
    for (int j = 0; j < 8; j++) {
        s[j] = (unsigned char)(7 * j + 13);
        o[j] = (unsigned char)(63 - 5 * j);
    }
    for (int j = 0; j < 4; j++) {
        block[4 + j] = (unsigned char)(s[j] | (s[j + 4] >> 4) << 6);
        block[8 + j] = (unsigned char)(o[j] | (o[j + 4] >> 4) << 6);
        block[12 + j] = (unsigned char)((s[j + 4] & 15) | (o[j + 4] & 15) << 4);
    }
    for (int i = 0; i < 256; i++) {
        int q = (i * 7 + i / 32) % 16, j = i / 32;
        block[16 + j / 2 * 32 + i % 32] |= (unsigned char)(j % 2 ? q << 4 : q);
        x[i] = 0.5f * (float)s[j] * (float)q - 0.25f * (float)o[j];
    }
    stored_read(OPS_Q4_K, out, block, 256);
    for (int i = 0; i < 256; i++)
        cr_assert_eq(out[i], x[i]);
    cr_assert_eq(stored_bad(OPS_Q4_K, block, 256), -1);
    block[3] = 0x7e; /* the scale of the minima is no number */
    cr_assert_eq(stored_bad(OPS_Q4_K, block, 256), 0);
}

/* Reads a Q6_K block, whose numbers of 6 bits have their low and high bits in different places. */
Test(stored, q6_k)
{
    unsigned char block[210] = { 0 };
    float x[256], out[256];
    const uint16_t half = half_make(0.5f);
    memcpy(block + 208, &half, 2);
    for (int g = 0; g < 16; g++)
        block[192 + g] = (unsigned char)(int8_t)(5 * g - 40);
    for (int i = 0; i < 256; i++) {
        int q = (i * 11 + i / 32) % 64, part = i / 128, quarter = i % 128 / 32, l = i % 32;
        block[64 * part + 32 * (quarter % 2) + l] |= (unsigned char)((q & 15) << (quarter / 2 * 4));
        block[128 + 32 * part + l] |= (unsigned char)(q >> 4 << 2 * quarter);
        x[i] = 0.5f * (float)(5 * (i / 16) - 40) * (float)(q - 32);
    }
    stored_read(OPS_Q6_K, out, block, 256);
    for (int i = 0; i < 256; i++)
        cr_assert_eq(out[i], x[i]);
    block[209] = 0xfc; /* the scale is infinite */
    cr_assert_eq(stored_bad(OPS_Q6_K, block, 256), 0);
}

/* All processors make the same bytes, whatever vectors they have. The checksums are those of a
 * processor with AVX2. */
Test(stored, same_bytes)
{
    static char bytes[32000];
    float *x = mem_alloc(32000 * sizeof *x);
    for (uint64_t i = 0; i < 32000; i++)
        x[i] = (float)((int64_t)(rng_at(11, i) >> 40) - (1 << 23)) * 0x1p-20f;
    stored_make(OPS_Q8, bytes, x, 16000);
    cr_assert_eq(crc32c(0, bytes, stored_bytes(OPS_Q8, 16000)), 0xEA853B93);
    stored_make(OPS_IQ4_NL, bytes, x, 32000);
    cr_assert_eq(crc32c(0, bytes, stored_bytes(OPS_IQ4_NL, 32000)), 0x1FB93BCA);
    free(x);
}

/* Rows that were put into a group must be read back unchanged. */
Test(stored, groups)
{
    const enum ops_type types[] = { OPS_Q8, OPS_IQ4_NL };
    for (int t = 0; t < 2; t++) {
        const uint64_t bytes = stored_bytes(types[t], 96);
        float *x = normals(96 * STORED_GROUP, 9);
        char *rows = mem_alloc(STORED_GROUP * bytes), *row = mem_alloc(bytes);
        char *group = mem_alloc(stored_group_bytes(types[t], 96));
        for (int o = 0; o < STORED_GROUP; o++) {
            stored_make(types[t], rows + (uint64_t)o * bytes, x + 96 * o, 96);
            stored_group_put(types[t], group, o, rows + (uint64_t)o * bytes, 96);
        }
        for (int o = 0; o < STORED_GROUP; o++) {
            stored_group_get(types[t], row, group, o, 96);
            cr_assert(!memcmp(row, rows + (uint64_t)o * bytes, bytes));
        }
        cr_assert_eq(stored_group_bad(group, 96), -1);
        memcpy(group + 2 * 37, "\0\x7c", 2);
        cr_assert_eq(stored_group_bad(group, 96), 2 * 37);
        free(x);
        free(rows);
        free(row);
        free(group);
    }
}

/* A number that becomes infinite when it is rounded to the wanted type is refused, also in a matrix
 * that is transposed. */
Test(stored, numbers_beyond_a_type)
{
    static const struct {
        enum ops_type type;
        float fits, beyond;
        const char *words;
    } rows[] = { { OPS_F16, 65519, 65520, "f: tensor 't' holds numbers beyond the range of f16" },
                 { OPS_BF16, 0x1.fefffep127f, 0x1.ffp127f,
                   "f: tensor 't' holds numbers beyond the range of bf16" } };
    struct pool *pool = pool_new(1);
    for (int r = 0; r < 2; r++)
        for (int turned = 0; turned < 2; turned++) {
            float x[6] = { 1, 2, 3, 4, rows[r].fits, 5 };
            const struct matrix m = {
                .data = (const char *)x, .O = 2, .I = 3, .turned = turned, .path = "f", .name = "t"
            };
            char *made = matrix_make(&m, rows[r].type, 0, pool);
            cr_assert_not_null(made, "%s", err_get());
            cr_expect_eq(stored_bad(rows[r].type, made, 6), -1);
            free(made);
            x[4] = -rows[r].beyond;
            cr_assert_null(matrix_make(&m, rows[r].type, 0, pool));
            cr_expect_str_eq(err_get(), rows[r].words);
        }
    pool_free(pool);
}

/* ---- products ----------------------------------------------------------------------------- */

/* A linear map y[N,O] = base + bias + x W^T whose weights have the type `type`, with the values y
 * to expect. For weights in groups these are the products with x rounded to 8 bits in blocks of 32;
 * if it is fine, with what that takes from x, too. */
struct map {
    enum ops_type type;
    int fine;
    int64_t N, I, O;
    float *x, *bias, *base;
    char *rows;
    double *y;
};

static float integer_of(float x, float most)
{
    return most > 0 ? rintf(x * (127 / most)) : 0;
}

/* Sets rest[] to what rounding 32 numbers to 8 bits takes from them, with or without rounding of
 * products before they are subtracted; `all` 0: or to zeros if no number is much larger than the
 * others. */
static void take_rounded(float *rest, const float *x, int fused, int all)
{
    float most = 0, squares = 0;
    for (int i = 0; i < 32; i++)
        most = fmaxf(most, fabsf(x[i]));
    for (int i = 0; i < 32; i++) {
        const float whole = integer_of(x[i], most);
        const volatile float product = whole * (most / 127); /* rounded */
        rest[i] = fused ? fmaf(-whole, most / 127, x[i]) : x[i] - product;
        squares += whole * whole;
    }
    if (squares >= KERNEL_EVEN && !all)
        memset(rest, 0, 32 * sizeof *rest);
}

/* Sets to[n] to the numbers that the map's products see. */
static void rounded(double *to, const float *x, int64_t n, const struct map *m)
{
    float lost[32], rest[32], second[32];
    for (int64_t i = 0; i < n; i++)
        to[i] = x[i];
    for (int64_t i = 0; i < n && stored_grouped(m->type); i += 32) {
        take_rounded(lost, x + i, 1, 1);
        take_rounded(rest, x + i, 1, 0);
        take_rounded(second, rest, 1, 1);
        for (int k = 0; k < 32; k++)
            to[i + k] -= m->fine ? lost[k] - rest[k] + second[k] : lost[k];
    }
}

/* Fills a row of n numbers with random bytes and small scales, for types that are only read. */
static void random_row(enum ops_type type, unsigned char *row, int64_t n, uint64_t seed)
{
    const struct stored_blocks *b = stored_blocks(type);
    for (int64_t i = 0; i < n / b->numbers * b->bytes; i++)
        row[i] = (unsigned char)(rng_at(12 + seed, (uint64_t)i) >> 40);
    for (int64_t k = 0; k < n / b->numbers; k++)
        for (int s = 0; s < b->scales; s++) {
            const int sign = (type == OPS_Q6_K || !stored_is_large(type)) &&
                             (k + s) % 2; /* the scales of numbers may be below zero */
            const uint16_t half = half_make((sign ? -0.001f : 0.002f) * (float)(k % 3 + s + 1));
            memcpy(row + k * b->bytes + b->scales_at + 2 * s, &half, 2);
        }
}

/* Rows of Q4, which are not made, are those of IQ4_NL with other values. */
static struct map map_of(enum ops_type type, int fine, int64_t N, int64_t I, int64_t O)
{
    struct map m = { .type = type, .fine = fine, .N = N, .I = I, .O = O };
    double *x = mem_alloc((size_t)I * sizeof *x);
    float *w = normals(O * I, 4);
    m.x = normals(N * I, 5);
    for (int64_t i = 7; i < N * I; i += 80) /* most blocks have such a number */
        m.x[i] *= 8;
    m.bias = normals(O, 6);
    m.base = normals(N * O, 7);
    m.rows = mem_alloc((size_t)O * stored_bytes(type, I));
    m.y = mem_alloc((size_t)(N * O) * sizeof *m.y);
    for (int64_t o = 0; o < O; o++) {
        char *row = m.rows + (uint64_t)o * stored_bytes(type, I);
        if (stored_unsigned_bits(type))
            random_row(type, (unsigned char *)row, I, (uint64_t)o);
        else
            stored_make(type == OPS_Q4 ? OPS_IQ4_NL : type, row, w + o * I, I);
        stored_read(type, w + o * I, row, I);
    }
    for (int64_t n = 0; n < N; n++) {
        rounded(x, m.x + n * I, I, &m);
        for (int64_t o = 0; o < O; o++) {
            double sum = m.base[n * O + o] + m.bias[o];
            for (int64_t i = 0; i < I; i++)
                sum += x[i] * w[o * I + i];
            m.y[n * O + o] = sum;
        }
    }
    free(x);
    free(w);
    return m;
}

static struct map map(enum ops_type type, int64_t N, int64_t I, int64_t O)
{
    return map_of(type, 0, N, I, O);
}

static void drop(struct map *m)
{
    free(m->x);
    free(m->bias);
    free(m->base);
    free(m->rows);
    free(m->y);
}

/* Returns the weights in the layout that products read. */
static struct ops_array product_of(struct ops *o, const struct map *m)
{
    const struct matrix x = { .data = m->rows, .type = m->type, .O = m->O, .I = m->I };
    if (!stored_grouped(m->type))
        return ops_host_array(m->rows, m->type);
    return ops_host_array(matrix_make(&x, m->type, 1, o->pool), m->type);
}

/* Returns 1 if a row must have the same bits whatever the number of rows is: there are few rows, or
 * the weights are stored in blocks, or in bf16 and multiplied by tile registers. */
static int alike(const struct ops *o, const struct map *m)
{
    return m->N <= OPS_FEW_ROWS || stored_grouped(m->type) ||
           (o->k->multiply_split && m->type == OPS_BF16);
}

/* Compares the products for all rows of x with m->y, and with the products for each row alone. What
 * rounding takes from a number is small, so that kernels without fused multiply-adds may round it
 * to another integer. */
static void check_map(struct ops *o, const struct map *m)
{
    struct ops_linear l = { f32(NULL), f32(m->bias), m->N, m->I, m->O, 1, m->fine };
    float *y = mem_alloc((size_t)(m->N * m->O) * sizeof *y), *one = mem_alloc((size_t)m->O * 4);
    struct ops_array w = l.w = product_of(o, m);
    ops_residual_fwd(o, f32(y), f32(m->base), f32(m->x), &l, (struct ops_dropout){ 0 });
    double largest = 0;
    for (int64_t i = 0; i < m->N * m->O; i++)
        largest = fmax(largest, fabs(m->y[i]));
    for (int64_t i = 0; i < m->N * m->O; i++)
        HOLDS(fabs(y[i] - m->y[i]) < (m->fine ? 3e-5 : 3e-6) * largest,
              "type %d, %s, y[%lld] is %.9g, not %.9g", m->type, o->k->name, (long long)i, y[i],
              m->y[i]);
    l.N = 1;
    for (int64_t n = 0; n < m->N && alike(o, m); n++) {
        ops_residual_fwd(o, f32(one), f32(m->base + n * m->O), f32(m->x + n * m->I), &l,
                         (struct ops_dropout){ 0 });
        HOLDS(!memcmp(one, y + n * m->O, (size_t)m->O * sizeof *one), "row %lld differs alone",
              (long long)n);
    }
    if (w.address != m->rows)
        free(w.address);
    free(y);
    free(one);
}

static void check_in_contexts(const struct map *m)
{
    for (int threads = 1; threads <= 3; threads += 2) {
        struct ops *o = ops_open("cpu", threads);
        for (int i = 0; kernels_set(i); i++) {
            o->k = kernels_set(i);
            check_map(o, m);
        }
        ops_free(o);
    }
}

static void check_size(enum ops_type type, int64_t N, int64_t I, int64_t O)
{
    for (int fine = 0; fine <= stored_grouped(type); fine++) {
        struct map m = map_of(type, fine, N, I, O);
        check_in_contexts(&m);
        drop(&m);
    }
}

static void check_type(enum ops_type type)
{
    const int64_t sizes[][3] = { { 1, 32, 16 },    { 1, 320, 37 },   { 2, 64, 100 },
                                 { 3, 96, 1 },     { 7, 1600, 50 },  { 32, 64, 65 },
                                 { 19, 224, 48 },  { 29, 1056, 39 }, { 70, 96, 33 },
                                 { 300, 288, 300 } };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        check_size(type, sizes[i][0],
                   stored_is_large(type) ? (sizes[i][1] + 255) / 256 * 256 : sizes[i][1],
                   sizes[i][2]);
    if (!stored_grouped(type))
        check_size(type, 45, 203, 50); /* the last numbers of a row do not fill a tile */
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
    check_type(OPS_IQ4_NL);
    check_type(OPS_Q4);
}

Test(weights, unpacked_blocks)
{
    check_type(OPS_Q4_1);
    check_type(OPS_Q5_0);
    check_type(OPS_Q5_1);
    check_type(OPS_Q4_K);
    check_type(OPS_Q5_K);
    check_type(OPS_Q6_K);
}

/* Adds to *total the sums of block b, each times its scale (struct stored_unpacked). */
static void add_unpacked(float *total, const struct map *m, int64_t n, int64_t o, int64_t b,
                         int fused)
{
    const unsigned char *row = (const unsigned char *)m->rows +
                               (uint64_t)o * stored_bytes(m->type, m->I);
    const float *x = m->x + n * m->I + b * STORED_BLOCK;
    const int halves = m->type == OPS_Q6_K;
    const int64_t numbers = stored_blocks(m->type)->numbers, first = b * STORED_BLOCK % numbers;
    const int less = halves ? 32 : m->type == OPS_Q5_0 ? 16 : 0;
    struct stored_unpacked w;
    float most = 0;
    int sum[2] = { 0 };
    stored_unpack(m->type, &w, row + stored_bytes(m->type, b * STORED_BLOCK - first));
    for (int i = 0; i < STORED_BLOCK; i++)
        most = fmaxf(most, fabsf(x[i]));
    for (int i = 0; i < STORED_BLOCK; i++) {
        const int q = w.q[first + i], whole = (int)integer_of(x[i], most);
        sum[halves && i >= 16] += (q - less) * whole;
        sum[1] -= halves ? 0 : whole;
    }
    for (int k = 0; k < (m->type == OPS_Q5_0 ? 1 : 2); k++) {
        const float d = half_read(k ? w.m : w.d) * (float)(k ? w.b : w.a)[first / STORED_BLOCK];
        const float scale = d * (most / 127), count = (float)sum[k];
        const volatile float product = count * scale; /* rounded */
        *total = fused ? fmaf(count, scale, *total) : product + *total;
    }
}

/* Returns the product of two blocks' integers: 32 numbers of row n, rounded to 8 bits, and of
 * output o. *scale is set to the product of their scales. */
static int block_product(const struct map *m, int64_t n, int64_t o, int64_t b, float *scale)
{
    const char *row = m->rows + (uint64_t)o * stored_bytes(m->type, m->I);
    const unsigned char *block = (const unsigned char *)row +
                                 stored_bytes(m->type, b * STORED_BLOCK);
    const float *x = m->x + n * m->I + b * STORED_BLOCK;
    const signed char *values = stored_values(m->type);
    float most = 0;
    int sum = 0;
    for (int i = 0; i < STORED_BLOCK; i++)
        most = fmaxf(most, fabsf(x[i]));
    for (int i = 0; i < STORED_BLOCK; i++) {
        const int both = block[2 + i % 16], w = m->type == OPS_Q8 ? (int8_t)block[2 + i]
                                                : i < 16          ? values[both & 15]
                                                                  : values[both >> 4];
        sum += w * (int)integer_of(x[i], most);
    }
    *scale = half_read((uint32_t)(block[0] | block[1] << 8)) * (most / 127);
    return sum;
}

/* Sets y[N,O] to the products in the order and the precision that kernels.h states. */
static void exact_products(float *y, const struct map *m, int fused)
{
    struct map rest = *m;
    float *more = mem_alloc((size_t)(m->N * m->O) * sizeof *more);
    rest.fine = 0;
    rest.x = mem_alloc((size_t)(m->N * m->I) * sizeof *rest.x);
    for (int64_t i = 0; i < m->N * m->I; i += STORED_BLOCK)
        take_rounded(rest.x + i, m->x + i, fused, 0);
    if (m->fine)
        exact_products(more, &rest, fused);
    for (int64_t n = 0; n < m->N; n++)
        for (int64_t o = 0; o < m->O; o++) {
            float total = 0, scale;
            for (int64_t b = 0; b < m->I / STORED_BLOCK; b++) {
                if (stored_unsigned_bits(m->type)) {
                    add_unpacked(&total, m, n, o, b, fused);
                    continue;
                }
                const float sum = (float)block_product(m, n, o, b, &scale);
                const volatile float product = sum * scale; /* rounded */
                total = fused ? fmaf(sum, scale, total) : product + total;
            }
            y[n * m->O + o] = m->fine ? total + more[n * m->O + o] : total;
        }
    free(rest.x);
    free(more);
}

/* Products with weights in blocks must have exactly these bits, for any number of rows, with any
 * kernels. Only the portable ones may round products before they add them. */
static void check_bits_of(enum ops_type type, int fine)
{
    enum { ROWS = 40, O = 37 };
    const int64_t I = stored_is_large(type) ? 512 : 96;
    static float fused[ROWS * O], rounded_first[ROWS * O], y[ROWS * O];
    struct map m = map_of(type, fine, ROWS, I, O);
    exact_products(fused, &m, 1);
    exact_products(rounded_first, &m, 0);
    for (int threads = 1; threads <= 3; threads += 2) {
        struct ops *o = ops_open("cpu", threads);
        struct ops_linear l = { f32(NULL), OPS_NONE, ROWS, I, O, 1, fine };
        l.w = product_of(o, &m);
        for (int i = 0; (o->k = kernels_set(i)); i++)
            for (l.N = 1; l.N <= ROWS; l.N++) {
                const size_t bytes = (size_t)l.N * O * sizeof *y;
                ops_linear_fwd(o, f32(y), f32(m.x), &l, 1);
                HOLDS(!memcmp(y, fused, bytes) ||
                          (!strcmp(o->k->word, "portable") && !memcmp(y, rounded_first, bytes)),
                      "%s, type %d, fine %d, %lld rows: other bits", o->k->name, type, fine,
                      (long long)l.N);
            }
        free(l.w.address);
        ops_free(o);
    }
    drop(&m);
}

static void check_bits(enum ops_type type)
{
    check_bits_of(type, 0);
    check_bits_of(type, 1);
}

Test(weights, bits_of_int8)
{
    check_bits(OPS_Q8);
}

Test(weights, bits_of_unpacked_blocks)
{
    check_bits(OPS_Q4_1);
    check_bits(OPS_Q5_0);
    check_bits(OPS_Q5_1);
    check_bits(OPS_Q4_K);
    check_bits(OPS_Q5_K);
    check_bits(OPS_Q6_K);
}

Test(weights, bits_of_int4)
{
    check_bits(OPS_IQ4_NL);
    check_bits(OPS_Q4);
}

/* A NaN or an infinity in the input must give results that are not finite: otherwise a damaged
 * model would write nonsense. */
static void check_bad_number(struct ops *o, enum ops_type type, int fine, int64_t N, float bad)
{
    const int64_t I = stored_is_large(type) ? 256 : 96;
    struct map m = map(type, N, I, 16);
    struct ops_linear l = { f32(NULL), OPS_NONE, N, I, 16, 1, fine };
    float *y = mem_alloc((size_t)N * 16 * sizeof *y), *last = y + (N - 1) * 16;
    l.w = product_of(o, &m);
    m.x[(N - 1) * I + 41] = bad;
    ops_linear_fwd(o, f32(y), f32(m.x), &l, 1);
    HOLDS(!isfinite(last[0]) && !isfinite(last[15]), "%s, type %d: %g became %g", o->k->name, type,
          bad, last[0]);
    for (int64_t i = 0; i < (N - 1) * 16; i++)
        HOLDS(isfinite(y[i]), "%s, type %d: another row became %g", o->k->name, type, y[i]);
    if (l.w.address != m.rows)
        free(l.w.address);
    free(y);
    drop(&m);
}

Test(weights, what_is_no_number)
{
    const uint32_t low_bit =
        0x7F800001; /* a NaN that looks like an infinity if it is cut to bf16 */
    float bad[] = { NAN, INFINITY, -INFINITY, 0 };
    const enum ops_type types[] = { OPS_F32,    OPS_BF16, OPS_F16,  OPS_Q8,
                                    OPS_IQ4_NL, OPS_Q4_K, OPS_Q6_K, OPS_Q5_1 };
    memcpy(&bad[3], &low_bit, sizeof low_bit);
    struct ops *o = ops_open("cpu", 1);
    for (int i = 0; kernels_set(i); i++)
        for (int b = 0; b < 4; b++)
            for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
                o->k = kernels_set(i);
                check_bad_number(o, types[t], 0, 1, bad[b]);
                check_bad_number(o, types[t], 0, 18, bad[b]);
                check_bad_number(o, types[t], 1, 40, bad[b]);
            }
    ops_free(o);
}

/* Weights of 2 bytes in rows of any length, also of lengths that do not fill vectors. */
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

/* Every number of rows up to more than two pairs of panels, and more rows than are multiplied at
 * once; sums that are computed in several parts; a last output alone. */
Test(weights, rows_of_bf16)
{
    for (int64_t N = 1; N <= 40; N++) {
        struct map m = map(OPS_BF16, N, 330, 49);
        check_in_contexts(&m);
        drop(&m);
    }
    const int64_t sizes[][3] = { { 257, 65, 290 }, { 300, 320, 17 }, { 70, 1056, 35 } };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct map m = map(OPS_BF16, sizes[i][0], sizes[i][1], sizes[i][2]);
        check_in_contexts(&m);
        drop(&m);
    }
}

/* Numbers of a row that tile registers split into parts: the largest and the smallest normal ones,
 * and those with all bits set. Weights of 1 and 0 must select them without any loss. */
Test(weights, exact_rows_of_bf16)
{
    const float x[] = { FLT_MAX, -FLT_MAX, FLT_MIN * 65536, 16777215,      -16777215,    1.0f / 3,
                        -0.1f,   0,        0x1.fffffep-1f,  0x1.000002p0f, 0x1.00fffep5f };
    enum { I = sizeof x / sizeof *x };
    uint16_t w[I * I];
    float y[I];
    for (int i = 0; i < I * I; i++)
        w[i] = i % (I + 1) ? 0 : 0x3F80;
    for (int i = 0; kernels_set(i); i++) {
        struct ops *o = ops_open("cpu", 1);
        struct ops_linear l = { ops_host_array(w, OPS_BF16), OPS_NONE, 1, I, I, 1, 0 };
        o->k = kernels_set(i);
        ops_linear_fwd(o, f32(y), ops_host_array((void *)(uintptr_t)x, OPS_F32), &l, 1);
        for (int n = 0; n < I; n++)
            HOLDS(y[n] == x[n], "%s: %.9g became %.9g", o->k->name, x[n], y[n]);
        ops_free(o);
    }
}

/* Integers of the greatest absolute value: no sum of products may overflow. */
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

/* With f32 weights [in,out], the result for a row must have the same bits as for that row alone. */
Test(weights, rows_alone_f32)
{
    struct map m = map(OPS_F32, 32, 100, 130);
    float y[32 * 130], one[130];
    for (int i = 0; kernels_set(i); i++) {
        struct ops *o = ops_open("cpu", 2);
        struct ops_linear l = { f32((float *)(void *)m.rows), f32(m.bias), 32, 100, 130, 0, 0 };
        o->k = kernels_set(i);
        ops_linear_fwd(o, f32(y), f32(m.x), &l, 1);
        l.N = 1;
        for (int n = 0; n < 32; n++) {
            ops_linear_fwd(o, f32(one), f32(m.x + n * 100), &l, 1);
            HOLDS(!memcmp(one, y + n * 130, sizeof one), "row %d differs alone", n);
        }
        ops_free(o);
    }
    drop(&m);
}

/* Several maps of the same rows in one call must give the bits that each gives alone. `last`: the
 * type of the last one, which files of llama-quantize have in more bits. */
static void check_several_maps(struct ops *o, enum ops_type type, enum ops_type last, int64_t N,
                               int turned)
{
    enum { MAPS = 3, I = 96 };
    const int64_t outputs[MAPS] = { 130, 17, 33 };
    struct map m[MAPS];
    struct ops_linear l[MAPS];
    float *y = mem_alloc((size_t)N * 180 * sizeof *y),
          *one = mem_alloc((size_t)N * 180 * sizeof *y);
    for (int i = 0; i < MAPS; i++) {
        m[i] = map(i < MAPS - 1 ? type : last, N, I, outputs[i]);
        l[i] = (struct ops_linear){ product_of(o, &m[i]), f32(m[i].bias), N, I,
                                    outputs[i],           turned,         0 };
    }
    ops_linear_fwd(o, f32(y), f32(m->x), l, MAPS);
    float *next = one;
    for (int i = 0; i < MAPS; next += N * outputs[i++])
        ops_linear_fwd(o, f32(next), f32(m->x), &l[i], 1);
    HOLDS(!memcmp(y, one, (size_t)N * 180 * sizeof *y),
          "%s, type %d, %lld rows, turned %d: differs", o->k->name, type, (long long)N, turned);
    for (int i = 0; i < MAPS; i++) {
        if (l[i].w.address != m[i].rows)
            free(l[i].w.address);
        drop(&m[i]);
    }
    free(y);
    free(one);
}

Test(weights, several_maps)
{
    const enum ops_type types[] = { OPS_F32, OPS_BF16, OPS_F16, OPS_Q8, OPS_Q5_0 };
    const int64_t rows[] = { 1, 5, 40 };
    struct ops *o = ops_open("cpu", 3);
    for (int i = 0; (o->k = kernels_set(i)); i++)
        for (int r = 0; r < 3; r++) {
            for (size_t t = 0; t < sizeof types / sizeof *types; t++)
                for (int other = 0; other < 2; other++)
                    check_several_maps(o, types[t], types[(t + other) % 5], rows[r], 1);
            check_several_maps(o, OPS_F32, OPS_F32, rows[r], 0);
        }
    o->k = kernels_set(0);
    ops_free(o);
}
