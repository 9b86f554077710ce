/* The reader of training data, and the Megatron files under it. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/base/le.h"
#include "common/files/file.h"
#include "tests/unit/dir.h"
#include "tests/unit/look.h"
#include "tests/unit/set_path.h"
#include "tfrecord/check/listing.h"
#include "tfrecord/formats/example.h"
#include "tfrecord/formats/flat_tokens.h"
#include "tfrecord/formats/index.h"
#include "tfrecord/formats/megatron.h"
#include "tfrecord/formats/record.h"
#include "tfrecord/read/dataset.h"

TestSuite(dataset, .init = make_dir, .fini = remove_dir);
TestSuite(megatron, .init = make_dir, .fini = remove_dir);

static void put(const char *name, const struct buf *b)
{
    cr_assert_eq(file_write(in_dir(name), b->data, b->len), 0);
}

/* Appends record i, with the n ids 10i, 10i + 1, ... and two other features, one before and one
 * after the ids. */
static void add_record(struct buf *file, int64_t i, size_t n)
{
    int64_t ids[64], other[3] = { 7, 8, 9 };
    float weights[2] = { 0.5f, 1 };
    for (size_t k = 0; k < n; k++)
        ids[k] = 10 * i + (int64_t)k;
    struct feature f[] = { { "input_ids", FEATURE_INTS, ids, n },
                           { "a", FEATURE_INTS, other, 3 },
                           { "z", FEATURE_FLOATS, weights, 2 } };
    struct buf message = BUF_INIT;
    example_encode(&message, f, 3);
    record_frame(file, message.data, message.len);
    buf_release(&message);
}

static struct dataset *open_one(const char *path, uint32_t length)
{
    return dataset_open(&path, 1, length);
}

static void refused(const char *path, uint32_t length, const char *error)
{
    cr_expect_null(open_one(path, length));
    expect_error(error);
}

Test(dataset, reads_several_files_and_folders_as_one)
{
    struct buf b = BUF_INIT;
    cr_assert_eq(file_mkdirs(in_dir("folder")), 0);
    add_record(&b, 0, 6);
    add_record(&b, 1, 6);
    put("first", &b);
    buf_clear(&b);
    put("folder/empty.tfrecord", &b);
    add_record(&b, 4, 6);
    put("folder/z.tfrecord", &b);
    buf_clear(&b);
    add_record(&b, 2, 6);
    add_record(&b, 3, 6);
    put("folder/a.tfrecord", &b);
    const char *paths[] = { in_dir("first"), in_dir("folder") };
    struct dataset *d = dataset_open(paths, 2, 5);
    cr_assert(d, "%s", err_get());
    cr_expect_eq(dataset_count(d), 5);
    cr_expect_eq(dataset_tokens(d), 20);
    cr_expect(dataset_facts(d)->checksum == 0 && dataset_facts(d)->vocabulary == 0);
    for (uint32_t i = 0; i < 5; i++) {
        uint32_t ids[5];
        int32_t labels[5];
        cr_assert_eq(dataset_read(d, i, ids, labels), 0, "%s", err_get());
        for (uint32_t k = 0; k < 5; k++)
            cr_expect_eq(ids[k], 10 * i + k);
    }
    dataset_close(d);
    buf_release(&b);
}

Test(dataset, an_index_that_does_not_fit_is_not_used)
{
    struct buf b = BUF_INIT, lines = BUF_INIT;
    uint32_t ids[5];
    int32_t labels[5];
    add_record(&b, 0, 5);
    uint64_t first = b.len;
    add_record(&b, 1, 5);
    put("x.tfrecord", &b);
    buf_addf(&lines, "0 %d\n", (int)first);
    put("x.index", &lines);
    struct dataset *d = open_one(in_dir("x.tfrecord"), 5);
    cr_assert(d && dataset_count(d) == 2);
    dataset_close(d);
    buf_clear(&lines); /* covers the file, but at wrong places: found when reading */
    buf_addf(&lines, "0 %d\n%d %d\n", (int)first + 1, (int)first + 1, (int)(b.len - first) - 1);
    put("x.index", &lines);
    d = open_one(in_dir("x.tfrecord"), 5);
    cr_assert(d && dataset_count(d) == 2);
    cr_expect_eq(dataset_read(d, 1, ids, labels), -1);
    expect_error("record 1 at byte");
    dataset_close(d);
    buf_release(&b);
    buf_release(&lines);
}

Test(dataset, bad_records_are_named)
{
    struct buf b = BUF_INIT, message = BUF_INIT;
    uint32_t ids[5];
    int32_t labels[5];
    int64_t negative[5] = { 0, -1 };
    float real[5] = { 0 };
    struct feature f[] = { { "input_ids", FEATURE_INTS, negative, 5 },
                           { "input_ids", FEATURE_FLOATS, real, 5 },
                           { "other", FEATURE_INTS, negative, 5 } };
    static const char *const errors[] = { ": input_ids[1] is -1, which is not a token id",
                                          ": feature input_ids is not a list of integers",
                                          ": has no feature input_ids" };
    add_record(&b, 0, 5);
    for (int i = 0; i < 3; i++) {
        buf_clear(&message);
        example_encode(&message, &f[i], 1);
        record_frame(&b, message.data, message.len);
    }
    record_frame(&b, "no example", 10);
    put("x.tfrecord", &b);
    struct dataset *d = open_one(in_dir("x.tfrecord"), 5);
    cr_assert(d && dataset_count(d) == 5);
    cr_expect_eq(dataset_read(d, 0, ids, labels), 0);
    for (uint64_t i = 0; i < 3; i++) {
        cr_expect_eq(dataset_read(d, i + 1, ids, labels), -1);
        expect_error(errors[i]);
    }
    cr_expect_eq(dataset_read(d, 4, ids, labels), -1);
    expect_error("not a tf.Example");
    dataset_close(d);
    b.data[20] ^= 1;
    put("x.tfrecord", &b);
    refused(in_dir("x.tfrecord"), 5, "x.tfrecord: record 0 at byte 0: data is damaged");
    buf_release(&b);
    buf_release(&message);
}

