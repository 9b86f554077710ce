/* Checkpoints of TensorFlow, made here by hand: what is read of them, and what is refused. */
#include <criterion/criterion.h>
#include <string.h>

#include "common/base/crc32c.h"
#include "common/base/le.h"
#include "common/files/file.h"
#include "model/formats/tf_checkpoint.h"
#include "model/formats/weights.h"
#include "tests/unit/dir.h"
#include "tests/unit/look.h"

TestSuite(tf_checkpoint, .init = make_dir, .fini = remove_dir);

enum { NUMBERS = 64, FOOTER = 48 };
static unsigned char numbers[NUMBERS]; /* the file of numbers */
static struct buf entries = BUF_INIT;  /* of the only block with tensors */
static struct buf file = BUF_INIT;     /* the index */

static void put_varint(struct buf *out, uint64_t x)
{
    for (; x > 0x7F; x >>= 7)
        buf_addc(out, (int)(x & 0x7F) | 0x80);
    buf_addc(out, (int)x);
}

/* Adds an entry, whose key shares no bytes with the key before it. */
static void add_raw(const char *key, const void *value, size_t n)
{
    put_varint(&entries, 0);
    put_varint(&entries, strlen(key));
    put_varint(&entries, n);
    buf_adds(&entries, key);
    buf_add(&entries, value, n);
}

/* Begins the entries with a header for one file of little-endian numbers. */
static void begin(void)
{
    buf_clear(&entries);
    add_raw("", "\x08\1\x1a\2\x08\1", 6); /* and version 1 */
}

/* Appends a BundleEntryProto. `shape` has a digit for each dimension. */
static void put_tensor(struct buf *out, int type, const char *shape, uint64_t offset,
                       uint64_t bytes)
{
    const uint64_t sum_of = offset <= NUMBERS && bytes <= NUMBERS - offset ? bytes : 0;
    buf_addc(out, 0x08);
    put_varint(out, (uint64_t)type);
    buf_addc(out, 0x12);
    put_varint(out, 4 * strlen(shape));
    for (; *shape; shape++) {
        buf_add(out, "\x12\2\x08", 3);
        buf_addc(out, *shape - '0');
    }
    buf_addc(out, 0x20);
    put_varint(out, offset);
    buf_addc(out, 0x28);
    put_varint(out, bytes);
    buf_addc(out, 0x35);
    le_add_u32(out, crc32c_mask(crc32c(0, numbers + (sum_of ? offset : 0), sum_of)));
}

static void add_tensor(const char *key, int type, const char *shape, uint64_t offset,
                       uint64_t bytes)
{
    SCOPED(buf) value = BUF_INIT;
    put_tensor(&value, type, shape, offset, bytes);
    add_raw(key, value.data, value.len);
}

/* Appends a block that says to have `restarts` restarts, but has one, and its place to `place`. */
static void put_block(struct buf *place, const struct buf *of, uint32_t restarts, int type)
{
    const size_t at = file.len;
    buf_add(&file, of->data, of->len);
    le_add_u32(&file, 0);
    le_add_u32(&file, restarts);
    put_varint(place, at);
    put_varint(place, file.len - at);
    buf_addc(&file, type);
    le_add_u32(&file, crc32c_mask(crc32c(0, file.data + at, file.len - at)));
}

static void put_end(const struct buf *end)
{
    static const unsigned char magic[8] = { 0x57, 0xfb, 0x80, 0x8b, 0x24, 0x75, 0x47, 0xdb };
    buf_add(&file, end->data, end->len);
    for (size_t n = end->len; n < FOOTER - sizeof magic; n++)
        buf_addc(&file, 0);
    buf_add(&file, magic, sizeof magic);
}

/* Makes the index of the entries. */
static void make_index(uint32_t restarts, int type)
{
    SCOPED(buf) place = BUF_INIT, last = BUF_INIT, end = BUF_INIT;
    buf_clear(&file);
    put_block(&place, &entries, restarts, type);
    buf_add(&last, "\0\1", 2);
    put_varint(&last, place.len);
    buf_addc(&last, 'z');
    buf_add(&last, place.data, place.len);
    buf_add(&end, "\0\0", 2);
    put_block(&end, &last, 1, 0);
    put_end(&end);
}

/* Writes both files and opens them. */
static int open_files(struct safetensors *s)
{
    cr_assert_eq(file_write(in_dir("model.ckpt.index"), file.data, file.len), 0);
    cr_assert_eq(file_write(in_dir("model.ckpt.data-00000-of-00001"), numbers, NUMBERS), 0);
    return tf_checkpoint_open(s, in_dir("model.ckpt.index"));
}

static void refused(const char *error)
{
    struct safetensors s;
    cr_expect_eq(open_files(&s), -1, "not refused: %s", error);
    expect_error(error);
}

