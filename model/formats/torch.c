#include "model/formats/torch.h"

#include "common/base/order.h"
#include "model/formats/pickle.h"
#include "model/formats/zip.h"

_Static_assert((int)SAFETENSORS_RANK == (int)PICKLE_RANK, "a tensor's shape is taken as it is");

/* The storage classes of torch, with the names of their types in safetensors and the bytes of a
 * number. */
static const struct {
    const char *type, *dtype;
    int bytes;
} types[] = {
    { "FloatStorage", "F32", 4 },  { "HalfStorage", "F16", 2 }, { "BFloat16Storage", "BF16", 2 },
    { "DoubleStorage", "F64", 8 }, { "LongStorage", "I64", 8 }, { "IntStorage", "I32", 4 },
    { "ShortStorage", "I16", 2 },  { "CharStorage", "I8", 1 },  { "ByteStorage", "U8", 1 },
    { "BoolStorage", "BOOL", 1 },
};

/* ---- tensors --------------------------------------------------------------------------------- */

/* Sets t->dtype. Returns the bytes of an element, or 0 with an error if the storage class is
 * unknown. */
static int set_dtype(struct safetensor *t, const struct pickle_tensor *from, const char *path)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (!strcmp(from->type, types[i].type)) {
            t->dtype = types[i].dtype;
            return types[i].bytes;
        }
    err_set("%s: tensor '%s' is of an unsupported class, torch.%s", path, t->name, from->type);
    return 0;
}

/* Computes t->elements, sets t->strided if the view is not contiguous in row-major order, and sets
 * *end to the end of the view in its storage, in elements. Returns 0, or -1 on overflow. */
static int measure(struct safetensor *t, const struct pickle_tensor *from, int64_t *end)
{
    int64_t dense = 1;
    *end = from->offset;
    t->elements = 1;
    for (int i = 0; i < from->rank; i++)
        if (__builtin_mul_overflow(t->elements, from->shape[i], &t->elements))
            return -1;
    for (int i = from->rank; i-- > 0 && t->elements;) {
        int64_t last;
        if (__builtin_mul_overflow(from->shape[i] - 1, from->stride[i], &last) ||
            __builtin_add_overflow(*end, last, end))
            return -1;
        t->strided |= from->shape[i] > 1 && from->stride[i] != dense;
        dense *= from->shape[i];
    }
    return t->elements && __builtin_add_overflow(*end, 1, end) ? -1 : 0;
}

/* Sets the type and the file offset of a tensor, which is a view of a storage. The storage is an
 * entry of the zip archive. Returns 0, or -1 with an error if the view does not fit into it. */
static int place(struct safetensor *t, const struct pickle_tensor *from,
                 const struct zip_entry *storage, const char *path)
{
    int bytes = set_dtype(t, from, path);
    int64_t end, all = from->storage_elements;
    if (!bytes)
        return -1;
    if (storage->bytes % (uint64_t)bytes || storage->bytes / (uint64_t)bytes != (uint64_t)all)
        return err_set(
            "%s: tensor '%s' needs a storage of %lld numbers of %d bytes, but '%s' has %llu bytes",
            path, t->name, (long long)all, bytes, storage->name,
            (unsigned long long)storage->bytes);
    if (measure(t, from, &end) < 0 || end > all)
        return err_set("%s: tensor '%s' goes beyond the %lld elements of its storage", path,
                       t->name, (long long)all);
    if (t->elements > all)
        return err_set("%s: tensor '%s' has %lld elements, its storage %lld: expanded tensors are "
                       "unsupported",
                       path, t->name, (long long)t->elements, (long long)all);
    t->offset = storage->offset + (uint64_t)from->offset * (uint64_t)bytes;
    t->bytes = (uint64_t)t->elements * (uint64_t)bytes;
    return 0;
}

/* Adds a tensor with its numbers in `storage`. Returns -1 if storage is NULL; the caller sets that
 * error. */
static int add_tensor(struct safetensors *s, const struct pickle_tensor *from,
                      const struct zip_entry *storage)
{
    mem_grow(s->tensors, s->cap, s->count + 1);
    struct safetensor *t = &s->tensors[s->count++];
    *t = (struct safetensor){ .name = mem_strdup(from->name), .rank = from->rank };
    memcpy(t->shape, from->shape, sizeof t->shape);
    memcpy(t->stride, from->stride, sizeof t->stride);
    return storage ? place(t, from, storage, s->path) : -1;
}

