/* BERT: a post-layer-norm encoder with attention both ways, and its heads (Devlin et al. 2019).
 * Weights of linear maps are stored [in, out]; Hugging Face's files have the transpose, which
 * reading and writing turn. Padding is left out from the embedding on: all arrays hold the real
 * tokens alone. */
#include "model/bert.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "common/mem.h"
#include "model/block.h"

/* Where a dropout mask is used; folded with the layer into its key. */
enum place { PLACE_EMBEDDING, PLACE_PROBABILITIES, PLACE_ATTENTION, PLACE_MLP };

static struct ops_rows rows_of(const struct batch *b)
{
    return (struct ops_rows){ b->B, b->T, b->lengths };
}

static int64_t count_rows(const struct batch *b)
{
    struct ops_rows rows = rows_of(b);
    return ops_rows_count(&rows);
}

/* ---- the tensor table --------------------------------------------------------------------- */

/* Rows of the blocks, in the order of the table. */
enum { WORDS, POSITIONS, TYPES, EMBEDDING_GAIN, EMBEDDING_BIAS, EMBEDDING_TENSORS };
enum { QUERY, QUERY_BIAS, KEY, KEY_BIAS, VALUE, VALUE_BIAS, OUT, OUT_BIAS, LN1_GAIN, LN1_BIAS, FC,
       FC_BIAS, PROJ, PROJ_BIAS, LN2_GAIN, LN2_BIAS, LAYER_TENSORS };
/* of the head for pre-training; what follows NEXT_BIAS is absent from a bare one */
enum { POOLER, POOLER_BIAS, NEXT, NEXT_BIAS, WORD_BIAS, TRANSFORM, TRANSFORM_BIAS, TRANSFORM_GAIN,
       TRANSFORM_SHIFT };
enum { SPAN, SPAN_BIAS };

enum shape { VECTOR, TABLE, MAP }; /* a map's file is its transpose */

static void add(struct tensor_table *t, int block, const char *name, int64_t rows, int64_t columns,
                enum shape shape, float std)
{
    int gain = strstr(name, "LayerNorm.weight") != NULL;
    tensor_add(t, block, name, rows, columns,
               shape == VECTOR ? (gain ? INIT_ONE : INIT_ZERO) : INIT_NORMAL,
               shape == VECTOR ? 0 : std, shape != VECTOR, SPLIT_NONE);
    t->rows[t->count - 1].transposed = shape == MAP;
}

static void add_embedding(struct tensor_table *t, const struct model_config *c)
{
    float std = (float)c->init_std;
    int64_t C = c->width;
    add(t, 0, "bert.embeddings.word_embeddings.weight", c->vocabulary, C, TABLE, std);
    add(t, 0, "bert.embeddings.position_embeddings.weight", c->positions, C, TABLE, std);
    add(t, 0, "bert.embeddings.token_type_embeddings.weight", c->types, C, TABLE, std);
    add(t, 0, "bert.embeddings.LayerNorm.weight", C, 0, VECTOR, 0);
    add(t, 0, "bert.embeddings.LayerNorm.bias", C, 0, VECTOR, 0);
}

static void add_layer(struct tensor_table *t, const struct model_config *c, int64_t layer)
{
    int64_t C = c->width, I = c->inner;
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
        add(t, (int)layer + 1, name, tensors[i].rows, tensors[i].columns,
            tensors[i].columns ? MAP : VECTOR, (float)c->init_std);
    }
}

