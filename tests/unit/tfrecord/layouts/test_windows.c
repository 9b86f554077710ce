/* From documents to files: windows, and with them manifest, stage, index maps and pairs. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/files/file.h"
#include "common/files/temp.h"
#include "common/formats/stream.h"
#include "tests/unit/dir.h"
#include "tests/unit/look.h"
#include "tests/unit/set_path.h"
#include "tfrecord/formats/manifest.h"
#include "tfrecord/formats/megatron.h"
#include "tfrecord/layouts/intake.h"
#include "tfrecord/layouts/windows.h"
#include "tfrecord/publish/megatron_pair.h"
#include "tfrecord/publish/stage.h"
#include "tfrecord/read/dataset.h"

static int there(const char *name)
{
    return look(in_dir(name));
}

TestSuite(windows, .init = make_dir, .fini = remove_dir);
TestSuite(manifest, .init = make_dir, .fini = remove_dir);
TestSuite(stage, .init = make_dir, .fini = remove_dir);

enum { LENGTH = 9, END = 99, DOCUMENTS = 20, TOKENS = 230 };

/* Writes a token stream to the file `name`, with `documents` documents. Document d has d % 20 + 1
 * tokens, all of them d. */
static void put_documents(const char *name, uint32_t vocabulary, uint32_t documents, uint32_t end)
{
    struct output out;
    struct buf frames = BUF_INIT;
    struct kv header = KV_INIT;
    uint32_t ids[DOCUMENTS];
    kv_add(&header, "dtype", "u16");
    kv_addf(&header, "vocabulary", "%u", vocabulary);
    kv_add(&header, "checksum", "00000000deadbeef");
    kv_addf(&header, "end_of_text", "%u", end);
    cr_assert_eq(output_open(&out, in_dir(name)), 0);
    cr_assert_eq(stream_begin(&out, &header, NULL), 0, "%s", err_get());
    for (uint32_t d = 0; d < documents; d++) {
        for (uint32_t i = 0; i <= d % DOCUMENTS; i++)
            ids[i] = d;
        cr_assert_eq(stream_frame(&frames, d + 1, 2, ids, d % DOCUMENTS + 1, NULL, 0), 0);
    }
    cr_assert_eq(output_write(&out, frames.data, frames.len), 0);
    cr_assert_eq(stream_end(&out, documents), 0);
    cr_assert_eq(output_close(&out), 0);
    buf_release(&frames);
    kv_release(&header);
}

static void put_stream(const char *name)
{
    put_documents(name, 100, DOCUMENTS, END);
}

/* Writes to ids[] the tokens of all documents, each document followed by END. */
static void join(uint32_t *ids)
{
    for (uint32_t d = 0; d < DOCUMENTS; d++) {
        for (uint32_t i = 0; i <= d; i++)
            *ids++ = d;
        *ids++ = END;
    }
}

/* Returns the number of windows that `tokens` tokens give, by a loop over the windows. */
static uint64_t count_slowly(const struct windows *w, uint64_t tokens)
{
    uint64_t n = 0, covered = 0, length = w->sequence_length + 1;
    for (uint64_t at = 0;; at += w->stride, n++) {
        if (at + length > tokens)
            return n + (w->pad && at + 2 <= tokens && tokens > covered);
        covered = at + length;
    }
}

Test(windows, count)
{
    for (uint32_t length = 1; length < 6; length++)
        for (uint64_t stride = 1; stride < 9; stride++)
            for (uint64_t tokens = 0; tokens < 40; tokens++)
                for (int pad = 0; pad < 2; pad++) {
                    struct windows w = { .sequence_length = length, .stride = stride, .pad = pad };
                    cr_assert_eq(windows_count(&w, tokens), count_slowly(&w, tokens),
                                 "length %u stride %d tokens %d pad %d", length, (int)stride,
                                 (int)tokens, pad);
                }
}

/* The shards that the tests write. */
static struct shard_set set;

