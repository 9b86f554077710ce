/* GPT-2 and GPT-3: pre-layer-norm decoder blocks with learned positions and a tied decoder
 * (Radford et al. 2019; Brown et al. 2020). Weights of linear maps are stored [in, out], as
 * Hugging Face's Conv1D has them. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/err.h"
#include "model/block.h"
#include "model/model.h"

/* Where a dropout mask is used; folded with the layer into its key. */
enum place { PLACE_EMBEDDING, PLACE_PROBABILITIES, PLACE_ATTENTION, PLACE_MLP };

/* ---- the tensor table --------------------------------------------------------------------- */

/* Rows of the blocks, in the order of the table. */
enum { WTE, WPE };
enum {
    LN1_GAIN,
    LN1_BIAS,
    QKV,
    QKV_BIAS,
    OUT,
    OUT_BIAS,
    LN2_GAIN,
    LN2_BIAS,
    FC,
    FC_BIAS,
    PROJ,
    PROJ_BIAS,
    LAYER_TENSORS
};

/* Weight decay is for matrices (the embeddings too), not for biases and gains. The maps that end
 * a residual branch start smaller, for there are 2L of them on one stream. */
static void add_layer(struct tensor_table *t, const struct model_config *c, int64_t layer)
{
    float std = (float)c->init_std, end_std = (float)(c->init_std / sqrt(2.0 * (double)c->layers));
    int64_t C = c->width;
    const struct {
        const char *name;
        int64_t rows, columns;
        enum tensor_init init;
        float std;
        enum tensor_split split;
    } rows[LAYER_TENSORS] = {
        [LN1_GAIN] = { "ln_1.weight", C, 0, INIT_ONE, 0, SPLIT_NONE },
        [LN1_BIAS] = { "ln_1.bias", C, 0, INIT_ZERO, 0, SPLIT_NONE },
        [QKV] = { "attn.c_attn.weight", C, 3 * C, INIT_NORMAL, std, SPLIT_COLUMNS },
        [QKV_BIAS] = { "attn.c_attn.bias", 3 * C, 0, INIT_ZERO, 0, SPLIT_COLUMNS },
        [OUT] = { "attn.c_proj.weight", C, C, INIT_NORMAL, end_std, SPLIT_ROWS },
        [OUT_BIAS] = { "attn.c_proj.bias", C, 0, INIT_ZERO, 0, SPLIT_NONE },
        [LN2_GAIN] = { "ln_2.weight", C, 0, INIT_ONE, 0, SPLIT_NONE },
        [LN2_BIAS] = { "ln_2.bias", C, 0, INIT_ZERO, 0, SPLIT_NONE },
        [FC] = { "mlp.c_fc.weight", C, c->inner, INIT_NORMAL, std, SPLIT_COLUMNS },
        [FC_BIAS] = { "mlp.c_fc.bias", c->inner, 0, INIT_ZERO, 0, SPLIT_COLUMNS },
        [PROJ] = { "mlp.c_proj.weight", c->inner, C, INIT_NORMAL, end_std, SPLIT_ROWS },
        [PROJ_BIAS] = { "mlp.c_proj.bias", C, 0, INIT_ZERO, 0, SPLIT_NONE },
    };
    for (int i = 0; i < LAYER_TENSORS; i++) {
        char name[TENSOR_NAME];
        snprintf(name, sizeof name, "h.%lld.%s", (long long)layer, rows[i].name);
        tensor_add(t, (int)layer + 1, name, rows[i].rows, rows[i].columns, rows[i].init,
                   rows[i].std, rows[i].columns != 0, rows[i].split);
        if (i == QKV || i == QKV_BIAS)
            t->rows[t->count - 1].maps = 3;
    }
}

