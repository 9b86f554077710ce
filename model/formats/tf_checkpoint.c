#include "model/formats/tf_checkpoint.h"

#include "common/base/crc32c.h"
#include "common/base/le.h"
#include "common/base/protobuf.h"

enum { FOOTER = 48, TRAILER = 5, KEY_MOST = 512, INDEX_MOST = 64 << 20 };
static const unsigned char magic[8] = { 0x57, 0xfb, 0x80, 0x8b, 0x24, 0x75, 0x47, 0xdb };

/* An index while it is read. */
struct table {
    const unsigned char *data, *end;
    const char *name;
    struct safetensors *to;
    int started;            /* 1: the header was read */
    uint64_t bytes;         /* of all tensors so far */
    char key[KEY_MOST + 1]; /* the last key of a tensor */
};

static int bad(const struct table *t, const unsigned char *at, const char *problem)
{
    return err_set("%s: byte %llu: %s", t->name, (unsigned long long)(at - t->data), problem);
}

/* ---- tensors ------------------------------------------------------------------------------ */

/* Reads a BundleHeaderProto: there must be one file of numbers, in little-endian order. */
static int read_header(struct table *t, const unsigned char *p, const unsigned char *end)
{
    struct protobuf_field f;
    int more;
    t->started = 1;
    for (const unsigned char *at = p; (more = protobuf_next(&at, end, &f)) > 0;) {
        if (f.number == 1 && f.value != 1)
            return err_set("%s: the numbers are in %llu files; only one is read", t->name,
                           (unsigned long long)f.value);
        if (f.number == 2 && f.value)
            return err_set("%s: not little-endian numbers, which alone are supported", t->name);
    }
    return more < 0 ? bad(t, p, "bad header of the checkpoint") : 0;
}

/* Appends the sizes of a TensorShapeProto to the tensor's shape. Returns 0; -1, without an error
 * set, if the shape is malformed, has too many dimensions or too many elements. */
static int read_shape(struct safetensor *x, const unsigned char *p, const unsigned char *end)
{
    struct protobuf_field f, g;
    int more, inner = 0;
    while ((more = protobuf_next(&p, end, &f)) > 0) {
        int64_t size = 0;
        if (f.number != 2 || f.wire != PROTOBUF_BYTES || x->rank == SAFETENSORS_RANK)
            return -1;
        for (const unsigned char *at = f.data; (inner = protobuf_next(&at, f.end, &g)) > 0;)
            if (g.number == 1)
                size = (int64_t)g.value;
        if (inner < 0 || size < 0 || __builtin_mul_overflow(x->elements, size, &x->elements))
            return -1;
        x->shape[x->rank++] = size;
    }
    return more;
}

/* Returns the bytes of a number of TensorFlow's type `type`, and sets x->dtype; 0: unknown type. */
static int read_type(struct safetensor *x, uint64_t type)
{
    static const struct {
        uint64_t type;
        const char *dtype;
        int bytes;
    } types[] = { { 1, "F32", 4 }, { 2, "F64", 8 }, { 14, "BF16", 2 }, { 19, "F16", 2 } };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].type == type) {
            x->dtype = types[i].dtype;
            return types[i].bytes;
        }
    return 0;
}

/* Returns Hugging Face's name of the tensor that TensorFlow calls `key`; the caller frees it. A
 * kernel becomes a weight, which is transposed: *turned is 1. */
static char *translate(const char *key, int *turned)
{
    static const char *const whole[][2] = {
        { "cls/predictions/output_bias", "cls.predictions.bias" },
        { "cls/seq_relationship/output_weights", "cls.seq_relationship.weight" },
        { "cls/seq_relationship/output_bias", "cls.seq_relationship.bias" },
        { "cls/squad/output_weights", "qa_outputs.weight" },
        { "cls/squad/output_bias", "qa_outputs.bias" },
    };
    struct buf name = BUF_INIT;
    *turned = file_ends_with(key, "/kernel");
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        if (!strcmp(key, whole[i][0]))
            return mem_strdup(whole[i][1]);
    buf_add(&name, key, strlen(key) - (*turned ? strlen("kernel") : 0));
    if (*turned)
        buf_adds(&name, "weight");
    if (file_ends_with(key, "_embeddings"))
        buf_adds(&name, ".weight");
    for (char *at = name.data; (at = strchr(at, '/')); at++) {
        *at = '.';
        if (!strncmp(at, ".layer_", 7))
            at[6] = '.';
    }
    return buf_detach(&name);
}

