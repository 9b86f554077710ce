/* GPT-2 and GPT-3: pre-layer-norm decoder blocks with learned positions and a tied decoder
 * (Radford et al. 2019; Brown et al. 2020). Weights of linear maps are stored [in, out], as
 * Hugging Face's Conv1D has them. */
#include "model/network/block.h"
#include "model/network/split.h"

static const struct layer_row layer[] = {
    { LAYER_NORM, { AT_INPUT }, .out = AT_NORMED, .weights = { "ln_1" } },
    { LAYER_MAPS, { AT_NORMED }, .out = AT_QUERIES, .weights = { "attn.c_attn" }, .joined = 3 },
    { LAYER_ATTEND, { AT_QUERIES, AT_KEYS, AT_VALUES }, .out = AT_HEADS },
    LAYER_ADDS(AT_HEADS, AT_INPUT, AT_MIDDLE, "attn.c_proj", PLACE_ATTENTION),
    { LAYER_NORM, { AT_MIDDLE }, .out = AT_BRANCH, .weights = { "ln_2" } },
    { LAYER_MAPS, { AT_BRANCH }, .out = AT_INNER, .weights = { "mlp.c_fc" } },
    { LAYER_ACTIVATE, { AT_INNER }, .out = AT_ACTIVE },
    LAYER_ADDS(AT_ACTIVE, AT_MIDDLE, AT_OUTPUT, "mlp.c_proj", PLACE_MLP),
    { .kind = LAYER_END },
};

static int init(struct model *m)
{
    struct model_config *c = &m->config;
    const int64_t heads = c->heads * split_ranks(m, SPLIT_HEADS);
    if (c->kv_heads != c->heads || heads * c->head_width != c->width * split_ranks(m, SPLIT_WIDTH))
        return err_set("GPT-2 has as many heads of keys and values as of queries, which divide "
                       "the width");
    c->qkv_bias = c->out_bias = c->mlp_bias = 1;
    next_token_init(m);
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

static int read_rest(struct model_config *c, const struct js *, const char *path)
{
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
static const struct architecture_gguf gguf = { "gpt2", gguf_keys, 0, NULL };

const struct architecture architecture_gpt2 = {
    .name = "gpt2",
    .title = "GPT",
    .sign = "n_embd",
    .classes = { [HEAD_NEXT] = "GPT2LMHeadModel" },
    .keys = keys,
    .read = read_rest,
    .print = print_rest,
    .layer = layer,
    .names = { .words = "wte.weight",
               .positions = "wpe.weight",
               .layer = "h.%lld.",
               .last_norm = "ln_f",
               .decoder = "lm_head.weight" },
    .untransposed = 1,
    .scaled_ends = 1,
    .prefix = "transformer.",
    .bare = 1,
    .passed_over = passed_over,
    .gguf = &gguf,
    .activation = OPS_GELU_TANH,
    .settings = settings,
    .init = init,
};
