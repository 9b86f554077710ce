/*
 * ops.h - the only door to arithmetic: a compute context and its kernels.
 *
 * Dimensions: B sequences, T positions, N = B*T rows, C channels, NH heads, HS = C/NH,
 * V vocabulary, L layers, I and O inputs and outputs of a linear map. All arrays are row-major
 * f32, contiguous, and come from ops_buffer where they are large.
 *
 * Arguments stand in the order outputs, inputs, parameters, dimensions. d<x> is the gradient in
 * x; gradients of parameters are added to, gradients of activations are set unless said.
 * The same inputs, context and number of threads give the same bits.
 */
#ifndef TEXTMILL_OPS_H
#define TEXTMILL_OPS_H

#include <stddef.h>
#include <stdint.h>

struct ops; /* threads, scratch memory, and the matrix kernels chosen for this processor */

struct ops *ops_new(int threads); /* NULL with an error when no matrix library is found */
void ops_free(struct ops *o);
int ops_threads(const struct ops *o);
const char *ops_describe(const struct ops *o); /* e.g. "OpenBLAS 0.3.21 SkylakeX, AVX-512 kernels" */

/* Zeroed, aligned to 64 bytes, touched in parallel by the context's threads. */
float *ops_buffer(struct ops *o, int64_t floats);
void ops_buffer_free(struct ops *o, float *buffer, int64_t floats);

/* KERNELS: to be declared below by whoever writes them */

#endif
