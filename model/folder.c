#include "model/folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/err.h"
#include "common/file.h"
#include "common/js.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/usage.h"
#include "model/folder_config.h"
#include "model/folder_names.h"

/* ---- config.json -------------------------------------------------------------------------- */

int config_count(int64_t *out, const struct js *root, const char *key, int64_t absent,
                 const char *path)
{
    const struct js *v = js_get(root, key);
    *out = absent;
    if (v && !js_is_null(v) && js_int(v, out) < 0)
        return err_set("%s: bad %s: not an integer", path, key);
    return 0;
}

int config_real(double *out, const struct js *root, const char *key, double absent,
                const char *path)
{
    const struct js *v = js_get(root, key);
    *out = absent;
    if (v && !js_is_null(v) && js_real(v, out) < 0)
        return err_set("%s: bad %s: not a number", path, key);
    return 0;
}

int config_switch(const struct js *root, const char *key, int wanted, const char *path)
{
    const struct js *v = js_get(root, key);
    int value = wanted;
    if (v && !js_is_null(v) && js_bool(v, &value) < 0)
        return err_set("%s: bad %s: not true or false", path, key);
    if (value != wanted)
        return err_set("%s: unsupported %s: %s", path, key, value ? "true" : "false");
    return 0;
}

/* GPT-2. Absent keys have the defaults of Hugging Face's GPT2Config. */
static int read_numbers(struct model_config *c, const struct js *root, const char *path)
{
    if (config_count(&c->layers, root, "n_layer", 12, path) < 0 ||
        config_count(&c->width, root, "n_embd", 768, path) < 0 ||
        config_count(&c->heads, root, "n_head", 12, path) < 0 ||
        config_count(&c->positions, root, "n_positions", 1024, path) < 0 ||
        config_count(&c->vocabulary, root, "vocab_size", 50257, path) < 0 ||
        config_real(&c->epsilon, root, "layer_norm_epsilon", 1e-5, path) < 0 ||
        config_real(&c->embedding_dropout, root, "embd_pdrop", 0.1, path) < 0 ||
        config_real(&c->attention_dropout, root, "attn_pdrop", 0.1, path) < 0 ||
        config_real(&c->residual_dropout, root, "resid_pdrop", 0.1, path) < 0 ||
        config_real(&c->init_std, root, "initializer_range", 0.02, path) < 0)
        return -1;
    if (c->width < 1 || c->width > 1 << 20)
        return err_set("%s: bad n_embd %lld", path, (long long)c->width);
    return config_count(&c->inner, root, "n_inner", 4 * c->width, path);
}

/* Variants of GPT-2 that compute something else. */
static int check_variant(const struct js *root, const char *path)
{
    if (config_switch(root, "tie_word_embeddings", 1, path) < 0 ||
        config_switch(root, "scale_attn_weights", 1, path) < 0 ||
        config_switch(root, "scale_attn_by_inverse_layer_idx", 0, path) < 0 ||
        config_switch(root, "add_cross_attention", 0, path) < 0)
        return -1;
    const struct js *v = js_get(root, "activation_function");
    const char *activation = v ? js_text(v, NULL) : "gelu_new";
    if (!activation || (strcmp(activation, "gelu_new") && strcmp(activation, "gelu_pytorch_tanh")))
        return err_set("%s: unsupported activation_function '%s', only gelu_new and "
                       "gelu_pytorch_tanh (GELU's tanh form)",
                       path, activation ? activation : "");
    if (js_get(root, "quantization_config") && !js_is_null(js_get(root, "quantization_config")))
        return err_set("%s: unsupported quantization_config: weights must be F32, F16 or BF16",
                       path);
    return 0;
}

static int read_gpt(struct model_config *c, const struct js *root, const char *path)
{
    return check_variant(root, path) < 0 || read_numbers(c, root, path) < 0 ? -1 : 0;
}

typedef int config_reader(struct model_config *c, const struct js *root, const char *path);

/* Configs older than model_type are known by a key that they have. */
static int parse_config(struct model_config *config, const char *type, const char *sign,
                        config_reader *reader, const char *text, size_t n, const char *name)
{
    *config = (struct model_config){ 0 };
    struct js *root = js_parse(text, n, name);
    const char *is = js_text(js_get(root, "model_type"), NULL);
    int failed = root ? 0 : -1;
    if (root && !is && js_get(root, sign))
        is = type;
    if (root && (!is || strcmp(is, type)))
        failed = err_set("%s: unsupported model_type '%s', only %s", name, is ? is : "", type);
    else if (root)
        failed = reader(config, root, name);
    js_free(root);
    return failed ? -1 : 0;
}

