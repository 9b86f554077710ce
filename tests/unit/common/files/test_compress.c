/* Compressed files: unpacking gives the bytes that were packed, and damage is reported. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/files/compress.h"
#include "common/files/file.h"
#include "tests/unit/look.h"
#include "tests/unit/temp_file.h"
#include "tfrecord/formats/record.h"
#include "tfrecord/formats/record_file.h"

static const enum compression ways[] = { COMPRESS_GZIP, COMPRESS_ZLIB, COMPRESS_ZSTD };
enum { WAYS = 3, RECORDS = 3000 };

/* Returns a file of `count` records of 0 to 999 bytes, some of which compress better than
 * others. */
static struct buf records(int count)
{
    struct buf file = BUF_INIT, data = BUF_INIT;
    unsigned state = 1;
    for (int i = 0; i < count; i++) {
        buf_clear(&data);
        for (int k = 0; k < i * 7 % 1000; k++) {
            state = state * 1103515245 + 12345;
            buf_addc(&data, (int)(state >> 16) & (k % 2 ? 0xFF : 3));
        }
        record_frame(&file, data.data, data.len);
    }
    buf_release(&data);
    return file;
}

/* Compresses `from` to `to`, given in pieces of `piece` bytes. */
static void pack(enum compression how, const struct buf *from, size_t piece, struct buf *to)
{
    struct compress *c = compress_new(how);
    cr_assert(c);
    for (size_t at = 0; at < from->len; at += piece)
        compress_add(c, from->data + at, from->len - at < piece ? from->len - at : piece, to);
    compress_end(c, to);
    compress_free(c);
}

static int collect(void *ctx, const void *bytes, size_t n)
{
    cr_assert_leq(n, 1 << 18);
    buf_add(ctx, bytes, n);
    return 0;
}

static int unpack(enum compression how, const struct buf *packed, size_t n, struct buf *to)
{
    buf_clear(to);
    return compress_unpack(how, (const unsigned char *)packed->data, n, collect, to);
}

Test(compress, what_is_packed_comes_back)
{
    static const size_t pieces[] = { 1, 1000, 1 << 24 };
    struct buf plain = records(RECORDS), empty = BUF_INIT, packed = BUF_INIT, got = BUF_INIT;
    for (int w = 0; w < WAYS; w++) {
        for (size_t p = 0; p < 3; p++) {
            buf_clear(&packed);
            pack(ways[w], &plain, pieces[p], &packed);
            cr_expect_lt(packed.len, plain.len);
            cr_expect_eq(compress_recognise((unsigned char *)packed.data, packed.len), ways[w]);
            cr_assert_eq(unpack(ways[w], &packed, packed.len, &got), 0, "%s", err_get());
            cr_expect(got.len == plain.len && !memcmp(got.data, plain.data, got.len));
        }
        pack(ways[w], &empty, 1, &packed); /* streams end to end are one */
        pack(ways[w], &plain, 50000, &packed);
        cr_assert_eq(unpack(ways[w], &packed, packed.len, &got), 0, "%s", err_get());
        cr_expect_eq(got.len, 2 * plain.len);
    }
    buf_release(&plain);
    buf_release(&packed);
    buf_release(&got);
}

/* pzstd puts a skippable frame before each frame. */
Test(compress, skippable_frames_are_skipped)
{
    static const char frame[] = "\x50\x2A\x4D\x18\4\0\0\0size";
    struct buf plain = records(60), packed = BUF_INIT, got = BUF_INIT;
    for (int i = 0; i < 2; i++) {
        buf_add(&packed, frame, sizeof frame - 1);
        pack(COMPRESS_ZSTD, &plain, 1 << 20, &packed);
    }
    cr_expect_eq(compress_recognise((unsigned char *)packed.data, packed.len), COMPRESS_ZSTD);
    cr_assert_eq(unpack(COMPRESS_ZSTD, &packed, packed.len, &got), 0, "%s", err_get());
    cr_expect_eq(got.len, 2 * plain.len);
    cr_expect_eq(unpack(COMPRESS_ZSTD, &packed, sizeof frame - 2, &got), -1);
    buf_release(&plain);
    buf_release(&packed);
    buf_release(&got);
}

/* Devices with blocks, such as tapes, pad a file with zeros, which gzip and Python ignore. */
Test(compress, zeros_after_gzip_are_padding)
{
    struct buf plain = records(60), packed = BUF_INIT, got = BUF_INIT;
    for (int i = 0; i < 2; i++) {
        pack(COMPRESS_GZIP, &plain, 1 << 20, &packed);
        for (int k = 0; k < 512; k++)
            buf_addc(&packed, 0);
    }
    cr_assert_eq(unpack(COMPRESS_GZIP, &packed, packed.len, &got), 0, "%s", err_get());
    cr_expect_eq(got.len, 2 * plain.len);
    buf_addc(&packed, 'x');
    cr_expect_eq(unpack(COMPRESS_GZIP, &packed, packed.len, &got), -1);
    expect_error("what follows is no other stream");
    buf_release(&plain);
    buf_release(&packed);
    buf_release(&got);
}