static void add_pretraining(struct tensor_table *t, const struct model_config *c)
{
    float std = (float)c->init_std;
    int64_t C = c->width;
    int head = (int)c->layers + 1;
    add(t, head, "bert.pooler.dense.weight", C, C, MAP, std);
    add(t, head, "bert.pooler.dense.bias", C, 0, VECTOR, 0);
    add(t, head, "cls.seq_relationship.weight", C, 2, MAP, std);
    add(t, head, "cls.seq_relationship.bias", 2, 0, VECTOR, 0);
    if (c->bare_head)
        return;
    add(t, head, "cls.predictions.bias", c->vocabulary, 0, VECTOR, 0);
    add(t, head, "cls.predictions.transform.dense.weight", C, C, MAP, std);
    add(t, head, "cls.predictions.transform.dense.bias", C, 0, VECTOR, 0);
    add(t, head, "cls.predictions.transform.LayerNorm.weight", C, 0, VECTOR, 0);
    add(t, head, "cls.predictions.transform.LayerNorm.bias", C, 0, VECTOR, 0);
}

static void add_tensors(struct tensor_table *t, const struct model_config *c)
{
    int head = (int)c->layers + 1;
    add_embedding(t, c);
    for (int64_t layer = 0; layer < c->layers; layer++)
        add_layer(t, c, layer);
    tensor_block(t, head);
    if (c->kind == MODEL_BERT_PRETRAINING)
        add_pretraining(t, c);
    if (c->kind == MODEL_BERT_QUESTIONS) {
        add(t, head, "qa_outputs.weight", c->width, 2, MAP, (float)c->init_std);
        add(t, head, "qa_outputs.bias", 2, 0, VECTOR, 0);
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

static int64_t head_offset(const struct model *m, int i)
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
    struct ops_rows rows = rows_of(b);
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
    const int64_t N = count_rows(b), C = c->width;
    float *sum = ops_scratch(o, N * C);
    embedding_sum(m, o, sum, w, b);
    ops_layernorm_fwd(o, x, NULL, NULL, sum, w + embedding_offset(m, EMBEDDING_GAIN),
                      w + embedding_offset(m, EMBEDDING_BIAS), N, C, c->epsilon);
    if (!c->dropout_first)
        ops_dropout_bwd(o, x, x, N * C, embedding_dropout(m, b));
}

static void embedding_bwd(const struct model *m, struct ops *o, float *dw, float *dx,
                          const float *w, const struct batch *b)
{
    const struct model_config *c = &m->config;
    const struct ops_rows rows = rows_of(b);
    const int64_t N = ops_rows_count(&rows), C = c->width;
    const float *gain = w + embedding_offset(m, EMBEDDING_GAIN);
    float *sum = ops_scratch(o, N * (2 * C + 2)), *dsum = sum + N * C;
    float *mean = dsum + N * C, *rstd = mean + N;
    embedding_sum(m, o, sum, w, b);
    ops_layernorm_fwd(o, dsum, mean, rstd, sum, gain, w + embedding_offset(m, EMBEDDING_BIAS), N, C,
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
    float *q, *k, *v; /* [N,C] */
    float *attended;  /* [N,C] what the heads found */
    float *sum1;      /* [N,C] before the norm after attention */
    float *inner;     /* [N,I] before GELU */
    float *sum2;      /* [N,C] before the norm after the MLP */
    float *mean1, *rstd1, *mean2, *rstd2; /* [N] */
    float *lse;       /* [N*NH] */
};

/* Lays the cache out at `p`; returns its floats. */
static int64_t lay_out(struct cache *k, float *p, const struct model_config *c, int64_t N)
{
    const int64_t C = c->width;
    float **const parts[] = { &k->q, &k->k, &k->v, &k->attended, &k->sum1, &k->inner, &k->sum2,
                              &k->mean1, &k->rstd1, &k->mean2, &k->rstd2, &k->lse };
    const int64_t widths[] = { C, C, C, C, C, c->inner, C, 1, 1, 1, 1, c->heads };
    int64_t floats = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        *parts[i] = p ? p + floats : NULL;
        floats += (N * widths[i] + TENSOR_ALIGN - 1) / TENSOR_ALIGN * TENSOR_ALIGN;
    }
    return floats;
}

static int64_t layer_cache(const struct model *m, int64_t B, int64_t T)
{
    struct cache unused;
    return lay_out(&unused, NULL, &m->config, B * T);
}

static void gelu_fwd(const struct model *m, struct ops *o, float *y, const float *x, int64_t n)
{
    (m->config.gelu_tanh ? ops_gelu_fwd : ops_gelu_erf_fwd)(o, y, x, n);
}

static void gelu_bwd(const struct model *m, struct ops *o, float *d, float *x, int64_t n)
{
    (m->config.gelu_tanh ? ops_gelu_bwd : ops_gelu_erf_bwd)(o, d, x, n);
}

static void layer_fwd(const struct model *m, struct ops *o, int64_t layer, float *y, const float *x,
                      const float *w, float *cache, const struct batch *b)
{
    const struct model_config *c = &m->config;
    const struct ops_rows rows = rows_of(b);
    const int64_t N = ops_rows_count(&rows), C = c->width, I = c->inner;
    const float *t[LAYER_TENSORS];
    struct cache k;
    for (int i = 0; i < LAYER_TENSORS; i++)
        t[i] = w + layer_offset(m, i);
    int64_t cached = cache ? 0 : lay_out(&k, NULL, c, N);
    float *scratch = ops_scratch(o, cached + N * (C + I));
    lay_out(&k, cache ? cache : scratch, c, N);
    float *middle = scratch + cached, *active = middle + N * C;

    ops_linear_fwd(o, k.q, x, t[QUERY], t[QUERY_BIAS], N, C, C);
    ops_linear_fwd(o, k.k, x, t[KEY], t[KEY_BIAS], N, C, C);
    ops_linear_fwd(o, k.v, x, t[VALUE], t[VALUE_BIAS], N, C, C);
    ops_attention_rows_fwd(o, k.attended, k.lse, k.q, k.k, k.v, &rows, c->heads, C / c->heads,
                           dropout_at(b, c->attention_dropout, layer, PLACE_PROBABILITIES));
    ops_residual_fwd(o, k.sum1, x, k.attended, t[OUT], t[OUT_BIAS], N, C, C,
                     dropout_at(b, c->residual_dropout, layer, PLACE_ATTENTION));
    ops_layernorm_fwd(o, middle, k.mean1, k.rstd1, k.sum1, t[LN1_GAIN], t[LN1_BIAS], N, C,
                      c->epsilon);

    ops_linear_fwd(o, k.inner, middle, t[FC], t[FC_BIAS], N, C, I);
    gelu_fwd(m, o, active, k.inner, N * I);
    ops_residual_fwd(o, k.sum2, middle, active, t[PROJ], t[PROJ_BIAS], N, I, C,
                     dropout_at(b, c->residual_dropout, layer, PLACE_MLP));
    ops_layernorm_fwd(o, y, k.mean2, k.rstd2, k.sum2, t[LN2_GAIN], t[LN2_BIAS], N, C, c->epsilon);
}

/* dx[N,I] += dy w^T: the gradient that comes by a branch meets the one that comes around it. */
static void add_input_gradient(struct ops *o, float *dx, const float *dy, const float *w, int64_t N,
                               int64_t I, int64_t O)
{
    ops_matmul(o, dx, dy, w, &(struct ops_matmul){ .b_transposed = 1, .add = 1, .M = N, .N = I,
                                                   .K = O, .lda = O, .ldb = O, .ldc = I });
}

/* How the gradients of a linear map begin. */
static void (*linear_bwd(const struct batch *b))(struct ops *, float *, float *, float *,
                                                 const float *, const float *, const float *,
                                                 int64_t, int64_t, int64_t)
{
    return b->first ? ops_linear_bwd_first : ops_linear_bwd;
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
               &(struct ops_matmul){ .b_transposed = 1, .M = N, .N = I, .K = C, .lda = C, .ldb = C,
                                     .ldc = I });
    gelu_bwd(m, o, g->wide, k->inner, N * I); /* inner is now GELU's output */
    linear_bwd(b)(o, NULL, dw + layer_offset(m, PROJ), dw + layer_offset(m, PROJ_BIAS), dy,
                  k->inner, proj, N, I, C);
    ops_layernorm_fwd(o, g->middle, NULL, NULL, k->sum1, w + layer_offset(m, LN1_GAIN),
                      w + layer_offset(m, LN1_BIAS), N, C, c->epsilon);
    linear_bwd(b)(o, NULL, dw + layer_offset(m, FC), dw + layer_offset(m, FC_BIAS), g->wide,
                  g->middle, fc, N, C, I);
    add_input_gradient(o, g->dsum, g->wide, fc, N, C, I);
}

