/* Reads ggml's types with blocks (stored.h). The comment of a reader lists the fields of a block in
 * their order. q: integers, d: an f16 scale, m: an f16 minimum. Layouts:
 * https://github.com/ggml-org/ggml/blob/master/src/ggml-common.h. Checked against what the package
 * gguf reads by tests/unit/model/formats/test_weights.c. */

#include "common/base/le.h"
#include "model/compute/half.h"
#include "model/compute/stored.h"
#include "model/compute/stored_grids.h"

/* ---- blocks of 32 and 64 ------------------------------------------------------------------ */

static void read_q8(enum ops_type, float *out, const unsigned char *in)
{
    const float d = half_read(le_u16(in));
    for (int i = 0; i < STORED_BLOCK; i++)
        out[i] = d * (float)(int8_t)in[2 + i];
}

/* Returns nibble i of 32: first come the low nibbles of 16 bytes, then the high ones. */
static int nibble(const unsigned char *in, int i)
{
    return in[i % 16] >> (i / 16 * 4) & 15;
}

/* Unpacks a block: d; m (not in Q5_0); 4 bytes of fifth bits (not in Q4_1); 16 bytes as in Q4. */
static void unpack_small(enum ops_type type, struct stored_unpacked *to, const unsigned char *in)
{
    const int centred = type == OPS_Q5_0;
    const uint32_t fifth = type == OPS_Q4_1 ? 0 : le_u32(in + (centred ? 2 : 4));
    const unsigned char *q = in + stored_blocks(type)->bytes - STORED_BLOCK / 2;
    to->d = le_u16(in);
    to->m = centred ? to->d : le_u16(in + 2);
    to->a[0] = 1;
    to->b[0] = centred ? 1 : -1;
    for (int i = 0; i < STORED_BLOCK; i++)
        to->q[i] = (unsigned char)(nibble(q, i) | (int)(fifth >> i & 1) << 4);
}

static const signed char even[16] = { -8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7 };
static const signed char uneven[16] = { -127, -104, -83, -65, -49, -35, -22, -10,
                                        1,    13,   25,  38,  53,  69,  89,  113 };
/* Twice the values of the 16 numbers of E2M1, a 4-bit float. */
static const signed char e2m1[16] = { 0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12 };

const signed char *stored_values(enum ops_type type)
{
    return type == OPS_Q4 ? even : type == OPS_IQ4_NL ? uneven : NULL;
}

static void read_values(enum ops_type type, float *out, const unsigned char *in)
{
    const signed char *values = stored_values(type);
    const float d = half_read(le_u16(in));
    for (int i = 0; i < STORED_BLOCK; i++)
        out[i] = d * (float)values[nibble(in + 2, i)];
}

/* Reads a block: a byte e, for a scale of 2^(e - 128) with e2m1[]; 32 numbers of E2M1. */
static void read_mxfp4(enum ops_type, float *out, const unsigned char *in)
{
    const float d = half_float(in[0] < 2 ? 0x00200000u << in[0] : (uint32_t)(in[0] - 1) << 23);
    for (int i = 0; i < STORED_BLOCK; i++)
        out[i] = d * (float)e2m1[nibble(in + 1, i)];
}

/* Reads a block: four scales of E4M3 without a sign, halved because e2m1[] is doubled; four times
 * 16 numbers of E2M1. */
static void read_nvfp4(enum ops_type, float *out, const unsigned char *in)
{
    for (int i = 0; i < 64; i++) {
        const int x = in[i / 16], e = x >> 3 & 15, f = x & 7, k = i % 16;
        const float raw = e ? (1 + (float)f / 8) * half_float((uint32_t)(e + 120) << 23)
                            : (float)f / 512;
        const int q = in[4 + i / 16 * 8 + k % 8] >> (k / 8 * 4) & 15;
        out[i] = (x == 0x7F ? 0 : raw * 0.5f) * (float)e2m1[q];
    }
}

/* ---- blocks of 256 ------------------------------------------------------------------------ */

enum { LARGE = STORED_LARGE };

/* Returns 2-bit number i of 64 bytes. The four numbers of a byte have indices that are 32 apart. */
static int two_bits(const unsigned char *in, int i)
{
    return in[i / 128 * 32 + i % 32] >> (i / 32 % 4 * 2) & 3;
}

