#include "tfrecord/index.h"

#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "common/mem.h"
#include "tfrecord/record.h"

typedef unsigned long long ull;

void index_release(struct record_index *index)
{
    free(index->offsets);
    *index = (struct record_index){ 0 };
}

void index_path(struct buf *out, const char *path)
{
    static const char ending[] = ".tfrecord";
    size_t n = strlen(path), m = sizeof ending - 1;
    buf_clear(out);
    buf_add(out, path, n > m && !strcmp(path + n - m, ending) ? n - m : n);
    buf_adds(out, ".index");
}

void index_line(struct buf *out, uint64_t offset, uint64_t bytes)
{
    buf_addf(out, "%llu %llu\n", (ull)offset, (ull)bytes);
}

static void add(struct record_index *index, uint64_t offset)
{
    mem_grow(index->offsets, index->cap, index->count + 1);
    index->offsets[index->count++] = offset;
}

int index_scan(struct record_index *index, const struct file_map *map, const char *path, int data)
{
    *index = (struct record_index){ 0 };
    struct record r;
    uint64_t offset = 0;
    int result;
    while ((result = data ? record_read(map, offset, &r) : record_skim(map, offset, &r)) > 0) {
        add(index, offset);
        offset = record_end(&r);
    }
    if (result < 0) {
        record_where(path, index->count, offset);
        index_release(index);
    }
    return result;
}

/* A decimal number and the character after it; NULL if there is none. */
static const char *number(const char *p, const char *end, char stop, uint64_t *v)
{
    const char *begin = p;
    for (*v = 0; p < end && *p >= '0' && *p <= '9'; p++)
        if (__builtin_mul_overflow(*v, 10, v) || __builtin_add_overflow(*v, *p - '0', v))
            return NULL;
    return p > begin && p < end && *p == stop ? p + 1 : NULL;
}

static int parse(struct record_index *index, const char *p, const char *end, uint64_t bytes)
{
    uint64_t offset, size, at = 0;
    while (p < end) {
        p = number(p, end, ' ', &offset);
        p = p ? number(p, end, '\n', &size) : NULL;
        if (!p)
            return err_set("line %llu is not '<offset> <bytes>'", (ull)index->count + 1);
        if (offset != at || size < RECORD_FRAME_BYTES || size > bytes - at)
            return err_set("line %llu says %llu %llu, the file has %llu bytes and a record at %llu",
                           (ull)index->count + 1, (ull)offset, (ull)size, (ull)bytes, (ull)at);
        add(index, offset);
        at += size;
    }
    if (at != bytes)
        return err_set("ends at byte %llu of %llu, after %llu records", (ull)at, (ull)bytes,
                       (ull)index->count);
    return 0;
}

int index_load(struct record_index *index, const char *path, uint64_t bytes)
{
    *index = (struct record_index){ 0 };
    struct file_map map;
    if (file_map(&map, path) < 0)
        return -1;
    const char *text = map.data ? (const char *)map.data : "";
    int result = parse(index, text, text + map.bytes, bytes);
    if (result < 0) {
        err_in("%s", path);
        index_release(index);
    }
    file_unmap(&map);
    return result;
}
