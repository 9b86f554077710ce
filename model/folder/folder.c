#include "model/folder/folder.h"

#include "common/base/hash.h"
#include "common/base/log.h"
#include "common/files/file.h"
#include "common/files/usage.h"
#include "common/formats/js.h"
#include "model/folder/folder_names.h"
#include "model/folder/gguf_model.h"
#include "model/network/split.h"

/* ---- config.json -------------------------------------------------------------------------- */

/* Sets *path to the configuration of a model folder: config.json, or the bert_config.json of
 * Google's archives. Returns 1; 0 if there is neither, when *path may be that of an adapter of
 * peft, or the checkpoints of a training run; or -1 with an error. */
static int find_config(struct buf *path, const char *dir)
{
    static const char *const names[] = { "config.json", "bert_config.json", "adapter_config.json",
                                         "checkpoints" };
    const int found = file_first(dir, names, 4);
    *path = file_path(dir, names[found < 0 ? 0 : found % 4]);
    return found < 0 ? -1 : found < 2;
}

/* Sets the error for a folder without a model. It names the last checkpoint or a GGUF file, if
 * the folder has one. Returns -1. */
static int refuse_folder(const char *dir, const char *checkpoints)
{
    SCOPED(file_names) all = { 0 };
    const int run = file_ends_with(checkpoints, "/checkpoints");
    file_list(&all, run ? checkpoints : dir, run ? "" : ".gguf");
    const char *found = run || !all.count ? "" : all.names[0];
    for (size_t i = 0; i < all.count && run; i++) /* with a point: damaged, or not complete */
        if (!strchr(all.names[i], '.') && strverscmp(all.names[i], found) > 0)
            found = all.names[i];
    SCOPED(buf) model = file_path(run ? checkpoints : dir, found);
    return err_set(*found ? "'%s' is not a model folder: it has no config.json: give '%s'"
                          : "'%s' is not a model folder: it has no config.json",
                   dir, model.data);
}

int folder_check(const char *path)
{
    SCOPED(buf) config = BUF_INIT;
    const int kind = file_look(path), found = kind == FILE_FOLDER ? find_config(&config, path) : 1;
    if (kind < 0 || found < 0)
        return -1;
    if (kind == FILE_NONE)
        return err_set(strstr(file_name(path), ".ckpt")
                           ? "there is no model '%s': give the folder of the checkpoint"
                           : "there is no model '%s': 'train' makes one, and "
                             "'scripts/model-download' fetches published ones",
                       path);
    if (kind == FILE_SPECIAL || (kind == FILE_PLAIN && !gguf_is(path)))
        return err_set("'%s' is not a model: give a folder, or a GGUF file named NAME.gguf", path);
    if (!found && file_ends_with(config.data, "adapter_config.json"))
        return err_set("'%s' is an adapter: merge it into its model with peft's merge_and_unload",
                       path);
    return found ? 0 : refuse_folder(path, config.data);
}

/* Opens the files of a model folder, or a GGUF file. Returns 0, or -1 with an error. */
static int open_files(struct folder_files *files, const char *path)
{
    return gguf_is(path) ? gguf_open(&files->gguf, path) : weights_open(&files->weights, path);
}

int folder_verify(const char *path, int rank, int ranks)
{
    SCOPED_BY(folder_close) struct folder_files files = { 0 };
    if (folder_check(path) < 0 || open_files(&files, path) < 0)
        return -1;
    if ((gguf_is(path) ? gguf_check(&files.gguf) : weights_check(&files.weights, rank, ranks)) == 0)
        return 0;
    const struct err why = err_keep();
    return err_set("%s: copy the file again, or use it as it is with --no-verify", why.text);
}

static uint64_t hash_ends(uint64_t hash, const struct file_map *m)
{
    const uint64_t n = m->bytes < 1 << 16 ? m->bytes : 1 << 16;
    const uint64_t facts[] = { m->bytes, file_map_sum(m, 0, n), file_map_sum(m, m->bytes - n, n) };
    return hash_more(hash, facts, sizeof facts);
}

int folder_hash_ends(uint64_t *hash, const char *path)
{
    SCOPED_BY(folder_close) struct folder_files files = { 0 };
    if (open_files(&files, path) < 0)
        return -1;
    *hash = hash_ends(HASH_START, &files.gguf.map);
    for (size_t i = 0; i < files.weights.count; i++)
        *hash = hash_ends(*hash, &files.weights.files[i].map);
    return 0;
}

/* Reads the configuration of a model folder, and sets *path to its name. */
static int read_config(struct buf *path, struct buf *text, const char *dir)
{
    return folder_check(dir) < 0 || find_config(path, dir) < 0 ? -1 : file_read(path->data, text);
}

