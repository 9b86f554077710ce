/*
 * ops_array.h - arrays of numbers, and those parameters of ops.h that the CPU's kernels read.
 *
 * The kernels take minutes to compile. They include this header and not ops.h, which has the
 * operations.
 */
#pragma once

#include "common/base/base.h"

/* Types of numbers. bf16 is the high half of a float's bits. The types from F16 on are only for
 * parameters of models that run forward; all of them but LIST are only for the host. F16 is IEEE
 * 754's binary16. A LIST is an array of arrays, each with its own type. The types between these are
 * blocks of integers with scales (stored.h). Products read blocks only if they are in groups. */
enum ops_type {
    OPS_F32,
    OPS_BF16,
    OPS_F64,
    OPS_U32,
    OPS_I32,
    OPS_I64,
    OPS_U8,
    OPS_F16,
    OPS_Q8,
    OPS_Q4,
    OPS_Q4_K,
    OPS_Q6_K,
    OPS_Q4_1,
    OPS_Q5_0,
    OPS_Q5_1,
    OPS_IQ4_NL,
    OPS_MXFP4,
    OPS_NVFP4,
    OPS_Q2_K,
    OPS_Q3_K,
    OPS_Q5_K,
    OPS_IQ4_XS,
    OPS_TQ1_0,
    OPS_TQ2_0,
    OPS_IQ2_XXS,
    OPS_IQ2_XS,
    OPS_IQ2_S,
    OPS_IQ3_XXS,
    OPS_IQ3_S,
    OPS_IQ1_S,
    OPS_IQ1_M,
    OPS_LIST,
};

static inline size_t ops_type_bytes(enum ops_type type) /* of one number; 0 for blocks and lists */
{
    static const unsigned char bytes[] = { 4, 2, 8, 4, 4, 8, 1, 2 };
    return type < sizeof bytes ? bytes[type] : 0;
}

/* An array of numbers of one type. It is passed by value and owns nothing; a part of an array is an
 * array. Unless a comment gives the type, activations and parameters are F32 or BF16, and sums and
 * gradients of parameters are F32. */
struct ops_array {
    char *address; /* only the back end may use it */
    enum ops_type type;
};

/* No array, for optional arguments. */
#define OPS_NONE ((struct ops_array){ 0 })

static inline int ops_is_none(struct ops_array a)
{
    return !a.address;
}

/* Returns the part of the array from element `first` on; OPS_NONE for OPS_NONE. */
static inline struct ops_array ops_part(struct ops_array a, int64_t first)
{
    if (a.address)
        a.address += first * (int64_t)ops_type_bytes(a.type);
    return a;
}

/* Where a gradient is written: `add` 1 adds it to the array, 0 overwrites the array. */
struct ops_gradient {
    struct ops_array to; /* OPS_NONE: the gradient is not computed */
    int add;
};

static inline struct ops_gradient ops_set(struct ops_array to)
{
    return (struct ops_gradient){ to, 0 };
}

static inline struct ops_gradient ops_added(struct ops_array to)
{
    return (struct ops_gradient){ to, 1 };
}

static inline struct ops_gradient ops_gradient_part(struct ops_gradient g, int64_t first)
{
    return (struct ops_gradient){ ops_part(g.to, first), g.add };
}

/* The CPU's products with at most OPS_FEW_ROWS rows read the weights without packing them first,
 * and each row has the same bits as if it were computed alone. */
enum { OPS_FEW_ROWS = 32 };

/* Layer norm of N rows, y = (x - mean) * rstd * gain + bias (Ba, Kiros, Hinton 2016); with rms,
 * RMSNorm, the mean is taken to be 0 (Zhang and Sennrich 2019). */
struct ops_norm {
    struct ops_array gain, bias; /* bias may be none */
    int64_t N, C;
    double epsilon;
    int rms;
    int64_t all; /* columns of the whole rows if C is only this rank's part of them; 0: C */
};

/* A dropout mask as the kernels use it. Element i is kept if the i-th 32-bit number of the sequence
 * `key` is at least `threshold`; kept elements are multiplied by `scale`. One 64-bit number of
 * rng_at gives two of them, the low half first. */
struct ops_mask {
    uint64_t key;
    uint32_t threshold; /* 0: keep all; scale is then 1 */
    float scale;
};

/* Activations: GELU in its tanh form (Hendrycks and Gimpel 2016); exact GELU, x times the normal
 * distribution function of x, to f32's precision; ReLU, max(x, 0); SiLU, x / (1 + exp(-x)). */
enum ops_activation { OPS_GELU_TANH, OPS_GELU, OPS_RELU, OPS_SILU, OPS_ACTIVATIONS };

/* One array of the optimizer's state. New values for BF16 arrays are rounded stochastically, up or
 * down, so that the mean is the exact value. Element i uses 16 bits of rng_at(key, i/4), from bit
 * 16 (i mod 4) on, so the result does not depend on the number of threads. A value that bf16 can
 * represent does not change. */
struct ops_state {
    struct ops_array at; /* OPS_NONE: the optimizer does not have this array */
    uint64_t key;
};
enum { OPS_W, OPS_M, OPS_V, OPS_STATES };

/* The settings of an optimizer for one step. */
struct ops_adamw {
    double rate, beta1, beta2, epsilon, decay, gradient_scale;
    double m_correction, v_correction; /* 1/(1-beta^t), or 1 without bias correction */
    double momentum;                   /* of SGD and Muon */
};