static struct windows small(void)
{
    set = (struct shard_set){ .count = 3, .threads = 1 };
    return (struct windows){ .sequence_length = LENGTH - 1,
                             .stride = LENGTH - 1,
                             .keep_order = 1,
                             .end_of_text = END,
                             .seed = 1 };
}

/* The records of one part of a data set, in the order in which the reader gives them. */
struct records {
    uint64_t count;
    uint32_t (*ids)[LENGTH];
    struct windows_part part;
};

static void read_records(struct records *r)
{
    struct buf path = BUF_INIT;
    struct kv m = KV_INIT;
    int32_t labels[LENGTH];
    kv_add(&m, "vocabulary", "65536");
    kv_addf(&m, "records", "%d", (int)r->part.records);
    kv_add_all(&m, &r->part.files);
    set_path(&path, r->part.dir, "manifest");
    cr_assert_eq(manifest_write(&m, path.data), 0);
    struct dataset *d = dataset_open(&r->part.dir, 1, LENGTH);
    cr_assert(d, "%s", err_get());
    r->count = dataset_count(d);
    cr_assert_eq(r->count, r->part.records);
    r->ids = calloc(r->count, sizeof *r->ids);
    uint64_t shards = r->count < set.count ? r->count : set.count, i = 0;
    for (uint64_t shard = 0; shard < shards; shard++)
        for (uint64_t at = shard; at < r->count; at += shards)
            cr_assert_eq(dataset_read(d, i++, r->ids[at], labels), 0, "%s", err_get());
    dataset_close(d);
    kv_release(&m);
    buf_release(&path);
}

static void make_of(struct records *r, const struct windows *w, const char *stream)
{
    static const char *const names[WINDOWS_PARTS] = { "train", "held" };
    struct windows_part parts[WINDOWS_PARTS] = { { .files = KV_INIT }, { .files = KV_INIT } };
    struct intake s;
    for (int i = 0; i < WINDOWS_PARTS; i++) {
        parts[i].dir = strdup(in_dir(names[i]));
        temp_remove(parts[i].dir); /* of an earlier set, if there is one */
        cr_assert_eq(file_mkdirs(parts[i].dir), 0);
    }
    cr_assert_eq(intake_open(&s, in_dir(stream)), 0, "%s", err_get());
    cr_assert_eq(windows_write(w, &set, &s, parts), 0, "%s", err_get());
    intake_close(&s);
    for (int i = 0; i < WINDOWS_PARTS; i++) {
        r[i] = (struct records){ .part = parts[i] };
        if (parts[i].records)
            read_records(&r[i]);
    }
}

static void make(struct records *r, const struct windows *w)
{
    put_stream("tokens");
    make_of(r, w, "tokens");
}

static void release(struct records *r)
{
    for (int i = 0; i < WINDOWS_PARTS; i++) {
        kv_release(&r[i].part.files);
        free((char *)r[i].part.dir);
        free(r[i].ids);
    }
}

/* Without shuffling the windows must be the documents one after the other, with every stride, group
 * size and number of threads. */
Test(windows, in_order_they_are_the_documents_end_to_end)
{
    uint32_t joined[TOKENS + LENGTH];
    join(joined);
    for (int i = 0; i < LENGTH; i++)
        joined[TOKENS + i] = END; /* what pads */
    for (uint64_t stride = 1; stride < 31; stride += stride < 12 ? 1 : 6)
        for (uint64_t group = 0; group < 22; group += group < 3 ? 1 : 6)
            for (int pad = 0; pad < 2; pad++) {
                struct windows w = small();
                struct records r[WINDOWS_PARTS];
                w.stride = stride;
                w.group = group < 19 ? group : WINDOWS_ALL;
                w.pad = pad;
                set.threads = 1 + (int)(group % 4);
                make(r, &w);
                cr_assert_eq(r->count, count_slowly(&w, TOKENS), "stride %d group %d pad %d",
                             (int)stride, (int)group, pad);
                cr_expect(r->part.documents == DOCUMENTS && r->part.tokens == TOKENS);
                for (uint64_t i = 0; i < r->count; i++)
                    cr_assert_arr_eq(r->ids[i], joined + i * stride, sizeof *r->ids);
                release(r);
            }
}

