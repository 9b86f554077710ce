/* From documents to files: corpus, windows, manifest, stage. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/err.h"
#include "common/file.h"
#include "tfrecord/corpus.h"
#include "tfrecord/dataset.h"
#include "tfrecord/manifest.h"
#include "tfrecord/stage.h"
#include "tfrecord/windows.h"

static void expect_error(const char *part)
{
    cr_expect(strstr(err_get(), part), "error is '%s', without '%s'", err_get(), part);
}

static char dir[] = "/tmp/textmill-shards-XXXXXX";

static void setup(void)
{
    cr_assert(mkdtemp(dir));
}

static void teardown(void)
{
    file_remove_tree(dir);
}

static const char *in_dir(const char *name)
{
    static struct buf path = BUF_INIT;
    file_join(&path, dir, name);
    return path.data;
}

static void put_file(const char *name, const char *text)
{
    cr_assert_eq(file_write(in_dir(name), text, strlen(text)), 0);
}

static int there(const char *name)
{
    return file_exists(in_dir(name));
}

TestSuite(corpus, .init = setup, .fini = teardown);
TestSuite(windows, .init = setup, .fini = teardown);
TestSuite(manifest, .init = setup, .fini = teardown);
TestSuite(stage, .init = setup, .fini = teardown);

/* Document d has d + 1 tokens, all of them d. */
static void fill(struct corpus *c, uint32_t documents, int width)
{
    uint32_t ids[256];
    cr_assert_eq(corpus_open(c, in_dir("spill"), width), 0);
    for (uint32_t d = 0; d < documents; d++) {
        for (uint32_t i = 0; i <= d; i++)
            ids[i] = d;
        cr_assert_eq(corpus_add(c, ids, d + 1), 0);
    }
    cr_assert_eq(corpus_map(c), 0);
}

/* Reads the part in two ways and marks the documents seen. */
static void check_part(const struct corpus_part *p, int *seen)
{
    int64_t *whole = calloc(p->tokens + 1, sizeof *whole), one;
    enum { TOGETHER = 7 };
    corpus_read(p, 0, 0, p->tokens, whole);
    for (uint64_t i = 0; i < p->tokens; i += TOGETHER) {
        uint64_t at[TOGETHER], n = p->tokens - i < TOGETHER ? p->tokens - i : TOGETHER;
        size_t documents[TOGETHER];
        for (uint64_t k = 0; k < n; k++)
            at[k] = i + n - 1 - k;
        corpus_find(p, at, n, documents);
        for (uint64_t k = 0; k < n; k++) {
            corpus_read(p, documents[k], at[k], 1, &one);
            cr_assert_eq(one, whole[at[k]]);
        }
    }
    for (uint64_t i = 0; i < p->tokens; i += (uint64_t)whole[i] + 1) {
        seen[whole[i]]++;
        for (int64_t k = 0; k <= whole[i]; k++)
            cr_assert_eq(whole[i + (uint64_t)k], whole[i], "documents stay whole");
    }
    free(whole);
}

Test(corpus, split_deals_out_each_document_once)
{
    for (int width = 2; width <= 4; width += 2) {
        struct corpus c;
        struct corpus_part a, b;
        int seen[100] = { 0 };
        fill(&c, 100, width);
        cr_expect_not(there("spill"));
        corpus_split(&c, 5, 0.1, 0, 0, &a, &b);
        cr_expect_eq(a.tokens + b.tokens, 5050);
        cr_expect(a.tokens >= 505 && a.tokens < 505 + 100);
        check_part(&a, seen);
        check_part(&b, seen);
        for (int d = 0; d < 100; d++)
            cr_expect_eq(seen[d], 1);
        corpus_release(&c);
    }
}

Test(corpus, order_can_be_kept_without_changing_the_choice)
{
    struct corpus c, k;
    struct corpus_part a, b, ka, kb;
    int seen[100] = { 0 };
    fill(&c, 100, 2);
    fill(&k, 100, 2);
    corpus_split(&c, 5, 0.2, 0, 0, &a, &b);
    corpus_split(&k, 5, 0.2, 0, 1, &ka, &kb);
    cr_expect(a.count == ka.count && a.tokens == ka.tokens);
    check_part(&a, seen);
    check_part(&kb, seen);
    for (int d = 0; d < 100; d++)
        cr_expect_eq(seen[d], 1);
    for (size_t i = 1; i < kb.count; i++)
        cr_expect_lt(kb.documents[i - 1].start, kb.documents[i].start);
    size_t descents = 0;
    for (size_t i = 1; i < b.count; i++)
        descents += b.documents[i - 1].start > b.documents[i].start;
    cr_expect_gt(descents, 10, "a shuffle that does not shuffle");
    corpus_release(&c);
    corpus_release(&k);
}

Test(corpus, least_makes_room_for_a_record)
{
    struct corpus c;
    struct corpus_part a, b;
    fill(&c, 100, 2);
    corpus_split(&c, 1, 1e-9, 300, 0, &a, &b);
    cr_expect(a.tokens >= 300 && a.tokens < 400);
    corpus_release(&c);
    fill(&c, 100, 2);
    corpus_split(&c, 1, 0, 0, 0, &a, &b);
    cr_expect(a.tokens == 0 && a.count == 0 && b.tokens == 5050);
    corpus_release(&c);
}

