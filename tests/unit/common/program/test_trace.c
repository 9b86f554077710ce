/* Spans: off, nested, summed by name, and written as JSON. */
#include <criterion/criterion.h>
#include <string.h>
#include <unistd.h>

#include "common/formats/js.h"
#include "common/program/trace.h"
#include "tests/unit/temp_file.h"

static void inner(void)
{
    TRACE_KERNEL(1e6, 2e6);
    usleep(2000);
}

static void outer(int times)
{
    TRACE_PHASE("outer", 7);
    while (times--)
        inner();
}

static const struct trace_sum *sum_of(const char *name)
{
    size_t count;
    const struct trace_sum *sums = trace_sums(&count);
    for (size_t i = 0; i < count; i++)
        if (!strcmp(sums[i].name, name))
            return &sums[i];
    return NULL;
}

Test(trace, off_until_started)
{
    size_t count;
    outer(1);
    trace_sums(&count);
    cr_assert_eq(count, 0);
}

Test(trace, own_time_is_without_that_of_spans_inside)
{
    trace_start(1);
    outer(3);
    const struct trace_sum *in = sum_of("inner"), *out = sum_of("outer");
    cr_assert(in && out);
    cr_assert_eq(in->count, 3);
    cr_assert_eq(in->flops, 3e6);
    cr_assert_eq(in->bytes, 6e6);
    cr_assert_geq(in->own, 6e-3);
    cr_assert_eq(in->own, in->seconds);
    cr_assert_geq(out->seconds, in->seconds);
    cr_assert_float_eq(out->own, out->seconds - in->seconds, 1e-9);
    trace_stop();
}

Test(trace, file_is_json_with_spans_inside_their_outer)
{
    char *path = temp_file("", 0);
    trace_start(1);
    outer(2);
    cr_assert_eq(trace_write(path, "\"peak\": 5"), 0);
    trace_stop();
    struct js *root = js_load(path);
    cr_assert(root);
    const struct js *events = js_get(root, "traceEvents");
    cr_assert_eq(js_count(events), 3); /* in the order in which they end */
    cr_assert_str_eq(js_text(js_get(js_at(events, 0), "name"), NULL), "inner");
    cr_assert_str_eq(js_text(js_get(js_at(events, 2), "name"), NULL), "outer");
    double at, seconds, out_at, out_seconds;
    int64_t number, peak;
    js_real(js_get(js_at(events, 1), "ts"), &at);
    js_real(js_get(js_at(events, 1), "dur"), &seconds);
    js_real(js_get(js_at(events, 2), "ts"), &out_at);
    js_real(js_get(js_at(events, 2), "dur"), &out_seconds);
    cr_assert(out_at <= at && at + seconds <= out_at + out_seconds + 1e-3);
    cr_assert_eq(js_int(js_get(js_get(js_at(events, 2), "args"), "number"), &number), 0);
    cr_assert_eq(number, 7);
    js_int(js_get(js_get(root, "otherData"), "peak"), &peak);
    cr_assert_eq(peak, 5);
    js_free(root);
    drop_file(path);
}
