/*
 * backend.h - the interface of a back end, which does the arithmetic of ops.h: a table of
 * functions, one for each function of ops.h that has a back-end part.
 *
 * ops.c passes its arguments on to these functions. Each does what ops.h says of the function with
 * the same name. cpu.c has the table of the CPU, cuda/gpu.c that of a GPU, which is a plug-in.
 */
#ifndef TEXTMILL_MODEL_COMPUTE_BACKEND_H
#define TEXTMILL_MODEL_COMPUTE_BACKEND_H

#include "model/compute/ops.h"
#include "model/compute/ops_exchange.h"
#include "model/compute/ops_update.h"

enum {
    OPS_SCRATCH_BLOCKS = 64,
    OPS_LOGITS_ALIGN = 64,   /* rows of logits begin a multiple of so many elements apart */
    OPS_SHARED_ROWS = 1024,  /* rows of logits at a time, for each rank that has some columns */
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

/* The first members of struct ops. Each back end defines the struct and adds its own members after
 * these. */
#define OPS_COMMON                                                                                 \
    const struct ops_backend *b;                                                                   \
    int threads;                                                                                   \
    enum ops_type precision;                                                                       \
    struct ops_scratch scratch; /* scratch for callers of ops.h */

/* Version of the interface. Increase it when the table below, OPS_COMMON or a struct of ops.h
 * changes. */
enum { OPS_LAYOUT = 11 };

/* clang-format off */
struct ops_backend {
    size_t context;               /* bytes of the back end's struct ops, which is zeroed before
                                   * `open` */
    int (*count)(void);           /* number of devices; -1 with an error if there are none */
    /* Opens device `number`. Returns 0, or -1 with an error; then close is not called. */
    int (*open)(struct ops *o, int number);
    void (*close)(struct ops *o);
    const char *(*describe)(const struct ops *o);
    const char *(*arithmetic)(const struct ops *o); /* NULL: as describe */
    uint64_t (*free_bytes)(const struct ops *o);
    uint64_t (*bytes)(const struct ops_sizes *s); /* ops_needs: memory that the back end allocates */

    struct ops_array (*buffer)(struct ops *o, enum ops_type type, int64_t n);
    void (*buffer_free)(struct ops *o, struct ops_array a, int64_t n);
    void (*upload)(struct ops *o, struct ops_array to, const void *from, int64_t n);
    void (*download)(struct ops *o, void *to, struct ops_array from, int64_t n);
    void *(*map)(struct ops *o, struct ops_array a, int64_t n);
    void *(*fill)(struct ops *o, struct ops_array a, int64_t n);
    void (*unmap)(struct ops *o, struct ops_array a, int64_t n, void *mapped);

    struct ops_array (*host_buffer)(struct ops *o, int64_t bytes);
    void (*host_buffer_free)(struct ops *o, struct ops_array a, int64_t bytes);
    void (*mark)(struct ops *o, enum ops_queue q, struct ops_mark *m);
    void (*mark_free)(struct ops *o, struct ops_mark *m);
    void (*after)(struct ops *o, enum ops_queue q, const struct ops_mark *m);
    int (*reached)(struct ops *o, const struct ops_mark *m);
    void (*move)(struct ops *o, enum ops_queue q, struct ops_array to, struct ops_array from, int64_t n);
    void (*finish)(struct ops *o);
    /* NULL: one thread does it */
    void (*each)(struct ops *o, int64_t n, void (*fn)(void *ctx, int64_t i, int thread), void *ctx);

    /* NULL, with all others of the group: the back end has no exchanges of devices */
    int (*group_find)(struct ops *o, char *name);
    int (*group_identify)(struct ops *o, char *id);
    struct ops_group *(*group_join)(struct ops *o, const char *id, int rank, int size);
    void (*group_leave)(struct ops *o, struct ops_group *g);
    int (*group_takes)(const struct ops *o, struct ops_array x);
    int (*group_reduce)(struct ops *o, struct ops_group *g, int most, struct ops_array x, const int64_t *bounds);
    int (*group_gather)(struct ops *o, struct ops_group *g, struct ops_array x, const int64_t *bounds);
    int (*group_check)(const struct ops *o, struct ops_group *g);

