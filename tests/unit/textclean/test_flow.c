/* A pass over documents, by commands that judge a document by its text alone. */
#include "textclean/flow.h"

#include <sys/stat.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/program/tool.h"
#include "tests/unit/dir.h"
#include "tests/unit/look.h"

TestSuite(flow, .init = make_dir, .fini = remove_dir);

/* Leaves out texts that begin with x or y, takes the first byte from those that begin with c, and
 * fails at an e. */
static int judge(void *ctx, void *tools, struct flow_item *item)
{
    const struct buf *text = &item->entry.document.text;
    (void)ctx;
    (void)tools;
    if (*text->data == 'e')
        return err_set("cannot judge '%s'", text->data);
    if (*text->data == 'x' || *text->data == 'y')
        item->reason = *text->data - 'x';
    if (*text->data == 'c') {
        SCOPED(buf) rest = buf_format("%s", text->data + 1);
        entry_change(&item->entry, rest.data, rest.len);
        item->pieces = 1;
    }
    return 0;
}

static struct flow f;

static int run(int mark, const char *input)
{
    static const char *const reasons[] = { "an x", "a \"y\"" };
    put_text("in", input);
    SCOPED_MEM char *file = mem_strdup(in_dir("in"));
    const struct flow_options o = { .output_path = in_dir("out"),
                                    .rejected_path = mark ? NULL : in_dir("rejected"),
                                    .summary_path = in_dir("summary"),
                                    .field = "text",
                                    .mark = mark };
    f = (struct flow){ .options = &o,
                       .judge = judge,
                       .tools_bytes = 1,
                       .reasons = reasons,
                       .reason_count = 2,
                       .piece = "piece(s)" };
    return flow_run(&f, 1, &file);
}

#define LINE(text)           "{\"id\": 1, \"text\": \"" text "\"}\n"
#define MARKED(text, reason) "{\"id\": 1, \"text\": \"" text "\", \"textclean\": \"" reason "\"}\n"

static void expect(const char *out, const char *rejected, const char *summary)
{
    expect_contents(in_dir("out"), out);
    expect_contents(in_dir("rejected"), rejected);
    expect_contents(in_dir("summary"), summary);
}

Test(flow, documents_go_where_they_were_judged_to)
{
    log_level = -1;
    tool_force = 1;
    for (tool_threads = 1; tool_threads < 5; tool_threads += 3) {
        cr_assert_eq(run(0, LINE("a") LINE("y1") LINE("ca") LINE("x") LINE("y2") LINE("")), 0, "%s",
                     err_get());
        cr_expect(f.read == 6 && f.kept == 3 && f.pieces == 1);
        expect(LINE("a") LINE("a") LINE(""),
               MARKED("y1", "a \\\"y\\\"") MARKED("x", "an x") MARKED("y2", "a \\\"y\\\""),
               "{\"read\": 6, \"kept\": 3, \"pieces_left_out\": 1, "
               "\"left_out\": {\"an x\": 1, \"a \\\"y\\\"\": 2}}\n");
        cr_assert_eq(run(1, LINE("x") LINE("b")), 0, "%s", err_get());
        expect_contents(in_dir("out"), MARKED("x", "an x") MARKED("b", ""));
    }
}

/* An error in the middle of the documents leaves no output. */
Test(flow, all_outputs_or_none)
{
    static const char *const inputs[][2] = {
        { LINE("a") LINE("e") LINE("b"), "cannot judge 'e'" },
        { LINE("a") "{\"id\": 1}\n", "in: line 2: " },
        { LINE("a") "{\n", "in: line 2: " },
    };
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
        cr_expect_eq(run(0, inputs[i][0]), -1);
        expect_error(inputs[i][1]);
        expect(NULL, NULL, NULL);
    }
    cr_expect_eq(run(1, "plain text\n"), -1);
    expect_error("--mark needs documents, JSON lines or Parquet");
    cr_assert_eq(mknod(in_dir("rejected"), S_IFSOCK | 0600, 0), 0);
    cr_expect_eq(run(0, LINE("a")), -1);
    expect_error("rejected");
    expect_contents(in_dir("out"), NULL);
    cr_assert_eq(unlink(in_dir("rejected")), 0);
    cr_assert_eq(run(0, ""), 0, "%s", err_get());
    expect("", "",
           "{\"read\": 0, \"kept\": 0, \"pieces_left_out\": 0, "
           "\"left_out\": {\"an x\": 0, \"a \\\"y\\\"\": 0}}\n");
    cr_expect_eq(run(0, LINE("a")), -1);
    expect_error("exists (--force replaces it)");
}