static int by_ids(const void *a, const void *b)
{
    return memcmp(a, b, LENGTH * sizeof(uint32_t));
}

/* Counts the tokens of each document in the records of r. With the stride LENGTH, each token is in
 * one record. */
static void count_tokens(const struct records *r, int *seen)
{
    for (uint64_t i = 0; i < r->count; i++)
        for (int k = 0; k < LENGTH; k++)
            seen[r->ids[i][k]]++;
}

Test(windows, a_shuffle_moves_documents_and_windows_and_loses_none)
{
    struct records in_order[WINDOWS_PARTS], shuffled[WINDOWS_PARTS], again[WINDOWS_PARTS];
    struct windows w = small();
    int seen[END + 1] = { 0 };
    w.stride = LENGTH;
    w.pad = 1;
    make(in_order, &w);
    w.keep_order = 0;
    make(shuffled, &w);
    set.threads = 5;
    make(again, &w);
    cr_assert(shuffled->count == in_order->count && again->count == in_order->count);
    size_t bytes = in_order->count * sizeof *in_order->ids;
    cr_expect_neq(memcmp(in_order->ids, shuffled->ids, bytes), 0);
    cr_expect_eq(memcmp(again->ids, shuffled->ids, bytes), 0, "threads change what is written");
    count_tokens(shuffled, seen);
    for (int d = 0; d < DOCUMENTS; d++)
        cr_expect_eq(seen[d], d + 1);
    qsort(in_order->ids, in_order->count, sizeof *in_order->ids, by_ids);
    qsort(shuffled->ids, shuffled->count, sizeof *shuffled->ids, by_ids);
    cr_expect_neq(memcmp(in_order->ids, shuffled->ids, bytes), 0, "documents stay in order");
    release(in_order);
    release(shuffled);
    release(again);
}

Test(windows, a_group_is_shuffled_by_itself)
{
    struct records r[WINDOWS_PARTS];
    struct windows w = small();
    w.keep_order = 0;
    w.group = 10; /* documents 0..9 have 65 tokens: 8 windows */
    make(r, &w);
    for (uint64_t i = 0; i < r->count; i++) {
        int late = 0;
        for (int k = 0; k < LENGTH; k++)
            late |= r->ids[i][k] != END && r->ids[i][k] >= 10;
        cr_expect_eq(late, i >= 8, "window %d", (int)i);
    }
    release(r);
}

/* Returns the correlation between the number of a record and the number of the document to which
 * its first token belongs, over the records that do not begin with `end`. */
static double correlation(const struct records *r, uint32_t end)
{
    double n = 0, x = 0, y = 0, xx = 0, yy = 0, xy = 0;
    for (uint64_t i = 0; i < r->count; i++) {
        double a = (double)i, b = r->ids[i][0];
        if (r->ids[i][0] == end)
            continue;
        n += 1, x += a, y += b, xx += a * a, yy += b * b, xy += a * b;
    }
    return (xy - x * y / n) / sqrt((xx - x * x / n) * (yy - y * y / n));
}

/* Returns how many records begin with the document in which the record before ends, or end in the
 * document that follows the one with which they begin. */
static uint64_t in_order(const struct records *r, uint32_t end)
{
    uint64_t n = 0;
    for (uint64_t i = 1; i < r->count; i++)
        n += (r->ids[i][0] == r->ids[i - 1][LENGTH - 1] && r->ids[i][0] != end) ||
             r->ids[i][LENGTH - 1] == r->ids[i][0] + 1;
    return n;
}

/* More documents than the spill holds in memory. Shuffled in groups they are nearly in order;
 * shuffled all at once they are not. */
