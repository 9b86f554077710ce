/*
 * context.h - what struct ops holds; for the files that implement ops.h.
 */
#ifndef TEXTMILL_CONTEXT_H
#define TEXTMILL_CONTEXT_H

#include "common/pool.h"
#include "model/kernels.h"
#include "model/ops.h"

struct arena {
    float *data;
    int64_t floats;
};

struct ops {
    int threads;
    struct pool *pool;
    const struct kernels *k;
    enum ops_precision precision;
    struct arena scratch; /* the caller's: ops_scratch */
    struct arena work;    /* the kernels' own */
    struct arena panels;  /* the matrix product's */
};

/* The matrix products of the context's precision. */
static inline const struct kernel_products *ops_products(const struct ops *o)
{
    return o->precision == OPS_BF16 ? &o->k->bf16 : &o->k->f32;
}

/* Whether rows of that form are halves here. */
static inline int ops_half(const struct ops *o, enum ops_form form)
{
    return form == OPS_FACTORS && o->precision == OPS_BF16;
}

/* The kernels' scratch, at least `floats`: grown once and kept. */
float *ops_work(struct ops *o, int64_t floats);

float *ops_panels(struct ops *o, int64_t floats); /* likewise, for matrix products alone */

/* Rows of C floats that make a piece of work worth a thread. */
int64_t ops_row_grain(int64_t C);

struct kernel_mask ops_mask(struct ops_dropout drop);

#endif
