#include "tfrecord/formats/npy.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/err.h"
#include "common/le.h"

static const char MAGIC[] = "\x93NUMPY";
enum { MAGIC_BYTES = sizeof MAGIC - 1 };

static const struct {
    const char *name;
    size_t width; /* bytes */
} types[] = {
    [NPY_I16] = { "<i2", 2 },
    [NPY_I32] = { "<i4", 4 },
    [NPY_I64] = { "<i8", 8 },
    [NPY_U32] = { "<u4", 4 },
};

static void put_header(struct buf *out, enum npy_type type, uint64_t rows, int columns)
{
    enum { HEADER = 128 };
    buf_adds(out, MAGIC);
    buf_add(out, "\x01\x00\x76\x00", 4);
    buf_addf(out, "{'descr': '%s', 'fortran_order': False, 'shape': (%" PRIu64 ",",
             types[type].name, rows);
    if (columns > 1)
        buf_addf(out, " %d", columns);
    buf_adds(out, "), }");
    while (out->len < HEADER - 1)
        buf_addc(out, ' ');
    buf_addc(out, '\n');
}

int npy_open(struct output *f, const char *name, const char *map, enum npy_type type, uint64_t rows,
             int columns)
{
    struct buf path = BUF_INIT, header = BUF_INIT;
    buf_addf(&path, "%s_%s.npy", name, map);
    put_header(&header, type, rows, columns);
    int result = output_open(f, path.data);
    if (!result)
        result = output_write(f, header.data, header.len);
    buf_release(&path);
    buf_release(&header);
    return result;
}

int npy_put(struct output *f, uint64_t v, enum npy_type type)
{
    unsigned char bytes[8];
    le_put_u64(bytes, v); /* its first bytes are the number in fewer bits */
    return output_write(f, bytes, types[type].width);
}

/* ---- reading ------------------------------------------------------------------------------ */

/* Returns the text after `key` and the spaces behind it, or NULL if the header has no such key. */
static const char *value_of(const char *header, const char *key)
{
    const char *at = strstr(header, key);
    return at ? at + strlen(key) + strspn(at + strlen(key), " ") : NULL;
}

static int parse_type(struct npy *a, const char *header)
{
    const char *type = value_of(header, "'descr':");
    static const char *const names[] = { "'<u4'", "'<u8'" };
    a->width = 0;
    for (int i = 0; i < 2 && type; i++)
        if (!strncmp(type, names[i], strlen(names[i])))
            a->width = 4 + 4 * i;
    if (!a->width)
        return err_set("its numbers are not u32 or u64, little-endian");
    const char *columns_first = value_of(header, "'fortran_order':");
    if (!columns_first || strncmp(columns_first, "False", 5))
        return err_set("its numbers are not stored row after row");
    return 0;
}

/* Reads the number at *at into *length, and moves *at past it and past the comma and the spaces
 * behind it. Returns 1, or 0 if there is no number. */
static int next_length(const char **at, uint64_t *length)
{
    if (**at < '0' || **at > '9')
        return 0;
    char *end;
    *length = strtoull(*at, &end, 10); /* a number that does not fit becomes UINT64_MAX */
    *at = end + strspn(end, ", ");
    return 1;
}

static int parse_shape(struct npy *a, const char *header, uint64_t bytes)
{
    const char *shape = value_of(header, "'shape':");
    a->columns = 1;
    if (!shape || *shape++ != '(' || !next_length(&shape, &a->rows))
        return err_set("its header has no shape of one or two dimensions");
    next_length(&shape, &a->columns);
    if (*shape != ')')
        return err_set("its header has no shape of one or two dimensions");
    const uint64_t most = bytes / (uint64_t)a->width;
    if (a->columns && a->rows <= most / a->columns &&
        a->rows * a->columns * (uint64_t)a->width == bytes)
        return 0;
    return err_set("its header says %" PRIu64 " x %" PRIu64 " numbers of %d bytes, but %" PRIu64
                   " bytes follow",
                   a->rows, a->columns, a->width, bytes);
}

int npy_parse(struct npy *a, const unsigned char *data, uint64_t n)
{
    enum { SHORT = MAGIC_BYTES + 4, LONG = MAGIC_BYTES + 6 };
    if (n < LONG || memcmp(data, MAGIC, MAGIC_BYTES))
        return err_set("not an array of NumPy: it does not begin with \\x93NUMPY");
    const int version = data[MAGIC_BYTES];
    if (version < 1 || version > 3)
        return err_set("version %d of the format is not known", version);
    const uint64_t begin = version == 1 ? SHORT : LONG;
    const uint64_t length = version == 1 ? le_u16(data + MAGIC_BYTES + 2)
                                         : le_u32(data + MAGIC_BYTES + 2);
    if (length > n - begin)
        return err_set("cut short: the header has %" PRIu64 " bytes, but only %" PRIu64 " follow",
                       length, n - begin);
    struct buf header = BUF_INIT;
    buf_add(&header, (const char *)data + begin, length);
    a->numbers = data + begin + length;
    int result = parse_type(a, header.data);
    if (!result)
        result = parse_shape(a, header.data, n - begin - length);
    buf_release(&header);
    return result;
}

int npy_map(struct npy *a, const char *path)
{
    *a = (struct npy){ 0 };
    if (file_map(&a->map, path) < 0)
        return -1;
    if (file_check_pointer(path, a->map.data, a->map.bytes) < 0) {
        npy_close(a);
        return -1;
    }
    if (npy_parse(a, a->map.data, a->map.bytes) == 0)
        return 0;
    npy_close(a);
    return err_in("%s", path);
}

void npy_close(struct npy *a)
{
    file_unmap(&a->map);
    *a = (struct npy){ 0 };
}

uint64_t npy_at(const struct npy *a, uint64_t row, uint64_t column)
{
    const uint64_t i = row * a->columns + column;
    return a->width == 8 ? le_u64(a->numbers + 8 * i) : le_u32(a->numbers + 4 * i);
}
