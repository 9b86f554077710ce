/* Llama: pre-norm decoder blocks with RMSNorm, rotary positions, a gated MLP, and grouped-query
 * attention (Touvron et al. 2023; Ainslie et al. 2023). Qwen2 adds biases to the projections of
 * queries, keys and values; Qwen3 adds a norm of each head of queries and keys. Mistral has no
 * biases. In SmolLM3 some layers have no rotary positions. Weights of linear maps are stored
 * [in,out]; files store the transpose. */
#include <math.h>

#include "model/network/block.h"

/* clang-format off */
#define BEGIN                                                                                      \
    { LAYER_NORM, { AT_INPUT }, .out = AT_NORMED, .weights = { "input_layernorm" } },              \
    { LAYER_MAPS, { AT_NORMED }, .out = AT_QUERIES,                                                \
      .weights = { "self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj" } }
#define END                                                                                        \
    LAYER_ADDS(AT_HEADS, AT_INPUT, AT_MIDDLE, "self_attn.o_proj", PLACE_ATTENTION),                \
    { LAYER_NORM, { AT_MIDDLE }, .out = AT_BRANCH, .weights = { "post_attention_layernorm" } },    \
    { LAYER_MAPS, { AT_BRANCH }, .out = AT_INNER, .weights = { "mlp.gate_proj", "mlp.up_proj" } }, \
    { LAYER_GATE, { AT_INNER, AT_UP }, .out = AT_ACTIVE },                                         \
    LAYER_ADDS(AT_ACTIVE, AT_MIDDLE, AT_OUTPUT, "mlp.down_proj", PLACE_MLP),                       \
    { .kind = LAYER_END }
/* clang-format on */
static const struct layer_row layer[] = {
    BEGIN,
    { LAYER_ROTATE, .in = { AT_QUERIES, AT_KEYS } },
    { LAYER_ATTEND, { AT_QUERIES, AT_KEYS, AT_VALUES }, .out = AT_HEADS },
    END,
};
static const struct layer_row qwen3_layer[] = {
    BEGIN,
    { LAYER_NORM, { AT_QUERIES }, .out = AT_NORMED_QUERIES, .weights = { "self_attn.q_norm" } },
    { LAYER_NORM, { AT_KEYS }, .out = AT_NORMED_KEYS, .weights = { "self_attn.k_norm" } },
    { LAYER_ROTATE, .in = { AT_NORMED_QUERIES, AT_NORMED_KEYS } },
    { LAYER_ATTEND, { AT_NORMED_QUERIES, AT_NORMED_KEYS, AT_VALUES }, .out = AT_HEADS },
    END,
};

/* Checks LongRoPE's settings. */
static int check_divisors(const struct model_config *c)
{
    const struct ops_stretch *both[] = { &c->rope_stretch, &c->rope_longer };
    for (int k = 0; k < 2; k++) {
        const struct ops_stretch *s = both[k];
        if (s->divided != (c->rope_stretch.divided ? c->head_width / 2 : 0))
            return err_set("LongRoPE has %lld divisors for %lld pairs of a head",
                           (long long)s->divided, (long long)c->head_width / 2);
        for (int64_t i = 0; i < s->divided; i++)
            if (!(s->divisors[i] > 0 && s->divisors[i] < INFINITY))
                return err_set("LongRoPE's divisor %lld is %g, must be above 0", (long long)i,
                               s->divisors[i]);
    }
    return 0;
}

/* Checks YaRN's settings. */
static int check_yarn(const struct model_config *c)
{
    const struct ops_stretch *s = &c->rope_stretch;
    if (!s->yarn ||
        (s->low > 0 && s->high >= s->low && s->original > 0 && s->scale > 0 && c->rope_theta > 1 &&
         s->high < INFINITY && s->original < INFINITY && s->scale < INFINITY))
        return 0;
    return err_set("YaRN's beta_slow is %g, beta_fast %g, original_max_position_embeddings %g, "
                   "attention_factor %g and rope_theta %g, must be above 0, the second not below "
                   "the first and the last above 1",
                   s->low, s->high, s->original, s->scale, c->rope_theta);
}

