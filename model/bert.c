/* BERT: a post-layer-norm encoder with attention both ways (Devlin et al. 2019); its heads are in
 * bert_pretraining.c and bert_questions.c.
 * Weights of linear maps are stored [in, out]; Hugging Face's files have the transpose, which
 * reading and writing turn. Padding is left out from the embedding on: all arrays hold the real
 * tokens alone. */
#include <stdio.h>
#include <string.h>

#include "common/err.h"
#include "model/bert_head.h"
#include "model/block.h"

/* Where a dropout mask is used; folded with the layer into its key. */
enum place { PLACE_EMBEDDING, PLACE_PROBABILITIES, PLACE_ATTENTION, PLACE_MLP };

/* ---- the tensor table --------------------------------------------------------------------- */

/* Rows of the blocks, in the order of the table. */
enum { WORDS, POSITIONS, TYPES, EMBEDDING_GAIN, EMBEDDING_BIAS, EMBEDDING_TENSORS };
enum {
    QUERY,
    QUERY_BIAS,
    KEY,
    KEY_BIAS,
    VALUE,
    VALUE_BIAS,
    OUT,
    OUT_BIAS,
    LN1_GAIN,
    LN1_BIAS,
    FC,
    FC_BIAS,
    PROJ,
    PROJ_BIAS,
    LN2_GAIN,
    LN2_BIAS,
    LAYER_TENSORS
};

/* Weight decay is for maps and tables (the embeddings), not for biases and gains. */
static void add_table(struct model *m, const char *name, int64_t rows)
{
    tensor_add(&m->tensors, 0, name, rows, m->config.width, INIT_NORMAL, (float)m->config.init_std,
               1, SPLIT_NONE);
}

void bert_add_map(struct model *m, int block, const char *name, int64_t in, int64_t out)
{
    struct tensor_table *t = &m->tensors;
    tensor_add(t, block, name, in, out, INIT_NORMAL, (float)m->config.init_std, 1, SPLIT_NONE);
    t->rows[t->count - 1].transposed = 1;
}

void bert_add_vector(struct model *m, int block, const char *name, int64_t n)
{
    int gain = strstr(name, "LayerNorm.weight") != NULL;
    tensor_add(&m->tensors, block, name, n, 0, gain ? INIT_ONE : INIT_ZERO, 0, 0, SPLIT_NONE);
}

static void add_embedding(struct model *m)
{
    const struct model_config *c = &m->config;
    add_table(m, "bert.embeddings.word_embeddings.weight", c->vocabulary);
    add_table(m, "bert.embeddings.position_embeddings.weight", c->positions);
    add_table(m, "bert.embeddings.token_type_embeddings.weight", c->types);
    bert_add_vector(m, 0, "bert.embeddings.LayerNorm.weight", c->width);
    bert_add_vector(m, 0, "bert.embeddings.LayerNorm.bias", c->width);
}

static void add_layer(struct model *m, int64_t layer)
{
    const int64_t C = m->config.width, I = m->config.inner;
    const struct {
        const char *name;
        int64_t rows, columns;
    } tensors[LAYER_TENSORS] = {
        [QUERY] = { "attention.self.query.weight", C, C },
        [QUERY_BIAS] = { "attention.self.query.bias", C, 0 },
        [KEY] = { "attention.self.key.weight", C, C },
        [KEY_BIAS] = { "attention.self.key.bias", C, 0 },
        [VALUE] = { "attention.self.value.weight", C, C },
        [VALUE_BIAS] = { "attention.self.value.bias", C, 0 },
        [OUT] = { "attention.output.dense.weight", C, C },
        [OUT_BIAS] = { "attention.output.dense.bias", C, 0 },
        [LN1_GAIN] = { "attention.output.LayerNorm.weight", C, 0 },
        [LN1_BIAS] = { "attention.output.LayerNorm.bias", C, 0 },
        [FC] = { "intermediate.dense.weight", C, I },
        [FC_BIAS] = { "intermediate.dense.bias", I, 0 },
        [PROJ] = { "output.dense.weight", I, C },
        [PROJ_BIAS] = { "output.dense.bias", C, 0 },
        [LN2_GAIN] = { "output.LayerNorm.weight", C, 0 },
        [LN2_BIAS] = { "output.LayerNorm.bias", C, 0 },
    };
    for (int i = 0; i < LAYER_TENSORS; i++) {
        char name[TENSOR_NAME];
        snprintf(name, sizeof name, "bert.encoder.layer.%lld.%s", (long long)layer,
                 tensors[i].name);
        if (tensors[i].columns)
            bert_add_map(m, (int)layer + 1, name, tensors[i].rows, tensors[i].columns);
        else
            bert_add_vector(m, (int)layer + 1, name, tensors[i].rows);
    }
}

