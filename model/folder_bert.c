/* config.json of BERT. Absent keys have the defaults of Hugging Face's BertConfig. Two keys are
 * ours, and written only where they matter: "embedding_dropout_first" and "bare_prediction_head"
 * (model.h). */
#include <string.h>

#include "common/err.h"
#include "model/folder_config.h"

static const struct {
    const char *architecture;
    enum model_kind kind;
} architectures[] = {
    { "BertModel", MODEL_BERT },
    { "BertForPreTraining", MODEL_BERT_PRETRAINING },
    { "BertForQuestionAnswering", MODEL_BERT_QUESTIONS },
};
enum { ARCHITECTURES = sizeof architectures / sizeof *architectures };

/* Of a model that has other heads the encoder is of use. */
static enum model_kind kind_of(const struct js *root)
{
    const char *name = js_text(js_at(js_get(root, "architectures"), 0), NULL);
    for (int i = 0; name && i < ARCHITECTURES; i++)
        if (!strcmp(name, architectures[i].architecture))
            return architectures[i].kind;
    return MODEL_BERT;
}

static int read_activation(struct model_config *c, const struct js *root, const char *path)
{
    const struct js *v = js_get(root, "hidden_act");
    const char *activation = v ? js_text(v, NULL) : "gelu";
    if (!activation)
        return err_set("%s: bad hidden_act: not a string", path);
    c->gelu_tanh = !strcmp(activation, "gelu_new") || !strcmp(activation, "gelu_pytorch_tanh");
    if (!c->gelu_tanh && strcmp(activation, "gelu"))
        return err_set("%s: unsupported hidden_act '%s', only gelu, gelu_new and "
                       "gelu_pytorch_tanh",
                       path, activation);
    v = js_get(root, "position_embedding_type");
    const char *positions = v ? js_text(v, NULL) : "absolute";
    if (!positions || strcmp(positions, "absolute"))
        return err_set("%s: unsupported position_embedding_type '%s', only absolute", path,
                       positions ? positions : "");
    return 0;
}

static int read_flag(int *out, const struct js *root, const char *key, const char *path)
{
    const struct js *v = js_get(root, key);
    *out = 0;
    if (v && !js_is_null(v) && js_bool(v, out) < 0)
        return err_set("%s: bad %s: not true or false", path, key);
    return 0;
}

int config_read_bert(struct model_config *c, const struct js *root, const char *path)
{
    c->kind = kind_of(root);
    if (read_activation(c, root, path) < 0 || config_switch(root, "is_decoder", 0, path) < 0 ||
        config_switch(root, "add_cross_attention", 0, path) < 0 ||
        config_count(&c->layers, root, "num_hidden_layers", 12, path) < 0 ||
        config_count(&c->width, root, "hidden_size", 768, path) < 0 ||
        config_count(&c->heads, root, "num_attention_heads", 12, path) < 0 ||
        config_count(&c->inner, root, "intermediate_size", 3072, path) < 0 ||
        config_count(&c->positions, root, "max_position_embeddings", 512, path) < 0 ||
        config_count(&c->vocabulary, root, "vocab_size", 30522, path) < 0 ||
        config_count(&c->types, root, "type_vocab_size", 2, path) < 0 ||
        config_real(&c->epsilon, root, "layer_norm_eps", 1e-12, path) < 0 ||
        config_real(&c->residual_dropout, root, "hidden_dropout_prob", 0.1, path) < 0 ||
        config_real(&c->attention_dropout, root, "attention_probs_dropout_prob", 0.1, path) < 0 ||
        config_real(&c->init_std, root, "initializer_range", 0.02, path) < 0 ||
        read_flag(&c->dropout_first, root, "embedding_dropout_first", path) < 0 ||
        read_flag(&c->bare_head, root, "bare_prediction_head", path) < 0)
        return -1;
    c->embedding_dropout = c->residual_dropout; /* one key for both */
    return 0;
}

void config_print_bert(struct buf *out, const struct model_config *c, const char *type)
{
    const char *architecture = architectures[0].architecture;
    for (int i = 0; i < ARCHITECTURES; i++)
        if (architectures[i].kind == c->kind)
            architecture = architectures[i].architecture;
    buf_addf(out, "{\n  \"architectures\": [\"%s\"],\n  \"model_type\": \"bert\",\n", architecture);
    buf_addf(out, "  \"hidden_act\": \"%s\",\n", c->gelu_tanh ? "gelu_new" : "gelu");
    buf_addf(out, "  \"num_hidden_layers\": %lld,\n  \"hidden_size\": %lld,\n",
             (long long)c->layers, (long long)c->width);
    buf_addf(out, "  \"num_attention_heads\": %lld,\n  \"intermediate_size\": %lld,\n",
             (long long)c->heads, (long long)c->inner);
    buf_addf(out, "  \"max_position_embeddings\": %lld,\n  \"vocab_size\": %lld,\n",
             (long long)c->positions, (long long)c->vocabulary);
    buf_addf(out, "  \"type_vocab_size\": %lld,\n", (long long)c->types);
    buf_addf(out, "  \"layer_norm_eps\": %.17g,\n  \"initializer_range\": %.17g,\n", c->epsilon,
             c->init_std);
    buf_addf(out, "  \"hidden_dropout_prob\": %.17g,\n  \"attention_probs_dropout_prob\": %.17g,\n",
             c->residual_dropout, c->attention_dropout);
    if (c->dropout_first)
        buf_adds(out, "  \"embedding_dropout_first\": true,\n");
    if (c->bare_head)
        buf_adds(out, "  \"bare_prediction_head\": true,\n");
    buf_adds(out, "  \"position_embedding_type\": \"absolute\",\n  \"pad_token_id\": 0,\n");
    buf_addf(out, "  \"torch_dtype\": \"%s\"\n}\n", type);
}