/* From g->dsum, the gradient in the first norm's output, to dx, that in the layer's input. */
static void attention_bwd(const struct model *m, struct ops *o, int64_t layer, float *dx, float *dw,
                          const float *x, const float *w, const struct cache *k,
                          const struct gradients *g, const struct batch *b, int64_t N)
{
    const struct model_config *c = &m->config;
    const struct ops_rows rows = rows_of(b);
    const int64_t C = c->width;
    float *const d[3] = { g->wide, g->wide + N * C, g->wide + 2 * N * C };
    float *dattended = g->middle; /* the norm's output has done its work */
    ops_layernorm_bwd(o, dx, dw + layer_offset(m, LN1_GAIN), dw + layer_offset(m, LN1_BIAS), NULL,
                      g->dsum, k->sum1, w + layer_offset(m, LN1_GAIN), k->mean1, k->rstd1, N, C);
    const float *dy = branch_gradient(o, g->masked, dx, N * C,
                                      dropout_at(b, c->residual_dropout, layer, PLACE_ATTENTION));
    linear_bwd(b)(o, dattended, dw + layer_offset(m, OUT), dw + layer_offset(m, OUT_BIAS), dy,
                  k->attended, w + layer_offset(m, OUT), N, C, C);
    ops_attention_rows_bwd(o, d[0], d[1], d[2], dattended, k->q, k->k, k->v, k->attended, k->lse,
                           &rows, c->heads, C / c->heads,
                           dropout_at(b, c->attention_dropout, layer, PLACE_PROBABILITIES));
    for (int i = 0; i < 3; i++) {
        const float *map = w + layer_offset(m, QUERY + 2 * i);
        linear_bwd(b)(o, NULL, dw + layer_offset(m, QUERY + 2 * i),
                      dw + layer_offset(m, QUERY_BIAS + 2 * i), d[i], x, map, N, C, C);
        add_input_gradient(o, dx, d[i], map, N, C, C);
    }
}