/* Offsets of tensor i in its block; layer 0 speaks for all. */
static int64_t embedding_offset(const struct model *m, int i)
{
    return m->tensors.rows[i].offset;
}

static int64_t layer_offset(const struct model *m, int i)
{
    return m->tensors.rows[EMBEDDING_TENSORS + i].offset;
}

int64_t bert_head_offset(const struct model *m, int i)
{
    return m->tensors.rows[EMBEDDING_TENSORS + m->config.layers * LAYER_TENSORS + i].offset;
}

/* ---- embedding ---------------------------------------------------------------------------- */

static struct ops_dropout embedding_dropout(const struct model *m, const struct batch *b)
{
    return dropout_at(b, m->config.embedding_dropout, 0, PLACE_EMBEDDING);
}

/* What the layer norm sees. */
static void embedding_sum(const struct model *m, struct ops *o, float *sum, const float *w,
                          const struct batch *b)
{
    const struct model_config *c = &m->config;
    struct ops_rows rows = bert_rows(b);
    int64_t n = ops_rows_count(&rows) * c->width;
    ops_embed_rows_fwd(o, sum, b->ids, b->segments, w + embedding_offset(m, WORDS),
                       w + embedding_offset(m, POSITIONS), w + embedding_offset(m, TYPES), &rows,
                       c->width);
    if (c->dropout_first)
        ops_dropout_bwd(o, sum, sum, n, embedding_dropout(m, b)); /* a mask multiplies both ways */
}

static void embedding_fwd(const struct model *m, struct ops *o, float *x, const float *w,
                          const struct batch *b)
{
    const struct model_config *c = &m->config;
    const int64_t N = bert_count_rows(b), C = c->width;
    float *sum = ops_scratch(o, N * C);
    embedding_sum(m, o, sum, w, b);
    ops_layernorm_fwd(o, OPS_FLOATS, x, NULL, NULL, sum, w + embedding_offset(m, EMBEDDING_GAIN),
                      w + embedding_offset(m, EMBEDDING_BIAS), N, C, c->epsilon);
    if (!c->dropout_first)
        ops_dropout_bwd(o, x, x, N * C, embedding_dropout(m, b));
}

static void embedding_bwd(const struct model *m, struct ops *o, float *dw, float *dx,
                          const float *w, const struct batch *b)
{
    const struct model_config *c = &m->config;
    const struct ops_rows rows = bert_rows(b);
    const int64_t N = ops_rows_count(&rows), C = c->width;
    const float *gain = w + embedding_offset(m, EMBEDDING_GAIN);
    float *sum = ops_scratch(o, N * (2 * C + 2)), *dsum = sum + N * C;
    float *mean = dsum + N * C, *rstd = mean + N;
    embedding_sum(m, o, sum, w, b);
    ops_layernorm_fwd(o, OPS_FLOATS, dsum, mean, rstd, sum, gain,
                      w + embedding_offset(m, EMBEDDING_BIAS), N, C,
                      c->epsilon); /* for mean and rstd */
    if (!c->dropout_first)
        ops_dropout_bwd(o, dx, dx, N * C, embedding_dropout(m, b));
    ops_layernorm_bwd(o, dsum, dw + embedding_offset(m, EMBEDDING_GAIN),
                      dw + embedding_offset(m, EMBEDDING_BIAS), NULL, dx, sum, gain, mean, rstd, N,
                      C);
    if (c->dropout_first)
        ops_dropout_bwd(o, dsum, dsum, N * C, embedding_dropout(m, b));
    ops_embed_rows_bwd(o, dw + embedding_offset(m, WORDS), dw + embedding_offset(m, POSITIONS),
                       dw + embedding_offset(m, TYPES), dsum, b->ids, b->segments, &rows, C);
}