static int init(struct model *m)
{
    struct model_config *c = &m->config;
    if (c->head_width % 2)
        return err_set("the width of a head is %lld, but rotary positions turn pairs of numbers",
                       (long long)c->head_width);
    if (c->architecture == &architecture_qwen2)
        c->qkv_bias = 1;
    if (c->architecture == &architecture_smollm3 && !c->rope_pause)
        c->rope_pause = 4;
    if (c->rope_pause < 0)
        return err_set("no_rope_layer_interval is %lld, must be above 0", (long long)c->rope_pause);
    if (!c->rope_theta)
        c->rope_theta = 10000;
    if (!(c->rope_theta > 0 && c->rope_theta < INFINITY))
        return err_set("rope_theta is %g, must be above 0", c->rope_theta);
    if (check_yarn(c) < 0 || check_divisors(c) < 0)
        return -1;
    next_token_init(m);
    return 0;
}

/* The default values are those of Hugging Face's configuration classes. 0 heads of keys and values
 * means as many as there are heads of queries. */
#define KEYS(depth, wide, queries, inner_width, kv, longest, words, head, tied, base)              \
    { "hidden_act", CONFIG_ACTIVATION, CONFIG_AT(activation), OPS_SILU, NULL },                    \
        { "num_hidden_layers", CONFIG_COUNT, CONFIG_AT(layers), depth, NULL },                     \
        { "hidden_size", CONFIG_COUNT, CONFIG_AT(width), wide, NULL },                             \
        { "num_attention_heads", CONFIG_COUNT, CONFIG_AT(heads), queries, NULL },                  \
        { "num_key_value_heads", CONFIG_COUNT, CONFIG_AT(kv_heads), kv, NULL },                    \
        { "head_dim", CONFIG_COUNT, CONFIG_AT(head_width), head, NULL },                           \
        { "intermediate_size", CONFIG_COUNT, CONFIG_AT(inner), inner_width, NULL },                \
        { "max_position_embeddings", CONFIG_COUNT, CONFIG_AT(positions), longest, NULL },          \
        { "vocab_size", CONFIG_COUNT, CONFIG_AT(vocabulary), words, NULL },                        \
        { "rms_norm_eps", CONFIG_REAL, CONFIG_AT(epsilon), 1e-6, NULL },                           \
        { "initializer_range", CONFIG_REAL, CONFIG_AT(init_std), 0.02, NULL },                     \
        { "attention_dropout", CONFIG_REAL, CONFIG_AT(attention_dropout), 0, NULL },               \
        { "tie_word_embeddings", CONFIG_NOT, CONFIG_AT(untied), tied, NULL },                      \
    {                                                                                              \
        "rope_theta", CONFIG_REAL, CONFIG_AT(rope_theta), base, NULL                               \
    }

static const struct config_key llama_keys[] = {
    KEYS(32, 4096, 32, 11008, 0, 2048, 32000, 0, 0, 10000),
    { "attention_bias", CONFIG_FLAG, CONFIG_AT(qkv_bias), 0, NULL },
    { "mlp_bias", CONFIG_FLAG, CONFIG_AT(mlp_bias), 0, NULL },
    { 0 },
};
static const struct config_key qwen2_keys[] = {
    KEYS(32, 4096, 32, 22016, 32, 32768, 151936, 0, 0, 10000), { 0 }
};
static const struct config_key qwen3_keys[] = {
    KEYS(32, 4096, 32, 22016, 32, 32768, 151936, 128, 0, 10000),
    { "attention_bias", CONFIG_FLAG, CONFIG_AT(qkv_bias), 0, NULL },
    { 0 },
};
static const struct config_key smollm3_keys[] = {
    KEYS(36, 2048, 16, 11008, 4, 32768, 128256, 0, 1, 2000000),
    { "attention_bias", CONFIG_FLAG, CONFIG_AT(qkv_bias), 0, NULL },
    { "mlp_bias", CONFIG_FLAG, CONFIG_AT(mlp_bias), 0, NULL },
    { "no_rope_layer_interval", CONFIG_COUNT, CONFIG_AT(rope_pause), 4, NULL },
    { 0 },
};
static const struct config_key mistral_keys[] = {
    KEYS(32, 4096, 32, 14336, 8, 131072, 32000, 0, 0, 10000), { 0 }
};

