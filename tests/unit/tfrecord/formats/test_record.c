/* TFRecord framing and index files: damage anywhere in a file is found, and the error says
 * where. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/crc32c.h"
#include "common/base/err.h"
#include "common/base/le.h"
#include "common/files/file.h"
#include "tests/unit/dir.h"
#include "tests/unit/look.h"
#include "tests/unit/temp_file.h"
#include "tfrecord/check/repair.h"
#include "tfrecord/formats/index.h"
#include "tfrecord/formats/record.h"

static struct file_map as_map(const struct buf *b)
{
    return (struct file_map){ (const unsigned char *)b->data, b->len };
}

/* Three records: "first", "", and 1000 bytes of x. */
static struct buf three_records(void)
{
    struct buf file = BUF_INIT, x = BUF_INIT;
    for (int i = 0; i < 1000; i++)
        buf_addc(&x, 'x');
    record_frame(&file, "first", 5);
    record_frame(&file, "", 0);
    record_frame(&file, x.data, x.len);
    buf_release(&x);
    return file;
}

Test(record, framing_is_tensorflows)
{
    struct buf b = BUF_INIT;
    record_frame(&b, "", 0);
    cr_assert_eq(b.len, 16);
    cr_expect_eq(memcmp(b.data, "\0\0\0\0\0\0\0\0\x29\x03\x98\x07\xd8\xea\x82\xa2", 16), 0);
    buf_release(&b);
}

Test(record, reads_what_was_framed)
{
    struct buf b = three_records();
    struct file_map map = as_map(&b);
    struct record r;
    cr_assert_eq(record_read(&map, 0, &r), 1);
    cr_expect(r.bytes == 5 && !memcmp(r.data, "first", 5));
    cr_assert_eq(record_read(&map, record_end(&r), &r), 1);
    cr_expect(r.bytes == 0 && r.offset == 21);
    cr_assert_eq(record_read(&map, record_end(&r), &r), 1);
    cr_expect(r.bytes == 1000);
    cr_expect_eq(record_read(&map, record_end(&r), &r), 0);
    cr_expect_eq(record_read(&map, b.len + 1, &r), -1);
    buf_release(&b);
}

Test(record, every_flipped_bit_is_found)
{
    struct buf b = three_records();
    struct file_map map = as_map(&b);
    struct record_index index;
    for (size_t i = 0; i < b.len; i++) {
        for (int bit = 0; bit < 8; bit++) {
            b.data[i] ^= (char)(1 << bit);
            cr_assert_eq(index_scan(&index, &map, "f", 1), -1, "bit %d of byte %zu", bit, i);
            b.data[i] ^= (char)(1 << bit);
        }
    }
    buf_release(&b);
}

Test(record, every_truncation_is_found)
{
    struct buf b = three_records();
    struct record_index index;
    for (size_t n = 0; n <= b.len; n++) {
        struct file_map map = { (const unsigned char *)b.data, n };
        int whole = n == 0 || n == 21 || n == 37 || n == b.len;
        cr_assert_eq(index_scan(&index, &map, "f", 0), whole ? 0 : -1, "%zu bytes", n);
        if (!whole)
            expect_error("cut short");
        index_release(&index);
    }
    buf_release(&b);
}

Test(record, errors_name_file_record_and_byte)
{
    struct buf b = three_records();
    struct file_map map = as_map(&b);
    struct record_index index;
    b.data[37 + 12 + 500] ^= 1;
    cr_expect_eq(index_scan(&index, &map, "some.tfrecord", 1), -1);
    expect_error("some.tfrecord: record 2 at byte 37: data is damaged");
    cr_expect_eq(index_scan(&index, &map, "some.tfrecord", 0), 0, "lengths alone are right");
    index_release(&index);
    b.data[21] ^= 1;
    cr_expect_eq(index_scan(&index, &map, "some.tfrecord", 0), -1);
    expect_error("some.tfrecord: record 1 at byte 21: length is damaged");
    buf_release(&b);
}

Test(record, absurd_lengths_are_refused)
{
    static const uint64_t lengths[] = { (uint64_t)1 << 60, UINT64_MAX, UINT64_MAX - 15,
                                        (uint64_t)1 << 63, 5 };
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        unsigned char bytes[20] = { 0 };
        struct file_map map = { bytes, sizeof bytes };
        struct record r;
        le_put_u64(bytes, lengths[i]);
        le_put_u32(bytes + 8, crc32c_mask(crc32c(0, bytes, 8)));
        cr_expect_eq(record_read(&map, 0, &r), -1);
        expect_error("cut short: a record of");
    }
}

static int load(struct record_index *index, const char *text, uint64_t bytes)
{
    char *path = temp_file(text, strlen(text));
    int result = index_load(index, path, bytes);
    drop_file(path);
    return result;
}

Test(index, reads_lines_that_cover_the_file)
{
    struct record_index index;
    cr_assert_eq(load(&index, "0 21\n21 16\n37 1016\n", 1053), 0);
    cr_expect(index.count == 3 && index_at(&index, 2) == 37);
    index_release(&index);
    cr_expect_eq(load(&index, "", 0), 0);
}

