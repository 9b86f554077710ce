/* A shard that goes on after any cut equals one that was written at once. */
#include <criterion/criterion.h>
#include <string.h>

#include "common/base/buf.h"
#include "tests/unit/dir.h"
#include "tests/unit/look.h"
#include "tfrecord/layouts/record_shard.h"

TestSuite(record_shard, .init = make_dir, .fini = remove_dir);

enum { RECORDS = 6 };

/* Writes the records; the one with the number `other` has another text. Returns what the first
 * failed call returned, or 0. */
static int put_records(enum compression how, int resume, int other, uint64_t *records)
{
    const struct shard_set set = { .dir = dir, .count = 1, .compression = how, .resume = resume };
    struct record_shard s;
    SCOPED(kv) manifest = KV_INIT;
    int result = record_shard_open(&s, &set, 0);
    for (int i = 0; i < RECORDS && !result; i++)
        result = record_shard_put(&s, i == other ? "sun" : "moon", (size_t)(i == other ? 3 : 4));
    if (!result)
        result = record_shard_close(&s, &manifest);
    *records = s.data.records;
    record_shard_release(&s);
    return result;
}

static void expect_file(const char *name, const struct buf *want)
{
    struct buf got = BUF_INIT;
    cr_assert_eq(file_read(in_dir(name), &got), 0, "%s", err_get());
    cr_expect(got.len == want->len && !memcmp(got.data, want->data, got.len), "%s", name);
    buf_release(&got);
}

static void cut_everywhere(enum compression how)
{
    static const char name[] = "data-00000-of-00001.tfrecord";
    static const char index[] = "data-00000-of-00001.index";
    struct buf whole = BUF_INIT, lines = BUF_INIT;
    uint64_t records;
    cr_assert_eq(put_records(how, 0, -1, &records), 0, "%s", err_get());
    cr_assert_eq(file_read(in_dir(name), &whole), 0, "%s", err_get());
    if (how == COMPRESS_NONE)
        cr_assert_eq(file_read(in_dir(index), &lines), 0, "%s", err_get());
    for (size_t n = 0; n <= whole.len; n++) {
        struct output out;
        cr_assert_eq(output_open(&out, in_dir(name)), 0);
        cr_assert_eq(output_write(&out, whole.data, n), 0);
        cr_assert_eq(output_close(&out), 0);
        cr_expect_eq(put_records(how, 1, -1, &records), 0, "%s", err_get());
        cr_expect_eq(records, RECORDS);
        expect_file(name, &whole);
        if (how == COMPRESS_NONE)
            expect_file(index, &lines);
    }
    cr_expect_eq(put_records(how, 1, 2, &records), -1);
    expect_error("is not from this run");
    buf_release(&whole);
    buf_release(&lines);
}

Test(record_shard, goes_on_after_any_cut)
{
    cut_everywhere(COMPRESS_NONE);
}

Test(record_shard, a_cut_compressed_file_begins_again)
{
    cut_everywhere(COMPRESS_GZIP);
}