/* How many windows there are, by trying. */
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
                    struct corpus_part p = { .tokens = tokens };
                    cr_assert_eq(windows_count(&w, &p), count_slowly(&w, tokens),
                                 "length %u stride %d tokens %d pad %d", length, (int)stride,
                                 (int)tokens, pad);
                }
}

static struct windows small(void)
{
    return (struct windows){ .sequence_length = 8, .stride = 8, .keep_order = 1, .shards = 3,
                             .end_of_text = 99, .seed = 1, .threads = 1 };
}

/* Writes documents 0..19 (210 tokens) and opens what was written. */
static struct dataset *written(const struct windows *w, const char *name)
{
    struct corpus c;
    struct corpus_part none, all;
    struct kv m = KV_INIT;
    const char *folder = strdup(in_dir(name));
    fill(&c, 20, 2);
    corpus_split(&c, w->seed, 0, 0, w->keep_order, &none, &all);
    cr_assert_eq(file_mkdirs(folder), 0);
    kv_add(&m, "textmill", "shards 1");
    kv_add(&m, "vocabulary", "100");
    kv_add(&m, "checksum", "00000000deadbeef");
    kv_addf(&m, "records", "%d", (int)windows_count(w, &all));
    cr_assert_eq(windows_write(w, &all, folder, &m), 0, "%s", err_get());
    struct buf path = BUF_INIT;
    file_join(&path, folder, "manifest");
    cr_assert_eq(manifest_write(&m, path.data), 0);
    struct dataset *d = dataset_open(&folder, 1, w->sequence_length + 1);
    cr_assert(d, "%s", err_get());
    cr_expect_eq(dataset_vocabulary(d), 100);
    cr_expect_eq(dataset_checksum(d), 0xdeadbeefu);
    kv_release(&m);
    buf_release(&path);
    corpus_release(&c);
    free((char *)folder);
    return d;
}

Test(windows, in_order_they_are_the_documents_end_to_end)
{
    struct windows w = small();
    struct dataset *d = written(&w, "out");
    uint32_t ids[9], joined[210], at = 0;
    for (uint32_t doc = 0; doc < 20; doc++)
        for (uint32_t i = 0; i <= doc; i++)
            joined[at++] = doc;
    cr_expect_eq(dataset_count(d), 26); /* (210 - 9) / 8 + 1 */
    cr_expect_eq(dataset_tokens(d), 26 * 8);
    for (uint64_t i = 0; i < dataset_count(d); i++) {
        cr_assert_eq(dataset_read(d, i, ids), 0, "%s", err_get());
        cr_expect_eq(memcmp(ids, joined + 8 * i, sizeof ids), 0);
    }
    dataset_close(d);
    cr_expect(there("out/data-00002-of-00003.index"));
}

Test(windows, the_last_piece_can_be_padded)
{
    struct windows w = small();
    w.pad = 1;
    struct dataset *d = written(&w, "out");
    uint32_t ids[9];
    cr_assert_eq(dataset_count(d), 27);
    cr_assert_eq(dataset_read(d, 26, ids), 0); /* tokens 208 and 209 are left */
    for (int i = 0; i < 9; i++)
        cr_expect_eq(ids[i], i < 2 ? 19 : 99);
    dataset_close(d);
}

static int by_ids(const void *a, const void *b)
{
    return memcmp(a, b, 9 * sizeof(uint32_t));
}

Test(windows, a_shuffle_moves_windows_and_loses_none)
{
    struct windows w = small(), s = small();
    uint32_t a[26][9], b[26][9];
    struct corpus c;
    struct corpus_part none, all;
    struct kv m = KV_INIT;
    fill(&c, 20, 2);
    corpus_split(&c, 1, 0, 0, 1, &none, &all);
    s.keep_order = 0;
    cr_assert_eq(file_mkdirs(in_dir("a")), 0);
    cr_assert_eq(file_mkdirs(in_dir("b")), 0);
    cr_assert_eq(windows_write(&w, &all, in_dir("a"), &m), 0);
    cr_assert_eq(windows_write(&s, &all, in_dir("b"), &m), 0);
    for (int side = 0; side < 2; side++) {
        const char *path = in_dir(side ? "b" : "a");
        struct dataset *d = dataset_open(&path, 1, 9);
        cr_assert(d && dataset_count(d) == 26);
        for (uint64_t i = 0; i < 26; i++)
            cr_assert_eq(dataset_read(d, i, side ? b[i] : a[i]), 0);
        dataset_close(d);
    }
    cr_expect_neq(memcmp(a, b, sizeof a), 0);
    qsort(a, 26, sizeof *a, by_ids);
    qsort(b, 26, sizeof *b, by_ids);
    cr_expect_eq(memcmp(a, b, sizeof a), 0);
    kv_release(&m);
    corpus_release(&c);
}

