/* Llama: pre-norm decoder blocks with RMSNorm, rotary positions, a gated MLP, and grouped-query
 * attention (Touvron et al. 2023; Ainslie et al. 2023). Qwen2 adds biases to the projections of
 * queries, keys and values. Mistral has no biases.
 * Weights of linear maps are stored [in,out]; files store the transpose. */
#include <math.h>
#include <string.h>

#include "common/err.h"
#include "model/network/block.h"
#include "model/network/split.h"

/* ---- the tensor table --------------------------------------------------------------------- */

enum { WORDS, EMBEDDING_TENSORS };
/* The weights of a layer, in the order of the tensor table. A bias, if any, follows its weight. */
enum { NORM1, QUERY, KEY, VALUE, OUT, NORM2, GATE, UP, DOWN, LAYER_WEIGHTS };
enum { FINAL_NORM, DECODER };

static int64_t queries_of(const struct model_config *c)
{
    return c->heads * c->head_width;
}

static int64_t keys_of(const struct model_config *c)
{
    return c->kv_heads * c->head_width;
}

static void add_layer(struct model *m, int64_t layer)
{
    const struct model_config *c = &m->config;
    const int64_t C = c->width, I = c->inner, Q = queries_of(c), K = keys_of(c);
    const struct {
        const char *stem;
        int64_t in, out;
        int biased;
    } weights[LAYER_WEIGHTS] = {
        [NORM1] = { "model.layers.%lld.input_layernorm", 0, 0, 0 },
        [QUERY] = { "model.layers.%lld.self_attn.q_proj", C, Q, c->qkv_bias },
        [KEY] = { "model.layers.%lld.self_attn.k_proj", C, K, c->qkv_bias },
        [VALUE] = { "model.layers.%lld.self_attn.v_proj", C, K, c->qkv_bias },
        [OUT] = { "model.layers.%lld.self_attn.o_proj", Q, C, c->out_bias },
        [NORM2] = { "model.layers.%lld.post_attention_layernorm", 0, 0, 0 },
        [GATE] = { "model.layers.%lld.mlp.gate_proj", C, I, c->mlp_bias },
        [UP] = { "model.layers.%lld.mlp.up_proj", C, I, c->mlp_bias },
        [DOWN] = { "model.layers.%lld.mlp.down_proj", I, C, c->mlp_bias },
    };
    for (int i = 0; i < LAYER_WEIGHTS; i++)
        if (weights[i].in)
            block_add_map(m, (int)layer + 1, weights[i].stem, layer, weights[i].in, weights[i].out,
                          c->init_std, weights[i].biased, i == OUT || i == DOWN);
        else
            block_add_norm(m, (int)layer + 1, weights[i].stem, layer, C, 0);
}

static void add_tensors(struct model *m)
{
    const struct model_config *c = &m->config;
    const int head = (int)c->layers + 1;
    block_add_table(m, 0, "model.embed_tokens.weight", c->vocabulary);
    for (int64_t layer = 0; layer < c->layers; layer++)
        add_layer(m, layer);
    block_add_norm(m, head, "model.norm", 0, c->width, 0);
    if (c->untied)
        block_add_table(m, head, "lm_head.weight", c->vocabulary);
}

/* Returns the row of weight i of the first layer in the tensor table. */
static size_t row_of(const struct model *m, int i)
{
    size_t row = EMBEDDING_TENSORS;
    while (i-- > 0)
        row += 1 + (size_t)m->tensors.rows[row].biased;
    return row;
}

static size_t head_row(const struct model *m, int i)
{
    return m->tensors.count - 1 - (size_t)m->config.untied + (size_t)i;
}

/* The linear maps and norms of a layer, applied to N rows. */
struct layer {
    size_t row[LAYER_WEIGHTS];
    struct ops_linear map[LAYER_WEIGHTS];
    struct ops_norm norm1, norm2;
};

