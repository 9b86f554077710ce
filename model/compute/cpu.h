/*
 * cpu.h - struct ops of the CPU back end, and the functions that its files (cpu*.c) share.
 */
#pragma once

#include "common/base/pool.h"
#include "model/compute/backend.h"
#include "model/compute/kernels.h"
#include "model/compute/ops.h"

/* The cosines and sines of rotary positions, [places, 2, HS/2], for positions 0 to places - 1. */
struct angles {
    struct ops_stretch stretch;
    struct ops_room table; /* F32 */
    double base;
    int64_t HS, places;
};

struct ops {
    OPS_COMMON
    struct pool *pool;
    const struct kernels *k;
    int openblas;             /* 1: OpenBLAS computes large f32 products */
    struct ops_room work;     /* scratch of the operations */
    struct ops_room panels;   /* packed panels of matrix products */
    struct ops_room operands; /* x of products with stored weights, converted or packed */
    struct angles angles[2];  /* ModernBERT has two bases */
};

static inline float *cpu_floats(struct ops_array a)
{
    return (float *)(void *)a.address;
}

/* Returns the product kernels of the context's precision. */
static inline const struct kernel_products *cpu_products(const struct ops *o)
{
    return o->precision == OPS_BF16 ? &o->k->bf16 : &o->k->f32;
}

/* Returns ops_room(o, r, OPS_F32, floats) as floats. */
float *cpu_at_least(struct ops *o, struct ops_room *r, int64_t floats);

/* Returns o->work, grown to at least `floats` floats. */
float *cpu_work(struct ops *o, int64_t floats);

/* Returns how many rows of C numbers are enough work to start a thread for. */
int64_t cpu_row_grain(int64_t C);
/* Returns the sum of the squares of x, F32. The size of the pieces that are summed first is fixed,
 * so the order of additions does not depend on the number of threads. */
double cpu_squares(struct ops *o, struct ops_array x, int64_t n);

static inline struct ops_array cpu_f32(const float *x)
{
    return (struct ops_array){ (char *)(uintptr_t)x, OPS_F32 };
}

/* Computes ops_linear_fwd for `count` maps with `turned` 1. Rows of y begin ldy numbers apart; 0:
 * O. If base is not OPS_NONE, computes ops_residual_fwd of one map without dropout. in_order 1:
 * adds in the order of the kernels without tile registers. */
void cpu_turned_fwd(struct ops *o, struct ops_array y, int64_t ldy, struct ops_array base,
                    struct ops_array x, const struct ops_linear *l, int count, int in_order);

/* OpenBLAS: cpu_openblas_open loads the library and returns 0, or -1 with an error if it cannot.
 * cpu_openblas_core returns the name of the kernels in use. cpu_openblas_matmul computes a product
 * in f32. */
int cpu_openblas_open(void);
const char *cpu_openblas_core(void);
void cpu_openblas_matmul(struct ops *o, const struct ops_matmul *p);

/* The functions of the back end's table (backend.h). */
#define CPU_OPERATION(name) OPS_TYPE(name) cpu_##name;
OPS_OPERATIONS(CPU_OPERATION)
uint64_t cpu_bytes(const struct ops_sizes *s);
void cpu_logits(struct ops *o, struct ops_array logits, int64_t ld, struct ops_array x, int64_t N,
                const struct ops_decoder *d, int training);
void cpu_cross_entropy(struct ops *o, struct ops_scores out, struct ops_array logits, int64_t ld,
                       int64_t V, struct ops_array labels, int64_t n, struct ops_array gradient,
                       double scale);
void cpu_column_sums(struct ops *o, struct ops_gradient to, struct ops_array x, int64_t ld,
                     int64_t rows, int64_t n);
