/* BERT: a post-layer-norm encoder with bidirectional attention (Devlin et al. 2019). Its heads are
 * in bert_pretraining.c and bert_questions.c. DistilBERT is the same without segments, and without
 * dropout between attention and its norm (Sanh et al. 2019). Weights of linear maps are [in,out] in
 * memory; Hugging Face's files have the transpose, so reading and writing transpose them. */
#include "common/err.h"
#include "model/network/bert_head.h"
#include "model/network/split.h"

/* ---- the tensor table --------------------------------------------------------------------- */

/* Tensors of the embedding and of a layer, in the table's order. Without segments there is no
 * TYPES. Each entry of the second list is a weight and its bias. */
enum { WORDS, POSITIONS, TYPES, EMBEDDING_GAIN, EMBEDDING_BIAS, EMBEDDING_TENSORS };
enum { QUERY, KEY, VALUE, OUT, LN1, FC, PROJ, LN2, LAYER_PAIRS };

/* Names of tensors. embedding: its tables and its norm. layer: the linear layers and norms of a
 * transformer layer, each with weight and bias. */
struct names {
    const char *embedding[EMBEDDING_TENSORS - 1], *layer[LAYER_PAIRS];
};

static const struct names bert_names = {
    { "bert.embeddings.word_embeddings.weight", "bert.embeddings.position_embeddings.weight",
      "bert.embeddings.token_type_embeddings.weight", "bert.embeddings.LayerNorm" },
    { "bert.encoder.layer.%lld.attention.self.query", "bert.encoder.layer.%lld.attention.self.key",
      "bert.encoder.layer.%lld.attention.self.value",
      "bert.encoder.layer.%lld.attention.output.dense",
      "bert.encoder.layer.%lld.attention.output.LayerNorm",
      "bert.encoder.layer.%lld.intermediate.dense", "bert.encoder.layer.%lld.output.dense",
      "bert.encoder.layer.%lld.output.LayerNorm" },
};
static const struct names distilbert_names = {
    { "distilbert.embeddings.word_embeddings.weight",
      "distilbert.embeddings.position_embeddings.weight", NULL, "distilbert.embeddings.LayerNorm" },
    { "distilbert.transformer.layer.%lld.attention.q_lin",
      "distilbert.transformer.layer.%lld.attention.k_lin",
      "distilbert.transformer.layer.%lld.attention.v_lin",
      "distilbert.transformer.layer.%lld.attention.out_lin",
      "distilbert.transformer.layer.%lld.sa_layer_norm",
      "distilbert.transformer.layer.%lld.ffn.lin1", "distilbert.transformer.layer.%lld.ffn.lin2",
      "distilbert.transformer.layer.%lld.output_layer_norm" },
};

static void add_embedding(struct model *m, const struct names *names)
{
    const struct model_config *c = &m->config;
    const int64_t rows[] = { c->vocabulary, c->positions, c->types };
    for (int i = WORDS; i <= TYPES; i++)
        if (rows[i])
            block_add_table(m, 0, names->embedding[i], rows[i]);
    block_add_norm(m, 0, names->embedding[EMBEDDING_GAIN], 0, c->width, 1);
}

/* Returns the channels of this rank's heads. */
static int64_t attended_of(const struct model_config *c)
{
    return c->heads * c->head_width;
}

static void add_layer(struct model *m, const struct names *names, int64_t layer)
{
    const int64_t C = m->config.width, A = attended_of(&m->config), I = m->config.inner;
    for (int i = 0; i < LAYER_PAIRS; i++)
        if (i == LN1 || i == LN2)
            block_add_norm(m, (int)layer + 1, names->layer[i], layer, C, 1);
        else
            block_add_map(m, (int)layer + 1, names->layer[i], layer,
                          i == PROJ  ? I
                          : i == OUT ? A
                                     : C,
                          i == FC      ? I
                          : i <= VALUE ? A
                                       : C,
                          m->config.init_std, 1, i == OUT || i == PROJ);
}

