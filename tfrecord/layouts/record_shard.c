#include "tfrecord/layouts/record_shard.h"

#include "common/base/crc32c.h"
#include "tfrecord/formats/index.h"
#include "tfrecord/formats/record.h"

/* ---- opening ------------------------------------------------------------------------------ */

static int put_line(struct record_shard *s, uint64_t offset, uint64_t bytes)
{
    buf_clear(&s->line);
    index_line(&s->line, offset, bytes);
    return output_write(&s->index, s->line.data, s->line.len);
}

/* Opens the earlier run's file. Returns 1; 0 if it cannot be continued, because a compressed file
 * is usable only if it is complete; or -1 with an error. */
static int open_old(struct record_shard *s, enum compression how, const char *path)
{
    if (how != COMPRESS_NONE) {
        int whole = record_file_salvage(&s->old, path);
        return whole <= 0 ? whole : s->old.how == how;
    }
    if (file_map(&s->old.packed, path) < 0)
        return -1;
    s->old.records = s->old.packed;
    return 1;
}

/* Continues after the valid records of the file at `path`, or starts it again. */
static int keep(struct record_shard *s, const struct shard_set *set, const char *name,
                const char *path)
{
    struct record r;
    uint64_t records = 0;
    int there = open_old(s, set->compression, path);
    if (there < 0)
        return -1;
    for (; there && record_read(&s->old.records, s->kept_bytes, &r) > 0; records++) {
        if (!s->compress && put_line(s, s->kept_bytes, record_end(&r) - s->kept_bytes) < 0)
            return -1;
        s->kept_bytes = record_end(&r);
    }
    s->whole = there && s->compress && s->kept_bytes == s->old.records.bytes;
    if (s->compress && !s->whole) {
        s->kept_bytes = 0;
        return shard_open(&s->data, set->dir, name);
    }
    uint64_t bytes = s->whole ? s->old.packed.bytes : s->kept_bytes;
    return shard_resume(&s->data, set->dir, name, records, bytes,
                        crc32c(0, s->old.packed.data, bytes));
}

int record_shard_open(struct record_shard *s, const struct shard_set *set, uint32_t number)
{
    int result = 0, old = FILE_NONE;
    *s = (struct record_shard){
        .resume = set->resume, .frame = BUF_INIT, .packed = BUF_INIT, .line = BUF_INIT
    };
    SCOPED(buf) name = buf_format("data-%05u-of-%05u.tfrecord", number, set->count);
    SCOPED(buf) path = file_path(set->dir, name.data), index = index_path(path.data);
    if (set->compression == COMPRESS_NONE)
        result = output_open(&s->index, index.data);
    else if (!(s->compress = compress_new(set->compression)))
        result = -1;
    if (!result && set->resume)
        old = file_look(path.data);
    if (result < 0 || old < 0)
        return -1;
    return old ? keep(s, set, name.data, path.data) : shard_open(&s->data, set->dir, name.data);
}

/* ---- records ------------------------------------------------------------------------------ */

static int other_records(const struct record_shard *s)
{
    return err_set(
        "%s: the record at byte %llu is not from this run: it was made from other documents or "
        "options (run without --resume to start over)",
        s->data.name, (unsigned long long)s->compared);
}

int record_shard_put_frame(struct record_shard *s, const void *frame, size_t n)
{
    if (s->compared < s->kept_bytes) {
        if (n > s->kept_bytes - s->compared ||
            memcmp(s->old.records.data + s->compared, frame, n) != 0)
            return other_records(s);
        s->compared += n;
        return 0;
    }
    if (s->whole)
        return other_records(s);
    s->data.records++;
    if (!s->compress)
        return put_line(s, s->data.bytes, n) < 0 ? -1 : shard_write(&s->data, frame, n);
    buf_clear(&s->packed);
    compress_add(s->compress, frame, n, &s->packed);
    return s->packed.len ? shard_write(&s->data, s->packed.data, s->packed.len) : 0;
}

int record_shard_put(struct record_shard *s, const void *message, size_t n)
{
    buf_clear(&s->frame);
    record_frame(&s->frame, message, n);
    return record_shard_put_frame(s, s->frame.data, s->frame.len);
}

/* ---- closing ------------------------------------------------------------------------------ */

int record_shard_close(struct record_shard *s, struct kv *manifest)
{
    if (s->compared < s->kept_bytes)
        return other_records(s);
    if (s->compress && !s->whole) {
        buf_clear(&s->packed);
        compress_end(s->compress, &s->packed);
        if (shard_write(&s->data, s->packed.data, s->packed.len) < 0)
            return -1;
    }
    if (shard_close(&s->data) < 0 || (!s->compress && output_close(&s->index) < 0))
        return -1;
    manifest_add_shard(manifest, &s->data);
    return 0;
}

void record_shard_release(struct record_shard *s)
{
    if (s->resume)
        output_leave(&s->data.out);
    shard_release(&s->data);
    output_abandon(&s->index);
    compress_free(s->compress);
    record_file_close(&s->old);
    buf_release(&s->frame);
    buf_release(&s->packed);
    buf_release(&s->line);
}
