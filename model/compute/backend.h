/*
 * backend.h - the interface of a back end, which does the arithmetic of ops.h: a table of
 * functions, one for each function of ops.h that has a back-end part.
 *
 * ops.c passes its arguments on to these functions. Each does what ops.h says of the function with
 * the same name. cpu.c has the table of the CPU, cuda/gpu.c that of a GPU, which is a plug-in.
 */
#pragma once

#include "model/compute/ops.h"
#include "model/compute/ops_exchange.h"
#include "model/compute/ops_update.h"
#ifndef __cplusplus
#include "common/program/trace.h"
#endif

enum {
    OPS_SCRATCH_BLOCKS = 64,
    OPS_LOGITS_ALIGN = 64,   /* rows of logits begin a multiple of this number of elements apart */
    OPS_SHARED_ROWS = 1024,  /* rows of logits at a time, times the ranks that share them */
    OPS_GROUP_ROOM = 8 << 20 /* most floats that a member of a group receives before they are
                              * added */
};

/* The caller's scratch memory. Pieces are taken from the last block, in order. A piece that does
 * not fit gets a new block. ops_scratch_begin frees all pieces and replaces several blocks by one
 * of their total size. */
struct ops_scratch {
    struct {
        struct ops_array data; /* U8 */
        int64_t bytes;
    } blocks[OPS_SCRATCH_BLOCKS];
    int count;
    int64_t used; /* bytes taken from the last block */
};

/* The first members of struct ops. Each back end defines the struct, with more members after
 * these. */
#define OPS_COMMON                                                                                 \
    const struct ops_backend *b;                                                                   \
    int threads;                                                                                   \
    char name[128]; /* ops_describe */                                                             \
    enum ops_type precision;                                                                       \
    struct ops_scratch scratch; /* scratch for callers of ops.h */

/* Version of the interface. Increase it when the table, OPS_COMMON or a struct of ops.h changes. */
enum { OPS_LAYOUT = 25 };

/* clang-format off */
/* The operations of ops.h and ops_update.h that a back end does as they are called: OPS_OPERATIONS(IS) is IS(name)
 * for each. */
#define OPS_OPERATIONS(IS) \
    IS(matmul) IS(linear_fwd) IS(linear_bwd) IS(residual_fwd) \
    IS(embedding_fwd) IS(embedding_bwd) IS(rotate) IS(gather_rows) IS(scatter_rows) \
    IS(norm_fwd) IS(norm_bwd) IS(norm_join) \
    IS(gated_fwd) IS(gated_bwd) IS(tanh_fwd) IS(tanh_bwd) \
    IS(dropout) IS(zero) IS(add) IS(copy) IS(blend) \
    IS(attention_fwd) IS(attention_bwd) IS(attention_cached) \
    IS(columns_most) IS(columns_sums) IS(columns_loss) IS(span_loss) IS(sum_squares) IS(add_sum) \
    IS(round) IS(adamw) IS(adam) IS(lamb_begin) IS(lamb_end) IS(sgd) IS(normalise)
/* The operations of ops_exchange.h that the devices of several processes do together. */
#define OPS_EXCHANGES(IS) \
    IS(group_find) IS(group_identify) IS(group_join) IS(group_leave) \
    IS(group_takes) IS(group_reduce) IS(group_gather) IS(group_check)

#ifdef __cplusplus
#define OPS_TYPE(name) decltype(ops_##name)
#else
#define OPS_TYPE(name) __typeof__(ops_##name)
#endif
#define OPS_MEMBER(name) OPS_TYPE(name) *name; /* what ops_NAME calls, with the same arguments */

struct ops_backend {
    size_t context;               /* bytes of the back end's struct ops, which is zeroed before
                                   * `open` */
    int (*count)(void);           /* number of devices; -1 with an error if there are none */
    /* Opens device `number`. Returns 0, or -1 with an error; then close is not called. */
    int (*open)(struct ops *o, int number);
    void (*close)(struct ops *o);
    uint64_t (*bytes)(const struct ops_sizes *s); /* ops_needs: memory that the back end allocates */
    OPS_MEMBER(free_bytes)
    OPS_MEMBER(arithmetic)        /* NULL: the name */