/* embedding_row returns the row of embedding tensor i in the tensor table, layer_row that of tensor
 * i in the first layer; all layers have equal rows. */
static size_t embedding_row(const struct model *m, int i)
{
    return (size_t)(i - (i > TYPES && !m->config.types));
}

static size_t layer_row(const struct model *m, int pair)
{
    return embedding_row(m, EMBEDDING_TENSORS) + 2 * (size_t)pair;
}

size_t bert_head_row(const struct model *m, int i)
{
    return layer_row(m, LAYER_PAIRS * (int)m->config.layers) + (size_t)i;
}

static int64_t embedding_offset(const struct model *m, int i)
{
    return m->tensors.rows[embedding_row(m, i)].offset;
}

/* ---- embedding ---------------------------------------------------------------------------- */

static struct ops_embedding tables(const struct model *m, struct ops_array w)
{
    return (struct ops_embedding){ .words = block_tensor(m, w, embedding_row(m, WORDS)),
                                   .positions = block_tensor(m, w, embedding_row(m, POSITIONS)),
                                   .types = m->config.types
                                                ? block_tensor(m, w, embedding_row(m, TYPES))
                                                : OPS_NONE,
                                   .C = m->config.width };
}

/* Returns the input of the embedding's layer norm. */
static struct ops_array embedding_sum(const struct model *m, struct ops *o, struct ops_array w,
                                      const struct inputs *in)
{
    const struct ops_embedding e = tables(m, w);
    const int64_t n = split_rows(m, in->N).count * e.C;
    ops_scratch_begin(o);
    struct ops_array sum = ops_scratch(o, OPS_F32, n);
    split_embedding_fwd(m, o, sum, &e, in);
    if (m->config.dropout_first)
        ops_dropout(o, sum, sum, n, block_embedding_dropout(m, in));
    return sum;
}

static void embedding_fwd(const struct model *m, struct ops *o, struct ops_array x,
                          struct ops_array w, const struct inputs *in)
{
    const int64_t N = split_rows(m, in->N).count;
    const struct ops_norm norm = block_norm(m, w, embedding_row(m, EMBEDDING_GAIN), N);
    split_norm_of_rows(m, o, x, not_kept, embedding_sum(m, o, w, in), &norm);
    if (!m->config.dropout_first)
        ops_dropout(o, x, x, N * norm.C, block_embedding_dropout(m, in));
}

/* Sets the gradients of the tables to 0 before they are added to. Leaves out the table of words if
 * the head has already computed gradients of it. */
static void begin_tables(const struct model *m, struct ops *o, struct ops_array dw)
{
    const int begun = m->tied ? POSITIONS : WORDS;
    const int64_t first = embedding_offset(m, begun);
    ops_zero(o, ops_part(dw, first), embedding_offset(m, EMBEDDING_GAIN) - first);
}

static void embedding_bwd(const struct model *m, struct ops *o, struct ops_gradient dw,
                          struct ops_array dx, struct ops_array w, const struct inputs *in)
{
    const int64_t N = split_rows(m, in->N).count, n = N * m->config.width;
    const struct ops_norm norm = block_norm(m, w, embedding_row(m, EMBEDDING_GAIN), N);
    const struct ops_embedding d = tables(m, dw.to);
    struct ops_array sum = embedding_sum(m, o, w, in), dsum = ops_scratch(o, OPS_F32, n);
    struct ops_moments kept = { ops_scratch(o, OPS_F32, N), ops_scratch(o, OPS_F32, N) };
    if (!dw.add)
        begin_tables(m, o, dw.to);
    split_norm_of_rows(m, o, dsum, kept, sum, &norm); /* recomputes only `kept` */
    if (!m->config.dropout_first)
        ops_dropout(o, dx, dx, n, block_embedding_dropout(m, in));
    block_norm_bwd(m, o, ops_set(dsum), dw, embedding_row(m, EMBEDDING_GAIN), dx, sum, kept, &norm);
    if (m->config.dropout_first)
        ops_dropout(o, dsum, dsum, n, block_embedding_dropout(m, in));
    split_embedding_bwd(m, o, &d, dsum, in);
}