int folder_parse_config(struct model_config *config, const char *text, size_t n, const char *name)
{
    return parse_config(config, "gpt2", "n_embd", read_gpt, text, n, name);
}

int folder_parse_bert(struct model_config *config, const char *text, size_t n, const char *name)
{
    return parse_config(config, "bert", "hidden_size", config_read_bert, text, n, name);
}

static int read_config(struct model_config *config, const char *dir,
                       int (*parse)(struct model_config *config, const char *text, size_t n,
                                    const char *name))
{
    struct buf path = BUF_INIT, text = BUF_INIT;
    file_join(&path, dir, "config.json");
    int failed = file_read(path.data, &text);
    if (failed == 0)
        failed = parse(config, text.data, text.len, path.data);
    buf_release(&text);
    buf_release(&path);
    return failed;
}

int folder_read_config(struct model_config *config, const char *dir)
{
    return read_config(config, dir, folder_parse_config);
}

int folder_read_bert(struct model_config *config, const char *dir)
{
    return read_config(config, dir, folder_parse_bert);
}

static void print_config(struct buf *out, const struct model_config *c, int64_t end_of_text,
                         const char *type)
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
    buf_adds(out, "  \"scale_attn_weights\": true,\n  \"tie_word_embeddings\": true,\n");
    buf_addf(out, "  \"torch_dtype\": \"%s\",\n  \"use_cache\": true\n}\n", type);
}

/* ---- loading ------------------------------------------------------------------------------ */

static struct ops_array *allocate_blocks(struct ops *o, const struct tensor_table *t)
{
    struct ops_array *blocks = mem_zalloc((size_t)t->blocks, sizeof *blocks);
    for (int b = 0; b < t->blocks; b++)
        blocks[b] = ops_buffer(o, OPS_F32, t->block_size[b]);
    return blocks;
}

void folder_free_blocks(struct model *m, struct ops *o, struct ops_array *blocks)
{
    for (int b = 0; blocks && b < m->tensors.blocks; b++)
        ops_buffer_free(o, blocks[b], m->tensors.block_size[b]);
    free(blocks);
}

/* Dimension d of the row's tensor in a file. */
static int64_t file_shape(const struct tensor *row, int d)
{
    return row->shape[row->transposed ? 1 - d : d];
}

static int check_shape(const struct safetensors *file, const struct safetensor *t,
                       const struct tensor *row)
{
    if (t->rank == row->rank && t->shape[0] == file_shape(row, 0) &&
        (t->rank == 1 || t->shape[1] == file_shape(row, 1)))
        return 0;
    struct buf shape = BUF_INIT;
    for (int i = 0; i < t->rank; i++)
        buf_addf(&shape, "%s%lld", i ? "," : "", (long long)t->shape[i]);
    err_set(row->rank == 1 ? "%s: tensor '%s' has shape [%s], but config.json needs [%lld]"
                           : "%s: tensor '%s' has shape [%s], but config.json needs [%lld,%lld]",
            file->path, t->name, shape.data, (long long)file_shape(row, 0),
            (long long)(row->rank == 1 ? 0 : file_shape(row, 1)));
    buf_release(&shape);
    return -1;
}

/* What is in the files and not in the table: a copy of what is tied, or passed over. */
static int check_extra(const struct model *m, const struct weights *set,
                       const struct safetensors *file, const struct safetensor *t)
{
    const char *tied = folder_names_tied_to(m, t->name);
    if (!tied) {
        if (folder_names_passed_over(m, t->name))
            return 0;
        return err_set("%s: tensor '%s' is not part of the model", file->path, t->name);
    }
    const struct safetensors *other;
    const struct safetensor *first = folder_names_find(m, set, tied, &other);
    if (first && safetensors_same(other, first, file, t))
        return 0;
    return err_set("%s: tensor '%s' differs from %s; untied decoders are unsupported", file->path,
                   t->name, tied);
}