Test(dataset, records_of_two_lengths_are_named)
{
    struct buf b = BUF_INIT;
    uint32_t ids[5];
    int32_t labels[5];
    add_record(&b, 0, 7);
    put("a.tfrecord", &b);
    uint64_t first = b.len;
    add_record(&b, 1, 6);
    put("b.tfrecord", &b);
    struct buf error = BUF_INIT;
    struct dataset *d = open_one(in_dir("b.tfrecord"), 5);
    cr_assert(d && dataset_read(d, 0, ids, labels) == 0);
    cr_expect_eq(dataset_read(d, 1, ids, labels), -1);
    buf_addf(&error, "b.tfrecord: record 1 at byte %d: has 6 ids, but the records before it have 7",
             (int)first);
    expect_error(error.data);
    dataset_close(d);
    buf_clear(&b);
    add_record(&b, 0, 6);
    put("b.tfrecord", &b);
    const char *paths[] = { in_dir("a.tfrecord"), in_dir("b.tfrecord") };
    cr_expect_null(dataset_open(paths, 2, 5));
    expect_error("b.tfrecord: record 0 at byte 0: has 6 ids, but the records before it have 7");
    refused(in_dir("a.tfrecord"), 9, "a.tfrecord: record 0 at byte 0: has 7 ids, but 9 are needed");
    buf_release(&b);
    buf_release(&error);
}

Test(dataset, ids_of_another_vocabulary_are_named)
{
    struct buf b = BUF_INIT;
    uint32_t ids[5];
    int32_t labels[5];
    for (int i = 0; i < 3; i++)
        add_record(&b, i, 5);
    put("x.tfrecord", &b);
    struct dataset *d = open_one(in_dir("x.tfrecord"), 5);
    cr_assert(d && dataset_read(d, 2, ids, labels) == 0);
    cr_expect_eq(dataset_check(d, 2, ids, 25), 0);
    cr_expect_eq(dataset_check(d, 2, ids, 24), -1);
    expect_error("x.tfrecord: record 2 at byte ");
    expect_error(": has id 24, but the vocabulary only has 24");
    dataset_close(d);
    buf_release(&b);
}

Test(dataset, what_cannot_be_opened)
{
    struct buf b = BUF_INIT;
    refused(in_dir("nothing"), 5, "cannot open");
    cr_assert_eq(file_mkdirs(in_dir("empty")), 0);
    refused(in_dir("empty"), 5, "no *.tfrecord in this folder: name files, as '");
    expect_error("/empty/*.bin'");
    cr_assert_eq(file_mkdirs(in_dir("empty/tfwrite.textmill-aaaaaaaa22")), 0);
    refused(in_dir("empty"), 5, "unfinished");
    add_record(&b, 0, 5);
    buf_truncate(&b, b.len - 1);
    put("torn.tfrecord", &b);
    refused(in_dir("torn.tfrecord"), 5, "torn.tfrecord: record 0 at byte 0: cut short");
    buf_release(&b);
}

static void put_manifest(const char *name, const char *checksum, const char *shard, int bytes)
{
    struct buf b = BUF_INIT;
    buf_addf(&b,
             "textmill=shards 1\nrecords=1\nvocabulary=12\nchecksum=%s\n"
             "tokenizer=words.json records=0 bytes=1 crc32c=00000000\n"
             "shard=%s records=1 bytes=%d crc32c=00000000\n",
             checksum, shard, bytes);
    put(name, &b);
    buf_release(&b);
}

Test(dataset, manifests_are_believed_and_compared)
{
    struct buf b = BUF_INIT;
    uint32_t ids[5];
    int32_t labels[5];
    cr_assert_eq(file_mkdirs(in_dir("a")), 0);
    cr_assert_eq(file_mkdirs(in_dir("b")), 0);
    add_record(&b, 1, 5);
    put("a/x.tfrecord", &b);
    put("b/x.tfrecord", &b);
    put_text("a/words.json", "x");
    put_text("b/words.json", "x");
    put_manifest("a/manifest", "00000000000000ff", "x.tfrecord", (int)b.len);
    put_manifest("b/manifest", "00000000000000fe", "x.tfrecord", (int)b.len);
    struct dataset *d = open_one(in_dir("a/x.tfrecord"), 5);
    cr_assert(d, "%s", err_get());
    cr_expect(dataset_facts(d)->checksum == 0xff && dataset_facts(d)->vocabulary == 12);
    cr_expect_str_eq(dataset_facts(d)->tokenizers.names[0], in_dir("a/words.json"));
    cr_expect_eq(dataset_read(d, 0, ids, labels), -1);
    expect_error("has id 14, but the vocabulary only has 12");
    dataset_close(d);
    const char *paths[] = { in_dir("a"), in_dir("b") };
    cr_expect_null(dataset_open(paths, 2, 5));
    expect_error("made with another vocabulary");
    put("a/y.tfrecord", &b);
    refused(in_dir("a"), 5, "y.tfrecord: not in the folder's manifest");
    put_manifest("b/manifest", "fe", "x.tfrecord", 1);
    refused(in_dir("b"), 5, "its manifest says 1");
    put_manifest("b/manifest", "fe", "z.tfrecord", 1);
    refused(in_dir("b"), 5, "z.tfrecord: missing, but its manifest lists it");
    buf_release(&b);
}

struct reading {
    struct dataset *d;
    int failed;
};