/* ---- layer -------------------------------------------------------------------------------- */

/* What a layer's forward saves for its backward. Outputs of the norms and of GELU are not saved,
 * because computing them again is cheaper. */
struct cache {
    struct ops_array qkv[3];   /* [N,A] each, one after the other; A = channels of the heads */
    struct ops_array attended; /* [N,A] the heads' output */
    struct ops_array lse;      /* [N*NH] */
    struct ops_array sum1;     /* [n,C] before the norm after attention; n = rows of this rank */
    struct ops_array inner;    /* [N,I] before GELU */
    struct ops_array sum2;     /* [n,C] before the norm after the MLP */
    struct ops_moments norm1, norm2;
};

/* Sets the arrays of *k to their places in the cache `at`, for N rows. Returns how many numbers the
 * cache has in all. Sets numbers[], unless it is NULL, to how many each part has. */
static int64_t lay_out(struct cache *k, int64_t numbers[CACHE_PARTS], struct model_cache at,
                       const struct model *m, int64_t N)
{
    const struct model_config *c = &m->config;
    const int64_t A = attended_of(c);
    const struct cache_array arrays[] = {
        { &k->qkv[0], CACHE_ATTENTION, 3 * A, 0 }, { &k->attended, CACHE_ATTENTION, A, 0 },
        { &k->sum1, CACHE_REST, c->width, 1 },     { &k->inner, CACHE_REST, c->inner, 0 },
        { &k->sum2, CACHE_REST, c->width, 1 },     { &k->lse, CACHE_SUMS, c->heads, 0 },
        { &k->norm1.mean, CACHE_SUMS, 1, 1 },      { &k->norm1.rstd, CACHE_SUMS, 1, 1 },
        { &k->norm2.mean, CACHE_SUMS, 1, 1 },      { &k->norm2.rstd, CACHE_SUMS, 1, 1 },
    };
    const int64_t n = cache_lay_out(m, arrays, sizeof arrays / sizeof *arrays, at, numbers, N);
    k->qkv[1] = ops_part(k->qkv[0], N * A);
    k->qkv[2] = ops_part(k->qkv[1], N * A);
    return n;
}

static int64_t layer_cache(const struct model *m, int64_t B, int64_t T,
                           int64_t numbers[CACHE_PARTS])
{
    struct cache unused;
    return lay_out(&unused, numbers, (struct model_cache){ 0 }, m, B * T);
}

static struct ops_linear map_of(const struct model *m, struct ops_array w, int i, int64_t N)
{
    return block_linear(m, w, layer_row(m, i), N);
}

static struct ops_norm norm_of(const struct model *m, struct ops_array w, int i, int64_t N)
{
    return block_norm(m, w, layer_row(m, i), split_rows(m, N).count);
}

static struct ops_qkv qkv_of(const struct ops_array qkv[3], int64_t A)
{
    return (struct ops_qkv){ qkv[0], qkv[1], qkv[2], A, A };
}

static struct ops_dropout residual_dropout(const struct model *m, int64_t layer,
                                           enum dropout_place place, const struct inputs *in)
{
    const int none = place == PLACE_ATTENTION && m->config.architecture == &architecture_distilbert;
    return none ? (struct ops_dropout){ 0 } : block_residual_dropout(m, layer, place, in);
}

/* Returns all rows of a layer's input. */
static struct ops_array all_rows(const struct model *m, struct ops *o, struct ops_array x,
                                 const struct inputs *in)
{
    return split_all_rows(m, o, ops_operand(o), x, in->N, m->config.width, "rows of a layer");
}