static void layer_bwd(const struct model *m, struct ops *o, int64_t layer, float *dx, float *dw,
                      const float *x, const float *w, float *cache, const struct batch *b)
{
    const struct model_config *c = &m->config;
    const int64_t N = count_rows(b), C = c->width, I = c->inner, wide = I > 3 * C ? I : 3 * C;
    struct cache k;
    lay_out(&k, cache, c, N);
    float *scratch = ops_scratch(o, N * (wide + 3 * C));
    struct gradients g = { scratch, scratch + N * wide, scratch + N * (wide + C),
                           scratch + N * (wide + 2 * C) };
    static const int norms[] = { LN1_GAIN, LN1_BIAS, LN2_GAIN, LN2_BIAS };
    for (int i = 0; i < 4 && b->first; i++)
        ops_zero(o, dw + layer_offset(m, norms[i]), C);
    mlp_bwd(m, o, layer, dx, dw, w, &k, &g, b, N);
    attention_bwd(m, o, layer, dx, dw, x, w, &k, &g, b, N);
}

/* ---- masked words ------------------------------------------------------------------------- */

/* The rows that have a label. */
struct picked {
    int64_t n;
    int64_t *rows, *tokens; /* in the activations, in [B,T] */
    int32_t *labels;
    float *losses;          /* what the decoder makes of them */
    unsigned char *correct;
};

