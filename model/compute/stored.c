#include "model/compute/stored.h"

#include <math.h>

#include "common/base/le.h"
#include "model/compute/half.h"

enum { HALF_BLOCK = STORED_BLOCK / 2 };

enum ops_type stored_type(int word)
{
    static const enum ops_type types[] = { STORED_AUTO, OPS_F32, OPS_BF16,
                                           OPS_F16,     OPS_Q8,  OPS_IQ4_NL };
    return types[word];
}

int stored_grouped(enum ops_type type)
{
    return type == OPS_Q8 || stored_values(type) || stored_unsigned_bits(type);
}

int stored_only_read(enum ops_type type)
{
    return type == OPS_F64 || (stored_blocks(type) && !stored_grouped(type));
}

uint64_t stored_bytes(enum ops_type type, int64_t n)
{
    const struct stored_blocks *b = stored_blocks(type);
    return b ? (uint64_t)(n / b->numbers * b->bytes) : (uint64_t)n * ops_type_bytes(type);
}

int stored_fits(enum ops_type type, int64_t n)
{
    const struct stored_blocks *b = stored_blocks(type);
    return !b || n % b->numbers == 0;
}

static uint32_t bits_of(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

/* ---- making blocks ------------------------------------------------------------------------ */

/* The compiler makes vectors of the loops below. A sum has one order, and the file is compiled
 * without fused multiply-adds, so that all processors give the same bytes. */
#define INLINE static inline __attribute__((always_inline))

/* Returns the f16 number nearest to wanted, limited to the range of finite f16 numbers. */
INLINE float scale_of(float wanted)
{
    return half_read(half_make(wanted < -65504 ? -65504 : wanted > 65504 ? 65504 : wanted));
}

INLINE float nearest_within(float x, float low, float high)
{
    const float whole = 12582912.0f; /* 1.5 * 2^23: adding it rounds x to an integer */
    x = (x + whole) - whole;
    return x < low ? low : x > high ? high : x;
}

/* Returns the largest absolute value. */
INLINE float largest(const float *x)
{
    float size[STORED_BLOCK];
    for (int i = 0; i < STORED_BLOCK; i++)
        size[i] = fabsf(x[i]);
    for (int n = HALF_BLOCK; n; n /= 2)
        for (int i = 0; i < n; i++)
            size[i] = size[i] > size[n + i] ? size[i] : size[n + i];
    return size[0];
}

INLINE void make_q8(unsigned char *out, const float *x)
{
    const float d = scale_of(largest(x) / 127), inverse = d ? 1 / d : 0;
    le_put_u16(out, half_make(d));
    for (int i = 0; i < STORED_BLOCK; i++)
        out[2 + i] = (unsigned char)(int8_t)nearest_within(x[i] * inverse, -127, 127);
}

/* 4-bit blocks are made SIDE at a time: x[i][b] is number i of block b. */
enum { SIDE = 32 };
typedef float side_by_side[SIDE];

/* The values of IQ4_NL as floats, and the middles between them. */
struct grid {
    float value[16], middle[15];
};

#define EACH_MIDDLE(k) _Pragma("GCC unroll 15") for (int k = 0; k < 15; k++)

/* Returns the value nearest to x, the smaller of two that are equally near. */
INLINE float nearest_value(const struct grid *g, float x)
{
    float v = g->value[0];
    EACH_MIDDLE(k)
    v = x > g->middle[k] ? g->value[k + 1] : v;
    return v;
}

/* Returns the index of the value that nearest_value returns. */
INLINE unsigned char nearest_index(const struct grid *g, float x)
{
    int32_t n = 0;
    EACH_MIDDLE(k)
    n += x > g->middle[k];
    return (unsigned char)n;
}

/* The best fit so far of each of the blocks. v is the value nearest to x * factor. */
struct fit {
    side_by_side factor, xv, vv; /* xv, vv: the sums of x*v and of v*v over the block */
};

/* Replaces the factor of each block by factor[] if that lowers the squared error. The least error
 * over all scales is sum(x^2) - sum(x v)^2 / sum(v^2). */
INLINE void try_factor(struct fit *best, const struct grid *g, side_by_side *x, const float *factor)
{
    side_by_side xv = { 0 }, vv = { 0 };
    for (int i = 0; i < STORED_BLOCK; i++)
        for (int b = 0; b < SIDE; b++) {
            const float v = nearest_value(g, x[i][b] * factor[b]);
            xv[b] += x[i][b] * v;
            vv[b] += v * v;
        }
    for (int b = 0; b < SIDE; b++) {
        const int better = xv[b] * xv[b] * best->vv[b] > best->xv[b] * best->xv[b] * vv[b];
        best->factor[b] = better ? factor[b] : best->factor[b];
        best->xv[b] = better ? xv[b] : best->xv[b];
        best->vv[b] = better ? vv[b] : best->vv[b];
    }
}

/* Finds the values of blocks whose number of largest magnitude is 1. Each factor of the table is
 * what this number is scaled to before rounding. The last factor tried is the inverse of the scale
 * that fits the best values so far. */
INLINE void fit_values(struct fit *best, const struct grid *g, side_by_side *x)
{
    static const float factors[] = { -134, -124, -114, -104, 132, 122, 113, 105 };
    side_by_side factor;
    for (int b = 0; b < SIDE; b++) {
        best->factor[b] = best->xv[b] = 0;
        best->vv[b] = 1;
    }
    for (size_t f = 0; f < sizeof factors / sizeof *factors; f++) {
        for (int b = 0; b < SIDE; b++)
            factor[b] = factors[f];
        try_factor(best, g, x, factor);
    }
    for (int b = 0; b < SIDE; b++)
        factor[b] = best->xv[b] != 0 ? best->vv[b] / best->xv[b] : 0;
    try_factor(best, g, x, factor);
}

/* Divides the numbers of each block by the one with the largest magnitude, the first of equal ones.
 * Sets most[] to that number and xx[] to the sum of squares of the quotients. */
INLINE void divide_by_most(float *most, float *xx, side_by_side *x)
{
    const float least = 1e-30f; /* the scales of smaller numbers are 0 in f16 */
    side_by_side inverse;
    for (int b = 0; b < SIDE; b++)
        most[b] = xx[b] = 0;
    for (int i = 0; i < STORED_BLOCK; i++)
        for (int b = 0; b < SIDE; b++)
            most[b] = fabsf(x[i][b]) > fabsf(most[b]) ? x[i][b] : most[b];
    for (int b = 0; b < SIDE; b++)
        inverse[b] = fabsf(most[b]) > least ? 1 / most[b] : 0;
    for (int i = 0; i < STORED_BLOCK; i++)
        for (int b = 0; b < SIDE; b++) {
            x[i][b] *= inverse[b];
            xx[b] += x[i][b] * x[i][b];
        }
}

/* Makes n <= SIDE blocks. The scale with the least squared error, sum(x v) / sum(v^2), would make
 * the numbers smaller on average. With sum(x^2) / sum(x v) their sum of products with x stays the
 * same, and products do not shrink from layer to layer. */
INLINE void make_iq4_nl(unsigned char *out, const struct grid *g, const float *in, int64_t n)
{
    side_by_side x[STORED_BLOCK], most, xx;
    unsigned char q[STORED_BLOCK][SIDE];
    struct fit best;
    memset(x, 0, sizeof x);
    for (int b = 0; b < n; b++)
        for (int i = 0; i < STORED_BLOCK; i++)
            x[i][b] = in[b * STORED_BLOCK + i];
    divide_by_most(most, xx, x);
    fit_values(&best, g, x);
    for (int i = 0; i < STORED_BLOCK; i++)
        for (int b = 0; b < SIDE; b++)
            q[i][b] = nearest_index(g, x[i][b] * best.factor[b]);
    for (int b = 0; b < n; b++, out += STORED_Q4_BYTES) {
        const float d = scale_of(best.xv[b] != 0 ? most[b] * (xx[b] / best.xv[b]) : 0);
        le_put_u16(out, half_make(d));
        for (int i = 0; i < HALF_BLOCK; i++)
            out[2 + i] = (unsigned char)(q[i][b] | q[HALF_BLOCK + i][b] << 4);
    }
}

INLINE void make_blocks(enum ops_type type, unsigned char *out, const float *x, int64_t n)
{
    const int64_t blocks = n / STORED_BLOCK;
    struct grid g;
    for (int k = 0; k < 16 && type == OPS_IQ4_NL; k++)
        g.value[k] = stored_values(type)[k];
    for (int k = 0; k < 15 && type == OPS_IQ4_NL; k++)
        g.middle[k] = (g.value[k] + g.value[k + 1]) / 2;
    if (type == OPS_Q8)
        for (int64_t b = 0; b < blocks; b++)
            make_q8(out + b * STORED_Q8_BYTES, x + b * STORED_BLOCK);
    else
        for (int64_t b = 0; b < blocks; b += SIDE)
            make_iq4_nl(out + b * STORED_Q4_BYTES, &g, x + b * STORED_BLOCK,
                        blocks - b < SIDE ? blocks - b : SIDE);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void make_avx2(enum ops_type type, unsigned char *out,
                                                      const float *x, int64_t n)
{
    make_blocks(type, out, x, n);
}

#if defined(__clang__)
#define PREFER_512 /* clang has a command-line option for it instead */
#else
#define PREFER_512 ",prefer-vector-width=512"
#endif

__attribute__((target("avx512f,avx512bw,avx512vl,avx512dq" PREFER_512))) static void make_avx512(
    enum ops_type type, unsigned char *out, const float *x, int64_t n)
{
    make_blocks(type, out, x, n);
}
#endif

static void make_fast(enum ops_type type, unsigned char *out, const float *x, int64_t n)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq")) {
        make_avx512(type, out, x, n);
        return;
    }
    if (__builtin_cpu_supports("avx2")) {
        make_avx2(type, out, x, n);
        return;
    }
#endif
    make_blocks(type, out, x, n);
}