/* ---- layer -------------------------------------------------------------------------------- */

/* What forward leaves for backward. Outputs of the norms and of GELU are cheaper to make again
 * than to keep. */
struct cache {
    float *q, *k, *v;                     /* [N,C] */
    float *attended;                      /* [N,C] what the heads found */
    float *lse;                           /* [N*NH] */
    float *sum1;                          /* [N,C] before the norm after attention */
    float *inner;                         /* [N,I] before GELU */
    float *sum2;                          /* [N,C] before the norm after the MLP */
    float *mean1, *rstd1, *mean2, *rstd2; /* [N] */
};

/* Lays the cache out at `at`; returns its floats, floats[] (may be NULL) those of its parts. */
static int64_t lay_out(struct cache *k, int64_t floats[CACHE_PARTS], struct model_cache at,
                       const struct model_config *c, int64_t N)
{
    const struct cache_array arrays[] = {
        { &k->q, CACHE_ATTENTION, c->width }, { &k->k, CACHE_ATTENTION, c->width },
        { &k->v, CACHE_ATTENTION, c->width }, { &k->attended, CACHE_ATTENTION, c->width },
        { &k->sum1, CACHE_REST, c->width },   { &k->inner, CACHE_REST, c->inner },
        { &k->sum2, CACHE_REST, c->width },   { &k->lse, CACHE_SUMS, c->heads },
        { &k->mean1, CACHE_SUMS, 1 },         { &k->rstd1, CACHE_SUMS, 1 },
        { &k->mean2, CACHE_SUMS, 1 },         { &k->rstd2, CACHE_SUMS, 1 },
    };
    return cache_lay_out(arrays, sizeof arrays / sizeof *arrays, at, floats, N);
}

static int64_t layer_cache(const struct model *m, int64_t B, int64_t T, int64_t floats[CACHE_PARTS])
{
    struct cache unused;
    return lay_out(&unused, floats, (struct model_cache){ 0 }, &m->config, B * T);
}

/* The layer as far as the heads. */
static void attend(const struct model *m, struct ops *o, int64_t layer, const float *x,
                   const float *w, const struct cache *k, const struct batch *b)
{
    const struct model_config *c = &m->config;
    const struct ops_rows rows = bert_rows(b);
    const int64_t N = ops_rows_count(&rows), C = c->width;
    float *const maps[3] = { k->q, k->k, k->v };
    for (int i = 0; i < 3; i++)
        ops_linear_fwd(o, maps[i], ops_floats(x), w + layer_offset(m, QUERY + 2 * i),
                       w + layer_offset(m, QUERY_BIAS + 2 * i), N, C, C);
    ops_attention_rows_fwd(o, k->attended, k->lse, k->q, k->k, k->v, &rows, c->heads, C / c->heads,
                           dropout_at(b, c->attention_dropout, layer, PLACE_PROBABILITIES));
}

static void attention_fwd(const struct model *m, struct ops *o, int64_t layer, const float *x,
                          const float *w, struct model_cache cache, const struct batch *b)
{
    struct cache k;
    lay_out(&k, NULL, cache, &m->config, bert_count_rows(b));
    attend(m, o, layer, x, w, &k, b);
}

