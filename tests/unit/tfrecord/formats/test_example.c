/* tf.Example messages: messages that were written are read back, and messages in other writers'
 * forms are understood. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"
#include "common/base/rng.h"
#include "common/files/file.h"
#include "tests/unit/look.h"
#include "tests/unit/set_path.h"
#include "tfrecord/check/listing.h"
#include "tfrecord/formats/example.h"
#include "tfrecord/formats/index.h"
#include "tfrecord/formats/record.h"

static const char *data_folder(void)
{
    const char *dir = getenv("TEXTMILL_DATA");
    return dir ? dir : "../shared/data";
}

static void expect_show(const void *message, size_t n, const char *want)
{
    struct buf out = BUF_INIT;
    cr_expect_eq(listing_example(&out, message, n), 0, "%s", err_get());
    cr_expect_str_eq(out.data, want);
    buf_release(&out);
}

Test(example, bytes_are_protocol_buffers)
{
    static const int64_t ids[] = { 1, 300, -1 };
    static const char want[] = "\x0a\x20\x0a\x1e\x0a\x09"
                               "input_ids"
                               "\x12\x11\x1a\x0f\x0a\x0d"
                               "\x01\xac\x02\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
    struct feature f = { "input_ids", FEATURE_INTS, ids, 3 };
    struct buf out = BUF_INIT;
    example_encode(&out, &f, 1);
    cr_expect_eq(out.len, sizeof want - 1);
    cr_expect_eq(memcmp(out.data, want, out.len), 0);
    expect_show(out.data, out.len, "{\"input_ids\":[1,300,-1]}\n");
    buf_release(&out);
}

Test(example, names_are_sorted_and_kinds_kept)
{
    static const int64_t ints[] = { INT64_MIN, INT64_MAX, 0 };
    static const float floats[] = { 0.1f, -1e30f, 16777216.0f };
    static const struct feature_text texts[] = { { "a\"b", 3 }, { "\xff", 1 }, { "", 0 } };
    struct feature f[] = { { "z", FEATURE_INTS, ints, 3 },
                           { "m", FEATURE_FLOATS, floats, 3 },
                           { "b", FEATURE_BYTES, texts, 3 },
                           { "none", FEATURE_NONE, NULL, 0 },
                           { "empty", FEATURE_INTS, NULL, 0 } };
    struct buf out = BUF_INIT, again = BUF_INIT;
    example_encode(&out, f, 5);
    expect_show(out.data, out.len,
                "{\"b\":[\"a\\\"b\",{\"hex\":\"ff\"},\"\"],\"empty\":[],"
                "\"m\":[0.1,-1e+30,16777216],\"none\":[],"
                "\"z\":[-9223372036854775808,9223372036854775807,0]}\n");
    struct feature turned[] = { f[4], f[2], f[0], f[1], f[3] };
    example_encode(&again, turned, 5);
    cr_expect(again.len == out.len && !memcmp(again.data, out.data, out.len));
    struct feature_view v;
    cr_expect_eq(example_find(out.data, out.len, "none", &v), 1);
    cr_expect_eq(v.kind, FEATURE_NONE);
    cr_expect_eq(example_find(out.data, out.len, "nono", &v), 0);
    buf_release(&out);
    buf_release(&again);
}

Test(example, values_of_every_length_survive_in_any_piece_size)
{
    enum { N = 3000 };
    int64_t *in = calloc(N, sizeof *in), *got = calloc(N + 8, sizeof *got);
    struct buf out = BUF_INIT;
    for (int i = 0; i < N; i++) /* 1 to 10 bytes, mixed */
        in[i] = (int64_t)(rng_at(1, (uint64_t)i) >> (rng_at(2, (uint64_t)i) % 64));
    struct feature f = { "x", FEATURE_INTS, in, N };
    example_encode(&out, &f, 1);
    for (size_t piece = 1; piece < 20; piece++) {
        struct feature_view v;
        struct feature_reader r;
        int64_t n, all = 0;
        cr_assert_eq(example_find(out.data, out.len, "x", &v), 1);
        for (feature_open(&r, &v); (n = feature_ints(&r, got + all, piece)) > 0;)
            cr_assert((all += n) <= N);
        cr_assert_eq(all, N);
        cr_assert_eq(memcmp(in, got, N * sizeof *in), 0);
    }
    free(in);
    free(got);
    buf_release(&out);
}

