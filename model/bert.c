/* BERT: a post-layer-norm encoder with attention both ways (Devlin et al. 2019); its heads are in
 * bert_pretraining.c and bert_questions.c.
 * Weights of linear maps are stored [in, out]; Hugging Face's files have the transpose, which
 * reading and writing turn. */
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

size_t bert_head_row(const struct model *m, int i)
{
    return (size_t)(EMBEDDING_TENSORS + m->config.layers * LAYER_TENSORS + i);
}

struct ops_linear bert_linear(const struct model *m, struct ops_array w, size_t row, int64_t N)
{
    const struct tensor *map = &m->tensors.rows[row];
    return (struct ops_linear){ .w = ops_part(w, map[0].offset),
                                .bias = ops_part(w, map[1].offset),
                                .N = N,
                                .I = map->shape[0],
                                .O = map->shape[1] };
}

struct ops_norm bert_norm(const struct model *m, struct ops_array w, size_t row, int64_t N)
{
    const struct tensor *gain = &m->tensors.rows[row];
    return (struct ops_norm){ .gain = ops_part(w, gain[0].offset),
                              .bias = ops_part(w, gain[1].offset),
                              .N = N,
                              .C = m->config.width,
                              .epsilon = m->config.epsilon };
}

/* ---- embedding ---------------------------------------------------------------------------- */

static struct ops_dropout embedding_dropout(const struct model *m, const struct inputs *in)
{
    return dropout_at(in, m->config.embedding_dropout, 0, PLACE_EMBEDDING);
}

static struct ops_embedding tables(const struct model *m, struct ops_array w)
{
    return (struct ops_embedding){ .words = ops_part(w, embedding_offset(m, WORDS)),
                                   .positions = ops_part(w, embedding_offset(m, POSITIONS)),
                                   .types = ops_part(w, embedding_offset(m, TYPES)),
                                   .C = m->config.width };
}

/* What the layer norm sees. */
static struct ops_array embedding_sum(const struct model *m, struct ops *o, struct ops_array w,
                                      const struct inputs *in)
{
    const struct ops_embedding e = tables(m, w);
    const int64_t n = in->N * e.C;
    ops_scratch_begin(o);
    struct ops_array sum = ops_scratch(o, OPS_F32, n);
    ops_embedding_fwd(o, sum, &in->tokens, &e);
    if (m->config.dropout_first)
        ops_dropout(o, sum, sum, n, embedding_dropout(m, in));
    return sum;
}

static void embedding_fwd(const struct model *m, struct ops *o, struct ops_array x,
                          struct ops_array w, const struct inputs *in)
{
    const struct ops_norm norm = bert_norm(m, w, EMBEDDING_GAIN, in->N);
    ops_norm_fwd(o, x, not_kept, embedding_sum(m, o, w, in), &norm);
    if (!m->config.dropout_first)
        ops_dropout(o, x, x, in->N * norm.C, embedding_dropout(m, in));
}

/* The head for pre-training has made gradients of the words already. */
static void begin_tables(const struct model *m, struct ops *o, struct ops_array dw)
{
    const int begun = m->config.kind == MODEL_BERT_PRETRAINING ? POSITIONS : WORDS;
    const int64_t first = embedding_offset(m, begun);
    ops_zero(o, ops_part(dw, first), embedding_offset(m, EMBEDDING_GAIN) - first);
}