    void (*matmul)(struct ops *o, const struct ops_matmul *p);
    void (*linear_fwd)(struct ops *o, struct ops_array y, struct ops_array x, const struct ops_linear *l,
                       int count);
    void (*linear_bwd)(struct ops *o, struct ops_gradient dx, struct ops_gradient dw, struct ops_gradient dbias,
                       struct ops_array dy, struct ops_array x, const struct ops_linear *l);
    void (*residual_fwd)(struct ops *o, struct ops_array y, struct ops_array base, struct ops_array x,
                         const struct ops_linear *l, struct ops_dropout drop);

    void (*embedding_fwd)(struct ops *o, struct ops_array x, const struct ops_tokens *t,
                          const struct ops_embedding *e);
    void (*embedding_bwd)(struct ops *o, const struct ops_embedding *d, struct ops_array dx,
                          const struct ops_tokens *t);

    void (*norm_fwd)(struct ops *o, struct ops_array y, struct ops_moments kept, struct ops_array x,
                     const struct ops_norm *l);
    void (*norm_apply)(struct ops *o, struct ops_array y, struct ops_moments kept, struct ops_array x,
                       const struct ops_norm *l);
    void (*norm_bwd)(struct ops *o, struct ops_gradient dx, struct ops_gradient dgain, struct ops_gradient dbias,
                     struct ops_array dy, struct ops_array x, struct ops_moments kept, const struct ops_norm *l);
    void (*norm_sums)(struct ops *o, struct ops_array sums, struct ops_gradient dgain, struct ops_gradient dbias,
                      struct ops_array dy, struct ops_array x, struct ops_moments kept, const struct ops_norm *l);
    void (*norm_dx)(struct ops *o, struct ops_gradient dx, struct ops_array sums, struct ops_array dy,
                    struct ops_array x, struct ops_moments kept, const struct ops_norm *l);
    void (*activation_fwd)(struct ops *o, enum ops_activation f, struct ops_array y, struct ops_array x, int64_t n);
    void (*activation_bwd)(struct ops *o, enum ops_activation f, struct ops_array dx, struct ops_array y,
                           struct ops_array dy, struct ops_array x, int64_t n);
    void (*gated_fwd)(struct ops *o, enum ops_activation f, struct ops_array y, struct ops_array gate,
                      struct ops_array up, int64_t n);
    void (*gated_bwd)(struct ops *o, enum ops_activation f, struct ops_array dgate, struct ops_array dup,
                      struct ops_array y, struct ops_array dy, struct ops_array gate, struct ops_array up, int64_t n);
    void (*rotate)(struct ops *o, struct ops_array x, const struct ops_tokens *t, const struct ops_rotary *r);
    void (*dropout)(struct ops *o, struct ops_array y, struct ops_array x, int64_t n, struct ops_dropout drop);
    void (*tanh_fwd)(struct ops *o, struct ops_array x, int64_t n);
    void (*tanh_bwd)(struct ops *o, struct ops_array d, struct ops_array y, int64_t n);
    void (*zero)(struct ops *o, struct ops_array x, int64_t n);
    void (*add)(struct ops *o, struct ops_array y, struct ops_array x, int64_t n);
    void (*copy)(struct ops *o, struct ops_array y, struct ops_array x, int64_t n);
    void (*blend)(struct ops *o, struct ops_array y, double y_scale, struct ops_array x, double x_scale, int64_t n);
    void (*gather_rows)(struct ops *o, struct ops_array y, struct ops_array x, struct ops_array rows,
                        int64_t n, int64_t C);
    void (*scatter_rows)(struct ops *o, struct ops_array y, struct ops_array x, struct ops_array rows,
                         int64_t n, int64_t C);

