#include "model/formats/safetensors.h"

#include "common/base/le.h"
#include "common/formats/js.h"
#include "model/compute/stored.h"

/* The types that a header may name. `type` is OPS_LIST if tensors of this type cannot be read. */
static const struct dtype {
    const char *name;
    int bytes;
    enum ops_type type;
} dtypes[] = {
    { "F32", 4, OPS_F32 },   { "F16", 2, OPS_F16 },      { "BF16", 2, OPS_BF16 },
    { "F64", 8, OPS_F64 },   { "I64", 8, OPS_LIST },     { "I32", 4, OPS_LIST },
    { "I16", 2, OPS_LIST },  { "I8", 1, OPS_LIST },      { "U64", 8, OPS_LIST },
    { "U32", 4, OPS_LIST },  { "U16", 2, OPS_LIST },     { "U8", 1, OPS_LIST },
    { "BOOL", 1, OPS_LIST }, { "F8_E4M3", 1, OPS_LIST }, { "F8_E5M2", 1, OPS_LIST },
};

/* What stands before the digits of the checksum in a header that we write. */
static const char sum_key[] = "\"textmill.crc32c\":\"";

/* ---- the header --------------------------------------------------------------------------- */

/* Returns the type that a header calls `name`; NULL if there is none. */
static const struct dtype *find_dtype(const char *name)
{
    for (size_t i = 0; name && i < sizeof dtypes / sizeof *dtypes; i++)
        if (!strcmp(name, dtypes[i].name))
            return &dtypes[i];
    return NULL;
}

static int read_shape(struct safetensor *t, const struct js *shape, const char *path)
{
    if (!js_is_array(shape) || js_count(shape) > SAFETENSORS_RANK)
        return err_set("%s: bad shape of tensor '%s': not a list of at most %d numbers", path,
                       t->name, SAFETENSORS_RANK);
    t->rank = (int)js_count(shape);
    t->elements = 1;
    for (int i = 0; i < t->rank; i++) {
        if (js_int(js_at(shape, (size_t)i), &t->shape[i]) < 0 || t->shape[i] < 0 ||
            __builtin_mul_overflow(t->elements, t->shape[i], &t->elements))
            return err_set("%s: bad shape of tensor '%s'", path, t->name);
    }
    return 0;
}

static int read_entry(struct safetensor *t, const struct js *entry, const char *path,
                      uint64_t data_bytes)
{
    const char *dtype = js_text(js_get(entry, "dtype"), NULL);
    const struct dtype *found = find_dtype(dtype);
    if (!found)
        return err_set("%s: unknown dtype '%s' of tensor '%s'", path, dtype ? dtype : "", t->name);
    t->dtype = found->name;
    if (read_shape(t, js_get(entry, "shape"), path) < 0)
        return -1;
    const struct js *offsets = js_get(entry, "data_offsets");
    int64_t begin, end;
    if (js_count(offsets) != 2 || js_int(js_at(offsets, 0), &begin) < 0 ||
        js_int(js_at(offsets, 1), &end) < 0 || begin < 0 || end < begin)
        return err_set("%s: bad data_offsets of tensor '%s'", path, t->name);
    if ((uint64_t)end > data_bytes)
        return err_set("%s: truncated: tensor '%s' ends at byte %lld of %llu bytes of data", path,
                       t->name, (long long)end, (unsigned long long)data_bytes);
    int64_t bytes;
    if (__builtin_mul_overflow(t->elements, found->bytes, &bytes) || bytes != end - begin)
        return err_set("%s: shape of tensor '%s' does not fit its %lld bytes", path, t->name,
                       (long long)(end - begin));
    t->offset = (uint64_t)begin;
    t->bytes = (uint64_t)bytes;
    return 0;
}

static int by_offset(const void *a, const void *b)
{
    const struct safetensor *s = a, *t = b;
    if (s->offset != t->offset)
        return s->offset < t->offset ? -1 : 1;
    return s->bytes < t->bytes ? -1 : s->bytes > t->bytes;
}

/* Sorts the tensors by offset and checks that they cover the data without holes, overlaps or bytes
 * after the last tensor. Changes their offsets from data offsets to file offsets. */
static int check_cover(struct safetensors *s, uint64_t data_begin, uint64_t data_bytes)
{
    mem_sort(s->tensors, s->count, by_offset);
    uint64_t at = 0;
    for (size_t i = 0; i < s->count; i++) {
        struct safetensor *t = &s->tensors[i];
        if (t->offset != at)
            return err_set("%s: %s before tensor '%s', at byte %llu of the data", s->path,
                           t->offset > at ? "hole" : "overlap", t->name,
                           (unsigned long long)t->offset);
        at += t->bytes;
        t->offset += data_begin;
    }
    if (at != data_bytes)
        return err_set("%s: %llu bytes after the last tensor", s->path,
                       (unsigned long long)(data_bytes - at));
    return 0;
}

