#include "model/formats/torch.h"

#include "common/base/order.h"
#include "model/formats/pickle.h"
#include "model/formats/zip.h"

/* The storage classes of torch, with their types in safetensors and the bytes of a number. */
static const struct {
    const char *type, *dtype;
    int bytes;
} types[] = {
    { "FloatStorage", "F32", 4 },  { "HalfStorage", "F16", 2 }, { "BFloat16Storage", "BF16", 2 },
    { "DoubleStorage", "F64", 8 }, { "LongStorage", "I64", 8 }, { "IntStorage", "I32", 4 },
    { "ShortStorage", "I16", 2 },  { "CharStorage", "I8", 1 },  { "ByteStorage", "U8", 1 },
    { "BoolStorage", "BOOL", 1 },
};

struct archive {
    struct safetensors *s;
    struct zip zip;
    char *root; /* the folder prefix of all entries */
};

/* ---- tensors --------------------------------------------------------------------------------- */

/* Sets t->dtype. Returns the bytes of an element, or 0 with an error for an unknown class. */
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
 * *end to the end of the view in its storage, where it begins at `offset`; both in elements.
 * Returns 0, or -1 on overflow. */
static int measure(struct safetensor *t, int64_t offset, int64_t *end)
{
    int64_t dense = 1;
    *end = offset;
    t->elements = 1;
    for (int i = 0; i < t->rank; i++)
        if (__builtin_mul_overflow(t->elements, t->shape[i], &t->elements))
            return -1;
    for (int i = t->rank; i-- > 0 && t->elements;) {
        int64_t last;
        if (__builtin_mul_overflow(t->shape[i] - 1, t->stride[i], &last) ||
            __builtin_add_overflow(*end, last, end))
            return -1;
        t->strided |= t->shape[i] > 1 && t->stride[i] != dense;
        dense *= t->shape[i];
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
    if (measure(t, from->offset, &end) < 0 || end > all)
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

/* Adds a tensor. Its storage is an entry of the archive, ctx. Returns 0, or -1 with an error. */
static int add_tensor(void *ctx, const struct pickle_tensor *from)
{
    const struct archive *a = ctx;
    struct safetensors *s = a->s;
    struct safetensor *t = &mem_next(s->tensors, s->count, s->cap);
    *t = from->view;
    t->name = mem_strdup(t->name);
    SCOPED(buf) entry = buf_format("%sdata/%s", a->root, from->key);
    const struct zip_entry *storage = zip_find(&a->zip, entry.data);
    if (!storage)
        return err_set("%s: no entry '%s', which should hold tensor '%s'", s->path, entry.data,
                       t->name);
    return place(t, from, storage, s->path);
}

static int check_names(struct safetensors *s)
{
    mem_sort(s->tensors, s->count, order_texts);
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

static int check_archive(const struct archive *a)
{
    const unsigned char *data = a->s->map.data;
    for (size_t i = 0; i < a->zip.count; i++)
        if (zip_check(&a->zip.entries[i], data, a->s->path) < 0)
            return -1;
    SCOPED(buf) name = buf_format("%sbyteorder", a->root);
    const struct zip_entry *order = zip_find(&a->zip, name.data);
    if (order && (order->bytes != 6 || memcmp(data + order->offset, "little", 6)))
        return err_set("%s: '%s' is not 'little': only little-endian numbers are supported",
                       a->s->path, order->name);
    return 0;
}

static int read_list(struct archive *a, const struct zip_entry *list)
{
    struct safetensors *s = a->s;
    SCOPED(buf) name = BUF_INIT;
    buf_addf(&name, "%s: %s", s->path, list->name);
    if (pickle_read(s->map.data + list->offset, list->bytes, name.data, add_tensor, a) < 0)
        return -1;
    return check_names(s);
}

static int read_zip(struct safetensors *s)
{
    struct archive a = { .s = s };
    size_t n;
    if (zip_open(&a.zip, s->map.data, s->map.bytes, s->path) < 0)
        return -1;
    const struct zip_entry *list = find_list(&a.zip, &n);
    a.root = list ? mem_strndup(list->name, n) : NULL;
    int failed = !list ? err_set("%s: no entry data.pkl, which torch.save writes", s->path)
                       : check_archive(&a) < 0 || read_list(&a, list) < 0;
    free(a.root);
    zip_close(&a.zip);
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
