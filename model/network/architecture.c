#include "model/network/architecture.h"

static const struct architecture *const rows[] = {
    &architecture_gpt2,       &architecture_llama,      &architecture_mistral,
    &architecture_qwen2,      &architecture_qwen3,      &architecture_smollm3,
    &architecture_bert,       &architecture_distilbert, &architecture_roberta,
    &architecture_modernbert,
};
enum { ROWS = sizeof rows / sizeof *rows };

const struct architecture *architecture_at(size_t i)
{
    return i < ROWS ? rows[i] : NULL;
}

const struct architecture *architecture_default(enum model_head head)
{
    size_t i = 0;
    while (!rows[i]->classes[head])
        i++;
    return rows[i];
}

/* Appends the names of the architectures that support the head to `out`, as "a, b and c". */
static void list_names(struct buf *out, enum model_head head)
{
    size_t left = 0;
    for (size_t i = 0; i < ROWS; i++)
        left += rows[i]->classes[head] != NULL;
    for (size_t i = 0; i < ROWS; i++)
        if (rows[i]->classes[head]) {
            left--;
            buf_addf(out, "%s%s", rows[i]->name, left > 1 ? ", " : left ? " and " : "");
        }
}

static const struct architecture *unknown(const char *what, const char *name, enum model_head head)
{
    SCOPED(buf) names = BUF_INIT;
    list_names(&names, head);
    err_set("%s '%s', only %s", what, name, names.data);
    return NULL;
}

static const struct architecture *find(const char *name, enum model_head head)
{
    for (size_t i = 0; i < ROWS; i++)
        if (rows[i]->classes[head] && !strcmp(rows[i]->name, name))
            return rows[i];
    return NULL;
}

const struct architecture *architecture_find(const char *name, enum model_head head)
{
    const struct architecture *a = find(name, head);
    return a ? a : unknown("unsupported architecture", name, head);
}

/* ---- values ------------------------------------------------------------------------------- */

/* Returns the value of a key; NULL if it is missing or null. */
static const struct js *value_of(const struct js *root, const char *key)
{
    const struct js *v = js_get(root, key);
    return js_is_set(v) ? v : NULL;
}

int config_count(int64_t *out, const struct js *root, const char *key, int64_t absent,
                 const char *path)
{
    const struct js *v = value_of(root, key);
    *out = absent;
    return v && js_int(v, out) < 0 ? err_set("%s: bad %s: not an integer", path, key) : 0;
}

int config_real(double *out, const struct js *root, const char *key, double absent,
                const char *path)
{
    const struct js *v = value_of(root, key);
    *out = absent;
    return v && js_real(v, out) < 0 ? err_set("%s: bad %s: not a number", path, key) : 0;
}

static int read_flag(int *out, const struct js *root, const struct config_key *k, const char *path)
{
    const struct js *v = value_of(root, k->key);
    *out = k->absent != 0;
    if (v && js_bool(v, out) < 0)
        return err_set("%s: bad %s: not true or false", path, k->key);
    *out ^= k->form == CONFIG_NOT;
    return 0;
}

/* The names of activations in config.json; the first name of an activation is written. */
static const struct {
    const char *word;
    enum ops_activation activation;
} activations[] = {
    { "gelu_new", OPS_GELU_TANH },  { "gelu_pytorch_tanh", OPS_GELU_TANH },
    { "gelu_fast", OPS_GELU_TANH }, { "gelu", OPS_GELU },
    { "relu", OPS_RELU },           { "silu", OPS_SILU },
    { "swish", OPS_SILU },
};
enum { ACTIVATIONS = sizeof activations / sizeof *activations };

static int read_activation(enum ops_activation *out, const struct js *root,
                           const struct config_key *k, const char *path)
{
    const struct js *v = value_of(root, k->key);
    const char *word = v ? js_text(v, NULL) : NULL;
    *out = (enum ops_activation)k->absent;
    if (v && !word)
        return err_set("%s: bad %s: not a string", path, k->key);
    for (int i = 0; i < ACTIVATIONS && word; i++)
        if (!strcmp(word, activations[i].word)) {
            *out = activations[i].activation;
            word = NULL;
        }
    return word ? err_set("%s: unsupported %s '%s', only gelu, gelu_new, gelu_pytorch_tanh, "
                          "gelu_fast, relu, silu and swish",
                          path, k->key, word)
                : 0;
}

const char *architecture_activation(enum ops_activation activation)
{
    int i = 0;
    while (activations[i].activation != activation)
        i++;
    return activations[i].word;
}

static int check_only(const struct js *root, const struct config_key *k, const char *path)
{
    int value;
    if (read_flag(&value, root, k, path) < 0)
        return -1;
    return value == (k->absent != 0)
               ? 0
               : err_set("%s: unsupported %s: %s", path, k->key, value ? "true" : "false");
}

