#include "tokenizer/input/rows.h"

#include "common/base/err.h"
#include "common/base/mem.h"

static int64_t read_next(void *ctx, void *bytes, size_t n)
{
    struct input *in = ctx;
    int64_t there = input_peek(in, 1);
    if (there <= 0)
        return there;
    size_t take = n < (size_t)there ? n : (size_t)there;
    memcpy(bytes, in->data + in->begin, take);
    input_skip(in, take);
    return (int64_t)take;
}

static int read_at(void *ctx, uint64_t offset, void *bytes, size_t n)
{
    return input_read_at(ctx, offset, bytes, n);
}

/* Opens the columns whose names are the parts of `names`, which is changed. Returns 0, or -1 with
 * an error. */
static int open_columns(struct rows *r, enum columns_kind kind, const struct columns_bytes *bytes,
                        char *names)
{
    SCOPED_MEM const char **parts = NULL;
    size_t cap = 0;
    for (char *name = names; name;) {
        char *comma = strchr(name, ',');
        mem_grow(parts, cap, r->count + 1);
        parts[r->count++] = name;
        if (comma)
            *comma = '\0';
        name = comma ? comma + 1 : NULL;
    }
    r->cells = mem_zalloc(r->count, sizeof *r->cells);
    r->reader = r->library->open(kind, bytes, parts, r->count);
    return r->reader ? 0 : -1;
}

int rows_open(struct rows *r, struct input *in, enum columns_kind kind, const char *names)
{
    struct columns_bytes bytes = { read_next, read_at, in, 0 };
    *r = (struct rows){ .in = in };
    if (kind != COLUMNS_ARROW_STREAM && input_size(in, &bytes.size) < 0)
        return err_in("%s", in->path);
    if (!(r->library = columns_plugin()))
        return err_in("%s", in->path);
    SCOPED_MEM char *copy = mem_strdup(names);
    int result = open_columns(r, kind, &bytes, copy);
    return result < 0 ? err_in("%s", in->path) : 0;
}

void rows_close(struct rows *r)
{
    if (r->library)
        r->library->close(r->reader);
    free(r->cells);
    *r = (struct rows){ 0 };
}

int rows_read(struct rows *r)
{
    int got = r->library->read(r->reader, r->cells);
    r->row++;
    return got < 0 ? err_in("%s: cannot read row %" PRIu64, r->in->path, r->row) : got;
}
