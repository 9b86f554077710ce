#include "tokenizer/learn/word_file.h"

#include "common/base/crc32c.h"
#include "common/base/le.h"
#include "common/base/order.h"

static const char MAGIC[] = "textmill=words 1", RULES[] = "cut=";

enum { CHUNK = 64 << 10, CHECKSUM_BYTES = 4, COUNT_BITS = 53 };

/* ---- writing -------------------------------------------------------------------------------- */

struct word_writer {
    struct output *out;
    struct buf pending;
    uint32_t crc;
    uint64_t words;
};

static int flush(struct word_writer *w)
{
    w->crc = crc32c(w->crc, w->pending.data, w->pending.len);
    int result = output_write(w->out, w->pending.data, w->pending.len);
    buf_clear(&w->pending);
    return result;
}

static int put_row(void *ctx, const char *word, size_t n, uint64_t count)
{
    struct word_writer *w = ctx;
    w->words++;
    word_row_put(&w->pending, word, n, count);
    return w->pending.len < CHUNK ? 0 : flush(w);
}

static int put_end(struct word_writer *w)
{
    unsigned char crc[CHECKSUM_BYTES];
    word_row_put(&w->pending, "", 0, 0);
    if (flush(w) < 0)
        return -1;
    le_put_u32(crc, w->crc);
    return output_write(w->out, crc, sizeof crc);
}

int word_file_write(struct output *out, const char *rules, struct word_counts **tables,
                    size_t count, uint64_t *words)
{
    struct word_writer w = { .out = out, .pending = BUF_INIT };
    buf_addf(&w.pending, "%s\n%s%s\n\n", MAGIC, RULES, rules);
    const int result = word_counts_each(tables, count, put_row, &w) < 0 ? -1 : put_end(&w);
    *words = w.words;
    buf_release(&w.pending);
    return result;
}

/* ---- reading -------------------------------------------------------------------------------- */

struct word_reader {
    struct input in;
    uint32_t crc;    /* of the bytes read so far */
    struct buf last; /* the word of the row before */
    int rows;        /* whether a row has been read */
};

static const char *next_bytes(const struct word_reader *r)
{
    return r->in.data + r->in.begin;
}

static void take(struct word_reader *r, size_t n)
{
    r->crc = crc32c(r->crc, next_bytes(r), n);
    input_skip(&r->in, n);
}

/* Reads a line, which must begin with `head`, and stores its rest in `rest`. `what` is the error
 * otherwise. Returns 0, or -1 with an error. */
static int read_line(struct word_reader *r, const char *head, struct buf *rest, const char *what)
{
    char *line;
    size_t n, begins = strlen(head);
    uint64_t at = r->in.offset;
    int got = input_line(&r->in, &line, &n);
    if (got < 0)
        return -1;
    if (!got || r->in.offset != at + n + 1 || n < begins || memcmp(line, head, begins) != 0)
        return err_set("'%s' %s", r->in.path, what);
    r->crc = crc32c(crc32c(r->crc, line, n), "\n", 1);
    buf_set(rest, line + begins, n - begins);
    return 0;
}

static int read_head(struct word_reader *r, const char *rules)
{
    static const char foreign[] = "is not a file of counted words";
    SCOPED(buf) rest = BUF_INIT;
    /* checked first, because other files may have a very long line */
    int64_t have = input_peek(&r->in, sizeof MAGIC);
    if (have < 0)
        return -1;
    if (have < (int64_t)sizeof MAGIC || next_bytes(r)[sizeof MAGIC - 1] != '\n')
        return err_set("'%s' %s of version 1", r->in.path, foreign);
    if (read_line(r, MAGIC, &rest, foreign) < 0 || read_line(r, RULES, &rest, foreign) < 0)
        return -1;
    if (rest.len != strlen(rules) || memcmp(rest.data, rules, rest.len) != 0)
        return err_set("'%s' was counted with '%s', not with '%s'", r->in.path, rest.data, rules);
    if (read_line(r, "", &rest, foreign) < 0)
        return -1;
    return rest.len ? err_set("'%s' %s", r->in.path, foreign) : 0;
}

/* Reads a row: puts its word into r->last and sets *count to its count. Returns 1, 0 at the end
 * mark, or -1 with an error. */
static int read_row(struct word_reader *r, uint64_t *count)
{
    struct word_row row;
    int got = word_row_read(&r->in, &row);
    if (got <= 0)
        return got < 0 ? -1 : word_bad(&r->in, "the file is cut off");
    if ((!row.count && row.len) || row.count >> COUNT_BITS)
        return word_bad(&r->in, "not a row of a word");
    if (row.count && r->rows && order_bytes(row.word, row.len, r->last.data, r->last.len) <= 0)
        return word_bad(&r->in, "the words are not in order");
    *count = row.count;
    r->rows = 1;
    buf_set(&r->last, row.word, row.len);
    take(r, row.bytes);
    return row.count > 0;
}

static int read_end(struct word_reader *r)
{
    int64_t have = input_peek(&r->in, CHECKSUM_BYTES + 1);
    if (have < 0)
        return -1;
    if (have < CHECKSUM_BYTES)
        return word_bad(&r->in, "the file is cut off");
    if (have > CHECKSUM_BYTES)
        return word_bad(&r->in, "bytes follow the end");
    if (le_u32((const unsigned char *)next_bytes(r)) != r->crc)
        return word_bad(&r->in, "the checksum is wrong");
    return 0;
}

int word_file_read(const char *path, const char *rules, struct word_counts *to, uint64_t *words)
{
    struct word_reader r = { .last = BUF_INIT };
    uint64_t count = 0;
    int got;
    if (input_open_soon(&r.in, path) < 0)
        return -1;
    int result = read_head(&r, rules);
    while (!result && (got = read_row(&r, &count)) != 0) {
        result = got < 0 ? -1 : word_counts_add(to, r.last.data, r.last.len, count);
        *words += !result;
    }
    if (!result)
        result = read_end(&r);
    buf_release(&r.last);
    input_close(&r.in);
    return result;
}