Test(compress, every_truncation_is_told)
{
    struct buf plain = records(60), packed = BUF_INIT, got = BUF_INIT;
    for (int w = 0; w < WAYS; w++) {
        buf_clear(&packed);
        pack(ways[w], &plain, 1 << 20, &packed);
        for (size_t n = 4; n < packed.len; n++) {
            cr_assert_eq(unpack(ways[w], &packed, n, &got), -1, "%s, %zu bytes",
                         compress_name(ways[w]), n);
            expect_error("stream is cut short at byte");
            cr_assert(got.len <= plain.len && !memcmp(got.data, plain.data, got.len));
        }
    }
    buf_release(&plain);
    buf_release(&packed);
    buf_release(&got);
}

/* All three formats have a checksum. With a flipped bit, unpacking must fail or give the bytes that
 * were packed. */
Test(compress, flipped_bits_are_told)
{
    struct buf plain = records(60), packed = BUF_INIT, got = BUF_INIT;
    size_t told = 0, same = 0;
    for (int w = 0; w < WAYS; w++) {
        buf_clear(&packed);
        pack(ways[w], &plain, 1 << 20, &packed);
        for (size_t i = 4; i < packed.len; i += 3) {
            packed.data[i] ^= (char)(1 << i % 8);
            if (unpack(ways[w], &packed, packed.len, &got) < 0)
                told++;
            else
                same += got.len == plain.len && !memcmp(got.data, plain.data, got.len);
            packed.data[i] ^= (char)(1 << i % 8);
        }
        cr_expect_gt(told, packed.len / 4);
        cr_expect_leq(same, 8, "only gzip's head has bits that mean nothing");
        told = same = 0;
    }
    buf_release(&plain);
    buf_release(&packed);
    buf_release(&got);
}

static char *path;

static void put(const void *bytes, size_t n)
{
    cr_assert_eq(file_write(path, bytes, n), 0);
}

static void make_path(void)
{
    path = temp_file("", 0);
}

static void remove_path(void)
{
    drop_file(path);
}

TestSuite(record_file, .init = make_path, .fini = remove_path);

Test(record_file, reads_what_is_in_it)
{
    struct buf plain = records(RECORDS), packed = BUF_INIT;
    struct record_file f;
    put(plain.data, plain.len);
    cr_assert_eq(record_file_open(&f, path), 0);
    cr_expect(f.how == COMPRESS_NONE && f.records.data == f.packed.data);
    record_file_close(&f);
    for (int w = 0; w < WAYS; w++) {
        buf_clear(&packed);
        pack(ways[w], &plain, 1 << 20, &packed);
        put(packed.data, packed.len);
        cr_assert_eq(record_file_open(&f, path), 0, "%s", err_get());
        cr_expect(f.how == ways[w] && f.packed.bytes == packed.len);
        cr_expect(f.records.bytes == plain.len && !memcmp(f.records.data, plain.data, plain.len));
        record_file_close(&f);
    }
    buf_release(&plain);
    buf_release(&packed);
}

Test(record_file, damage_is_told_by_record)
{
    struct buf plain = records(RECORDS), packed = BUF_INIT;
    struct record_file f;
    for (int w = 0; w < WAYS; w++) {
        buf_clear(&packed);
        pack(ways[w], &plain, 1 << 20, &packed);
        put(packed.data, packed.len / 2);
        cr_expect_eq(record_file_open(&f, path), -1);
        expect_error(path);
        expect_error(": record 1");
        expect_error(" stream is cut short at byte ");
        cr_assert_eq(record_file_salvage(&f, path), 0);
        cr_expect(f.records.bytes > plain.len / 4 && f.records.bytes < plain.len);
        cr_expect_eq(memcmp(f.records.data, plain.data, f.records.bytes), 0);
        record_file_close(&f);
    }
    buf_release(&plain);
    buf_release(&packed);
}

Test(record_file, what_is_no_record_file)
{
    static const char lfs[] = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n";
    struct record_file f;
    put(lfs, sizeof lfs - 1);
    cr_expect_eq(record_file_open(&f, path), -1);
    expect_error("is a git-lfs pointer, not the file it stands for");
    put("", 0);
    cr_expect_eq(record_file_open(&f, path), 0);
    cr_expect_eq(f.records.bytes, 0);
    record_file_close(&f);
    cr_expect_eq(record_file_open(&f, "/nowhere/at/all"), -1);
    expect_error("cannot open '/nowhere/at/all'");
    struct buf plain = records(RECORDS), packed = BUF_INIT;
    pack(COMPRESS_ZSTD, &plain, 1 << 20, &packed);
    put(packed.data, packed.len);
    setenv("TMPDIR", "/nowhere", 1);
    cr_expect_eq(record_file_open(&f, path), -1);
    expect_error("cannot unpack '");
    expect_error("cannot make a temporary file in '/nowhere'");
    buf_release(&plain);
    buf_release(&packed);
}