static void layer_fwd(const struct model *m, struct ops *o, int64_t layer, float *y, const float *x,
                      const float *w, struct model_cache cache, const struct batch *b)
{
    const struct model_config *c = &m->config;
    const int64_t N = bert_count_rows(b), C = c->width, I = c->inner;
    const float *t[LAYER_TENSORS];
    struct cache k;
    for (int i = 0; i < LAYER_TENSORS; i++)
        t[i] = w + layer_offset(m, i);
    int64_t cached = cache.part[CACHE_REST] ? 0 : layer_cache(m, 1, N, NULL);
    float *scratch = ops_scratch(o, cached + N * (C + I));
    lay_out(&k, NULL, cached ? model_cache_in(m, scratch, 1, N) : cache, c, N);
    float *middle = scratch + cached, *active = middle + N * C;

    attend(m, o, layer, x, w, &k, b);
    ops_residual_fwd(o, k.sum1, x, ops_floats(k.attended), t[OUT], t[OUT_BIAS], N, C, C,
                     dropout_at(b, c->residual_dropout, layer, PLACE_ATTENTION));
    ops_layernorm_fwd(o, OPS_FLOATS, middle, k.mean1, k.rstd1, k.sum1, t[LN1_GAIN], t[LN1_BIAS], N,
                      C, c->epsilon);

    ops_linear_fwd(o, k.inner, ops_floats(middle), t[FC], t[FC_BIAS], N, C, I);
    bert_gelu_fwd(m, o, OPS_FACTORS, active, k.inner, N, I);
    ops_residual_fwd(o, k.sum2, middle, ops_factors(active), t[PROJ], t[PROJ_BIAS], N, I, C,
                     dropout_at(b, c->residual_dropout, layer, PLACE_MLP));
    ops_layernorm_fwd(o, OPS_FLOATS, y, k.mean2, k.rstd2, k.sum2, t[LN2_GAIN], t[LN2_BIAS], N, C,
                      c->epsilon);
}

/* dx[N,I] += dy w^T, dy factors: the gradient that comes by a branch meets the one that comes
 * around it. */
static void add_input_gradient(struct ops *o, float *dx, const float *dy, const float *w, int64_t N,
                               int64_t I, int64_t O)
{
    ops_matmul(o, dx, dy, w,
               &(struct ops_matmul){ .b_transposed = 1,
                                     .M = N,
                                     .N = I,
                                     .K = O,
                                     .lda = O,
                                     .ldb = O,
                                     .ldc = I,
                                     .base = dx,
                                     .a_form = OPS_FACTORS });
}

/* Scratch of a layer's backward. */
struct gradients {
    float *wide;   /* [N, max(I,3C)] */
    float *middle; /* [N,C] the first norm's output, made again */
    float *dsum;   /* [N,C] the gradient before a norm */
    float *masked; /* [N,C] what dropout lets through of it; the gradient in what was attended */
};

/* From dx, the gradient in the layer's output, to g->dsum, that in the MLP's input. */
static void mlp_bwd(const struct model *m, struct ops *o, int64_t layer, const float *dx, float *dw,
                    const float *w, const struct cache *k, const struct gradients *g,
                    const struct batch *b, int64_t N)
{
    const struct model_config *c = &m->config;
    const int64_t C = c->width, I = c->inner;
    const float *fc = w + layer_offset(m, FC), *proj = w + layer_offset(m, PROJ);
    ops_layernorm_bwd(o, g->dsum, dw + layer_offset(m, LN2_GAIN), dw + layer_offset(m, LN2_BIAS),
                      NULL, dx, k->sum2, w + layer_offset(m, LN2_GAIN), k->mean2, k->rstd2, N, C);
    const float *dy = branch_gradient(o, g->masked, g->dsum, N * C,
                                      dropout_at(b, c->residual_dropout, layer, PLACE_MLP));
    ops_matmul(o, g->wide, dy, proj,
               &(struct ops_matmul){
                   .b_transposed = 1, .M = N, .N = I, .K = C, .lda = C, .ldb = C, .ldc = I });
    bert_gelu_bwd(m, o, g->wide, k->inner, N, I); /* inner is now GELU's output */
    linear_bwd(b)(o, NULL, dw + layer_offset(m, PROJ), dw + layer_offset(m, PROJ_BIAS),
                  ops_floats(dy), ops_factors(k->inner), proj, N, I, C);
    ops_layernorm_fwd(o, OPS_FLOATS, g->middle, NULL, NULL, k->sum1, w + layer_offset(m, LN1_GAIN),
                      w + layer_offset(m, LN1_BIAS), N, C, c->epsilon);
    linear_bwd(b)(o, NULL, dw + layer_offset(m, FC), dw + layer_offset(m, FC_BIAS),
                  ops_factors(g->wide), ops_floats(g->middle), fc, N, C, I);
    add_input_gradient(o, g->dsum, g->wide, fc, N, C, I);
}

