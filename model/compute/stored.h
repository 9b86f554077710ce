/*
 * stored.h - converts rows of numbers to and from the types of stored weights, in GGUF's layout.
 *
 *     F32, BF16, F16    numbers one after the other, little-endian
 *     Q8 ("int8")       blocks of 32: an f16 scale d, then 32 bytes q;             x = d * q
 *     IQ4_NL ("int4")   blocks of 32: an f16 scale d, then 16 bytes, whose low halves are
 *                       the first 16 numbers and high halves the last 16;      x = d * values[q]
 *     Q4                the same with other values;                            x = d * (q - 8)
 *
 * Q8 and Q4 are ggml's Q8_0 and Q4_0: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md.
 * The 16 values of IQ4_NL lie closer to each other near 0, where trained weights are dense: in the
 * same bytes the squared error is a fifth smaller than with Q4. Q4, F64 and ggml's other types with
 * blocks (stored_blocks.c, stored_grids.c) are read and not made.
 *
 * Products read matrices [O,I] of Q8, Q4 and IQ4_NL in groups of STORED_GROUP outputs. A group has
 * the f16 scales [blocks][STORED_GROUP], then the integers [blocks][j][STORED_GROUP][4]: for each
 * block, the j-th four bytes of each output; j < 8 in Q8, else j < 4. Zeros fill the last group.
 *
 * Matrices of Q4_1, Q5_0, Q5_1, Q4_K, Q5_K and Q6_K are in groups, too (struct stored_unpacked).
 * For each block, Q4_1 and Q5_1 have scales d[STORED_GROUP] and minima m[STORED_GROUP]. For each 8
 * blocks, the K types have d[STORED_GROUP] and m[STORED_GROUP] in f16, then for each of the blocks
 * the bytes a and b of each output. The integers of a block are first its low 4 bits, with j < 4 as
 * in IQ4_NL, then its H high bits, with j < H: those of the numbers 4i to 4i + 3 are at j = i mod
 * H, from bit i / H * H of each byte on.
 */
#pragma once

#include "model/compute/ops_array.h"

enum {
    STORED_BLOCK = 32,
    STORED_Q8_BYTES = 34,
    STORED_Q4_BYTES = 18,
    STORED_LARGE = 256,
    STORED_LARGE_SCALES = 20, /* bytes of d, m, a and b of an output */
    STORED_GROUP = 16,
};

/* The values of the option --weights. stored_type returns the type of value number `word`. "auto"
 * is STORED_AUTO: the types of a GGUF file, and F32 for other files. */
#define STORED_WORDS "auto|f32|bf16|f16|int8|int4"
#define STORED_AUTO  OPS_LIST
enum ops_type stored_type(int word);

/* A type with blocks: how many numbers and bytes a block has, where its f16 scales begin and how
 * many they are, and the function that reads it. stored_blocks returns NULL for other types. */
struct stored_blocks {
    int64_t numbers, bytes, scales_at;
    int scales;
    void (*read)(enum ops_type type, float *out, const unsigned char *in);
};
const struct stored_blocks *stored_blocks(enum ops_type type);

/* A block of a type whose integers q are 0 or more, unpacked; d and m are f16. The number i, with
 * j = i / 32, is d a[j] q[i] - m b[j]. But in Q5_0 (n = 16) and Q6_K (n = 32), where m is d, the
 * first 16 of 32 numbers are d a[j] (q[i] - n), the others m b[j] (q[i] - n). In types with blocks
 * of 32 a[0] is 1, and b[0] is 1 in Q5_0, else -1. */
struct stored_unpacked {
    uint16_t d, m;
    signed char a[STORED_LARGE / STORED_BLOCK], b[STORED_LARGE / STORED_BLOCK];
    unsigned char q[STORED_LARGE];
};
void stored_unpack(enum ops_type type, struct stored_unpacked *to, const unsigned char *in);

/* Returns the number of bits per integer if stored_unpack reads the type, else 0. */
static inline int stored_unsigned_bits(enum ops_type type)
{
    return type == OPS_Q4_1 || type == OPS_Q4_K                       ? 4
           : type == OPS_Q5_0 || type == OPS_Q5_1 || type == OPS_Q5_K ? 5
           : type == OPS_Q6_K                                         ? 6
                                                                      : 0;
}

/* Returns 1 for Q4_K, Q5_K and Q6_K, whose blocks have STORED_LARGE numbers, else 0. */
static inline int stored_is_large(enum ops_type type)
{
    return type == OPS_Q4_K || type == OPS_Q5_K || type == OPS_Q6_K;
}

/* Returns how many bytes of scales and minima an output of `blocks` blocks of 32 has in a group. */
static inline int64_t stored_scales_bytes(enum ops_type type, int64_t blocks)
{
    const int halves = type == OPS_Q4_1 || type == OPS_Q5_1 ? 2 : 1;
    return stored_is_large(type) ? blocks / (STORED_LARGE / STORED_BLOCK) * STORED_LARGE_SCALES
                                 : blocks * halves * 2;
}

/* Returns the bytes of a row of n numbers, which are whole blocks. */
uint64_t stored_bytes(enum ops_type type, int64_t n);
/* Returns 1 if rows of n numbers are whole blocks of that type, or if it has no blocks, else 0. */
int stored_fits(enum ops_type type, int64_t n);
/* Returns 1 for the types whose matrices products read in groups, else 0. */
int stored_grouped(enum ops_type type);
/* Returns the values of the 16 integers of Q4 or IQ4_NL; NULL for other types. */
const signed char *stored_values(enum ops_type type);
/* Returns 1 if the type can only be read, and not computed with, else 0. */
int stored_only_read(enum ops_type type);

/* stored_make converts n finite numbers x to F32, BF16, F16, Q8 or IQ4_NL, rounded to nearest, ties
 * to even. The scale of a Q8 block is its largest |x| / 127. For an IQ4_NL block several scales are
 * tried, and the values v with the smallest squared error are kept; then its scale is set to
 * sum(x^2) / sum(x v), so that products do not become smaller on average. The bytes are the same on
 * all processors. stored_read converts back. */
void stored_make(enum ops_type type, void *out, const float *x, int64_t n);
void stored_read(enum ops_type type, float *out, const void *in, int64_t n);

/* Returns the index of the first of n numbers that is infinite or NaN, or -1 if there is none. In
 * types with blocks, finds the first block with an infinite or NaN scale instead, and returns the
 * index of its first number. */
int64_t stored_bad(enum ops_type type, const void *in, int64_t n);

/* Returns the bytes of a group of a matrix with I inputs. */
uint64_t stored_group_bytes(enum ops_type type, int64_t I);
/* stored_group_put copies a row of I numbers in blocks to the place of output o < STORED_GROUP in a
 * group; stored_group_get copies it back, if it is Q8, Q4 or IQ4_NL. */
void stored_group_put(enum ops_type type, void *group, int64_t o, const void *row, int64_t I);
void stored_group_get(enum ops_type type, void *row, const void *group, int64_t o, int64_t I);
/* Returns the position in bytes of the first scale in a group of Q8, Q4 or IQ4_NL that is infinite
 * or NaN, or -1 if there is none. */
int64_t stored_group_bad(const void *group, int64_t I);
