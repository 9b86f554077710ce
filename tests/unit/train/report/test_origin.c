#include <criterion/criterion.h>

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
