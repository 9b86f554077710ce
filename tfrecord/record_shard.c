#include "tfrecord/record_shard.h"

#include <assert.h>
#include <string.h>

#include "common/err.h"
#include "tfrecord/crc32c.h"
#include "tfrecord/index.h"
#include "tfrecord/record.h"

/* ---- opening ------------------------------------------------------------------------------ */

static int open_index(struct record_shard *s, const char *path)
{
    struct buf index = BUF_INIT;
    index_path(&index, path);
    int result = output_open(&s->index, index.data);
    buf_release(&index);
    return result;
}

static int put_line(struct record_shard *s, uint64_t offset, uint64_t bytes)
{
    buf_clear(&s->line);
    index_line(&s->line, offset, bytes);
    return output_write(&s->index, s->line.data, s->line.len);
}

/* Finds the good records of the file at `path`, which the index gets, and goes on after them. */
static int keep(struct record_shard *s, const struct shard_set *set, const char *name,
                const char *path)
{
    struct record r;
    uint64_t bytes = 0;
    if (file_map(&s->old, path) < 0)
        return -1;
    for (; record_read(&s->old, bytes, &r) > 0; s->kept_records++, bytes = record_end(&r))
        if (put_line(s, bytes, record_end(&r) - bytes) < 0)
            return -1;
    s->kept_bytes = bytes;
    return shard_resume(&s->data, set->dir, name, s->kept_records, bytes,
                        crc32c(0, s->old.data, bytes));
}

int record_shard_open(struct record_shard *s, const struct shard_set *set, uint32_t number)
{
    struct buf name = BUF_INIT, path = BUF_INIT;
    int result = 0;
    assert(!set->resume || set->compression == COMPRESS_NONE);
    *s = (struct record_shard) {
        .resume = set->resume, .frame = BUF_INIT, .packed = BUF_INIT, .line = BUF_INIT
    };
    buf_addf(&name, "data-%05u-of-%05u.tfrecord", number, set->count);
    file_join(&path, set->dir, name.data);
    if (set->compression == COMPRESS_NONE)
        result = open_index(s, path.data);
    else if (!(s->compress = compress_new(set->compression)))
        result = -1;
    if (!result && set->resume && file_exists(path.data))
        result = keep(s, set, name.data, path.data);
    else if (!result)
        result = shard_open(&s->data, set->dir, name.data);
    buf_release(&name);
    buf_release(&path);
    return result;
}

/* ---- records ------------------------------------------------------------------------------ */

uint64_t record_shard_skip(struct record_shard *s)
{
    assert(!s->compared);
    s->compared = s->kept_bytes;
    return s->kept_records;
}

static int other_records(const struct record_shard *s)
{
    return err_set("%s: the record at byte %llu is not this run's: other documents or options "
                   "made it (without --resume it starts over)",
                   s->data.name, (unsigned long long)s->compared);
}

static int compare(struct record_shard *s)
{
    uint64_t left = s->kept_bytes - s->compared;
    if (s->frame.len > left ||
        memcmp(s->old.data + s->compared, s->frame.data, s->frame.len) != 0)
        return other_records(s);
    s->compared += s->frame.len;
    return 0;
}

static int put_plain(struct record_shard *s)
{
    if (put_line(s, s->data.bytes, s->frame.len) < 0)
        return -1;
    return shard_write(&s->data, s->frame.data, s->frame.len);
}

static int put_packed(struct record_shard *s)
{
    buf_clear(&s->packed);
    compress_add(s->compress, s->frame.data, s->frame.len, &s->packed);
    return s->packed.len ? shard_write(&s->data, s->packed.data, s->packed.len) : 0;
}

int record_shard_put(struct record_shard *s, const void *message, size_t n)
{
    buf_clear(&s->frame);
    record_frame(&s->frame, message, n);
    if (s->compared < s->kept_bytes)
        return compare(s);
    s->data.records++;
    return s->compress ? put_packed(s) : put_plain(s);
}

/* ---- closing ------------------------------------------------------------------------------ */

int record_shard_close(struct record_shard *s)
{
    if (s->compared < s->kept_bytes)
        return other_records(s);
    if (s->compress) {
        buf_clear(&s->packed);
        compress_end(s->compress, &s->packed);
        if (shard_write(&s->data, s->packed.data, s->packed.len) < 0)
            return -1;
    }
    if (shard_close(&s->data) < 0)
        return -1;
    return s->compress ? 0 : output_close(&s->index);
}

void record_shard_release(struct record_shard *s)
{
    if (s->resume)
        output_leave(&s->data.out);
    shard_release(&s->data);
    output_abandon(&s->index);
    compress_free(s->compress);
    file_unmap(&s->old);
    buf_release(&s->frame);
    buf_release(&s->packed);
    buf_release(&s->line);
}
