/* GPT-2 and GPT-3: pre-layer-norm decoder blocks with learned positions and a tied decoder
 * (Radford et al. 2019; Brown et al. 2020). Weights of linear maps are stored [in, out], as
 * Hugging Face's Conv1D has them. */
#include <math.h>
#include <stdio.h>

#include "common/err.h"
#include "model/network/block.h"
#include "model/network/split.h"

/* ---- the tensor table --------------------------------------------------------------------- */

/* Tensors of the embedding, a layer and the head, in the table's order. */
enum { WTE, WPE, EMBEDDING_TENSORS };
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
enum { FINAL_GAIN, FINAL_BIAS, DECODER };

/* Returns the channels of this rank's heads. */
static int64_t attended_of(const struct model_config *c)
{
    return c->heads * c->head_width;
}

/* Weight decay applies to matrices, including the embeddings, not to biases and gains. The maps at
 * the end of a residual branch have smaller initial values, because 2L of them add to one stream.
 */
static void add_layer(struct tensor_table *t, const struct model_config *c, int64_t layer)
{
    float std = (float)c->init_std, end_std = (float)(c->init_std / sqrt(2.0 * (double)c->layers));
    const int64_t C = c->width, A = attended_of(c);
    const struct {
        const char *name;
        int64_t rows, columns;
        enum tensor_init init;
        float std;
        int across; /* the axis of the residual stream's channels; -1: none */
    } rows[LAYER_TENSORS] = {
        [LN1_GAIN] = { "ln_1.weight", C, 0, INIT_ONE, 0, 0 },
        [LN1_BIAS] = { "ln_1.bias", C, 0, INIT_ZERO, 0, 0 },
        [QKV] = { "attn.c_attn.weight", C, 3 * A, INIT_NORMAL, std, 0 },
        [QKV_BIAS] = { "attn.c_attn.bias", 3 * A, 0, INIT_ZERO, 0, -1 },
        [OUT] = { "attn.c_proj.weight", A, C, INIT_NORMAL, end_std, 1 },
        [OUT_BIAS] = { "attn.c_proj.bias", C, 0, INIT_ZERO, 0, 0 },
        [LN2_GAIN] = { "ln_2.weight", C, 0, INIT_ONE, 0, 0 },
        [LN2_BIAS] = { "ln_2.bias", C, 0, INIT_ZERO, 0, 0 },
        [FC] = { "mlp.c_fc.weight", C, c->inner, INIT_NORMAL, std, 0 },
        [FC_BIAS] = { "mlp.c_fc.bias", c->inner, 0, INIT_ZERO, 0, -1 },
        [PROJ] = { "mlp.c_proj.weight", c->inner, C, INIT_NORMAL, end_std, 1 },
        [PROJ_BIAS] = { "mlp.c_proj.bias", C, 0, INIT_ZERO, 0, 0 },
    };
    for (int i = 0; i < LAYER_TENSORS; i++) {
        char name[TENSOR_NAME];
        snprintf(name, sizeof name, "h.%lld.%s", (long long)layer, rows[i].name);
        tensor_add(t, (int)layer + 1, name, rows[i].rows, rows[i].columns, rows[i].init,
                   rows[i].std, rows[i].columns != 0);
        t->rows[t->count - 1].across = rows[i].across;
        if (i == QKV || i == QKV_BIAS)
            t->rows[t->count - 1].maps = 3;
    }
}

static void add_tensors(struct model *m)
{
    const struct model_config *c = &m->config;
    struct tensor_table *t = &m->tensors;
    const int head = (int)c->layers + 1;
    block_add_table(m, 0, "wte.weight", c->vocabulary);
    block_add_table(m, 0, "wpe.weight", c->positions);
    for (int64_t layer = 0; layer < c->layers; layer++)
        add_layer(t, c, layer);
    block_add_norm(m, head, "ln_f", 0, c->width, 1);
    if (c->untied)
        block_add_table(m, head, "lm_head.weight", c->vocabulary);
}

/* layer_row returns the row of tensor i in the first layer; all layers have equal rows. head_row
 * returns that of tensor i of the head. */
static size_t layer_row(int i)
{
    return (size_t)(EMBEDDING_TENSORS + i);
}