static void add_tensors(struct tensor_table *t, const struct model_config *c)
{
    float std = (float)c->init_std;
    int head = (int)c->layers + 1;
    tensor_add(t, 0, "wte.weight", c->vocabulary, c->width, INIT_NORMAL, std, 1, SPLIT_ROWS);
    tensor_add(t, 0, "wpe.weight", c->positions, c->width, INIT_NORMAL, std, 1, SPLIT_NONE);
    for (int64_t layer = 0; layer < c->layers; layer++)
        add_layer(t, c, layer);
    tensor_add(t, head, "ln_f.weight", c->width, 0, INIT_ONE, 0, 0, SPLIT_NONE);
    tensor_add(t, head, "ln_f.bias", c->width, 0, INIT_ZERO, 0, 0, SPLIT_NONE);
}

/* Tensor i of a block that starts at `block`; layer 0 speaks for all. */
static int64_t layer_offset(const struct model *m, int i)
{
    return m->tensors.rows[WPE + 1 + i].offset;
}

/* A layer's parameters, and the maps and norms over N rows that are made of them. */
struct layer {
    struct ops_linear qkv, out, fc, proj;
    struct ops_norm norm1, norm2;
};

static struct ops_linear linear_of(const struct model *m, struct ops_array w, int i, int64_t N)
{
    const struct tensor *row = &m->tensors.rows[WPE + 1 + i];
    return (struct ops_linear){ .w = ops_part(w, layer_offset(m, i)),
                                .bias = ops_part(w, layer_offset(m, i + 1)),
                                .N = N,
                                .I = row->shape[0],
                                .O = row->shape[1] };
}

static struct ops_norm norm_of(const struct model *m, struct ops_array w, int64_t gain,
                               int64_t bias, int64_t N)
{
    return (struct ops_norm){ .gain = ops_part(w, gain),
                              .bias = ops_part(w, bias),
                              .N = N,
                              .C = m->config.width,
                              .epsilon = m->config.epsilon };
}

static struct layer layer_of(const struct model *m, struct ops_array w, int64_t N)
{
    return (struct layer){
        .qkv = linear_of(m, w, QKV, N),
        .out = linear_of(m, w, OUT, N),
        .fc = linear_of(m, w, FC, N),
        .proj = linear_of(m, w, PROJ, N),
        .norm1 = norm_of(m, w, layer_offset(m, LN1_GAIN), layer_offset(m, LN1_BIAS), N),
        .norm2 = norm_of(m, w, layer_offset(m, LN2_GAIN), layer_offset(m, LN2_BIAS), N),
    };
}

/* ---- embedding ---------------------------------------------------------------------------- */

static struct ops_embedding tables(const struct model *m, struct ops_array w)
{
    return (struct ops_embedding){ .words = w,
                                   .positions = ops_part(w, m->tensors.rows[WPE].offset),
                                   .C = m->config.width };
}

static struct ops_dropout embedding_dropout(const struct model *m, const struct inputs *in)
{
    return dropout_at(in, m->config.embedding_dropout, 0, PLACE_EMBEDDING);
}

static void embedding_fwd(const struct model *m, struct ops *o, struct ops_array x,
                          struct ops_array w, const struct inputs *in)
{
    const struct ops_embedding e = tables(m, w);
    ops_embedding_fwd(o, x, &in->tokens, &e);
    ops_dropout(o, x, x, in->N * e.C, embedding_dropout(m, in));
}

static void embedding_bwd(const struct model *m, struct ops *o, struct ops_gradient dw,
                          struct ops_array dx, struct ops_array w, const struct inputs *in)
{
    (void)w;
    const struct ops_embedding d = tables(m, dw.to);
    if (!dw.add)
        ops_zero(o, d.positions, m->config.positions * d.C);
    ops_dropout(o, dx, dx, in->N * d.C, embedding_dropout(m, in));
    ops_embedding_bwd(o, &d, dx, &in->tokens);
}

/* ---- layer -------------------------------------------------------------------------------- */

/* What forward leaves for backward. Outputs of the norms and of GELU are cheaper to make again
 * than to keep. */
struct cache {
    struct ops_array qkv;      /* [N,3C] */
    struct ops_array attended; /* [N,C] what the heads found */
    struct ops_array lse;      /* [B,NH,T] */
    struct ops_array middle;   /* [N,C] the residual stream between attention and MLP */
    struct ops_array inner;    /* [N,I] before GELU */
    struct ops_moments norm1, norm2;
};