static void embedding_bwd(const struct model *m, struct ops *o, struct ops_gradient dw,
                          struct ops_array dx, struct ops_array w, const struct inputs *in)
{
    const int64_t N = in->N, n = N * m->config.width;
    const struct ops_norm norm = bert_norm(m, w, EMBEDDING_GAIN, N);
    const struct ops_embedding d = tables(m, dw.to);
    struct ops_array sum = embedding_sum(m, o, w, in), dsum = ops_scratch(o, OPS_F32, n);
    struct ops_moments kept = { ops_scratch(o, OPS_F32, N), ops_scratch(o, OPS_F32, N) };
    if (!dw.add)
        begin_tables(m, o, dw.to);
    ops_norm_fwd(o, dsum, kept, sum, &norm); /* for what is kept of it */
    if (!m->config.dropout_first)
        ops_dropout(o, dx, dx, n, embedding_dropout(m, in));
    ops_norm_bwd(o, ops_set(dsum), ops_gradient_part(dw, embedding_offset(m, EMBEDDING_GAIN)),
                 ops_gradient_part(dw, embedding_offset(m, EMBEDDING_BIAS)), dx, sum, kept, &norm);
    if (m->config.dropout_first)
        ops_dropout(o, dsum, dsum, n, embedding_dropout(m, in));
    ops_embedding_bwd(o, &d, dsum, &in->tokens);
}

/* ---- layer -------------------------------------------------------------------------------- */

/* What forward leaves for backward. Outputs of the norms and of GELU are cheaper to make again
 * than to keep. */
struct cache {
    struct ops_array qkv[3];   /* [N,C] each */
    struct ops_array attended; /* [N,C] what the heads found */
    struct ops_array lse;      /* [N*NH] */
    struct ops_array sum1;     /* [N,C] before the norm after attention */
    struct ops_array inner;    /* [N,I] before GELU */
    struct ops_array sum2;     /* [N,C] before the norm after the MLP */
    struct ops_moments norm1, norm2;
};

/* Lays the cache out at `at`; returns its numbers, numbers[] (may be NULL) those of its parts. */
static int64_t lay_out(struct cache *k, int64_t numbers[CACHE_PARTS], struct model_cache at,
                       const struct model_config *c, int64_t N)
{
    const struct cache_array arrays[] = {
        { &k->qkv[0], CACHE_ATTENTION, c->width }, { &k->qkv[1], CACHE_ATTENTION, c->width },
        { &k->qkv[2], CACHE_ATTENTION, c->width }, { &k->attended, CACHE_ATTENTION, c->width },
        { &k->sum1, CACHE_REST, c->width },        { &k->inner, CACHE_REST, c->inner },
        { &k->sum2, CACHE_REST, c->width },        { &k->lse, CACHE_SUMS, c->heads },
        { &k->norm1.mean, CACHE_SUMS, 1 },         { &k->norm1.rstd, CACHE_SUMS, 1 },
        { &k->norm2.mean, CACHE_SUMS, 1 },         { &k->norm2.rstd, CACHE_SUMS, 1 },
    };
    return cache_lay_out(arrays, sizeof arrays / sizeof *arrays, at, numbers, N);
}

static int64_t layer_cache(const struct model *m, int64_t B, int64_t T,
                           int64_t numbers[CACHE_PARTS])
{
    struct cache unused;
    return lay_out(&unused, numbers, (struct model_cache){ 0 }, &m->config, B * T);
}

static struct ops_linear map_of(const struct model *m, struct ops_array w, int i, int64_t N)
{
    return bert_linear(m, w, (size_t)(EMBEDDING_TENSORS + i), N);
}

static struct ops_norm norm_of(const struct model *m, struct ops_array w, int i, int64_t N)
{
    return bert_norm(m, w, (size_t)(EMBEDDING_TENSORS + i), N);
}

/* The gradient of tensor i of a layer. */
static struct ops_gradient gradient_of(const struct model *m, struct ops_gradient dw, int i)
{
    return ops_gradient_part(dw, layer_offset(m, i));
}

static struct ops_qkv qkv_of(const struct ops_array qkv[3], int64_t C)
{
    return (struct ops_qkv){ qkv[0], qkv[1], qkv[2], C, C };
}

static struct ops_attention attention_of(const struct model *m, int64_t layer,
                                         const struct inputs *in)
{
    const struct model_config *c = &m->config;
    return (struct ops_attention){ .rows = in->rows,
                                   .NH = c->heads,
                                   .HS = c->width / c->heads,
                                   .drop = dropout_at(in, c->attention_dropout, layer,
                                                      PLACE_PROBABILITIES) };
}

