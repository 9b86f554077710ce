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

struct layer {
    const float *w[LAYER_TENSORS];
};

static struct layer layer_weights(const struct model *m, const float *w)
{
    struct layer l;
    for (int i = 0; i < LAYER_TENSORS; i++)
        l.w[i] = w + layer_offset(m, i);
    return l;
}

/* ---- embedding ---------------------------------------------------------------------------- */

static void embedding_fwd(const struct model *m, struct ops *o, float *x, const float *w,
                          const struct batch *b)
{
    const struct model_config *c = &m->config;
    ops_embedding_fwd(o, x, b->ids, w, w + m->tensors.rows[WPE].offset, b->B, b->T, c->width,
                      dropout_at(b, c->embedding_dropout, 0, PLACE_EMBEDDING));
}

static void embedding_bwd(const struct model *m, struct ops *o, float *dw, float *dx,
                          const float *w, const struct batch *b)
{
    (void)w;
    const struct model_config *c = &m->config;
    ops_embedding_bwd(o, dw, dw + m->tensors.rows[WPE].offset, dx, b->ids, b->B, b->T, c->width,
                      dropout_at(b, c->embedding_dropout, 0, PLACE_EMBEDDING));
}

/* ---- layer -------------------------------------------------------------------------------- */

/* What forward leaves for backward. Outputs of the norms and of GELU are cheaper to make again
 * than to keep. */
struct cache {
    float *qkv;                           /* [N,3C] */
    float *attended;                      /* [N,C] what the heads found */
    float *lse;                           /* [B,NH,T] */
    float *middle;                        /* [N,C] the residual stream between attention and MLP */
    float *inner;                         /* [N,I] before GELU */
    float *mean1, *rstd1, *mean2, *rstd2; /* [N] */
};

/* Lays the cache out at `at`; returns its floats, floats[] (may be NULL) those of its parts. */
static int64_t lay_out(struct cache *k, int64_t floats[CACHE_PARTS], struct model_cache at,
                       const struct model_config *c, int64_t N)
{
    const struct cache_array arrays[] = {
        { &k->qkv, CACHE_ATTENTION, 3 * c->width },
        { &k->attended, CACHE_ATTENTION, c->width },
        { &k->middle, CACHE_REST, c->width },
        { &k->inner, CACHE_REST, c->inner },
        { &k->lse, CACHE_SUMS, c->heads },
        { &k->mean1, CACHE_SUMS, 1 },
        { &k->rstd1, CACHE_SUMS, 1 },
        { &k->mean2, CACHE_SUMS, 1 },
        { &k->rstd2, CACHE_SUMS, 1 },
    };
    return cache_lay_out(arrays, sizeof arrays / sizeof *arrays, at, floats, N);
}

static int64_t layer_cache(const struct model *m, int64_t B, int64_t T, int64_t floats[CACHE_PARTS])
{
    struct cache unused;
    return lay_out(&unused, floats, (struct model_cache){ 0 }, &m->config, B * T);
}

/* The layer as far as the heads; normed[N,C] is scratch. */
static void attend(const struct model *m, struct ops *o, int64_t layer, float *normed,
                   const float *x, const struct layer *l, const struct cache *k,
                   const struct batch *b)
{
    const struct model_config *c = &m->config;
    const int64_t N = b->B * b->T, C = c->width;
    ops_layernorm_fwd(o, OPS_FACTORS, normed, k->mean1, k->rstd1, x, l->w[LN1_GAIN], l->w[LN1_BIAS],
                      N, C, c->epsilon);
    ops_linear_fwd(o, k->qkv, ops_factors(normed), l->w[QKV], l->w[QKV_BIAS], N, C, 3 * C);
    ops_attention_fwd(o, k->attended, k->lse, k->qkv, b->B, b->T, c->heads, C / c->heads,
                      dropout_at(b, c->attention_dropout, layer, PLACE_PROBABILITIES));
}

static void attention_fwd(const struct model *m, struct ops *o, int64_t layer, const float *x,
                          const float *w, struct model_cache cache, const struct batch *b)
{
    const struct layer l = layer_weights(m, w);
    const int64_t N = b->B * b->T;
    struct cache k;
    lay_out(&k, NULL, cache, &m->config, N);
    attend(m, o, layer, ops_scratch(o, N * m->config.width), x, &l, &k, b);
}