Test(example, unpacked_values_and_unknown_fields)
{
    /* Example { 7: 5, 1: Features { 2: "?", 1: entry { 2: Feature { 9: fixed32, 3: list { 1: 7,
     * 2: fixed64, 1: packed 8 9, 1: packed nothing, 1: 10 } }, 1: "x" } } } */
    struct buf list = BUF_INIT, feature = BUF_INIT, entry = BUF_INIT, map = BUF_INIT, ex = BUF_INIT;
    buf_add(&list, "\x08\x07\x11........\x0a\x02\x08\x09\x0a\x00\x08\x0a", 19);
    buf_addf(&feature, "\x4d....\x1a%c", (int)list.len);
    buf_add(&feature, list.data, list.len);
    buf_addf(&entry, "\x12%c", (int)feature.len);
    buf_add(&entry, feature.data, feature.len);
    buf_add(&entry, "\x0a\x01x", 3);
    buf_addf(&map, "\x12\x01?\x0a%c", (int)entry.len);
    buf_add(&map, entry.data, entry.len);
    buf_addf(&ex, "\x38\x05\x0a%c", (int)map.len);
    buf_add(&ex, map.data, map.len);
    expect_show(ex.data, ex.len, "{\"x\":[7,8,9,10]}\n");
    buf_release(&list);
    buf_release(&feature);
    buf_release(&entry);
    buf_release(&map);
    buf_release(&ex);
}

Test(example, the_last_of_a_name_counts)
{
    static const char message[] = "\x0a\x18"
                                  "\x0a\x0a\x0a\x01x\x12\x05\x1a\x03\x0a\x01\x01"
                                  "\x0a\x0a\x0a\x01x\x12\x05\x1a\x03\x0a\x01\x02";
    struct feature_view v;
    struct feature_reader r;
    int64_t value;
    expect_show(message, sizeof message - 1, "{\"x\":[2]}\n");
    cr_assert_eq(example_find(message, sizeof message - 1, "x", &v), 1);
    feature_open(&r, &v);
    cr_expect(feature_ints(&r, &value, 1) == 1 && value == 2);
}

Test(example, malformed_messages_are_errors)
{
    static const struct {
        const char *bytes;
        size_t n;
    } bad[] = {
        { "\x0a", 1 },                                          /* no length */
        { "\x0a\x05", 2 },                                      /* cut */
        { "\x0a\x02\x0a\x05", 4 },                              /* nested beyond its parent */
        { "\x00\x00", 2 },                                      /* field 0 */
        { "\x0b\x0c", 2 },                                      /* a group */
        { "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11 }, /* varint without end */
        { "\x0a\x0c\x0a\x0a\x0a\x01x\x12\x05\x1a\x03\x0a\x01\xff", 14 }, /* packed value cut */
        { "\x0a\x0b\x0a\x09\x0a\x01x\x12\x04\x12\x02\x0a\x00\x12", 14 },
        { "\x0a\x0d\x0a\x0b\x0a\x01x\x12\x06\x12\x04\x0a\x02..", 15 }, /* half a float */
        { "\x0a\x0b\x0a\x09\x0a\x01x\x12\x04\x12\x00\x1a\x00", 13 },   /* two kinds */
        { "\x0a\x09\x0a\x07\x0a\x01x\x12\x00\x12\x00", 11 },           /* two values */
        { "\x0a\x05\x0a\x03\x0a\x01\xff", 7 },                         /* name no UTF-8 */
    };
    struct buf out = BUF_INIT;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        cr_expect_eq(listing_example(&out, bad[i].bytes, bad[i].n), -1, "case %zu: %s", i,
                     out.data);
        cr_expect_eq(out.len, 0);
        buf_clear(&out);
    }
    cr_expect_eq(listing_example(&out, NULL, 0), 0);
    cr_expect_str_eq(out.data, "{}\n");
    buf_release(&out);
}

/* Reads a record that TensorFlow wrote, encodes its features again and reads them: all values must
 * be the same. */
