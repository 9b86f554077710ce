#include "tfrecord/windows.h"

#include <stdlib.h>

#include "common/err.h"
#include "common/mem.h"
#include "common/pool.h"
#include "common/rng.h"
#include "tfrecord/example.h"
#include "tfrecord/manifest.h"
#include "tfrecord/record_shard.h"

enum { KEY_WINDOWS = 2 }; /* names this shuffle among those of one seed */
enum { GROUP = 64 };      /* windows that are looked up together */

uint64_t windows_count(const struct windows *w, const struct corpus_part *p)
{
    uint64_t length = (uint64_t)w->sequence_length + 1;
    uint64_t whole = p->tokens < length ? 0 : (p->tokens - length) / w->stride + 1;
    uint64_t covered = whole ? (whole - 1) * w->stride + length : 0;
    /* A piece needs a token to read and one to predict, and the latter must be a new one. */
    int piece = p->tokens > covered && p->tokens > whole * w->stride + 1;
    return whole + (w->pad && piece);
}

/* The writing of one part, shared by its threads. */
struct job {
    const struct windows *w;
    const struct corpus_part *part;
    struct shard_set set;
    uint64_t *order; /* NULL: as they are */
    uint64_t count;
    struct shard *done; /* [shards] */
    char **errors;      /* [shards]; NULL where all went well */
    uint64_t written;   /* by all threads */
};

/* A thread's working memory for one shard. */
struct bench {
    struct record_shard shard;
    int64_t *ids;
    struct buf message;
};

/* The window that begins at a token, in `document`. */
static void cut(const struct job *j, uint64_t at, size_t document, int64_t *ids)
{
    uint64_t left = j->part->tokens - at;
    size_t length = (size_t)j->w->sequence_length + 1, n = left < length ? (size_t)left : length;
    corpus_read(j->part, document, at, n, ids);
    for (; n < length; n++)
        ids[n] = j->w->end_of_text;
}

static int put_window(const struct job *j, struct bench *b, uint64_t at, size_t document)
{
    size_t length = (size_t)j->w->sequence_length + 1;
    struct feature feature = { "input_ids", FEATURE_INTS, b->ids, length };
    cut(j, at, document, b->ids);
    buf_clear(&b->message);
    example_encode(&b->message, &feature, 1);
    return record_shard_put(&b->shard, b->message.data, b->message.len);
}

/* Some windows, [begin, begin + n) in the order of the shards. */
static int put_group(const struct job *j, struct bench *b, uint64_t begin, size_t n)
{
    uint64_t at[GROUP];
    size_t documents[GROUP];
    for (size_t i = 0; i < n; i++)
        at[i] = (j->order ? j->order[begin + i] : begin + i) * j->w->stride;
    corpus_find(j->part, at, n, documents);
    for (size_t i = 0; i < n; i++)
        if (put_window(j, b, at[i], documents[i]) < 0)
            return -1;
    return 0;
}

static int put_windows(struct job *j, struct bench *b, uint64_t begin, uint64_t end, int thread)
{
    uint64_t kept = record_shard_skip(&b->shard);
    if (kept > end - begin)
        return err_set("%s: has %llu records of an interrupted run, and should have %llu",
                       b->shard.data.name, (unsigned long long)kept,
                       (unsigned long long)(end - begin));
    begin += kept;
    for (size_t n; begin < end; begin += n) {
        n = end - begin < GROUP ? (size_t)(end - begin) : GROUP;
        if (put_group(j, b, begin, n) < 0)
            return -1;
        uint64_t written = __atomic_add_fetch(&j->written, n, __ATOMIC_RELAXED);
        if (!thread && j->w->written)
            j->w->written(written);
    }
    return 0;
}

static int open_bench(const struct job *j, struct bench *b, uint32_t shard)
{
    b->message = (struct buf)BUF_INIT;
    b->ids = mem_zalloc((size_t)j->w->sequence_length + 1, sizeof *b->ids);
    return record_shard_open(&b->shard, &j->set, shard);
}

static void release_bench(struct bench *b)
{
    record_shard_release(&b->shard);
    buf_release(&b->message);
    free(b->ids);
}

static void write_shard(void *ctx, int64_t shard, int thread)
{
    struct job *j = ctx;
    struct bench b;
    uint64_t n = j->count, shards = j->set.count;
    uint64_t begin = n / shards * (uint64_t)shard, rest = n % shards;
    begin += (uint64_t)shard < rest ? (uint64_t)shard : rest;
    uint64_t end = begin + n / shards + ((uint64_t)shard < rest);
    if (open_bench(j, &b, (uint32_t)shard) < 0 || put_windows(j, &b, begin, end, thread) < 0 ||
        record_shard_close(&b.shard) < 0) {
        j->errors[shard] = mem_strdup(err_get());
    } else {
        j->done[shard] = b.shard.data;
        b.shard.data.name = NULL;
    }
    release_bench(&b);
}

static uint64_t *make_order(const struct windows *w, uint64_t count)
{
    if (w->keep_order)
        return NULL;
    uint64_t *order = mem_zalloc(count, sizeof *order);
    struct rng r = { rng_key(rng_key(0, w->seed), KEY_WINDOWS), 0 };
    for (uint64_t i = 0; i < count; i++)
        order[i] = i;
    rng_shuffle(&r, order, count);
    return order;
}

/* Lists the shards in the manifest, or takes the first error. */
static int gather(struct job *j, struct kv *manifest)
{
    int result = 0;
    for (uint32_t i = 0; i < j->set.count; i++) {
        if (j->errors[i] && !result)
            result = err_set("%s", j->errors[i]);
        if (!result)
            manifest_add_shard(manifest, &j->done[i]);
        free(j->done[i].name);
        free(j->errors[i]);
    }
    return result;
}

int windows_write(const struct windows *w, const struct corpus_part *p, const char *dir,
                  struct kv *manifest)
{
    struct job j = { .w = w, .part = p, .count = windows_count(w, p) };
    uint32_t shards = j.count < w->shards ? (uint32_t)j.count : w->shards;
    j.set = (struct shard_set) { dir, shards, w->compression, w->resume };
    j.order = make_order(w, j.count);
    j.done = mem_zalloc(shards, sizeof *j.done);
    j.errors = mem_zalloc(shards, sizeof *j.errors);
    struct pool *pool = pool_new(w->threads);
    pool_each(pool, shards, write_shard, &j);
    pool_free(pool);
    int result = gather(&j, manifest);
    free(j.order);
    free(j.done);
    free(j.errors);
    return result;
}