/* Makes the matrix a view with exchanged dimensions. */
static void turn(struct safetensor *x)
{
    const int64_t rows = x->shape[0];
    x->strided = 1;
    x->stride[0] = 1;
    x->stride[1] = x->shape[1];
    x->shape[0] = x->shape[1];
    x->shape[1] = rows;
}

/* Adds the tensor x, of numbers of `width` bytes, after a check of its place and its checksum. */
static int add_tensor(struct table *t, struct safetensor x, const char *key, int width,
                      uint32_t sum)
{
    const uint64_t all = t->to->map.bytes;
    uint64_t bytes;
    int turned;
    if (__builtin_mul_overflow((uint64_t)x.elements, (uint64_t)width, &bytes) || bytes != x.bytes)
        return err_set("%s: the shape of tensor '%s' does not fit its %llu bytes", t->name, key,
                       (unsigned long long)x.bytes);
    if (x.bytes > all || x.offset > all - x.bytes)
        return err_set("%s: truncated: tensor '%s' has %llu bytes at byte %llu, but the file has "
                       "%llu",
                       t->to->path, key, (unsigned long long)x.bytes, (unsigned long long)x.offset,
                       (unsigned long long)all);
    t->bytes += x.bytes;
    if (t->bytes > all)
        return err_set("%s: tensor '%s' overlaps another one", t->name, key);
    if (crc32c_mask(file_map_sum(&t->to->map, x.offset, x.bytes)) != sum)
        return err_set("%s: the %llu bytes of tensor '%s' at byte %llu are damaged: their checksum "
                       "is another",
                       t->to->path, (unsigned long long)x.bytes, key, (unsigned long long)x.offset);
    x.name = translate(key, &turned);
    if (turned && x.rank == 2 && x.elements)
        turn(&x);
    mem_next(t->to->tensors, t->to->count, t->to->cap) = x;
    return 0;
}

/* Reads a BundleEntryProto: the type, shape, place and checksum of a tensor. Adds the tensor. */
static int read_entry(struct table *t, const char *key, const unsigned char *p,
                      const unsigned char *end)
{
    struct safetensor x = { .elements = 1 };
    struct protobuf_field f;
    uint64_t type = 0, file = 0;
    uint32_t sum = 0;
    int more = 0, whole = 1;
    for (const unsigned char *at = p; more >= 0 && (more = protobuf_next(&at, end, &f)) > 0;) {
        switch (f.number) {
        case 1: type = f.value; break;
        case 2: more = f.wire == PROTOBUF_BYTES ? read_shape(&x, f.data, f.end) : -1; break;
        case 3: file = f.value; break;
        case 4: x.offset = f.value; break;
        case 5: x.bytes = f.value; break;
        case 6: sum = f.wire == PROTOBUF_32 ? le_u32(f.data) : 0; break;
        case 7: whole = 0; break;
        default: break;
        }
    }
    if (more < 0)
        return bad(t, p, "bad entry of a tensor");
    const int width = read_type(&x, type);
    if (!width || file_ends_with(key, "/adam_m") || file_ends_with(key, "/adam_v"))
        return 0;
    if (!whole || file)
        return err_set("%s: tensor '%s' is %s, which is not supported", t->name, key,
                       whole ? "in another file" : "cut into pieces");
    return add_tensor(t, x, key, width, sum);
}

/* ---- the table ---------------------------------------------------------------------------- */

/* Takes an entry of a block, whose value is [p, end). Returns 0, or -1 with an error. */
typedef int taker(struct table *t, const char *key, const unsigned char *p,
                  const unsigned char *end);

