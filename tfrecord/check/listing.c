#include "tfrecord/check/listing.h"

#include <math.h>

#include "common/base/order.h"
#include "common/base/utf8.h"
#include "common/formats/js.h"
#include "tfrecord/formats/example.h"
#include "tfrecord/formats/megatron.h"
#include "tfrecord/formats/record.h"
#include "tfrecord/formats/record_file.h"

enum { PIECE = 256 };

static void put_bytes(struct buf *out, const struct feature_text *t)
{
    if (utf8_valid(t->data, t->len) == t->len) {
        js_quote(out, t->data, t->len);
        return;
    }
    buf_adds(out, "{\"hex\":\"");
    for (size_t i = 0; i < t->len; i++)
        buf_addf(out, "%02x", (unsigned char)t->data[i]);
    buf_adds(out, "\"}");
}

static void put_float(struct buf *out, float v)
{
    char text[32] = "null";
    for (int digits = 6; isfinite(v) && digits <= 9; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, (double)v);
        if (strtof(text, NULL) == v)
            break;
    }
    buf_adds(out, text);
}

static int put_values(struct buf *out, struct feature_reader *r)
{
    int64_t ints[PIECE], n = 0;
    float floats[PIECE];
    struct feature_text text;
    for (uint64_t seen = 0;;) {
        if (r->kind != FEATURE_NONE)
            n = r->kind == FEATURE_INTS     ? feature_ints(r, ints, PIECE)
                : r->kind == FEATURE_FLOATS ? feature_floats(r, floats, PIECE)
                                            : feature_bytes(r, &text);
        if (n <= 0)
            return (int)n;
        for (int64_t i = 0; i < n; i++) {
            buf_adds(out, seen++ ? "," : "");
            if (r->kind == FEATURE_INTS)
                buf_addf(out, "%lld", (long long)ints[i]);
            else if (r->kind == FEATURE_FLOATS)
                put_float(out, floats[i]);
            else
                put_bytes(out, &text);
        }
    }
}

static int put_feature(struct buf *out, const struct feature_view *f)
{
    struct feature_reader r;
    if (utf8_valid(f->name, f->name_len) != f->name_len)
        return err_set("the name of a feature is not UTF-8");
    js_quote(out, f->name, f->name_len);
    buf_adds(out, ":[");
    feature_open(&r, f);
    int result = put_values(out, &r);
    buf_addc(out, ']');
    return result;
}

/* Compares by name; of equal names, the one later in the record (and in memory) comes last. */
static int by_name(const void *a, const void *b)
{
    const struct feature_view *x = a, *y = b;
    int order = order_bytes(x->name, x->name_len, y->name, y->name_len);
    return order ? order : (x->data > y->data) - (x->data < y->data);
}

int listing_example(struct buf *out, const void *data, size_t n)
{
    struct example_reader r;
    SCOPED_MEM struct feature_view *views = NULL;
    struct feature_view v;
    size_t count = 0, cap = 0, before = out->len;
    int result;
    for (example_open(&r, data, n); (result = example_next(&r, &v)) > 0;)
        mem_next(views, count, cap) = v;
    mem_sort(views, count, by_name);
    buf_addc(out, '{');
    for (size_t i = 0, shown = 0; i < count && result >= 0; i++) {
        const struct feature_view *next = i + 1 < count ? &views[i + 1] : NULL;
        if (next && !order_bytes(views[i].name, views[i].name_len, next->name, next->name_len))
            continue; /* the last one of a name counts */
        buf_adds(out, shown++ ? "," : "");
        result = put_feature(out, &views[i]);
    }
    buf_adds(out, "}\n");
    if (result < 0)
        buf_truncate(out, before);
    return result;
}

/* ---- files -------------------------------------------------------------------------------- */

int listing_records(const char *path, uint64_t limit, struct output *out, uint64_t *shown)
{
    SCOPED_BY(record_file_close) struct record_file f = { 0 };
    struct record r;
    SCOPED(buf) line = BUF_INIT;
    uint64_t offset = 0, n = 0;
    int result = record_file_open(&f, path);
    while (!result && (!limit || n < limit)) {
        int more = record_read(&f.records, offset, &r);
        if (!more)
            break;
        buf_clear(&line);
        result = more < 0 || listing_example(&line, r.data, r.bytes) < 0
                     ? record_where(path, n, offset)
                     : output_write(out, line.data, line.len);
        n += !result;
        offset = record_end(&r);
    }
    *shown = n;
    return result;
}

int listing_sequences(const char *prefix, uint64_t limit, struct output *out, uint64_t *shown)
{
    SCOPED_BY(megatron_close) struct megatron m = { 0 };
    SCOPED(buf) line = BUF_INIT;
    SCOPED_MEM uint32_t *ids = NULL;
    size_t cap = 0;
    uint64_t n = 0, first;
    int result = megatron_open(&m, prefix);
    for (; !result && n < m.sequences && (!limit || n < limit); n++) {
        uint32_t count = megatron_sequence(&m, n, &first);
        mem_grow(ids, cap, count + 1);
        result = megatron_read(&m, first, count, ids);
        if (result)
            break;
        buf_clear(&line);
        buf_adds(&line, "{\"input_ids\":[");
        for (uint32_t i = 0; i < count; i++)
            buf_addf(&line, "%s%u", i ? "," : "", ids[i]);
        buf_adds(&line, "]}\n");
        result = output_write(out, line.data, line.len);
    }
    *shown = n;
    return result;
}
