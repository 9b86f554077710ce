/* Layouts: https://github.com/ggml-org/ggml/blob/master/src/ggml-common.h. Checked against what the
 * package gguf reads by tests/unit/model/formats/test_weights.c. The comment of a reader lists the
 * fields of a block in their order. d: an f16 scale; index: that of an entry of the grid. */
#include "model/compute/stored_grids.h"

#include "common/base/le.h"
#include "model/compute/half.h"

enum { LARGE = 256, EIGHTS = LARGE / 8, FOURS = LARGE / 4 };

static const unsigned char two_bits[] = { 8, 25, 43 };
static const unsigned char three_bits[] = { 4, 12, 20, 28, 36, 44, 52, 62 };
static const unsigned char odd[] = { 1, 3, 5, 7, 9, 11, 13, 15 };

/* Sets out[0] to out[n - 1] to the numbers of an entry, times d. A bit of `signs` that is 1 makes a
 * number negative. */
static void put(float *out, int n, int entry, const unsigned char *values, float d, uint32_t signs)
{
    const int bits = n == 8 ? 2 : 3;
    for (int i = 0; i < n; i++) {
        const float x = d * (float)values[entry >> bits * i & ((1 << bits) - 1)];
        out[i] = signs >> i & 1 ? -x : x;
    }
}

/* Returns 8 sign bits: the lowest 7 bits of `seven`, and one that makes the number of ones even. */
static uint32_t eight(uint32_t seven)
{
    seven &= 127;
    return seven | (uint32_t)__builtin_parity(seven) << 7;
}

/* Returns the i-th 4-bit number at `in`. */
static int four_bits(const unsigned char *in, int i)
{
    return in[i / 2] >> (i % 2 * 4) & 15;
}

/* Reads a block: d; for each 32 numbers 4 indices, then 4 times 7 sign bits and a 4-bit scale s. x
 * = d (s + 1/2) / 4 q. */
static void read_iq2_xxs(enum ops_type, float *out, const unsigned char *in)
{
    for (int j = 0; j < EIGHTS; j++) {
        const unsigned char *part = in + 2 + j / 4 * 8;
        const uint32_t word = le_u32(part + 4);
        const float d = half_read(le_u16(in)) * (0.5f + (float)(word >> 28)) * 0.25f;
        put(out + 8 * j, 8, stored_grid_iq2_xxs[part[j % 4]], two_bits, d,
            eight(word >> j % 4 * 7));
    }
}

/* Reads a block: d; 32 indices of 9 bits, each with 7 sign bits; 16 scales. x as in IQ2_XXS. */
static void read_iq2_xs(enum ops_type, float *out, const unsigned char *in)
{
    for (int j = 0; j < EIGHTS; j++) {
        const uint32_t q = le_u16(in + 2 + 2 * j);
        const float d = half_read(le_u16(in)) * (0.5f + (float)four_bits(in + 66, j / 2)) * 0.25f;
        put(out + 8 * j, 8, stored_grid_iq2_xs[q & 511], two_bits, d, eight(q >> 9));
    }
}

/* Reads a block: d; low 8 bits of 32 indices; 32 times 8 sign bits; high 2 bits of the indices; 16
 * scales. x as in IQ2_XXS. */
static void read_iq2_s(enum ops_type, float *out, const unsigned char *in)
{
    for (int j = 0; j < EIGHTS; j++) {
        const int q = in[2 + j] | (in[66 + j / 4] >> j % 4 * 2 & 3) << 8;
        const float d = half_read(le_u16(in)) * (0.5f + (float)four_bits(in + 74, j / 2)) * 0.25f;
        put(out + 8 * j, 8, stored_grid_iq2_s[q], two_bits, d, in[34 + j]);
    }
}

