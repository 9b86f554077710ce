/* Input: a length, so many bytes of index text, and a TFRecord file. The CRCs of the file's lengths
 * are corrected first, so that the fuzzer gets past them. */
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/crc32c.h"
#include "common/base/le.h"
#include "tfrecord/check/repair.h"
#include "tfrecord/formats/index.h"
#include "tfrecord/formats/record.h"

static void mend(unsigned char *p, size_t n)
{
    for (size_t at = 0; n - at >= RECORD_FRAME_BYTES;) {
        uint64_t bytes = le_u64(p + at);
        le_put_u32(p + at + 8, crc32c_mask(crc32c(0, p + at, 8)));
        if (bytes > n - at - RECORD_FRAME_BYTES)
            return;
        unsigned char *data = p + at + RECORD_HEAD_BYTES;
        if (bytes % 8) /* every eighth or so stays damaged */
            le_put_u32(data + bytes, crc32c_mask(crc32c(0, data, bytes)));
        at += RECORD_FRAME_BYTES + bytes;
    }
}

/* Checks that the records follow each other without gaps and fill the file. */
static void check(const struct record_index *index, const struct file_map *map)
{
    uint64_t end = 0;
    for (uint64_t i = 0; i < index->count; i++) {
        struct record r;
        assert(index_at(index, i) == end && record_skim(map, end, &r) == 1);
        end = record_end(&r);
    }
    assert(end == map->bytes);
}

/* Checks that good and bad records together fill the file, and that there are bad ones if and only
 * if index_scan fails. */
static void count_good(const struct file_map *map)
{
    struct record_index index;
    struct repair r = { 0 };
    repair_count(&r, map, "fuzz");
    assert(r.lost_bytes <= map->bytes && !r.bad == !r.lost_bytes);
    assert(!r.bad == (index_scan(&index, map, "fuzz", 1) == 0));
    index_release(&index);
}

static void load_index(const uint8_t *text, size_t n, uint64_t bytes)
{
    static char path[64];
    struct record_index index;
    if (!*path)
        snprintf(path, sizeof path, "/tmp/textmill-fuzz-index-%ld", (long)getpid());
    FILE *f = fopen(path, "wb");
    if (!f)
        return;
    fwrite(text, 1, n, f);
    fclose(f);
    if (index_load(&index, path, bytes) == 0) {
        assert(!index.count == !bytes && (!index.count || index_at(&index, 0) == 0));
        for (uint64_t i = 1; i < index.count; i++)
            assert(index_at(&index, i) >= index_at(&index, i - 1) + RECORD_FRAME_BYTES);
        index_release(&index);
    }
    unlink(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct record_index index;
    if (!size)
        return 0;
    size_t text = data[0] < size ? data[0] : size - 1, n = size - 1 - text;
    unsigned char *file = malloc(n + 1);
    memcpy(file, data + 1 + text, n);
    struct file_map map = { file, n };
    for (int mended = 0; mended < 2; mended++) {
        for (int with_data = 0; with_data < 2; with_data++) {
            if (index_scan(&index, &map, "fuzz", with_data) == 0)
                check(&index, &map);
            index_release(&index);
        }
        count_good(&map);
        mend(file, n);
    }
    load_index(data + 1, text, n);
    free(file);
    return 0;
}
