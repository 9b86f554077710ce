#include "model/formats/weights.h"

#include "common/formats/js.h"
#include "model/formats/tf_checkpoint.h"
#include "model/formats/torch.h"

typedef int opener(struct safetensors *s, const char *path);

enum { FORMS = 6 };
static const struct form {
    const char *name;
    opener *open;
    int index;
} forms[FORMS] = {
    { "model.safetensors", safetensors_open, 0 },
    { "model.safetensors.index.json", safetensors_open, 1 },
    { "pytorch_model.bin", torch_open, 0 },
    { "pytorch_model.bin.index.json", torch_open, 1 },
    { "bert_model.ckpt.index", tf_checkpoint_open, 0 },
    { "model.ckpt.index", tf_checkpoint_open, 0 },
};

/* Returns the index in w->files of the file `name` in folder dir, or -1 with an error. Opens the
 * file if it is not open yet. */
static int file_of(struct weights *w, opener *open, const char *dir, const char *name)
{
    SCOPED(buf) path = file_path(dir, name);
    struct safetensors s;
    for (size_t i = 0; i < w->count; i++)
        if (!strcmp(w->files[i].path, path.data))
            return (int)i;
    if (open(&s, path.data) < 0)
        return -1;
    mem_next(w->files, w->count, w->cap) = s;
    return (int)w->count - 1;
}

/* Opens all files that the index names. It is an error if a tensor is missing from the file that
 * the index gives for it, or if the files hold tensors that the index does not list. */
static int open_index(struct weights *w, opener *open, const char *dir, const char *index_path,
                      const struct js *map)
{
    if (!js_is_object(map) || !js_count(map))
        return err_set("%s: bad index: no weight_map, or no tensor in it", index_path);
    for (void *it = js_first(map); it; it = js_next(map, it)) {
        const char *tensor = js_key(it, NULL), *name = js_text(js_value(it), NULL);
        if (!name || !*name || strchr(name, '/'))
            return err_set("%s: bad file name of tensor '%s'", index_path, tensor);
        int file = file_of(w, open, dir, name);
        if (file < 0)
            return -1;
        if (!safetensors_find(&w->files[file], tensor))
            return err_set("%s: no tensor '%s', although the index says that it is in this file",
                           w->files[file].path, tensor);
    }
    size_t tensors = 0;
    for (size_t i = 0; i < w->count; i++)
        tensors += w->files[i].count;
    if (tensors != js_count(map))
        return err_set("%s: bad index: the files hold %zu tensors, but the index lists %zu",
                       index_path, tensors, js_count(map));
    return 0;
}

/* Sets the error for a folder without weights in a supported format. If the folder has weights in
 * an unsupported format, the message names the file and says how to convert it. Returns -1. */
static int no_weights(const char *dir)
{
    static const char *const others[] = { "tf_model.h5", "flax_model.msgpack",
                                          "adapter_model.safetensors", "adapter_model.bin" };
    const int other = file_first(dir, others, 4);
    if (other < 0)
        return -1;
    if (other < 4)
        return err_set("no model.safetensors in '%s', only %s: %s", dir, others[other],
                       other < 2 ? "convert it with transformers (from_pretrained, then "
                                   "save_pretrained)"
                                 : "merge it into its model with peft's merge_and_unload");
    return err_set("no model.safetensors, no pytorch_model.bin and no index of either in '%s', and "
                   "no checkpoint of TensorFlow that is named bert_model.ckpt or model.ckpt",
                   dir);
}

/* Sets w->sums to the checksums of the open files that the index lists. */
static int take_sums(struct weights *w, const char *index_path, const struct js *list)
{
    w->sums = mem_zalloc(w->count, sizeof *w->sums);
    for (size_t i = 0; i < w->count && list; i++) {
        const char *text = js_text(js_get(list, file_name(w->files[i].path)), NULL);
        char *end = NULL;
        if (!text)
            continue;
        w->sums[i] = (struct weights_sum){ (uint32_t)strtoul(text, &end, 16), 1 };
        if (end - text != 8 || *end)
            return err_set("%s: bad crc32c of '%s'", index_path, w->files[i].path);
    }
    return 0;
}

static int check_by_index(const struct safetensors *s, uint32_t crc)
{
    const uint32_t own = file_map_sum(&s->map, 0, s->map.bytes);
    if (own == crc)
        return 0;
    return err_set("'%s' is damaged or from another folder: its checksum is %08x, but the index "
                   "says %08x",
                   s->path, own, crc);
}

int weights_check(const struct weights *w, int rank, int ranks)
{
    int failed = 0;
    for (size_t i = (size_t)rank; i < w->count && !failed; i += (size_t)ranks)
        failed = w->sums && w->sums[i].known ? check_by_index(&w->files[i], w->sums[i].crc)
                                             : safetensors_check(&w->files[i]);
    return failed;
}

static int open_form(struct weights *w, const struct form *form, const char *dir)
{
    if (!form->index)
        return file_of(w, form->open, dir, form->name) < 0 ? -1 : 0;
    SCOPED(buf) path = file_path(dir, form->name);
    SCOPED_JS root = js_load(path.data);
    return !root || open_index(w, form->open, dir, path.data, js_get(root, "weight_map")) < 0
               ? -1
               : take_sums(w, path.data, js_get(js_get(root, "metadata"), "crc32c"));
}