static void *read_all(void *arg)
{
    struct reading *r = arg;
    uint32_t ids[5];
    int32_t labels[5];
    for (uint64_t i = 0; i < dataset_count(r->d) * 20; i++) {
        uint64_t k = i * 7 % dataset_count(r->d);
        r->failed |= dataset_read(r->d, k, ids, labels) < 0 || ids[4] != 10 * k + 4;
    }
    return NULL;
}

Test(dataset, threads_read_at_once)
{
    struct buf b = BUF_INIT;
    for (int64_t i = 0; i < 500; i++)
        add_record(&b, i, 5);
    put("x.tfrecord", &b);
    struct dataset *d = open_one(in_dir("x.tfrecord"), 5);
    cr_assert(d);
    pthread_t threads[4];
    struct reading r[4];
    for (int t = 0; t < 4; t++) {
        r[t] = (struct reading){ d, 0 };
        cr_assert_eq(pthread_create(&threads[t], NULL, read_all, &r[t]), 0);
    }
    for (int t = 0; t < 4; t++) {
        pthread_join(threads[t], NULL);
        cr_expect_not(r[t].failed);
    }
    dataset_close(d);
    buf_release(&b);
}

/* Writes the ids 10, 11, ... as 16-bit numbers, behind a head of llm.c if `with_head`. */
static void put_flat(const char *name, int with_head, unsigned char n)
{
    unsigned char head[FLAT_HEAD_BYTES];
    struct buf b = BUF_INIT;
    flat_tokens_head(head, 2, n);
    if (with_head)
        buf_add(&b, head, sizeof head);
    for (unsigned char i = 0; i < n; i++)
        buf_add(&b, (unsigned char[]){ (unsigned char)(10 + i), 0 }, 2);
    put(name, &b);
    buf_release(&b);
}

/* A list names files of llm.c and of nanoGPT, and a pattern. Their windows overlap by one. */
Test(dataset, flat_files_by_lists_and_patterns)
{
    struct buf list = BUF_INIT;
    uint32_t ids[5];
    int32_t labels[5];
    put_flat("a.bin", 1, 9);
    put_flat("b1.bin", 1, 5);
    put_flat("b2.bin", 1, 4);
    put_flat("c", 0, 13);
    buf_addf(&list, "%s\n\n%s\nnanogpt:%s\n", in_dir("a.bin"), in_dir("b*.bin"), in_dir("c"));
    put("list", &list);
    buf_clear(&list);
    buf_addf(&list, "@%s", in_dir("list"));
    struct dataset *d = open_one(list.data, 5);
    cr_assert(d, "%s", err_get());
    cr_expect_eq(dataset_count(d), 2 + 1 + 0 + 3);
    cr_assert_eq(dataset_read(d, 5, ids, labels), 0, "%s", err_get());
    cr_expect(ids[0] == 18 && ids[4] == 22 && labels[3] == 22);
    dataset_close(d);
    put("list", &list);
    refused(list.data, 5, "is another list");
    const char *path = in_dir("b1.bin");
    cr_expect_null(dataset_open(&path, 1, 0));
    expect_error("has ids back to back, but TFRecord files are needed");
    put_flat("odd.bin", 1, 3);
    cr_assert_eq(truncate(in_dir("odd.bin"), FLAT_HEAD_BYTES + 5), 0);
    refused(in_dir("odd.bin"), 5, "has 5 bytes of ids, but its header says 3 ids of 2 bytes");
    buf_release(&list);
}

/* Writes a file of one record with the ids 10 to 14 and this other feature. */
static void put_with(const char *name, struct feature other)
{
    int64_t ids[5] = { 10, 11, 12, 13, 14 };
    struct buf message = BUF_INIT, b = BUF_INIT;
    example_encode(&message, (struct feature[]){ { "input_ids", FEATURE_INTS, ids, 5 }, other }, 2);
    record_frame(&b, message.data, message.len);
    put(name, &b);
    buf_release(&message);
    buf_release(&b);
}

Test(dataset, labels_that_do_not_count)
{
    static const int64_t mask[5] = { 1, 0, 1, 1, 0 }, two[5] = { 2, 1, 2, 1, 1 };
    static const int64_t negative[5] = { 1, 1, 1, 1, -1 };
    static const float reals[5] = { 1, 1, 1, 1, 1 };
    static const struct {
        struct feature mask;
        const char *error;
    } bad[] = {
        { { "loss_mask", FEATURE_INTS, two, 5 }, "loss_mask[2] is 2, neither 0 nor 1" },
        { { "loss_mask", FEATURE_INTS, mask, 4 }, "feature loss_mask is not a list of 5 integers" },
        { { "loss_mask", FEATURE_INTS, negative, 5 },
          "feature loss_mask is not a list of 5 integers" },
        { { "loss_mask", FEATURE_FLOATS, reals, 5 },
          "feature loss_mask is not a list of 5 integers" },
    };
    uint32_t ids[5];
    int32_t labels[5];
    put_with("x.tfrecord", (struct feature){ "loss_mask", FEATURE_INTS, mask, 5 });
    for (uint32_t length = 3; length <= 5; length++) {
        struct dataset *d = open_one(in_dir("x.tfrecord"), length);
        cr_assert(d, "%s", err_get());
        cr_assert_eq(dataset_read(d, 0, ids, labels), 0, "%s", err_get());
        cr_expect(labels[0] == DATASET_IGNORE && labels[1] == 12);
        cr_expect(length < 4 || labels[2] == 13);
        cr_expect(length < 5 || labels[3] == DATASET_IGNORE);
        cr_expect_eq(dataset_record_length(d), 5);
        dataset_close(d);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        put_with("x.tfrecord", bad[i].mask);
        struct dataset *d = open_one(in_dir("x.tfrecord"), 5);
        cr_assert(d, "%s", err_get());
        cr_expect_eq(dataset_read(d, 0, ids, labels), -1);
        expect_error("x.tfrecord: record 0 at byte 0: ");
        expect_error(bad[i].error);
        dataset_close(d);
    }
}