/* Lays the cache out at `at`; returns its numbers, numbers[] (may be NULL) those of its parts. */
static int64_t lay_out(struct cache *k, int64_t numbers[CACHE_PARTS], struct model_cache at,
                       const struct model_config *c, int64_t N)
{
    const struct cache_array arrays[] = {
        { &k->qkv, CACHE_ATTENTION, 3 * c->width }, { &k->attended, CACHE_ATTENTION, c->width },
        { &k->middle, CACHE_REST, c->width },       { &k->inner, CACHE_REST, c->inner },
        { &k->lse, CACHE_SUMS, c->heads },          { &k->norm1.mean, CACHE_SUMS, 1 },
        { &k->norm1.rstd, CACHE_SUMS, 1 },          { &k->norm2.mean, CACHE_SUMS, 1 },
        { &k->norm2.rstd, CACHE_SUMS, 1 },
    };
    return cache_lay_out(arrays, sizeof arrays / sizeof *arrays, at, numbers, N);
}

static int64_t layer_cache(const struct model *m, int64_t B, int64_t T,
                           int64_t numbers[CACHE_PARTS])
{
    struct cache unused;
    return lay_out(&unused, numbers, (struct model_cache){ 0 }, &m->config, B * T);
}

static struct ops_attention attention_of(const struct model *m, int64_t layer,
                                         const struct inputs *in)
{
    const struct model_config *c = &m->config;
    return (struct ops_attention){ .rows = in->rows,
                                   .NH = c->heads,
                                   .HS = c->width / c->heads,
                                   .causal = 1,
                                   .drop = dropout_at(in, c->attention_dropout, layer,
                                                      PLACE_PROBABILITIES) };
}

static struct ops_dropout residual_dropout(const struct model *m, int64_t layer, enum place place,
                                           const struct inputs *in)
{
    return dropout_at(in, m->config.residual_dropout, layer, place);
}

/* The layer as far as the heads; normed[N,C] is scratch. */
static void attend(const struct model *m, struct ops *o, int64_t layer, struct ops_array normed,
                   struct ops_array x, const struct layer *l, const struct cache *k,
                   const struct inputs *in)
{
    const struct ops_attention a = attention_of(m, layer, in);
    ops_norm_fwd(o, normed, k->norm1, x, &l->norm1);
    ops_linear_fwd(o, k->qkv, normed, &l->qkv);
    ops_attention_fwd(o, k->attended, k->lse, ops_side_by_side(k->qkv, m->config.width), &a);
}

static void attention_fwd(const struct model *m, struct ops *o, int64_t layer, struct ops_array x,
                          struct ops_array w, struct model_cache cache, const struct inputs *in)
{
    const struct layer l = layer_of(m, w, in->N);
    struct cache k;
    lay_out(&k, NULL, cache, &m->config, in->N);
    ops_scratch_begin(o);
    attend(m, o, layer, ops_scratch(o, ops_operand(o), in->N * m->config.width), x, &l, &k, in);
}

static void layer_fwd(const struct model *m, struct ops *o, int64_t layer, struct ops_array y,
                      struct ops_array x, struct ops_array w, struct model_cache cache,
                      const struct inputs *in)
{
    const struct model_config *c = &m->config;
    const int64_t N = in->N, C = c->width, I = c->inner;
    const struct layer l = layer_of(m, w, N);
    struct cache k;
    ops_scratch_begin(o);
    if (ops_is_none(cache.part[CACHE_REST]))
        cache = model_cache_in(m, ops_scratch(o, OPS_F32, layer_cache(m, 1, N, NULL)), 1, N);
    lay_out(&k, NULL, cache, c, N);
    struct ops_array normed = ops_scratch(o, ops_operand(o), N * (I > C ? I : C));
    struct ops_array active = normed; /* the one is done when the other begins */

    attend(m, o, layer, normed, x, &l, &k, in);
    ops_residual_fwd(o, k.middle, x, k.attended, &l.out,
                     residual_dropout(m, layer, PLACE_ATTENTION, in));

    ops_norm_fwd(o, normed, k.norm2, k.middle, &l.norm2);
    ops_linear_fwd(o, k.inner, normed, &l.fc);
    ops_activation_fwd(o, OPS_GELU_TANH, active, k.inner, N * I);
    ops_residual_fwd(o, y, k.middle, active, &l.proj, residual_dropout(m, layer, PLACE_MLP, in));
}

