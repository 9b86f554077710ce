/* The texts that tokenize reads. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "common/file.h"
#include "tokenizer/input/source.h"

static char dir[] = "/tmp/textmill-source-XXXXXX";

static void make_dir(void)
{
    cr_assert(mkdtemp(dir));
}

static void remove_dir(void)
{
    file_remove_tree(dir);
}

TestSuite(source, .init = make_dir, .fini = remove_dir);

static void write_text(const char *name, const char *text)
{
    struct buf path = BUF_INIT;
    file_join(&path, dir, name);
    cr_assert_eq(file_write(path.data, text, strlen(text)), 0, "%s", err_get());
    buf_release(&path);
}

/* All documents of the folder, each followed by '|'; what source_read returned last. */
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
    write_text("b", "two\n");
    write_text("a", "one\n");
    write_text("c.jsonl", "{\"text\": \"three\"}\n\n{\"text\": \"four\"}\n");
    cr_expect_eq(read_all(&out, SOURCE_AUTO), 0, "%s", err_get());
    cr_expect_str_eq(out.data, "one\n|two\n|three|four|");
    buf_release(&out);
}

Test(source, an_error_names_the_line_of_its_file)
{
    struct buf out = BUF_INIT;
    write_text("a.jsonl", "{\"text\": \"one\"}\n{\"text\": \"two\"}\n");
    write_text("b.jsonl", "\n{\"text\": \"three\"}\n{\"title\": \"four\"}\n");
    cr_expect_eq(read_all(&out, SOURCE_AUTO), -1);
    cr_expect_str_eq(out.data, "one|two|three|");
    cr_expect(strstr(err_get(), "b.jsonl: line 3: no string \"text\""), "%s", err_get());
    buf_release(&out);
}

Test(source, sentences_end_with_their_lines_and_documents_with_blank_ones)
{
    struct buf out = BUF_INIT;
    write_text("a", "\nOne.\nTwo.\r\n \n\nThree.");
    write_text("b", "Four.\n");
    cr_expect_eq(read_all(&out, SOURCE_SENTENCES), 0, "%s", err_get());
    cr_expect_str_eq(out.data, "One.\nTwo.|Three.|Four.|");
    buf_release(&out);
}