/* Padding of other programs is marked by 0 in the mask of attention; a mask of labels comes first.
 */
Test(dataset, padding_is_no_label)
{
    static const int64_t padded[5] = { 1, 3, 1, 0, 0 }, mask[5] = { 1, 0, 1, 1, 1 };
    struct feature f[] = { { "attention_mask", FEATURE_INTS, padded, 5 },
                           { "input_ids", FEATURE_INTS, (int64_t[]){ 10, 11, 12, 0, 0 }, 5 },
                           { "loss_mask", FEATURE_INTS, mask, 5 } };
    uint32_t ids[5];
    int32_t labels[5];
    for (size_t both = 0; both < 2; both++) {
        struct buf message = BUF_INIT, b = BUF_INIT;
        example_encode(&message, f, 2 + both);
        record_frame(&b, message.data, message.len);
        put("x.tfrecord", &b);
        struct dataset *d = open_one(in_dir("x.tfrecord"), 5);
        cr_assert(d, "%s", err_get());
        cr_assert_eq(dataset_read(d, 0, ids, labels), 0, "%s", err_get());
        cr_expect_eq(labels[0], both ? DATASET_IGNORE : 11);
        cr_expect_eq(labels[1], 12);
        cr_expect_eq(labels[2], both ? 0 : DATASET_IGNORE);
        dataset_close(d);
        buf_release(&message);
        buf_release(&b);
    }
}

/* More ids than are decoded at a time. */
Test(dataset, records_of_many_ids)
{
    enum { N = 600 };
    static int64_t many[N];
    static uint32_t ids[N];
    static int32_t labels[N];
    for (int i = 0; i < N; i++)
        many[i] = 3 * i;
    const struct feature f = { "input_ids", FEATURE_INTS, many, N };
    for (int bad = 0; bad < 2; bad++) {
        struct buf message = BUF_INIT, b = BUF_INIT;
        many[513] = bad ? 1LL << 32 : 3 * 513;
        example_encode(&message, &f, 1);
        record_frame(&b, message.data, message.len);
        put("x.tfrecord", &b);
        buf_release(&message);
        buf_release(&b);
        for (uint32_t length = 5; length <= N && !bad; length += N - 5) {
            struct dataset *d = open_one(in_dir("x.tfrecord"), length);
            cr_assert(d, "%s", err_get());
            cr_expect(dataset_record_length(d) == N && dataset_sequence_length(d) == N - 1);
            ids[5] = 0;
            cr_assert_eq(dataset_read(d, 0, ids, labels), 0, "%s", err_get());
            for (uint32_t k = 0; k + 1 < length; k++)
                cr_expect(ids[k] == 3 * k && labels[k] == (int32_t)(3 * k + 3));
            cr_expect_eq(ids[5], length > 5 ? 15 : 0);
            dataset_close(d);
        }
    }
    refused(in_dir("x.tfrecord"), 5, "input_ids[513] is 4294967296, which is not a token id");
}

Test(dataset, records_as_they_are)
{
    struct buf b = BUF_INIT;
    const void *data;
    size_t n;
    for (int i = 0; i < 2; i++)
        add_record(&b, i, 5);
    put("a", &b);
    buf_clear(&b);
    add_record(&b, 7, 2);
    const size_t first = b.len;
    record_frame(&b, "any", 3);
    b.data[first + RECORD_HEAD_BYTES] ^= 1;
    put("b", &b);
    const char *paths[] = { in_dir("a"), in_dir("b") };
    struct dataset *d = dataset_open(paths, 2, 0);
    cr_assert(d, "%s", err_get());
    cr_expect(dataset_count(d) == 4 && dataset_record_length(d) == 0);
    cr_expect_eq(dataset_facts(d)->epoch, 4);
    for (uint64_t i = 0; i < 4; i++)
        cr_expect_eq(dataset_next_file(d, i), i < 2 ? 2 : 4);
    cr_assert_eq(dataset_record(d, 2, &data, &n), 0, "%s", err_get());
    cr_expect(n == first - RECORD_FRAME_BYTES && !memcmp(data, b.data + RECORD_HEAD_BYTES, n));
    cr_expect_eq(dataset_record(d, 3, &data, &n), -1);
    struct buf error = buf_format("/b: record 1 at byte %zu: data is damaged", first);
    expect_error(error.data);
    dataset_close(d);
    buf_release(&b);
    buf_release(&error);
}