static struct picked pick(const struct batch *b)
{
    struct ops_rows rows = rows_of(b);
    int64_t N = ops_rows_count(&rows);
    struct picked p = { 0, mem_alloc((size_t)N * sizeof *p.rows),
                        mem_alloc((size_t)N * sizeof *p.tokens),
                        mem_alloc((size_t)N * sizeof *p.labels),
                        mem_alloc((size_t)N * sizeof *p.losses), mem_alloc((size_t)N) };
    int64_t *tokens = p.rows; /* read before it is written: p.n <= row */
    ops_rows_index(tokens, &rows);
    for (int64_t row = 0; row < N; row++) {
        int64_t token = tokens[row];
        if (b->labels[token] < 0)
            continue;
        p.rows[p.n] = row;
        p.tokens[p.n] = token;
        p.labels[p.n++] = b->labels[token];
    }
    return p;
}

static void picked_release(struct picked *p)
{
    free(p->rows);
    free(p->tokens);
    free(p->labels);
    free(p->losses);
    free(p->correct);
}

/* To the places [B,T] where the picked rows stand, and 0 elsewhere; either may be NULL. */
static void spread(float *losses, unsigned char *correct, const struct picked *p,
                   const struct batch *b)
{
    for (int64_t i = 0; i < b->B * b->T && losses; i++)
        losses[i] = 0;
    if (correct)
        memset(correct, 0, (size_t)(b->B * b->T));
    for (int64_t i = 0; i < p->n && losses; i++)
        losses[p->tokens[i]] = p->losses[i];
    for (int64_t i = 0; i < p->n && correct; i++)
        correct[p->tokens[i]] = p->correct[i];
}

/* The way of picked rows to the decoder. Of a bare head all are the rows themselves. */
struct transform {
    float *x, *dense, *active, *normed; /* [n,C] */
    float *mean, *rstd;                 /* [n] */
    float *d;                           /* [n,C] for a backward */
};

static struct transform transform_fwd(const struct model *m, struct ops *o, const float *x,
                                      const float *w, const int64_t *index, int64_t n)
{
    const int64_t C = m->config.width;
    float *p = ops_scratch(o, n * (5 * C + 2));
    struct transform t = { p, p + n * C, p + 2 * n * C, p + 3 * n * C, p + 5 * n * C,
                           p + 5 * n * C + n, p + 4 * n * C };
    ops_gather_rows(o, t.x, x, index, n, C);
    if (m->config.bare_head) {
        t.normed = t.x;
        return t;
    }
    ops_linear_fwd(o, t.dense, t.x, w + head_offset(m, TRANSFORM),
                   w + head_offset(m, TRANSFORM_BIAS), n, C, C);
    gelu_fwd(m, o, t.active, t.dense, n * C);
    ops_layernorm_fwd(o, t.normed, t.mean, t.rstd, t.active, w + head_offset(m, TRANSFORM_GAIN),
                      w + head_offset(m, TRANSFORM_SHIFT), n, C, m->config.epsilon);
    return t;
}

/* From t->d, the gradient in t->normed, to the gradient in t->x, which is returned. */
static const float *transform_bwd(const struct model *m, struct ops *o, float *dw, const float *w,
                                  const struct transform *t, int64_t n)
{
    const int64_t C = m->config.width;
    if (m->config.bare_head)
        return t->d;
    ops_layernorm_bwd(o, t->normed, dw + head_offset(m, TRANSFORM_GAIN),
                      dw + head_offset(m, TRANSFORM_SHIFT), NULL, t->d, t->active,
                      w + head_offset(m, TRANSFORM_GAIN), t->mean, t->rstd, n, C);
    gelu_bwd(m, o, t->normed, t->dense, n * C);
    ops_linear_bwd(o, t->d, dw + head_offset(m, TRANSFORM), dw + head_offset(m, TRANSFORM_BIAS),
                   t->normed, t->x, w + head_offset(m, TRANSFORM), n, C, C);
    return t->d;
}