static struct layer layer_of(const struct model *m, struct ops_array w, int64_t N)
{
    struct layer l;
    for (int i = 0; i < LAYER_WEIGHTS; i++) {
        l.row[i] = row_of(m, i);
        l.map[i] = block_linear(m, w, l.row[i], N);
    }
    l.norm1 = block_norm(m, w, l.row[NORM1], split_rows(m, N).count);
    l.norm2 = block_norm(m, w, l.row[NORM2], split_rows(m, N).count);
    return l;
}

/* ---- embedding ---------------------------------------------------------------------------- */

static void embedding_fwd(const struct model *m, struct ops *o, struct ops_array x,
                          struct ops_array w, const struct inputs *in)
{
    const struct ops_embedding e = { .words = block_tensor(m, w, WORDS), .C = m->config.width };
    ops_scratch_begin(o);
    split_embedding_fwd(m, o, x, &e, in);
    ops_dropout(o, x, x, split_rows(m, in->N).count * e.C, block_embedding_dropout(m, in));
}

static void embedding_bwd(const struct model *m, struct ops *o, struct ops_gradient dw,
                          struct ops_array dx, struct ops_array w, const struct inputs *in)
{
    (void)w;
    const struct ops_embedding d = { .words = dw.to, .C = m->config.width };
    if (!dw.add && !m->tied) /* if tied, the head has already written the table's gradients */
        ops_zero(o, d.words, m->config.vocabulary * d.C);
    ops_dropout(o, dx, dx, split_rows(m, in->N).count * d.C, block_embedding_dropout(m, in));
    ops_scratch_begin(o);
    split_embedding_bwd(m, o, &d, dx, in);
}

/* ---- layer -------------------------------------------------------------------------------- */

/* Activations that forward keeps for backward. Queries and keys are kept after rotation. */
struct cache {
    struct ops_array q;        /* [N,NH*HS]; k and v follow it without a gap */
    struct ops_array k, v;     /* [N,KV*HS] */
    struct ops_array attended; /* [N,NH*HS] output of the attention heads */
    struct ops_array lse;      /* [N*NH] */
    struct ops_array middle;   /* [N,C] the residual stream between attention and MLP */
    struct ops_array gate, up; /* [N,I], one after the other */
    struct ops_moments norm1, norm2;
};

static int64_t lay_out(struct cache *k, int64_t numbers[CACHE_PARTS], struct model_cache at,
                       const struct model *m, int64_t N)
{
    const struct model_config *c = &m->config;
    const struct cache_array arrays[] = {
        { &k->q, CACHE_ATTENTION, queries_of(c) + 2 * keys_of(c), 0 },
        { &k->attended, CACHE_ATTENTION, queries_of(c), 0 },
        { &k->middle, CACHE_REST, c->width, 1 },
        { &k->gate, CACHE_REST, 2 * c->inner, 0 },
        { &k->lse, CACHE_SUMS, c->heads, 0 },
        { &k->norm1.rstd, CACHE_SUMS, 1, 1 },
        { &k->norm2.rstd, CACHE_SUMS, 1, 1 },
    };
    *k = (struct cache){ 0 };
    const int64_t n = cache_lay_out(m, arrays, sizeof arrays / sizeof *arrays, at, numbers, N);
    k->k = ops_part(k->q, N * queries_of(c));
    k->v = ops_part(k->k, N * keys_of(c));
    k->up = ops_part(k->gate, N * c->inner);
    return n;
}

static int64_t layer_cache(const struct model *m, int64_t B, int64_t T,
                           int64_t numbers[CACHE_PARTS])
{
    struct cache unused;
    return lay_out(&unused, numbers, (struct model_cache){ 0 }, m, B * T);
}

static struct ops_qkv qkv_of(const struct model *m, struct ops_array q, struct ops_array k,
                             struct ops_array v)
{
    return (struct ops_qkv){ q, k, v, queries_of(&m->config), keys_of(&m->config) };
}