/* Computes the layer up to the heads' output. */
static void attend(const struct model *m, struct ops *o, int64_t layer, struct ops_array x,
                   struct ops_array w, const struct cache *k, const struct inputs *in)
{
    const struct ops_attention a = block_attention(m, layer, in);
    const struct ops_linear maps[] = { map_of(m, w, QUERY, in->N), map_of(m, w, KEY, in->N),
                                       map_of(m, w, VALUE, in->N) };
    split_linear_fwd(m, o, k->qkv[0], all_rows(m, o, x, in), maps, 3);
    ops_attention_fwd(o, k->attended, k->lse, qkv_of(k->qkv, attended_of(&m->config)), &a);
}

static void attention_fwd(const struct model *m, struct ops *o, int64_t layer, struct ops_array x,
                          struct ops_array w, struct model_cache cache, const struct inputs *in)
{
    struct cache k;
    lay_out(&k, NULL, cache, m, in->N);
    ops_scratch_begin(o);
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
    const struct ops_norm norm1 = norm_of(m, w, LN1, N), norm2 = norm_of(m, w, LN2, N);
    struct cache k;
    ops_scratch_begin(o);
    lay_out(&k, NULL, block_cache(m, o, cache, N), m, N);
    struct ops_array middle = ops_scratch(o, OPS_F32, N * C);
    struct ops_array active = ops_scratch(o, ops_operand(o), N * I);

    attend(m, o, layer, x, w, &k, in);
    split_residual_fwd(m, o, k.sum1, x, k.attended, &out,
                       residual_dropout(m, layer, PLACE_ATTENTION, in));
    split_norm_fwd(m, o, middle, k.norm1, k.sum1, &norm1, N);

    split_linear_fwd(m, o, k.inner, middle, &fc, 1);
    ops_activation_fwd(o, m->config.activation, active, k.inner, N * I);
    split_residual_fwd(m, o, k.sum2, ops_part(middle, split_rows(m, N).first * C), active, &proj,
                       residual_dropout(m, layer, PLACE_MLP, in));
    split_norm_of_rows(m, o, y, k.norm2, k.sum2, &norm2);
}

/* Scratch of a layer's backward. */
struct gradients {
    struct ops_array wide;   /* [N, max(I,3A)] operands */
    struct ops_array middle; /* [N, max(C,A)] the first norm's output, computed again; then the
                              * gradient of the heads' output */
    struct ops_array dsum;   /* [n,C] the gradient before a norm */
    struct ops_array masked; /* [N,C] dsum after the dropout mask */
};

/* Sets g->dsum, the gradient of the MLP's input, from dx, the gradient of the layer's output. */
static void mlp_bwd(const struct model *m, struct ops *o, int64_t layer, struct ops_array dx,
                    struct ops_gradient dw, struct ops_array w, const struct cache *k,
                    const struct gradients *g, const struct inputs *in)
{
    const int64_t N = in->N, C = m->config.width, n = N * m->config.inner;
    const struct ops_linear fc = map_of(m, w, FC, N), proj = map_of(m, w, PROJ, N);
    const struct ops_norm norm1 = norm_of(m, w, LN1, N), norm2 = norm_of(m, w, LN2, N);
    block_norm_bwd(m, o, ops_set(g->dsum), dw, layer_row(m, LN2), dx, k->sum2, k->norm2, &norm2);
    struct ops_array dy = split_branch_gradient(m, o, g->masked, g->dsum, N, C,
                                                residual_dropout(m, layer, PLACE_MLP, in));
    struct ops_array active = active_array(o, k->inner, n);
    split_linear_bwd(m, o, g->wide, dy, active, &proj);
    ops_activation_bwd(o, m->config.activation, g->wide, active, g->wide, k->inner, n);
    block_linear_bwd(m, o, no_gradient(), dw, layer_row(m, PROJ), dy, active, &proj);
    split_norm_again(m, o, g->middle, k->norm1, k->sum1, &norm1, N);
    struct ops_array d = split_gradient_begin(m, o, g->dsum, N, C);
    block_linear_bwd(m, o, ops_added(d), dw, layer_row(m, FC), g->wide, g->middle, &fc);
    split_gradient_end(m, o, d, N, C);
    split_own_rows(m, o, g->dsum, d, N, C);
}