Test(windows, all_documents_are_shuffled_at_once)
{
    enum { MANY = 60000, LAST = 65535 };
    static int seen[LAST + 1];
    struct records grouped[WINDOWS_PARTS], all[WINDOWS_PARTS], again[WINDOWS_PARTS];
    struct windows w = small();
    put_documents("many", LAST + 1, MANY, LAST);
    w.keep_order = 0;
    w.stride = LENGTH;
    w.pad = 1;
    w.end_of_text = LAST;
    w.group = MANY / 20;
    make_of(grouped, &w, "many");
    cr_expect_gt(correlation(grouped, LAST), 0.99);
    w.group = WINDOWS_ALL;
    make_of(all, &w, "many");
    cr_assert_eq(all->count, grouped->count);
    cr_expect_lt(fabs(correlation(all, LAST)), 0.01, "%g", correlation(all, LAST));
    cr_expect_lt(in_order(all, LAST), all->count / 1000, "%d", (int)in_order(all, LAST));
    count_tokens(all, seen);
    for (int d = 0; d < MANY; d++)
        cr_assert_eq(seen[d], d % DOCUMENTS + 1, "document %d", d);
    set.threads = 5;
    make_of(again, &w, "many");
    cr_expect_arr_eq(again->ids, all->ids, all->count * sizeof *all->ids);
    release(grouped);
    release(all);
    release(again);
}

/* Whole documents must be held out, chosen by the seed, with at least the given share of the tokens
 * and at least one record. */
Test(windows, documents_are_held_out)
{
    for (uint64_t seed = 0; seed < 8; seed++)
        for (uint64_t group = 0; group < 21; group += 5) {
            struct windows w = small();
            struct records r[WINDOWS_PARTS], shuffled[WINDOWS_PARTS];
            int train[END + 1] = { 0 }, held[END + 1] = { 0 };
            w.stride = LENGTH;
            w.pad = 1;
            w.seed = seed;
            w.group = group < 20 ? group : WINDOWS_ALL;
            w.validation = seed % 2 ? 0.3 : 1e-9;
            uint64_t least = seed % 2 ? TOKENS * 3 / 10 : LENGTH;
            make(r, &w);
            cr_expect(r[WINDOWS_HELD].part.tokens >= least &&
                      r[WINDOWS_HELD].part.tokens <= least + DOCUMENTS + 1);
            cr_expect_eq(r[WINDOWS_TRAIN].part.tokens + r[WINDOWS_HELD].part.tokens, TOKENS);
            count_tokens(&r[WINDOWS_TRAIN], train);
            count_tokens(&r[WINDOWS_HELD], held);
            for (int d = 0; d < DOCUMENTS; d++)
                cr_expect((train[d] == d + 1 && !held[d]) || (held[d] == d + 1 && !train[d]),
                          "document %d: %d and %d times", d, train[d], held[d]);
            w.keep_order = 0; /* the choice is the same */
            make(shuffled, &w);
            int same[END + 1] = { 0 };
            count_tokens(&shuffled[WINDOWS_HELD], same);
            for (int d = 0; d < DOCUMENTS; d++)
                cr_expect_eq(held[d], same[d]);
            release(r);
            release(shuffled);
        }
}

Test(windows, there_are_no_empty_shards)
{
    struct windows w = small();
    struct records r[WINDOWS_PARTS];
    set.count = 1000;
    make(r, &w);
    cr_expect_eq(r->count, 28);
    cr_expect(there("train/data-00027-of-00028.tfrecord") &&
              there("train/data-00027-of-00028.index"));
    release(r);
}

Test(windows, a_folder_that_cannot_be_written_is_an_error)
{
    struct windows w = small();
    struct windows_part parts[WINDOWS_PARTS] = { { .dir = "/nowhere/at/all" } };
    struct intake s;
    set.threads = 4;
    put_stream("tokens");
    cr_assert_eq(intake_open(&s, in_dir("tokens")), 0);
    cr_expect_eq(windows_write(&w, &set, &s, parts), -1);
    expect_error("cannot create");
    intake_close(&s);
}

/* A run that goes on finds a complete compressed shard of fewer documents. */
Test(windows, another_run_s_shard_is_an_error)
{
    struct windows w = small();
    set.count = 1;
    set.compression = COMPRESS_GZIP;
    for (set.resume = 0; set.resume < 2; set.resume++) {
        struct windows_part parts[WINDOWS_PARTS] = { { .dir = dir, .files = KV_INIT } };
        struct intake s;
        put_documents("tokens", 100, set.resume ? DOCUMENTS : DOCUMENTS / 2, END);
        cr_assert_eq(intake_open(&s, in_dir("tokens")), 0);
        cr_expect_eq(windows_write(&w, &set, &s, parts), -set.resume);
        intake_close(&s);
        kv_release(&parts[0].files);
    }
    expect_error("is not from this run");
}