/* ---- numbers ------------------------------------------------------------------------------ */

static uint32_t nearest_bf16(float x)
{
    const uint32_t u = bits_of(x), nan = (u | 0x400000) >> 16; /* a NaN stays one */
    return (u & 0x7FFFFFFF) > 0x7F800000 ? nan : (u + 0x7FFF + (u >> 16 & 1)) >> 16;
}

static void make_numbers(enum ops_type type, unsigned char *out, const float *x, int64_t n)
{
    if (type == OPS_F32)
        for (int64_t i = 0; i < n; i++)
            le_put_f32(out + 4 * i, x[i]);
    else if (type == OPS_BF16)
        for (int64_t i = 0; i < n; i++)
            le_put_u16(out + 2 * i, (uint16_t)nearest_bf16(x[i]));
    else
        for (int64_t i = 0; i < n; i++)
            le_put_u16(out + 2 * i, half_make(x[i]));
}

static void read_numbers(enum ops_type type, float *out, const unsigned char *in, int64_t n)
{
    if (type == OPS_F32)
        for (int64_t i = 0; i < n; i++)
            out[i] = le_f32(in + 4 * i);
    else if (type == OPS_BF16)
        for (int64_t i = 0; i < n; i++)
            out[i] = half_float((uint32_t)le_u16(in + 2 * i) << 16);
    else if (type == OPS_F16)
        for (int64_t i = 0; i < n; i++)
            out[i] = half_read(le_u16(in + 2 * i));
    else
        for (int64_t i = 0; i < n; i++)
            out[i] = (float)le_f64(in + 8 * i);
}