static void entries_refused(const char *error)
{
    make_index(1, 0);
    refused(error);
}

static void expect_tensor(const struct weights *w, const char *name, const char *dtype,
                          int64_t rows, int64_t columns, const float *want)
{
    const struct safetensors *s;
    const struct safetensor *t = weights_find(w, name, &s);
    float got[8];
    cr_assert(t, "no tensor '%s'", name);
    cr_expect_str_eq(t->dtype, dtype);
    cr_expect(t->shape[0] == rows && t->rank == (columns ? 2 : 1), "%s", name);
    cr_expect(!columns || t->shape[1] == columns, "%s", name);
    cr_assert(t->elements == rows * (columns ? columns : 1) && t->elements <= 8);
    cr_assert_eq(safetensors_read(s, t, got), 0, "%s", err_get());
    for (int64_t i = 0; i < t->elements; i++)
        cr_expect_eq(got[i], want[i], "%s[%d] is %g, not %g", name, (int)i, got[i], want[i]);
}

/* Tensors have the names of Hugging Face. Kernels are transposed. An optimizer's state and numbers
 * that are not real are left out. */
Test(tf_checkpoint, tensors_of_bert)
{
    const float floats[10] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9.5f };
    const double real = -2.5;
    struct weights w;
    memcpy(numbers, floats, 40);
    memcpy(numbers + 40, &real, 8);
    memcpy(numbers + 48, "\x80\x3f\0\x40\x40\x40\0\xc0", 8); /* bf16 */
    memcpy(numbers + 56, "\0\x3c", 2);                       /* f16 */
    begin();
    add_tensor("bert/embeddings/position_embeddings", 14, "22", 48, 8);
    add_tensor("bert/encoder/layer_0/output/dense/kernel", 1, "23", 0, 24);
    add_tensor("bert/encoder/layer_0/output/dense/kernel/adam_m", 1, "23", 0, 24);
    add_tensor("bert/encoder/layer_0/output/dense/kernel/adam_v", 1, "23", 0, 24);
    add_tensor("bert/encoder/layer_10/output/dense/bias", 1, "3", 24, 12);
    add_tensor("cls/predictions/output_bias", 1, "1", 36, 4);
    add_tensor("cls/squad/output_weights", 2, "1", 40, 8);
    add_tensor("cls/squad/x/kernel", 19, "1", 56, 2);
    add_tensor("global_step", 9, "", 56, 8);
    make_index(1, 0);
    struct safetensors s;
    cr_assert_eq(open_files(&s), 0, "%s", err_get());
    cr_expect_eq(s.count, 6);
    safetensors_close(&s);
    cr_assert_eq(weights_open(&w, dir), 0, "%s", err_get());
    cr_expect(w.count == 1 && w.files[0].count == 6 && weights_check(&w, 0, 1) == 0);
    expect_tensor(&w, "bert.embeddings.position_embeddings.weight", "BF16", 2, 2,
                  (float[]){ 1, 2, 3, -2 });
    expect_tensor(&w, "bert.encoder.layer.0.output.dense.weight", "F32", 3, 2,
                  (float[]){ 0, 3, 1, 4, 2, 5 });
    expect_tensor(&w, "bert.encoder.layer.10.output.dense.bias", "F32", 3, 0, (float[]){ 6, 7, 8 });
    expect_tensor(&w, "cls.predictions.bias", "F32", 1, 0, (float[]){ 9.5f });
    expect_tensor(&w, "qa_outputs.weight", "F64", 1, 0, (float[]){ -2.5f });
    expect_tensor(&w, "cls.squad.x.weight", "F16", 1, 0, (float[]){ 1 }); /* no matrix to turn */
    weights_close(&w);
}

/* A key may have the first bytes of the key before it. */
Test(tf_checkpoint, keys_that_share_bytes)
{
    SCOPED(buf) value = BUF_INIT;
    struct safetensors s;
    begin();
    add_tensor("aab", 1, "1", 0, 4);
    put_tensor(&value, 1, "1", 4, 4);
    buf_add(&entries, "\2\1", 2);
    put_varint(&entries, value.len);
    buf_addc(&entries, 'c');
    buf_add(&entries, value.data, value.len);
    make_index(1, 0);
    cr_assert_eq(open_files(&s), 0, "%s", err_get());
    cr_expect(s.count == 2 && safetensors_find(&s, "aab") && safetensors_find(&s, "aac"));
    safetensors_close(&s);
    buf_clear(&entries); /* the first key has none before it */
    buf_add(&entries, "\1\0\0", 3);
    entries_refused("byte 0: bad entry of the table");
    begin();
    buf_add(&entries, "\0\1\x7fz", 4); /* a value of more bytes than there are */
    entries_refused("bad entry of the table");
}