/* Sets dx, the gradient of the layer's input, from g->dsum, the gradient of the first norm's
 * output. */
static void attention_bwd(const struct model *m, struct ops *o, int64_t layer, struct ops_array dx,
                          struct ops_gradient dw, struct ops_array x, struct ops_array w,
                          const struct cache *k, const struct gradients *g, const struct inputs *in)
{
    const int64_t N = in->N, C = m->config.width, A = attended_of(&m->config);
    const struct ops_linear out = map_of(m, w, OUT, N);
    const struct ops_norm norm = norm_of(m, w, LN1, N);
    const struct ops_attention a = block_attention(m, layer, in);
    const struct ops_array d[3] = { g->wide, ops_part(g->wide, N * A),
                                    ops_part(g->wide, 2 * N * A) };
    block_norm_bwd(m, o, ops_set(dx), dw, layer_row(m, LN1), g->dsum, k->sum1, k->norm1, &norm);
    struct ops_array dy = split_branch_gradient(m, o, g->masked, dx, N, C,
                                                residual_dropout(m, layer, PLACE_ATTENTION, in));
    split_linear_bwd(m, o, g->middle, dy, k->attended, &out);
    block_linear_bwd(m, o, no_gradient(), dw, layer_row(m, OUT), dy, k->attended, &out);
    ops_attention_bwd(o, qkv_of(d, A), g->middle, qkv_of(k->qkv, A), k->attended, k->lse, &a);
    struct ops_array all = all_rows(m, o, x, in), sum = split_gradient_begin(m, o, dx, N, C);
    for (int i = 0; i < 3; i++) {
        const struct ops_linear map = map_of(m, w, QUERY + i, N);
        block_linear_bwd(m, o, ops_added(sum), dw, layer_row(m, QUERY + i), d[i], all, &map);
    }
    split_gradient_end(m, o, sum, N, C);
    split_own_rows(m, o, dx, sum, N, C);
}

static int64_t widest(const struct model_config *c)
{
    return c->inner > 3 * attended_of(c) ? c->inner : 3 * attended_of(c);
}

static int64_t narrow(const struct model_config *c)
{
    return c->width > attended_of(c) ? c->width : attended_of(c);
}

static void layer_bwd(const struct model *m, struct ops *o, int64_t layer, struct ops_array dx,
                      struct ops_gradient dw, struct ops_array x, struct ops_array w,
                      struct model_cache cache, const struct inputs *in)
{
    struct cache k;
    lay_out(&k, NULL, cache, m, in->N);
    const int64_t N = in->N, C = m->config.width;
    ops_scratch_begin(o);
    const struct gradients g = { .wide = ops_scratch(o, ops_operand(o), N * widest(&m->config)),
                                 .middle = ops_scratch(o, OPS_F32, N * narrow(&m->config)),
                                 .dsum = ops_scratch(o, OPS_F32, N * C),
                                 .masked = ops_scratch(o, OPS_F32, N * C) };
    mlp_bwd(m, o, layer, dx, dw, w, &k, &g, in);
    attention_bwd(m, o, layer, dx, dw, x, w, &k, &g, in);
}

/* ---- configuration ------------------------------------------------------------------------ */

static const double DISTILBERT_EPSILON = 1e-12;