/* The length of a data set may be set after its manifest was read. */
Test(dataset, lengths_and_facts_of_a_manifest)
{
    static const char *const bad[][2] = {
        { "end_of_text=x", "manifest: 'end_of_text=x' is not a number" },
        { "sequence_length=-1", "manifest: 'sequence_length=-1' is not a number" },
        { "duplication_factor=0", "manifest: duplication_factor is not a number from 1" },
        { "duplication_factor=x", "manifest: duplication_factor is not a number from 1" },
    };
    struct buf b = BUF_INIT, text = BUF_INIT;
    uint32_t ids[4];
    int32_t labels[4];
    for (int i = 0; i < 2; i++)
        add_record(&b, i, 5);
    cr_assert_eq(file_mkdirs(in_dir("a")), 0);
    put("a/x.tfrecord", &b);
    put("b.tfrecord", &b);
    buf_setf(&text,
             "textmill=shards 1\nrecords=2\nsequence_length=3\nend_of_text=9\nvocabulary=100\n"
             "duplication_factor=4\nshard=x.tfrecord records=2 bytes=%zu crc32c=00000000\n",
             b.len);
    put("a/manifest", &text);
    const char *paths[] = { in_dir("b.tfrecord"), in_dir("a") };
    struct dataset *d = dataset_open(paths, 2, 2);
    cr_assert(d, "%s", err_get());
    cr_expect(dataset_sequence_length(d) == 3 && dataset_record_length(d) == 5);
    cr_expect(dataset_facts(d)->end_of_text == 9 && dataset_facts(d)->epoch == 2.5);
    cr_expect_eq(dataset_tokens(d), 4);
    cr_assert_eq(dataset_set_length(d, 4), 0, "%s", err_get());
    cr_expect(dataset_count(d) == 4 && dataset_tokens(d) == 12);
    cr_assert_eq(dataset_read(d, 3, ids, labels), 0, "%s", err_get());
    cr_expect(ids[0] == 10 && ids[3] == 13 && labels[2] == 13);
    cr_expect_eq(dataset_set_length(d, 9), -1);
    expect_error("b.tfrecord: record 0 at byte 0: has 5 ids, but 9 are needed (sequence length 8 "
                 "and the last label): give --sequence-length 4");
    dataset_close(d);
    d = open_one(in_dir("b.tfrecord"), 2);
    cr_assert(d, "%s", err_get());
    cr_expect(dataset_sequence_length(d) == 4 && dataset_facts(d)->end_of_text == UINT64_MAX);
    dataset_close(d);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        buf_setf(&text, "textmill=shards 1\nrecords=2\n%s\n", bad[i][0]);
        put("a/manifest", &text);
        refused(in_dir("a"), 2, bad[i][1]);
    }
    put_text("manifest", "x");
    refused(in_dir("b.tfrecord"), 2, "manifest: not a manifest of shards: it does not begin with");
    cr_assert_eq(file_mkdirs(in_dir("none")), 0);
    put_text("none/manifest", "textmill=shards 1\nrecords=0\n"); /* tfwrite --allow-empty */
    d = open_one(in_dir("none"), 2);
    cr_assert(d, "%s", err_get());
    cr_expect_eq(dataset_count(d), 0);
    dataset_close(d);
    put_text("none/manifest", "textmill=shards 1\nrecords=1\n");
    refused(in_dir("none"), 2, "none: no *.tfrecord in this folder");
    buf_release(&b);
    buf_release(&text);
}

Test(dataset, other_kinds_of_records_and_files_are_named)
{
    static const int64_t ones[5] = { 1, 1, 1, 1, 1 };
    struct buf b = BUF_INIT, message = BUF_INIT;
    struct feature bert[] = { { "input_ids", FEATURE_INTS, ones, 5 },
                              { "input_mask", FEATURE_INTS, ones, 5 },
                              { "masked_lm_ids", FEATURE_INTS, ones, 5 } };
    example_encode(&message, bert, 3);
    record_frame(&b, message.data, message.len);
    put("bert.tfrecord", &b);
    refused(
        in_dir("bert.tfrecord"), 5,
        "bert.tfrecord: record 0 at byte 0: is a record of layout bert, but layout gpt is needed");
    put("any.bin", &b);
    refused(in_dir("any.bin"), 5, "any.bin' has no '");
    expect_error("any.idx' beside it; train reads 16-bit ids of nanoGPT as nanogpt:");
    buf_release(&b);
    buf_release(&message);
}

/* Lists may come from Windows, and name what cannot be opened. */
Test(dataset, lists_with_other_line_ends)
{
    struct buf list = BUF_INIT, name = buf_format("@%s", in_dir("list"));
    put_with("x.tfrecord", (struct feature){ "a", FEATURE_INTS, (int64_t[]){ 1 }, 1 });
    buf_addf(&list, "\xEF\xBB\xBF%s\r\n\r\n%s\r\n", in_dir("x.tfrecord"), in_dir("x.tfrecord"));
    put("list", &list);
    struct dataset *d = open_one(name.data, 5);
    cr_assert(d, "%s", err_get());
    cr_expect_eq(dataset_count(d), 2);
    dataset_close(d);
    buf_addf(&list, "%s\r\n", in_dir("y.tfrecord"));
    put("list", &list);
    refused(name.data, 5, "/list: cannot open '");
    expect_error("/y.tfrecord'");
    buf_release(&list);
    buf_release(&name);
}

Test(dataset, places_in_flat_files)
{
    struct buf name = buf_format("nanogpt:%s", in_dir("c"));
    uint32_t ids[5];
    int32_t labels[5];
    put_flat("a.bin", 1, 9);
    put_flat("c", 0, 9);
    for (int head = 0; head < 2; head++) {
        struct dataset *d = open_one(head ? in_dir("a.bin") : name.data, 5);
        cr_assert(d, "%s", err_get());
        cr_assert_eq(dataset_read(d, 1, ids, labels), 0, "%s", err_get());
        cr_expect_eq(dataset_check(d, 1, ids, 19), 0);
        cr_expect_eq(dataset_check(d, 1, ids, 18), -1);
        expect_error(head ? "a.bin: sequence 1 at byte 1032: has id 18, but the vocabulary only "
                            "has 18"
                          : "c: sequence 1 at byte 8: has id 18, but the vocabulary only has 18");
        /* ids of 32 bits, read as 16, would be two tokens each; a header tells the bits */
        cr_assert_eq(dataset_read(d, 0, ids, labels), 0, "%s", err_get());
        cr_expect_eq(dataset_check(d, 0, ids, 65536), 0);
        cr_expect_eq(dataset_check(d, 0, ids, 65537), head ? 0 : -1);
        if (!head)
            expect_error(
                "c: sequence 0 at byte 0: has 16-bit ids, but the vocabulary has 65537: give .npy");
        dataset_close(d);
    }
    buf_release(&name);
}