int folder_read_config(struct model_config *config, enum model_head head, const char *dir)
{
    SCOPED(buf) path = BUF_INIT, text = BUF_INIT;
    SCOPED_BY(gguf_close) struct gguf g = { 0 };
    if (gguf_is(dir))
        return gguf_open(&g, dir) < 0 ? -1 : gguf_model_config(config, &g, head);
    return read_config(&path, &text, dir) < 0
               ? -1
               : architecture_read(config, head, text.data, text.len, path.data);
}

int folder_head(enum model_head *head, const char *dir)
{
    SCOPED(buf) path = BUF_INIT, text = BUF_INIT;
    return read_config(&path, &text, dir) < 0
               ? -1
               : architecture_head(head, text.data, text.len, path.data);
}

/* Appends the id v, or each id of the list v, to `out`; null and -1 are none. Returns 0, or -1 with
 * an error. */
static int add_ids(struct ids *out, const struct js *v)
{
    int64_t id = -1;
    int result = 0;
    if (js_is_set(v) && !js_is_array(v) && (js_int(v, &id) < 0 || id < -1 || id > UINT32_MAX))
        return err_set("eos_token_id is no id, and no list of ids");
    if (id >= 0)
        ids_add(out, (uint32_t)id);
    for (size_t i = 0; js_is_array(v) && i < js_count(v) && !result; i++)
        result = add_ids(out, js_at(v, i));
    return result;
}

static int gguf_ends(struct ids *ends, const char *path)
{
    static const char *const keys[] = { "eos", "eot", "eom", "fim_pad", "fim_rep", "fim_sep" };
    SCOPED_BY(gguf_close) struct gguf g = { 0 };
    int failed = gguf_open(&g, path);
    for (size_t i = 0; i < sizeof keys / sizeof *keys && !failed; i++) {
        char name[64];
        snprintf(name, sizeof name, "tokenizer.ggml.%s_token_id", keys[i]);
        double id = -1;
        failed = gguf_real(&g, name, &id);
        if (id >= 0 && id <= UINT32_MAX)
            ids_add(ends, (uint32_t)id);
    }
    return failed;
}

/* Appends the lines of the settings in generation_config.json, but not those of tokens. */
static void add_sampling(struct buf *out, const struct js *root)
{
    for (void *it = js_first(root); it; it = js_next(root, it)) {
        size_t n;
        const char *key = js_key(it, &n);
        if (*key == '_' || file_ends_with(key, "_token_id"))
            continue;
        buf_adds(out, "  ");
        js_quote(out, key, n);
        buf_adds(out, ": ");
        js_print(out, js_value(it));
        buf_adds(out, ",\n");
    }
}

int folder_ends(struct ids *ends, struct buf *sampling, const char *path)
{
    static const char *const names[] = { "generation_config.json", "config.json" };
    const size_t before = ends->count;
    int failed = 0;
    if (gguf_is(path))
        return gguf_ends(ends, path);
    for (int i = 0; i < 2 && !failed && ends->count == before; i++) {
        SCOPED(buf) file = file_path(path, names[i]);
        const int there = file_look(file.data);
        SCOPED_JS root = there > 0 ? js_load(file.data) : NULL;
        if (there && !root)
            failed = -1;
        if (add_ids(ends, js_get(root, "eos_token_id")) < 0)
            failed = err_in("%s", file.data);
        if (sampling && !i)
            add_sampling(sampling, root);
    }
    return failed;
}

/* ---- loading ------------------------------------------------------------------------------ */

void folder_free_blocks(struct model *m, struct ops *o, struct ops_array *blocks)
{
    for (int b = 0; blocks && b < m->tensors.blocks; b++)
        ops_buffer_free(o, blocks[b]);
    free(blocks);
}

/* Returns dimension d of the row's tensor in a file. */
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
    SCOPED(buf) shape = BUF_INIT;
    for (int i = 0; i < t->rank; i++)
        buf_addf(&shape, "%s%lld", i ? "," : "", (long long)t->shape[i]);
    return err_set(row->rank == 1
                       ? "%s: tensor '%s' has shape [%s], but config.json needs [%lld]"
                       : "%s: tensor '%s' has shape [%s], but config.json needs [%lld,%lld]",
                   file->path, t->name, shape.data, (long long)file_shape(row, 0),
                   (long long)(row->rank == 1 ? 0 : file_shape(row, 1)));
}

/* Checks a tensor that is in a file and not in the table: it must be an equal copy of a tied
 * tensor, or a tensor that the model ignores. */
