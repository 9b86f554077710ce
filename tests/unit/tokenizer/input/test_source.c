/* The texts that tokenize reads. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"
#include "common/files/compress.h"
#include "common/files/file.h"
#include "tests/unit/dir.h"
#include "tests/unit/set_path.h"
#include "tokenizer/input/source.h"

TestSuite(source, .init = make_dir, .fini = remove_dir);

/* Reads all documents of the folder and writes them to `out`, each followed by '|'. Returns what
 * source_read returned last. */
static int read_all(struct buf *out, enum source_format format)
{
    char *paths[] = { dir };
    int sentences, got;
    struct source *s = source_open(paths, 1, &(struct source_options){ .format = format });
    cr_assert_not_null(s, "%s", err_get());
    buf_clear(out);
    while ((got = source_read(s, out, &sentences)) > 0)
        buf_addc(out, '|');
    source_close(s);
    return got;
}

Test(source, files_come_in_the_order_of_their_names)
{
    struct buf out = BUF_INIT;
    put_text("b", "two\n");
    put_text("a", "one\n");
    put_text("c.jsonl", "{\"text\": \"three\"}\n\n{\"text\": \"four\"}\n");
    cr_expect_eq(read_all(&out, SOURCE_AUTO), 0, "%s", err_get());
    cr_expect_str_eq(out.data, "one\n|two\n|three|four|");
    buf_release(&out);
}

Test(source, a_byte_order_mark_hides_no_format)
{
    struct buf out = BUF_INIT;
    put_text("a", "\xef\xbb\xbfid,text\n1,one\n");
    cr_expect_eq(read_all(&out, SOURCE_AUTO), 0, "%s", err_get());
    cr_expect_str_eq(out.data, "one|");
    put_text("b", "\xef\xbb\xbf[\r\n {\"text\": \"two\"}\r\n]\r\n");
    cr_expect_eq(read_all(&out, SOURCE_AUTO), -1);
    cr_expect(strstr(err_get(), "b: not text but a JSON array"), "%s", err_get());
    buf_release(&out);
}

Test(source, a_file_without_text_is_an_error_if_no_other_has_any)
{
    struct buf out = BUF_INIT;
    put_text("1.json", "{\"text\": \"\"}\n");
    put_text("2.json", "{\"text\": \"two\"}\n");
    put_text("3.csv", "id,text\n3,\n");
    cr_expect_eq(read_all(&out, SOURCE_AUTO), 0, "%s", err_get());
    cr_expect_str_eq(out.data, "|two||");
    put_text("2.json", "{\"text\": null}\n");
    cr_expect_eq(read_all(&out, SOURCE_AUTO), -1);
    cr_expect(strstr(err_get(), "3.csv: no record has any text"), "%s", err_get());
    cr_expect(strstr(err_get(), "(of 3)"), "%s", err_get());
    put_text("4", "text\n");
    cr_expect_eq(read_all(&out, SOURCE_AUTO), 0, "%s", err_get());
    cr_expect_str_eq(out.data, "|||text\n|");
    buf_release(&out);
}

Test(source, an_empty_file_needs_no_field)
{
    struct buf out = BUF_INIT;
    char *paths[] = { dir };
    int sentences;
    put_text("_SUCCESS", "");
    put_text("part-0", "{\"content\": \"one\"}\n");
    put_text("part-1", "");
    struct source *s = source_open(paths, 1, &(struct source_options){ .fields = "content" });
    cr_assert_not_null(s, "%s", err_get());
    cr_expect_eq(source_read(s, &out, &sentences), 1, "%s", err_get());
    cr_expect_str_eq(out.data, "one");
    cr_expect_eq(source_read(s, &out, &sentences), 0, "%s", err_get());
    source_close(s);
    put_text("part-1", "text");
    s = source_open(paths, 1, &(struct source_options){ .fields = "content" });
    cr_expect_eq(source_read(s, &out, &sentences), 1, "%s", err_get());
    cr_expect_eq(source_read(s, &out, &sentences), -1);
    cr_expect(strstr(err_get(), "part-1: neither JSON lines"), "%s", err_get());
    source_close(s);
    buf_release(&out);
}

Test(source, an_error_names_the_line_of_its_file)
{
    struct buf out = BUF_INIT;
    put_text("a.jsonl", "{\"text\": \"one\"}\n{\"text\": \"two\"}\n");
    put_text("b.jsonl", "\n{\"text\": \"three\"}\n{\"title\": \"four\"}\n");
    cr_expect_eq(read_all(&out, SOURCE_AUTO), -1);
    cr_expect_str_eq(out.data, "one|two|three|");
    cr_expect(strstr(err_get(), "b.jsonl: line 3: no string \"text\""), "%s", err_get());
    buf_release(&out);
}

Test(source, sentences_end_with_their_lines_and_documents_with_blank_ones)
{
    struct buf out = BUF_INIT;
    put_text("a", "\nOne.\nTwo.\r\n \xE3\x80\x80\n\nThree.");
    put_text("b", "Four.\n");
    cr_expect_eq(read_all(&out, SOURCE_SENTENCES), 0, "%s", err_get());
    cr_expect_str_eq(out.data, "One.\nTwo.|Three.|Four.|");
    buf_release(&out);
}

