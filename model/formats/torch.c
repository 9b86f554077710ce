#include "model/formats/torch.h"

#include "common/base/le.h"
#include "common/base/order.h"
#include "common/files/compress.h"
#include "model/formats/pickle.h"

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

/* An entry of the zip archive that holds the bytes of one file, uncompressed. */
struct entry {
    char *name;
    uint64_t offset, bytes; /* in the archive */
    uint32_t crc;
};

struct archive {
    struct safetensors *s;
    const struct file_map *map; /* of the archive */
    struct entry *entries;      /* sorted by name */
    size_t count, cap;
    char *root; /* the folder prefix of all entries */
};

/* ---- the zip archive: its directory ---------------------------------------------------------- */

/* Names, sizes and checksums come from the directory at the archive's end; the header before an
 * entry's bytes is used only to find where the bytes begin. Archives and entries beyond 4 GiB
 * (zip64) are supported. Format: PKWARE's APPNOTE.TXT 6.3.9.
 *
 * The marks at the beginning of records, and the bytes of records: */
enum { LOCAL = 0x04034b50, ENTRY = 0x02014b50, END = 0x06054b50 };
enum { END64 = 0x06064b50, LOCATOR = 0x07064b50 };
enum { LOCAL_BYTES = 30, ENTRY_BYTES = 46, END_BYTES = 22, END64_BYTES = 56, LOCATOR_BYTES = 20 };

enum { COMMENT_MAX = 65535, ENCRYPTED = 1, EXTRA_ZIP64 = 1 };

struct directory {
    uint64_t offset, bytes, entries;
};

/* Finds the end-of-central-directory record, which is followed only by its comment. Sets *at to the
 * record's offset. */
static int find_end(const struct archive *a, uint64_t *at)
{
    uint64_t least = a->map->bytes > END_BYTES + COMMENT_MAX
                         ? a->map->bytes - END_BYTES - COMMENT_MAX
                         : 0;
    for (uint64_t i = a->map->bytes; i-- > least;) {
        const unsigned char *p = a->map->data + i;
        if (a->map->bytes - i >= END_BYTES && le_number(p, 4) == END &&
            le_number(p + 20, 2) == a->map->bytes - i - END_BYTES) {
            *at = i;
            return 0;
        }
    }
    return err_set("%s: truncated: the end of the zip archive is not in its %llu bytes", a->s->path,
                   (unsigned long long)a->map->bytes);
}

static int find_directory(const struct archive *a, struct directory *d)
{
    uint64_t end = 0;
    if (find_end(a, &end) < 0)
        return -1;
    const unsigned char *p = a->map->data + end;
    *d = (struct directory){ le_number(p + 16, 4), le_number(p + 12, 4), le_number(p + 10, 2) };
    if (end >= LOCATOR_BYTES && le_number(p - LOCATOR_BYTES, 4) == LOCATOR) {
        uint64_t at = le_number(p - LOCATOR_BYTES + 8, 8);
        if (at > end || end - at < END64_BYTES || le_number(a->map->data + at, 4) != END64)
            return err_set("%s: byte %llu: the end of the zip archive's directory should be here",
                           a->s->path, (unsigned long long)at);
        p = a->map->data + at;
        *d = (struct directory){ le_number(p + 48, 8), le_number(p + 40, 8), le_number(p + 32, 8) };
    }
    if (d->offset > end || d->bytes > end - d->offset || d->entries > d->bytes / ENTRY_BYTES)
        return err_set("%s: bad directory: %llu entries in %llu bytes from byte %llu on",
                       a->s->path, (unsigned long long)d->entries, (unsigned long long)d->bytes,
                       (unsigned long long)d->offset);
    return 0;
}

/* ---- the zip archive: its entries ------------------------------------------------------------ */

/* Replaces *x by the next 8-byte number of the zip64 extra field if *x has the value that marks a
 * number too large for 32 bits. Moves *extra past that number. */
static void widen(uint64_t *x, const unsigned char **extra, const unsigned char *end)
{
    if (*x == UINT32_MAX && end - *extra >= 8) {
        *x = le_number(*extra, 8);
        *extra += 8;
    }
}

/* Sets *bytes, *packed and *local, the sizes and the offset of an entry, from the entry's zip64
 * extra field if their 32-bit fields say that they are there. */
static void read_large(const unsigned char *extra, size_t n, uint64_t *bytes, uint64_t *packed,
                       uint64_t *local)
{
    const unsigned char *end = extra + n;
    while (end - extra >= 4) {
        uint64_t id = le_number(extra, 2), length = le_number(extra + 2, 2);
        extra += 4;
        if (length > (uint64_t)(end - extra))
            return;
        if (id == EXTRA_ZIP64) {
            const unsigned char *p = extra;
            widen(bytes, &p, extra + length);
            widen(packed, &p, extra + length);
            widen(local, &p, extra + length);
            return;
        }
        extra += length;
    }
}

/* Sets e->offset to the first byte of the entry's data, after the local header at offset local. */
static int find_bytes(const struct archive *a, struct entry *e, uint64_t local)
{
    if (local > a->map->bytes || a->map->bytes - local < LOCAL_BYTES ||
        le_number(a->map->data + local, 4) != LOCAL)
        return err_set("%s: byte %llu: entry '%s' should begin here", a->s->path,
                       (unsigned long long)local, e->name);
    const unsigned char *p = a->map->data + local;
    e->offset = local + LOCAL_BYTES + le_number(p + 26, 2) + le_number(p + 28, 2);
    if (e->offset > a->map->bytes || e->bytes > a->map->bytes - e->offset)
        return err_set(
            "%s: truncated: entry '%s' has %llu bytes from byte %llu on, but the file has %llu",
            a->s->path, e->name, (unsigned long long)e->bytes, (unsigned long long)e->offset,
            (unsigned long long)a->map->bytes);
    return 0;
}