static int check_extra(const struct model *m, const struct weights *set,
                       const struct safetensors *file, const struct safetensor *t)
{
    const char *tied = folder_names_tied_to(m, t->name);
    if (!tied)
        return folder_names_passed_over(m, t->name)
                   ? 0
                   : err_set("%s: tensor '%s' is not part of the model", file->path, t->name);
    const struct safetensors *other;
    const struct safetensor *first = folder_names_find(m, set, tied, &other);
    if (first && safetensors_same(other, first, file, t))
        return 0;
    return err_set("%s: tensor '%s' differs from %s, but config.json ties them", file->path,
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
            if (read && read != t)
                return err_set("%s: tensor '%s' is there twice, as '%s' too", file->path, t->name,
                               read->name);
            if (!read && check_extra(m, set, file, t) < 0)
                return -1;
        }
    }
    return 0;
}

/* Checks that the files hold the table's tensors, in their shapes, and no others. If made is not
 * NULL, tensors of the head may be missing, and *made is set to their number. */
static int check_tensors(const struct model *m, const struct weights *set, int *made)
{
    int missing = 0;
    const struct safetensors *file;
    for (size_t i = 0; i < m->tensors.count; i++) {
        const struct tensor *row = &m->tensors.rows[i];
        const struct safetensor *t = folder_names_find(m, set, row->name, &file);
        if (!t && (!made || row->block <= m->config.layers))
            return err_set("%s: no tensor '%s'", set->files[0].path, row->name);
        if (t && check_shape(file, t, row) < 0)
            return -1;
        missing += !t;
    }
    if (made)
        *made = missing;
    return check_extras(m, set);
}

int folder_open(struct model *m, struct folder_files *files, const char *path,
                const struct model_config *wanted, int *made)
{
    struct model_config config;
    const int gguf = gguf_is(path);
    *m = (struct model){ 0 };
    *files = (struct folder_files){ 0 };
    if (folder_read_config(&config, wanted->head, path) < 0)
        return -1;
    if (!config.classes.count)
        config.classes = wanted->classes;
    if (model_init(m, &config) < 0)
        return err_in(gguf ? "%s" : "%s/config.json", path);
    if (open_files(files, path) == 0 && (gguf ? gguf_model_check(&files->gguf, m, made)
                                              : check_tensors(m, &files->weights, made)) == 0)
        return 0;
    folder_close(files);
    model_release(m);
    return -1;
}

void folder_close(struct folder_files *files)
{
    weights_close(&files->weights);
    gguf_close(&files->gguf);
}

/* Transposes from[rows,columns], whose rows begin `stride` numbers apart, into to[columns,rows].
 * Numbers have `bytes` bytes. */
static inline void transpose(void *to, const void *from, int64_t rows, int64_t columns,
                             int64_t stride, size_t bytes)
{
    char *y = to;
    for (int64_t r = 0; r < rows; r++) {
        const char *x = (const char *)from + (size_t)(r * stride) * bytes;
        for (int64_t c = 0; c < columns; c++, x += bytes)
            memcpy(y + (size_t)(c * rows + r) * bytes, x, bytes);
    }
}

static int read_tensor(const struct safetensors *file, const struct safetensor *t,
                       const struct tensor *row, float *out)
{
    if (!row->transposed)
        return safetensors_read(file, t, out);
    SCOPED_MEM float *turned = mem_alloc((size_t)tensor_elements(row) * sizeof *turned);
    int failed = safetensors_read(file, t, turned);
    if (failed == 0)
        transpose(out, turned, row->shape[1], row->shape[0], row->shape[0], sizeof *turned);
    return failed;
}

/* Sets `out` to the tensor of row i in a GGUF file, as f32. */
static int read_gguf(const struct folder_reader *r, float *out, size_t i)
{
    struct matrix x;
    if (gguf_model_matrix(&x, &r->files.gguf, &r->whole, i, NULL) < 0)
        return -1;
    SCOPED_MEM char *made = matrix_make(&x, OPS_F32, 0, r->pool);
    if (made && model_is_map(&r->whole, i))
        transpose(out, made, x.O, x.I, x.I, sizeof *out);
    else if (made)
        memcpy(out, made, (size_t)(x.O * x.I) * sizeof *out);
    return made ? 0 : -1;
}

/* Sets `out` to the tensor of row i in the files or, if it is missing, to initial values. */
static int read_or_make(const struct folder_reader *r, float *out, size_t i)
{
    const struct tensor *row = &r->whole.tensors.rows[i];
    const struct safetensors *file;
    if (r->files.gguf.path && gguf_model_has(&r->files.gguf, &r->whole, i))
        return read_gguf(r, out, i);
    const struct safetensor *t = folder_names_find(&r->whole, &r->files.weights, row->name, &file);
    if (t)
        return read_tensor(file, t, row, out);
    tensor_initialise(row, r->seed, 0, tensor_elements(row), out);
    return 0;
}

