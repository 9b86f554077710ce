#include "model/stored.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "model/half.h"

enum { HALF_BLOCK = STORED_BLOCK / 2, SCALES = 9 };

enum ops_type stored_type(int word)
{
    static const enum ops_type types[] = {
        STORED_AUTO, OPS_F32, OPS_BF16, OPS_F16, OPS_Q8, OPS_Q4
    };
    return types[word];
}

static int is_blocks(enum ops_type type)
{
    return type == OPS_Q8 || type == OPS_Q4;
}

static size_t block_bytes(enum ops_type type)
{
    return type == OPS_Q8 ? STORED_Q8_BYTES : STORED_Q4_BYTES;
}

uint64_t stored_bytes(enum ops_type type, int64_t n)
{
    return is_blocks(type) ? (uint64_t)n / STORED_BLOCK * block_bytes(type)
                           : (uint64_t)n * ops_type_bytes(type);
}

int stored_fits(enum ops_type type, int64_t n)
{
    return !is_blocks(type) || n % STORED_BLOCK == 0;
}

/* ---- bytes -------------------------------------------------------------------------------- */

static void put16(unsigned char *p, uint32_t x)
{
    p[0] = (unsigned char)x;
    p[1] = (unsigned char)(x >> 8);
}

static uint32_t get16(const unsigned char *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8;
}

static uint32_t get32(const unsigned char *p)
{
    return get16(p) | get16(p + 2) << 16;
}

static uint32_t nearest_bf16(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    if ((u & 0x7FFFFFFF) > 0x7F800000) /* a NaN stays one */
        return (u | 0x400000) >> 16;
    return (u + 0x7FFF + (u >> 16 & 1)) >> 16;
}

/* ---- blocks ------------------------------------------------------------------------------- */

/* Returns the f16 number nearest to wanted, limited to the range of finite f16 numbers. */
static float scale_of(float wanted)
{
    return half_read(half_make(fminf(fmaxf(wanted, -65504), 65504)));
}

static float nearest_within(float x, float low, float high)
{
    const float whole = 12582912.0f; /* 1.5 * 2^23: adding it rounds x to an integer */
    x = (x + whole) - whole;
    return x < low ? low : x > high ? high : x;
}

static void make_q8(unsigned char *out, const float *x)
{
    float most = 0;
    for (int i = 0; i < STORED_BLOCK; i++)
        most = fmaxf(most, fabsf(x[i]));
    const float d = scale_of(most / 127), inverse = d ? 1 / d : 0;
    put16(out, half_make(d));
    for (int i = 0; i < STORED_BLOCK; i++)
        out[2 + i] = (unsigned char)(int8_t)nearest_within(x[i] * inverse, -127, 127);
}

/* Returns the sum of squared errors of a block that is quantised to 4 bits with scale d. */
static float error_q4(const float *x, float d)
{
    float sum = 0, inverse = 1 / d;
    for (int i = 0; i < STORED_BLOCK; i++) {
        float e = x[i] - d * nearest_within(x[i] * inverse, -8, 7);
        sum += e * e;
    }
    return sum;
}

/* Computes the scale with the least squared error for the integers that scale d gives. Returns it
 * if its error is smaller than `error`, else returns d. */
static float fitted_q4(const float *x, float d, float error)
{
    float xq = 0, qq = 0, inverse = 1 / d;
    for (int i = 0; i < STORED_BLOCK; i++) {
        float q = nearest_within(x[i] * inverse, -8, 7);
        xq += x[i] * q;
        qq += q * q;
    }
    float fitted = qq > 0 ? scale_of(xq / qq) : 0;
    return fitted && error_q4(x, fitted) < error ? fitted : d;
}

/* Returns the scale for a block of 4-bit numbers. The first candidate maps the number with the
 * largest magnitude to -8. The other candidates map it to values from -8.2 to -6.4 and from 6.6 to
 * 8.2. fitted_q4 then refines the candidate with the least squared error. */