/* ---- manifest ----------------------------------------------------------------------------- */

Test(manifest, reads_what_was_written)
{
    struct kv kv = KV_INIT;
    struct shard s;
    struct manifest m;
    cr_assert_eq(shard_open(&s, dir, "a b.tfrecord"), 0);
    cr_assert_eq(shard_write(&s, "1234", 4), 0);
    cr_assert_eq(shard_write(&s, "56789", 5), 0);
    s.records = 2;
    cr_assert_eq(shard_close(&s), 0);
    kv_add(&kv, "records", "2");
    manifest_add_shard(&kv, &s);
    cr_assert_eq(manifest_write(&kv, in_dir("manifest")), 0);
    cr_assert_eq(manifest_load(&m, in_dir("manifest")), 1, "%s", err_get());
    const struct manifest_shard *found = manifest_find(&m, "a b.tfrecord");
    cr_assert(found);
    cr_expect(found->records == 2 && found->bytes == 9 && found->crc == 0xE3069283u);
    cr_expect_null(manifest_find(&m, "b"));
    cr_expect_eq(m.checksum, 0);
    manifest_release(&m);
    shard_release(&s);
    kv_release(&kv);
}

Test(manifest, finds_each_of_many_files_in_little_time, .timeout = 8)
{
    enum { FILES = 99999 }; /* steps in the square of it would take longer */
    struct kv kv = KV_INIT;
    struct manifest m;
    char name[64];
    size_t found = 0;
    kv_add(&kv, "records", "0");
    for (int i = 0; i < FILES; i++)
        kv_addf(&kv, "shard", "data-%05d-of-%05d.tfrecord records=0 bytes=0 crc32c=00000000", i,
                FILES);
    cr_assert_eq(manifest_write(&kv, in_dir("manifest")), 0);
    cr_assert_eq(manifest_load(&m, in_dir("manifest")), 1, "%s", err_get());
    for (int i = 0; i < FILES; i++) {
        snprintf(name, sizeof name, "data-%05d-of-%05d.tfrecord", i, FILES);
        found += manifest_find(&m, name) == &m.shards[i];
    }
    cr_expect_eq(found, FILES);
    manifest_release(&m);
    kv_release(&kv);
}

Test(manifest, any_flipped_bit_or_cut_is_an_error)
{
    static const char lines[] = "layout=gpt\nrecords=2\ntokens=90\nvocabulary=100\n"
                                "shard=a records=2 bytes=9 crc32c=E3069283\npg=tokenize\n";
    struct kv kv = KV_INIT;
    struct buf text = BUF_INIT;
    struct manifest m;
    cr_assert_eq(kv_parse(&kv, lines, sizeof lines - 1), 0);
    cr_assert_eq(manifest_write(&kv, in_dir("manifest")), 0);
    cr_assert_eq(file_read(in_dir("manifest"), &text), 0);
    for (size_t bit = 0; bit < 8 * text.len; bit++) {
        text.data[bit / 8] ^= (char)(1 << bit % 8);
        cr_assert_eq(file_write(in_dir("flipped"), text.data, text.len), 0);
        cr_expect_eq(manifest_load(&m, in_dir("flipped")), -1, "byte %zu, bit %zu", bit / 8,
                     bit % 8);
        text.data[bit / 8] ^= (char)(1 << bit % 8);
    }
    for (size_t n = 0; n < text.len; n++) {
        cr_assert_eq(file_write(in_dir("flipped"), text.data, n), 0);
        cr_expect_eq(manifest_load(&m, in_dir("flipped")), -1, "cut at %zu", n);
    }
    buf_release(&text);
    kv_release(&kv);
}