static int read_llama3(struct ops_stretch *s, const struct js *rope, const char *path)
{
    if (config_real(&s->low, rope, "low_freq_factor", 0, path) < 0 ||
        config_real(&s->high, rope, "high_freq_factor", 0, path) < 0)
        return -1;
    if (s->low > 0 && s->high > s->low && s->original > 0)
        return 0;
    return err_set("%s: bad rope_scaling: low_freq_factor is %g, high_freq_factor %g and "
                   "original_max_position_embeddings %g, must be above 0 and the second above the "
                   "first",
                   path, s->low, s->high, s->original);
}

/* Reads YaRN's settings. A limit of 0 means the usual one, as it does in transformers. */
static int read_yarn(struct ops_stretch *s, const struct js *rope, const char *path)
{
    double weight, all;
    if (config_real(&s->low, rope, "beta_slow", 1, path) < 0 ||
        config_real(&s->high, rope, "beta_fast", 32, path) < 0 ||
        config_real(&weight, rope, "mscale", 0, path) < 0 ||
        config_real(&all, rope, "mscale_all_dim", 0, path) < 0)
        return -1;
    s->yarn = 1;
    s->whole = 1;
    if (js_get(rope, "truncate") && js_bool(js_get(rope, "truncate"), &s->whole) < 0)
        return err_set("%s: bad truncate: not true or false", path);
    s->low = s->low ? s->low : 1;
    s->high = s->high ? s->high : 32;
    const int both = weight && all;
    return config_real(&s->scale, rope, "attention_factor",
                       ops_yarn_scale(s->factor, both ? weight : 1) /
                           (both ? ops_yarn_scale(s->factor, all) : 1),
                       path);
}

/* Sets *out to the length of the texts that the model was trained on before it was stretched. */
static int read_original(double *out, const struct js *root, const struct js *rope,
                         const char *path)
{
    static const char key[] = "original_max_position_embeddings";
    double inside, longest;
    return config_real(&longest, root, "max_position_embeddings", 0, path) < 0 ||
                   config_real(&inside, rope, key, longest, path) < 0
               ? -1
               : config_real(out, root, key, inside, path);
}

static int read_list(struct ops_stretch *s, const struct js *rope, const char *key,
                     const char *path)
{
    const struct js *list = js_get(rope, key);
    double x;
    s->divided = (int64_t)js_count(list);
    if (!js_is_array(list) || s->divided < 1 || s->divided > OPS_DIVISORS)
        return err_set("%s: bad %s: not a list of 1 to %d numbers", path, key, OPS_DIVISORS);
    for (int64_t i = 0; i < s->divided; i++) {
        if (js_real(js_at(list, (size_t)i), &x) < 0)
            return err_set("%s: bad %s: item %lld is not a number", path, key, (long long)i);
        s->divisors[i] = (float)x;
    }
    return 0;
}

/* Reads LongRoPE's two lists and its scale, which by default depends on the lengthening factor. */
static int read_longrope(struct model_config *c, const struct js *root, const struct js *rope,
                         const char *path)
{
    struct ops_stretch *s = &c->rope_stretch;
    double factor, longest;
    if (read_original(&s->original, root, rope, path) < 0 ||
        config_real(&longest, root, "max_position_embeddings", (double)c->positions, path) < 0 ||
        config_real(&factor, rope, "factor", longest / s->original, path) < 0)
        return -1;
    if (!(s->original > 1 && s->original < INFINITY))
        return err_set("%s: bad original_max_position_embeddings: %g, must be above 1", path,
                       s->original);
    const double usual = factor > 1 ? sqrt(1 + log(factor) / log(s->original)) : 1;
    if (config_real(&s->scale, rope, "attention_factor", usual, path) < 0)
        return -1;
    if (!(s->scale > 0 && s->scale < INFINITY))
        return err_set("%s: bad attention_factor: %g, must be above 0", path, s->scale);
    c->rope_longer = *s;
    return read_list(s, rope, "short_factor", path) < 0
               ? -1
               : read_list(&c->rope_longer, rope, "long_factor", path);
}