/* Rotates queries and keys by their positions. If `back` is set, rotates their gradients back. */
static void rotate(const struct model *m, struct ops *o, struct ops_qkv x, const struct inputs *in,
                   int back)
{
    const struct model_config *c = &m->config;
    struct ops_rotary r = { .heads = c->heads,
                            .HS = c->head_width,
                            .ld = x.ldq,
                            .base = c->rope_theta,
                            .stretch = c->rope_stretch,
                            .back = back };
    ops_rotate(o, x.q, &in->tokens, &r);
    r.heads = c->kv_heads;
    r.ld = x.ldk;
    ops_rotate(o, x.k, &in->tokens, &r);
}

/* Computes the layer up to the output of the attention heads; normed[N,C] is scratch. */
static void attend(const struct model *m, struct ops *o, int64_t layer, struct ops_array normed,
                   struct ops_array x, const struct layer *l, const struct cache *k,
                   const struct inputs *in)
{
    const struct ops_attention a = block_attention(m, layer, in);
    const struct ops_qkv qkv = qkv_of(m, k->q, k->k, k->v);
    split_norm_fwd(m, o, normed, k->norm1, x, &l->norm1, in->N);
    split_linear_fwd(m, o, k->q, normed, &l->map[QUERY], 3);
    rotate(m, o, qkv, in, 0);
    block_attend(o, layer, k->attended, k->lse, qkv, &a, in);
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
    struct ops_array active = normed; /* normed is no longer needed when active is written */

    attend(m, o, layer, normed, x, &l, &k, in);
    split_residual_fwd(m, o, k.middle, x, k.attended, &l.map[OUT],
                       block_residual_dropout(m, layer, PLACE_ATTENTION, in));

    split_norm_fwd(m, o, normed, k.norm2, k.middle, &l.norm2, N);
    split_linear_fwd(m, o, k.gate, normed, &l.map[GATE], 2);
    ops_gated_fwd(o, c->activation, active, k.gate, k.up, N * I);
    split_residual_fwd(m, o, y, k.middle, active, &l.map[DOWN],
                       block_residual_dropout(m, layer, PLACE_MLP, in));
}

/* Scratch of a layer's backward. */
struct gradients {
    struct ops_array wide, wide2; /* operands: [N, max(I, NH*HS + 2*KV*HS)] and [N,I] */
    struct ops_array normed;      /* [N,C] a norm's output, recomputed */
    struct ops_array narrow;      /* [N, max(C, NH*HS)] gradient of normed or of attended */
    struct ops_array masked;      /* [N,C] dx after dropout's mask */
};

static int64_t widest(const struct model_config *c)
{
    const int64_t qkv = queries_of(c) + 2 * keys_of(c);
    return c->inner > qkv ? c->inner : qkv;
}

static int64_t narrow(const struct model_config *c)
{
    return c->width > queries_of(c) ? c->width : queries_of(c);
}

static struct gradients begin_backward(const struct model *m, struct ops *o, int64_t N)
{
    const struct model_config *c = &m->config;
    ops_scratch_begin(o);
    return (struct gradients){ .wide = ops_scratch(o, ops_operand(o), N * widest(c)),
                               .wide2 = ops_scratch(o, ops_operand(o), N * c->inner),
                               .normed = ops_scratch(o, ops_operand(o), N * c->width),
                               .narrow = ops_scratch(o, OPS_F32, N * narrow(c)),
                               .masked = ops_scratch(o, OPS_F32, N * c->width) };
}

