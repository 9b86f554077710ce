/* BERT: a post-layer-norm encoder with bidirectional attention (Devlin et al. 2019). Its heads are
 * in bert_pretraining.c, bert_questions.c and bert_classes.c. DistilBERT is the same without
 * segments, and without dropout between attention and its norm (Sanh et al. 2019). Weights of
 * linear maps are [in,out] in memory; Hugging Face's files have the transpose, so reading and
 * writing transpose them. */
#include "model/network/bert_head.h"
#include "model/network/embedding.h"
#include "model/network/split.h"

static const struct layer_row bert_layer[] = {
    { LAYER_MAPS,
      { AT_INPUT },
      .out = AT_QUERIES,
      .weights = { "attention.self.query", "attention.self.key", "attention.self.value" } },
    { LAYER_ATTEND, { AT_QUERIES, AT_KEYS, AT_VALUES }, .out = AT_HEADS },
    LAYER_ADDS(AT_HEADS, AT_INPUT, AT_MIDDLE, "attention.output.dense", PLACE_ATTENTION),
    { LAYER_NORM, { AT_MIDDLE }, .out = AT_BRANCH, .weights = { "attention.output.LayerNorm" } },
    { LAYER_MAPS, { AT_BRANCH }, .out = AT_INNER, .weights = { "intermediate.dense" } },
    { LAYER_ACTIVATE, { AT_INNER }, .out = AT_ACTIVE },
    LAYER_ADDS(AT_ACTIVE, AT_BRANCH, AT_SUM, "output.dense", PLACE_MLP),
    { LAYER_NORM, { AT_SUM }, .out = AT_OUTPUT, .weights = { "output.LayerNorm" } },
    { .kind = LAYER_END },
};
static const struct layer_row distilbert_layer[] = {
    { LAYER_MAPS,
      { AT_INPUT },
      .out = AT_QUERIES,
      .weights = { "attention.q_lin", "attention.k_lin", "attention.v_lin" } },
    { LAYER_ATTEND, { AT_QUERIES, AT_KEYS, AT_VALUES }, .out = AT_HEADS },
    LAYER_ADDS(AT_HEADS, AT_INPUT, AT_MIDDLE, "attention.out_lin", PLACE_NONE),
    { LAYER_NORM, { AT_MIDDLE }, .out = AT_BRANCH, .weights = { "sa_layer_norm" } },
    { LAYER_MAPS, { AT_BRANCH }, .out = AT_INNER, .weights = { "ffn.lin1" } },
    { LAYER_ACTIVATE, { AT_INNER }, .out = AT_ACTIVE },
    LAYER_ADDS(AT_ACTIVE, AT_BRANCH, AT_SUM, "ffn.lin2", PLACE_MLP),
    { LAYER_NORM, { AT_SUM }, .out = AT_OUTPUT, .weights = { "output_layer_norm" } },
    { .kind = LAYER_END },
};

static const double DISTILBERT_EPSILON = 1e-12;

static int check(struct model *m)
{
    struct model_config *c = &m->config;
    const int64_t least = c->architecture != &architecture_distilbert;
    if (c->architecture == &architecture_roberta && !c->types)
        c->types = 1;
    if (c->kv_heads != c->heads ||
        c->heads * c->head_width * split_ranks(m, SPLIT_HEADS) != split_width(m))
        return err_set("BERT has as many heads of keys and values as of queries, which divide "
                       "the width");
    if (c->types < least || c->types > 1 << 24)
        return err_set("types is %lld, must be from %lld to %d", (long long)c->types,
                       (long long)least, 1 << 24);
    if (c->architecture == &architecture_distilbert)
        c->epsilon = DISTILBERT_EPSILON;
    else if (c->head != HEAD_CLASSES)
        c->head_dropout = 0;
    c->qkv_bias = c->out_bias = c->mlp_bias = 1;
    return 0;
}

static int init(struct model *m)
{
    if (check(m) < 0)
        return -1;
    embedding_init(m);
    layer_init(m);
    if (m->config.head == HEAD_PRETRAINING)
        bert_pretraining_init(m);
    else if (m->config.head == HEAD_QUESTIONS)
        bert_questions_init(m);
    else if (m->config.head == HEAD_CLASSES)
        bert_classes_init(m);
    return 0;
}

/* Sets the embedding's dropout, which config.json lacks, to that of the layers. Returns 0. */
static int read_rest(struct model_config *c, const struct js *, const char *)
{
    c->embedding_dropout = c->residual_dropout;
    return 0;
}