static size_t head_row(const struct model *m, int i)
{
    return (size_t)(EMBEDDING_TENSORS + m->config.layers * LAYER_TENSORS + i);
}

/* A layer's linear maps and norms, for N rows. */
struct layer {
    struct ops_linear qkv, out, fc, proj;
    struct ops_norm norm1, norm2;
};

static struct layer layer_of(const struct model *m, struct ops_array w, int64_t N)
{
    const int64_t n = split_rows(m, N).count;
    return (struct layer){ .qkv = block_linear(m, w, layer_row(QKV), N),
                           .out = block_linear(m, w, layer_row(OUT), N),
                           .fc = block_linear(m, w, layer_row(FC), N),
                           .proj = block_linear(m, w, layer_row(PROJ), N),
                           .norm1 = block_norm(m, w, layer_row(LN1_GAIN), n),
                           .norm2 = block_norm(m, w, layer_row(LN2_GAIN), n) };
}

/* ---- embedding ---------------------------------------------------------------------------- */

static struct ops_embedding tables(const struct model *m, struct ops_array w)
{
    return (struct ops_embedding){ .words = block_tensor(m, w, WTE),
                                   .positions = block_tensor(m, w, WPE),
                                   .C = m->config.width };
}

static void embedding_fwd(const struct model *m, struct ops *o, struct ops_array x,
                          struct ops_array w, const struct inputs *in)
{
    const struct ops_embedding e = tables(m, w);
    ops_scratch_begin(o);
    split_embedding_fwd(m, o, x, &e, in);
    ops_dropout(o, x, x, split_rows(m, in->N).count * e.C, block_embedding_dropout(m, in));
}

static void embedding_bwd(const struct model *m, struct ops *o, struct ops_gradient dw,
                          struct ops_array dx, struct ops_array w, const struct inputs *in)
{
    (void)w;
    const struct ops_embedding d = tables(m, dw.to);
    if (!dw.add) /* the head has already set gradients of the words if it is tied */
        ops_zero(o, d.positions, m->config.positions * d.C);
    if (!dw.add && m->config.untied)
        ops_zero(o, d.words, m->config.vocabulary * d.C);
    ops_dropout(o, dx, dx, split_rows(m, in->N).count * d.C, block_embedding_dropout(m, in));
    ops_scratch_begin(o);
    split_embedding_bwd(m, o, &d, dx, in);
}

/* ---- layer -------------------------------------------------------------------------------- */

/* What a layer's forward saves for its backward. Outputs of the norms and of GELU are not saved,
 * because computing them again is cheaper. */
struct cache {
    struct ops_array qkv;      /* [N,3A], A = channels of the heads */
    struct ops_array attended; /* [N,A] the heads' output */
    struct ops_array lse;      /* [B,NH,T] */
    struct ops_array middle;   /* [N,C] the residual stream between attention and MLP */
    struct ops_array inner;    /* [N,I] before GELU */
    struct ops_moments norm1, norm2;
};

/* Sets the arrays of *k to their places in the cache `at`, for N rows. Returns how many numbers the
 * cache has in all. Sets numbers[], unless it is NULL, to how many each part has. */
static int64_t lay_out(struct cache *k, int64_t numbers[CACHE_PARTS], struct model_cache at,
                       const struct model *m, int64_t N)
{
    const struct model_config *c = &m->config;
    const struct cache_array arrays[] = {
        { &k->qkv, CACHE_ATTENTION, 3 * attended_of(c), 0 },
        { &k->attended, CACHE_ATTENTION, attended_of(c), 0 },
        { &k->middle, CACHE_REST, c->width, 1 },
        { &k->inner, CACHE_REST, c->inner, 0 },
        { &k->lse, CACHE_SUMS, c->heads, 0 },
        { &k->norm1.mean, CACHE_SUMS, 1, 1 },
        { &k->norm1.rstd, CACHE_SUMS, 1, 1 },
        { &k->norm2.mean, CACHE_SUMS, 1, 1 },
        { &k->norm2.rstd, CACHE_SUMS, 1, 1 },
    };
    return cache_lay_out(m, arrays, sizeof arrays / sizeof *arrays, at, numbers, N);
}