static int check_extras(const struct model *m, const struct weights *set)
{
    for (size_t f = 0; f < set->count; f++) {
        const struct safetensors *file = &set->files[f];
        for (size_t i = 0; i < file->count; i++) {
            const struct safetensor *t = &file->tensors[i];
            const struct tensor *row = folder_names_row(m, t->name);
            const struct safetensors *first;
            const struct safetensor *read = row ? folder_names_find(m, set, row->name, &first)
                                                : NULL;
            if (row && read != t)
                return err_set("%s: tensor '%s' is there twice, as '%s' too", file->path, t->name,
                               read->name);
            if (!row && check_extra(m, set, file, t) < 0)
                return -1;
        }
    }
    return 0;
}

/* How loading treats tensors of the head that are not there: an error, or initial values. */
struct absent {
    int allowed;
    uint64_t seed;
    int made; /* how many got them */
};

/* The files hold the table's tensors in their shapes, and no others. */
static int check_tensors(const struct model *m, const struct weights *set, const struct absent *a)
{
    const struct safetensors *file;
    for (size_t i = 0; i < m->tensors.count; i++) {
        const struct tensor *row = &m->tensors.rows[i];
        const struct safetensor *t = folder_names_find(m, set, row->name, &file);
        if (!t && (!a->allowed || row->block <= m->config.layers))
            return err_set("%s: no tensor '%s'", set->files[0].path, row->name);
        if (t && check_shape(file, t, row) < 0)
            return -1;
    }
    return check_extras(m, set);
}

/* to[columns,rows] from from[rows,columns], of numbers of so many bytes. */
static inline void transpose(void *to, const void *from, int64_t rows, int64_t columns,
                             size_t bytes)
{
    char *y = to;
    const char *x = from;
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < columns; c++, x += bytes)
            memcpy(y + (size_t)(c * rows + r) * bytes, x, bytes);
}

static int read_tensor(const struct safetensors *file, const struct safetensor *t,
                       const struct tensor *row, float *out)
{
    if (!row->transposed)
        return safetensors_read(file, t, out);
    float *turned = mem_alloc((size_t)tensor_elements(row) * sizeof *turned);
    int failed = safetensors_read(file, t, turned);
    if (failed == 0)
        transpose(out, turned, row->shape[1], row->shape[0], sizeof *turned);
    free(turned);
    return failed;
}

/* The tensor from the files, or initial values. */
static int read_or_make(const struct model *m, float *out, const struct tensor *row,
                        const struct weights *set, struct absent *a)
{
    const struct safetensors *file;
    const struct safetensor *t = folder_names_find(m, set, row->name, &file);
    if (t)
        return read_tensor(file, t, row, out);
    tensor_initialise(row, a->seed, out);
    a->made++;
    return 0;
}

static int read_blocks(const struct model *m, struct ops *o, const struct ops_array *blocks,
                       const struct weights *set, struct absent *a)
{
    int failed = 0;
    for (size_t i = 0; i < m->tensors.count && !failed; i++) {
        const struct tensor *row = &m->tensors.rows[i];
        const int64_t n = tensor_elements(row);
        struct ops_array to = ops_part(blocks[row->block], row->offset);
        float *out = ops_map(o, to, n);
        failed = read_or_make(m, out, row, set, a);
        ops_unmap(o, to, n, out);
    }
    return failed;
}

/* Else the end would come by a signal. */
static int check_machine(const struct model *m, const char *dir)
{
    uint64_t floats = 0, machine = usage_machine_bytes();
    for (int b = 0; b < m->tensors.blocks; b++)
        floats += (uint64_t)m->tensors.block_size[b];
    if (floats <= machine / sizeof(float))
        return 0;
    char need[32], has[32];
    return err_set("the model in '%s' takes %s as f32, but this machine has only %s of memory", dir,
                   log_bytes(need, floats * sizeof(float)), log_bytes(has, machine));
}

/* The config's sizes are believed, and memory taken, when the files have shown that they fit. */
static int load_weights(struct model *m, struct ops *o, struct ops_array **blocks, const char *dir,
                        struct absent *a)
{
    struct weights set;
    if (weights_open(&set, dir) < 0)
        return -1;
    int failed = check_tensors(m, &set, a) < 0 ? -1 : check_machine(m, dir);
    if (failed == 0) {
        *blocks = allocate_blocks(o, &m->tensors);
        failed = read_blocks(m, o, *blocks, &set, a);
        if (failed < 0) {
            folder_free_blocks(m, o, *blocks);
            *blocks = NULL;
        }
    }
    weights_close(&set);
    return failed;
}

