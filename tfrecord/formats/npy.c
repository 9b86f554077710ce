#include "tfrecord/formats/npy.h"

#include "common/base/le.h"

static const char MAGIC[] = "\x93NUMPY";

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
    SCOPED(buf) path = buf_format("%s_%s.npy", name, map), header = BUF_INIT;
    put_header(&header, type, rows, columns);
    return output_open(f, path.data) < 0 ? -1 : output_write(f, header.data, header.len);
}

int npy_put(struct output *f, uint64_t v, enum npy_type type)
{
    unsigned char bytes[8];
    le_put_u64(bytes, v); /* its first bytes are the number in fewer bits */
    return output_write(f, bytes, types[type].width);
}