static const float *word_bias(const struct model *m, const float *w)
{
    return m->config.bare_head ? NULL : w + head_offset(m, WORD_BIAS);
}

void bert_word_logits(const struct model *m, struct ops *o, float *logits, const float *x,
                      const float *w, const float *tied, const int64_t *index, int64_t n)
{
    const int64_t V = m->config.vocabulary;
    struct transform t = transform_fwd(m, o, x, w, index, n);
    ops_logits(o, logits, t.normed, tied, n, V, m->config.width);
    for (int64_t i = 0; i < n && !m->config.bare_head; i++)
        ops_add(o, logits + i * V, word_bias(m, w), V);
}

static double words_fwd(const struct model *m, struct ops *o, float *losses, unsigned char *correct,
                        const float *x, const float *w, const float *tied, const struct batch *b)
{
    struct picked p = pick(b);
    double sum = 0;
    if (p.n) {
        struct transform t = transform_fwd(m, o, x, w, p.rows, p.n);
        sum = ops_biased_loss_fwd(o, p.losses, p.correct, t.normed, tied, word_bias(m, w), p.labels,
                                  p.n, m->config.vocabulary, m->config.width);
    }
    spread(losses, correct, &p, b);
    picked_release(&p);
    return sum;
}

/* dx is added to. */
static double words_fwd_bwd(const struct model *m, struct ops *o, float *losses,
                            unsigned char *correct, float *dx, float *dw, float *dtied,
                            const float *x, const float *w, const float *tied, double scale,
                            const struct batch *b)
{
    const int64_t C = m->config.width;
    struct picked p = pick(b);
    double sum = 0;
    if (p.n) {
        struct transform t = transform_fwd(m, o, x, w, p.rows, p.n);
        float *dbias = m->config.bare_head ? NULL : dw + head_offset(m, WORD_BIAS);
        sum = ops_biased_loss_fwd_bwd(o, p.losses, p.correct, t.d, dtied, dbias, t.normed, tied,
                                      word_bias(m, w), p.labels, scale, p.n, m->config.vocabulary,
                                      C);
        ops_scatter_rows(o, dx, transform_bwd(m, o, dw, w, &t, p.n), p.rows, p.n, C);
    }
    spread(losses, correct, &p, b);
    picked_release(&p);
    return sum;
}

/* ---- the next sentence -------------------------------------------------------------------- */

/* The sequences' first tokens, [CLS]. */
struct pooled {
    int64_t *rows;
    float *x, *pooled, *d; /* [B,C] */
    float *logits;         /* [B,2] */
};

static struct pooled pool_fwd(const struct model *m, struct ops *o, const float *x, const float *w,
                              const struct batch *b)
{
    const struct ops_rows rows = rows_of(b);
    const int64_t B = b->B, C = m->config.width;
    float *p = ops_scratch(o, B * (3 * C + 2));
    struct pooled f = { mem_alloc((size_t)B * sizeof *f.rows), p, p + B * C, p + 2 * B * C,
                        p + 3 * B * C };
    for (int64_t i = 0, row = 0; i < B; row += ops_rows_of(&rows, i++))
        f.rows[i] = row;
    ops_gather_rows(o, f.x, x, f.rows, B, C);
    ops_linear_fwd(o, f.pooled, f.x, w + head_offset(m, POOLER), w + head_offset(m, POOLER_BIAS), B,
                   C, C);
    ops_tanh_fwd(o, f.pooled, B * C);
    ops_linear_fwd(o, f.logits, f.pooled, w + head_offset(m, NEXT), w + head_offset(m, NEXT_BIAS),
                   B, C, 2);
    return f;
}

void bert_next_logits(const struct model *m, struct ops *o, float *logits, const float *x,
                      const float *w, const struct batch *b)
{
    struct pooled f = pool_fwd(m, o, x, w, b);
    memcpy(logits, f.logits, (size_t)b->B * 2 * sizeof *logits);
    free(f.rows);
}