static struct ops_dropout residual_dropout(const struct model *m, int64_t layer, enum place place,
                                           const struct inputs *in)
{
    return dropout_at(in, m->config.residual_dropout, layer, place);
}

/* The layer as far as the heads. */
static void attend(const struct model *m, struct ops *o, int64_t layer, struct ops_array x,
                   struct ops_array w, const struct cache *k, const struct inputs *in)
{
    const struct ops_attention a = attention_of(m, layer, in);
    for (int i = 0; i < 3; i++) {
        struct ops_linear map = map_of(m, w, QUERY + 2 * i, in->N);
        ops_linear_fwd(o, k->qkv[i], x, &map);
    }
    ops_attention_fwd(o, k->attended, k->lse, qkv_of(k->qkv, m->config.width), &a);
}

static void attention_fwd(const struct model *m, struct ops *o, int64_t layer, struct ops_array x,
                          struct ops_array w, struct model_cache cache, const struct inputs *in)
{
    struct cache k;
    lay_out(&k, NULL, cache, &m->config, in->N);
    attend(m, o, layer, x, w, &k, in);
}

static void layer_fwd(const struct model *m, struct ops *o, int64_t layer, struct ops_array y,
                      struct ops_array x, struct ops_array w, struct model_cache cache,
                      const struct inputs *in)
{
    const struct model_config *c = &m->config;
    const int64_t N = in->N, C = c->width, I = c->inner;
    const struct ops_linear out = map_of(m, w, OUT, N), fc = map_of(m, w, FC, N);
    const struct ops_linear proj = map_of(m, w, PROJ, N);
    const struct ops_norm norm1 = norm_of(m, w, LN1_GAIN, N), norm2 = norm_of(m, w, LN2_GAIN, N);
    struct cache k;
    ops_scratch_begin(o);
    if (ops_is_none(cache.part[CACHE_REST]))
        cache = model_cache_in(m, ops_scratch(o, OPS_F32, layer_cache(m, 1, N, NULL)), 1, N);
    lay_out(&k, NULL, cache, c, N);
    struct ops_array middle = ops_scratch(o, OPS_F32, N * C);
    struct ops_array active = ops_scratch(o, ops_operand(o), N * I);

    attend(m, o, layer, x, w, &k, in);
    ops_residual_fwd(o, k.sum1, x, k.attended, &out,
                     residual_dropout(m, layer, PLACE_ATTENTION, in));
    ops_norm_fwd(o, middle, k.norm1, k.sum1, &norm1);

    ops_linear_fwd(o, k.inner, middle, &fc);
    ops_activation_fwd(o, bert_activation(m), active, k.inner, N * I);
    ops_residual_fwd(o, k.sum2, middle, active, &proj, residual_dropout(m, layer, PLACE_MLP, in));
    ops_norm_fwd(o, y, k.norm2, k.sum2, &norm2);
}

/* Scratch of a layer's backward. */
struct gradients {
    struct ops_array wide;   /* [N, max(I,3C)] operands */
    struct ops_array middle; /* [N,C] the first norm's output, made again; the gradient in what was
                              * attended */
    struct ops_array dsum;   /* [N,C] the gradient before a norm */
    struct ops_array masked; /* [N,C] what dropout lets through of it */
};