static void mlp_bwd(const struct model *m, struct ops *o, int64_t layer, struct ops_array dx,
                    struct ops_gradient dw, const struct layer *l, const struct cache *k,
                    const struct gradients *g, const struct inputs *in)
{
    const int64_t n = in->N * m->config.inner;
    struct ops_array dy = split_branch_gradient(m, o, g->masked, dx, in->N, m->config.width,
                                                block_residual_dropout(m, layer, PLACE_MLP, in));
    struct ops_array active = active_array(o, k->gate, n);
    split_linear_bwd(m, o, g->wide, dy, active, &l->map[DOWN]);
    ops_gated_bwd(o, m->config.activation, g->wide, g->wide2, active, g->wide, k->gate, k->up, n);
    block_linear_bwd(m, o, no_gradient(), dw, l->row[DOWN], dy, active, &l->map[DOWN]);
    split_norm_again(m, o, g->normed, k->norm2, k->middle, &l->norm2, in->N);
    block_linear_bwd(m, o, ops_set(g->narrow), dw, l->row[GATE], g->wide, g->normed, &l->map[GATE]);
    block_linear_bwd(m, o, ops_added(g->narrow), dw, l->row[UP], g->wide2, g->normed, &l->map[UP]);
    struct ops_array d = split_gradient_end(m, o, g->narrow, in->N, m->config.width);
    block_norm_bwd(m, o, ops_added(dx), dw, l->row[NORM2], d, k->middle, k->norm2, &l->norm2);
}

static void attention_bwd(const struct model *m, struct ops *o, int64_t layer, struct ops_array dx,
                          struct ops_gradient dw, struct ops_array x, const struct layer *l,
                          const struct cache *k, const struct gradients *g, const struct inputs *in)
{
    const int64_t N = in->N, Q = queries_of(&m->config), K = keys_of(&m->config);
    const struct ops_attention a = block_attention(m, layer, in);
    const struct ops_array d[3] = { g->wide, ops_part(g->wide, N * Q),
                                    ops_part(g->wide, N * (Q + K)) };
    const struct ops_qkv dqkv = qkv_of(m, d[0], d[1], d[2]);
    struct ops_array dy = split_branch_gradient(
        m, o, g->masked, dx, N, m->config.width,
        block_residual_dropout(m, layer, PLACE_ATTENTION, in));
    split_linear_bwd(m, o, g->narrow, dy, k->attended, &l->map[OUT]);
    block_linear_bwd(m, o, no_gradient(), dw, l->row[OUT], dy, k->attended, &l->map[OUT]);
    ops_attention_bwd(o, dqkv, g->narrow, qkv_of(m, k->q, k->k, k->v), k->attended, k->lse, &a);
    rotate(m, o, dqkv, in, 1);
    split_norm_again(m, o, g->normed, k->norm1, x, &l->norm1, N);
    for (int i = 0; i < 3; i++)
        block_linear_bwd(m, o, i ? ops_added(g->narrow) : ops_set(g->narrow), dw, l->row[QUERY + i],
                         d[i], g->normed, &l->map[QUERY + i]);
    struct ops_array dnormed = split_gradient_end(m, o, g->narrow, N, m->config.width);
    block_norm_bwd(m, o, ops_added(dx), dw, l->row[NORM1], dnormed, x, k->norm1, &l->norm1);
}

static void layer_bwd(const struct model *m, struct ops *o, int64_t layer, struct ops_array dx,
                      struct ops_gradient dw, struct ops_array x, struct ops_array w,
                      struct model_cache cache, const struct inputs *in)
{
    const struct layer l = layer_of(m, w, in->N);
    struct cache k;
    lay_out(&k, NULL, cache, m, in->N);
    const struct gradients g = begin_backward(m, o, in->N);
    mlp_bwd(m, o, layer, dx, dw, &l, &k, &g, in);
    attention_bwd(m, o, layer, dx, dw, x, &l, &k, &g, in);
}

/* ---- configuration and the architectures -------------------------------------------------- */