Test(tf_checkpoint, headers_that_are_refused)
{
    buf_clear(&entries);
    add_tensor("a", 1, "1", 0, 4);
    entries_refused("byte 4: no header of a checkpoint");
    buf_clear(&entries);
    add_raw("", "\x08\2", 2);
    entries_refused("model.ckpt.index: the numbers are in 2 files; only one is read");
    buf_clear(&entries);
    add_raw("", "\x08\1\x10\1", 4);
    entries_refused("not little-endian numbers, which alone are supported");
    buf_clear(&entries);
    add_raw("", "\x08", 1);
    entries_refused("byte 3: bad header of the checkpoint");
    begin();
    entries_refused("model.ckpt.index: no tensors of real numbers");
}

Test(tf_checkpoint, tensors_that_are_refused)
{
    static const struct {
        const char *value;
        size_t n;
        const char *error;
    } cases[] = {
        { "\x08", 1, "bad entry of a tensor" },
        { "\x10\1", 2, "bad entry of a tensor" },           /* a shape that is a number */
        { "\x12\2\x08\1", 4, "bad entry of a tensor" },     /* not a list of sizes */
        { "\x12\3\x12\1\x08", 5, "bad entry of a tensor" }, /* a size that is cut short */
        { "\x12\x0d\x12\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\1", 15,
          "bad entry of a tensor" }, /* the size -1 */
        { "\x12\x24\x12\2\x08\1\x12\2\x08\1\x12\2\x08\1\x12\2\x08\1\x12\2\x08\1\x12\2\x08\1"
          "\x12\2\x08\1\x12\2\x08\1\x12\2\x08\1",
          38, "bad entry of a tensor" }, /* nine dimensions */
        { "\x08\1\x18\1", 4, "tensor 'a' is in another file, which is not supported" },
        { "\x08\1\x3a\0", 4, "tensor 'a' is cut into pieces, which is not supported" },
        { "\x08\1\x28\4", 4, "tensor 'a' at byte 0 are damaged: their checksum is another" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        begin();
        add_raw("a", cases[i].value, cases[i].n);
        entries_refused(cases[i].error);
    }
    begin();
    add_tensor("a", 1, "3", 0, 8);
    entries_refused("model.ckpt.index: the shape of tensor 'a' does not fit its 8 bytes");
    begin();
    add_tensor("a", 1, "2", 60, 8);
    entries_refused("model.ckpt.data-00000-of-00001: truncated: tensor 'a' has 8 bytes at byte 60, "
                    "but the file has 64");
    begin();
    add_tensor("a", 1, "28", 0, 64);
    add_tensor("b", 1, "1", 0, 4);
    entries_refused("model.ckpt.index: tensor 'b' overlaps another one");
    begin();
    add_tensor("b", 1, "1", 0, 4);
    add_tensor("a", 1, "1", 4, 4);
    entries_refused("the names of the tensors are not in order");
}

Test(tf_checkpoint, tables_that_are_refused)
{
    SCOPED(buf) end = BUF_INIT;
    begin();
    add_tensor("a", 1, "1", 0, 4);
    make_index(9999, 0);
    refused("bad number of restarts in a block");
    buf_clear(&entries);
    entries_refused("byte 4: bad number of restarts in a block");
    begin();
    add_tensor("a", 1, "1", 0, 4);
    make_index(1, 1);
    refused("byte 0: the block is compressed, which is not supported");
    make_index(1, 0);
    file.data[5] ^= 1;
    refused("byte 0: the block is damaged: its checksum is another");
    file.data[5] ^= 1;
    memset(file.data + file.len - FOOTER, 0xff, FOOTER - 8);
    refused("bad end of the index");
    buf_add(&end, "\0\0\x7f\x7f", 4); /* beyond the file */
    buf_truncate(&file, 64);
    put_end(&end);
    refused("byte 66: bad place of a block");
    make_index(1, 0);
    buf_truncate(&file, file.len - 1);
    refused("model.ckpt.index: not the index of a TensorFlow checkpoint, or cut short");
    buf_truncate(&file, FOOTER - 1);
    refused("not the index of a TensorFlow checkpoint, or cut short");
}

Test(tf_checkpoint, files_that_are_missing)
{
    struct safetensors s;
    begin();
    add_tensor("a", 1, "1", 0, 4);
    make_index(1, 0);
    cr_assert_eq(open_files(&s), 0, "%s", err_get());
    safetensors_close(&s);
    cr_assert_eq(file_remove(in_dir("model.ckpt.index")), 0);
    cr_expect_eq(tf_checkpoint_open(&s, in_dir("model.ckpt.index")), -1);
    expect_error("model.ckpt.index'");
    cr_expect_eq(tf_checkpoint_open(&s, in_dir("other.ckpt.index")), -1);
    expect_error("other.ckpt.data-00000-of-00001'");
}