/* Returns the archive entry with the tensor's storage, or NULL with an error. root is the folder
 * prefix of all entries. */
static const struct zip_entry *find_storage(const struct safetensors *s,
                                            const struct pickle_tensor *from, const struct zip *zip,
                                            const char *root)
{
    SCOPED(buf) entry = BUF_INIT;
    buf_addf(&entry, "%sdata/%s", root, from->key);
    const struct zip_entry *storage = zip_find(zip, entry.data);
    if (!storage)
        err_set("%s: no entry '%s', which should hold tensor '%s'", s->path, entry.data,
                from->name);
    return storage;
}

static int check_names(struct safetensors *s)
{
    if (s->count)
        qsort(s->tensors, s->count, sizeof *s->tensors, order_texts);
    for (size_t i = 1; i < s->count; i++)
        if (!strcmp(s->tensors[i - 1].name, s->tensors[i].name))
            return err_set("%s: tensor '%s' is there twice", s->path, s->tensors[i].name);
    return 0;
}

/* ---- the archive ----------------------------------------------------------------------------- */

/* Returns the entry "ROOT/data.pkl", or NULL if there is none. Sets *n to the length of "ROOT/",
 * the prefix of all entry names. */
static const struct zip_entry *find_list(const struct zip *zip, size_t *n)
{
    static const char list[] = "data.pkl";
    for (size_t i = 0; i < zip->count; i++) {
        const char *slash = strchr(zip->entries[i].name, '/');
        if (slash && !strcmp(slash + 1, list)) {
            *n = (size_t)(slash + 1 - zip->entries[i].name);
            return &zip->entries[i];
        }
    }
    return NULL;
}

static int check_archive(const struct safetensors *s, const struct zip *zip, const char *root)
{
    for (size_t i = 0; i < zip->count; i++)
        if (zip_check(&zip->entries[i], s->map.data, s->path) < 0)
            return -1;
    struct buf name = BUF_INIT;
    buf_addf(&name, "%sbyteorder", root);
    const struct zip_entry *order = zip_find(zip, name.data);
    buf_release(&name);
    if (order && (order->bytes != 6 || memcmp(s->map.data + order->offset, "little", 6)))
        return err_set("%s: '%s' is not 'little': only little-endian numbers are supported",
                       s->path, order->name);
    return 0;
}

static int read_list(struct safetensors *s, const struct zip *zip, const struct zip_entry *list,
                     const char *root)
{
    SCOPED(buf) name = BUF_INIT;
    SCOPED_BY(pickle_free) struct pickle pickle = { 0 };
    buf_addf(&name, "%s: %s", s->path, list->name);
    int failed = pickle_read(&pickle, s->map.data + list->offset, list->bytes, name.data);
    if (failed)
        return -1;
    for (size_t i = 0; i < pickle.count && !failed; i++)
        failed = add_tensor(s, &pickle.tensors[i], find_storage(s, &pickle.tensors[i], zip, root));
    return failed ? -1 : check_names(s);
}

static int read_zip(struct safetensors *s)
{
    SCOPED_BY(zip_close) struct zip zip = { 0 };
    size_t n;
    if (zip_open(&zip, s->map.data, s->map.bytes, s->path) < 0)
        return -1;
    const struct zip_entry *list = find_list(&zip, &n);
    SCOPED_MEM char *root = list ? mem_strndup(list->name, n) : NULL;
    int failed = !list ? err_set("%s: no entry data.pkl, which torch.save writes", s->path)
                       : check_archive(s, &zip, root) < 0 || read_list(s, &zip, list, root) < 0;
    return failed ? -1 : 0;
}

static const char before_1_6[] = "\x80\x02\x8a\x0a"; /* a pickle of a magic number */

static int read_archive(struct safetensors *s)
{
    if (s->map.bytes >= 4 && !memcmp(s->map.data, before_1_6, 4))
        return err_set("%s: byte 0: the format of torch before 1.6: load it with torch and save it "
                       "again",
                       s->path);
    if (s->map.bytes < 4 || memcmp(s->map.data, "PK\3\4", 4))
        return err_set("%s: byte 0: not a zip archive, which torch.save writes", s->path);
    return read_zip(s);
}

int torch_parse(struct safetensors *s, const void *bytes, uint64_t n, const char *name)
{
    return safetensors_parse_by(s, bytes, n, name, read_archive);
}

int torch_open(struct safetensors *s, const char *path)
{
    return safetensors_open_by(s, path, read_archive);
}