static int check(const struct model *m)
{
    const struct model_config *c = &m->config;
    const int64_t least = c->architecture == &architecture_bert;
    if (c->kv_heads != c->heads ||
        c->heads * c->head_width * split_ranks(m, SPLIT_HEADS) != split_width(m))
        return err_set("bad model configuration: BERT has as many heads of keys and values as of "
                       "queries, which divide the width");
    if (c->types < least || c->types > 1 << 24)
        return err_set("bad model configuration: types is %lld, must be from %lld to %d",
                       (long long)c->types, (long long)least, 1 << 24);
    return 0;
}

static int init(struct model *m)
{
    struct model_config *c = &m->config;
    const struct names *names = c->architecture == &architecture_bert ? &bert_names
                                                                      : &distilbert_names;
    if (check(m) < 0)
        return -1;
    if (c->architecture == &architecture_distilbert)
        c->epsilon = DISTILBERT_EPSILON;
    else
        c->head_dropout = 0;
    m->layer_cache = layer_cache;
    m->layer_scratch = widest(c) + narrow(c) + (split_sequence(m) ? 5 : 2) * c->width;
    m->embedding_fwd = embedding_fwd;
    m->embedding_bwd = embedding_bwd;
    m->embedding_again = 1;
    m->layer_fwd = layer_fwd;
    m->attention_fwd = attention_fwd;
    m->layer_bwd = layer_bwd;
    add_embedding(m, names);
    for (int64_t layer = 0; layer < c->layers; layer++)
        add_layer(m, names, layer);
    tensor_block(&m->tensors, (int)c->layers + 1);
    if (c->head == HEAD_PRETRAINING)
        bert_pretraining_init(m);
    else if (c->head == HEAD_QUESTIONS)
        bert_questions_init(m);
    return 0;
}

/* Sets the embedding's dropout, for which config.json has no key, to the dropout of the layers.
 * Returns 0. */
static int read_rest(struct model_config *c, const struct js *root, const char *path)
{
    (void)root;
    (void)path;
    c->embedding_dropout = c->residual_dropout;
    return 0;
}

static void print_rest(struct buf *out, const struct model_config *c)
{
    (void)c;
    buf_adds(out, "  \"pad_token_id\": 0,\n");
}

static const char *const norms[][2] = { { "LayerNorm.weight", "LayerNorm.gamma" },
                                        { "LayerNorm.bias", "LayerNorm.beta" },
                                        { NULL, NULL } };
static const char *const bert_settings[] = { "types", "dropout-first", "untied", NULL };
static const char *const passed_over[] = { "embeddings.position_ids",
                                           "embeddings.token_type_ids",
                                           "pooler.",
                                           "cls.",
                                           "qa_outputs.",
                                           "classifier.",
                                           NULL };
static const struct architecture_tie ties[] = {
    { "cls.predictions.decoder.weight", "bert.embeddings.word_embeddings.weight",
      HEAD_PRETRAINING },
    { "cls.predictions.decoder.bias", "cls.predictions.bias", HEAD_PRETRAINING },
    { 0 },
};

/* Missing keys have the defaults of Hugging Face's BertConfig. Two keys are our own and written
 * only if they are set: "embedding_dropout_first" and "bare_prediction_head". */