/* Reads the entry of the central directory at offset *at into *e, and moves *at past it. */
static int read_entry(const struct archive *a, struct entry *e, uint64_t *at, uint64_t end)
{
    const unsigned char *p = a->map->data + *at;
    uint64_t left = end - *at;
    if (left < ENTRY_BYTES || le_number(p, 4) != ENTRY)
        return err_set("%s: byte %llu: an entry of the directory should begin here", a->s->path,
                       (unsigned long long)*at);
    uint64_t name = le_number(p + 28, 2), extra = le_number(p + 30, 2),
             comment = le_number(p + 32, 2);
    if (name + extra + comment > left - ENTRY_BYTES)
        return err_set("%s: byte %llu: truncated entry of the directory", a->s->path,
                       (unsigned long long)*at);
    uint64_t packed = le_number(p + 20, 4), local = le_number(p + 42, 4);
    e->name = mem_strndup((const char *)p + ENTRY_BYTES, name);
    e->crc = (uint32_t)le_number(p + 16, 4);
    e->bytes = le_number(p + 24, 4);
    read_large(p + ENTRY_BYTES + name, extra, &e->bytes, &packed, &local);
    if (le_number(p + 8, 2) & ENCRYPTED || le_number(p + 10, 2) || packed != e->bytes)
        return err_set("%s: byte %llu: entry '%s' is compressed or encrypted", a->s->path,
                       (unsigned long long)*at, e->name);
    *at += ENTRY_BYTES + name + extra + comment;
    return find_bytes(a, e, local);
}

/* Reads all entries. Together they must not have more bytes than the archive. */
static int read_entries(struct archive *a)
{
    struct directory d;
    if (find_directory(a, &d) < 0)
        return -1;
    uint64_t at = d.offset, all = 0;
    for (uint64_t i = 0; i < d.entries; i++) {
        struct entry *e = &mem_next(a->entries, a->count, a->cap);
        *e = (struct entry){ 0 };
        if (read_entry(a, e, &at, d.offset + d.bytes) < 0)
            return -1;
        all += e->bytes;
        if (all > a->map->bytes)
            return err_set("%s: entry '%s' overlaps another one", a->s->path, e->name);
    }
    mem_sort(a->entries, a->count, order_texts);
    return 0;
}

/* Returns the entry with this name, or NULL. */
static const struct entry *find(const struct archive *a, const char *name)
{
    return a->count ? bsearch(&name, a->entries, a->count, sizeof *a->entries, order_texts) : NULL;
}

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
                 const struct entry *storage, const char *path)
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
    const struct entry *storage = find(a, entry.data);
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

/* ---- what torch.save writes ------------------------------------------------------------------ */

/* Returns the entry "ROOT/data.pkl", or NULL if there is none. Sets *n to the length of "ROOT/",
 * the prefix of all entry names. */
static const struct entry *find_list(const struct archive *a, size_t *n)
{
    static const char list[] = "data.pkl";
    for (size_t i = 0; i < a->count; i++) {
        const char *slash = strchr(a->entries[i].name, '/');
        if (slash && !strcmp(slash + 1, list)) {
            *n = (size_t)(slash + 1 - a->entries[i].name);
            return &a->entries[i];
        }
    }
    return NULL;
}

static int check_archive(const struct archive *a)
{
    const unsigned char *data = a->map->data;
    for (size_t i = 0; i < a->count; i++) {
        const struct entry *e = &a->entries[i];
        const uint32_t crc = compress_crc32(data + e->offset, e->bytes);
        if (crc != e->crc)
            return err_set(
                "%s: entry '%s', from byte %llu on, is damaged: its checksum is %08x and "
                "should be %08x",
                a->s->path, e->name, (unsigned long long)e->offset, crc, e->crc);
    }
    SCOPED(buf) name = buf_format("%sbyteorder", a->root);
    const struct entry *order = find(a, name.data);
    if (order && (order->bytes != 6 || memcmp(data + order->offset, "little", 6)))
        return err_set("%s: '%s' is not 'little': only little-endian numbers are supported",
                       a->s->path, order->name);
    return 0;
}

static int read_list(struct archive *a, const struct entry *list)
{
    struct safetensors *s = a->s;
    SCOPED(buf) name = buf_format("%s: %s", s->path, list->name);
    return pickle_read(s->map.data + list->offset, list->bytes, name.data, add_tensor, a) < 0
               ? -1
               : check_names(s);
}

static int read_zip(struct safetensors *s)
{
    struct archive a = { .s = s, .map = &s->map };
    size_t n;
    int failed = read_entries(&a);
    const struct entry *list = failed ? NULL : find_list(&a, &n);
    a.root = list ? mem_strndup(list->name, n) : NULL;
    if (!failed)
        failed = !list ? err_set("%s: no entry data.pkl, which torch.save writes", s->path)
                       : check_archive(&a) < 0 || read_list(&a, list) < 0;
    for (size_t i = 0; i < a.count; i++)
        free(a.entries[i].name);
    free(a.entries);
    free(a.root);
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
