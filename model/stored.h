/*
 * stored.h - rows of numbers in the types that weights are stored in, in the layout of GGUF files.
 *
 *     F32, BF16, F16    one after the other, little-endian
 *     Q8 ("int8")       blocks of 32: an f16 scale d, then 32 bytes q;             x = d * q
 *     Q4 ("int4")       blocks of 32: an f16 scale d, then 16 bytes, the low halves of which are
 *                       the first 16 numbers and the high halves the last 16;  x = d * (q - 8)
 *
 * Q8 and Q4 are ggml's Q8_0 and Q4_0: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md.
 */
#ifndef TEXTMILL_MODEL_STORED_H
#define TEXTMILL_MODEL_STORED_H

#include <stddef.h>
#include <stdint.h>

#include "model/ops.h"

enum { STORED_BLOCK = 32, STORED_Q8_BYTES = 34, STORED_Q4_BYTES = 18 };

/* The words of --weights, in the order of stored_type. `auto` is STORED_AUTO: as a GGUF file has
 * them, and of other files F32. */
#define STORED_WORDS "auto|f32|bf16|f16|int8|int4"
#define STORED_AUTO  OPS_LIST
enum ops_type stored_type(int word);

/* Bytes of a row of n numbers; rows of Q8 and Q4 are whole blocks. */
uint64_t stored_bytes(enum ops_type type, int64_t n);
/* Whether rows of n numbers can be of that type. */
int stored_fits(enum ops_type type, int64_t n);

/* To the nearest, ties to even. The scale of a Q8 block is the largest |x| / 127; that of a Q4
 * block is the one of several that leaves the smallest sum of squares of errors. */
void stored_make(enum ops_type type, void *out, const float *x, int64_t n);
void stored_read(enum ops_type type, float *out, const void *in, int64_t n);

/* The first of n numbers that is infinite or no number (in a block: its scale); -1: none. */
int64_t stored_bad(enum ops_type type, const void *in, int64_t n);

#endif