static void print_rest(struct buf *out, const struct model_config *)
{
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
                                           "lm_head.",
                                           "vocab_",
                                           "qa_outputs.",
                                           "pre_classifier.",
                                           "classifier.",
                                           NULL };

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

/* GGUF stores DistilBERT as a "bert" without segments. */
static const struct architecture_gguf bert_gguf = { "bert", gguf_keys, 0, "token_types.weight" };
static const struct architecture_gguf distilbert_gguf = { "bert", gguf_keys, 0, NULL };

/* ---- the rows ----------------------------------------------------------------------------- */

/* What the rows of this file share; the names of their tensors begin with `start`. */
#define ROW(tag, shown, start, operations)                                                         \
    .name = tag, .title = shown, .prefix = start, .layer = operations, .activation = OPS_GELU,     \
    .passed_over = passed_over, .init = init,                                                      \
    .names.words = start "embeddings.word_embeddings.weight",                                      \
    .names.positions = start "embeddings.position_embeddings.weight",                              \
    .names.norm = start "embeddings.LayerNorm"

const struct architecture architecture_bert = {
    ROW("bert", "BERT", "bert.", bert_layer),
    .sign = "hidden_size",
    .classes = { [HEAD_NONE] = "BertModel",
                 [HEAD_PRETRAINING] = "BertForPreTraining",
                 [HEAD_QUESTIONS] = "BertForQuestionAnswering",
                 [HEAD_CLASSES] = "BertForSequenceClassification" },
    .keys = bert_keys,
    .read = read_rest,
    .print = print_rest,
    .names.types = "bert.embeddings.token_type_embeddings.weight",
    .names.layer = "bert.encoder.layer.%lld.",
    .names.pooler = "bert.pooler.dense",
    .names.next = "cls.seq_relationship",
    .names.classes = "classifier",
    .names.dense = "cls.predictions.transform.dense",
    .names.dense_norm = "cls.predictions.transform.LayerNorm",
    .names.decoder = "cls.predictions.decoder.weight",
    .names.bias = "cls.predictions.bias",
    .respelled = norms,
    .gguf = &bert_gguf,
    .settings = bert_settings,
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

static const char *const no_settings[] = { NULL };

const struct architecture architecture_distilbert = {
    ROW("distilbert", "DistilBERT", "distilbert.", distilbert_layer),
    .classes = { [HEAD_NONE] = "DistilBertModel",
                 [HEAD_QUESTIONS] = "DistilBertForQuestionAnswering" },
    .keys = distilbert_keys,
    .read = read_distilbert,
    .print = print_rest,
    .names.layer = "distilbert.transformer.layer.%lld.",
    .respelled = norms,
    .gguf = &distilbert_gguf,
    .settings = no_settings,
};

/* ---- RoBERTa ------------------------------------------------------------------------------ */

/* Reads the rest of the settings; the keys are BERT's. pad_token_id says where positions begin. */
static int read_roberta(struct model_config *c, const struct js *root, const char *path)
{
    const struct js *key = js_get(root, "pad_token_id");
    int64_t padding = 1;
    if (js_is_set(key) && js_int(key, &padding) < 0)
        padding = -1;
    if (padding != 1 || c->untied || c->bare_head || c->dropout_first)
        return err_set("%s: unsupported RoBERTa: pad_token_id must be 1, and the decoder tied",
                       path);
    return read_rest(c, root, path);
}

static void print_roberta(struct buf *out, const struct model_config *)
{
    buf_adds(out, "  \"pad_token_id\": 1,\n  \"bos_token_id\": 0,\n  \"eos_token_id\": 2,\n");
}

const struct architecture architecture_roberta = {
    ROW("roberta", "RoBERTa", "roberta.", bert_layer),
    .classes = { [HEAD_NONE] = "RobertaModel",
                 [HEAD_PRETRAINING] = "RobertaForMaskedLM",
                 [HEAD_CLASSES] = "RobertaForSequenceClassification" },
    .keys = bert_keys,
    .read = read_roberta,
    .print = print_roberta,
    .names.types = "roberta.embeddings.token_type_embeddings.weight",
    .names.layer = "roberta.encoder.layer.%lld.",
    .names.pooler = "classifier.dense",
    .names.classes = "classifier.out_proj",
    .names.dense = "lm_head.dense",
    .names.dense_norm = "lm_head.layer_norm",
    .names.decoder = "lm_head.decoder.weight",
    .names.bias = "lm_head.bias",
    .first_position = 2,
    .settings = no_settings,
};