/* From dx, the gradient in the layer's output, to g->dsum, that in the MLP's input. */
static void mlp_bwd(const struct model *m, struct ops *o, int64_t layer, struct ops_array dx,
                    struct ops_gradient dw, struct ops_array w, const struct cache *k,
                    const struct gradients *g, const struct inputs *in)
{
    const int64_t N = in->N, C = m->config.width, n = N * m->config.inner;
    const struct ops_linear fc = map_of(m, w, FC, N), proj = map_of(m, w, PROJ, N);
    const struct ops_norm norm1 = norm_of(m, w, LN1_GAIN, N), norm2 = norm_of(m, w, LN2_GAIN, N);
    ops_norm_bwd(o, ops_set(g->dsum), gradient_of(m, dw, LN2_GAIN), gradient_of(m, dw, LN2_BIAS),
                 dx, k->sum2, k->norm2, &norm2);
    struct ops_array dy = branch_gradient(o, g->masked, g->dsum, N * C,
                                          residual_dropout(m, layer, PLACE_MLP, in));
    struct ops_array active = active_array(o, k->inner, n);
    ops_linear_bwd(o, ops_set(g->wide), no_gradient(), no_gradient(), dy, active, &proj);
    ops_activation_bwd(o, bert_activation(m), g->wide, active, g->wide, k->inner, n);
    ops_linear_bwd(o, no_gradient(), gradient_of(m, dw, PROJ), gradient_of(m, dw, PROJ_BIAS), dy,
                   active, &proj);
    ops_norm_fwd(o, g->middle, not_kept, k->sum1, &norm1);
    ops_linear_bwd(o, ops_added(g->dsum), gradient_of(m, dw, FC), gradient_of(m, dw, FC_BIAS),
                   g->wide, g->middle, &fc);
}

/* From g->dsum, the gradient in the first norm's output, to dx, that in the layer's input. */
static void attention_bwd(const struct model *m, struct ops *o, int64_t layer, struct ops_array dx,
                          struct ops_gradient dw, struct ops_array x, struct ops_array w,
                          const struct cache *k, const struct gradients *g, const struct inputs *in)
{
    const int64_t N = in->N, C = m->config.width;
    const struct ops_linear out = map_of(m, w, OUT, N);
    const struct ops_norm norm = norm_of(m, w, LN1_GAIN, N);
    const struct ops_attention a = attention_of(m, layer, in);
    const struct ops_array d[3] = { g->wide, ops_part(g->wide, N * C),
                                    ops_part(g->wide, 2 * N * C) };
    ops_norm_bwd(o, ops_set(dx), gradient_of(m, dw, LN1_GAIN), gradient_of(m, dw, LN1_BIAS),
                 g->dsum, k->sum1, k->norm1, &norm);
    struct ops_array dy = branch_gradient(o, g->masked, dx, N * C,
                                          residual_dropout(m, layer, PLACE_ATTENTION, in));
    ops_linear_bwd(o, ops_set(g->middle), gradient_of(m, dw, OUT), gradient_of(m, dw, OUT_BIAS), dy,
                   k->attended, &out);
    ops_attention_bwd(o, qkv_of(d, C), g->middle, qkv_of(k->qkv, C), k->attended, k->lse, &a);
    for (int i = 0; i < 3; i++) {
        const struct ops_linear map = map_of(m, w, QUERY + 2 * i, N);
        ops_linear_bwd(o, ops_added(dx), gradient_of(m, dw, QUERY + 2 * i),
                       gradient_of(m, dw, QUERY_BIAS + 2 * i), d[i], x, &map);
    }
}

static void layer_bwd(const struct model *m, struct ops *o, int64_t layer, struct ops_array dx,
                      struct ops_gradient dw, struct ops_array x, struct ops_array w,
                      struct model_cache cache, const struct inputs *in)
{
    struct cache k;
    lay_out(&k, NULL, cache, &m->config, in->N);
    const int64_t N = in->N, C = m->config.width;
    const int64_t wide = m->config.inner > 3 * C ? m->config.inner : 3 * C;
    ops_scratch_begin(o);
    const struct gradients g = { .wide = ops_scratch(o, ops_operand(o), N * wide),
                                 .middle = ops_scratch(o, OPS_F32, N * C),
                                 .dsum = ops_scratch(o, OPS_F32, N * C),
                                 .masked = ops_scratch(o, OPS_F32, N * C) };
    mlp_bwd(m, o, layer, dx, dw, w, &k, &g, in);
    attention_bwd(m, o, layer, dx, dw, x, w, &k, &g, in);
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