static int64_t layer_cache(const struct model *m, int64_t B, int64_t T,
                           int64_t numbers[CACHE_PARTS])
{
    struct cache unused;
    return lay_out(&unused, numbers, (struct model_cache){ 0 }, m, B * T);
}

static struct ops_attention attention_of(const struct model *m, int64_t layer,
                                         const struct inputs *in)
{
    const struct model_config *c = &m->config;
    struct ops_attention a = block_attention(m, layer, in);
    if (c->unscaled || c->scale_by_layer)
        a.scale = (c->unscaled ? 1 : 1 / sqrt((double)a.HS)) /
                  (double)(c->scale_by_layer ? layer + 1 : 1);
    return a;
}

/* Computes the layer up to the heads' output. normed[N,C] is scratch. */
static void attend(const struct model *m, struct ops *o, int64_t layer, struct ops_array normed,
                   struct ops_array x, const struct layer *l, const struct cache *k,
                   const struct inputs *in)
{
    const struct ops_attention a = attention_of(m, layer, in);
    split_norm_fwd(m, o, normed, k->norm1, x, &l->norm1, in->N);
    split_linear_fwd(m, o, k->qkv, normed, &l->qkv, 1);
    block_attend(o, layer, k->attended, k->lse, ops_side_by_side(k->qkv, attended_of(&m->config)),
                 &a, in);
}

static void attention_fwd(const struct model *m, struct ops *o, int64_t layer, struct ops_array x,
                          struct ops_array w, struct model_cache cache, const struct inputs *in)
{
    const struct layer l = layer_of(m, w, in->N);
    struct cache k;
    lay_out(&k, NULL, cache, m, in->N);
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
    lay_out(&k, NULL, block_cache(m, o, cache, N), m, N);
    struct ops_array normed = ops_scratch(o, block_operand(o, in), N * (I > C ? I : C));
    struct ops_array active = normed; /* normed is not used any more when active begins */

    attend(m, o, layer, normed, x, &l, &k, in);
    split_residual_fwd(m, o, k.middle, x, k.attended, &l.out,
                       block_residual_dropout(m, layer, PLACE_ATTENTION, in));

    split_norm_fwd(m, o, normed, k.norm2, k.middle, &l.norm2, N);
    split_linear_fwd(m, o, k.inner, normed, &l.fc, 1);
    ops_activation_fwd(o, c->activation, active, k.inner, N * I);
    split_residual_fwd(m, o, y, k.middle, active, &l.proj,
                       block_residual_dropout(m, layer, PLACE_MLP, in));
}

/* Scratch of a layer's backward. */
struct gradients {
    struct ops_array wide;   /* [N, max(I,3A)] operands */
    struct ops_array normed; /* [N,C] a norm's output, computed again */
    struct ops_array narrow; /* [N, max(C,A)] the gradient of the heads' or of a norm's output */
    struct ops_array masked; /* [N,C] dx after the dropout mask */
};

static void mlp_bwd(const struct model *m, struct ops *o, int64_t layer, struct ops_array dx,
                    struct ops_gradient dw, const struct layer *l, const struct cache *k,
                    const struct gradients *g, const struct inputs *in)
{
    const int64_t C = m->config.width, I = m->config.inner, n = in->N * I;
    struct ops_array dy = split_branch_gradient(m, o, g->masked, dx, in->N, C,
                                                block_residual_dropout(m, layer, PLACE_MLP, in));
    struct ops_array active = active_array(o, k->inner, n);
    split_linear_bwd(m, o, g->wide, dy, active, &l->proj);
    ops_activation_bwd(o, m->config.activation, g->wide, active, g->wide, k->inner, n);
    block_linear_bwd(m, o, no_gradient(), dw, layer_row(PROJ), dy, active, &l->proj);
    split_norm_again(m, o, g->normed, k->norm2, k->middle, &l->norm2, in->N);
    block_linear_bwd(m, o, ops_set(g->narrow), dw, layer_row(FC), g->wide, g->normed, &l->fc);
    struct ops_array d = split_gradient_end(m, o, g->narrow, in->N, C);
    block_norm_bwd(m, o, ops_added(dx), dw, layer_row(LN2_GAIN), d, k->middle, k->norm2, &l->norm2);
}