static double no_next(float *losses, unsigned char *correct, const struct batch *b)
{
    for (int64_t i = 0; i < b->B && losses; i++)
        losses[i] = 0;
    if (correct)
        memset(correct, 0, (size_t)b->B);
    return 0;
}

static double next_fwd(const struct model *m, struct ops *o, float *losses, unsigned char *correct,
                       const float *x, const float *w, const struct batch *b)
{
    if (!b->next)
        return no_next(losses, correct, b);
    struct pooled f = pool_fwd(m, o, x, w, b);
    double sum = ops_cross_entropy(o, losses, correct, f.logits, b->next, 0, 0, b->B, 2);
    free(f.rows);
    return sum;
}

/* dx is added to. */
static double next_fwd_bwd(const struct model *m, struct ops *o, float *losses,
                           unsigned char *correct, float *dx, float *dw, const float *x,
                           const float *w, double scale, const struct batch *b)
{
    const int64_t B = b->B, C = m->config.width;
    if (!b->next)
        return no_next(losses, correct, b);
    struct pooled f = pool_fwd(m, o, x, w, b);
    double sum = ops_cross_entropy(o, losses, correct, f.logits, b->next, 1, scale, B, 2);
    ops_linear_bwd(o, f.d, dw + head_offset(m, NEXT), dw + head_offset(m, NEXT_BIAS), f.logits,
                   f.pooled, w + head_offset(m, NEXT), B, C, 2);
    ops_tanh_bwd(o, f.d, f.pooled, B * C);
    ops_linear_bwd(o, f.pooled, dw + head_offset(m, POOLER), dw + head_offset(m, POOLER_BIAS), f.d,
                   f.x, w + head_offset(m, POOLER), B, C, C);
    ops_scatter_rows(o, dx, f.pooled, f.rows, B, C);
    free(f.rows);
    return sum;
}

/* ---- the head for pre-training ------------------------------------------------------------ */

static double pretraining_fwd(const struct model *m, struct ops *o, float *losses,
                              unsigned char *correct, const float *x, const float *w,
                              const float *tied, const struct batch *b)
{
    int64_t words = b->B * b->T;
    double sum = words_fwd(m, o, losses, correct, x, w, tied, b);
    return sum + b->next_weight * next_fwd(m, o, losses + words, correct ? correct + words : NULL,
                                           x, w, b);
}

static double pretraining_fwd_bwd(const struct model *m, struct ops *o, float *losses,
                                  unsigned char *correct, float *dx, float *dw, float *dtied,
                                  const float *x, const float *w, const float *tied, double scale,
                                  const struct batch *b)
{
    int64_t words = b->B * b->T;
    ops_zero(o, dx, count_rows(b) * m->config.width);
    double sum = words_fwd_bwd(m, o, losses, correct, dx, dw, dtied, x, w, tied, scale, b);
    return sum + b->next_weight *
                     next_fwd_bwd(m, o, losses ? losses + words : NULL,
                                  correct ? correct + words : NULL, dx, dw, x, w,
                                  scale * b->next_weight, b);
}

/* ---- the head for questions --------------------------------------------------------------- */

void bert_span_logits(const struct model *m, struct ops *o, float *logits, const float *x,
                      const float *w, const struct batch *b)
{
    ops_linear_fwd(o, logits, x, w + head_offset(m, SPAN), w + head_offset(m, SPAN_BIAS),
                   count_rows(b), m->config.width, 2);
}

/* The softmax of a start (side 0) or an end (1) goes over one sequence: logits[n,2], of which one
 * column is used and, with gradient, replaced. */
static double side_loss(struct ops *o, float *loss, unsigned char *correct, float *logits,
                        int64_t n, int side, int32_t label, int gradient, double scale)
{
    float *column = mem_alloc((size_t)n * sizeof *column);
    if (label >= n)
        label = MODEL_IGNORE;
    for (int64_t i = 0; i < n; i++)
        column[i] = logits[2 * i + side];
    double sum = ops_cross_entropy(o, loss, correct, column, &label, gradient, scale, 1, n);
    for (int64_t i = 0; i < n && gradient; i++)
        logits[2 * i + side] = column[i];
    free(column);
    return sum;
}