static int init(struct model *m)
{
    struct model_config *c = &m->config;
    if (c->head_width % 2)
        return err_set("bad model configuration: the width of a head is %lld, but rotary positions "
                       "turn pairs of numbers",
                       (long long)c->head_width);
    if (c->architecture == &architecture_qwen2)
        c->qkv_bias = 1;
    if (!c->rope_theta)
        c->rope_theta = 10000;
    if (!(c->rope_theta > 0 && c->rope_theta < INFINITY))
        return err_set("bad model configuration: rope_theta is %g, must be above 0", c->rope_theta);
    m->layer_cache = layer_cache;
    m->layer_scratch = widest(c) + c->inner + 2 * c->width + narrow(c);
    m->embedding_fwd = embedding_fwd;
    m->embedding_bwd = embedding_bwd;
    m->layer_fwd = layer_fwd;
    m->attention_fwd = attention_fwd;
    m->layer_bwd = layer_bwd;
    add_tensors(m);
    block_decoder_init(m, head_row(m, FINAL_NORM), head_row(m, DECODER));
    return 0;
}

/* The default values are those of Hugging Face's configuration classes. 0 heads of keys and values
 * means as many as there are heads of queries. */
#define KEYS(inner_width, kv, longest, words)                                                      \
    { "hidden_act", CONFIG_ACTIVATION, CONFIG_AT(activation), OPS_SILU, NULL },                    \
        { "num_hidden_layers", CONFIG_COUNT, CONFIG_AT(layers), 32, NULL },                        \
        { "hidden_size", CONFIG_COUNT, CONFIG_AT(width), 4096, NULL },                             \
        { "num_attention_heads", CONFIG_COUNT, CONFIG_AT(heads), 32, NULL },                       \
        { "num_key_value_heads", CONFIG_COUNT, CONFIG_AT(kv_heads), kv, NULL },                    \
        { "head_dim", CONFIG_COUNT, CONFIG_AT(head_width), 0, NULL },                              \
        { "intermediate_size", CONFIG_COUNT, CONFIG_AT(inner), inner_width, NULL },                \
        { "max_position_embeddings", CONFIG_COUNT, CONFIG_AT(positions), longest, NULL },          \
        { "vocab_size", CONFIG_COUNT, CONFIG_AT(vocabulary), words, NULL },                        \
        { "rms_norm_eps", CONFIG_REAL, CONFIG_AT(epsilon), 1e-6, NULL },                           \
        { "initializer_range", CONFIG_REAL, CONFIG_AT(init_std), 0.02, NULL },                     \
        { "attention_dropout", CONFIG_REAL, CONFIG_AT(attention_dropout), 0, NULL },               \
        { "tie_word_embeddings", CONFIG_NOT, CONFIG_AT(untied), 0, NULL },                         \
    {                                                                                              \
        "rope_theta", CONFIG_REAL, CONFIG_AT(rope_theta), 10000, NULL                              \
    }

static const struct config_key llama_keys[] = {
    KEYS(11008, 0, 2048, 32000),
    { "attention_bias", CONFIG_FLAG, CONFIG_AT(qkv_bias), 0, NULL },
    { "mlp_bias", CONFIG_FLAG, CONFIG_AT(mlp_bias), 0, NULL },
    { 0 },
};
static const struct config_key qwen2_keys[] = { KEYS(22016, 32, 32768, 151936), { 0 } };
static const struct config_key mistral_keys[] = { KEYS(14336, 8, 131072, 32000), { 0 } };

static int read_llama3(struct ops_stretch *s, const struct js *rope, const char *path)
{
    if (config_real(&s->low, rope, "low_freq_factor", 0, path) < 0 ||
        config_real(&s->high, rope, "high_freq_factor", 0, path) < 0 ||
        config_real(&s->original, rope, "original_max_position_embeddings", 0, path) < 0)
        return -1;
    if (s->low > 0 && s->high > s->low && s->original > 0)
        return 0;
    return err_set("%s: bad rope_scaling: low_freq_factor is %g, high_freq_factor %g and "
                   "original_max_position_embeddings %g, must be above 0 and the second above the "
                   "first",
                   path, s->low, s->high, s->original);
}

