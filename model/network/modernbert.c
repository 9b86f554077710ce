/* ModernBERT: an encoder with norms before each branch, rotary positions, a gated MLP and no biases
 * (Warner et al. 2024). Attention of most layers stays in a window; every third layer sees the
 * whole text, with another base of its rotary positions. The embedding has a norm, so that the
 * first layer has none before its attention; the last layer ends with one. */
#include <math.h>

#include "model/network/bert_head.h"
#include "model/network/embedding.h"

static const struct layer_row layer[] = {
    { LAYER_NORM,
      { AT_INPUT },
      .out = AT_NORMED,
      .weights = { "attn_norm" },
      .part = NOT_FIRST_LAYER },
    { LAYER_MAPS, { AT_NORMED }, .out = AT_QUERIES, .weights = { "attn.Wqkv" }, .joined = 3 },
    { LAYER_ROTATE, .in = { AT_QUERIES, AT_KEYS } },
    { LAYER_ATTEND, { AT_QUERIES, AT_KEYS, AT_VALUES }, .out = AT_HEADS },
    LAYER_ADDS(AT_HEADS, AT_INPUT, AT_MIDDLE, "attn.Wo", PLACE_ATTENTION),
    { LAYER_NORM, { AT_MIDDLE }, .out = AT_BRANCH, .weights = { "mlp_norm" } },
    { LAYER_MAPS, { AT_BRANCH }, .out = AT_INNER, .weights = { "mlp.Wi" }, .joined = 2 },
    { LAYER_GATE, { AT_INNER, AT_UP }, .out = AT_ACTIVE },
    LAYER_ADDS(AT_ACTIVE, AT_MIDDLE, AT_SUM, "mlp.Wo", PLACE_MLP),
    { LAYER_NORM,
      { AT_SUM },
      .out = AT_OUTPUT,
      .weights = { "model.final_norm" },
      .part = LAST_LAYER },
    { .kind = LAYER_END },
};

static int init(struct model *m)
{
    struct model_config *c = &m->config;
    c->window = c->window ? c->window : 65;
    c->local_pause = c->local_pause ? c->local_pause : 3;
    c->rope_theta = c->rope_theta ? c->rope_theta : 160000;
    c->local_theta = c->local_theta ? c->local_theta : 10000;
    if (c->kv_heads != c->heads || c->head_width % 2 ||
        c->heads * c->head_width * split_ranks(m, SPLIT_HEADS) != split_width(m))
        return err_set("ModernBERT has as many heads of keys and values as of queries, which "
                       "divide the width into even parts");
    if (c->window < 1 || c->local_pause < 1 || !(c->rope_theta > 0 && c->rope_theta < INFINITY) ||
        !(c->local_theta > 0 && c->local_theta < INFINITY))
        return err_set("the window of attention is %lld, each %lld layers one has none, and the "
                       "bases of positions are %g and %g: must be above 0",
                       (long long)c->window, (long long)c->local_pause, c->local_theta,
                       c->rope_theta);
    embedding_init(m);
    layer_init(m);
    if (c->head == HEAD_PRETRAINING)
        bert_pretraining_init(m);
    return 0;
}

static const struct config_key keys[] = {
    { "hidden_activation", CONFIG_ACTIVATION, CONFIG_AT(activation), OPS_GELU, NULL },
    { "num_hidden_layers", CONFIG_COUNT, CONFIG_AT(layers), 22, NULL },
    { "hidden_size", CONFIG_COUNT, CONFIG_AT(width), 768, NULL },
    { "num_attention_heads", CONFIG_COUNT, CONFIG_AT(heads), 12, NULL },
    { "intermediate_size", CONFIG_COUNT, CONFIG_AT(inner), 1152, NULL },
    { "max_position_embeddings", CONFIG_COUNT, CONFIG_AT(positions), 8192, NULL },
    { "vocab_size", CONFIG_COUNT, CONFIG_AT(vocabulary), 50368, NULL },
    { "norm_eps", CONFIG_REAL, CONFIG_AT(epsilon), 1e-5, NULL },
    { "initializer_range", CONFIG_REAL, CONFIG_AT(init_std), 0.02, NULL },
    { "embedding_dropout", CONFIG_REAL, CONFIG_AT(embedding_dropout), 0, NULL },
    { "mlp_dropout", CONFIG_REAL, CONFIG_AT(residual_dropout), 0, NULL },
    { "attention_dropout", CONFIG_REAL, CONFIG_AT(attention_dropout), 0, NULL },
    { "global_attn_every_n_layers", CONFIG_COUNT, CONFIG_AT(local_pause), 3, NULL },
    { "global_rope_theta", CONFIG_REAL, CONFIG_AT(rope_theta), 160000, NULL },
    { "local_rope_theta", CONFIG_REAL, CONFIG_AT(local_theta), 10000, NULL },
    { "tie_word_embeddings", CONFIG_ONLY, 0, 1, NULL },
    { "norm_bias", CONFIG_ONLY, 0, 0, NULL },
    { "attention_bias", CONFIG_ONLY, 0, 0, NULL },
    { "mlp_bias", CONFIG_ONLY, 0, 0, NULL },
    { "decoder_bias", CONFIG_ONLY, 0, 1, NULL },
    { "classifier_bias", CONFIG_ONLY, 0, 0, NULL },
    { "classifier_activation", CONFIG_TEXT, 0, 0, "gelu" },
    { 0 },
};