/* Reads a block: d; 64 indices; per 32 numbers 28 signs and a scale s. x = d (s + 1/2) / 2 q. */
static void read_iq3_xxs(enum ops_type, float *out, const unsigned char *in)
{
    for (int j = 0; j < FOURS; j++) {
        const uint32_t word = le_u32(in + 66 + j / 8 * 4);
        const float d = half_read(le_u16(in)) * (0.5f + (float)(word >> 28)) * 0.5f;
        put(out + 4 * j, 4, stored_grid_iq3_xxs[in[2 + j]], three_bits, d,
            eight(word >> j % 8 / 2 * 7) >> j % 2 * 4);
    }
}

/* Reads a block: d; low 8 bits of 64 indices; their high bits; 64 times 4 sign bits; 8 scales s. x
 * = d (1 + 2 s) q. */
static void read_iq3_s(enum ops_type, float *out, const unsigned char *in)
{
    for (int j = 0; j < FOURS; j++) {
        const int q = in[2 + j] | (in[66 + j / 8] >> j % 8 & 1) << 8;
        const float d = half_read(le_u16(in)) * (float)(1 + 2 * four_bits(in + 106, j / 8));
        put(out + 4 * j, 4, stored_grid_iq3_s[q], odd, d, (uint32_t)in[74 + j / 2] >> j % 2 * 4);
    }
}

/* Sets 8 numbers to d (q - 1/8) if `minus` is 1, else d (q + 1/8), with the q of entry `index`. */
static void put_iq1(float *out, int index, float d, int minus)
{
    for (int i = 0; i < 8; i++) {
        const int q = (stored_grid_iq1_s[index] >> 2 * i & 3) - 1;
        out[i] = d * ((float)q + (minus ? -0.125f : 0.125f));
    }
}

/* Reads a block: d; low 8 bits of 32 indices; for each 32 numbers the high 3 bits of 4 indices, a
 * scale s of 3 bits and the sign of the 1/8. x = d (2 s + 1) (q +- 1/8). */
static void read_iq1_s(enum ops_type, float *out, const unsigned char *in)
{
    for (int j = 0; j < EIGHTS; j++) {
        const int high = le_u16(in + 34 + j / 4 * 2);
        const float d = half_read(le_u16(in)) * (float)(2 * (high >> 12 & 7) + 1);
        put_iq1(out + 8 * j, in[2 + j] | (high >> j % 4 * 3 & 7) << 8, d, high >> 15);
    }
}

/* Reads a block: low 8 bits of 32 indices; for each index its high 3 bits and the sign of the 1/8;
 * four times 4 scales s of 3 bits and 4 bits of d. x as in IQ1_S. */
static void read_iq1_m(enum ops_type, float *out, const unsigned char *in)
{
    uint32_t half = 0;
    for (int k = 0; k < 4; k++)
        half |= (uint32_t)le_u16(in + 48 + 2 * k) >> 12 << 4 * k;
    for (int j = 0; j < EIGHTS; j++) {
        const int high = four_bits(in + 32, j), s = le_u16(in + 48 + j / 8 * 2) >> j / 2 % 4 * 3;
        const float d = half_read(half) * (float)(2 * (s & 7) + 1);
        put_iq1(out + 8 * j, in[j] | (high & 7) << 8, d, high >> 3);
    }
}

const struct stored_blocks *stored_grids(enum ops_type type)
{
    static const struct stored_blocks all[] = {
        [OPS_IQ2_XXS] = { LARGE, 66, 0, 1, read_iq2_xxs },
        [OPS_IQ2_XS] = { LARGE, 74, 0, 1, read_iq2_xs },
        [OPS_IQ2_S] = { LARGE, 82, 0, 1, read_iq2_s },
        [OPS_IQ3_XXS] = { LARGE, 98, 0, 1, read_iq3_xxs },
        [OPS_IQ3_S] = { LARGE, 110, 0, 1, read_iq3_s },
        [OPS_IQ1_S] = { LARGE, 50, 0, 1, read_iq1_s },
        [OPS_IQ1_M] = { LARGE, 56, 0, 0, read_iq1_m },
    };
    return type < sizeof all / sizeof *all && all[type].read ? &all[type] : NULL;
}