static int check_text(const struct js *root, const struct config_key *k, const char *path)
{
    const struct js *v = value_of(root, k->key);
    const char *word = v ? js_text(v, NULL) : k->text;
    if (word && !strcmp(word, k->text))
        return 0;
    return err_set("%s: unsupported %s '%s', only %s", path, k->key, word ? word : "", k->text);
}

/* ---- reading ------------------------------------------------------------------------------ */

static int read_key(struct model_config *c, const struct js *root, const struct config_key *k,
                    const char *path)
{
    void *member = (char *)c + k->member;
    switch (k->form) {
    case CONFIG_COUNT:
        return config_count(member, root, value_of(root, k->key) || !k->text ? k->key : k->text,
                            (int64_t)k->absent, path);
    case CONFIG_REAL: return config_real(member, root, k->key, k->absent, path);
    case CONFIG_ACTIVATION: return read_activation(member, root, k, path);
    case CONFIG_ONLY: return check_only(root, k, path);
    case CONFIG_TEXT: return check_text(root, k, path);
    case CONFIG_FLAG:
    case CONFIG_MARK:
    case CONFIG_NOT: break;
    }
    return read_flag(member, root, k, path);
}

/* Reads the classes of a model with a head for them; other models have none. transformers leaves
 * out the names if there are two, LABEL_0 and LABEL_1. */
static int read_classes(struct model_config *c, const struct js *root, const char *path)
{
    const struct js *names = value_of(root, "id2label"), *problem = value_of(root, "problem_type");
    const size_t count = names ? js_count(names) : 2;
    if (!js_text_is(js_at(js_get(root, "architectures"), 0),
                    c->architecture->classes[HEAD_CLASSES]))
        return 0;
    for (size_t i = 0; i < count; i++) {
        char usual[32];
        size_t n;
        int64_t value;
        snprintf(usual, sizeof usual, "LABEL_%zu", i);
        const struct js *own = js_get(names, labels_bare(usual));
        const char *name = js_text(own, &n);
        if (js_int(own, &value) == 0) /* run_glue.py keeps labels that are numbers */
            snprintf(usual, sizeof usual, "%lld", (long long)value);
        else if (names && !name)
            return err_set("%s: bad id2label: no name for class %zu", path, i);
        if (labels_add(&c->classes, name ? name : usual, name ? n : strlen(usual)) < 0)
            return err_in("%s: bad id2label", path);
    }
    c->classes.regression = problem ? js_text_is(problem, "regression") : count == 1;
    if (problem && !c->classes.regression && !js_text_is(problem, "single_label_classification"))
        return err_set("%s: problem_type must be single_label_classification or regression", path);
    return c->classes.regression && count != 1
               ? err_set("%s: %zu numbers are predicted, but only 1 is supported", path, count)
               : 0;
}

static int read_keys(struct model_config *c, const struct js *root, const char *path)
{
    const struct architecture *a = c->architecture;
    const int causal = c->head == HEAD_NEXT;
    if (js_flag(root, "is_causal", causal) != causal)
        return err_set("%s: unsupported is_causal: %s", path, causal ? "false" : "true");
    if (c->head == HEAD_CLASSES && read_classes(c, root, path) < 0)
        return -1;
    for (const struct config_key *k = a->keys; k->key; k++)
        if (read_key(c, root, k, path) < 0)
            return -1;
    if (value_of(root, "quantization_config"))
        return err_set("%s: unsupported quantization_config: weights must be F64, F32, F16 or BF16",
                       path);
    c->positions -= a->first_position;
    return a->read ? a->read(c, root, path) : 0;
}

/* Returns the row of the architecture that the config.json `root` names by its key model_type. If
 * it has no model_type, returns the first row whose `sign` is one of its keys. The row must support
 * `head`. Returns NULL with an error if there is no such row. */
static const struct architecture *row_of(const struct js *root, enum model_head head)
{
    const char *name = js_text(js_get(root, "model_type"), NULL);
    const struct architecture *a = name ? find(name, head) : NULL;
    for (size_t i = 0; i < ROWS && !name && !a; i++)
        if (rows[i]->sign && rows[i]->classes[head] && js_get(root, rows[i]->sign))
            a = rows[i];
    return a ? a : unknown("unsupported model_type", name ? name : "", head);
}

int architecture_read(struct model_config *c, enum model_head head, const char *text, size_t n,
                      const char *name)
{
    SCOPED_JS root = js_parse(text, n, name);
    if (!root)
        return -1;
    *c = (struct model_config){ .architecture = row_of(root, head), .head = head };
    return c->architecture ? read_keys(c, root, name) : err_in("%s", name);
}

