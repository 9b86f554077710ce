/* Rows of Parquet and Arrow files: whole, cut short at any byte, and with damaged bytes. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/err.h"
#include "common/base/rng.h"
#include "common/files/file.h"
#include "common/formats/rows.h"
#include "tests/unit/dir.h"
#include "tests/unit/look.h"
#include "tests/unit/set_path.h"
#include "tokenizer/input/source.h"

TestSuite(rows, .init = make_dir, .fini = remove_dir, .timeout = 600);

static void need_plugin(void)
{
    if (!columns_plugin())
        cr_skip_test("%s", err_get());
}

/* Appends the texts of a file, each followed by '|'. Returns what source_read returned last. */
static int read_file(const char *path, const char *fields, struct buf *out)
{
    char *paths[] = { (char *)(uintptr_t)path };
    int sentences, got;
    struct source *s = source_open(paths, 1, &(struct source_options){ .fields = fields });
    cr_assert_not_null(s, "%s", err_get());
    buf_clear(out);
    while ((got = source_read(s, out, &sentences)) > 0)
        buf_addc(out, '|');
    source_close(s);
    return got;
}

static const char some_fields[] = "text,dictionary,outer.inner.text";
static const char *const files[] = { "types.parquet", "types.arrow", "types-stream.arrow" };

static void data_path(struct buf *path, const char *name)
{
    set_path(path, "tests/data/columns", name);
}

Test(rows, every_type_of_text_is_read)
{
    static const char texts[] = "The Moon.|||Größe\nand 月|last|";
    static const char *const fields[] = { "text",       "large", "bytes",
                                          "largebytes", "view",  "dictionary" };
    struct buf out = BUF_INIT, path = BUF_INIT;
    need_plugin();
    for (size_t f = 0; f < 3; f++) {
        data_path(&path, files[f]);
        for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
            cr_expect_eq(read_file(path.data, fields[i], &out), 0, "%s", err_get());
            cr_expect_str_eq(out.data, texts, "%s: %s", files[f], fields[i]);
        }
        cr_expect_eq(read_file(path.data, "dotted.name,outer.inner.text", &out), 0, "%s",
                     err_get());
        cr_expect_str_eq(out.data, "a\n\nThe Moon.|b\n\n|c\n\n|d\n\nGröße\nand 月|e\n\n|");
    }
    buf_release(&out);
    buf_release(&path);
}

Test(rows, a_document_may_not_unpack_to_any_length)
{
    static const char *const names[] = { "long.parquet", "long.feather" };
    struct buf path = BUF_INIT, out = BUF_INIT;
    int sentences;
    need_plugin();
    for (size_t i = 0; i < 2; i++) {
        data_path(&path, names[i]);
        cr_expect_eq(read_file(path.data, NULL, &out), 0, "%s", err_get());
        cr_expect_eq(out.len, 700001);
        struct source *s = source_open(&path.data, 1, &(struct source_options){ .most = 600000 });
        cr_expect_eq(source_read(s, &out, &sentences), -1);
        cr_expect(strstr(err_get(), "a document is longer than 600000 bytes"), "%s", err_get());
        source_close(s);
    }
    buf_release(&path);
    buf_release(&out);
}

/* Reads bytes[0..n) as a file: that must end in text or in an error of one line. */
static int read_bytes(const char *bytes, size_t n, const char *fields, struct buf *out)
{
    struct buf path = BUF_INIT;
    set_path(&path, dir, "file");
    cr_assert_eq(file_write(path.data, bytes, n), 0, "%s", err_get());
    int got = read_file(path.data, fields, out);
    cr_expect(got == 0 || (strstr(err_get(), "/file: ") && !strchr(err_get(), '\n')), "%d: %s", got,
              err_get());
    buf_release(&path);
    return got;
}

Test(rows, a_file_that_is_cut_short_is_an_error)
{
    struct buf path = BUF_INIT, whole = BUF_INIT, out = BUF_INIT;
    need_plugin();
    for (size_t f = 0; f < 3; f++) {
        buf_clear(&whole);
        data_path(&path, files[f]);
        cr_assert_eq(file_read(path.data, &whole), 0, "%s", err_get());
        for (size_t n = 5; n < whole.len; n += n + 100 < whole.len ? 13 : 1)
            cr_expect_lt(read_bytes(whole.data, n, some_fields, &out), 0, "%s: %zu of %zu bytes",
                         files[f], n, whole.len);
        cr_expect_eq(read_bytes(whole.data, whole.len, some_fields, &out), 0, "%s", err_get());
    }
    cr_assert_eq(file_read(path.data, &whole), 0); /* one stream after the other */
    cr_expect_lt(read_bytes(whole.data, whole.len, some_fields, &out), 0);
    buf_release(&path);
    buf_release(&whole);
    buf_release(&out);
}