/* Sets `out` to this rank's part of tensor i of the whole model. */
static int read_own(const struct folder_reader *r, const struct model *m, float *out, size_t i)
{
    const struct tensor *row = &r->whole.tensors.rows[i], *own = &m->tensors.rows[i];
    if (!split_is_shared(row, own))
        return read_or_make(r, out, i);
    const struct split_runs runs = split_runs(row, own, m->split, split_number(m->split));
    SCOPED_MEM float *all = mem_alloc((size_t)tensor_elements(row) * sizeof *all);
    if (read_or_make(r, all, i) < 0)
        return -1;
    split_cut(out, all, &runs, sizeof *all);
    return 0;
}

/* Sets `out` to the elements first to first + n - 1 of this rank's part of tensor i. */
static int read_part(const struct folder_reader *r, const struct model *m, float *out, size_t i,
                     int64_t first, int64_t n)
{
    const struct tensor *row = &r->whole.tensors.rows[i], *own = &m->tensors.rows[i];
    const struct safetensors *file;
    const struct safetensor *t = folder_names_find(&r->whole, &r->files.weights, row->name, &file);
    if (n == tensor_elements(own))
        return read_own(r, m, out, i);
    if (t && !row->transposed && !split_is_shared(row, own))
        return safetensors_read_part(file, t, first, n, out);
    SCOPED_MEM float *all = mem_alloc((size_t)tensor_elements(own) * sizeof *all);
    if (read_own(r, m, all, i) < 0)
        return -1;
    memcpy(out, all + first, (size_t)n * sizeof *all);
    return 0;
}

int folder_reader_open(struct folder_reader *r, struct model *m, const char *path,
                       const struct model_config *wanted, const struct split *split, uint64_t seed,
                       int *made)
{
    *r = (struct folder_reader){ .seed = seed };
    *m = (struct model){ 0 };
    if (folder_open(&r->whole, &r->files, path, wanted, made) < 0)
        return -1;
    if (model_init_split(m, &r->whole.config, split) < 0) {
        folder_reader_close(r);
        return -1;
    }
    r->pool = r->files.gguf.path ? pool_new(usage_cpus(0)) : NULL;
    return 0;
}

void folder_reader_close(struct folder_reader *r)
{
    folder_close(&r->files);
    pool_free(r->pool);
    model_release(&r->whole);
    *r = (struct folder_reader){ 0 };
}

int folder_reader_block(const struct folder_reader *r, const struct model *m, struct ops *o,
                        int block, int64_t first, int64_t n, struct ops_array *parameters)
{
    int failed = 0;
    *parameters = ops_buffer(o, OPS_F32, n);
    for (size_t i = m->tensors.first[block]; i < m->tensors.first[block + 1] && !failed; i++) {
        const struct tensor *row = &m->tensors.rows[i];
        const int64_t row_end = row->offset + tensor_elements(row);
        const int64_t begin = row->offset > first ? row->offset : first;
        const int64_t end = row_end < first + n ? row_end : first + n;
        if (begin >= end)
            continue;
        struct ops_array to = ops_part(*parameters, begin - first);
        float *out = ops_map(o, to, end - begin);
        failed = read_part(r, m, out, i, begin - row->offset, end - begin);
        ops_unmap(o, to, end - begin, out);
    }
    if (failed < 0) {
        ops_buffer_free(o, *parameters);
        *parameters = OPS_NONE;
    }
    return failed;
}

int folder_check_machine(const char *dir, uint64_t bytes, const char *as)
{
    const uint64_t machine = usage_machine_bytes();
    if (bytes <= machine)
        return 0;
    char need[32], has[32];
    return err_set("the model in '%s' takes %s%s, but this machine has only %s of memory", dir,
                   log_bytes(need, bytes), as, log_bytes(has, machine));
}

int folder_load(struct model *m, struct ops *o, struct ops_array **blocks, const char *dir,
                enum model_head head, uint64_t seed, int *made)
{
    const struct model_config wanted = { .head = head };
    SCOPED_BY(folder_reader_close) struct folder_reader r = { 0 };
    *blocks = NULL;
    if (folder_reader_open(&r, m, dir, &wanted, NULL, seed, made) < 0)
        return -1;
    uint64_t bytes = 0;
    for (int b = 0; b < m->tensors.blocks; b++)
        bytes += (uint64_t)m->tensors.block_size[b] * sizeof(float);
    int failed = folder_check_machine(dir, bytes, " as f32");
    if (!failed)
        *blocks = mem_zalloc((size_t)m->tensors.blocks, sizeof **blocks);
    for (int b = 0; b < m->tensors.blocks && !failed; b++)
        failed = folder_reader_block(&r, m, o, b, 0, m->tensors.block_size[b], &(*blocks)[b]);
    if (failed < 0) {
        folder_free_blocks(m, o, *blocks);
        *blocks = NULL;
        model_release(m);
    }
    return failed;
}