int folder_load(struct model *m, struct ops *o, struct ops_array **blocks, const char *dir)
{
    struct model_config config;
    struct absent none = { 0 };
    *blocks = NULL;
    *m = (struct model){ 0 };
    if (folder_read_config(&config, dir) < 0)
        return -1;
    if (model_init_gpt(m, &config) < 0)
        return err_in("%s/config.json", dir);
    if (load_weights(m, o, blocks, dir, &none) == 0)
        return 0;
    model_release(m);
    return -1;
}

int folder_load_bert(struct model *m, struct ops *o, struct ops_array **blocks, const char *dir,
                     enum model_kind kind, uint64_t seed, int *made)
{
    struct model_config config;
    struct absent absent = { made != NULL, seed, 0 };
    *blocks = NULL;
    *m = (struct model){ 0 };
    if (folder_read_bert(&config, dir) < 0)
        return -1;
    config.kind = kind;
    if (model_init_bert(m, &config) < 0)
        return err_in("%s/config.json", dir);
    if (load_weights(m, o, blocks, dir, &absent) < 0) {
        model_release(m);
        return -1;
    }
    if (made)
        *made = absent.made;
    return 0;
}

/* ---- saving ------------------------------------------------------------------------------- */

/* A model's blocks. */
struct saved {
    struct ops *o;
    const struct ops_array *blocks;
    enum ops_type type; /* of their numbers */
};

static int write_turned(struct safetensors_writer *w, const struct tensor *row, const void *data,
                        size_t bytes)
{
    int64_t n = tensor_elements(row);
    void *turned = mem_alloc((size_t)n * bytes);
    if (bytes == 2) /* its loop is made for each size */
        transpose(turned, data, row->shape[0], row->shape[1], 2);
    else
        transpose(turned, data, row->shape[0], row->shape[1], 4);
    int failed = safetensors_write(w, turned, n, bytes);
    free(turned);
    return failed;
}

static int write_tensor(struct safetensors_writer *w, const struct tensor *row,
                        const struct saved *from)
{
    const int64_t n = tensor_elements(row);
    const size_t bytes = ops_type_bytes(from->type);
    struct ops_array tensor = ops_part(from->blocks[row->block], row->offset);
    void *data = ops_map(from->o, tensor, n);
    int failed = row->transposed ? write_turned(w, row, data, bytes)
                                 : safetensors_write(w, data, n, bytes);
    ops_unmap(from->o, tensor, n, data);
    return failed;
}

static int save_weights(const struct model *m, const struct saved *from, const char *path)
{
    const struct tensor_table *table = &m->tensors;
    struct safetensor *tensors = mem_zalloc(table->count, sizeof *tensors);
    struct buf name = BUF_INIT;
    for (size_t i = 0; i < table->count; i++) {
        const struct tensor *row = &table->rows[i];
        buf_clear(&name);
        buf_addf(&name, "%s%s", m->config.kind == MODEL_GPT ? folder_names_prefix(m) : "",
                 row->name);
        tensors[i].name = mem_strdup(name.data);
        tensors[i].dtype = from->type == OPS_BF16 ? "BF16" : "F32";
        tensors[i].rank = row->rank;
        for (int d = 0; d < row->rank; d++)
            tensors[i].shape[d] = file_shape(row, d);
    }
    struct safetensors_writer w;
    int failed = safetensors_create(&w, path, tensors, table->count);
    for (size_t i = 0; i < table->count && failed == 0; i++) {
        failed = write_tensor(&w, &table->rows[i], from);
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

static int save(const struct model *m, const struct saved *from, const char *dir,
                int64_t end_of_text)
{
    const char *type = from->type == OPS_BF16 ? "bfloat16" : "float32";
    struct buf path = BUF_INIT, config = BUF_INIT;
    int failed = file_mkdirs(dir);
    if (failed == 0) {
        if (m->config.kind == MODEL_GPT)
            print_config(&config, &m->config, end_of_text, type);
        else
            config_print_bert(&config, &m->config, type);
        file_join(&path, dir, "config.json");
        failed = file_write(path.data, config.data, config.len);
    }
    if (failed == 0) {
        file_join(&path, dir, "model.safetensors");
        failed = save_weights(m, from, path.data);
    }
    buf_release(&config);
    buf_release(&path);
    return failed;
}

int folder_save(const struct model *m, struct ops *o, const struct ops_array *blocks,
                const char *dir, int64_t end_of_text)
{
    return save(m, &(struct saved){ o, blocks, blocks[0].type }, dir, end_of_text);
}