Test(windows, threads_do_not_change_the_bytes)
{
    struct windows w = small();
    struct buf lines[2] = { BUF_INIT, BUF_INIT };
    struct corpus c;
    struct corpus_part none, all;
    fill(&c, 20, 2);
    w.keep_order = 0;
    corpus_split(&c, 1, 0, 0, 0, &none, &all);
    for (int i = 0; i < 2; i++) {
        struct kv m = KV_INIT;
        w.threads = i ? 5 : 1;
        cr_assert_eq(file_mkdirs(in_dir(i ? "a" : "b")), 0);
        cr_assert_eq(windows_write(&w, &all, in_dir(i ? "a" : "b"), &m), 0);
        kv_print(&m, &lines[i]); /* with the CRC of each file */
        kv_release(&m);
    }
    cr_expect_str_eq(lines[0].data, lines[1].data);
    cr_expect(strstr(lines[0].data, "data-00002-of-00003.tfrecord records=8 "));
    buf_release(&lines[0]);
    buf_release(&lines[1]);
    corpus_release(&c);
}

Test(windows, there_are_no_empty_shards)
{
    struct windows w = small();
    w.shards = 1000;
    struct dataset *d = written(&w, "out");
    cr_expect_eq(dataset_count(d), 26);
    cr_expect(there("out/data-00025-of-00026.tfrecord"));
    dataset_close(d);
}

Test(windows, a_folder_that_cannot_be_written_is_an_error)
{
    struct windows w = small();
    struct corpus c;
    struct corpus_part none, all;
    struct kv m = KV_INIT;
    fill(&c, 20, 2);
    corpus_split(&c, 1, 0, 0, 0, &none, &all);
    w.threads = 4;
    cr_expect_eq(windows_write(&w, &all, in_dir("missing"), &m), -1);
    expect_error("cannot create");
    kv_release(&m);
    corpus_release(&c);
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
    kv_add(&kv, "textmill", "shards 1");
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

Test(manifest, refuses_other_files)
{
    static const char *const bad[] = {
        "", "textmill=tokens 1\nrecords=1\n", "textmill=shards 1\n", "no lines\n",
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
        put_file("manifest", bad[i]);
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
        file_join(&path, s->work, names[i]);
        cr_assert_eq(file_write(path.data, "new", 3), 0);
    }
    file_join(&path, s->work, "manifest");
    cr_assert_eq(file_write(path.data, MANIFEST, sizeof MANIFEST - 1), 0);
    buf_release(&path);
}

Test(stage, publishes_what_the_manifest_lists)
{
    struct stage s;
    cr_assert_eq(stage_open(&s, in_dir("out"), "tfwrite"), 0, "%s", err_get());
    put_set(&s);
    cr_expect_not(there("out/x.tfrecord"));
    cr_assert_eq(stage_publish(&s, "", "manifest"), 0, "%s", err_get());
    stage_close(&s, 0);
    cr_expect(there("out/x.tfrecord") && there("out/x.index") && there("out/manifest"));
    cr_expect_not(there("out/scrap"));
    struct file_names left;
    cr_assert_eq(file_list(&left, in_dir("out"), ""), 0);
    cr_expect_eq(left.count, 3);
    file_names_free(&left);
    cr_assert_eq(stage_forget(in_dir("out"), "manifest"), 0);
    cr_assert_eq(file_list(&left, in_dir("out"), ""), 0);
    cr_expect_eq(left.count, 0);
    file_names_free(&left);
}

Test(stage, nothing_is_left_of_a_failed_run)
{
    struct stage s;
    cr_assert_eq(stage_open(&s, in_dir("out"), "tfwrite"), 0);
    put_set(&s);
    err_set("what went wrong");
    stage_close(&s, 1);
    cr_expect_str_eq(err_get(), "what went wrong");
    cr_expect_not(there("out"));
    cr_assert_eq(file_mkdirs(in_dir("old")), 0);
    cr_assert_eq(stage_open(&s, in_dir("old"), "tfwrite"), 0);
    stage_close(&s, 1);
    cr_expect(there("old"), "a folder that was there stays");
}

Test(stage, publishing_is_undone_when_it_fails)
{
    struct stage s;
    cr_assert_eq(stage_open(&s, in_dir("out"), "tfwrite"), 0);
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
    cr_assert_eq(stage_open(&a, dir, "tfwrite"), 0);
    put_set(&a);
    cr_expect_eq(stage_open(&b, dir, "tfwrite"), -1);
    expect_error("another tfwrite writes to");
    cr_expect_eq(stage_open(&b, dir, "other"), 0, "another name is another output");
    stage_close(&b, 0);
    close(a.lock); /* as when the process dies, having moved one file */
    a.lock = -1;
    put_file("x.tfrecord", "moved");
    put_file("mine", "not of that run");
    char *work = strdup(a.work);
    cr_assert_eq(rename(work, in_dir("tfwrite.tmp-1")), 0);
    cr_assert_eq(stage_open(&b, dir, "tfwrite"), 0, "%s", err_get());
    cr_expect(!there("tfwrite.tmp-1") && !there("x.tfrecord") && there("mine"));
    stage_close(&b, 0);
    stage_close(&a, 0);
    free(work);
}