int folder_matrix(struct matrix *x, unsigned char **copy, const struct model *m,
                  const struct weights *files, size_t row)
{
    const struct tensor *own = &m->tensors.rows[row];
    const struct safetensors *file;
    const struct safetensor *t = folder_names_find(m, files, own->name, &file);
    const int map = model_is_map(m, row);
    *x = (struct matrix){ .path = file->path, .name = t->name, .offset = t->offset };
    x->O = own->rank == 1 ? 1 : own->shape[map];
    x->I = own->shape[own->rank == 2 && !map];
    x->turned = map && !own->transposed;
    if (safetensors_type(file, t, &x->type) < 0)
        return -1;
    x->data = (const char *)safetensors_bytes(file, t, copy);
    return 0;
}

/* ---- saving ------------------------------------------------------------------------------- */

/* Writes the transpose of a matrix, in strips, so that it needs little memory. */
static int write_turned(struct safetensors_writer *w, const struct tensor *row, const char *data,
                        size_t bytes)
{
    enum { STRIP = 1 << 14 }; /* numbers that are transposed together */
    const int64_t rows = row->shape[0], columns = row->shape[1];
    const int64_t strip = rows < STRIP ? STRIP / rows : 1;
    SCOPED_MEM char *turned = mem_alloc((size_t)(strip * rows) * bytes);
    int failed = 0;
    for (int64_t c = 0; c < columns && failed == 0; c += strip) {
        const int64_t some = columns - c < strip ? columns - c : strip;
        if (bytes == 2) /* so that the compiler makes a loop for each size */
            transpose(turned, data + (size_t)c * 2, rows, some, columns, 2);
        else
            transpose(turned, data + (size_t)c * 4, rows, some, columns, 4);
        failed = safetensors_write(w, turned, some * rows, bytes);
    }
    return failed;
}

int folder_write_tensor(struct safetensors_writer *w, const struct tensor *row, struct ops *o,
                        struct ops_array tensor)
{
    const int64_t n = tensor_elements(row);
    const size_t bytes = ops_type_bytes(tensor.type);
    void *data = ops_map(o, tensor, n);
    int failed = row->transposed ? write_turned(w, row, data, bytes)
                                 : safetensors_write(w, data, n, bytes);
    ops_unmap(o, tensor, n, data);
    return failed;
}

void folder_describe(struct safetensor *t, const struct model *m, const struct tensor *row,
                     enum ops_type type)
{
    char name[FOLDER_NAME];
    const int64_t shape[] = { file_shape(row, 0), file_shape(row, 1) };
    folder_names_saved(name, m, row->name);
    *t = safetensors_entry(name, type, row->rank, shape);
}

/* Writes generation_config.json, which transformers reads before it generates text. */
static int save_generation(const char *dir, int64_t begin, const struct ids *ends, int64_t pad,
                           const char *sampling)
{
    SCOPED(buf) path = file_path(dir, "generation_config.json"), text = BUF_INIT;
    if (!ends->count)
        return file_remove(path.data);
    buf_adds(&text, "{\n");
    architecture_print_ends(&text, begin, ends);
    buf_addf(&text, "%s  \"pad_token_id\": %lld\n}\n", sampling ? sampling : "", (long long)pad);
    return file_write(path.data, text.data, text.len);
}

int folder_save_config(const struct model *m, enum ops_type type, const char *dir, int64_t begin,
                       const struct ids *ends, int64_t pad, const char *sampling)
{
    static const struct ids none;
    SCOPED(buf) path = file_path(dir, "config.json"), config = BUF_INIT;
    if (begin < 0 && ends->count)
        begin = ends->data[0];
    if ((pad < 0 || pad >= m->config.vocabulary) && ends->count)
        pad = ends->data[0];
    architecture_print(&config, &m->config, begin, ends, type == OPS_BF16 ? "bfloat16" : "float32");
    if (file_mkdirs(dir) < 0 || file_write(path.data, config.data, config.len) < 0)
        return -1;
    return save_generation(dir, begin, m->config.head == HEAD_NEXT ? ends : &none, pad, sampling);
}
