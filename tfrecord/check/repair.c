#include "tfrecord/check/repair.h"

#include "tfrecord/formats/index.h"
#include "tfrecord/formats/record.h"
#include "tfrecord/formats/record_file.h"

/* Sets *record to the next valid record from *offset on, and moves *offset to its end. Bad records
 * are reported and left out. Returns 1, or 0 at the end of the file. */
static int next_good(struct repair *r, const struct file_map *map, const char *path,
                     uint64_t *offset, struct record *record)
{
    int result;
    while ((result = record_read(map, *offset, record)) < 0) {
        record_where(path, r->good + r->bad, *offset);
        if (r->told)
            r->told(err_get());
        uint64_t after = record_after(map, *offset);
        r->bad++;
        r->lost_bytes += after - *offset;
        *offset = after;
    }
    if (!result)
        return 0;
    r->good++;
    *offset = record_end(record);
    return 1;
}

void repair_count(struct repair *r, const struct file_map *map, const char *path)
{
    struct record record;
    uint64_t offset = 0;
    while (next_good(r, map, path, &offset, &record))
        ;
}

static int copy_good(struct repair *r, const struct file_map *map, const char *path,
                     struct output *out, struct output *index)
{
    struct record record;
    SCOPED(buf) line = BUF_INIT;
    uint64_t offset = 0, to = 0;
    int result = 0;
    while (!result && next_good(r, map, path, &offset, &record)) {
        uint64_t bytes = record_end(&record) - record.offset;
        buf_clear(&line);
        index_line(&line, to, bytes);
        to += bytes;
        if (output_write(out, map->data + record.offset, bytes) < 0 ||
            output_write(index, line.data, line.len) < 0)
            result = -1;
    }
    return result;
}

int repair_file(struct repair *r, const char *path, const char *to)
{
    SCOPED_BY(record_file_close) struct record_file f = { 0 };
    struct output outs[2] = { { 0 }, { 0 } }; /* the records, and their index */
    SCOPED(buf) name = index_path(to);
    int whole = record_file_salvage(&f, path);
    if (!whole && r->told)
        r->told(err_get());
    int result = whole < 0 || output_open(&outs[0], to) < 0 ||
                         output_open(&outs[1], name.data) < 0 ||
                         copy_good(r, &f.records, path, &outs[0], &outs[1]) < 0
                     ? -1
                     : 0;
    if (!result && !r->good && (r->bad || !whole))
        result = err_set("'%s' has no good record: is it a TFRecord file?", path);
    if (!whole && !r->bad)
        r->bad = 1; /* a damaged compressed stream has lost at least one record */
    /* The output may replace the input. So the input stays until the whole output takes its name;
     * its index, which would not fit the output, is removed first. */
    if (!result)
        result = file_remove(name.data) < 0 ? -1 : file_sync_dir(name.data);
    result = output_end(&outs[0], result);
    return output_end(&outs[1], result);
}
