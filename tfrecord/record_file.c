#include "tfrecord/record_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/err.h"
#include "common/mem.h"
#include "tfrecord/record.h"

/* A temporary file; the name goes when it is mapped. */
struct spill {
    int fd;
    struct buf path;
    int failed; /* the disk, and not the stream */
};

static int spill_open(struct spill *s)
{
    const char *dir = getenv("TMPDIR");
    file_join(&s->path, dir && *dir ? dir : "/tmp", "textmill-records-XXXXXX");
    s->fd = mkstemp(s->path.data);
    if (s->fd < 0)
        return err_set("cannot create '%s': %s", s->path.data, strerror(errno));
    return 0;
}

static int spill_put(void *ctx, const void *bytes, size_t n)
{
    struct spill *s = ctx;
    for (ssize_t w; n; n -= (size_t)w, bytes = (const char *)bytes + w) {
        do
            w = write(s->fd, bytes, n);
        while (w < 0 && errno == EINTR);
        if (w < 0) {
            s->failed = 1;
            return err_set("cannot write '%s' (TMPDIR says where): %s", s->path.data,
                           strerror(errno));
        }
    }
    return 0;
}

static int spill_close(struct spill *s, struct file_map *map)
{
    int result = close(s->fd) < 0 ? err_set("cannot close '%s': %s", s->path.data, strerror(errno))
                                  : file_map(map, s->path.data);
    unlink(s->path.data);
    return result;
}

/* Says which record a stream breaks in: the first one that is not whole in what came of it. */
static void name_record(const struct file_map *records, const char *path)
{
    char *why = mem_strdup(err_get());
    struct record r;
    uint64_t offset = 0, number = 0;
    for (; record_skim(records, offset, &r) > 0; number++)
        offset = record_end(&r);
    err_set("%s", why);
    record_where(path, number, offset);
    free(why);
}

/* 1; 0 with the error when the stream is damaged; -1. */
static int unpack(struct record_file *f, const char *path)
{
    struct spill s = { .fd = -1, .path = BUF_INIT };
    int result = spill_open(&s);
    if (!result) {
        int good = compress_unpack(f->how, f->packed.data, f->packed.bytes, spill_put, &s) == 0;
        result = spill_close(&s, &f->records) < 0 || s.failed ? -1 : good;
        if (!result)
            name_record(&f->records, path);
    }
    buf_release(&s.path);
    return result < 0 ? err_in("cannot unpack '%s'", path) : result;
}

int record_file_salvage(struct record_file *f, const char *path)
{
    static const char lfs[] = "version https://git-lfs";
    struct record r;
    *f = (struct record_file) { .how = COMPRESS_NONE };
    if (file_map(&f->packed, path) < 0)
        return -1;
    f->records = f->packed;
    if (record_skim(&f->packed, 0, &r) > 0)
        return 1;
    if (f->packed.bytes >= sizeof lfs - 1 && !memcmp(f->packed.data, lfs, sizeof lfs - 1))
        return err_set("'%s' is a git-lfs pointer, not the file it stands for", path);
    f->how = compress_recognise(f->packed.data, f->packed.bytes);
    if (f->how == COMPRESS_NONE)
        return 1;
    f->records = (struct file_map) { 0 };
    return unpack(f, path);
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
    if (f->how != COMPRESS_NONE)
        file_unmap(&f->records);
    file_unmap(&f->packed);
    *f = (struct record_file) { .how = COMPRESS_NONE };
}