static void layer_fwd(const struct model *m, struct ops *o, int64_t layer, float *y, const float *x,
                      const float *w, struct model_cache cache, const struct batch *b)
{
    const struct model_config *c = &m->config;
    const int64_t N = b->B * b->T, C = c->width, I = c->inner;
    const struct layer l = layer_weights(m, w);
    struct cache k;
    int64_t cached = cache.part[CACHE_REST] ? 0 : layer_cache(m, 1, N, NULL);
    float *scratch = ops_scratch(o, cached + N * (I > C ? I : C));
    float *normed = scratch + cached, *active = normed; /* the one is done when the other begins */
    lay_out(&k, NULL, cached ? model_cache_in(m, scratch, 1, N) : cache, c, N);

    attend(m, o, layer, normed, x, &l, &k, b);
    ops_residual_fwd(o, k.middle, x, ops_floats(k.attended), l.w[OUT], l.w[OUT_BIAS], N, C, C,
                     dropout_at(b, c->residual_dropout, layer, PLACE_ATTENTION));

    ops_layernorm_fwd(o, OPS_FACTORS, normed, k.mean2, k.rstd2, k.middle, l.w[LN2_GAIN],
                      l.w[LN2_BIAS], N, C, c->epsilon);
    ops_linear_fwd(o, k.inner, ops_factors(normed), l.w[FC], l.w[FC_BIAS], N, C, I);
    ops_gelu_fwd(o, OPS_FACTORS, active, k.inner, N, I);
    ops_residual_fwd(o, y, k.middle, ops_factors(active), l.w[PROJ], l.w[PROJ_BIAS], N, I, C,
                     dropout_at(b, c->residual_dropout, layer, PLACE_MLP));
}

/* Scratch of a layer's backward. */
struct gradients {
    float *wide;   /* [N, max(I,3C)] */
    float *normed; /* [N,C] a norm's output, made again */
    float *narrow; /* [N,C] the gradient in it */
    float *masked; /* [N,C] what dropout lets through of dx */
};

static void mlp_bwd(const struct model *m, struct ops *o, int64_t layer, float *dx, float *dw,
                    const struct layer *l, const struct cache *k, const struct gradients *g,
                    const struct batch *b)
{
    const struct model_config *c = &m->config;
    const int64_t N = b->B * b->T, C = c->width, I = c->inner;
    const float *dy = branch_gradient(o, g->masked, dx, N * C,
                                      dropout_at(b, c->residual_dropout, layer, PLACE_MLP));
    float *dwp = dw + layer_offset(m, PROJ), *dbp = dw + layer_offset(m, PROJ_BIAS);
    ops_matmul(o, g->wide, dy, l->w[PROJ],
               &(struct ops_matmul){
                   .b_transposed = 1, .M = N, .N = I, .K = C, .lda = C, .ldb = C, .ldc = I });
    ops_gelu_bwd(o, g->wide, k->inner, N, I); /* inner is now GELU's output */
    linear_bwd(b)(o, NULL, dwp, dbp, ops_floats(dy), ops_factors(k->inner), l->w[PROJ], N, I, C);
    ops_layernorm_fwd(o, OPS_FACTORS, g->normed, NULL, NULL, k->middle, l->w[LN2_GAIN],
                      l->w[LN2_BIAS], N, C, c->epsilon);
    linear_bwd(b)(o, g->narrow, dw + layer_offset(m, FC), dw + layer_offset(m, FC_BIAS),
                  ops_factors(g->wide), ops_factors(g->normed), l->w[FC], N, C, I);
    ops_layernorm_bwd(o, dx, dw + layer_offset(m, LN2_GAIN), dw + layer_offset(m, LN2_BIAS), dx,
                      g->narrow, k->middle, l->w[LN2_GAIN], k->mean2, k->rstd2, N, C);
}

