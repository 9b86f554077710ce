#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/err.h"
#include "common/files/file.h"
#include "tests/unit/dir.h"
#include "tests/unit/look.h"
#include "tfrecord/formats/record.h"
#include "train/report/event.h"
#include "train/report/metrics.h"

static char path[64];

static void make_dir_and_path(void)
{
    make_dir();
    snprintf(path, sizeof path, "%s/events", dir);
}

TestSuite(event, .init = make_dir_and_path, .fini = remove_dir);
TestSuite(metrics, .init = make_dir_and_path, .fini = remove_dir);

static int count_records(const char *file)
{
    struct file_map map;
    struct record r;
    int n = 0, result;
    cr_assert_eq(file_map(&map, file), 0);
    for (uint64_t at = 0; (result = record_read(&map, at, &r)) > 0; at = record_end(&r))
        n++;
    cr_assert_eq(result, 0, "%s", err_get());
    file_unmap(&map);
    return n;
}

static void write_steps(int from, int to, int64_t open_at)
{
    struct file_log e;
    SCOPED(buf) summary = BUF_INIT;
    event_add(&summary, "loss/train", 1.5);
    cr_assert_eq(event_open(&e, path, open_at), 0, "%s", err_get());
    for (int step = from; step <= to; step++)
        cr_assert_eq(event_write(&e, step, &summary), 0);
    cr_assert_eq(file_log_sync(&e), 0);
    cr_assert_eq(file_log_close(&e), 0);
}

Test(event, first_record_is_the_version_and_bytes_are_as_tensorflow_has_them)
{
    write_steps(300, 300, 0);
    struct buf b = BUF_INIT;
    cr_assert_eq(file_read(path, &b), 0);
    cr_assert_eq(count_records(path), 2);
    /* after the wall time (tag 9 and 8 bytes): field 3, 13 bytes */
    cr_assert_eq((unsigned char)b.data[12], 0x09);
    cr_assert_arr_eq(b.data + 12 + 9,
                     "\x1a\x0d"
                     "brain.Event:2",
                     15);
    /* step 300 = varint ac 02; summary { value { tag "loss/train"; simple_value 1.5 } } */
    static const char want[] = "\x10\xac\x02\x2a\x13\x0a\x11\x0a\x0aloss/train\x15\x00\x00\xc0\x3f";
    size_t second = 16 + 9 + 15;
    cr_assert_arr_eq(b.data + second + 12 + 9, want, sizeof want - 1);
    buf_release(&b);
}

Test(event, resuming_cuts_what_lies_beyond)
{
    write_steps(1, 10, 0);
    write_steps(5, 6, 4);
    cr_assert_eq(count_records(path), 1 + 4 + 2);
}

Test(event, resuming_cuts_a_torn_record)
{
    write_steps(1, 10, 0);
    uint64_t bytes;
    cr_assert_eq(file_size(path, &bytes), 0);
    cr_assert_eq(truncate(path, (off_t)bytes - 3), 0);
    write_steps(11, 11, 100);
    cr_assert_eq(count_records(path), 1 + 9 + 1);
}

Test(event, a_quote_in_a_setting_is_written_once)
{
    SCOPED(buf) b = BUF_INIT;
    struct file_log e;
    cr_assert_eq(event_open(&e, path, 0), 0, "%s", err_get());
    cr_assert_eq(event_write_settings(&e, 0, "steps: 5\nsample: 'It''s a ''test'''\n"), 0);
    cr_assert_eq(file_log_close(&e), 0);
    cr_assert_eq(file_read(path, &b), 0);
    cr_expect(memmem(b.data, b.len, "\x1a\x0dIt's a 'test'", 15)); /* field 3, 13 bytes */
}

Test(event, step_zero_starts_afresh)
{
    write_steps(1, 10, 0);
    write_steps(1, 2, 0);
    cr_assert_eq(count_records(path), 3);
}

static struct metrics_point point(int64_t step)
{
    return (struct metrics_point){ .step = step,
                                   .loss = 2.5 / (double)step,
                                   .validation = NAN,
                                   .rate = 1e-3,
                                   .norm = 0.5,
                                   .tokens = (double)step * 100,
                                   .seconds = 1,
                                   .elapsed = 2,
                                   .tokens_per_second = 100 };
}

static void add_points(struct metrics *m, int from, int to)
{
    for (int step = from; step <= to; step++) {
        struct metrics_point p = point(step);
        p.validation = step % 2 ? NAN : 3;
        cr_assert_eq(metrics_add(m, &p), 0);
    }
}

Test(metrics, a_line_of_nul_bytes_drops_no_other)
{
    /* such a line may be there after the power went */
    static const char text[] = "{\"step\":1}\n\0\0\0\n{\"step\":2}\n{\"step\":3}\n";
    struct metrics m;
    cr_assert_eq(file_write(in_dir("metrics.jsonl"), text, sizeof text - 1), 0);
    cr_assert_eq(metrics_open(&m, dir, 2, NULL, 1), 0, "%s", err_get());
    cr_assert_eq(m.count, 2);
    cr_expect_eq(m.points[1].step, 2);
    metrics_close(&m);
}

