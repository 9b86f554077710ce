#include "tfrecord/formats/record.h"

#include "common/base/crc32c.h"
#include "common/base/le.h"

typedef unsigned long long ull;

int record_skim(const struct file_map *map, uint64_t offset, struct record *r)
{
    if (offset == map->bytes)
        return 0;
    if (offset > map->bytes)
        return err_set("the file has only %llu bytes", (ull)map->bytes);
    uint64_t left = map->bytes - offset;
    if (left < RECORD_HEAD_BYTES)
        return err_set("cut short: it has %llu of the 12 bytes of a record's header", (ull)left);
    const unsigned char *p = map->data + offset;
    uint32_t crc = crc32c_mask(crc32c(0, p, 8));
    if (crc != le_u32(p + 8) && !offset && p[7]) /* no file has so long a record */
        return err_set("this is not a TFRecord file: 'tokenize | tfwrite' makes them of a text");
    if (crc != le_u32(p + 8))
        return err_set("%slength is damaged: its checksum is %08x and should be %08x",
                       offset ? "" : "this is not a TFRecord file, or its ", le_u32(p + 8), crc);
    uint64_t bytes = le_u64(p);
    if (left < RECORD_FRAME_BYTES || bytes > left - RECORD_FRAME_BYTES)
        return err_set(
            "cut short: a record of %llu bytes and its checksum do not fit: the file has only %llu bytes more",
            (ull)bytes, (ull)(left - RECORD_HEAD_BYTES));
    *r = (struct record){ p + RECORD_HEAD_BYTES, bytes, offset };
    return 1;
}

int record_read(const struct file_map *map, uint64_t offset, struct record *r)
{
    int result = record_skim(map, offset, r);
    if (result <= 0)
        return result;
    uint32_t crc = crc32c_mask(crc32c(0, r->data, r->bytes)), stored = le_u32(r->data + r->bytes);
    if (crc != stored)
        return err_set("data is damaged: its checksum is %08x and should be %08x", stored, crc);
    return 1;
}

uint64_t record_after(const struct file_map *map, uint64_t offset)
{
    struct record r;
    if (record_skim(map, offset, &r) > 0)
        return record_end(&r);
    for (offset++; offset < map->bytes; offset++)
        if (record_read(map, offset, &r) > 0)
            return offset;
    return map->bytes;
}

void record_frame(struct buf *out, const void *data, size_t n)
{
    unsigned char head[RECORD_HEAD_BYTES], tail[4];
    le_put_u64(head, n);
    le_put_u32(head + 8, crc32c_mask(crc32c(0, head, 8)));
    le_put_u32(tail, crc32c_mask(crc32c(0, data, n)));
    buf_reserve(out, n + RECORD_FRAME_BYTES);
    buf_add(out, head, sizeof head);
    buf_add(out, data, n);
    buf_add(out, tail, sizeof tail);
}

int record_where(const char *path, uint64_t number, uint64_t offset)
{
    return err_in("%s: record %llu at byte %llu", path, (ull)number, (ull)offset);
}
