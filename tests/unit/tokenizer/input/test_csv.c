/* Tables with commas between the cells. */
#include <criterion/criterion.h>
#include <string.h>

#include "common/base/err.h"
#include "tokenizer/input/csv.h"

static int64_t pull(void *from, void *bytes, size_t n)
{
    const char **text = from;
    size_t take = strlen(*text) < n ? strlen(*text) : n;
    memcpy(bytes, *text, take);
    *text += take;
    return (int64_t)take;
}

/* Reads a table and writes each cell as [...], and a line feed after each record. Returns what
 * csv_read returned last. */
static int read_table(const char *text, struct buf *out)
{
    struct input in;
    struct csv c;
    int got;
    input_open_pulled(&in, "t.csv", pull, &text);
    csv_open(&c, &in);
    buf_clear(out);
    while ((got = csv_read(&c)) > 0) {
        for (size_t i = 0, n; i < c.count; i++) {
            const char *cell = csv_cell(&c, i, &n);
            buf_addf(out, "[%.*s]", (int)n, cell);
        }
        buf_addc(out, '\n');
    }
    csv_close(&c);
    input_close(&in);
    return got;
}

static void expect_table(const char *text, const char *want)
{
    struct buf out = BUF_INIT;
    cr_expect_eq(read_table(text, &out), 0, "%s: %s", text, err_get());
    cr_expect_str_eq(out.data, want);
    buf_release(&out);
}

static void expect_bad(const char *text, const char *why)
{
    struct buf out = BUF_INIT;
    cr_expect_eq(read_table(text, &out), -1, "%s", text);
    cr_expect(strstr(err_get(), why), "%s: %s", text, err_get());
    buf_release(&out);
}

Test(csv, cells_and_records)
{
    expect_table("", "");
    expect_table("a,b\nc,d\n", "[a][b]\n[c][d]\n");
    expect_table("a,b\r\n\r\n\n,\r\n,d", "[a][b]\n[][]\n[][d]\n");
    expect_table(" a , b\n", "[ a ][ b]\n");
    expect_table("\"\"\n", "[]\n");
}

Test(csv, cells_in_quotes)
{
    expect_table("\"a,b\",\"c \"\"d\"\"\"\n", "[a,b][c \"d\"]\n");
    expect_table("\"a\r\n\nb\",c\r\n", "[a\r\n\nb][c]\n");
    expect_table("\"\"\"\"", "[\"]\n");
    expect_table("a,\"b\r\"\r\n", "[a][b\r]\n");
}

Test(csv, what_is_wrong_is_named_with_its_line)
{
    expect_bad("a,b\nc,d\"e\n", "t.csv: line 2: a quote inside a cell");
    expect_bad("a\n\"b\"c\n", "t.csv: line 2: text between a closing quote");
    expect_bad("a\n\n\"b\nc\n", "t.csv: line 3: its record has a quote that is never closed");
    expect_bad("\"a\"\rb\n", "t.csv: line 1: text between");
}
