#include "common/formats/rows.h"

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

/* Opens the columns in `names`, which commas separate. Changes `names`. */
static int open_columns(struct rows *r, enum columns_kind kind, const struct columns_bytes *bytes,
                        char *names)
{
    SCOPED_MEM const char **parts = NULL;
    size_t cap = 0;
    for (char *name; (name = strsep(&names, ","));)
        mem_next(parts, r->count, cap) = name;
    r->cells = mem_zalloc(r->count, sizeof *r->cells);
    r->reader = r->library->open(kind, bytes, parts, r->count);
    return r->reader ? 0 : -1;
}

/* Sets *bytes to functions that read the file. */
static int set_bytes(struct input *in, enum columns_kind kind, struct columns_bytes *bytes)
{
    *bytes = (struct columns_bytes){ read_next, read_at, in, 0 };
    return kind == COLUMNS_ARROW_STREAM ? 0 : input_size(in, &bytes->size);
}

int rows_open(struct rows *r, struct input *in, enum columns_kind kind, const char *names)
{
    struct columns_bytes bytes;
    *r = (struct rows){ .in = in };
    if (set_bytes(in, kind, &bytes) < 0 || !(r->library = columns_plugin()))
        return err_in("%s", in->path);
    SCOPED_MEM char *copy = mem_strdup(names);
    return open_columns(r, kind, &bytes, copy) < 0 ? err_in("%s", in->path) : 0;
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

/* ---- a copy ---------------------------------------------------------------------------------- */

static int put_bytes(void *ctx, const void *bytes, size_t n)
{
    return output_write(ctx, bytes, n);
}

int rows_copy_open(struct rows_copy *c, const struct file_names *paths, const char *text,
                   const char *mark, struct output *out)
{
    *c = (struct rows_copy){ .paths = paths };
    if (!(c->library = columns_plugin()))
        return -1;
    c->copy = c->library->copy(text, mark, put_bytes, out);
    return c->copy ? 0 : -1;
}

void rows_copy_close(struct rows_copy *c)
{
    if (c->library)
        c->library->copy_free(c->copy);
    input_close(&c->in[0]);
    input_close(&c->in[1]);
    *c = (struct rows_copy){ 0 };
}

/* Opens the next files in turn until the one called `file` is open; NULL: all. */
static int open_files(struct rows_copy *c, const char *file)
{
    while (c->next < c->paths->count && (!c->next || c->paths->names[c->next - 1] != file)) {
        struct input *in = &c->in[c->opened % 2];
        struct columns_bytes bytes;
        input_close(in);
        *in = (struct input){ 0 };
        if (input_open(in, c->paths->names[c->next++]) < 0)
            return -1;
        const int64_t there = input_peek(in, 1);
        if (there < 0)
            return -1;
        if (!there) /* it has no rows, as textclean/entry.c reads it */
            continue;
        c->opened++;
        if (set_bytes(in, COLUMNS_PARQUET, &bytes) < 0 ||
            c->library->copy_file(c->copy, &bytes) < 0)
            return err_in("%s", in->path);
    }
    return 0;
}

int rows_copy_put(struct rows_copy *c, const char *file, int keep, const struct buf *text,
                  const char *mark)
{
    const struct columns_cell cell = { text && text->len ? text->data : "", text ? text->len : 0 };
    if (open_files(c, file) < 0)
        return -1;
    return c->library->copy_row(c->copy, keep, text ? &cell : NULL, mark) < 0
               ? err_in("cannot copy rows of %s", file)
               : 0;
}

int rows_copy_end(struct rows_copy *c)
{
    return open_files(c, NULL) < 0 || c->library->copy_end(c->copy) < 0 ? err_in("cannot copy rows")
                                                                        : 0;
}