/* Returns the name of a kind of rotary scaling; NULL if there is none. Settings that are a base
 * alone need no name. */
static const char *rope_type(const struct js *rope)
{
    const struct js *v = js_get(rope, "rope_type");
    const size_t base = js_get(rope, "rope_theta") != NULL;
    if (js_is_object(rope) && js_count(rope) == base)
        return "default";
    return js_text(v ? v : js_get(rope, "type"), NULL);
}

/* Reads the rotary settings: from rope_scaling (older files, with rope_theta outside), else from
 * rope_parameters (newer files, with rope_theta inside). Returns 0, or -1 with an error set. */
static int read_rope(struct model_config *c, const struct js *root, const char *path)
{
    const struct js *older = js_get(root, "rope_scaling"), *newer = js_get(root, "rope_parameters");
    const struct js *rope = js_is_set(older) ? older : newer;
    const char *type = rope_type(rope);
    double share;
    if (config_real(&share, root, "partial_rotary_factor", 1, path) < 0 ||
        config_real(&share, rope, "partial_rotary_factor", share, path) < 0 ||
        config_real(&c->rope_theta, rope, "rope_theta", c->rope_theta, path) < 0)
        return -1;
    if (share != 1)
        return err_set("%s: unsupported partial_rotary_factor %g, only 1", path, share);
    if (!js_is_set(rope))
        return 0;
    if (js_get(newer, "rope_theta") && !js_get(rope, "rope_theta") && !js_get(root, "rope_theta"))
        return err_set("%s: rope_scaling has no rope_theta, and rope_parameters has one: keep one "
                       "of the two",
                       path);
    if (type && !strcmp(type, "default"))
        return 0;
    if (type && !strcmp(type, "longrope"))
        return read_longrope(c, root, rope, path);
    struct ops_stretch *s = &c->rope_stretch;
    const int llama3 = type && !strcmp(type, "llama3"), yarn = type && !strcmp(type, "yarn"),
              dynamic = type && !strcmp(type, "dynamic");
    if (!type || (strcmp(type, "linear") && !llama3 && !yarn && !dynamic))
        return err_set("%s: unsupported rope_type '%s', only default, linear, llama3, yarn, "
                       "dynamic and longrope",
                       path, type ? type : "");
    double *factor = dynamic ? &c->rope_dynamic : &s->factor;
    if (config_real(factor, rope, "factor", 0, path) < 0)
        return -1;
    if (!(*factor >= 1 && *factor < INFINITY))
        return err_set("%s: bad factor of rope_scaling: %g, must be at least 1", path, *factor);
    if ((llama3 || yarn) && read_original(&s->original, root, rope, path) < 0)
        return -1;
    if (yarn && read_yarn(s, rope, path) < 0)
        return -1;
    return check_yarn(c) < 0 ? err_in("%s", path) : llama3 ? read_llama3(s, rope, path) : 0;
}

/* Sets *window to the sliding window of config.json, 0: none. Without the key it is 4096. */
static int read_window(int64_t *window, const struct js *root, const char *path)
{
    const int64_t absent = js_is_null(js_get(root, "sliding_window")) ? 0 : 4096;
    if (config_count(window, root, "sliding_window", absent, path) < 0)
        return -1;
    return *window >= 0 ? 0 : err_set("%s: bad sliding_window: %lld", path, (long long)*window);
}

/* Returns 1 if config.json lists a layer of this kind, else 0. */
static int lists_layer(const struct js *root, const char *kind)
{
    const struct js *list = js_get(root, "layer_types");
    int found = 0;
    for (size_t i = 0; i < js_count(list); i++)
        found |= js_text_is(js_at(list, i), kind);
    return found;
}

