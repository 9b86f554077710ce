#include "model/formats/weights.h"

#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/err.h"
#include "common/js.h"
#include "common/mem.h"
#include "model/formats/torch.h"

typedef int opener(struct safetensors *s, const char *path);

static const struct form {
    const char *name;
    opener *open;
    int index;
} forms[] = {
    { "model.safetensors", safetensors_open, 0 },
    { "model.safetensors.index.json", safetensors_open, 1 },
    { "pytorch_model.bin", torch_open, 0 },
    { "pytorch_model.bin.index.json", torch_open, 1 },
};

/* Returns the index in w->files of the file `name` in folder dir, or -1 with an error. Opens the
 * file if it is not open yet. */
static int file_of(struct weights *w, opener *open, const char *dir, const char *name)
{
    struct buf path = BUF_INIT;
    file_join(&path, dir, name);
    int found = -1;
    for (size_t i = 0; i < w->count && found < 0; i++)
        if (!strcmp(w->files[i].path, path.data))
            found = (int)i;
    if (found < 0) {
        struct safetensors s;
        if (open(&s, path.data) == 0) {
            mem_grow(w->files, w->cap, w->count + 1);
            found = (int)w->count;
            w->files[w->count++] = s;
        }
    }
    buf_release(&path);
    return found;
}

/* Opens all files that the index names. Returns 0, or -1 with an error. It is an error if a tensor
 * is missing from the file that the index gives for it, or if the files hold tensors that the index
 * does not list. */
static int open_index(struct weights *w, opener *open, const char *dir, const char *index_path,
                      const struct js *map)
{
    if (!js_is_object(map))
        return err_set("%s: bad index: no weight_map", index_path);
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
    enum file_kind kind;
    static const char *const others[] = { "tf_model.h5", "flax_model.msgpack",
                                          "bert_model.ckpt.index", "model.ckpt.index" };
    struct buf path = BUF_INIT;
    const char *other = NULL;
    for (size_t i = 0; i < sizeof others / sizeof *others && !other; i++) {
        file_join(&path, dir, others[i]);
        if (file_look(path.data, &kind) < 0) {
            buf_release(&path);
            return -1;
        }
        other = kind ? others[i] : NULL;
    }
    buf_release(&path);
    if (other)
        return err_set(
            "no model.safetensors in '%s', only %s: convert it with transformers (from_pretrained, then save_pretrained)",
            dir, other);
    return err_set("no model.safetensors, no pytorch_model.bin and no index of either in '%s'",
                   dir);
}

static int open_form(struct weights *w, const struct form *form, const char *dir, const char *path)
{
    if (!form->index)
        return file_of(w, form->open, dir, form->name) < 0 ? -1 : 0;
    struct js *root = js_load(path);
    int failed = !root || open_index(w, form->open, dir, path, js_get(root, "weight_map")) < 0;
    js_free(root);
    return failed ? -1 : 0;
}

int weights_open(struct weights *w, const char *dir)
{
    *w = (struct weights){ 0 };
    struct buf path = BUF_INIT;
    const struct form *form = NULL;
    enum file_kind kind;
    int failed = 0;
    for (size_t i = 0; i < sizeof forms / sizeof *forms && !form && !failed; i++) {
        file_join(&path, dir, forms[i].name);
        failed = file_look(path.data, &kind);
        form = kind ? &forms[i] : NULL;
    }
    if (!failed)
        failed = form ? open_form(w, form, dir, path.data) : no_weights(dir);
    buf_release(&path);
    if (failed)
        weights_close(w);
    return failed;
}

void weights_close(struct weights *w)
{
    for (size_t i = 0; i < w->count; i++)
        safetensors_close(&w->files[i]);
    free(w->files);
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