static void attention_bwd(const struct model *m, struct ops *o, int64_t layer, struct ops_array dx,
                          struct ops_gradient dw, struct ops_array x, const struct layer *l,
                          const struct cache *k, const struct gradients *g, const struct inputs *in)
{
    const int64_t C = m->config.width, A = attended_of(&m->config);
    const struct ops_attention a = attention_of(m, layer, in);
    struct ops_array dy = split_branch_gradient(
        m, o, g->masked, dx, in->N, C, block_residual_dropout(m, layer, PLACE_ATTENTION, in));
    split_linear_bwd(m, o, g->narrow, dy, k->attended, &l->out);
    block_linear_bwd(m, o, no_gradient(), dw, layer_row(OUT), dy, k->attended, &l->out);
    ops_attention_bwd(o, ops_side_by_side(g->wide, A), g->narrow, ops_side_by_side(k->qkv, A),
                      k->attended, k->lse, &a);
    split_norm_again(m, o, g->normed, k->norm1, x, &l->norm1, in->N);
    block_linear_bwd(m, o, ops_set(g->narrow), dw, layer_row(QKV), g->wide, g->normed, &l->qkv);
    struct ops_array d = split_gradient_end(m, o, g->narrow, in->N, C);
    block_norm_bwd(m, o, ops_added(dx), dw, layer_row(LN1_GAIN), d, x, k->norm1, &l->norm1);
}

static int64_t widest(const struct model_config *c)
{
    return c->inner > 3 * attended_of(c) ? c->inner : 3 * attended_of(c);
}

static int64_t narrow(const struct model_config *c)
{
    return c->width > attended_of(c) ? c->width : attended_of(c);
}

static struct gradients begin_backward(const struct model *m, struct ops *o, int64_t N)
{
    const int64_t C = m->config.width;
    ops_scratch_begin(o);
    return (struct gradients){ .wide = ops_scratch(o, ops_operand(o), N * widest(&m->config)),
                               .normed = ops_scratch(o, ops_operand(o), N * C),
                               .narrow = ops_scratch(o, OPS_F32, N * narrow(&m->config)),
                               .masked = ops_scratch(o, OPS_F32, N * C) };
}

static void layer_bwd(const struct model *m, struct ops *o, int64_t layer, struct ops_array dx,
                      struct ops_gradient dw, struct ops_array x, struct ops_array w,
                      struct model_cache cache, const struct inputs *in)
{
    const struct layer l = layer_of(m, w, in->N);
    struct cache k;
    lay_out(&k, NULL, cache, m, in->N);
    struct gradients g = begin_backward(m, o, in->N);
    mlp_bwd(m, o, layer, dx, dw, &l, &k, &g, in);
    attention_bwd(m, o, layer, dx, dw, x, &l, &k, &g, in);
}

/* ---- the row ------------------------------------------------------------------------------ */

static int init(struct model *m)
{
    const struct model_config *c = &m->config;
    const int64_t heads = c->heads * split_ranks(m, SPLIT_HEADS);
    if (c->kv_heads != c->heads || heads * c->head_width != c->width * split_ranks(m, SPLIT_WIDTH))
        return err_set("bad model configuration: GPT-2 has as many heads of keys and values as of "
                       "queries, which divide the width");
    m->layer_cache = layer_cache;
    m->embedding_fwd = embedding_fwd;
    m->embedding_bwd = embedding_bwd;
    m->layer_fwd = layer_fwd;
    m->attention_fwd = attention_fwd;
    m->layer_bwd = layer_bwd;
    m->layer_scratch = widest(c) + narrow(c) + 2 * c->width;
    add_tensors(m);
    block_decoder_init(m, head_row(m, FINAL_GAIN), head_row(m, DECODER));
    return 0;
}