Test(manifest, refuses_other_files)
{
    static const char *const bad[] = {
        "textmill=shards 2\nrecords=1\n",
        "textmill=shards 2\nrecords=1\ncrc32c=00000000\n",
        "textmill=shards 1\nrecords=1\ncrc32c=00000000\n",
        "textmill=shards 3\nrecords=1\n",
        "",
        "textmill=tokens 1\nrecords=1\n",
        "textmill=shards 1\n",
        "no lines\n",
        "textmill=shards 1\nrecords=x\n",
        "textmill=shards 1\nrecords=1\nshard=../x records=1 bytes=1 crc32c=00000000\n",
        "textmill=shards 1\nrecords=1\nshard=.. records=1 bytes=1 crc32c=00000000\n",
        "textmill=shards 1\nrecords=1\nshard=a/b records=1 bytes=1 crc32c=00000000\n",
        "textmill=shards 1\nrecords=1\nshard=x records=1 bytes=1\n",
        "textmill=shards 1\nrecords=1\nshard=x records=1 bytes=1 crc32c=00000000 more\n",
        "textmill=shards 1\nrecords=1\nshard=x\n",
    };
    struct manifest m;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        put_text("manifest", bad[i]);
        cr_expect_eq(manifest_load(&m, in_dir("manifest")), -1, "'%s' is accepted", bad[i]);
        expect_error("manifest: not a manifest of shards: ");
    }
    cr_expect_eq(manifest_load(&m, in_dir("nothing")), 0);
}

/* ---- stage -------------------------------------------------------------------------------- */

static const char MANIFEST[] = "textmill=shards 1\nrecords=1\n"
                               "shard=x.tfrecord records=1 bytes=1 crc32c=00000000\n";

static void put_set(const struct stage *s)
{
    struct buf path = BUF_INIT;
    static const char *const names[] = { "x.tfrecord", "x.index", "scrap" };
    for (int i = 0; i < 3; i++) {
        set_path(&path, s->work, names[i]);
        cr_assert_eq(file_write(path.data, "new", 3), 0);
    }
    set_path(&path, s->work, "manifest");
    cr_assert_eq(file_write(path.data, MANIFEST, sizeof MANIFEST - 1), 0);
    buf_release(&path);
}

Test(stage, publishes_what_the_manifest_lists)
{
    struct stage s;
    cr_assert_eq(stage_open(&s, in_dir("out"), "tfwrite", 0), 0, "%s", err_get());
    put_set(&s);
    cr_expect_not(there("out/x.tfrecord"));
    cr_assert_eq(stage_publish(&s, "", "manifest"), 0, "%s", err_get());
    stage_close(&s, 0);
    cr_expect(there("out/x.tfrecord") && there("out/x.index") && there("out/manifest"));
    cr_expect_not(there("out/scrap"));
    struct file_names left;
    cr_assert_eq(file_list(&left, in_dir("out"), ""), 0);
    cr_expect_eq(left.count, 3);
    file_names_release(&left);
    cr_assert_eq(stage_open(&s, in_dir("out"), "tfwrite", 0), 0);
    cr_assert_eq(stage_forget(&s, "", "manifest"), 0);
    stage_close(&s, 0);
    cr_assert_eq(file_list(&left, in_dir("out"), ""), 0);
    cr_expect_eq(left.count, 0);
    file_names_release(&left);
}

Test(stage, nothing_is_left_of_a_failed_run)
{
    struct stage s;
    cr_assert_eq(stage_open(&s, in_dir("out"), "tfwrite", 0), 0);
    put_set(&s);
    err_set("what went wrong");
    stage_close(&s, 1);
    cr_expect_str_eq(err_get(), "what went wrong");
    cr_expect_not(there("out"));
    cr_assert_eq(file_mkdirs(in_dir("old")), 0);
    cr_assert_eq(stage_open(&s, in_dir("old"), "tfwrite", 0), 0);
    stage_close(&s, 1);
    cr_expect(there("old"), "a folder that was there stays");
}