    OPS_MEMBER(buffer) OPS_MEMBER(buffer_free) OPS_MEMBER(upload) OPS_MEMBER(download)
    OPS_MEMBER(map) OPS_MEMBER(fill) OPS_MEMBER(unmap) OPS_MEMBER(host_buffer)
    OPS_MEMBER(mark) OPS_MEMBER(mark_free) OPS_MEMBER(after) OPS_MEMBER(reached) OPS_MEMBER(move) OPS_MEMBER(finish)
    OPS_MEMBER(map_later) OPS_MEMBER(unmap_unchanged) /* mark, finish, unmap_unchanged: NULL: there is nothing to do */
    OPS_MEMBER(each)              /* NULL: one thread does it */
    OPS_MEMBER(repeat)            /* NULL: the back end repeats nothing, ops_repeat calls `step` */

    /* NULL, with all others of the group: the back end has no exchanges of devices */
    OPS_EXCHANGES(OPS_MEMBER)

    OPS_OPERATIONS(OPS_MEMBER)
    OPS_MEMBER(linear_activation_fwd) /* NULL: linear_fwd and gated_fwd do it */

    int64_t loss_rows; /* rows whose logits are in memory at one time */
    int rounds_logits; /* 1: logits have the type of products, 0: they are F32 */
    /* Computes logits whose rows begin ld apart. `training` 1: adds in the order that training
     * uses, whatever the type of the table is. */
    void (*logits)(struct ops *o, struct ops_array logits, int64_t ld, struct ops_array x, int64_t N,
                   const struct ops_decoder *d, int training);
    /* Returns the table in the type that products of N rows read: the table itself, or a copy,
     * which is valid until a product converts its B. NULL: products convert the table
     * themselves. */
    struct ops_array (*decoder_table)(struct ops *o, int64_t N, const struct ops_decoder *d);
    /* ops_cross_entropy for logits whose rows begin ld apart. gradient: OPS_NONE, or the logits' memory as an array
     * of the gradients' type. */
    void (*cross_entropy)(struct ops *o, struct ops_scores out, struct ops_array logits, int64_t ld, int64_t V,
                          struct ops_array labels, int64_t n, struct ops_array gradient, double scale);
    /* Adds or sets the sums of the columns of x[rows,n], whose rows are ld apart. */
    void (*column_sums)(struct ops *o, struct ops_gradient to, struct ops_array x, int64_t ld, int64_t rows, int64_t n);
};
/* clang-format on */

extern const struct ops_backend ops_cpu;

/* Returns the mask as kernels use it. */
static inline struct ops_mask ops_mask_of(struct ops_dropout drop)
{
    struct ops_mask m;
    m.key = drop.key;
    m.threshold = (uint32_t)(drop.rate * 4294967296.0);
    m.scale = m.threshold ? (float)(1 / (1 - drop.rate)) : 1;
    return m;
}

#ifndef __cplusplus
/* ops_product is the matrix product of a linear map, y = base + x w + bias. ops_product_dx and
 * ops_product_dw are those of its gradients with respect to x and w, from dy, which may have
 * another type than the gradient of y. */
static inline struct ops_matmul ops_product(struct ops_array y, struct ops_array base,
                                            struct ops_array x, const struct ops_linear *l)
{
    return (struct ops_matmul){ .C = { y, l->O },
                                .A = { x, l->I },
                                .B = { l->w, l->turned ? l->I : l->O, l->turned },
                                .M = l->N,
                                .N = l->O,
                                .K = l->I,
                                .base = base,
                                .bias = l->bias };
}
static inline struct ops_matmul ops_product_dx(struct ops_gradient dx, struct ops_matrix dy,
                                               const struct ops_linear *l)
{
    return (struct ops_matmul){ .C = { dx.to, l->I },
                                .A = dy,
                                .B = { l->w, l->O, 1 },
                                .M = l->N,
                                .N = l->I,
                                .K = l->O,
                                .base = dx.add ? dx.to : OPS_NONE };
}
static inline struct ops_matmul ops_product_dw(struct ops_gradient dw, struct ops_array x,
                                               struct ops_matrix dy, const struct ops_linear *l)
{
    return (struct ops_matmul){ .C = { dw.to, l->O },
                                .A = { x, l->I, 1 },
                                .B = dy,
                                .M = l->I,
                                .N = l->O,
                                .K = l->N,
                                .base = dw.add ? dw.to : OPS_NONE };
}

/* Measures the rest of a function, which has a parameter `struct ops *o`, as one span of the trace
 * (trace.h). A device may still work when an operation returns, so while a trace is taken the host
 * waits for it before and after. */
#define TRACE_OPERATION(flops, bytes)                                                              \
    ops_wait_traced(&o);                                                                           \
    TRACE_KERNEL(flops, bytes);                                                                    \
    struct ops *traced __attribute__((cleanup(ops_wait_traced), unused)) = o
static inline void ops_wait_traced(struct ops **o)
{
    if (trace_on)
        ops_finish(*o);
}
#endif