/* Sets the error for a config.json, `root`, whose model_type is not supported; it names all that
 * are. Returns -1. */
static int unknown_type(const struct js *root, const char *name)
{
    const char *type = js_text(js_get(root, "model_type"), NULL);
    SCOPED(buf) decoders = BUF_INIT, encoders = BUF_INIT;
    list_names(&decoders, HEAD_NEXT);
    list_names(&encoders, HEAD_NONE);
    return err_set("%s: unsupported model_type '%s', only %s, and the encoders %s", name,
                   type ? type : "", decoders.data, encoders.data);
}

int architecture_head(enum model_head *head, const char *text, size_t n, const char *name)
{
    SCOPED_JS root = js_parse(text, n, name);
    if (!root)
        return -1;
    const struct js *class = js_at(js_get(root, "architectures"), 0);
    const struct architecture *a = row_of(root, HEAD_NEXT);
    *head = a ? HEAD_NEXT : HEAD_NONE;
    if (!a && !(a = row_of(root, HEAD_NONE)))
        return unknown_type(root, name);
    for (int h = 0; h < MODEL_HEADS; h++)
        if (a->classes[h] && js_text_is(class, a->classes[h]))
            *head = (enum model_head)h;
    return 0;
}

/* ---- writing ------------------------------------------------------------------------------ */

static void print_key(struct buf *out, const struct model_config *c, const struct config_key *k)
{
    const void *member = (const char *)c + k->member;
    if (k->form == CONFIG_MARK && !*(const int *)member)
        return;
    buf_addf(out, "  \"%s\": ", k->key);
    switch (k->form) {
    case CONFIG_COUNT: buf_addf(out, "%lld", (long long)*(const int64_t *)member); break;
    case CONFIG_REAL: buf_addf(out, "%.17g", *(const double *)member); break;
    case CONFIG_ACTIVATION:
        buf_addf(out, "\"%s\"", architecture_activation(*(const enum ops_activation *)member));
        break;
    case CONFIG_TEXT: buf_addf(out, "\"%s\"", k->text); break;
    case CONFIG_ONLY: buf_adds(out, k->absent != 0 ? "true" : "false"); break;
    case CONFIG_FLAG:
    case CONFIG_MARK: buf_adds(out, *(const int *)member ? "true" : "false"); break;
    case CONFIG_NOT: buf_adds(out, *(const int *)member ? "false" : "true"); break;
    }
    buf_adds(out, ",\n");
}

static void print_classes(struct buf *out, const struct labels *c)
{
    static const char *const keys[] = { "id2label", "label2id" };
    for (int turned = 0; turned < 2; turned++) {
        buf_addf(out, "  \"%s\": {", keys[turned]);
        for (int64_t i = 0; i < c->count; i++) {
            const char *name = labels_name(c, i);
            buf_adds(out, i ? ", " : "");
            if (!turned)
                buf_addf(out, "\"%lld\": ", (long long)i);
            js_quote(out, name, strlen(name));
            if (turned)
                buf_addf(out, ": %lld", (long long)i);
        }
        buf_adds(out, "},\n");
    }
    buf_addf(out, "  \"problem_type\": \"%s\",\n",
             c->regression ? "regression" : "single_label_classification");
}

void architecture_print_ends(struct buf *out, int64_t begin, const struct ids *ends)
{
    if (begin < 0)
        buf_adds(out, "  \"bos_token_id\": null,\n  \"eos_token_id\": ");
    else
        buf_addf(out, "  \"bos_token_id\": %lld,\n  \"eos_token_id\": ", (long long)begin);
    for (size_t i = 0; i < ends->count; i++)
        buf_addf(out, "%s%u", i ? ", " : ends->count > 1 ? "[" : "", ends->data[i]);
    buf_adds(out, ends->count > 1 ? "],\n" : ends->count ? ",\n" : "null,\n");
}

void architecture_print(struct buf *out, const struct model_config *c, int64_t begin,
                        const struct ids *ends, const char *type)
{
    const struct architecture *a = c->architecture;
    struct model_config file = *c;
    file.positions += a->first_position; /* config.json counts all rows of the table */
    buf_addf(out, "{\n  \"architectures\": [\"%s\"],\n  \"model_type\": \"%s\",\n",
             a->classes[c->head], a->name);
    for (const struct config_key *k = a->keys; k->key; k++)
        print_key(out, &file, k);
    if (a->print)
        a->print(out, c);
    if (c->head == HEAD_CLASSES)
        print_classes(out, &c->classes);
    if (c->head == HEAD_NEXT)
        architecture_print_ends(out, begin, ends);
    buf_addf(out, "  \"torch_dtype\": \"%s\"\n}\n", type);
}