static const struct config_key bert_keys[] = {
    { "hidden_act", CONFIG_ACTIVATION, CONFIG_AT(activation), OPS_GELU, NULL },
    { "is_decoder", CONFIG_ONLY, 0, 0, NULL },
    { "add_cross_attention", CONFIG_ONLY, 0, 0, NULL },
    { "num_hidden_layers", CONFIG_COUNT, CONFIG_AT(layers), 12, NULL },
    { "hidden_size", CONFIG_COUNT, CONFIG_AT(width), 768, NULL },
    { "num_attention_heads", CONFIG_COUNT, CONFIG_AT(heads), 12, NULL },
    { "intermediate_size", CONFIG_COUNT, CONFIG_AT(inner), 3072, NULL },
    { "max_position_embeddings", CONFIG_COUNT, CONFIG_AT(positions), 512, NULL },
    { "vocab_size", CONFIG_COUNT, CONFIG_AT(vocabulary), 30522, NULL },
    { "type_vocab_size", CONFIG_COUNT, CONFIG_AT(types), 2, NULL },
    { "layer_norm_eps", CONFIG_REAL, CONFIG_AT(epsilon), 1e-12, NULL },
    { "initializer_range", CONFIG_REAL, CONFIG_AT(init_std), 0.02, NULL },
    { "hidden_dropout_prob", CONFIG_REAL, CONFIG_AT(residual_dropout), 0.1, NULL },
    { "attention_probs_dropout_prob", CONFIG_REAL, CONFIG_AT(attention_dropout), 0.1, NULL },
    { "tie_word_embeddings", CONFIG_NOT, CONFIG_AT(untied), 1, NULL },
    { "embedding_dropout_first", CONFIG_MARK, CONFIG_AT(dropout_first), 0, NULL },
    { "bare_prediction_head", CONFIG_MARK, CONFIG_AT(bare_head), 0, NULL },
    { "position_embedding_type", CONFIG_TEXT, 0, 0, "absolute" },
    { 0 },
};

/* ---- GGUF --------------------------------------------------------------------------------- */

static const struct config_key gguf_keys[] = {
    { "context_length", CONFIG_COUNT, CONFIG_AT(positions), -1, NULL },
    { "embedding_length", CONFIG_COUNT, CONFIG_AT(width), -1, NULL },
    { "block_count", CONFIG_COUNT, CONFIG_AT(layers), -1, NULL },
    { "feed_forward_length", CONFIG_COUNT, CONFIG_AT(inner), -1, NULL },
    { "attention.head_count", CONFIG_COUNT, CONFIG_AT(heads), -1, NULL },
    { "attention.layer_norm_epsilon", CONFIG_REAL, CONFIG_AT(epsilon), -1, NULL },
    { "attention.causal", CONFIG_ONLY, 0, 0, NULL },
    { 0 },
};

/* GGUF has no name for the head for questions, which is only in files for textmill. */
static const char *const gguf_names[][2] = {
    { "bert.embeddings.word_embeddings", "token_embd" },
    { "bert.embeddings.position_embeddings", "position_embd" },
    { "bert.embeddings.token_type_embeddings", "token_types" },
    { "bert.embeddings.LayerNorm", "token_embd_norm" },
    { "bert.encoder.layer.%d.attention.self.query", "blk.%d.attn_q" },
    { "bert.encoder.layer.%d.attention.self.key", "blk.%d.attn_k" },
    { "bert.encoder.layer.%d.attention.self.value", "blk.%d.attn_v" },
    { "bert.encoder.layer.%d.attention.output.dense", "blk.%d.attn_output" },
    { "bert.encoder.layer.%d.attention.output.LayerNorm", "blk.%d.attn_output_norm" },
    { "bert.encoder.layer.%d.intermediate.dense", "blk.%d.ffn_up" },
    { "bert.encoder.layer.%d.output.dense", "blk.%d.ffn_down" },
    { "bert.encoder.layer.%d.output.LayerNorm", "blk.%d.layer_output_norm" },
    { "qa_outputs", "qa_outputs" },
    { NULL, NULL },
};
static const char *const distilbert_gguf_names[][2] = {
    { "distilbert.embeddings.word_embeddings", "token_embd" },
    { "distilbert.embeddings.position_embeddings", "position_embd" },
    { "distilbert.embeddings.LayerNorm", "token_embd_norm" },
    { "distilbert.transformer.layer.%d.attention.q_lin", "blk.%d.attn_q" },
    { "distilbert.transformer.layer.%d.attention.k_lin", "blk.%d.attn_k" },
    { "distilbert.transformer.layer.%d.attention.v_lin", "blk.%d.attn_v" },
    { "distilbert.transformer.layer.%d.attention.out_lin", "blk.%d.attn_output" },
    { "distilbert.transformer.layer.%d.sa_layer_norm", "blk.%d.attn_output_norm" },
    { "distilbert.transformer.layer.%d.ffn.lin1", "blk.%d.ffn_up" },
    { "distilbert.transformer.layer.%d.ffn.lin2", "blk.%d.ffn_down" },
    { "distilbert.transformer.layer.%d.output_layer_norm", "blk.%d.layer_output_norm" },
    { "qa_outputs", "qa_outputs" },
    { NULL, NULL },
};

