#include "tfrecord/formats/flat_tokens.h"

#include "common/base/ids.h"
#include "common/base/le.h"

static const struct {
    uint32_t magic, version;
    int width;
} heads[] = { { 20240520, 1, 2 }, { 20240801, 7, 4 } };

enum { HEADS = sizeof heads / sizeof *heads, NPY = HEADS, BARE, START_BYTES = 12 };

/* Returns the kind of header that p[0..n) begins with: an index of `heads`, NPY or BARE. */
static size_t find_head(const unsigned char *p, uint64_t n)
{
    size_t i = 0;
    while (i < HEADS && n >= START_BYTES && heads[i].magic != le_u32(p))
        i++;
    return n >= START_BYTES && (i < HEADS || !memcmp(p, "\x93NUMPY", 6)) ? i : BARE;
}

int flat_tokens_has_head(const char *path)
{
    SCOPED_BY(input_close) struct input in = { 0 };
    if (input_open(&in, path) < 0)
        return -1;
    const int64_t n = input_peek(&in, START_BYTES);
    return n < 0 ? -1 : find_head((const unsigned char *)in.data + in.begin, (uint64_t)n) < BARE;
}

static int read_head(struct flat_tokens *f, size_t kind, const char *path)
{
    const unsigned char *p = f->map.data;
    if (f->map.bytes < FLAT_HEAD_BYTES)
        return err_set("%s: is not a file of llm.c", path);
    if (le_u32(p + 4) != heads[kind].version)
        return err_set("%s: has version %" PRIu32 ", but version %" PRIu32 " is known", path,
                       le_u32(p + 4), heads[kind].version);
    f->width = heads[kind].width;
    f->begin = FLAT_HEAD_BYTES;
    f->tokens = le_u32(p + 8);
    return 0;
}

/* Reads NumPy's header, a dictionary as text: from byte 10 on, where only version 1 has it. */
static int read_npy(struct flat_tokens *f, const char *path)
{
    SCOPED(buf) text = BUF_INIT;
    char type = 0;
    int end = 0;
    f->begin = 10 + (uint64_t)le_u16(f->map.data + 8);
    if (f->begin <= f->map.bytes)
        buf_set(&text, f->map.data + 10, f->begin - 10);
    sscanf(text.data, "{'descr': '<%c%1d', 'fortran_order': %*[^,], 'shape': (%18" SCNu64 ",)%n",
           &type, &f->width, &f->tokens, &end);
    return end && (type == 'u' || (type == 'i' && f->width == 4)) &&
                   (f->width == 2 || f->width == 4)
               ? 0
               : err_set("%s: is not a row of u16, u32 or i32 numbers", path);
}

static int read_bare(struct flat_tokens *f, const char *path)
{
    f->width = 2;
    f->tokens = f->map.bytes / 2;
    return f->map.bytes % 2 ? err_set("%s: has an odd size, so it is not a file of u16 ids", path)
                            : 0;
}

int flat_tokens_open(struct flat_tokens *f, const char *path)
{
    *f = (struct flat_tokens){ 0 };
    if (file_map(&f->map, path) < 0)
        return -1;
    const size_t kind = find_head(f->map.data, f->map.bytes);
    int result = file_check_pointer(path, f->map.data, f->map.bytes);
    if (!result)
        result = kind == BARE  ? read_bare(f, path)
                 : kind == NPY ? read_npy(f, path)
                               : read_head(f, kind, path);
    const uint64_t bytes = f->map.bytes - f->begin;
    if (!result && f->begin && bytes != f->tokens * (uint64_t)f->width)
        result = err_set("%s: has %" PRIu64 " bytes of ids, but its header says %" PRIu64
                         " ids of %d bytes",
                         path, bytes, f->tokens, f->width);
    if (result < 0)
        flat_tokens_close(f);
    return result;
}

void flat_tokens_close(struct flat_tokens *f)
{
    file_unmap(&f->map);
    *f = (struct flat_tokens){ 0 };
}

void flat_tokens_read(const struct flat_tokens *f, uint64_t first, size_t n, uint32_t *ids)
{
    ids_get(ids, f->width, f->map.data + f->begin + first * (uint64_t)f->width, n);
}

void flat_tokens_head(unsigned char head[FLAT_HEAD_BYTES], int width, uint64_t tokens)
{
    size_t kind = width == 2 ? 0 : 1;
    memset(head, 0, FLAT_HEAD_BYTES);
    le_put_u32(head, heads[kind].magic);
    le_put_u32(head + 4, heads[kind].version);
    le_put_u32(head + 8, (uint32_t)tokens);
}