/* Scratch of a layer's backward. */
struct gradients {
    struct ops_array wide;   /* [N, max(I,3C)] operands */
    struct ops_array normed; /* [N,C] a norm's output, made again */
    struct ops_array narrow; /* [N,C] the gradient in it */
    struct ops_array masked; /* [N,C] what dropout lets through of dx */
};

static void mlp_bwd(const struct model *m, struct ops *o, int64_t layer, struct ops_array dx,
                    struct ops_gradient dw, const struct layer *l, const struct cache *k,
                    const struct gradients *g, const struct inputs *in)
{
    const int64_t C = m->config.width, I = m->config.inner, n = in->N * I;
    struct ops_array dy = branch_gradient(o, g->masked, dx, in->N * C,
                                          residual_dropout(m, layer, PLACE_MLP, in));
    struct ops_array active = active_array(o, k->inner, n);
    ops_linear_bwd(o, ops_set(g->wide), no_gradient(), no_gradient(), dy, active, &l->proj);
    ops_activation_bwd(o, OPS_GELU_TANH, g->wide, active, g->wide, k->inner, n);
    ops_linear_bwd(o, no_gradient(), ops_gradient_part(dw, layer_offset(m, PROJ)),
                   ops_gradient_part(dw, layer_offset(m, PROJ_BIAS)), dy, active, &l->proj);
    ops_norm_fwd(o, g->normed, not_kept, k->middle, &l->norm2);
    ops_linear_bwd(o, ops_set(g->narrow), ops_gradient_part(dw, layer_offset(m, FC)),
                   ops_gradient_part(dw, layer_offset(m, FC_BIAS)), g->wide, g->normed, &l->fc);
    ops_norm_bwd(o, ops_added(dx), ops_gradient_part(dw, layer_offset(m, LN2_GAIN)),
                 ops_gradient_part(dw, layer_offset(m, LN2_BIAS)), g->narrow, k->middle, k->norm2,
                 &l->norm2);
}

static void attention_bwd(const struct model *m, struct ops *o, int64_t layer, struct ops_array dx,
                          struct ops_gradient dw, struct ops_array x, const struct layer *l,
                          const struct cache *k, const struct gradients *g, const struct inputs *in)
{
    const int64_t C = m->config.width;
    const struct ops_attention a = attention_of(m, layer, in);
    struct ops_array dy = branch_gradient(o, g->masked, dx, in->N * C,
                                          residual_dropout(m, layer, PLACE_ATTENTION, in));
    ops_linear_bwd(o, ops_set(g->narrow), ops_gradient_part(dw, layer_offset(m, OUT)),
                   ops_gradient_part(dw, layer_offset(m, OUT_BIAS)), dy, k->attended, &l->out);
    ops_attention_bwd(o, ops_side_by_side(g->wide, C), g->narrow, ops_side_by_side(k->qkv, C),
                      k->attended, k->lse, &a);
    ops_norm_fwd(o, g->normed, not_kept, x, &l->norm1);
    ops_linear_bwd(o, ops_set(g->narrow), ops_gradient_part(dw, layer_offset(m, QKV)),
                   ops_gradient_part(dw, layer_offset(m, QKV_BIAS)), g->wide, g->normed, &l->qkv);
    ops_norm_bwd(o, ops_added(dx), ops_gradient_part(dw, layer_offset(m, LN1_GAIN)),
                 ops_gradient_part(dw, layer_offset(m, LN1_BIAS)), g->narrow, x, k->norm1,
                 &l->norm1);
}