Test(stage, publishing_is_undone_when_it_fails)
{
    struct stage s;
    cr_assert_eq(stage_open(&s, in_dir("out"), "tfwrite", 0), 0);
    put_set(&s);
    cr_assert_eq(file_mkdirs(in_dir("out/x.tfrecord/in the way")), 0);
    cr_expect_eq(stage_publish(&s, "", "manifest"), -1);
    expect_error("cannot rename");
    stage_close(&s, 1);
    cr_expect(!there("out/x.index") && !there("out/manifest"));
}

Test(stage, a_living_run_is_respected_and_a_dead_one_cleared)
{
    struct stage a, b;
    cr_assert_eq(stage_open(&a, dir, "tfwrite", 0), 0);
    put_set(&a);
    cr_expect_eq(stage_open(&b, dir, "tfwrite", 0), -1);
    expect_error("another tfwrite writes to");
    cr_expect_eq(stage_open(&b, dir, "other", 0), 0, "another name is another output");
    stage_close(&b, 0);
    close(a.lock); /* as when the process dies, having moved one file */
    a.lock = -1;
    struct buf moved = BUF_INIT;
    set_path(&moved, a.work, "x.tfrecord");
    cr_assert_eq(rename(moved.data, in_dir("x.tfrecord")), 0);
    put_text("mine", "not of that run");
    cr_assert_eq(stage_open(&b, dir, "tfwrite", 0), 0, "%s", err_get());
    cr_expect(look(a.work) == FILE_NONE && !there("x.tfrecord") && there("mine"));
    stage_close(&b, 0);
    stage_close(&a, 0);
    buf_release(&moved);
}

/* Begins a set when `go` is closed, writes 1 to `said` if that succeeded, else 0, and is at work
 * until `end` is closed. */
static void begin_at_once(const int go[2], const int said[2], const int end[2])
{
    struct stage s;
    char byte;
    close(go[1]);
    close(end[1]);
    if (read(go[0], &byte, 1))
        _exit(1);
    byte = stage_open(&s, dir, "tfwrite", 0) == 0;
    if (write(said[1], &byte, 1) != 1 || read(end[0], &byte, 1))
        _exit(1);
    stage_close(&s, 0);
    _exit(0);
}

Test(stage, of_runs_that_begin_at_once_at_most_one_goes_on)
{
    for (int round = 0; round < 200; round++) {
        int go[2], said[2], end[2], begun = 0, status;
        char won;
        cr_assert(pipe(go) == 0 && pipe(said) == 0 && pipe(end) == 0);
        for (int i = 0; i < 2; i++)
            if (!fork())
                begin_at_once(go, said, end);
        close(go[1]);
        for (int i = 0; i < 2; i++) {
            cr_assert_eq(read(said[0], &won, 1), 1);
            begun += won;
        }
        close(end[1]);
        while (wait(&status) > 0)
            cr_assert_eq(status, 0);
        cr_assert_leq(begun, 1, "round %d: each would replace what the other makes", round);
        for (int i = 0; i < 2; i++) {
            close(said[i]);
            close(i ? go[0] : end[0]);
        }
    }
}

Test(stage, an_older_set_of_which_a_dead_run_removed_a_part_goes)
{
    struct stage a, b;
    cr_assert_eq(stage_open(&a, dir, "tfwrite", 0), 0);
    put_set(&a);
    cr_assert_eq(stage_publish(&a, "", "manifest"), 0);
    stage_close(&a, 0);
    cr_assert_eq(stage_open(&a, dir, "tfwrite", 0), 0);
    put_set(&a); /* with the same names */
    struct buf kept = BUF_INIT;
    set_path(&kept, a.work, "older-manifest");
    cr_assert_eq(rename(in_dir("manifest"), kept.data), 0);
    cr_assert_eq(unlink(in_dir("x.index")), 0);
    put_text("mine", "not of that run");
    close(a.lock); /* as when the process dies */
    a.lock = -1;
    cr_assert_eq(stage_open(&b, dir, "tfwrite", 0), 0, "%s", err_get());
    cr_expect(look(a.work) == FILE_NONE && !there("x.tfrecord") && there("mine"));
    stage_close(&b, 0);
    stage_close(&a, 0);
    buf_release(&kept);
}