static float best_q4(const float *x)
{
    float most = 0;
    for (int i = 0; i < STORED_BLOCK; i++)
        most = fabsf(x[i]) > fabsf(most) ? x[i] : most;
    float best = scale_of(most / -8), error = best ? error_q4(x, best) : 0;
    for (int s = -SCALES; s <= SCALES && error > 0; s++) {
        const float d = scale_of(most / (s < 0 ? 6.4f - 0.2f * (float)s : -6.4f - 0.2f * (float)s));
        const float e = d ? error_q4(x, d) : error;
        if (e < error) {
            error = e;
            best = d;
        }
    }
    return error > 0 ? fitted_q4(x, best, error) : best;
}

static unsigned char nibble(float x, float inverse)
{
    return (unsigned char)(nearest_within(x * inverse, -8, 7) + 8);
}

static void make_q4(unsigned char *out, const float *x)
{
    const float d = best_q4(x), inverse = d ? 1 / d : 0;
    put16(out, half_make(d));
    for (int i = 0; i < HALF_BLOCK; i++)
        out[2 + i] = (unsigned char)(nibble(x[i], inverse) | nibble(x[HALF_BLOCK + i], inverse)
                                                                 << 4);
}

static void read_q8(float *out, const unsigned char *in)
{
    const float d = half_read(get16(in));
    for (int i = 0; i < STORED_BLOCK; i++)
        out[i] = d * (float)(int8_t)in[2 + i];
}

static void read_q4(float *out, const unsigned char *in)
{
    const float d = half_read(get16(in));
    for (int i = 0; i < HALF_BLOCK; i++) {
        out[i] = d * (float)((in[2 + i] & 15) - 8);
        out[HALF_BLOCK + i] = d * (float)((in[2 + i] >> 4) - 8);
    }
}

/* ---- rows --------------------------------------------------------------------------------- */

static void make_number(enum ops_type type, unsigned char *out, float x)
{
    uint32_t bits;
    if (type != OPS_F32) {
        put16(out, type == OPS_BF16 ? nearest_bf16(x) : half_make(x));
        return;
    }
    memcpy(&bits, &x, sizeof bits);
    put16(out, bits);
    put16(out + 2, bits >> 16);
}

static float read_number(enum ops_type type, const unsigned char *in)
{
    if (type == OPS_F16)
        return half_read(get16(in));
    return half_float(type == OPS_BF16 ? get16(in) << 16 : get32(in));
}

void stored_make(enum ops_type type, void *out, const float *x, int64_t n)
{
    const int64_t step = is_blocks(type) ? STORED_BLOCK : 1;
    unsigned char *to = out;
    assert(stored_fits(type, n));
    for (int64_t i = 0; i < n; i += step, to += stored_bytes(type, step))
        if (type == OPS_Q8)
            make_q8(to, x + i);
        else if (type == OPS_Q4)
            make_q4(to, x + i);
        else
            make_number(type, to, x[i]);
}

void stored_read(enum ops_type type, float *out, const void *in, int64_t n)
{
    const int64_t step = is_blocks(type) ? STORED_BLOCK : 1;
    const unsigned char *from = in;
    assert(stored_fits(type, n));
    for (int64_t i = 0; i < n; i += step, from += stored_bytes(type, step))
        if (type == OPS_Q8)
            read_q8(out + i, from);
        else if (type == OPS_Q4)
            read_q4(out + i, from);
        else
            out[i] = read_number(type, from);
}

int64_t stored_bad(enum ops_type type, const void *in, int64_t n)
{
    const int64_t step = is_blocks(type) ? STORED_BLOCK : 1;
    const unsigned char *from = in;
    for (int64_t i = 0; i < n; i += step, from += stored_bytes(type, step))
        if (!isfinite(read_number(is_blocks(type) ? OPS_F16 : type, from)))
            return i;
    return -1;
}