/* Reads a block: 16 bytes of 4-bit s and 4-bit minimum o; 2-bit q; d; m. x = d s q - m o. */
static void read_q2_k(enum ops_type, float *out, const unsigned char *in)
{
    const float d = half_read(le_u16(in + 80)), m = half_read(le_u16(in + 82));
    for (int i = 0; i < LARGE; i++) {
        const int both = in[i / 16];
        out[i] = d * (float)(both & 15) * (float)two_bits(in + 16, i) - m * (float)(both >> 4);
    }
}

/* Reads a block: 32 bytes of third bits of q, where 0 stands for -4; q's other bits; 16 scales s of
 * 6 bits, first their low bits, then their high ones; d. x = d (s - 32) q. */
static void read_q3_k(enum ops_type, float *out, const unsigned char *in)
{
    const unsigned char *low = in + 96, *high = low + 8;
    const float d = half_read(le_u16(in + 108));
    for (int i = 0; i < LARGE; i++) {
        const int j = i / 16;
        const int s = (low[j % 8] >> (j / 8 * 4) & 15) | (high[j % 4] >> (j / 4 * 2) & 3) << 4;
        const int q = two_bits(in + 32, i) - (in[i % 32] >> (i / 32) & 1 ? 0 : 4);
        out[i] = d * (float)(s - 32) * (float)q;
    }
}

/* Unpacks a block: d and m; 8 pairs of a 6-bit scale a and a 6-bit minimum b, packed in 12 bytes;
 * in Q5_K 32 bytes of fifth bits; 128 bytes of 4-bit numbers q. Each 32 bytes give first 32 low
 * halves, then 32 high halves. */
static void unpack_pairs(struct stored_unpacked *to, const unsigned char *in,
                         const unsigned char *fifth, const unsigned char *q)
{
    const unsigned char *packed = in + 4;
    to->d = le_u16(in);
    to->m = le_u16(in + 2);
    for (int j = 0; j < 8; j++) {
        int a = packed[j % 4] & 63, b = packed[j % 4 + 4] & 63;
        if (j >= 4) {
            a = (packed[j + 4] & 15) | packed[j - 4] >> 6 << 4;
            b = packed[j + 4] >> 4 | packed[j] >> 6 << 4;
        }
        to->a[j] = (signed char)a;
        to->b[j] = (signed char)b;
        for (int i = 0; i < 32; i++) {
            const int both = q[j / 2 * 32 + i], high = fifth ? fifth[i] >> j & 1 : 0;
            to->q[32 * j + i] = (unsigned char)((both >> (j % 2 * 4) & 15) | high << 4);
        }
    }
}

/* Unpacks a block: 128 bytes of the numbers' low 4 bits, 64 of their high 2 bits, 16 signed scales,
 * d. Each 64 bytes of low bits give first 64 low halves, then 64 high halves. */
static void unpack_q6_k(struct stored_unpacked *to, const unsigned char *in)
{
    enum { LOW = 128, HIGH = 64, RUN = 32 };
    to->d = to->m = le_u16(in + LOW + HIGH + 16);
    for (int j = 0; j < LARGE / RUN; j++) {
        const unsigned char *low = in + j / 4 * 64 + j % 2 * RUN, *high = in + LOW + j / 4 * RUN;
        to->a[j] = (signed char)in[LOW + HIGH + 2 * j];
        to->b[j] = (signed char)in[LOW + HIGH + 2 * j + 1];
        for (int i = 0; i < RUN; i++)
            to->q[RUN * j + i] = (unsigned char)((low[i] >> (j / 2 % 2 * 4) & 15) |
                                                 (high[i] >> (j % 4 * 2) & 3) << 4);
    }
}

void stored_unpack(enum ops_type type, struct stored_unpacked *to, const unsigned char *in)
{
    if (!stored_is_large(type))
        unpack_small(type, to, in);
    else if (type == OPS_Q6_K)
        unpack_q6_k(to, in);
    else if (type == OPS_Q5_K)
        unpack_pairs(to, in, in + 16, in + 48);
    else
        unpack_pairs(to, in, NULL, in + 16);
}

