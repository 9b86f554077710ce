#include <criterion/criterion.h>
#include <stdlib.h>

#include "tests/unit/dir.h"
#include "train/report/origin.h"

TestSuite(origin, .init = make_dir, .fini = remove_dir);

/* Prints the facts of a run that begins on `date`, resumed from step 5. */
static const char *resumed(const char *date)
{
    static struct buf out = BUF_INIT;
    struct kv facts = KV_INIT;
    buf_clear(&out);
    kv_add(&facts, "host", "a");
    kv_add(&facts, "date", date);
    cr_assert_eq(origin_resume(&facts, in_dir("config.yaml"), 5), 0, "%s", err_get());
    kv_print(&facts, &out);
    kv_release(&facts);
    return out.data;
}

Test(origin, a_resumed_run_adds_what_is_different_from_the_last)
{
    cr_expect_str_eq(resumed("1"), "host=a\ndate=1\n");
    put_text("config.yaml", "# host: a\n# date: 1\n# date, from step 2: 2\nlayers: 1\n");
    cr_expect_str_eq(resumed("2"), "host=a\ndate=1\ndate, from step 2=2\n");
    cr_expect_str_eq(resumed("1"), "host=a\ndate=1\ndate, from step 2=2\ndate, from step 5=1\n");
    put_text("config.yaml", "#the lower rate\n\n# host: a\n# date: 1\nlayers: 1\n");
    cr_expect_str_eq(resumed("2"), "host=a\ndate=1\ndate, from step 5=2\n");
}

static void with_hosts(const struct kv *facts, struct buf *out)
{
    origin_table(facts, 1, out);
}

static void without_hosts(const struct kv *facts, struct buf *out)
{
    origin_table(facts, 0, out);
}

Test(origin, facts_in_each_form)
{
    static const struct {
        void (*print)(const struct kv *facts, struct buf *out);
        const char *text;
    } all[] = {
        { origin_print, "# command: train a|b <x>\n# host: a_b\n# host, from step 5: c\n" },
        { origin_json,
          "{\"command\":\"train a|b <x>\",\"host\":\"a_b\",\"host, from step 5\":\"c\"}" },
        { with_hosts, "| | |\n|---|---|\n| command | train a\\|b \\<x\\> |\n| host | a\\_b |\n"
                      "| host, from step 5 | c |\n" },
        { without_hosts, "| | |\n|---|---|\n| command | train a\\|b \\<x\\> |\n" },
    };
    struct kv facts = KV_INIT;
    kv_add(&facts, "command", "train a|b <x>");
    kv_add(&facts, "host", "a_b");
    kv_add(&facts, "host, from step 5", "c");
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        SCOPED(buf) out = BUF_INIT;
        all[i].print(&facts, &out);
        cr_expect_str_eq(out.data, all[i].text);
    }
    kv_release(&facts);
}

Test(origin, what_a_user_wrote_is_not_replaced)
{
    put_text("ours", "x\nwritten by train\n");
    put_text("theirs", "x\n");
    put_text("empty", "");
    cr_expect_eq(origin_may_replace(in_dir("ours"), "by train"), 1);
    cr_expect_eq(origin_may_replace(in_dir("theirs"), "by train"), 0);
    cr_expect_eq(origin_may_replace(in_dir("empty"), "by train"), 0);
    cr_expect_eq(origin_may_replace(in_dir("none"), "by train"), 1);
    cr_expect_eq(origin_may_replace(dir, "by train"), 0);
}

/* A date that others can make again, in UTC. */
Test(origin, the_date_may_be_given)
{
    struct kv facts = KV_INIT;
    setenv("SOURCE_DATE_EPOCH", "951782400", 1);
    origin_add_machine(&facts);
    cr_expect_str_eq(kv_get(&facts, "date"), "2000-02-29T00:00:00Z");
    cr_expect(kv_get(&facts, "host"));
    kv_release(&facts);
}