/* ---- rows --------------------------------------------------------------------------------- */

void stored_make(enum ops_type type, void *out, const float *x, int64_t n)
{
    assert(stored_fits(type, n) && !stored_only_read(type) && type != OPS_Q4 &&
           !stored_unsigned_bits(type));
    (stored_grouped(type) ? make_fast : make_numbers)(type, out, x, n);
}

void stored_read(enum ops_type type, float *out, const void *in, int64_t n)
{
    const struct stored_blocks *b = stored_blocks(type);
    const unsigned char *from = in;
    assert(stored_fits(type, n));
    if (!b)
        read_numbers(type, out, from, n);
    for (; b && n > 0; n -= b->numbers, out += b->numbers, from += b->bytes)
        b->read(type, out, from);
}

static int bad_half(const unsigned char *p)
{
    return (le_u16(p) & 0x7C00) == 0x7C00;
}

/* Returns 1 if one of n floats is infinite or NaN, else 0. */
static int some_bad(const float *x, int64_t n)
{
    uint32_t bad = 0;
    for (int64_t i = 0; i < n; i++)
        bad |= (bits_of(x[i]) & 0x7F800000) == 0x7F800000;
    return bad != 0;
}

static int64_t bad_number(enum ops_type type, const unsigned char *in, int64_t n)
{
    enum { RUN = 256 };
    float x[RUN];
    for (int64_t first = 0; first < n; first += RUN) {
        const int64_t some = n - first < RUN ? n - first : RUN;
        read_numbers(type, x, in + stored_bytes(type, first), some);
        for (int64_t i = 0; i < some && some_bad(x, some); i++)
            if (!isfinite(x[i]))
                return first + i;
    }
    return -1;
}

int64_t stored_bad(enum ops_type type, const void *in, int64_t n)
{
    const struct stored_blocks *b = stored_blocks(type);
    const unsigned char *from = in;
    if (!b)
        return bad_number(type, from, n);
    for (int64_t i = 0; i < n; i += b->numbers, from += b->bytes)
        for (int s = 0; s < b->scales; s++)
            if (bad_half(from + b->scales_at + 2 * s))
                return i;
    return -1;
}

/* ---- groups ------------------------------------------------------------------------------- */

enum { SCALE_BYTES = 2, FOUR = 4 /* bytes of an output that lie side by side */ };

uint64_t stored_group_bytes(enum ops_type type, int64_t I)
{
    const int64_t blocks = I / STORED_BLOCK;
    return STORED_GROUP * (stored_is_large(type)
                               ? (uint64_t)(stored_scales_bytes(type, blocks) +
                                            blocks * FOUR * stored_unsigned_bits(type))
                               : stored_bytes(type, I));
}