Test(metrics, resumed_file_equals_an_uninterrupted_one)
{
    char file[80];
    snprintf(file, sizeof file, "%s/metrics.jsonl", dir);
    struct metrics m;
    struct buf whole = BUF_INIT, resumed = BUF_INIT;
    cr_assert_eq(metrics_open(&m, dir, 0, NULL, 1), 0, "%s", err_get());
    add_points(&m, 1, 9);
    metrics_close(&m);
    cr_assert_eq(file_read(file, &whole), 0);

    cr_assert_eq(truncate(file, (off_t)whole.len - 5), 0); /* killed while writing */
    cr_assert_eq(metrics_open(&m, dir, 4, NULL, 1), 0);
    cr_assert_eq(m.count, 4);
    cr_assert_float_eq(m.points[3].loss, 0.625, 0);
    cr_assert_float_eq(m.points[3].validation, 3, 0);
    cr_assert(isnan(m.points[2].validation));
    add_points(&m, 5, 9);
    metrics_close(&m);
    cr_assert_eq(file_read(file, &resumed), 0);
    cr_assert_str_eq(resumed.data, whole.data);
    buf_release(&whole);
    buf_release(&resumed);
}

/* The loss has two parts, mlm and nsp. metrics_read is not told of them, nor whether the run ended.
 */
Test(metrics, a_run_is_read_back)
{
    static const struct model_part parts[] = { { .name = "mlm" }, { .name = "nsp" } };
    struct metrics m, r = { 0 };
    struct buf text = BUF_INIT;
    struct kv facts = KV_INIT;
    kv_add(&facts, "host", "a \"b\"");
    cr_assert_eq(metrics_open(&m, dir, 0, parts, 2), 0, "%s", err_get());
    cr_expect_eq(metrics_read(&r, dir), -1);
    expect_error("metrics.jsonl' has no measurements yet");
    metrics_close(&r);
    cr_assert_eq(metrics_begin(&m, 0, &facts, "layers: 1\n"), 0, "%s", err_get());
    for (int64_t step = 1; step < 3; step++) {
        struct metrics_point p = point(step);
        p.norm = step == 1 ? NAN : INFINITY;
        p.seconds_of[TIME_LOSS] = 3 * (double)(step - 1);
        p.seconds_of[TIME_OTHER] = (double)(step - 1);
        for (int k = 0; k < 2 * METRICS_VALUES; k++)
            p.part[k / METRICS_VALUES][k % METRICS_VALUES] = k == 6 ? NAN : (double)step / (1 << k);
        p.sample = step == 2 ? strdup("a \"sample\"") : NULL;
        cr_assert_eq(metrics_add(&m, &p), 0, "%s", err_get());
    }
    cr_assert_eq(metrics_sync(&m), 0, "%s", err_get());
    metrics_close(&m);
    cr_assert_eq(file_read(in_dir("metrics.jsonl"), &text), 0);
    const char *first = strstr(text.data, ",\"run\":{\"host\":\"a \\\"b\\\"\"}}\n{\"step\":2,");
    const char *null = strstr(text.data, "\"gradient_norm\":null");
    cr_expect(null && null < first);
    cr_assert(first && !strstr(first + 2, "\"run\""), "%s", text.data);
    buf_adds(&text, "{\"step\":3"); /* it goes on meanwhile */
    cr_assert_eq(file_write(in_dir("metrics.jsonl"), text.data, text.len), 0);
    r = (struct metrics){ 0 };
    cr_assert_eq(metrics_read(&r, dir), 0, "%s", err_get());
    cr_assert(r.count == 2 && r.part_count == 2);
    cr_expect_str_eq(r.parts[0].name, "mlm");
    cr_expect_str_eq(r.parts[1].name, "nsp");
    for (int k = 0; k < 2 * METRICS_VALUES; k++) {
        const double v = r.points[1].part[k / METRICS_VALUES][k % METRICS_VALUES];
        cr_expect(k == 6 ? isnan(v) : v == 2.0 / (1 << k), "%d: %g", k, v);
    }
    cr_expect(isnan(r.points[1].norm) && isnan(r.points[1].validation));
    cr_expect(r.points[1].tokens == 200 && r.points[1].loss == 1.25);
    cr_expect(r.points[1].seconds_of[TIME_LOSS] == 0.75 && !r.points[0].seconds_of[TIME_LOSS]);
    cr_expect(!r.points[0].sample && !strcmp(r.points[1].sample, "a \"sample\""));
    metrics_close(&r);
    buf_setf(&text, "{\"step\":1}\n{\"loss\":1}\n");
    cr_assert_eq(file_write(in_dir("metrics.jsonl"), text.data, text.len), 0);
    r = (struct metrics){ 0 };
    cr_expect_eq(metrics_read(&r, dir), -1);
    expect_error("metrics.jsonl', line 2: train did not write this");
    metrics_close(&r);
    kv_release(&facts);
    buf_release(&text);
}