Test(index, refuses_lines_that_do_not)
{
    static const char *const bad[] = {
        "0 21\n21 16\n37 1015\n",
        "0 21\n21 16\n",
        "0 21\n22 16\n",
        "0 21\n21 15\n",
        "0 21",
        "0 21\n21\n",
        "0  21\n",
        "x\n",
        "-1 5\n",
        "0 99999999999999999999999\n",
        "18446744073709551615 21\n",
        "0 21\r\n",
        "0 1053\n1053 16\n",
    };
    struct record_index index;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        cr_expect_eq(load(&index, bad[i], 1053), -1, "'%s' is accepted", bad[i]);
}

/* An index of records of any sizes must return the place of each record. If the sizes are similar
 * it must take few bytes per record. */
Test(index, holds_places_in_little_memory)
{
    enum { MANY = 100000 };
    struct buf text = BUF_INIT;
    uint64_t *places = calloc(MANY, sizeof *places), at = 0, state = 1;
    for (int kind = 0; kind < 4; kind++) {
        struct record_index index;
        buf_clear(&text);
        at = 0;
        for (int i = 0; i < MANY; i++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            uint64_t size = kind == 0   ? 2000
                            : kind == 1 ? 2000 + (state >> 56)
                            : kind == 2 ? 16 + (state >> 33)
                                        : 16 + (state >> 33 >> (state >> 58) / 2);
            places[i] = at;
            index_line(&text, at, size);
            at += size;
        }
        cr_assert_eq(load(&index, text.data, at), 0, "%s", err_get());
        cr_assert_eq(index.count, MANY);
        for (int i = 0; i < MANY; i++)
            cr_assert_eq(index_at(&index, (uint64_t)i), places[i], "kind %d, record %d", kind, i);
        if (kind < 2)
            cr_expect_lt(index.excess_bytes + MANY / INDEX_BLOCK * sizeof *index.blocks, 2 * MANY);
        index_release(&index);
    }
    free(places);
    buf_release(&text);
}

Test(index, names)
{
    static const char *const names[][2] = {
        { "a/b.tfrecord", "a/b.index" },
        { "a/train-00000", "a/train-00000.index" },
        { ".tfrecord", ".tfrecord.index" },
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct buf path = index_path(names[i][0]);
        cr_expect_str_eq(path.data, names[i][1]);
        buf_release(&path);
    }
}

/* If any single byte is damaged, or the file is cut anywhere, all other records must still be
 * found. */
Test(record, goes_on_after_damage)
{
    struct buf b = three_records();
    uint64_t starts[] = { 0, 21, 37, b.len };
    for (size_t i = 0; i < b.len; i++) {
        struct file_map map = as_map(&b);
        struct repair r = { 0 };
        size_t hit = i < 21 ? 0 : i < 37 ? 1 : 2;
        b.data[i] ^= 1;
        repair_count(&r, &map, "f");
        b.data[i] ^= 1;
        cr_assert(r.good == 2 && r.bad == 1, "byte %zu: %d good", i, (int)r.good);
        cr_assert_eq(r.lost_bytes, starts[hit + 1] - starts[hit]);
        map = (struct file_map){ (const unsigned char *)b.data, i };
        r = (struct repair){ 0 };
        repair_count(&r, &map, "f");
        cr_assert(r.good == hit && r.bad == (i != starts[hit]), "cut at %zu", i);
    }
    buf_release(&b);
}

static void tell(const char *error)
{
    cr_expect(strstr(error, "record 1"), "%s", error);
}

/* The good records take the place of the damaged file; the index fits them. */
Test(record, file_is_repaired)
{
    make_dir();
    struct buf b = three_records(), got = BUF_INIT;
    struct repair r = { .told = tell };
    const char *path = in_dir("a.tfrecord");
    b.data[21 + 8] ^= 1;
    cr_assert_eq(file_write(path, b.data, b.len), 0);
    cr_assert_eq(repair_file(&r, path, path), 0, "%s", err_get());
    cr_expect(r.good == 2 && r.bad == 1 && r.lost_bytes == 16);
    cr_assert_eq(file_read(path, &got), 0);
    cr_expect(got.len == b.len - 16 && !memcmp(got.data, b.data, 21) &&
              !memcmp(got.data + 21, b.data + 37, b.len - 37));
    buf_clear(&got);
    cr_assert_eq(file_read(in_dir("a.index"), &got), 0);
    cr_expect_str_eq(got.data, "0 21\n21 1016\n");
    put_text("a.tfrecord", "no records at all, only words");
    r = (struct repair){ 0 };
    cr_expect_eq(repair_file(&r, path, in_dir("b")), -1);
    expect_error("no good record");
    cr_expect_eq(look(in_dir("b")), FILE_NONE);
    cr_expect_eq(repair_file(&r, in_dir("c"), in_dir("b")), -1);
    buf_release(&b);
    buf_release(&got);
    remove_dir();
}