static void read_unpacked(enum ops_type type, float *out, const unsigned char *in)
{
    const int less = type == OPS_Q6_K ? 32 : type == OPS_Q5_0 ? 16 : 0;
    struct stored_unpacked x;
    stored_unpack(type, &x, in);
    const float d = half_read(x.d), m = half_read(x.m);
    const int64_t numbers = stored_blocks(type)->numbers;
    for (int i = 0; i < numbers; i++) {
        const float a = d * (float)x.a[i / 32], b = m * (float)x.b[i / 32];
        out[i] = less ? (i % 32 < 16 ? a : b) * (float)(x.q[i] - less) : a * (float)x.q[i] - b;
    }
}

/* Reads a block: d; high 2 bits of 8 scales s, then low 4 bits; 8 times 16 bytes as in IQ4_NL. */
static void read_iq4_xs(enum ops_type, float *out, const unsigned char *in)
{
    const float d = half_read(le_u16(in));
    for (int i = 0; i < LARGE; i++) {
        const int j = i / 32, high = le_u16(in + 2) >> 2 * j & 3;
        const int s = (in[4 + j / 2] >> (j % 2 * 4) & 15) | high << 4;
        out[i] = d * (float)(s - 32) * (float)uneven[nibble(in + 8 + 16 * j, i % 32)];
    }
}

/* Reads a block of numbers -1, 0 and 1, the base-3 digits of the fraction byte / 256: five in each
 * of 32 bytes, then of 16 bytes, four in each of 4 bytes; d. */
static void read_tq1(enum ops_type, float *out, const unsigned char *in)
{
    static const unsigned char powers[] = { 1, 3, 9, 27, 81 };
    const float d = half_read(le_u16(in + 52));
    for (int i = 0; i < LARGE; i++) {
        const int k = i < 160 ? i / 32 : i < 240 ? (i - 160) / 16 : (i - 240) / 4;
        const int at = i < 160 ? i % 32 : i < 240 ? 32 + i % 16 : 48 + i % 4;
        const unsigned char digit = (unsigned char)(in[at] * powers[k]);
        out[i] = d * (float)((digit * 3 >> 8) - 1);
    }
}

static void read_tq2(enum ops_type, float *out, const unsigned char *in)
{
    const float d = half_read(le_u16(in + 64));
    for (int i = 0; i < LARGE; i++)
        out[i] = d * (float)(two_bits(in, i) - 1);
}

const struct stored_blocks *stored_blocks(enum ops_type type)
{
    static const struct stored_blocks all[] = {
        [OPS_Q8] = { 32, STORED_Q8_BYTES, 0, 1, read_q8 },
        [OPS_Q4] = { 32, STORED_Q4_BYTES, 0, 1, read_values },
        [OPS_Q4_1] = { 32, 20, 0, 2, read_unpacked },
        [OPS_Q5_0] = { 32, 22, 0, 1, read_unpacked },
        [OPS_Q5_1] = { 32, 24, 0, 2, read_unpacked },
        [OPS_IQ4_NL] = { 32, 18, 0, 1, read_values },
        [OPS_MXFP4] = { 32, 17, 0, 0, read_mxfp4 },
        [OPS_NVFP4] = { 64, 36, 0, 0, read_nvfp4 },
        [OPS_Q2_K] = { LARGE, 84, 80, 2, read_q2_k },
        [OPS_Q3_K] = { LARGE, 110, 108, 1, read_q3_k },
        [OPS_Q4_K] = { LARGE, 144, 0, 2, read_unpacked },
        [OPS_Q5_K] = { LARGE, 176, 0, 2, read_unpacked },
        [OPS_Q6_K] = { LARGE, 210, 208, 1, read_unpacked },
        [OPS_IQ4_XS] = { LARGE, 136, 0, 1, read_iq4_xs },
        [OPS_TQ1_0] = { LARGE, 54, 52, 1, read_tq1 },
        [OPS_TQ2_0] = { LARGE, 66, 64, 1, read_tq2 },
    };
    return type < sizeof all / sizeof *all && all[type].read ? &all[type] : stored_grids(type);
}