/* A file of llm.c is known by its header, whose numbers are no ids, also after `nanogpt:`. */
Test(dataset, a_header_is_read_where_none_is_expected)
{
    struct buf name = buf_format("nanogpt:%s", in_dir("a.bin"));
    uint32_t ids[5];
    int32_t labels[5];
    put_flat("a.bin", 1, 9);
    struct dataset *d = open_one(name.data, 5);
    cr_assert(d, "%s", err_get());
    cr_expect_eq(dataset_count(d), 2);
    cr_assert_eq(dataset_read(d, 0, ids, labels), 0, "%s", err_get());
    cr_expect(ids[0] == 10 && labels[3] == 14);
    dataset_close(d);
    buf_release(&name);
}

/* Writes nine numbers of `width` bytes, 10, 11, ..., as NumPy does, with this text as its header.
 */
static void put_npy(const char *name, const char *text, int width)
{
    struct buf b = BUF_INIT;
    buf_add(&b, "\x93NUMPY\1\0", 8);
    buf_addc(&b, (int)strlen(text));
    buf_addc(&b, 0);
    buf_adds(&b, text);
    for (int i = 0; i < 9; i++)
        buf_add(&b, (char[8]){ (char)(10 + i) }, (size_t)width);
    put(name, &b);
    buf_release(&b);
}

Test(dataset, arrays_of_numpy)
{
    static const struct {
        const char *text;
        int width;
        const char *error; /* NULL: it has two sequences */
    } all[] = {
        { "{'descr': '<u2', 'fortran_order': False, 'shape': (9,), }     \n", 2, NULL },
        { "{'descr': '<u4', 'fortran_order': False, 'shape': (9,), }\n", 4, NULL },
        { "{'descr': '<i4', 'fortran_order': True, 'shape': (9,), }", 4, NULL },
        { "{'descr': '<i2', 'fortran_order': False, 'shape': (9,), }", 2, "is not a row of u16" },
        { "{'descr': '<u8', 'fortran_order': False, 'shape': (9,), }", 8, "is not a row of u16" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (9,), }", 4, "is not a row of u16" },
        { "{'descr': '>u4', 'fortran_order': False, 'shape': (9,), }", 4, "is not a row of u16" },
        { "{'descr': '<u4', 'fortran_order': False, 'shape': (3, 3), }", 4, "is not a row of u16" },
        { "{'descr': '<u4', 'fortran_order': False, 'shape': (9, 1), }", 4, "is not a row of u16" },
        { "{'descr': '<u4', 'fortran_order': False, 'shape': (), }", 4, "is not a row of u16" },
        { "", 2, "is not a row of u16" },
        { "{'descr': '<u4', 'fortran_order': False, 'shape': (10,), }", 4,
          "x.npy: has 36 bytes of ids, but its header says 10 ids of 4 bytes" },
        { "{'descr': '<u4', 'fortran_order': False, 'shape': (4611686018427387913,), }", 4,
          "is not a row of u16" }, /* 2^62 + 9 ids would have 36 bytes modulo 2^64 */
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        uint32_t ids[5];
        int32_t labels[5];
        put_npy("x.npy", all[i].text, all[i].width);
        struct dataset *d = open_one(in_dir("x.npy"), 5);
        cr_expect_eq(d != NULL, all[i].error == NULL, "%s", all[i].text);
        if (!d) {
            expect_error(all[i].error);
            continue;
        }
        cr_expect_eq(dataset_count(d), 2);
        cr_assert_eq(dataset_read(d, 1, ids, labels), 0, "%s", err_get());
        cr_expect(ids[0] == 14 && ids[4] == 18 && labels[3] == 18);
        dataset_close(d);
    }
}

Test(dataset, patterns_of_bare_ids)
{
    struct buf name = buf_format("nanogpt:%s", in_dir("c?.bin"));
    uint32_t ids[5];
    int32_t labels[5];
    put_flat("c1.bin", 0, 5);
    put_flat("c2.bin", 0, 9);
    struct dataset *d = open_one(name.data, 5);
    cr_assert(d, "%s", err_get());
    cr_expect_eq(dataset_count(d), 1 + 2);
    cr_assert_eq(dataset_read(d, 2, ids, labels), 0, "%s", err_get());
    cr_expect(ids[0] == 14 && labels[3] == 18);
    dataset_close(d);
    buf_clear(&name);
    buf_addf(&name, "nanogpt:%s", in_dir("d?.bin"));
    refused(name.data, 5, "nothing matches '");
    buf_release(&name);
}

/* ---- Megatron ----------------------------------------------------------------------------- */

/* Writes a pair of Megatron files with three documents: ids 0 to 9; ids 10 to 12 and 13 as two
 * sequences; ids 14 to 20. */
static void put_pair(uint64_t vocabulary)
{
    struct megatron_writer w;
    uint32_t ids[21];
    for (uint32_t i = 0; i < 21; i++)
        ids[i] = i;
    cr_assert_eq(megatron_create(&w, dir, "m", vocabulary), 0);
    cr_assert_eq(megatron_add(&w, ids, 10), 0);
    megatron_end_document(&w);
    cr_assert_eq(megatron_add(&w, ids + 10, 3), 0);
    cr_assert_eq(megatron_add(&w, ids + 13, 1), 0);
    megatron_end_document(&w);
    cr_assert_eq(megatron_add(&w, ids + 14, 7), 0);
    megatron_end_document(&w);
    cr_assert_eq(megatron_finish(&w), 0, "%s", err_get());
    megatron_release(&w);
}

