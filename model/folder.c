#include "model/folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/err.h"
#include "common/file.h"
#include "common/js.h"
#include "common/mem.h"
#include "model/safetensors.h"

/* Saved files carry the name of the submodule in GPT2LMHeadModel; OpenAI's own lack it. */
static const char prefix[] = "transformer.";

/* ---- config.json -------------------------------------------------------------------------- */

/* Absent keys have the defaults of Hugging Face's GPT2Config. null counts as absent. */
static int read_count(int64_t *out, const struct js *root, const char *key, int64_t absent,
                      const char *path)
{
    const struct js *v = js_get(root, key);
    *out = absent;
    if (v && !js_is_null(v) && js_int(v, out) < 0)
        return err_set("%s: bad %s: not an integer", path, key);
    return 0;
}

static int read_real(double *out, const struct js *root, const char *key, double absent,
                     const char *path)
{
    const struct js *v = js_get(root, key);
    *out = absent;
    if (v && !js_is_null(v) && js_real(v, out) < 0)
        return err_set("%s: bad %s: not a number", path, key);
    return 0;
}

static int read_numbers(struct model_config *c, const struct js *root, const char *path)
{
    if (read_count(&c->layers, root, "n_layer", 12, path) < 0 ||
        read_count(&c->width, root, "n_embd", 768, path) < 0 ||
        read_count(&c->heads, root, "n_head", 12, path) < 0 ||
        read_count(&c->positions, root, "n_positions", 1024, path) < 0 ||
        read_count(&c->vocabulary, root, "vocab_size", 50257, path) < 0 ||
        read_real(&c->epsilon, root, "layer_norm_epsilon", 1e-5, path) < 0 ||
        read_real(&c->embedding_dropout, root, "embd_pdrop", 0.1, path) < 0 ||
        read_real(&c->attention_dropout, root, "attn_pdrop", 0.1, path) < 0 ||
        read_real(&c->residual_dropout, root, "resid_pdrop", 0.1, path) < 0 ||
        read_real(&c->init_std, root, "initializer_range", 0.02, path) < 0)
        return -1;
    if (c->width < 1 || c->width > 1 << 20)
        return err_set("%s: bad n_embd %lld", path, (long long)c->width);
    return read_count(&c->inner, root, "n_inner", 4 * c->width, path);
}

/* Variants of GPT-2 that compute something else. */
static int check_variant(const struct js *root, const char *path)
{
    static const struct {
        const char *key;
        int wanted;
    } switches[] = { { "tie_word_embeddings", 1 },
                     { "scale_attn_weights", 1 },
                     { "scale_attn_by_inverse_layer_idx", 0 },
                     { "add_cross_attention", 0 } };
    for (size_t i = 0; i < sizeof switches / sizeof *switches; i++) {
        const struct js *v = js_get(root, switches[i].key);
        int value = switches[i].wanted;
        if (v && js_bool(v, &value) < 0)
            return err_set("%s: bad %s: not true or false", path, switches[i].key);
        if (value != switches[i].wanted)
            return err_set("%s: unsupported %s: %s", path, switches[i].key,
                           value ? "true" : "false");
    }
    const struct js *v = js_get(root, "activation_function");
    const char *activation = v ? js_text(v, NULL) : "gelu_new";
    if (!activation || (strcmp(activation, "gelu_new") && strcmp(activation, "gelu_pytorch_tanh")))
        return err_set("%s: unsupported activation_function '%s', only gelu_new and "
                       "gelu_pytorch_tanh (GELU's tanh form)", path, activation ? activation : "");
    if (js_get(root, "quantization_config") && !js_is_null(js_get(root, "quantization_config")))
        return err_set("%s: unsupported quantization_config: weights must be F32, F16 or BF16",
                       path);
    return 0;
}

static int read_config(struct model_config *c, const struct js *root, const char *path)
{
    const char *type = js_text(js_get(root, "model_type"), NULL);
    if (!type || strcmp(type, "gpt2"))
        return err_set("%s: unsupported model_type '%s', only gpt2", path, type ? type : "");
    if (check_variant(root, path) < 0 || read_numbers(c, root, path) < 0)
        return -1;
    return 0;
}

int folder_parse_config(struct model_config *config, const char *text, size_t n, const char *name)
{
    *config = (struct model_config){ 0 };
    struct js *root = js_parse(text, n, name);
    int failed = !root || read_config(config, root, name) < 0;
    js_free(root);
    return failed ? -1 : 0;
}

int folder_read_config(struct model_config *config, const char *dir)
{
    struct buf path = BUF_INIT, text = BUF_INIT;
    file_join(&path, dir, "config.json");
    int failed = file_read(path.data, &text);
    if (failed == 0)
        failed = folder_parse_config(config, text.data, text.len, path.data);
    buf_release(&text);
    buf_release(&path);
    return failed;
}