static struct gradients begin_backward(const struct model *m, struct ops *o, int64_t N)
{
    const int64_t C = m->config.width, wide = m->config.inner > 3 * C ? m->config.inner : 3 * C;
    ops_scratch_begin(o);
    return (struct gradients){ .wide = ops_scratch(o, ops_operand(o), N * wide),
                               .normed = ops_scratch(o, ops_operand(o), N * C),
                               .narrow = ops_scratch(o, OPS_F32, N * C),
                               .masked = ops_scratch(o, OPS_F32, N * C) };
}

static void layer_bwd(const struct model *m, struct ops *o, int64_t layer, struct ops_array dx,
                      struct ops_gradient dw, struct ops_array x, struct ops_array w,
                      struct model_cache cache, const struct inputs *in)
{
    const struct layer l = layer_of(m, w, in->N);
    struct cache k;
    lay_out(&k, NULL, cache, &m->config, in->N);
    struct gradients g = begin_backward(m, o, in->N);
    mlp_bwd(m, o, layer, dx, dw, &l, &k, &g, in);
    attention_bwd(m, o, layer, dx, dw, x, &l, &k, &g, in);
}

/* ---- head --------------------------------------------------------------------------------- */

static int64_t head_bias(const struct model *m)
{
    return m->tensors.rows[m->tensors.count - 1].offset;
}

static struct ops_decoder decoder_of(const struct model *m, struct ops_array tied)
{
    return (struct ops_decoder){ .table = tied, .V = m->config.vocabulary, .C = m->config.width };
}

static void head_fwd(const struct model *m, struct ops *o, struct ops_scores out,
                     struct ops_array x, struct ops_array w, struct ops_array tied,
                     const struct inputs *in)
{
    const struct ops_decoder d = decoder_of(m, tied);
    const struct ops_norm norm = norm_of(m, w, 0, head_bias(m), in->N);
    ops_scratch_begin(o);
    struct ops_array normed = ops_scratch(o, ops_operand(o), in->N * norm.C);
    ops_norm_fwd(o, normed, not_kept, x, &norm);
    ops_loss_fwd(o, out, normed, &in->targets[0], &d);
}

static void head_fwd_bwd(const struct model *m, struct ops *o, struct ops_scores out,
                         struct ops_array dx, struct ops_gradient dw, struct ops_gradient dtied,
                         struct ops_array x, struct ops_array w, struct ops_array tied,
                         double scale, const struct inputs *in)
{
    const int64_t N = in->N, C = m->config.width;
    const struct ops_decoder d = decoder_of(m, tied);
    const struct ops_norm norm = norm_of(m, w, 0, head_bias(m), N);
    ops_scratch_begin(o);
    struct ops_array normed = ops_scratch(o, ops_operand(o), N * C);
    struct ops_array dnormed = ops_scratch(o, OPS_F32, N * C);
    struct ops_moments kept = { ops_scratch(o, OPS_F32, N), ops_scratch(o, OPS_F32, N) };
    ops_norm_fwd(o, normed, kept, x, &norm);
    ops_loss_fwd_bwd(o, out, dnormed, dtied, no_gradient(), normed, N, scale, &in->targets[0], &d);
    ops_norm_bwd(o, ops_set(dx), dw, ops_gradient_part(dw, head_bias(m)), dnormed, x, kept, &norm);
}

/* ---- the model ---------------------------------------------------------------------------- */

static int64_t labels(const int32_t **out, const struct batch *b, int part)
{
    (void)part;
    *out = b->labels;
    return b->B * b->T;
}

int model_init_gpt(struct model *m, const struct model_config *config)
{
    *m = (struct model){ 0 };
    if (model_check_config(config) < 0)
        return -1;
    *m = (struct model){ .config = *config,
                         .tied = 1,
                         .layer_cache = layer_cache,
                         .embedding_fwd = embedding_fwd,
                         .embedding_bwd = embedding_bwd,
                         .layer_fwd = layer_fwd,
                         .attention_fwd = attention_fwd,
                         .layer_bwd = layer_bwd,
                         .head_fwd = head_fwd,
                         .head_fwd_bwd = head_fwd_bwd,
                         .parts = 1,
                         .part = { { NULL, 1 } },
                         .labels = labels };
    add_tensors(&m->tensors, config);
    return 0;
}