Test(megatron, dtype_follows_the_vocabulary)
{
    static const struct {
        uint64_t vocabulary;
        int dtype;
    } cases[] = { { 100, 8 }, { 65499, 8 }, { 65500, 4 }, { 100000, 4 } };
    for (int i = 0; i < 4; i++) {
        struct megatron m;
        uint32_t ids[21];
        put_pair(cases[i].vocabulary);
        cr_assert_eq(megatron_open(&m, in_dir("m")), 0, "%s", err_get());
        cr_expect_eq(m.dtype, cases[i].dtype);
        cr_expect(m.tokens == 21 && m.sequences == 4 && m.documents == 3);
        cr_assert_eq(megatron_read(&m, 0, 21, ids), 0);
        for (uint32_t k = 0; k < 21; k++)
            cr_expect_eq(ids[k], k);
        uint64_t first;
        cr_expect(megatron_sequence(&m, 2, &first) == 1 && first == 13);
        megatron_close(&m);
    }
}

/* Returns what `list` writes of the input, at most two lines. */
static const char *listed(int (*list)(const char *, uint64_t, struct output *, uint64_t *),
                          const char *input, int result, uint64_t lines)
{
    static struct buf got = BUF_INIT;
    struct output out;
    uint64_t shown;
    cr_assert_eq(output_open(&out, in_dir("out")), 0);
    cr_expect_eq(list(input, 2, &out, &shown), result, "%s", err_get());
    cr_expect_eq(shown, lines);
    cr_assert_eq(output_close(&out), 0);
    buf_clear(&got);
    cr_assert_eq(file_read(in_dir("out"), &got), 0);
    return got.data;
}

Test(megatron, lists_of_sequences_and_records)
{
    struct buf b = BUF_INIT;
    put_pair(100);
    cr_expect_str_eq(listed(listing_sequences, in_dir("m"), 0, 2),
                     "{\"input_ids\":[0,1,2,3,4,5,6,7,8,9]}\n{\"input_ids\":[10,11,12]}\n");
    add_record(&b, 1, 2);
    record_frame(&b, "x", 1);
    put("x.tfrecord", &b);
    cr_expect_str_eq(listed(listing_records, in_dir("x.tfrecord"), -1, 1),
                     "{\"a\":[7,8,9],\"input_ids\":[10,11],\"z\":[0.5,1]}\n");
    expect_error("record 1 at byte");
    buf_release(&b);
}

Test(megatron, sequences_of_a_dataset_overlap_by_one)
{
    uint32_t ids[6];
    int32_t labels[6];
    static const char *const names[] = { "m", "m.idx", "m.bin" };
    put_pair(100);
    for (int n = 0; n < 3; n++) {
        struct dataset *d = open_one(in_dir(names[n]), 6);
        cr_assert(d, "%s", err_get());
        cr_expect_eq(dataset_count(d), 4);
        for (uint32_t i = 0; i < 4; i++) {
            cr_assert_eq(dataset_read(d, i, ids, labels), 0);
            for (uint32_t k = 0; k < 6; k++)
                cr_expect_eq(ids[k], 5 * i + k);
        }
        dataset_close(d);
    }
}

/* A pattern matches .bin and .idx; the pair is read once. Naming it twice takes it twice. */
Test(megatron, both_files_of_a_pair_are_one)
{
    put_pair(100);
    struct dataset *d = open_one(in_dir("m*"), 6);
    cr_assert(d, "%s", err_get());
    cr_expect_eq(dataset_count(d), 4);
    dataset_close(d);
    char *names[] = { strdup(in_dir("m.bin")), strdup(in_dir("m.idx")), strdup(in_dir("m.bin")) };
    for (size_t n = 2; n <= 3; n++) {
        d = dataset_open((const char *const *)names, n, 6);
        cr_assert(d, "%s", err_get());
        cr_expect_eq(dataset_count(d), n == 2 ? 4 : 8);
        dataset_close(d);
    }
    for (int n = 0; n < 3; n++)
        free(names[n]);
}

Test(megatron, sequences_of_another_length)
{
    struct dataset *d;
    put_pair(100);
    d = open_one(in_dir("m"), 2);
    cr_assert(d, "%s", err_get());
    cr_expect(dataset_count(d) == 20 && dataset_sequence_length(d) == 0);
    cr_assert_eq(dataset_set_length(d, 6), 0, "%s", err_get());
    cr_expect_eq(dataset_count(d), 4);
    dataset_close(d);
    refused(in_dir("m"), 0, "m: is a Megatron pair, but TFRecord files are needed");
}

Test(megatron, sequences_that_are_wrong_are_named)
{
    struct buf b = BUF_INIT;
    uint32_t ids[6];
    int32_t labels[6];
    put_pair(100000);
    put_text("m.manifest", "textmill=shards 1\nrecords=3\nvocabulary=15\n");
    cr_assert_eq(file_read(in_dir("m.bin"), &b), 0);
    le_put_u32(b.data + 4 * 5, 0xFFFFFFFFu);
    put("m.bin", &b);
    struct dataset *d = open_one(in_dir("m"), 6);
    cr_assert(d, "%s", err_get());
    cr_expect_eq(dataset_facts(d)->vocabulary, 15);
    cr_expect_eq(dataset_read(d, 1, ids, labels), -1);
    expect_error("m.bin: token 5 at byte 20 is -1");
    cr_expect_eq(dataset_read(d, 2, ids, labels), -1);
    expect_error("m.bin: sequence 2 at byte 40: has id 15, but the vocabulary only has 15");
    dataset_close(d);
    put_text("m.manifest", "x");
    refused(in_dir("m"), 6, "m.manifest: not a manifest of shards");
    buf_release(&b);
}