static void print_config(struct buf *out, const struct model_config *c, int64_t end_of_text)
{
    buf_adds(out, "{\n  \"architectures\": [\"GPT2LMHeadModel\"],\n"
                  "  \"model_type\": \"gpt2\",\n"
                  "  \"activation_function\": \"gelu_new\",\n");
    buf_addf(out, "  \"n_layer\": %lld,\n  \"n_embd\": %lld,\n  \"n_head\": %lld,\n",
             (long long)c->layers, (long long)c->width, (long long)c->heads);
    buf_addf(out, "  \"n_inner\": %lld,\n  \"n_positions\": %lld,\n  \"n_ctx\": %lld,\n",
             (long long)c->inner, (long long)c->positions, (long long)c->positions);
    buf_addf(out, "  \"vocab_size\": %lld,\n", (long long)c->vocabulary);
    buf_addf(out, "  \"layer_norm_epsilon\": %.17g,\n  \"initializer_range\": %.17g,\n", c->epsilon,
             c->init_std);
    buf_addf(out, "  \"embd_pdrop\": %.17g,\n  \"attn_pdrop\": %.17g,\n  \"resid_pdrop\": %.17g,\n",
             c->embedding_dropout, c->attention_dropout, c->residual_dropout);
    if (end_of_text >= 0)
        buf_addf(out, "  \"bos_token_id\": %lld,\n  \"eos_token_id\": %lld,\n",
                 (long long)end_of_text, (long long)end_of_text);
    else
        buf_adds(out, "  \"bos_token_id\": null,\n  \"eos_token_id\": null,\n");
    buf_adds(out, "  \"scale_attn_weights\": true,\n  \"tie_word_embeddings\": true,\n"
                  "  \"torch_dtype\": \"float32\",\n  \"use_cache\": true\n}\n");
}

/* ---- loading ------------------------------------------------------------------------------ */

static float **allocate_blocks(struct ops *o, const struct tensor_table *t)
{
    float **blocks = mem_zalloc((size_t)t->blocks, sizeof *blocks);
    for (int b = 0; b < t->blocks; b++)
        blocks[b] = ops_buffer(o, t->block_size[b]);
    return blocks;
}

void folder_free_blocks(struct model *m, struct ops *o, float **blocks)
{
    for (int b = 0; blocks && b < m->tensors.blocks; b++)
        ops_buffer_free(o, blocks[b], m->tensors.block_size[b]);
    free(blocks);
}

static const char *without_prefix(const char *name)
{
    return strncmp(name, prefix, sizeof prefix - 1) ? name : name + sizeof prefix - 1;
}

static const struct safetensor *find_tensor(const struct safetensors_set *set, const char *name,
                                            const struct safetensors **file)
{
    const struct safetensor *t = safetensors_find_in(set, name, file);
    if (t)
        return t;
    char prefixed[sizeof prefix + TENSOR_NAME];
    snprintf(prefixed, sizeof prefixed, "%s%s", prefix, name);
    return safetensors_find_in(set, prefixed, file);
}

static int check_shape(const struct safetensors *file, const struct safetensor *t,
                       const struct tensor *row)
{
    if (t->rank == row->rank && t->shape[0] == row->shape[0] &&
        (t->rank == 1 || t->shape[1] == row->shape[1]))
        return 0;
    struct buf shape = BUF_INIT;
    for (int i = 0; i < t->rank; i++)
        buf_addf(&shape, "%s%lld", i ? "," : "", (long long)t->shape[i]);
    err_set(row->rank == 1 ? "%s: tensor '%s' has shape [%s], the config wants [%lld]"
                           : "%s: tensor '%s' has shape [%s], the config wants [%lld,%lld]",
            file->path, t->name, shape.data, (long long)row->shape[0], (long long)row->shape[1]);
    buf_release(&shape);
    return -1;
}

/* The row's tensor, in the right shape; *file is where it is. NULL with an error. */
static const struct safetensor *wanted_tensor(const struct safetensors_set *set,
                                              const struct tensor *row,
                                              const struct safetensors **file)
{
    const struct safetensor *t = find_tensor(set, row->name, file);
    if (!t)
        err_set("%s: no tensor '%s'", set->files[0].path, row->name);
    return t && check_shape(*file, t, row) == 0 ? t : NULL;
}

static int ends_with(const char *name, const char *end)
{
    size_t n = strlen(name), e = strlen(end);
    return n >= e && !strcmp(name + n - e, end);
}

/* What is in the files and not in the table: buffers that the model makes itself, and the decoder
 * where it is a copy of the embedding. */
