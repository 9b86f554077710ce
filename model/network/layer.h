/*
 * layer.h - a layer as a list of operations, and the functions that interpret such a list.
 *
 * An architecture (architecture.h) gives its layer as a list of rows. A row reads arrays of the
 * layer and writes others, with weights of its own. The list of GPT-2, as layer_print writes it:
 *
 *     normed = norm(input), ln_1
 *     queries, keys, values = maps(normed), attn.c_attn, kept
 *     heads = attend(queries, keys, values), kept
 *     middle = residual(heads, input), attn.c_proj, kept
 *     branch = norm(middle), ln_2
 *     inner = maps(branch), mlp.c_fc, kept
 *     active = activate(inner)
 *     output = residual(active, middle), mlp.c_proj
 *
 * All else follows from the list: the tensors of a layer; the forward, which runs the rows in
 * order; the backward, which reads the list upwards; which arrays are kept for the backward;
 * scratch memory, because an array's place is free after the last row that reads it; the exchanges
 * of tensor-parallel ranks (split.h); and the number of floating-point operations.
 *
 * The outputs of maps, attention and residuals are kept. The backward computes those of activations
 * again, and those of norms, for which it keeps the moments.
 */
#pragma once

#include "model/compute/ops.h"

struct inputs;
struct model;
struct model_config;

/* ---- the list ----------------------------------------------------------------------------- */

/* The arrays of a layer, each with one row of numbers per token. An architecture uses some of them.
 * C: width of the residual stream, I: inner width of the MLP, NH and KV: heads of queries and of
 * keys, HS: width of a head. */
enum layer_array {
    AT_NONE,
    AT_INPUT,          /* [C] */
    AT_NORMED,         /* [C] what the maps before attention read, if not the input */
    AT_QUERIES,        /* [NH*HS] */
    AT_KEYS,           /* [KV*HS] */
    AT_VALUES,         /* [KV*HS] */
    AT_NORMED_QUERIES, /* [NH*HS] */
    AT_NORMED_KEYS,    /* [KV*HS] */
    AT_HEADS,          /* [NH*HS] the output of attention */
    AT_MIDDLE,         /* [C] the residual stream after attention */
    AT_BRANCH,         /* [C] what the first maps of the MLP read */
    AT_INNER,          /* [I] the output of the MLP's first map; the gate if there are two */
    AT_UP,             /* [I] that of the second, which the gate multiplies */
    AT_ACTIVE,         /* [I] what the MLP's last map reads */
    AT_SUM,            /* [C] the residual stream before a norm at the end */
    AT_OUTPUT,         /* [C] */
    LAYER_ARRAYS
};

enum layer_kind {
    LAYER_END,      /* the end of the list */
    LAYER_NORM,     /* out = norm(in); that of queries or keys is a norm of each head */
    LAYER_MAPS,     /* out, ... = in w, ...: one linear map for each weight */
    LAYER_ROTATE,   /* turns queries and keys in place by their positions */
    LAYER_ATTEND,   /* out = attention(queries, keys, values) */
    LAYER_ACTIVATE, /* out = f(in) */
    LAYER_GATE,     /* out = f(in[0]) * in[1] */
    LAYER_RESIDUAL, /* out = in[1] + dropout(in[0] w) */
    LAYER_KINDS
};

/* The place in the model where a dropout mask is used. Place and layer are part of the mask's key.
 */
enum dropout_place {
    PLACE_EMBEDDING,
    PLACE_PROBABILITIES,
    PLACE_ATTENTION,
    PLACE_MLP,
    PLACE_HEAD,
    PLACE_NONE /* no dropout */
};

enum { LAYER_READS = 3 };
enum layer_part { ALL_LAYERS, NOT_FIRST_LAYER, LAST_LAYER };
/* The lists of a model: for layers that are first, last, both or neither. */
enum { LAYER_FIRST = 1, LAYER_LAST = 2, LAYER_LISTS = 4 };
struct layer_row {
    enum layer_kind kind;
    enum layer_array in[LAYER_READS], out; /* maps write `out` and the arrays after it */
    const char *weights[LAYER_READS]; /* names of the tensors, without the layer's prefix and the
                                       * ends ".weight" and ".bias" */
    int joined;              /* maps: outputs that are columns of one matrix; 0: a matrix each */
    enum layer_part part;    /* norm: the layers that have it; others use its input as its output */
    enum dropout_place drop; /* residual */
};
/* A row that adds a branch to the stream: to = base + dropout(x w). */
#define LAYER_ADDS(x, base, to, name, place)                                                       \
    {                                                                                              \
        LAYER_RESIDUAL, { x, base }, .out = to, .weights = { name }, .drop = place                 \
    }

/* ---- memory ------------------------------------------------------------------------------- */

/* What a layer's forward pass saves for its backward pass, in three parts: the arrays of attention,
 * the other activations, and a few F32 numbers for each row (means, deviations, softmax sums). */
enum model_cache_part { CACHE_ATTENTION, CACHE_REST, CACHE_SUMS, CACHE_PARTS };
struct model_cache {
    struct ops_array part[CACHE_PARTS]; /* CACHE_SUMS is F32 */
};

/* Returns how many numbers one layer's forward saves for its backward, besides its input. Sets
 * parts[], unless it is NULL, to the numbers of each part. */
int64_t layer_cache(const struct model *m, int64_t B, int64_t T, int64_t parts[CACHE_PARTS]);
/* Return how many numbers of scratch memory layer_fwd without a cache needs per token, and
 * layer_bwd, which needs more than layer_fwd with a cache. */
int64_t layer_scratch_fwd(const struct model *m);
int64_t layer_scratch_bwd(const struct model *m);

/* ---- the interpreters --------------------------------------------------------------------- */

/* Makes the lists, adds the tensors of all layers to the model's table, and begins the head's
 * block. */
void layer_init(struct model *m);
void layer_release(struct model *m);

/* Sets y[N,C] from x[N,C]; y must not be x. cache: all parts OPS_NONE if no backward follows
 * (evaluation, generation). With in->past the rows are new tokens that follow the cached ones. w:
 * the layer's parameters. */
void layer_fwd(const struct model *m, struct ops *o, int64_t layer, struct ops_array y,
               struct ops_array x, struct ops_array w, struct model_cache cache,
               const struct inputs *in);
/* Recomputes CACHE_ATTENTION and attention's share of CACHE_SUMS from x, with the same bits as
 * layer_fwd. */
void layer_attention_fwd(const struct model *m, struct ops *o, int64_t layer, struct ops_array x,
                         struct ops_array w, struct model_cache cache, const struct inputs *in);
/* Replaces dx, the gradient with respect to y, by the gradient with respect to x, and computes the
 * gradients dw of the layer's parameters. cache: as layer_fwd left it for the same x; it is
 * overwritten. */
void layer_bwd(const struct model *m, struct ops *o, int64_t layer, struct ops_array dx,
               struct ops_gradient dw, struct ops_array x, struct ops_array w,
               struct model_cache cache, const struct inputs *in);

/* The widths inside a layer: of the outputs of the matrices before attention (queries, keys and
 * values together), of attention's output, of the outputs of the MLP's first matrices (the gate's,
 * too, if it is gated), and of the input of its last one. */
struct layer_widths {
    int64_t qkv, attention, first, inner;
};
struct layer_widths layer_widths(const struct model_config *c);

/* Appends the list as text, one line per row. */
void layer_print(const struct model *m, struct buf *out);