/* Reads the rotary settings: from rope_parameters (newer files, with rope_theta inside), else from
 * rope_scaling (older files, with rope_theta outside). Returns 0, or -1 with an error set. */
static int read_rope(struct model_config *c, const struct js *root, const char *path)
{
    const struct js *rope = js_get(root, "rope_parameters");
    if (!rope || js_is_null(rope))
        rope = js_get(root, "rope_scaling");
    if (!rope || js_is_null(rope))
        return 0;
    const struct js *v = js_get(rope, "rope_type");
    const char *type = js_text(v ? v : js_get(rope, "type"), NULL);
    double share;
    if (config_real(&c->rope_theta, rope, "rope_theta", c->rope_theta, path) < 0 ||
        config_real(&share, rope, "partial_rotary_factor", 1, path) < 0)
        return -1;
    if (share != 1)
        return err_set("%s: unsupported partial_rotary_factor %g, only 1", path, share);
    if (type && !strcmp(type, "default"))
        return 0;
    if (!type || (strcmp(type, "linear") && strcmp(type, "llama3")))
        return err_set("%s: unsupported rope_type '%s', only default, linear and llama3", path,
                       type ? type : "");
    if (config_real(&c->rope_stretch.factor, rope, "factor", 0, path) < 0)
        return -1;
    if (!(c->rope_stretch.factor >= 1 && c->rope_stretch.factor < INFINITY))
        return err_set("%s: bad factor of rope_scaling: %g, must be at least 1", path,
                       c->rope_stretch.factor);
    return !strcmp(type, "llama3") ? read_llama3(&c->rope_stretch, rope, path) : 0;
}

/* Limits c->positions to the sliding window that config.json gives, because sliding-window
 * attention equals full attention for texts no longer than the window. Without the key it is
 * 4096. Returns 0, or -1 with an error. */
static int read_window(struct model_config *c, const struct js *root, const char *path)
{
    const struct js *v = js_get(root, "sliding_window");
    int64_t window;
    if (v && js_is_null(v))
        return 0;
    if (config_count(&window, root, "sliding_window", 4096, path) < 0)
        return -1;
    if (window > 0 && window < c->positions)
        c->positions = window;
    return 0;
}

static int read_rest(struct model_config *c, const struct js *root, const char *path)
{
    c->out_bias = c->qkv_bias;
    return read_rope(c, root, path);
}

static int read_qwen2(struct model_config *c, const struct js *root, const char *path)
{
    if (js_flag(root, "use_sliding_window", 0) && read_window(c, root, path) < 0)
        return -1;
    return read_rope(c, root, path);
}

static int read_mistral(struct model_config *c, const struct js *root, const char *path)
{
    return read_window(c, root, path) < 0 ? -1 : read_rope(c, root, path);
}

static void print_rest(struct buf *out, const struct model_config *c)
{
    const struct ops_stretch *s = &c->rope_stretch;
    if (c->architecture != &architecture_llama)
        buf_adds(out, "  \"sliding_window\": null,\n");
    if (!s->factor)
        return;
    buf_addf(out, "  \"rope_scaling\": {\"rope_type\": \"%s\", \"factor\": %.17g",
             s->original ? "llama3" : "linear", s->factor);
    if (s->original)
        buf_addf(out,
                 ", \"low_freq_factor\": %.17g, \"high_freq_factor\": %.17g, "
                 "\"original_max_position_embeddings\": %.0f",
                 s->low, s->high, s->original);
    buf_adds(out, "},\n");
}

static const struct architecture_tie ties[] = {
    { "lm_head.weight", "model.embed_tokens.weight", HEAD_NEXT }, { 0 }
};
static const char *const passed_over[] = { ".rotary_emb.inv_freq", "score.", "classifier.",
                                           "qa_outputs.", NULL };
static const char *const settings[] = { "kv-heads", "head-width", "rope-theta", "untied", NULL };