/* losses[2,B] and correct[2,B] may be NULL. */
static double span_loss(struct ops *o, float *losses, unsigned char *correct, float *logits,
                        const struct batch *b, int gradient, double scale)
{
    const struct ops_rows rows = rows_of(b);
    double sum = 0;
    for (int64_t i = 0, row = 0; i < b->B; row += ops_rows_of(&rows, i++))
        for (int side = 0; side < 2; side++) {
            int64_t at = side * b->B + i;
            sum += side_loss(o, losses ? losses + at : NULL, correct ? correct + at : NULL,
                             logits + 2 * row, ops_rows_of(&rows, i), side,
                             (side ? b->ends : b->starts)[i], gradient, 0.5 * scale);
        }
    return 0.5 * sum;
}

static double questions_fwd(const struct model *m, struct ops *o, float *losses,
                            unsigned char *correct, const float *x, const float *w,
                            const float *tied, const struct batch *b)
{
    (void)tied;
    float *logits = ops_scratch(o, 2 * count_rows(b));
    bert_span_logits(m, o, logits, x, w, b);
    return span_loss(o, losses, correct, logits, b, 0, 0);
}

static double questions_fwd_bwd(const struct model *m, struct ops *o, float *losses,
                                unsigned char *correct, float *dx, float *dw, float *dtied,
                                const float *x, const float *w, const float *tied, double scale,
                                const struct batch *b)
{
    (void)dtied;
    (void)tied;
    const int64_t N = count_rows(b);
    float *logits = ops_scratch(o, 2 * N);
    bert_span_logits(m, o, logits, x, w, b);
    double sum = span_loss(o, losses, correct, logits, b, 1, scale);
    ops_linear_bwd(o, dx, dw + head_offset(m, SPAN), dw + head_offset(m, SPAN_BIAS), logits, x,
                   w + head_offset(m, SPAN), N, m->config.width, 2);
    return sum;
}

/* ---- the model ---------------------------------------------------------------------------- */

static int64_t pretraining_labels(const int32_t **labels, const struct batch *b, int part)
{
    *labels = part ? b->next : b->labels;
    return part ? b->B : b->B * b->T;
}

static int64_t questions_labels(const int32_t **labels, const struct batch *b, int part)
{
    *labels = part ? b->ends : b->starts;
    return b->B;
}

int model_init_bert(struct model *m, const struct model_config *config)
{
    *m = (struct model){ 0 };
    if (model_check_config(config) < 0)
        return -1;
    if (config->types < 1 || config->types > 1 << 24)
        return err_set("bad model configuration: types is %lld, must be from 1 to %d",
                       (long long)config->types, 1 << 24);
    *m = (struct model){ .config = *config, .layer_cache = layer_cache,
                         .embedding_fwd = embedding_fwd, .embedding_bwd = embedding_bwd,
                         .layer_fwd = layer_fwd, .layers_begin = 1, .layer_bwd = layer_bwd };
    if (config->kind == MODEL_BERT_PRETRAINING) {
        m->head_fwd = pretraining_fwd;
        m->head_fwd_bwd = pretraining_fwd_bwd;
        m->parts = 2;
        m->part[0] = (struct model_part){ "mlm", 1 };
        m->part[1] = (struct model_part){ "nsp", 1 };
        m->labels = pretraining_labels;
    } else if (config->kind == MODEL_BERT_QUESTIONS) {
        m->head_fwd = questions_fwd;
        m->head_fwd_bwd = questions_fwd_bwd;
        m->parts = 2;
        m->part[0] = (struct model_part){ "start", 0.5 };
        m->part[1] = (struct model_part){ "end", 0.5 };
        m->labels = questions_labels;
    }
    add_tensors(&m->tensors, config);
    return 0;
}