/* Sets *out to the base of rotary positions of a kind of layers, if the file has it. */
static int read_base(double *out, const struct js *root, const char *kind, const char *path)
{
    const struct js *rope = js_get(js_get(root, "rope_parameters"), kind);
    const struct js *type = js_get(rope, "rope_type");
    type = type ? type : js_get(rope, "type");
    if (js_is_set(js_get(root, "rope_scaling")) || (type && !js_text_is(type, "default")))
        return err_set("%s: unsupported rope_type of %s, only default", path, kind);
    return config_real(out, rope, "rope_theta", *out, path);
}

/* Reads the list of the layers' kinds, layer_types, which only newer files have. */
static int read_pause(struct model_config *c, const struct js *root, const char *path)
{
    const struct js *list = js_get(root, "layer_types");
    int64_t pause = c->layers;
    if (!js_is_set(list))
        return 0;
    if ((int64_t)js_count(list) != c->layers)
        return err_set("%s: bad layer_types: %zu layers, not %lld", path, js_count(list),
                       (long long)c->layers);
    for (int64_t i = c->layers; i-- > 1;)
        pause = js_text_is(js_at(list, (size_t)i), "full_attention") ? i : pause;
    for (int64_t i = 0; i < c->layers; i++)
        if (!js_text_is(js_at(list, (size_t)i), i % pause ? "sliding_attention" : "full_attention"))
            return err_set("%s: unsupported layer_types: layer %lld is not what one in %lld gives",
                           path, (long long)i, (long long)pause);
    c->local_pause = pause;
    return 0;
}

static int read_rest(struct model_config *c, const struct js *root, const char *path)
{
    int64_t local;
    if (c->layers < 1)
        return err_set("%s: bad num_hidden_layers", path);
    if (config_count(&local, root, "local_attention", 128, path) < 0 ||
        read_base(&c->rope_theta, root, "full_attention", path) < 0)
        return -1;
    if (js_is_null(js_get(root, "local_rope_theta"))) /* so transformers understands null */
        c->local_theta = c->rope_theta;
    if (read_base(&c->local_theta, root, "sliding_attention", path) < 0)
        return -1;
    if (c->local_pause < 1 || local < 0)
        return err_set("%s: bad global_attn_every_n_layers or local_attention: %lld and %lld", path,
                       (long long)c->local_pause, (long long)local);
    c->window = local / 2 + 1;
    return read_pause(c, root, path);
}

static void print_rest(struct buf *out, const struct model_config *c)
{
    buf_addf(out, "  \"local_attention\": %lld,\n", (long long)(2 * (c->window - 1)));
    buf_adds(out, "  \"pad_token_id\": null,\n  \"bos_token_id\": null,\n"
                  "  \"eos_token_id\": null,\n  \"cls_token_id\": null,\n"
                  "  \"sep_token_id\": null,\n");
}

static const char *const passed_over[] = { "head.", "decoder.", "classifier.", NULL };
static const char *const settings[] = { "rope-theta", NULL };

const struct architecture architecture_modernbert = {
    .name = "modernbert",
    .title = "ModernBERT",
    .classes = { [HEAD_NONE] = "ModernBertModel", [HEAD_PRETRAINING] = "ModernBertForMaskedLM" },
    .keys = keys,
    .read = read_rest,
    .print = print_rest,
    .layer = layer,
    .names = { .words = "model.embeddings.tok_embeddings.weight",
               .norm = "model.embeddings.norm",
               .layer = "model.layers.%lld.",
               .decoder = "decoder.weight",
               .dense = "head.dense",
               .dense_norm = "head.norm",
               .bias = "decoder.bias" },
    .unbiased = 1,
    .prefix = "model.",
    .passed_over = passed_over,
    .activation = OPS_GELU,
    .settings = settings,
    .init = init,
};