/* Sets [*begin, *stop) to the entries of the block at the place that the varints from p on give. */
static int find_block(const struct table *t, const unsigned char *p, const unsigned char *end,
                      const unsigned char **begin, const unsigned char **stop)
{
    const uint64_t all = (uint64_t)(t->end - t->data);
    uint64_t offset = 0, size = 0;
    const unsigned char *at = protobuf_varint(p, end, &offset);
    at = at ? protobuf_varint(at, end, &size) : NULL;
    if (!at || offset > all || size > all - offset || all - offset - size < TRAILER || size < 4)
        return bad(t, p, "bad place of a block");
    *begin = t->data + offset;
    *stop = *begin + size;
    if (crc32c_mask(crc32c(0, *begin, size + 1)) != le_u32(*stop + 1))
        return bad(t, *begin, "the block is damaged: its checksum is another");
    if (**stop)
        return bad(t, *begin, "the block is compressed, which is not supported");
    const uint32_t restarts = le_u32(*stop - 4);
    if (4 * (uint64_t)restarts >= size - 4) /* without entries, it could be named without end */
        return bad(t, *stop - 4, "bad number of restarts in a block");
    *stop -= 4 + 4 * (size_t)restarts;
    return 0;
}

/* Calls `take` for each entry of the block [p, end). */
static int read_block(struct table *t, const unsigned char *p, const unsigned char *end,
                      taker *take)
{
    SCOPED(buf) key = BUF_INIT;
    int result = 0;
    while (p < end && !result) {
        const unsigned char *at = p;
        uint64_t sizes[3] = { 0 }; /* shared, other bytes of the key, value */
        for (int i = 0; i < 3 && at; i++)
            at = protobuf_varint(at, end, &sizes[i]);
        const uint64_t left = at ? (uint64_t)(end - at) : 0;
        if (!at || sizes[0] > key.len || sizes[1] > left || sizes[2] > left - sizes[1] ||
            sizes[0] + sizes[1] > KEY_MOST || memchr(at, 0, sizes[1]))
            return bad(t, p, "bad entry of the table");
        buf_truncate(&key, sizes[0]);
        buf_add(&key, at, sizes[1]);
        at += sizes[1];
        p = at + sizes[2];
        result = take(t, key.len ? key.data : "", at, p);
    }
    return result;
}

static int take_tensor(struct table *t, const char *key, const unsigned char *p,
                       const unsigned char *end)
{
    if (!t->started)
        return *key ? bad(t, p, "no header of a checkpoint") : read_header(t, p, end);
    if (strcmp(key, t->key) <= 0)
        return bad(t, p, "the names of the tensors are not in order");
    snprintf(t->key, sizeof t->key, "%s", key);
    return read_entry(t, key, p, end);
}

static int take_block(struct table *t, const char *, const unsigned char *p,
                      const unsigned char *end)
{
    const unsigned char *begin, *stop;
    return find_block(t, p, end, &begin, &stop) < 0 ? -1 : read_block(t, begin, stop, take_tensor);
}

int tf_checkpoint_parse(struct safetensors *s, const void *index, uint64_t n, const char *name)
{
    struct table t = {
        .data = index, .end = (const unsigned char *)index + n, .name = name, .to = s
    };
    const unsigned char *begin, *stop, *p = t.end - (n < FOOTER ? 0 : FOOTER);
    uint64_t ignored;
    if (n < FOOTER || memcmp(t.end - sizeof magic, magic, sizeof magic) != 0)
        return err_set("%s: not the index of a TensorFlow checkpoint, or cut short", name);
    for (int i = 0; i < 2 && p; i++) /* the first place is that of a block without entries */
        p = protobuf_varint(p, t.end - sizeof magic, &ignored);
    if (!p)
        return bad(&t, t.end - FOOTER, "bad end of the index");
    if (find_block(&t, p, t.end - sizeof magic, &begin, &stop) < 0 ||
        read_block(&t, begin, stop, take_block) < 0)
        return -1;
    return s->count ? 0 : err_set("%s: no tensors of real numbers", name);
}

static const char index_end[] = ".index", data_end[] = ".data-00000-of-00001";

static int read_index(struct safetensors *s)
{
    SCOPED(buf) text = BUF_INIT,
                path = buf_format("%.*s%s", (int)(strlen(s->path) - strlen(data_end)), s->path,
                                  index_end);
    return file_read_most(path.data, INDEX_MOST, &text) < 0
               ? -1
               : tf_checkpoint_parse(s, text.data, text.len, path.data);
}

int tf_checkpoint_open(struct safetensors *s, const char *path)
{
    SCOPED(buf) data = buf_format("%.*s%s", (int)(strlen(path) - strlen(index_end)), path,
                                  data_end);
    return safetensors_open_by(s, data.data, read_index);
}
