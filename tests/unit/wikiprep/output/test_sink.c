/* Trees of files: how they are filled, and which folders they replace. */
#include "wikiprep/output/sink.h"

#include <criterion/criterion.h>

#include "common/files/temp.h"
#include "tests/unit/dir.h"
#include "tests/unit/look.h"

TestSuite(sink, .init = make_dir, .fini = remove_dir);

static struct buf one = BUF_INIT; /* a document */

static void write_documents(struct sink *s, int count)
{
    for (int i = 0; i < count; i++)
        cr_assert_eq(sink_write(s, &one), 0, "%s", err_get());
    cr_assert_eq(sink_close(s, &(struct kv)KV_INIT), 0, "%s", err_get());
}

static uint64_t size_of(const char *name)
{
    uint64_t bytes;
    cr_assert_eq(file_size(in_dir(name), &bytes), 0, "%s", err_get());
    return bytes;
}

/* Makes the tree "tree" of a document. */
static void make_tree(const char *text)
{
    struct sink s;
    buf_setf(&one, "%s", text);
    cr_assert_eq(sink_open(&s, in_dir("tree"), 1, 0, SINK_JSON, 0), 0, "%s", err_get());
    write_documents(&s, 1);
}

Test(sink, folders_go_on_after_ZZ)
{
    struct sink s;
    buf_adds(&one, "x\n");
    cr_assert_eq(sink_open(&s, in_dir("tree"), 1, 0, SINK_JSON, 0), 0, "%s", err_get());
    s.files = 676 * 100 - 1; /* as if ZZ were almost full */
    SCOPED(buf) zz = file_path(s.folder.path, "ZZ");
    cr_assert_eq(file_mkdirs(zz.data), 0);
    write_documents(&s, 2);
    cr_expect(look(in_dir("tree/AAA/wiki_00")) && look(in_dir("tree/ZZ/wiki_99")));
}

/* A file must be closed before a document that would make it larger than the limit. */
Test(sink, files_are_filled_to_the_limit)
{
    struct sink s;
    buf_adds(&one, "1234\n");
    cr_assert_eq(sink_open(&s, in_dir("tree"), 1, 10, SINK_JSON, 0), 0, "%s", err_get());
    write_documents(&s, 5);
    cr_expect_eq(size_of("tree/AA/wiki_00"), 10);
    cr_expect_eq(size_of("tree/AA/wiki_01"), 10);
    cr_expect_eq(size_of("tree/AA/wiki_02"), 5);
}

/* The limit holds for the marks of files of sentences, too. */
Test(sink, end_marks_are_within_the_limit)
{
    enum { LIMIT = 110 };
    struct sink s;
    buf_adds(&one, "<doc id=\"1\">\n23456789\n</doc>\n");
    cr_assert_eq(sink_open(&s, in_dir("tree"), 1, LIMIT, SINK_DOCUMENTS, 1), 0, "%s", err_get());
    write_documents(&s, 3);
    cr_expect_leq(size_of("tree/AA/wiki_00"), LIMIT);
    cr_expect_leq(size_of("tree/AA/wiki_01"), LIMIT);
    cr_expect_leq(size_of("tree/AA/wiki_02"), LIMIT);
}

Test(sink, a_tree_replaces_an_earlier_one)
{
    SCOPED(buf) text = BUF_INIT;
    cr_assert_eq(file_mkdirs(in_dir("tree")), 0); /* an empty folder */
    make_tree("old\n");
    make_tree("new\n");
    cr_assert_eq(file_read(in_dir("tree/AA/wiki_00"), &text), 0, "%s", err_get());
    cr_expect_str_eq(text.data, "new\n");
}

/* What wikiprep did not write is never removed. */
Test(sink, other_folders_are_refused)
{
    static const struct {
        const char *folder, *file, *error; /* error: "/tree" and what follows */
    } cases[] = {
        { "tree/AA", "tree/notes", "/tree/notes': wikiprep did not write it" },
        { "tree/AA", "tree/AA/notes", "/tree/AA/notes': wikiprep" },
        { "tree/AA", "tree/AA/wiki_", "/tree/AA/wiki_': wikiprep" },
        { "tree/AA", "tree/AA/wiki_00.gz", "/tree/AA/wiki_00.gz': wikiprep" },
        { "tree/AA", "tree/AB", "/tree/AB': wikiprep" },
        { "tree/AA", "tree/.hidden", "/tree/.hidden': wikiprep" },
        { "tree/AA/wiki_01", "tree/AA/wiki_00", "/tree/AA/wiki_01': wikiprep" },
        { "tree/aa", "tree/AA/wiki_00", "/tree/aa': wikiprep" },
        { "tree/AA", "tree/manifest", "/tree': it is not empty, and wikiprep did not write it" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sink s;
        SCOPED(buf) text = BUF_INIT;
        SCOPED(file_names) names = { 0 };
        make_tree("old\n");
        cr_assert_eq(file_mkdirs(in_dir(cases[i].folder)), 0, "%s", err_get());
        put_text(cases[i].file, "textmill=records 1\n");
        cr_expect_eq(sink_open(&s, in_dir("tree"), 1, 0, SINK_JSON, 0), -1, "case %zu", i);
        expect_error(cases[i].error);
        sink_abandon(&s);
        cr_assert_eq(file_read(in_dir(cases[i].file), &text), 0, "%s", err_get());
        cr_expect_str_eq(text.data, "textmill=records 1\n");
        cr_assert_eq(file_list_all(&names, dir), 0);
        cr_expect_eq(names.count, 1, "case %zu left '%s'", i, names.names[0]);
        temp_remove(in_dir("tree"));
    }
}
