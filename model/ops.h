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

/* ---- maps ------------------------------------------------------------------------------- */

/* y[N,O] = x[N,I] w[I,O] + bias[O]; bias may be NULL. Any N: few rows are streamed, not given
 * to the matrix library. */
void ops_linear_fwd(struct ops *o, float *y, const float *x, const float *w, const float *bias,
                    int64_t N, int64_t I, int64_t O);

/* y[N,C] = (x - mean) * rstd * gain + bias per row (Ba, Kiros, Hinton 2016). mean and rstd [N]
 * are kept for backward; both may be NULL. */
void ops_layernorm_fwd(struct ops *o, float *y, float *mean, float *rstd, const float *x,
                       const float *gain, const float *bias, int64_t N, int64_t C, double epsilon);

/* The tanh form of GELU (Hendrycks and Gimpel 2016). y may be x. */
void ops_gelu_fwd(struct ops *o, float *y, const float *x, int64_t n);

void ops_add(struct ops *o, float *y, const float *x, int64_t n); /* y += x */

/* logits[N,V] = x[N,C] table[V,C]^T. */
void ops_logits(struct ops *o, float *logits, const float *x, const float *table, int64_t N,
                int64_t V, int64_t C);

/* Causal attention of N new positions over `past` cached ones and themselves. qkv[N,3C] holds
 * queries, keys, values side by side; the new keys and values are appended to keys[.,C] and
 * values[.,C] at row `past`. y[N,C] is set. */
void ops_attention_cached(struct ops *o, float *y, float *keys, float *values, const float *qkv,
                          int64_t past, int64_t N, int64_t NH, int64_t HS);

/* ---- the optimizer's part ------------------------------------------------------------------- */

void ops_zero(struct ops *o, float *x, int64_t n);
double ops_sum_squares(struct ops *o, const float *x, int64_t n); /* f64 sums, fixed order */

/* AdamW in one pass (Loshchilov and Hutter 2019): with g = gradient_scale * gradient,
 * m = beta1*m + (1-beta1)*g, v = beta2*v + (1-beta2)*g^2,
 * w -= rate * (m*m_correction / (sqrt(v*v_correction) + epsilon) + decay*w). */
struct ops_adamw {
    double rate, beta1, beta2, epsilon, decay, gradient_scale;
    double m_correction, v_correction; /* 1/(1-beta^t), or 1 without bias correction */
};
void ops_adamw(struct ops *o, float *w, float *m, float *v, const float *gradient, int64_t n,
               const struct ops_adamw *h);

#endif