static int read_header(struct safetensors *s, const struct js *root, uint64_t data_begin)
{
    uint64_t data_bytes = s->map.bytes - data_begin;
    if (!js_is_object(root))
        return err_set("%s: bad header: not a JSON object", s->path);
    for (void *it = js_first(root); it; it = js_next(root, it)) {
        size_t len;
        const char *name = js_key(it, &len);
        if (!strcmp(name, "__metadata__"))
            continue;
        struct safetensor *t = &mem_next(s->tensors, s->count, s->cap);
        *t = (struct safetensor){ .name = mem_strndup(name, len) };
        if (read_entry(t, js_value(it), s->path, data_bytes) < 0)
            return -1;
    }
    return check_cover(s, data_begin, data_bytes);
}

/* ---- one file ----------------------------------------------------------------------------- */

/* Returns the place of the checksum's digits in the file, or 0 if the header has none. */
static uint64_t find_sum(const struct file_map *map, uint64_t data_begin)
{
    const unsigned char *key = memmem(map->data, data_begin, sum_key, strlen(sum_key));
    const uint64_t at = key ? (uint64_t)(key - map->data) + strlen(sum_key) : 0;
    return at + FILE_SUM_DIGITS <= data_begin ? at : 0;
}

static int read_map(struct safetensors *s)
{
    if (s->map.bytes < 8)
        return err_set("%s: truncated: its %llu bytes are too few for the length of the header",
                       s->path, (unsigned long long)s->map.bytes);
    uint64_t n = le_u64(s->map.data);
    if (n > SAFETENSORS_HEADER_MAX)
        return err_set("%s: bad header length %llu, the limit is %d: is this a safetensors file?",
                       s->path, (unsigned long long)n, SAFETENSORS_HEADER_MAX);
    if (n > s->map.bytes - 8)
        return err_set("%s: truncated: header of %llu bytes in a file of %llu", s->path,
                       (unsigned long long)n, (unsigned long long)s->map.bytes);
    SCOPED_JS root = js_parse((const char *)s->map.data + 8, n, s->path);
    if (!root)
        return -1;
    s->sum_at = find_sum(&s->map, 8 + n);
    return read_header(s, root, 8 + n);
}

static void free_tensors(struct safetensors *s)
{
    for (size_t i = 0; i < s->count; i++)
        free(s->tensors[i].name);
    free(s->tensors);
    free(s->path);
    *s = (struct safetensors){ 0 };
}

int safetensors_parse_by(struct safetensors *s, const void *bytes, uint64_t n, const char *name,
                         int (*read)(struct safetensors *s))
{
    *s = (struct safetensors){ .path = mem_strdup(name), .map = { bytes, n } };
    if (read(s) == 0)
        return 0;
    free_tensors(s);
    return -1;
}

int safetensors_open_by(struct safetensors *s, const char *path, int (*read)(struct safetensors *s))
{
    struct file_map map;
    *s = (struct safetensors){ 0 };
    if (file_map(&map, path) < 0)
        return -1;
    if (file_check_pointer(path, map.data, map.bytes) == 0 &&
        safetensors_parse_by(s, map.data, map.bytes, path, read) == 0)
        return 0;
    file_unmap(&map);
    return -1;
}

int safetensors_parse(struct safetensors *s, const void *bytes, uint64_t n, const char *name)
{
    return safetensors_parse_by(s, bytes, n, name, read_map);
}

int safetensors_open(struct safetensors *s, const char *path)
{
    return safetensors_open_by(s, path, read_map);
}

int safetensors_check(const struct safetensors *s)
{
    return s->sum_at && file_map_check(&s->map, s->sum_at) < 0 ? err_in("'%s' is damaged", s->path)
                                                               : 0;
}

void safetensors_close(struct safetensors *s)
{
    if (s->map.data)
        file_unmap(&s->map);
    free_tensors(s);
}

const struct safetensor *safetensors_find(const struct safetensors *s, const char *name)
{
    for (size_t i = 0; i < s->count; i++)
        if (!strcmp(s->tensors[i].name, name))
            return &s->tensors[i];
    return NULL;
}

/* ---- values ------------------------------------------------------------------------------- */

const unsigned char *safetensors_bytes(const struct safetensors *s, const struct safetensor *t,
                                       unsigned char **copy)
{
    const unsigned char *from = s->map.data + t->offset;
    *copy = NULL;
    if (!t->strided)
        return from;
    size_t width = t->bytes / (uint64_t)t->elements;
    unsigned char *to = *copy = mem_alloc(t->bytes);
    int64_t at[SAFETENSORS_RANK] = { 0 }, element = 0;
    for (int64_t i = 0; i < t->elements; i++, to += width) {
        memcpy(to, from + (size_t)element * width, width);
        for (int d = t->rank;
             d-- > 0;) { /* advance the index; at the end of a dimension, reset it */
            element += t->stride[d];
            if (++at[d] < t->shape[d])
                break;
            element -= at[d] * t->stride[d];
            at[d] = 0;
        }
    }
    return *copy;
}