    void (*attention_fwd)(struct ops *o, struct ops_array y, struct ops_array lse, struct ops_qkv x,
                          const struct ops_attention *a);
    void (*attention_bwd)(struct ops *o, struct ops_qkv dx, struct ops_array dy, struct ops_qkv x,
                          struct ops_array y, struct ops_array lse, const struct ops_attention *a);
    void (*attention_cached)(struct ops *o, struct ops_array y, const struct ops_past *past, int64_t layer,
                             struct ops_qkv x, const struct ops_attention *a);
    /* NULL: the back end repeats nothing, ops_repeat calls `step` */
    void (*repeat)(struct ops *o, const struct ops_past *past, int64_t B, void (*step)(void *context), void *context);

    int64_t loss_rows; /* rows whose logits are in memory at one time */
    int rounds_logits; /* 1: logits have the type of products, 0: they are F32 */
    /* Computes logits whose rows begin ld apart. `training` 1: in the order of sums that training has, which
     * does not depend on the type of the table. */
    void (*logits)(struct ops *o, struct ops_array logits, int64_t ld, struct ops_array x, int64_t N,
                   const struct ops_decoder *d, int training);
    /* Returns the table in the type in which products of N rows read it: a copy if it has another. Valid until the
     * next product whose B has another type. NULL: products convert it as they read it. */
    struct ops_array (*decoder_table)(struct ops *o, int64_t N, const struct ops_decoder *d);
    /* ops_cross_entropy for logits whose rows begin ld apart. gradient: OPS_NONE, or the logits' memory as an array
     * of the gradients' type. */
    void (*cross_entropy)(struct ops *o, struct ops_scores out, struct ops_array logits, int64_t ld, int64_t V,
                          struct ops_array labels, int64_t n, struct ops_array gradient, double scale);
    /* Adds or sets the sums of the columns of x[rows,n], whose rows are ld apart. */
    void (*column_sums)(struct ops *o, struct ops_gradient to, struct ops_array x, int64_t ld, int64_t rows, int64_t n);
    void (*columns_most)(struct ops *o, const struct ops_columns *c);
    void (*columns_sums)(struct ops *o, const struct ops_columns *c);
    void (*columns_loss)(struct ops *o, struct ops_scores out, const struct ops_columns *c, int gradient,
                         double scale);
    void (*span_loss)(struct ops *o, struct ops_scores out, struct ops_array logits, int side,
                      const struct ops_labels *l, const struct ops_rows *rows, int gradient, double scale);

    void (*sum_squares)(struct ops *o, struct ops_array sums, struct ops_array x,
                        const struct ops_run *runs, int count);
    void (*add_sum)(struct ops *o, struct ops_array sum, struct ops_array x, int64_t n);

    void (*round)(struct ops *o, struct ops_state y, struct ops_array x, int64_t n, uint64_t first);
    void (*adamw)(struct ops *o, const struct ops_state state[OPS_STATES], struct ops_array gradient, int64_t n,
                  const struct ops_adamw *h);
    void (*adam)(struct ops *o, struct ops_array w, struct ops_array m, struct ops_array v,
                 struct ops_array gradient, int64_t n, const struct ops_adamw *h);
    void (*lamb_begin)(struct ops *o, struct ops_array squares, struct ops_array w, struct ops_array m,
                       struct ops_array v, struct ops_array gradient, const struct ops_lamb *h);
    void (*lamb_end)(struct ops *o, struct ops_array w, struct ops_array x, struct ops_array squares,
                     const struct ops_lamb *h);
    void (*schedule_free)(struct ops *o, struct ops_array w, struct ops_array z, struct ops_array v,
                          struct ops_array gradient, int64_t n, const struct ops_adamw *h, double share);
    void (*sgd)(struct ops *o, struct ops_array w, struct ops_array a, struct ops_array gradient, int64_t n,
                const struct ops_sgd *h);
    void (*normalise)(struct ops *o, struct ops_array x, int64_t n);
};
/* clang-format on */

extern const struct ops_backend ops_cpu;

#endif