Test(rows, damaged_files_end_in_text_or_an_error)
{
    enum { TRIES = 1000, CHANGES = 3 };
    static const struct {
        const char *name, *fields;
    } damaged[] = {
        { "types.parquet", some_fields },   { "pages2.parquet", "text" },
        { "codecs.parquet", "snappy,lz4" }, { "codecs.parquet", "none,zstd,brotli,gzip" },
        { "types.arrow", some_fields },     { "types-stream.arrow", some_fields },
        { "lz4.feather", "text" },          { "zstd.feather", "text" }
    };
    struct buf path = BUF_INIT, whole = BUF_INIT, changed = BUF_INIT, out = BUF_INIT;
    need_plugin();
    for (size_t f = 0; f < sizeof damaged / sizeof *damaged; f++) {
        int read = 0;
        buf_clear(&whole);
        data_path(&path, damaged[f].name);
        cr_assert_eq(file_read(path.data, &whole), 0, "%s", err_get());
        for (uint64_t try = 0; try < TRIES; try++) {
            buf_clear(&changed);
            buf_add(&changed, whole.data, whole.len);
            for (uint64_t i = 0; i < 1 + try % CHANGES; i++) {
                uint64_t random = rng_mix(try * CHANGES + i);
                changed.data[(random >> 8) % whole.len] = (char)random;
            }
            read += !read_bytes(changed.data, changed.len, damaged[f].fields, &out);
        }
        cr_expect(read > 0 && read < TRIES, "%s: %d of %d were read", damaged[f].name, read, TRIES);
    }
    buf_release(&path);
    buf_release(&whole);
    buf_release(&changed);
    buf_release(&out);
}

/* ---- a copy, without the plug-in ----------------------------------------------------------- */

static struct buf said = BUF_INIT; /* what the functions below were asked for */
static int is_full;                /* 1: no row can be copied */

static int say_file(struct columns_copy *, const struct columns_bytes *bytes)
{
    char first[2] = "";
    cr_assert_eq(bytes->read_at(bytes->ctx, 0, first, 1), 0, "%s", err_get());
    buf_addf(&said, "%s:%d ", first, (int)bytes->size);
    return 0;
}

static int say_row(struct columns_copy *, int keep, const struct columns_cell *text,
                   const char *mark)
{
    buf_addf(&said, "%d(%.*s,%s) ", keep, text ? (int)text->len : 1, text ? text->text : "-",
             mark ? mark : "-");
    return is_full ? err_set("full") : 0;
}

static int say_end(struct columns_copy *)
{
    buf_adds(&said, "end");
    return 0;
}

static void free_nothing(struct columns_copy *)
{
}

/* Each file is opened before its first row is copied, the last ones at the end. Empty ones have no
 * rows. */
Test(rows, copies_open_the_files_in_order)
{
    static const struct columns fake = {
        .copy_file = say_file, .copy_row = say_row, .copy_end = say_end, .copy_free = free_nothing
    };
    static const char *const texts[] = { "", "A", "", "BB", "C", "" };
    enum { FILES = 6 };
    SCOPED(file_names) paths = { 0 };
    SCOPED(buf) text = buf_format("new"), none = BUF_INIT;
    for (int i = 0; i < FILES; i++) {
        char name[] = { (char)('0' + i), '\0' };
        put_text(name, texts[i]);
        file_names_add(&paths, in_dir(name));
    }
    struct rows_copy c = { .paths = &paths, .library = &fake };
    cr_assert_eq(rows_copy_put(&c, paths.names[1], 1, NULL, NULL), 0, "%s", err_get());
    cr_assert_eq(rows_copy_put(&c, paths.names[1], 0, NULL, "m"), 0, "%s", err_get());
    cr_assert_eq(rows_copy_put(&c, paths.names[3], 1, &text, "m"), 0, "%s", err_get());
    cr_assert_eq(rows_copy_put(&c, paths.names[3], 1, &none, NULL), 0, "%s", err_get());
    cr_assert_eq(rows_copy_end(&c), 0, "%s", err_get());
    cr_expect_str_eq(said.data, "A:1 1(-,-) 0(-,m) B:2 1(new,m) 1(,-) C:1 end");
    rows_copy_close(&c);

    c = (struct rows_copy){ .paths = &paths, .library = &fake };
    is_full = 1;
    cr_expect_eq(rows_copy_put(&c, paths.names[1], 1, NULL, NULL), -1);
    expect_error("cannot copy rows of ");
    expect_error("/1: full");
    cr_assert_eq(unlink(paths.names[3]), 0);
    cr_expect_eq(rows_copy_end(&c), -1);
    expect_error("/3': No such file");
    rows_copy_close(&c);
}
