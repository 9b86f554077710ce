#include "tfrecord/formats/record_file.h"

#include "common/files/spill.h"
#include "tfrecord/formats/record.h"

enum { HELD_MAX = 1 << 18 }; /* bytes in memory per file; there may be thousands of files */

struct unpacking {
    struct spill *to;
    int failed; /* 1: the disk failed, not the stream */
};

static int put(void *ctx, const void *bytes, size_t n)
{
    struct unpacking *u = ctx;
    u->failed = spill_add(u->to, bytes, n) < 0;
    return u->failed ? -1 : 0;
}

/* Adds to the error the number and offset of the record in which a stream breaks: the first
 * incomplete record in the unpacked data. */
static void name_record(const struct file_map *records, const char *path)
{
    struct err why = err_keep();
    struct record r;
    uint64_t offset = 0, number = 0;
    for (; record_skim(records, offset, &r) > 0; number++)
        offset = record_end(&r);
    err_restore(&why);
    record_where(path, number, offset);
}

/* Unpacks the file into f->unpacked. Returns 1; 0 with an error if the stream is damaged, and then
 * f->records is what precedes the damage; or -1 with an error. */
static int unpack(struct record_file *f, const char *path)
{
    struct spill *s = f->unpacked = mem_alloc(sizeof *s);
    struct unpacking u = { s, 0 };
    spill_init(s, HELD_MAX);
    int good = compress_unpack(f->how, f->packed.data, f->packed.bytes, put, &u) == 0;
    if (u.failed || spill_finish(s) < 0)
        return err_in("cannot unpack '%s'", path);
    f->records = (struct file_map){ (const unsigned char *)s->data, s->bytes };
    if (!good)
        name_record(&f->records, path);
    return good;
}

int record_file_salvage(struct record_file *f, const char *path)
{
    struct record r;
    *f = (struct record_file){ .how = COMPRESS_NONE };
    if (file_map(&f->packed, path) < 0)
        return -1;
    f->records = f->packed;
    if (record_skim(&f->packed, 0, &r) > 0)
        return 1;
    if (file_check_pointer(path, f->packed.data, f->packed.bytes) < 0)
        return -1;
    f->how = compress_recognise(f->packed.data, f->packed.bytes);
    return f->how == COMPRESS_NONE ? 1 : unpack(f, path);
}

int record_file_open(struct record_file *f, const char *path)
{
    if (record_file_salvage(f, path) > 0)
        return 0;
    record_file_close(f);
    return -1;
}

void record_file_close(struct record_file *f)
{
    if (f->unpacked)
        spill_release(f->unpacked);
    free(f->unpacked);
    file_unmap(&f->packed);
    *f = (struct record_file){ .how = COMPRESS_NONE };
}