/* Opens the first file of list[count] that the folder has. */
static int open_first(struct weights *w, const char *dir, const struct form *list, int count)
{
    const char *names[FORMS];
    *w = (struct weights){ 0 };
    for (int i = 0; i < count; i++)
        names[i] = list[i].name;
    const int found = file_first(dir, names, count);
    const int failed = found < 0       ? -1
                       : found < count ? open_form(w, &list[found], dir)
                       : list == forms ? no_weights(dir)
                                       : err_set("no such file, and no index, in '%s'", dir);
    if (failed)
        weights_close(w);
    return failed;
}

int weights_open(struct weights *w, const char *dir)
{
    return open_first(w, dir, forms, FORMS);
}

int weights_open_base(struct weights *w, const char *dir, const char *base)
{
    char one[WEIGHTS_NAME], index[WEIGHTS_NAME + 16];
    weights_file_name(one, base, 0, 0);
    snprintf(index, sizeof index, "%s.index.json", one);
    const struct form both[] = { { one, safetensors_open, 0 }, { index, safetensors_open, 1 } };
    return open_first(w, dir, both, 2) < 0 ? err_in("%s", one) : 0;
}

void weights_close(struct weights *w)
{
    for (size_t i = 0; i < w->count; i++)
        safetensors_close(&w->files[i]);
    free(w->files);
    free(w->sums);
    *w = (struct weights){ 0 };
}

const struct safetensor *weights_find(const struct weights *w, const char *name,
                                      const struct safetensors **file)
{
    for (size_t i = 0; i < w->count; i++) {
        const struct safetensor *t = safetensors_find(&w->files[i], name);
        if (t) {
            *file = &w->files[i];
            return t;
        }
    }
    return NULL;
}

/* ---- writing ------------------------------------------------------------------------------ */

void weights_file_name(char out[WEIGHTS_NAME], const char *base, int file, int files)
{
    if (files)
        snprintf(out, WEIGHTS_NAME, "%s-%05d-of-%05d.safetensors", base, file + 1, files);
    else
        snprintf(out, WEIGHTS_NAME, "%s.safetensors", base);
}

static int by_name(const void *a, const void *b)
{
    const struct safetensor *const *s = a, *const *t = b;
    return strcmp((*s)->name, (*t)->name);
}

int weights_write_index(const char *dir, const char *base, const struct safetensor *tensors,
                        const int *file, size_t count, const uint32_t *crc, int files)
{
    SCOPED_MEM const struct safetensor **sorted = mem_alloc(count * sizeof *sorted);
    SCOPED(buf) text = BUF_INIT;
    char name[WEIGHTS_NAME];
    uint64_t bytes = 0;
    for (size_t i = 0; i < count; i++) {
        sorted[i] = &tensors[i];
        bytes += tensors[i].bytes;
    }
    qsort(sorted, count, sizeof *sorted, by_name);
    buf_adds(&text, "{\n  \"metadata\": {\n    \"crc32c\": {\n");
    for (int i = 0; i < files; i++) {
        weights_file_name(name, base, i, files);
        buf_addf(&text, "      \"%s\": \"%08x\"%s\n", name, crc[i], i + 1 < files ? "," : "");
    }
    buf_addf(&text, "    },\n    \"total_size\": %llu\n  },\n  \"weight_map\": {\n",
             (unsigned long long)bytes);
    for (size_t i = 0; i < count; i++) {
        weights_file_name(name, base, file[sorted[i] - tensors], files);
        buf_adds(&text, "    ");
        js_quote(&text, sorted[i]->name, strlen(sorted[i]->name));
        buf_addf(&text, ": \"%s\"%s\n", name, i + 1 < count ? "," : "");
    }
    buf_adds(&text, "  }\n}\n");
    SCOPED(buf) path = buf_format("%s/%s.safetensors.index.json", dir, base);
    return file_write(path.data, text.data, text.len);
}

/* Returns 1 for the names that weights_file_name gives to one of several files. */
static int is_numbered(const char *name, const char *base)
{
    unsigned file, files;
    int end = 0;
    const size_t n = strlen(base);
    return !strncmp(name, base, n) &&
           sscanf(name + n, "-%5u-of-%5u.safetensors%n", &file, &files, &end) == 2 && end &&
           !name[n + (size_t)end];
}

static int remove_file(const char *dir, const char *name)
{
    SCOPED(buf) path = file_path(dir, name);
    return file_remove(path.data);
}

int weights_remove(const char *dir, const char *base, int one)
{
    SCOPED(file_names) names = { 0 };
    SCOPED(buf) inside = file_path(dir, ""), name = buf_format("%s.safetensors.index.json", base);
    int failed = remove_file(dir, name.data);
    buf_setf(&name, "%s.safetensors", base);
    if (!failed && one)
        failed = remove_file(dir, name.data);
    if (!failed) /* the index, which says that the files are complete, is removed before them */
        failed = file_sync_dir(inside.data);
    if (!failed)
        failed = file_list(&names, dir, ".safetensors");
    for (size_t i = 0; i < names.count && !failed; i++)
        if (is_numbered(names.names[i], base))
            failed = remove_file(dir, names.names[i]);
    return failed;
}