/* Limits the positions to the window. In texts that fit into it, layers with and without a window
 * compute the same; a Qwen may have both. */
static int stay_in_window(struct model_config *c, const struct js *root, const char *path)
{
    int64_t window;
    if (!js_flag(root, "use_sliding_window", 0) && !lists_layer(root, "sliding_attention"))
        return 0;
    if (read_window(&window, root, path) < 0)
        return -1;
    if (window && window < c->positions)
        c->positions = window;
    return 0;
}

static int read_rest(struct model_config *c, const struct js *root, const char *path)
{
    c->out_bias = c->qkv_bias;
    if (js_is_null(js_get(root, "num_key_value_heads")))
        c->kv_heads = 0;
    return read_rope(c, root, path);
}

static int read_qwen(struct model_config *c, const struct js *root, const char *path)
{
    return stay_in_window(c, root, path) < 0 ? -1 : read_rest(c, root, path);
}

/* Reads no_rope_layers: 0 for layers without rotary positions, which must be at an interval. */
static int read_smollm3(struct model_config *c, const struct js *root, const char *path)
{
    const struct js *list = js_get(root, "no_rope_layers");
    int64_t turns, first = 0;
    if (c->rope_pause < 1)
        return err_set("%s: bad no_rope_layer_interval: %lld, must be above 0", path,
                       (long long)c->rope_pause);
    for (int64_t i = 0; js_is_set(list) && i < c->layers; i++) {
        if (js_int(js_at(list, (size_t)i), &turns) < 0 || turns < 0 || turns > 1)
            return err_set("%s: bad no_rope_layers: number %lld is missing or neither 0 nor 1",
                           path, (long long)i);
        if (!turns && !first)
            first = i + 1;
        if (first && turns != ((i + 1) % first != 0))
            return err_set("%s: unsupported no_rope_layers: the layers with 0 are not at an "
                           "interval",
                           path);
    }
    if (js_is_set(list))
        c->rope_pause = first ? first : c->layers + 1;
    return read_qwen(c, root, path);
}

static int read_mistral(struct model_config *c, const struct js *root, const char *path)
{
    if (read_window(&c->window, root, path) < 0)
        return -1;
    if (c->window && lists_layer(root, "full_attention"))
        return err_set("%s: unsupported layer_types: 'full_attention' beside a sliding_window",
                       path);
    return read_rest(c, root, path);
}

static void print_list(struct buf *out, const char *key, const struct ops_stretch *s)
{
    buf_addf(out, ", \"%s\": [", key);
    for (int64_t i = 0; i < s->divided; i++)
        buf_addf(out, "%s%.9g", i ? ", " : "", s->divisors[i]);
    buf_adds(out, "]");
}

static void print_rest(struct buf *out, const struct model_config *c)
{
    const struct ops_stretch *s = &c->rope_stretch;
    if (c->window)
        buf_addf(out, "  \"sliding_window\": %lld,\n", (long long)c->window);
    else if (c->architecture != &architecture_llama)
        buf_adds(out, "  \"sliding_window\": null,\n");
    if (c->architecture == &architecture_smollm3) /* its usual token is not in each vocabulary */
        buf_adds(out, "  \"pad_token_id\": null,\n");
    if (s->divided) {
        buf_addf(out,
                 "  \"original_max_position_embeddings\": %.0f,\n"
                 "  \"rope_scaling\": {\"rope_type\": \"longrope\", \"attention_factor\": %.17g, "
                 "\"original_max_position_embeddings\": %.0f",
                 s->original, s->scale, s->original);
        print_list(out, "short_factor", s);
        print_list(out, "long_factor", &c->rope_longer);
        buf_adds(out, "},\n");
    }
    if (!s->factor && !c->rope_dynamic)
        return;
    buf_addf(out, "  \"rope_scaling\": {\"rope_type\": \"%s\", \"factor\": %.17g",
             s->yarn           ? "yarn"
             : c->rope_dynamic ? "dynamic"
             : s->original     ? "llama3"
                               : "linear",
             s->factor ? s->factor : c->rope_dynamic);
    if (s->original)
        buf_addf(out,
                 ", \"%s\": %.17g, \"%s\": %.17g, "
                 "\"original_max_position_embeddings\": %.0f",
                 s->yarn ? "beta_slow" : "low_freq_factor", s->low,
                 s->yarn ? "beta_fast" : "high_freq_factor", s->high, s->original);
    if (s->yarn && s->scale != ops_yarn_scale(s->factor, 1))
        buf_addf(out, ", \"attention_factor\": %.17g", s->scale);
    if (s->yarn && !s->whole)
        buf_adds(out, ", \"truncate\": false");
    buf_adds(out, "},\n");
}