/* Positions in a group: scale_at returns that of the scale of block b of output o, integers_at that
 * of the four bytes of its integers that begin at byte j. blocks: the number of blocks of a row;
 * bytes: the number of bytes of a block's integers. */
static int64_t scale_at(int64_t b, int64_t o)
{
    return (b * STORED_GROUP + o) * SCALE_BYTES;
}

static int64_t integers_at(int64_t blocks, int64_t bytes, int64_t b, int64_t j, int64_t o)
{
    return scale_at(blocks, 0) + (b * bytes + j) * STORED_GROUP + o * FOUR;
}

/* Stores the 32 integers q of an output's block in a group; its first four bytes go to `to`. Four
 * bytes are treated at once. */
static void put_integers(char *to, const unsigned char *q, int bits)
{
    const uint32_t low = 0x0F0F0F0F;
    const int high = bits - 4;
    uint32_t four[STORED_BLOCK / FOUR], line;
    memcpy(four, q, sizeof four);
    for (int j = 0; j < 4; j++, to += STORED_GROUP * FOUR) {
        line = (four[j] & low) | (four[j + 4] & low) << 4;
        memcpy(to, &line, sizeof line);
    }
    for (int j = 0; j < high; j++, to += STORED_GROUP * FOUR) {
        line = 0;
        for (int i = j; i < 8; i += high)
            line |= (four[i] >> 4 & low) << (i / high * high);
        memcpy(to, &line, sizeof line);
    }
}

static void put_unpacked(enum ops_type type, char *group, int64_t o, const unsigned char *row,
                         int64_t I)
{
    const struct stored_blocks *b = stored_blocks(type);
    const int bits = stored_unsigned_bits(type), large = stored_is_large(type);
    unsigned char *scales = (unsigned char *)group + o * SCALE_BYTES;
    char *integers = group + stored_scales_bytes(type, I / STORED_BLOCK) * STORED_GROUP + o * FOUR;
    struct stored_unpacked x;
    for (int64_t n = 0; n < I; n += b->numbers, row += b->bytes) {
        stored_unpack(type, &x, row);
        le_put_u16(scales, x.d);
        scales += STORED_GROUP * SCALE_BYTES;
        if (type != OPS_Q5_0) {
            le_put_u16(scales, x.m);
            scales += STORED_GROUP * SCALE_BYTES;
        }
        for (int j = 0; j < b->numbers / STORED_BLOCK; j++) {
            if (large) {
                scales[0] = (unsigned char)x.a[j];
                scales[1] = (unsigned char)x.b[j];
                scales += STORED_GROUP * SCALE_BYTES;
            }
            put_integers(integers, x.q + STORED_BLOCK * j, bits);
            integers += bits * STORED_GROUP * FOUR;
        }
    }
}

void stored_group_put(enum ops_type type, void *group, int64_t o, const void *row, int64_t I)
{
    if (stored_unsigned_bits(type)) {
        put_unpacked(type, group, o, row, I);
        return;
    }
    const int64_t blocks = I / STORED_BLOCK, bytes = stored_blocks(type)->bytes - SCALE_BYTES;
    char *to = group;
    const char *from = row;
    for (int64_t b = 0; b < blocks; b++, from += SCALE_BYTES + bytes) {
        memcpy(to + scale_at(b, o), from, SCALE_BYTES);
        for (int64_t j = 0; j < bytes; j += FOUR)
            memcpy(to + integers_at(blocks, bytes, b, j, o), from + SCALE_BYTES + j, FOUR);
    }
}

void stored_group_get(enum ops_type type, void *row, const void *group, int64_t o, int64_t I)
{
    const int64_t blocks = I / STORED_BLOCK, bytes = stored_blocks(type)->bytes - SCALE_BYTES;
    const char *from = group;
    char *to = row;
    for (int64_t b = 0; b < blocks; b++, to += SCALE_BYTES + bytes) {
        memcpy(to, from + scale_at(b, o), SCALE_BYTES);
        for (int64_t j = 0; j < bytes; j += FOUR)
            memcpy(to + SCALE_BYTES + j, from + integers_at(blocks, bytes, b, j, o), FOUR);
    }
}

int64_t stored_group_bad(const void *group, int64_t I)
{
    const unsigned char *scales = group;
    const int64_t count = I / STORED_BLOCK * STORED_GROUP;
    uint32_t bad = 0;
    for (int64_t i = 0; i < count; i++)
        bad |= (le_u16(scales + 2 * i) & 0x7C00) == 0x7C00;
    for (int64_t i = 0; i < count && bad; i++)
        if (bad_half(scales + 2 * i))
            return 2 * i;
    return -1;
}
