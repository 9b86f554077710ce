#include "tfrecord/formats/index.h"

#include "common/base/le.h"
#include "tfrecord/formats/record.h"

typedef unsigned long long ull;

void index_release(struct record_index *index)
{
    free(index->blocks);
    free(index->excesses);
    *index = (struct record_index){ 0 };
}

/* ---- in memory ---------------------------------------------------------------------------- */

static int bytes_of(uint64_t v)
{
    return v ? (71 - __builtin_clzll(v)) / 8 : 0;
}

/* Stores the sizes of the last block, which is full, as differences (index.h). */
static void pack(struct record_index *index)
{
    struct index_block *b = &index->blocks[index->count / INDEX_BLOCK - 1];
    uint64_t most = b->least = index->last[0];
    for (int i = 1; i < INDEX_BLOCK; i++) {
        uint64_t size = index->last[i];
        b->least = size < b->least ? size : b->least;
        most = size > most ? size : most;
    }
    b->width = bytes_of(most - b->least);
    b->at = index->excess_bytes;
    size_t n = (size_t)b->width * INDEX_BLOCK;
    mem_grow(index->excesses, index->excess_cap, index->excess_bytes + n + sizeof(uint64_t));
    for (int i = 0; i < INDEX_BLOCK; i++)
        le_put_u64(index->excesses + b->at + (size_t)i * (size_t)b->width,
                   index->last[i] - b->least);
    index->excess_bytes += n;
}

/* Adds a record, which begins at the end of the one before. */
static void add(struct record_index *index, uint64_t offset, uint64_t bytes)
{
    size_t place = index->count % INDEX_BLOCK, block = index->count / INDEX_BLOCK;
    if (!place) {
        mem_grow(index->blocks, index->block_cap, block + 1);
        index->blocks[block] = (struct index_block){ .offset = offset };
    }
    index->last[place] = bytes;
    if (++index->count % INDEX_BLOCK == 0)
        pack(index);
}

uint64_t index_at(const struct record_index *index, uint64_t i)
{
    const struct index_block *b = &index->blocks[i / INDEX_BLOCK];
    uint64_t n = i % INDEX_BLOCK, sum = b->offset;
    if (i / INDEX_BLOCK == index->count / INDEX_BLOCK) {
        for (uint64_t k = 0; k < n; k++)
            sum += index->last[k];
        return sum;
    }
    sum += n * b->least;
    uint64_t mask = b->width < 8 ? ((uint64_t)1 << (8 * b->width)) - 1 : UINT64_MAX;
    const unsigned char *p = index->excesses + b->at;
    for (uint64_t k = 0; b->width && k < n; k++, p += b->width)
        sum += le_u64(p) & mask;
    return sum;
}

/* ---- files -------------------------------------------------------------------------------- */

struct buf index_path(const char *path)
{
    static const char ending[] = ".tfrecord";
    size_t n = strlen(path), m = sizeof ending - 1;
    return buf_format("%.*s.index", (int)(n > m && file_ends_with(path, ending) ? n - m : n), path);
}

void index_line(struct buf *out, uint64_t offset, uint64_t bytes)
{
    buf_addu(out, offset);
    buf_addc(out, ' ');
    buf_addu(out, bytes);
    buf_addc(out, '\n');
}

int index_write(const struct record_index *index, uint64_t bytes, const char *to)
{
    struct output out = { 0 };
    SCOPED(buf) line = BUF_INIT;
    int result = output_open(&out, to);
    for (uint64_t i = 0, at = 0, end; i < index->count && !result; i++, at = end) {
        end = i + 1 < index->count ? index_at(index, i + 1) : bytes;
        buf_clear(&line);
        index_line(&line, at, end - at);
        result = output_write(&out, line.data, line.len);
    }
    return output_end(&out, result);
}

int index_scan(struct record_index *index, const struct file_map *map, const char *path, int data)
{
    *index = (struct record_index){ 0 };
    struct record r;
    uint64_t offset = 0;
    int result;
    while ((result = data ? record_read(map, offset, &r) : record_skim(map, offset, &r)) > 0) {
        add(index, offset, record_end(&r) - offset);
        offset = record_end(&r);
    }
    if (result < 0) {
        record_where(path, index->count, offset);
        index_release(index);
    }
    return result;
}

/* Parses a decimal number at p into *v, and the character `stop` after it. Returns the position
 * after both, or NULL if they are not there. */
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
            return err_set(
                "line %llu says offset %llu and %llu bytes, but the file has %llu bytes and a record at byte %llu",
                (ull)index->count + 1, (ull)offset, (ull)size, (ull)bytes, (ull)at);
        add(index, offset, size);
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