/* A process publishes a set, and ends while it removes it, as when there is no more memory. */
static void end_amid_removal(void)
{
    struct stage s;
    const pid_t child = fork();
    for (int again = 0; !child && again < 2; again++) {
        cr_assert_eq(stage_open(&s, dir, "tfwrite", 0), 0);
        put_set(&s);
        if (again) {
            rename(in_dir("x.tfrecord"), in_dir("aside"));
            file_mkdirs(in_dir("x.tfrecord/in the way"));
            exit(stage_forget(&s, "", "manifest") < 0 ? 1 : 0);
        }
        cr_assert_eq(stage_publish(&s, "", "manifest"), 0);
        stage_close(&s, 0);
    }
    int status;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 1);
}

Test(stage, an_older_set_of_which_a_run_without_memory_removed_a_part_goes)
{
    struct stage s;
    end_amid_removal();
    cr_expect(!there("manifest") && !there("x.index"));
    cr_assert_eq(temp_remove(in_dir("x.tfrecord")), 0);
    cr_assert_eq(rename(in_dir("aside"), in_dir("x.tfrecord")), 0);
    cr_assert_eq(stage_open(&s, dir, "tfwrite", 0), 0, "%s", err_get());
    cr_expect_not(there("x.tfrecord"));
    stage_close(&s, 0);
}

/* ---- a Megatron pair ------------------------------------------------------------------------- */

TestSuite(megatron_pair, .init = make_dir, .fini = remove_dir);

static int refused;

static int may_replace(const char *path)
{
    return refused ? err_set("not '%s'", path) : 0;
}

static int write_pair(const char *stream, int append_eod, uint64_t *sequences)
{
    struct intake s;
    struct buf prefix = BUF_INIT;
    set_path(&prefix, dir, "pair");
    struct megatron_pair p = { .prefix = prefix.data,
                               .append_eod = append_eod,
                               .provenance = "test",
                               .may_replace = may_replace };
    cr_assert_eq(intake_open(&s, in_dir(stream)), 0, "%s", err_get());
    int result = megatron_pair_write(&p, &s);
    intake_close(&s);
    buf_release(&prefix);
    *sequences = p.sequences;
    return result;
}

Test(megatron_pair, documents_are_sequences)
{
    uint32_t want[TOKENS + 1], ids[TOKENS];
    struct megatron m;
    struct buf prefix = BUF_INIT;
    uint64_t sequences;
    put_stream("stream");
    join(want);
    set_path(&prefix, dir, "pair");
    for (int eod = 1; eod >= 0; eod--) {
        cr_assert_eq(write_pair("stream", eod, &sequences), 0, "%s", err_get());
        cr_assert_eq(megatron_open(&m, prefix.data), 0, "%s", err_get());
        cr_expect(sequences == DOCUMENTS && m.sequences == DOCUMENTS && m.documents == DOCUMENTS);
        cr_assert_eq(m.tokens, TOKENS - (eod ? 0 : DOCUMENTS));
        cr_assert_eq(megatron_read(&m, 0, m.tokens, ids), 0);
        for (size_t i = 0, k = 0; i < m.tokens; k++)
            if (eod || want[k] != END)
                cr_assert_eq(ids[i++], want[k]);
        megatron_close(&m);
    }
    cr_expect(there("pair.manifest"));
    buf_release(&prefix);
}

Test(megatron_pair, what_is_there_may_stay)
{
    uint64_t sequences;
    put_stream("stream");
    refused = 1;
    cr_expect_eq(write_pair("stream", 1, &sequences), -1);
    expect_error("not '");
    cr_expect(!there("pair.bin") && !there("pair.idx") && !there("pair.manifest"));
}

Test(megatron_pair, no_documents)
{
    uint64_t sequences;
    put_documents("stream", 100, 0, END);
    cr_expect_eq(write_pair("stream", 1, &sequences), -1);
    expect_error("no documents");
    cr_expect(!there("pair.bin") && !there("pair.idx") && !there("pair.manifest"));
}
