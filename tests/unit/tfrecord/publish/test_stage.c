/* Runs that end while they write or publish a set, and runs that go on after them. */
#include "tfrecord/publish/stage.h"

#include <stdlib.h>

#include "tests/unit/dir.h"
#include "tests/unit/look.h"

TestSuite(publish, .init = make_dir, .fini = remove_dir);

/* Of two shards; version 1 has no checksum. */
static const char manifest[] = "textmill=shards 1\nlayout=gpt\nrecords=2\n"
                               "shard=a.tfrecord records=1 bytes=1 crc32c=00000000\n"
                               "shard=b.tfrecord records=1 bytes=1 crc32c=00000000\n";

static struct stage s;

/* Opens the folder `out`, and expects the work folder of the run before if it goes on. */
static void begin(int resume)
{
    cr_assert_eq(stage_open(&s, in_dir("out"), STAGE_SHARDS, resume), 0, "%s", err_get());
}

/* Returns "out/WORK/NAME", in the folder of the run that is open. */
static const char *work(const char *name)
{
    static struct buf path = BUF_INIT;
    buf_setf(&path, "out/%s/%s", file_name(s.work), name);
    return path.data;
}

/* Ends the run as an error does, after which the set can be completed. */
static void fail(void)
{
    stage_close(&s, 1);
    cr_expect_eq(stage_check_finished(in_dir("out")), -1);
    expect_error("unfinished: a tfwrite is running there or was killed");
}

/* Expects the texts of both shards in the output folder and in the work folder; NULL: no file. */
static void expect_shards(const char *a_out, const char *b_out, const char *a_work,
                          const char *b_work)
{
    expect_contents(in_dir("out/a.tfrecord"), a_out);
    expect_contents(in_dir("out/b.tfrecord"), b_out);
    expect_contents(in_dir(work("a.tfrecord")), a_work);
    expect_contents(in_dir(work("b.tfrecord")), b_work);
}

Test(publish, a_run_goes_on_wherever_the_last_one_ended)
{
    struct kv plan = KV_INIT, other = KV_INIT;
    kv_add(&plan, "shards", "2");
    kv_add(&other, "shards", "3");
    begin(1);
    cr_assert_eq(stage_plan(&s, "", &plan), 0, "%s", err_get());
    put_text(work("a.tfrecord"), "A");
    /* it ends within b, whose name is then temporary, as is that of an index */
    put_text(work("b.tfrecord.textmill-6czmtka3pe"), "B");
    put_text(work("a.index.textmill-6czmtka3pf"), "0 1\n");
    SCOPED_MEM char *first = mem_strdup(s.work);
    fail();
    begin(1);
    cr_expect_str_eq(s.work, first);
    expect_shards(NULL, NULL, "A", "B");
    expect_contents(in_dir(work("a.index.textmill-6czmtka3pf")), NULL);
    cr_expect_eq(stage_plan(&s, "", &other), -1);
    expect_error("shards is 3, but was 2 in the interrupted run");
    cr_expect_eq(stage_plan(&s, "", &plan), 0, "%s", err_get());
    /* it ends while it publishes: a has been moved */
    put_text(work("manifest"), manifest);
    put_text("out/a.index", "0 1\n");
    cr_assert_eq(file_rename(in_dir(work("a.tfrecord")), in_dir("out/a.tfrecord")), 0);
    fail();
    begin(1);
    cr_expect_str_eq(s.work, first);
    expect_shards(NULL, NULL, "A", "B");
    expect_contents(in_dir(work("manifest")), NULL);
    expect_contents(in_dir("out/a.index"), NULL);
    put_text(work("manifest"), manifest);
    cr_expect_eq(stage_publish(&s, "", "manifest"), 0, "%s", err_get());
    expect_shards("A", "B", NULL, NULL);
    expect_contents(in_dir("out/manifest"), manifest);
    stage_close(&s, 0);
    cr_expect_not(look(first));
    cr_expect_eq(stage_check_finished(in_dir("out")), 0, "%s", err_get());
    kv_release(&plan);
    kv_release(&other);
}

Test(publish, a_run_starts_over)
{
    begin(1);
    put_text(work("b.tfrecord"), "B");
    put_text(work("manifest"), manifest);
    put_text("out/a.tfrecord", "A"); /* published */
    put_text("out/c.tfrecord", "C"); /* of nobody's manifest */
    SCOPED_MEM char *first = mem_strdup(s.work);
    fail();
    begin(0);
    cr_expect_str_neq(s.work, first);
    cr_expect_not(look(first));
    expect_shards(NULL, NULL, NULL, NULL);
    expect_contents(in_dir("out/c.tfrecord"), "C");
    stage_close(&s, 1);
    expect_contents(in_dir("out/c.tfrecord"), "C");
}

/* The validation part is published first; its manifest is then in its folder. */
Test(publish, a_run_goes_on_after_its_validation_part)
{
    static const char part[] = "textmill=shards 1\nlayout=gpt\nrecords=1\n"
                               "shard=v.tfrecord records=1 bytes=1 crc32c=00000000\n";
    SCOPED(buf) whole = buf_format("%svalidation=1\n", manifest);
    for (int moved = 0; moved < 2; moved++) { /* 1: the manifest, too */
        begin(1);
        put_text(work("a.tfrecord"), "A");
        put_text(work("b.tfrecord"), "B");
        put_text(work("manifest"), whole.data);
        cr_assert_eq(file_mkdirs(in_dir(work("validation"))), 0);
        cr_assert_eq(file_mkdirs(in_dir("out/validation")), 0);
        put_text("out/validation/v.tfrecord", "V");
        put_text(moved ? "out/validation/manifest" : work("validation/manifest"), part);
        fail();
        begin(1);
        expect_shards(NULL, NULL, "A", "B");
        expect_contents(in_dir(work("validation/v.tfrecord")), "V");
        expect_contents(in_dir(work("validation/manifest")), NULL);
        expect_contents(in_dir("out/validation/v.tfrecord"), NULL);
        expect_contents(in_dir("out/validation/manifest"), NULL);
        stage_close(&s, 0);
    }
}
