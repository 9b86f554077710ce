/*
 * ops_update.h - the operations of the optimizers, in the style of ops.h.
 */
#pragma once

#include "model/compute/ops_array.h"

struct ops; /* the compute context (ops.h) */

/* ---- sums that stay where the arrays are -------------------------------------------------- */

/* Elements first .. first + n - 1 of an array, in pieces of OPS_PIECE elements; the last piece may
 * be shorter. The sum of squares of piece i goes to element sum + i of the sums. */
struct ops_run {
    int64_t first, n, sum;
};
enum { OPS_PIECE = 1 << 16 };
static inline int64_t ops_pieces(int64_t n)
{
    return (n + OPS_PIECE - 1) / OPS_PIECE;
}
/* ops_sum_squares computes the sum of squares of each piece of `count` runs of x (F32) and writes
 * it to sums (F64). The sum of a piece depends on its elements alone. ops_add_sum adds the sum of x
 * (F32 or U8) to *sum. Both add in f64, in a fixed order. */
void ops_sum_squares(struct ops *o, struct ops_array sums, struct ops_array x,
                     const struct ops_run *runs, int count);
void ops_add_sum(struct ops *o, struct ops_array sum, struct ops_array x, int64_t n);

/* ---- the optimizer's part ----------------------------------------------------------------- */

/* Sets y (BF16) to x, rounded stochastically. Element i of the arrays counts as element first + i
 * (struct ops_state); `first` must be a multiple of 4. */
void ops_round(struct ops *o, struct ops_state y, struct ops_array x, int64_t n, uint64_t first);

/* AdamW in one pass over memory (Loshchilov and Hutter 2019). With g = gradient_scale * gradient: m
 * = beta1*m + (1-beta1)*g, v = beta2*v + (1-beta2)*g^2, w -= rate * (m*m_correction /
 * (sqrt(v*v_correction) + epsilon) + decay*w). BF16 state is converted to f32 for the update. */
void ops_adamw(struct ops *o, const struct ops_state state[OPS_STATES], struct ops_array gradient,
               int64_t n, const struct ops_adamw *h);

/* The functions below take F32 state only. */

/* Adam with weight decay as part of the gradient: g = gradient_scale * gradient + decay*w (Kingma
 * and Ba 2015). Otherwise as ops_adamw. */
void ops_adam(struct ops *o, struct ops_array w, struct ops_array m, struct ops_array v,
              struct ops_array gradient, int64_t n, const struct ops_adamw *h);

/* LAMB (You et al. 2020) for a tensor w[n]. Moments as in ops_adamw; x = m*m_correction /
 * (sqrt(v*v_correction) + epsilon) + decay*w; w -= rate * |w|/|x| * x. If a norm is 0, the ratio
 * is 1.
 *
 * ops_lamb_begin updates the moments, overwrites the gradient with x, and sets squares[2], F64,
 * to |w|^2 and |x|^2. If ranks share the tensor, the caller sums the squares of
 * their parts. ops_lamb_end updates w. */
void ops_lamb_begin(struct ops *o, struct ops_array squares, struct ops_array w, struct ops_array m,
                    struct ops_array v, struct ops_array gradient, int64_t n,
                    const struct ops_adamw *h);
void ops_lamb_end(struct ops *o, struct ops_array w, struct ops_array x, struct ops_array squares,
                  int64_t n, const struct ops_adamw *h);

/* SGD. With g = gradient_scale * gradient + decay*w: a = momentum*a + g, w -= rate * a. If a is
 * OPS_NONE: w -= rate * g. */
void ops_sgd(struct ops *o, struct ops_array w, struct ops_array a, struct ops_array gradient,
             int64_t n, const struct ops_adamw *h);

/* Divides x[n] by its norm, the root of the sum of its squares, but at least by 1e-30. */
void ops_normalise(struct ops *o, struct ops_array x, int64_t n);
