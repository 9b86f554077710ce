#include "tfrecord/record_shard.h"

#include "tfrecord/index.h"
#include "tfrecord/record.h"

int record_shard_open(struct record_shard *s, const char *dir, uint32_t number, uint32_t all)
{
    struct buf name = BUF_INIT, data = BUF_INIT, index = BUF_INIT;
    *s = (struct record_shard) { .frame = BUF_INIT, .line = BUF_INIT };
    buf_addf(&name, "data-%05u-of-%05u.tfrecord", number, all);
    file_join(&data, dir, name.data);
    index_path(&index, data.data);
    int result = shard_open(&s->data, dir, name.data);
    if (!result)
        result = output_open(&s->index, index.data);
    buf_release(&name);
    buf_release(&data);
    buf_release(&index);
    return result;
}

int record_shard_put(struct record_shard *s, const void *message, size_t n)
{
    buf_clear(&s->frame);
    buf_clear(&s->line);
    record_frame(&s->frame, message, n);
    index_line(&s->line, s->data.bytes, s->frame.len);
    s->data.records++;
    if (shard_write(&s->data, s->frame.data, s->frame.len) < 0)
        return -1;
    return output_write(&s->index, s->line.data, s->line.len);
}

int record_shard_close(struct record_shard *s)
{
    return shard_close(&s->data) < 0 || output_close(&s->index) < 0 ? -1 : 0;
}

void record_shard_release(struct record_shard *s)
{
    shard_release(&s->data);
    output_abandon(&s->index);
    buf_release(&s->frame);
    buf_release(&s->line);
}
