/* Files are unpacked by their content, whole or some streams of them. */
#include "wikiprep/input/unpack.h"

#include <bzlib.h>
#include <criterion/criterion.h>

#include "common/files/compress.h"
#include "tests/unit/look.h"
#include "tests/unit/temp_file.h"

static void add_bzip2(struct buf *out, const char *bytes, size_t n)
{
    unsigned room = (unsigned)n + 1000;
    buf_reserve(out, room);
    cr_assert_eq(BZ2_bzBuffToBuffCompress(out->data + out->len, &room, (char *)(uintptr_t)bytes,
                                          (unsigned)n, 1, 0, 0),
                 0);
    out->len += room;
}

static void add_compressed(struct buf *out, enum compression how, const struct buf *text)
{
    struct compress *c = compress_new(how);
    compress_add(c, text->data, text->len, out);
    compress_end(c, out);
    compress_free(c);
}

/* Appends a tar archive of the file "f" with this text. */
static void add_tar(struct buf *out, const char *text)
{
    char header[512] = "f", blocks[3 * 512] = "";
    unsigned sum = 8 * ' ';
    memcpy(header + 257,
           "ustar\0"
           "00",
           8);
    snprintf(header + 100, 8, "%07o", 0644);
    snprintf(header + 124, 12, "%011zo", strlen(text));
    header[156] = '0';
    for (size_t i = 0; i < sizeof header; i++)
        sum += (unsigned char)header[i];
    snprintf(header + 148, 8, "%06o", sum);
    memcpy(blocks, text, strlen(text));
    buf_add(out, header, sizeof header);
    buf_add(out, blocks, sizeof blocks);
}

/* Sets `out` to what a file unpacks to, in reads of up to `step` bytes, and closes it. Returns what
 * the last read returned: 0, or -1 with an error. */
static int read_all(struct unpack *u, size_t step, struct buf *out)
{
    int64_t got;
    cr_assert(u, "%s", err_get());
    buf_clear(out);
    do {
        buf_reserve(out, step);
        got = unpack_read(u, out->data + out->len, step);
        out->len += got > 0 ? (size_t)got : 0;
    } while (got > 0);
    out->data[out->len] = '\0';
    unpack_close(u);
    return (int)got;
}

Test(unpack, formats)
{
    enum { FORMATS = 6, LINES = 20000 };
    SCOPED(buf) text = BUF_INIT, tar = BUF_INIT, out = BUF_INIT;
    struct buf files[FORMATS] = { BUF_INIT, BUF_INIT, BUF_INIT, BUF_INIT, BUF_INIT, BUF_INIT };
    for (int i = 0; i < LINES; i++)
        buf_addf(&text, "line %d\n", i);
    add_tar(&tar, "in a tar\n");
    buf_add(&files[0], text.data, text.len);
    add_bzip2(&files[1], text.data, text.len);
    add_compressed(&files[2], COMPRESS_GZIP, &text);
    add_compressed(&files[3], COMPRESS_ZSTD, &text);
    add_compressed(&files[4], COMPRESS_GZIP, &tar);
    add_bzip2(&files[5], tar.data, tar.len);
    for (int i = 0; i < FORMATS; i++) {
        char *path = temp_file(files[i].data, files[i].len);
        for (size_t step = 7; step < 100000; step *= 9999) {
            cr_expect_eq(read_all(unpack_open(path, 2), step, &out), 0, "%d: %s", i, err_get());
            cr_expect(i < 4 ? out.len == text.len && !memcmp(out.data, text.data, text.len)
                            : out.len == 9 && !memcmp(out.data, "in a tar\n", 9),
                      "format %d, reads of %zu: %zu bytes", i, step, out.len);
        }
        drop_file(path);
        buf_release(&files[i]);
    }
}

Test(unpack, streams_of_a_bzip2_file)
{
    static const char *const texts[] = { "one ", "two ", "three " };
    uint64_t at[4] = { 0 };
    SCOPED(buf) packed = BUF_INIT, out = BUF_INIT;
    for (int i = 0; i < 3; i++) {
        add_bzip2(&packed, texts[i], strlen(texts[i]));
        at[i + 1] = packed.len;
    }
    const struct unpack_range first_last[] = { { 0, at[1] }, { at[2], at[3] } };
    const struct unpack_range two[] = { { at[1], at[3] } },
                              no[] = { { 0, at[1] }, { at[2] + 1, at[3] } };
    const struct unpack_range behind[] = { { at[3], at[3] + 9 } };
    char *path = temp_file(packed.data, packed.len);
    cr_expect_eq(read_all(unpack_open_ranges(path, first_last, 2, 2), 100, &out), 0);
    cr_expect_str_eq(out.data, "one three ");
    cr_expect_eq(read_all(unpack_open_ranges(path, two, 1, 2), 2, &out), 0);
    cr_expect_str_eq(out.data, "two three ");
    SCOPED(buf) error = buf_format("no bzip2 stream begins at byte %d of '%s'", (int)at[2] + 1,
                                   path);
    cr_expect_null(unpack_open_ranges(path, no, 2, 2));
    cr_expect_str_eq(err_get(), error.data);
    cr_expect_null(unpack_open_ranges(path, behind, 1, 2));
    expect_error("no bzip2 stream begins at byte");
    drop_file(path);
    /* an error names the place in the file, not in the ranges */
    packed.data[at[2] + 12] ^= 1;
    path = temp_file(packed.data, packed.len);
    cr_expect_eq(read_all(unpack_open_ranges(path, first_last, 2, 2), 100, &out), -1);
    cr_expect_str_eq(out.data, "one ");
    buf_setf(&error, "at byte %d (4 unpacked): damaged bzip2 block", (int)at[2] + 4);
    expect_error(error.data);
    drop_file(path);
}

Test(unpack, a_file_that_is_cut_short)
{
    static const enum compression how[] = { COMPRESS_GZIP, COMPRESS_ZSTD };
    SCOPED(buf) text = BUF_INIT, out = BUF_INIT;
    for (int i = 0; i < 100000; i++)
        buf_addf(&text, "%d\n", i);
    for (int i = 0; i < 2; i++) {
        SCOPED(buf) packed = BUF_INIT;
        add_compressed(&packed, how[i], &text);
        char *path = temp_file(packed.data, packed.len - 5);
        cr_expect_eq(read_all(unpack_open(path, 1), 1000, &out), -1);
        expect_error(path);
        cr_expect(out.len && out.len <= text.len && !memcmp(out.data, text.data, out.len));
        drop_file(path);
    }
}

Test(unpack, no_file)
{
    cr_expect_null(unpack_open("/nonexistent", 1));
    cr_expect_str_eq(err_get(), "cannot open '/nonexistent': No such file or directory");
    cr_expect_null(unpack_open("/tmp", 1));
    cr_expect_str_eq(err_get(), "cannot open '/tmp': Is a directory");
}