static int check_extra(const struct safetensors_set *set, const struct safetensors *file,
                       const struct safetensor *t)
{
    if (ends_with(t->name, ".attn.bias") || ends_with(t->name, ".attn.masked_bias"))
        return 0;
    if (!strcmp(t->name, "lm_head.weight")) {
        const struct safetensors *other;
        const struct safetensor *wte = find_tensor(set, "wte.weight", &other);
        if (wte && wte->bytes == t->bytes &&
            !memcmp(other->map.data + wte->offset, file->map.data + t->offset, t->bytes))
            return 0;
        return err_set("%s: tensor '%s' differs from wte.weight; untied decoders are unsupported",
                       file->path, t->name);
    }
    return err_set("%s: tensor '%s' is not part of the model", file->path, t->name);
}

static int check_extras(const struct safetensors_set *set, const struct tensor_table *table)
{
    for (size_t f = 0; f < set->count; f++) {
        const struct safetensors *file = &set->files[f];
        for (size_t i = 0; i < file->count; i++) {
            const struct safetensor *t = &file->tensors[i];
            const struct safetensors *first;
            const char *name = without_prefix(t->name);
            if (!tensor_find(table, name)) {
                if (check_extra(set, file, t) < 0)
                    return -1;
            } else if (find_tensor(set, name, &first) != t) {
                return err_set("%s: tensor '%s' is there twice", file->path, name);
            }
        }
    }
    return 0;
}

/* The files hold the table's tensors in their shapes, and no others. */
static int check_tensors(const struct safetensors_set *set, const struct tensor_table *table)
{
    const struct safetensors *file;
    for (size_t i = 0; i < table->count; i++)
        if (!wanted_tensor(set, &table->rows[i], &file))
            return -1;
    return check_extras(set, table);
}

static int read_blocks(const struct model *m, float **blocks, const struct safetensors_set *set)
{
    for (size_t i = 0; i < m->tensors.count; i++) {
        const struct tensor *row = &m->tensors.rows[i];
        const struct safetensors *file;
        const struct safetensor *t = wanted_tensor(set, row, &file);
        if (!t || safetensors_read(file, t, blocks[row->block] + row->offset) < 0)
            return -1;
    }
    return 0;
}

/* The config's sizes are believed, and memory taken, when the files have shown that they fit. */
static int load_weights(struct model *m, struct ops *o, float ***blocks, const char *dir)
{
    struct safetensors_set set;
    if (safetensors_open_folder(&set, dir) < 0)
        return -1;
    int failed = check_tensors(&set, &m->tensors);
    if (failed == 0) {
        *blocks = allocate_blocks(o, &m->tensors);
        failed = read_blocks(m, *blocks, &set);
        if (failed < 0) {
            folder_free_blocks(m, o, *blocks);
            *blocks = NULL;
        }
    }
    safetensors_close_set(&set);
    return failed;
}

int folder_load(struct model *m, struct ops *o, float ***blocks, const char *dir)
{
    struct model_config config;
    *blocks = NULL;
    *m = (struct model){ 0 };
    if (folder_read_config(&config, dir) < 0)
        return -1;
    if (model_init_gpt(m, &config) < 0)
        return err_in("%s/config.json", dir);
    if (load_weights(m, o, blocks, dir) == 0)
        return 0;
    model_release(m);
    return -1;
}

/* ---- saving ------------------------------------------------------------------------------- */

static int save_weights(const struct model *m, float *const *blocks, const char *path)
{
    const struct tensor_table *table = &m->tensors;
    struct safetensor *tensors = mem_zalloc(table->count, sizeof *tensors);
    struct buf name = BUF_INIT;
    for (size_t i = 0; i < table->count; i++) {
        const struct tensor *row = &table->rows[i];
        buf_clear(&name);
        buf_addf(&name, "%s%s", prefix, row->name);
        tensors[i].name = mem_strdup(name.data);
        tensors[i].rank = row->rank;
        for (int d = 0; d < row->rank; d++)
            tensors[i].shape[d] = row->shape[d];
    }
    struct safetensors_writer w;
    int failed = safetensors_create(&w, path, tensors, table->count);
    for (size_t i = 0; i < table->count && failed == 0; i++) {
        const struct tensor *row = &table->rows[i];
        failed = safetensors_write(&w, blocks[row->block] + row->offset, tensor_elements(row));
        if (failed < 0)
            safetensors_abandon(&w);
    }
    if (failed == 0)
        failed = safetensors_finish(&w);
    for (size_t i = 0; i < table->count; i++)
        free(tensors[i].name);
    free(tensors);
    buf_release(&name);
    return failed;
}

int folder_save(const struct model *m, float *const *blocks, const char *dir, int64_t end_of_text)
{
    struct buf path = BUF_INIT, config = BUF_INIT;
    int failed = file_mkdirs(dir);
    if (failed == 0) {
        print_config(&config, &m->config, end_of_text);
        file_join(&path, dir, "config.json");
        failed = file_write(path.data, config.data, config.len);
    }
    if (failed == 0) {
        file_join(&path, dir, "model.safetensors");
        failed = save_weights(m, blocks, path.data);
    }
    buf_release(&config);
    buf_release(&path);
    return failed;
}