static const char *const passed_over[] = { ".rotary_emb.inv_freq", "rotary_emb.inv_freq", "score.",
                                           "classifier.",          "qa_outputs.",         NULL };
/* The first entry of each of these two lists is for Mistral alone. */
static const char *const settings[] = { "window",     "kv-heads", "head-width",
                                        "rope-theta", "untied",   NULL };
static const struct config_key gguf_keys[] = {
    { "attention.sliding_window", CONFIG_COUNT, CONFIG_AT(window), 0, "left out" },
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
/* GGUF files store Mistral models under the architecture name "llama". */
static const struct architecture_gguf llama_gguf = { "llama", gguf_keys + 1, 1, NULL };
static const struct architecture_gguf mistral_gguf = { "llama", gguf_keys, 1,
                                                       "llama.attention.sliding_window" };
static const struct architecture_gguf qwen2_gguf = { "qwen2", gguf_keys + 1, 0, NULL };

static const struct architecture_gguf qwen3_gguf = { "qwen3", gguf_keys + 1, 0, NULL };
/* SmolLM3's files do not tell the interval of layers without rotary positions, which is 4. */
static const struct architecture_gguf smollm3_gguf = { "smollm3", gguf_keys + 1, 1, NULL };

/* Makes a row: the parameters are what differs between the architectures of this file, the rest is
 * the same for all. cuts: own_cuts; windowed: 1 for Mistral; list: the layers' operations. */
#define ROW(tag, shown, class, cuts, windowed, list, entries, reader, file)                        \
    {                                                                                              \
        .name = tag, .title = shown, .classes = { [HEAD_NEXT] = class }, .own_cuts = cuts,         \
        .settings = settings + !windowed, .layer = list, .keys = entries, .read = reader,          \
        .gguf = &file, .print = print_rest, .prefix = "model.", .passed_over = passed_over,        \
        .rms = 1, .unbiased = 1, .activation = OPS_SILU, .init = init, .names = {                  \
            .words = "model.embed_tokens.weight",                                                  \
            .layer = "model.layers.%lld.",                                                         \
            .last_norm = "model.norm",                                                             \
            .decoder = "lm_head.weight"                                                            \
        }                                                                                          \
    }

const struct architecture architecture_llama = ROW("llama", "Llama", "LlamaForCausalLM", 0, 0,
                                                   layer, llama_keys, read_rest, llama_gguf);
const struct architecture architecture_qwen2 = ROW("qwen2", "Qwen2", "Qwen2ForCausalLM", 1, 0,
                                                   layer, qwen2_keys, read_qwen, qwen2_gguf);
const struct architecture architecture_qwen3 = ROW("qwen3", "Qwen3", "Qwen3ForCausalLM", 0, 0,
                                                   qwen3_layer, qwen3_keys, read_qwen, qwen3_gguf);
const struct architecture architecture_smollm3 = ROW("smollm3", "SmolLM3", "SmolLM3ForCausalLM", 0,
                                                     0, layer, smollm3_keys, read_smollm3,
                                                     smollm3_gguf);
const struct architecture architecture_mistral = ROW("mistral", "Mistral", "MistralForCausalLM", 0,
                                                     1, layer, mistral_keys, read_mistral,
                                                     mistral_gguf);