/* Missing keys have the defaults of Hugging Face's GPT2Config. */
static const struct config_key keys[] = {
    { "activation_function", CONFIG_ACTIVATION, CONFIG_AT(activation), OPS_GELU_TANH, NULL },
    { "n_layer", CONFIG_COUNT, CONFIG_AT(layers), 12, "num_hidden_layers" },
    { "n_embd", CONFIG_COUNT, CONFIG_AT(width), 768, "hidden_size" },
    { "n_head", CONFIG_COUNT, CONFIG_AT(heads), 12, "num_attention_heads" },
    { "n_inner", CONFIG_COUNT, CONFIG_AT(inner), -1, NULL },
    { "n_positions", CONFIG_COUNT, CONFIG_AT(positions), 1024, "max_position_embeddings" },
    { "vocab_size", CONFIG_COUNT, CONFIG_AT(vocabulary), 50257, NULL },
    { "layer_norm_epsilon", CONFIG_REAL, CONFIG_AT(epsilon), 1e-5, NULL },
    { "initializer_range", CONFIG_REAL, CONFIG_AT(init_std), 0.02, NULL },
    { "embd_pdrop", CONFIG_REAL, CONFIG_AT(embedding_dropout), 0.1, NULL },
    { "attn_pdrop", CONFIG_REAL, CONFIG_AT(attention_dropout), 0.1, NULL },
    { "resid_pdrop", CONFIG_REAL, CONFIG_AT(residual_dropout), 0.1, NULL },
    { "scale_attn_weights", CONFIG_NOT, CONFIG_AT(unscaled), 1, NULL },
    { "scale_attn_by_inverse_layer_idx", CONFIG_MARK, CONFIG_AT(scale_by_layer), 0, NULL },
    { "tie_word_embeddings", CONFIG_NOT, CONFIG_AT(untied), 1, NULL },
    { "add_cross_attention", CONFIG_ONLY, 0, 0, NULL },
    { 0 },
};

static int read_rest(struct model_config *c, const struct js *root, const char *path)
{
    (void)root;
    if (c->width < 1 || c->width > 1 << 20)
        return err_set("%s: bad n_embd %lld", path, (long long)c->width);
    if (c->inner < 0)
        c->inner = 4 * c->width;
    return 0;
}

static void print_rest(struct buf *out, const struct model_config *c)
{
    buf_addf(out, "  \"n_ctx\": %lld,\n  \"use_cache\": true,\n", (long long)c->positions);
}

static const struct architecture_tie ties[] = { { "lm_head.weight", "wte.weight", HEAD_NEXT },
                                                { 0 } };
static const char *const settings[] = { "untied", NULL };
static const char *const passed_over[] = {
    "multiple_choice_head.", "score.", "classifier.", "qa_outputs.", ".attn.bias",
    ".attn.masked_bias",     NULL
};

static const struct config_key gguf_keys[] = {
    { "context_length", CONFIG_COUNT, CONFIG_AT(positions), -1, NULL },
    { "embedding_length", CONFIG_COUNT, CONFIG_AT(width), -1, NULL },
    { "block_count", CONFIG_COUNT, CONFIG_AT(layers), -1, NULL },
    { "feed_forward_length", CONFIG_COUNT, CONFIG_AT(inner), -1, NULL },
    { "attention.head_count", CONFIG_COUNT, CONFIG_AT(heads), -1, NULL },
    { "attention.layer_norm_epsilon", CONFIG_REAL, CONFIG_AT(epsilon), -1, NULL },
    { 0 },
};
static const char *const gguf_names[][2] = {
    { "wte", "token_embd" },
    { "wpe", "position_embd" },
    { "h.%d.ln_1", "blk.%d.attn_norm" },
    { "h.%d.attn.c_attn", "blk.%d.attn_qkv" },
    { "h.%d.attn.c_proj", "blk.%d.attn_output" },
    { "h.%d.ln_2", "blk.%d.ffn_norm" },
    { "h.%d.mlp.c_fc", "blk.%d.ffn_up" },
    { "h.%d.mlp.c_proj", "blk.%d.ffn_down" },
    { "ln_f", "output_norm" },
    { "lm_head", "output" },
    { NULL, NULL },
};
static const struct architecture_gguf gguf = { "gpt2", gguf_keys, gguf_names, 0, NULL };

const struct architecture architecture_gpt2 = {
    .name = "gpt2",
    .title = "GPT",
    .sign = "n_embd",
    .classes = { [HEAD_NEXT] = "GPT2LMHeadModel" },
    .keys = keys,
    .read = read_rest,
    .print = print_rest,
    .prefix = "transformer.",
    .bare = 1,
    .ties = ties,
    .passed_over = passed_over,
    .gguf = &gguf,
    .activation = OPS_GELU_TANH,
    .settings = settings,
    .init = init,
};