static void check_round_trip(const struct record *r)
{
    struct example_reader reader;
    struct feature_view v;
    struct feature features[16];
    char names[16][64];
    static int64_t ints[16][1024];
    static float floats[16][1024];
    size_t n = 0;
    for (example_open(&reader, r->data, r->bytes); example_next(&reader, &v) > 0; n++) {
        struct feature_reader values;
        cr_assert(n < 16 && v.name_len < 64);
        memcpy(names[n], v.name, v.name_len);
        names[n][v.name_len] = '\0';
        feature_open(&values, &v);
        int64_t count = v.kind == FEATURE_INTS ? feature_ints(&values, ints[n], 1024)
                                               : feature_floats(&values, floats[n], 1024);
        cr_assert(count > 0 && count < 1024);
        features[n] = (struct feature){ names[n], v.kind,
                                        v.kind == FEATURE_INTS ? (void *)ints[n] : floats[n],
                                        (size_t)count };
    }
    struct buf ours = BUF_INIT, a = BUF_INIT, b = BUF_INIT;
    example_encode(&ours, features, n);
    cr_expect_eq(ours.len, r->bytes);
    cr_assert_eq(listing_example(&a, r->data, r->bytes), 0);
    cr_assert_eq(listing_example(&b, ours.data, ours.len), 0);
    cr_expect_str_eq(a.data, b.data);
    buf_release(&ours);
    buf_release(&a);
    buf_release(&b);
}

static void check_file(const char *name, uint64_t records)
{
    struct buf path = BUF_INIT;
    struct file_map map;
    struct record_index index;
    struct record r;
    set_path(&path, data_folder(), name);
    if (!look(path.data))
        cr_skip_test("no %s", path.data);
    cr_assert_eq(file_map(&map, path.data), 0);
    cr_assert_eq(index_scan(&index, &map, path.data, 1), 0, "%s", err_get());
    cr_expect_eq(index.count, records);
    for (uint64_t i = 0; i < index.count; i++) {
        cr_assert_eq(record_read(&map, index_at(&index, i), &r), 1);
        check_round_trip(&r);
    }
    index_release(&index);
    file_unmap(&map);
    buf_release(&path);
}

Test(example, tensorflows_records)
{
    check_file("bert/sample_text.tfrecord", 45);
    check_file("bert/sample_text_packed.tfrecord", 44);
}

Test(show, floats_have_the_digits_they_need)
{
    static const float floats[] = { 1.0f / 3.0f, 1e-45f, NAN, INFINITY, 3.4028235e38f, 0.5f };
    struct feature f = { "f", FEATURE_FLOATS, floats, 6 };
    struct buf out = BUF_INIT;
    example_encode(&out, &f, 1);
    expect_show(out.data, out.len, "{\"f\":[0.33333334,1.4013e-45,null,null,3.4028235e+38,0.5]}\n");
    buf_release(&out);
}

static size_t plain_varint(unsigned char *out, uint64_t v)
{
    size_t n = 0;
    for (; v >= 0x80; v >>= 7)
        out[n++] = (unsigned char)(v | 0x80);
    out[n++] = (unsigned char)v;
    return n;
}

/* Encodes all pairs of numbers near the limits of the varint lengths: two varints may be written
 * with one store. */
Test(example, pairs_are_the_varints_of_each)
{
    int64_t values[3 * 21 + 2];
    size_t count = 0;
    values[count++] = 0;
    values[count++] = -1;
    for (int bits = 7; bits <= 63; bits += 7)
        for (int d = -1; d <= 1; d++)
            values[count++] = (int64_t)(((uint64_t)1 << bits) + (uint64_t)d);
    struct buf out = BUF_INIT;
    for (size_t i = 0; i < count * count; i++) {
        int64_t three[] = { values[i / count], values[i % count], 5 };
        unsigned char want[30];
        size_t n = plain_varint(want, (uint64_t)three[0]);
        n += plain_varint(want + n, (uint64_t)three[1]);
        for (size_t odd = 0; odd < 2; odd++) {
            struct feature f = { "x", FEATURE_INTS, three, 2 + odd };
            buf_clear(&out);
            example_encode(&out, &f, 1);
            want[n] = 5;
            cr_assert_eq(memcmp(out.data + out.len - n - odd, want, n + odd), 0, "%lld %lld",
                         (long long)three[0], (long long)three[1]);
        }
    }
    buf_release(&out);
}