static void attention_bwd(const struct model *m, struct ops *o, int64_t layer, float *dx, float *dw,
                          const float *x, const struct layer *l, const struct cache *k,
                          const struct gradients *g, const struct batch *b)
{
    const struct model_config *c = &m->config;
    const int64_t N = b->B * b->T, C = c->width;
    const float *dy = branch_gradient(o, g->masked, dx, N * C,
                                      dropout_at(b, c->residual_dropout, layer, PLACE_ATTENTION));
    linear_bwd(b)(o, g->narrow, dw + layer_offset(m, OUT), dw + layer_offset(m, OUT_BIAS),
                  ops_floats(dy), ops_floats(k->attended), l->w[OUT], N, C, C);
    ops_attention_bwd(o, g->wide, g->narrow, k->qkv, k->attended, k->lse, b->B, b->T, c->heads,
                      C / c->heads,
                      dropout_at(b, c->attention_dropout, layer, PLACE_PROBABILITIES));
    ops_layernorm_fwd(o, OPS_FACTORS, g->normed, NULL, NULL, x, l->w[LN1_GAIN], l->w[LN1_BIAS], N,
                      C, c->epsilon);
    linear_bwd(b)(o, g->narrow, dw + layer_offset(m, QKV), dw + layer_offset(m, QKV_BIAS),
                  ops_factors(g->wide), ops_factors(g->normed), l->w[QKV], N, C, 3 * C);
    ops_layernorm_bwd(o, dx, dw + layer_offset(m, LN1_GAIN), dw + layer_offset(m, LN1_BIAS), dx,
                      g->narrow, x, l->w[LN1_GAIN], k->mean1, k->rstd1, N, C);
}

static void layer_bwd(const struct model *m, struct ops *o, int64_t layer, float *dx, float *dw,
                      const float *x, const float *w, struct model_cache cache,
                      const struct batch *b)
{
    const struct model_config *c = &m->config;
    const int64_t N = b->B * b->T, C = c->width, wide = c->inner > 3 * C ? c->inner : 3 * C;
    const struct layer l = layer_weights(m, w);
    struct cache k;
    lay_out(&k, NULL, cache, c, N);
    float *p = ops_scratch(o, N * (wide + 3 * C));
    struct gradients g = { p, p + N * wide, p + N * (wide + C), p + N * (wide + 2 * C) };
    static const int norms[] = { LN1_GAIN, LN1_BIAS, LN2_GAIN, LN2_BIAS };
    for (int i = 0; i < 4 && b->first; i++)
        ops_zero(o, dw + layer_offset(m, norms[i]), C);
    mlp_bwd(m, o, layer, dx, dw, &l, &k, &g, b);
    attention_bwd(m, o, layer, dx, dw, x, &l, &k, &g, b);
}

/* ---- head --------------------------------------------------------------------------------- */

static int64_t head_bias(const struct model *m)
{
    return m->tensors.rows[m->tensors.count - 1].offset;
}

static double head_fwd(const struct model *m, struct ops *o, float *losses, unsigned char *correct,
                       const float *x, const float *w, const float *tied, const struct batch *b)
{
    const struct model_config *c = &m->config;
    const int64_t N = b->B * b->T, C = c->width;
    float *normed = ops_scratch(o, N * C);
    ops_layernorm_fwd(o, OPS_FLOATS, normed, NULL, NULL, x, w, w + head_bias(m), N, C, c->epsilon);
    return ops_loss_fwd(o, losses, correct, normed, tied, b->labels, N, c->vocabulary, C);
}

static double head_fwd_bwd(const struct model *m, struct ops *o, float *losses,
                           unsigned char *correct, float *dx, float *dw, float *dtied,
                           const float *x, const float *w, const float *tied, double scale,
                           const struct batch *b)
{
    const struct model_config *c = &m->config;
    const int64_t N = b->B * b->T, C = c->width, bias = head_bias(m);
    float *normed = ops_scratch(o, N * (2 * C + 2));
    float *dnormed = normed + N * C, *mean = dnormed + N * C, *rstd = mean + N;
    begin_head(m, o, dw, dtied, b);
    ops_layernorm_fwd(o, OPS_FLOATS, normed, mean, rstd, x, w, w + bias, N, C, c->epsilon);
    double loss = ops_biased_loss_fwd_bwd(o, losses, correct, dnormed, dtied, NULL, normed, tied,
                                          NULL, b->labels, scale, b->first, N, c->vocabulary, C);
    ops_layernorm_bwd(o, dx, dw, dw + bias, NULL, dnormed, x, w, mean, rstd, N, C);
    return loss;
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
                         .layer_cache = layer_cache,
                         .embedding_fwd = embedding_fwd,
                         .embedding_bwd = embedding_bwd,
                         .layer_fwd = layer_fwd,
                         .attention_fwd = attention_fwd,
                         .layers_begin = 1,
                         .layer_bwd = layer_bwd,
                         .head_fwd = head_fwd,
                         .head_begins = 1,
                         .head_fwd_bwd = head_fwd_bwd,
                         .parts = 1,
                         .part = { { NULL, 1 } },
                         .labels = labels };
    add_tensors(&m->tensors, config);
    return 0;
}