/* From g->dsum, the gradient in the first norm's output, to dx, that in the layer's input. */
static void attention_bwd(const struct model *m, struct ops *o, int64_t layer, float *dx, float *dw,
                          const float *x, const float *w, const struct cache *k,
                          const struct gradients *g, const struct batch *b, int64_t N)
{
    const struct model_config *c = &m->config;
    const struct ops_rows rows = bert_rows(b);
    const int64_t C = c->width;
    float *const d[3] = { g->wide, g->wide + N * C, g->wide + 2 * N * C };
    float *dattended = g->middle; /* the norm's output has done its work */
    ops_layernorm_bwd(o, dx, dw + layer_offset(m, LN1_GAIN), dw + layer_offset(m, LN1_BIAS), NULL,
                      g->dsum, k->sum1, w + layer_offset(m, LN1_GAIN), k->mean1, k->rstd1, N, C);
    const float *dy = branch_gradient(o, g->masked, dx, N * C,
                                      dropout_at(b, c->residual_dropout, layer, PLACE_ATTENTION));
    linear_bwd(b)(o, dattended, dw + layer_offset(m, OUT), dw + layer_offset(m, OUT_BIAS),
                  ops_floats(dy), ops_floats(k->attended), w + layer_offset(m, OUT), N, C, C);
    ops_attention_rows_bwd(o, d[0], d[1], d[2], dattended, k->q, k->k, k->v, k->attended, k->lse,
                           &rows, c->heads, C / c->heads,
                           dropout_at(b, c->attention_dropout, layer, PLACE_PROBABILITIES));
    for (int i = 0; i < 3; i++) {
        const float *map = w + layer_offset(m, QUERY + 2 * i);
        linear_bwd(b)(o, NULL, dw + layer_offset(m, QUERY + 2 * i),
                      dw + layer_offset(m, QUERY_BIAS + 2 * i), ops_factors(d[i]), ops_floats(x),
                      map, N, C, C);
        add_input_gradient(o, dx, d[i], map, N, C, C);
    }
}

static void layer_bwd(const struct model *m, struct ops *o, int64_t layer, float *dx, float *dw,
                      const float *x, const float *w, struct model_cache cache,
                      const struct batch *b)
{
    const struct model_config *c = &m->config;
    const int64_t N = bert_count_rows(b), C = c->width, I = c->inner, wide = I > 3 * C ? I : 3 * C;
    struct cache k;
    lay_out(&k, NULL, cache, c, N);
    float *scratch = ops_scratch(o, N * (wide + 3 * C));
    struct gradients g = { scratch, scratch + N * wide, scratch + N * (wide + C),
                           scratch + N * (wide + 2 * C) };
    static const int norms[] = { LN1_GAIN, LN1_BIAS, LN2_GAIN, LN2_BIAS };
    for (int i = 0; i < 4 && b->first; i++)
        ops_zero(o, dw + layer_offset(m, norms[i]), C);
    mlp_bwd(m, o, layer, dx, dw, w, &k, &g, b, N);
    attention_bwd(m, o, layer, dx, dw, x, w, &k, &g, b, N);
}

/* ---- the model ---------------------------------------------------------------------------- */

int model_init_bert(struct model *m, const struct model_config *config)
{
    *m = (struct model){ 0 };
    if (model_check_config(config) < 0)
        return -1;
    if (config->types < 1 || config->types > 1 << 24)
        return err_set("bad model configuration: types is %lld, must be from 1 to %d",
                       (long long)config->types, 1 << 24);
    *m = (struct model){ .config = *config,
                         .layer_cache = layer_cache,
                         .embedding_fwd = embedding_fwd,
                         .embedding_bwd = embedding_bwd,
                         .layer_fwd = layer_fwd,
                         .attention_fwd = attention_fwd,
                         .layers_begin = 1,
                         .layer_bwd = layer_bwd };
    add_embedding(m);
    for (int64_t layer = 0; layer < config->layers; layer++)
        add_layer(m, layer);
    tensor_block(&m->tensors, (int)config->layers + 1);
    if (config->kind == MODEL_BERT_PRETRAINING)
        bert_pretraining_init(m);
    else if (config->kind == MODEL_BERT_QUESTIONS)
        bert_questions_init(m);
    return 0;
}