int safetensors_same(const struct safetensors *s, const struct safetensor *t,
                     const struct safetensors *other_s, const struct safetensor *other)
{
    if (t->bytes != other->bytes)
        return 0;
    SCOPED_MEM unsigned char *copy = NULL, *other_copy = NULL;
    const unsigned char *a = safetensors_bytes(s, t, &copy),
                        *b = safetensors_bytes(other_s, other, &other_copy);
    return !memcmp(a, b, t->bytes);
}

int safetensors_type(const struct safetensors *s, const struct safetensor *t, enum ops_type *type)
{
    const struct dtype *found = find_dtype(t->dtype);
    const int is_read = found && found->type != OPS_LIST;
    *type = is_read ? found->type : OPS_F32;
    return is_read ? 0
                   : err_set("%s: tensor '%s' is %s; only F64, F32, F16 and BF16 are read", s->path,
                             t->name, t->dtype);
}

int safetensors_read_part(const struct safetensors *s, const struct safetensor *t, int64_t first,
                          int64_t n, float *out)
{
    SCOPED_MEM unsigned char *copy = NULL;
    enum ops_type type;
    if (safetensors_type(s, t, &type) < 0)
        return -1;
    const unsigned char *all = safetensors_bytes(s, t, &copy);
    stored_read(type, out, all + stored_bytes(type, first), n);
    return 0;
}

int safetensors_read(const struct safetensors *s, const struct safetensor *t, float *out)
{
    return safetensors_read_part(s, t, 0, t->elements, out);
}

/* ---- writing ------------------------------------------------------------------------------ */

struct safetensor safetensors_entry(const char *name, enum ops_type type, int rank,
                                    const int64_t *shape)
{
    struct safetensor t = { .name = mem_strdup(name),
                            .dtype = type == OPS_BF16 ? "BF16" : "F32",
                            .rank = rank,
                            .elements = 1 };
    for (int i = 0; i < rank; i++) {
        t.shape[i] = shape[i];
        t.elements *= shape[i];
    }
    t.bytes = (uint64_t)t.elements * ops_type_bytes(type);
    return t;
}

static uint64_t add_entry(struct buf *header, const struct safetensor *t, uint64_t begin)
{
    const uint64_t end = begin + t->bytes;
    buf_adds(header, ",");
    js_quote(header, t->name, strlen(t->name));
    buf_addf(header, ":{\"dtype\":\"%s\",\"shape\":[", t->dtype);
    for (int i = 0; i < t->rank; i++)
        buf_addf(header, "%s%lld", i ? "," : "", (long long)t->shape[i]);
    buf_addf(header, "],\"data_offsets\":[%llu,%llu]}", (unsigned long long)begin,
             (unsigned long long)end);
    return end;
}

int safetensors_create(struct safetensors_writer *w, const char *path,
                       const struct safetensor *tensors, size_t count)
{
    SCOPED(buf) header = BUF_INIT;
    uint64_t data_bytes = 0;
    *w = (struct safetensors_writer){ 0 };
    le_add_u64(&header, 0); /* the length of the rest, set below */
    buf_addf(&header, "{\"__metadata__\":{\"format\":\"pt\",%s", sum_key);
    const size_t sum_at = header.len;
    buf_adds(&header, "00000000\"}");
    for (size_t i = 0; i < count; i++)
        data_bytes = add_entry(&header, &tensors[i], data_bytes);
    buf_addc(&header, '}');
    while (header.len % 8) /* the data begins at a multiple of 8 bytes */
        buf_addc(&header, ' ');
    le_put_u64(header.data, header.len - 8);
    w->expected = header.len + data_bytes;
    int failed = output_open(&w->out, path) < 0;
    w->out.late = 1; /* a training waits for the writes, but not for safetensors_finish */
    if (!failed)
        failed = output_begin_summed(&w->out, header.data, header.len, sum_at) < 0;
    if (failed)
        safetensors_abandon(w);
    return failed ? -1 : 0;
}

/* The file holds little-endian numbers, so a big-endian machine swaps their bytes. */
int safetensors_write(struct safetensors_writer *w, const void *data, int64_t n, size_t bytes)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    return output_write(&w->out, data, (size_t)n * bytes);
#else
    const unsigned char *p = data;
    for (int64_t i = 0; i < n; i++, p += bytes) {
        unsigned char swapped[4];
        for (size_t k = 0; k < bytes; k++)
            swapped[k] = p[bytes - 1 - k];
        if (output_write(&w->out, swapped, bytes) < 0)
            return -1;
    }
    return 0;
#endif
}

int safetensors_complete(struct safetensors_writer *w)
{
    assert(w->out.failed || w->out.offset == w->expected);
    return output_complete(&w->out);
}

int safetensors_finish(struct safetensors_writer *w)
{
    return output_close(&w->out);
}

void safetensors_abandon(struct safetensors_writer *w)
{
    output_abandon(&w->out);
}