/* GGUF stores DistilBERT as a "bert" without segments. */
static const struct architecture_gguf bert_gguf = { "bert", gguf_keys, gguf_names, 0,
                                                    "token_types.weight" };
static const struct architecture_gguf distilbert_gguf = { "bert", gguf_keys, distilbert_gguf_names,
                                                          0, NULL };

/* ---- the rows ----------------------------------------------------------------------------- */

const struct architecture architecture_bert = {
    .name = "bert",
    .title = "BERT",
    .sign = "hidden_size",
    .classes = { [HEAD_NONE] = "BertModel",
                 [HEAD_PRETRAINING] = "BertForPreTraining",
                 [HEAD_QUESTIONS] = "BertForQuestionAnswering" },
    .keys = bert_keys,
    .read = read_rest,
    .print = print_rest,
    .prefix = "bert.",
    .respelled = norms,
    .gguf = &bert_gguf,
    .ties = ties,
    .passed_over = passed_over,
    .activation = OPS_GELU,
    .settings = bert_settings,
    .init = init,
};

/* The defaults of DistilBertConfig, which has no key for epsilon. */
static const struct config_key distilbert_keys[] = {
    { "activation", CONFIG_ACTIVATION, CONFIG_AT(activation), OPS_GELU, NULL },
    { "n_layers", CONFIG_COUNT, CONFIG_AT(layers), 6, "num_hidden_layers" },
    { "dim", CONFIG_COUNT, CONFIG_AT(width), 768, "hidden_size" },
    { "n_heads", CONFIG_COUNT, CONFIG_AT(heads), 12, "num_attention_heads" },
    { "hidden_dim", CONFIG_COUNT, CONFIG_AT(inner), 3072, NULL },
    { "max_position_embeddings", CONFIG_COUNT, CONFIG_AT(positions), 512, NULL },
    { "vocab_size", CONFIG_COUNT, CONFIG_AT(vocabulary), 30522, NULL },
    { "initializer_range", CONFIG_REAL, CONFIG_AT(init_std), 0.02, NULL },
    { "dropout", CONFIG_REAL, CONFIG_AT(residual_dropout), 0.1, NULL },
    { "attention_dropout", CONFIG_REAL, CONFIG_AT(attention_dropout), 0.1, NULL },
    { "qa_dropout", CONFIG_REAL, CONFIG_AT(head_dropout), 0.1, NULL },
    { 0 },
};

static int read_distilbert(struct model_config *c, const struct js *root, const char *path)
{
    c->epsilon = DISTILBERT_EPSILON;
    return read_rest(c, root, path);
}

static const struct architecture_tie no_ties[] = { { 0 } };
static const char *const distilbert_passed_over[] = {
    "embeddings.position_ids", "vocab_", "pre_classifier.", "qa_outputs.", "classifier.", NULL
};

static const char *const no_settings[] = { NULL };

const struct architecture architecture_distilbert = {
    .name = "distilbert",
    .title = "DistilBERT",
    .classes = { [HEAD_NONE] = "DistilBertModel",
                 [HEAD_QUESTIONS] = "DistilBertForQuestionAnswering" },
    .keys = distilbert_keys,
    .read = read_distilbert,
    .print = print_rest,
    .prefix = "distilbert.",
    .respelled = norms,
    .gguf = &distilbert_gguf,
    .ties = no_ties,
    .passed_over = distilbert_passed_over,
    .activation = OPS_GELU,
    .settings = no_settings,
    .init = init,
};
