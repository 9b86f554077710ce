#include "tfrecord/record_shard.h"

#include "tfrecord/index.h"
#include "tfrecord/record.h"

static int open_index(struct record_shard *s, const char *dir, const char *name)
{
    struct buf data = BUF_INIT, index = BUF_INIT;
    file_join(&data, dir, name);
    index_path(&index, data.data);
    int result = output_open(&s->index, index.data);
    buf_release(&data);
    buf_release(&index);
    return result;
}

int record_shard_open(struct record_shard *s, const struct shard_set *set, uint32_t number)
{
    struct buf name = BUF_INIT;
    *s = (struct record_shard) { .frame = BUF_INIT, .packed = BUF_INIT, .line = BUF_INIT };
    buf_addf(&name, "data-%05u-of-%05u.tfrecord", number, set->count);
    int result = shard_open(&s->data, set->dir, name.data);
    if (!result && set->compression == COMPRESS_NONE)
        result = open_index(s, set->dir, name.data);
    else if (!result && !(s->compress = compress_new(set->compression)))
        result = -1;
    buf_release(&name);
    return result;
}

static int put_plain(struct record_shard *s)
{
    buf_clear(&s->line);
    index_line(&s->line, s->data.bytes, s->frame.len);
    if (shard_write(&s->data, s->frame.data, s->frame.len) < 0)
        return -1;
    return output_write(&s->index, s->line.data, s->line.len);
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
    s->data.records++;
    return s->compress ? put_packed(s) : put_plain(s);
}

int record_shard_close(struct record_shard *s)
{
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
    shard_release(&s->data);
    output_abandon(&s->index);
    compress_free(s->compress);
    buf_release(&s->frame);
    buf_release(&s->packed);
    buf_release(&s->line);
}