/* Overwrites the n bytes from byte `at` of the pair's index with bytes[n]. Opening the pair must
 * then fail with the error `error`. */
static void patched(size_t at, const char *bytes, size_t n, const char *error)
{
    struct buf b = BUF_INIT;
    struct megatron m;
    put_pair(100);
    cr_assert_eq(file_read(in_dir("m.idx"), &b), 0);
    memcpy(b.data + at, bytes, n);
    put("m.idx", &b);
    cr_expect_eq(megatron_open(&m, in_dir("m")), -1, "byte %zu", at);
    expect_error(error);
    buf_release(&b);
}

Test(megatron, damaged_indexes_are_refused)
{
    /* sizes at 34, pointers at 50, documents at 82, end 114 */
    patched(0, "TNTIDX\0\0", 8, "m.idx: legacy TNTIDX index");
    patched(0, "X", 1, "not a Megatron index");
    patched(9, "\2", 1, "version 2 at byte 9");
    patched(17, "\6", 1, "dtype code 6 at byte 17 is not a known type of token ids");
    patched(17, "\0", 1, "dtype code 0");
    patched(17, "\x63", 1, "dtype code 99");
    patched(17, "\4", 1, "sequence 1 begins at byte 20 of .bin, not at byte 40");
    patched(18, "\5", 1, "cut short: 5 sequences");
    patched(18, "\3", 1, "bytes too many");
    patched(18, "\xff\xff\xff\xff\xff\xff\xff\xff", 8, "cut short: 18446744073709551615 sequences");
    patched(26, "\0", 1, "cut short: 4 sequences and 0 document entries");
    patched(26, "\xff\xff\xff\xff\xff\xff\xff\xff", 8, "cut short");
    patched(26, "\3", 1, "8 bytes too many");
    patched(34, "\xff\xff\xff\xff", 4, "sequence 0 has size -1");
    patched(34, "\x0b", 1, "sequence 1 begins at byte 20 of .bin, not at byte 22");
    patched(46, "\x08", 1, "sequence 3 ends at byte 44, but .bin has only 42 bytes: cut short");
    patched(46, "\x06", 1, "sequences end at byte 40, but .bin has 42 bytes");
    patched(50, "\2", 1, "sequence 0 begins at byte 2");
    patched(82, "\1", 1, "document 0 begins at sequence 1");
    patched(90, "\4", 1, "document 2 begins at sequence 3, after 4");
    patched(106, "\3", 1, "documents end at sequence 3 of 4");
    patched(98, "\x09", 1, "document 2 begins at sequence 9");
}

Test(megatron, every_truncation_is_refused)
{
    struct buf idx = BUF_INIT, bin = BUF_INIT, cut = BUF_INIT;
    struct megatron m;
    put_pair(100);
    cr_assert_eq(file_read(in_dir("m.idx"), &idx), 0);
    cr_assert_eq(file_read(in_dir("m.bin"), &bin), 0);
    cr_assert_eq(idx.len, 114);
    for (size_t n = 0; n < idx.len; n++) {
        buf_clear(&cut);
        buf_add(&cut, idx.data, n);
        put("m.idx", &cut);
        cr_assert_eq(megatron_open(&m, in_dir("m")), -1, "%zu bytes", n);
    }
    buf_adds(&cut, "x");
    buf_add(&idx, "\0\0\0\0", 4); /* modes, one a sequence */
    put("m.idx", &idx);
    cr_expect_eq(megatron_open(&m, in_dir("m")), 0, "%s", err_get());
    megatron_close(&m);
    for (size_t n = 0; n < bin.len; n++) {
        buf_clear(&cut);
        buf_add(&cut, bin.data, n);
        put("m.bin", &cut);
        cr_assert_eq(megatron_open(&m, in_dir("m")), -1, "%zu bytes", n);
    }
    buf_release(&idx);
    buf_release(&bin);
    buf_release(&cut);
}

Test(megatron, ids_out_of_range_are_named)
{
    struct buf b = BUF_INIT;
    struct megatron m;
    uint32_t ids[21];
    put_pair(100000);
    cr_assert_eq(file_read(in_dir("m.bin"), &b), 0);
    le_put_u32(b.data + 4 * 5, 0xFFFFFFFFu);
    put("m.bin", &b);
    cr_assert_eq(megatron_open(&m, in_dir("m")), 0);
    cr_expect_eq(megatron_read(&m, 0, 21, ids), -1);
    expect_error("m.bin: token 5 at byte 20 is -1");
    cr_expect_eq(megatron_read(&m, 6, 15, ids), 0);
    megatron_close(&m);
    buf_release(&b);
}

Test(megatron, megatrons_own_file)
{
    const char *data = getenv("TEXTMILL_DATA");
    struct buf prefix = BUF_INIT;
    struct megatron m;
    set_path(&prefix, data ? data : "../shared/data",
             "megatron/meg-gpt2-openwebtext_text_document");
    if (!(look(data ? data : "../shared/data") == FILE_FOLDER))
        cr_skip_test("no %s", prefix.data);
    cr_assert_eq(megatron_open(&m, prefix.data), 0, "%s", err_get());
    cr_expect(m.dtype == 8 && m.sequences == 1000 && m.documents == 1000 && m.tokens == 1361845);
    for (uint64_t i = 0; i < m.sequences; i++) {
        uint64_t first;
        uint32_t size = megatron_sequence(&m, i, &first), last;
        cr_assert_eq(megatron_read(&m, first + size - 1, 1, &last), 0);
        cr_expect_eq(last, 4999);
    }
    megatron_close(&m);
    struct dataset *d = open_one(prefix.data, 1025);
    cr_assert(d);
    cr_expect_eq(dataset_count(d), 1361844 / 1024);
    dataset_close(d);
    buf_release(&prefix);
}
