/* Reads tables. The cells are written again, all in quotes, and must be read as the same cells. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "common/base/buf.h"
#include "tokenizer/input/csv.h"

struct bytes {
    const uint8_t *data;
    size_t n, at, step;
};

/* Gives a few bytes at a time, so that lines and quotes are divided anywhere. */
static int64_t pull(void *from, void *bytes, size_t n)
{
    struct bytes *b = from;
    size_t take = b->n - b->at < b->step ? b->n - b->at : b->step;
    take = take < n ? take : n;
    memcpy(bytes, b->data + b->at, take);
    b->at += take;
    return (int64_t)take;
}

/* Reads all records; appends each cell with its length and each record's end. */
static int read_all(const uint8_t *data, size_t n, size_t step, struct buf *cells,
                    struct buf *again)
{
    struct bytes from = { data, n, 0, step };
    struct input in;
    struct csv c;
    int got;
    input_open_pulled(&in, "table", pull, &from);
    csv_open(&c, &in);
    while ((got = csv_read(&c)) > 0) {
        assert(c.count > 0 && c.record <= c.line);
        for (size_t i = 0, len; i < c.count; i++) {
            const char *cell = csv_cell(&c, i, &len);
            buf_addf(cells, "%zu:", len);
            buf_add(cells, cell, len);
            buf_adds(again, i ? ",\"" : "\"");
            for (size_t k = 0; k < len; k++)
                buf_add(again, cell[k] == '"' ? "\"\"" : cell + k, cell[k] == '"' ? 2 : 1);
            buf_addc(again, '"');
        }
        buf_addc(cells, '\n');
        buf_addc(again, '\n');
    }
    csv_close(&c);
    input_close(&in);
    return got;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf cells = BUF_INIT, again = BUF_INIT, same = BUF_INIT, twice = BUF_INIT;
    if (!size)
        return 0;
    int got = read_all(data + 1, size - 1, data[0] % 7 + 1, &cells, &again);
    if (!got) {
        got = read_all((uint8_t *)again.data, again.len, 1 << 16, &same, &twice);
        assert(!got && same.len == cells.len && !memcmp(same.data, cells.data, cells.len));
        assert(twice.len == again.len && !memcmp(twice.data, again.data, again.len));
    }
    buf_release(&cells);
    buf_release(&again);
    buf_release(&same);
    buf_release(&twice);
    return 0;
}