/* Writes text[n], compressed with gzip, to the file `name`. */
static void write_packed(const char *name, const char *text, size_t n)
{
    struct buf path = BUF_INIT, packed = BUF_INIT;
    struct compress *c = compress_new(COMPRESS_GZIP);
    compress_add(c, text, n, &packed);
    compress_end(c, &packed);
    compress_free(c);
    set_path(&path, dir, name);
    cr_assert_eq(file_write(path.data, packed.data, packed.len), 0, "%s", err_get());
    buf_release(&path);
    buf_release(&packed);
}

/* Returns what the first read of a compressed file returns if a document may have at most `most`
 * bytes. */
static int read_first(const char *text, enum source_format format, size_t most)
{
    struct buf out = BUF_INIT;
    char *paths[] = { dir };
    int sentences;
    struct source *s;
    write_packed("a", text, strlen(text));
    s = source_open(paths, 1, &(struct source_options){ .format = format, .most = most });
    cr_assert_not_null(s);
    int got = source_read(s, &out, &sentences);
    source_close(s);
    buf_release(&out);
    return got;
}

Test(source, what_a_packed_file_may_unpack_to_is_bounded)
{
    static const struct {
        enum source_format format;
        const char *begin, *line, *end;
    } forms[] = {
        { SOURCE_TEXT, "", "some words\n", "" },
        { SOURCE_LINES, "", "some words ", "" },
        { SOURCE_SENTENCES, "", "Some words.\n", "" },
        { SOURCE_JSONL, "{\"text\":\"", "some words ", "\"}" },
        { SOURCE_CSV, "text\n\"", "some words\n", "\"\n" },
        { SOURCE_DOCUMENTS, "<doc id=\"1\">\n\n\n", "some words\n", "</doc>\n" },
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        struct buf text = BUF_INIT;
        buf_adds(&text, forms[i].begin);
        while (text.len < 700000)
            buf_adds(&text, forms[i].line);
        buf_adds(&text, forms[i].end);
        cr_expect_eq(read_first(text.data, forms[i].format, 0), 1, "%zu: %s", i, err_get());
        cr_expect_eq(read_first(text.data, forms[i].format, 600000), -1, "%zu", i);
        cr_expect(strstr(err_get(), "longer than"), "%zu: %s", i, err_get());
        buf_release(&text);
    }
}

/* What a file's fields give, each document followed by '|', or the error. */
Test(source, fields)
{
    static const struct {
        struct source_options how;
        const char *file, *out, *error;
    } all[] = {
        { { .format = SOURCE_CSV, .fields = "b,a" },
          "a,b,c\n1,2,3\n\"x\n\",,z\n",
          "2\n\n1|\n\nx\n|",
          NULL },
        { { .format = SOURCE_CSV },
          "id,body\n1,2\n",
          "",
          "f: no column \"text\": the table has id, body; --field" },
        { { .format = SOURCE_CSV, .fields = "a,x" },
          "a,b\n1,2\n",
          "",
          "f: no column \"x\": the table has a, b;" },
        { { .format = SOURCE_CSV }, "", "", "f: no column \"text\": the file is empty" },
        { { .format = SOURCE_CSV }, "text,text\n1,2\n", "", "2 columns have the name \"text\"" },
        { { .format = SOURCE_CSV },
          "text,b\n1,2\n\n3\n",
          "1|",
          "not 2 cells as the columns, but 1" },
        { { .fields = "a.b,c" },
          "{\"a\": {\"b\": \"1\"}, \"c\": null}\n{\"a.b\": \"2\", \"a\": {\"b\": \"3\"}, \"c\": \"4\"}\n",
          "1\n\n|2\n\n4|",
          NULL },
        { { .fields = "a.b.c" },
          "{\"a\": {\"b.c\": \"1\"}}\n{\"a.b\": {\"c\": \"2\"}}\n",
          "1|2|",
          NULL },
        { { .fields = "a.b" }, "{\"a\": {\"b\": 1}}\n", "", "f: line 1: no string \"a.b\"" },
        { { .fields = "a.b" }, "{\"a\": \"b\"}\n", "", "f: line 1: no string \"a.b\"" },
        { { .mend = MEND_NONE }, "{\"text\": \"a\xff\"}\n", "", "f: line 1: " },
        { { 0 },
          "{\"text\": \"some more words, a\xff\xfe\"}\n",
          "some more words, a\uFFFD\uFFFD|",
          NULL },
        { { 0 }, "{\"text\": \"a\xff\n", "", "f: line 1: bad JSON" },
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        SCOPED(buf) out = BUF_INIT;
        int sentences, got;
        put_text("f", all[i].file);
        struct source *s = source_open((char *[]){ dir }, 1, &all[i].how);
        cr_assert_not_null(s, "%s", err_get());
        while ((got = source_read(s, &out, &sentences)) > 0)
            buf_addc(&out, '|');
        cr_expect_str_eq(out.data, all[i].out);
        cr_expect_eq(got, all[i].error ? -1 : 0, "row %zu: %s", i, err_get());
        if (all[i].error)
            cr_expect(strstr(err_get(), all[i].error), "row %zu: %s", i, err_get());
        cr_expect_eq(source_counts(s)->replaced, strstr(all[i].out, "\uFFFD") ? 2 : 0);
        source_close(s);
    }
}