static const struct config_key gguf_keys[] = {
    { "vocab_size", CONFIG_COUNT, CONFIG_AT(vocabulary), 0, NULL },
    { "context_length", CONFIG_COUNT, CONFIG_AT(positions), -1, NULL },
    { "embedding_length", CONFIG_COUNT, CONFIG_AT(width), -1, NULL },
    { "block_count", CONFIG_COUNT, CONFIG_AT(layers), -1, NULL },
    { "feed_forward_length", CONFIG_COUNT, CONFIG_AT(inner), -1, NULL },
    { "attention.head_count", CONFIG_COUNT, CONFIG_AT(heads), -1, NULL },
    { "attention.head_count_kv", CONFIG_COUNT, CONFIG_AT(kv_heads), 0, NULL },
    { "rope.dimension_count", CONFIG_COUNT, CONFIG_AT(head_width), 0, NULL },
    { "attention.key_length", CONFIG_COUNT, CONFIG_AT(head_width), 0, NULL },
    { "attention.value_length", CONFIG_COUNT, CONFIG_AT(head_width), 0, NULL },
    { "attention.layer_norm_rms_epsilon", CONFIG_REAL, CONFIG_AT(epsilon), -1, NULL },
    { "rope.freq_base", CONFIG_REAL, CONFIG_AT(rope_theta), 10000, NULL },
    { "rope.scaling.factor", CONFIG_REAL, CONFIG_AT(rope_stretch.factor), 0, "left out" },
    { 0 },
};
static const char *const gguf_names[][2] = {
    { "model.embed_tokens", "token_embd" },
    { "model.layers.%d.input_layernorm", "blk.%d.attn_norm" },
    { "model.layers.%d.self_attn.q_proj", "blk.%d.attn_q" },
    { "model.layers.%d.self_attn.k_proj", "blk.%d.attn_k" },
    { "model.layers.%d.self_attn.v_proj", "blk.%d.attn_v" },
    { "model.layers.%d.self_attn.o_proj", "blk.%d.attn_output" },
    { "model.layers.%d.post_attention_layernorm", "blk.%d.ffn_norm" },
    { "model.layers.%d.mlp.gate_proj", "blk.%d.ffn_gate" },
    { "model.layers.%d.mlp.up_proj", "blk.%d.ffn_up" },
    { "model.layers.%d.mlp.down_proj", "blk.%d.ffn_down" },
    { "model.norm", "output_norm" },
    { "lm_head", "output" },
    { NULL, NULL },
};
/* GGUF files store Mistral models under the architecture name "llama". */
static const struct architecture_gguf llama_gguf = { "llama", gguf_keys, gguf_names, 1, NULL };
static const struct architecture_gguf qwen2_gguf = { "qwen2", gguf_keys, gguf_names, 0, NULL };

#define ROW                                                                                        \
    .print = print_rest, .prefix = "model.", .ties = ties, .passed_over = passed_over,             \
    .settings = settings, .gated = 1, .activation = OPS_SILU, .init = init

const struct architecture architecture_llama = { .name = "llama",
                                                 .title = "Llama",
                                                 .classes = { [HEAD_NEXT] = "LlamaForCausalLM" },
                                                 .keys = llama_keys,
                                                 .read = read_rest,
                                                 .gguf = &llama_gguf,
                                                 ROW };

const struct architecture architecture_qwen2 = { .name = "qwen2",
                                                 .title = "Qwen2",
                                                 .classes = { [HEAD_NEXT] = "Qwen2ForCausalLM" },
                                                 .keys = qwen2_keys,
                                                 .read = read_qwen2,
                                                 .gguf = &qwen2_gguf,
                                                 ROW };

const struct architecture architecture_mistral = {
    .name = "mistral",
    .title = "Mistral",
    .classes = { [HEAD_NEXT] = "MistralForCausalLM" },
    .keys = mistral_keys,
    .read = read_mistral,
    .gguf = &llama_gguf,
    ROW
};
