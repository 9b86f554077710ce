/*
 * stored.h - converts rows of numbers to and from the types of stored weights, in GGUF's layout.
 *
 *     F32, BF16, F16    numbers one after the other, little-endian
 *     Q8 ("int8")       blocks of 32: an f16 scale d, then 32 bytes q;             x = d * q
 *     Q4 ("int4")       blocks of 32: an f16 scale d, then 16 bytes, whose low halves are
 *                       the first 16 numbers and high halves the last 16;      x = d * (q - 8)
 *
 * Q8 and Q4 are ggml's Q8_0 and Q4_0: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md.
 */
#ifndef TEXTMILL_MODEL_STORED_H
#define TEXTMILL_MODEL_STORED_H

#include <stddef.h>
#include <stdint.h>

#include "model/ops.h"

enum { STORED_BLOCK = 32, STORED_Q8_BYTES = 34, STORED_Q4_BYTES = 18 };

/* The values of the option --weights. stored_type returns the type of value number `word`. "auto"
 * is STORED_AUTO: the types of a GGUF file, and F32 for other files. */
#define STORED_WORDS "auto|f32|bf16|f16|int8|int4"
#define STORED_AUTO  OPS_LIST
enum ops_type stored_type(int word);

/* Returns the bytes of a row of n numbers. n must be a multiple of STORED_BLOCK for Q8 and Q4. */
uint64_t stored_bytes(enum ops_type type, int64_t n);
/* Returns whether rows of n numbers can have that type. */
int stored_fits(enum ops_type type, int64_t n);

/* stored_make converts n numbers to the type, rounded to nearest, ties to even. The scale of a Q8
 * block is its largest |x| / 127. The scale of a Q4 block is the one with the smallest squared
 * error out of several candidates. stored_read converts back. */
void stored_make(enum ops_type type, void *out, const float *x, int64_t n);
void stored_read(enum ops_type type, float *out, const void *in, int64_t n);

/* Returns the index of the first of n numbers that is infinite or NaN (in Q8 and Q4: whose block
 * has such a scale), or -1 if there is none. */
int64_t stored_bad(enum ops_type type, const void *in, int64_t n);

#endif
