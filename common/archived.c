#include "common/archived.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "common/linked.h"
#include "common/mem.h"

LINKED_LIBRARY(archive, "libarchive", archive_version_details() + strlen("libarchive "))

struct archived {
    char *name;
    struct archived_source from;
    struct archive *archive;
    uint64_t given; /* bytes unpacked */
    int ended;
};

static int fail(struct archived *a)
{
    const char *why = archive_error_string(a->archive);
    int64_t at = archive_filter_bytes(a->archive, -1);
    if (!why)
        why = "unknown reason";
    if (at < 0) /* nothing unpacked yet */
        return err_set("cannot unpack '%s': %s", a->name, why);
    return err_set("cannot unpack '%s' at byte %" PRId64 " (%" PRIu64 " unpacked): %s", a->name, at,
                   a->given, why);
}

/* Enables filters and formats one by one. "all" would also take plain text for an mtree list, and
 * start programs to unpack rare formats. */
static void allow_formats(struct archive *a, enum archived_kind kind)
{
    archive_read_support_filter_bzip2(a);
    archive_read_support_filter_xz(a);
    archive_read_support_filter_lzma(a);
    archive_read_support_filter_zstd(a);
    archive_read_support_filter_lz4(a);
    if (kind == ARCHIVED_ANY) {
        archive_read_support_format_7zip(a);
        archive_read_support_format_zip(a);
        archive_read_support_format_tar(a);
    }
    archive_read_support_format_empty(a);
    archive_read_support_format_raw(a); /* lowest priority: chosen if the data is no archive */
}

/* Moves to the next file in the archive. Returns 1, 0 if there is none, or -1 with an error. */
static int next_file(struct archived *a)
{
    struct archive_entry *entry;
    for (int got; (got = archive_read_next_header(a->archive, &entry)) != ARCHIVE_EOF;) {
        if (got < ARCHIVE_WARN)
            return fail(a);
        if (archive_entry_filetype(entry) == AE_IFREG)
            return 1;
    }
    return 0;
}

static la_ssize_t give(struct archive *archive, void *ctx, const void **bytes)
{
    struct archived *a = ctx;
    int64_t n = a->from.give(a->from.ctx, bytes);
    if (n < 0)
        archive_set_error(archive, EIO, "%s", err_get());
    return (la_ssize_t)n;
}

static la_int64_t seek(struct archive *archive, void *ctx, la_int64_t offset, int whence)
{
    struct archived *a = ctx;
    int64_t at = a->from.seek(a->from.ctx, offset, whence);
    if (at < 0) {
        archive_set_error(archive, errno, "cannot seek: %s", strerror(errno));
        return ARCHIVE_FATAL;
    }
    return at;
}

static int begin(struct archived *a, enum archived_kind kind)
{
    if (!(a->archive = archive_read_new()))
        return err_set("cannot read '%s': out of memory", a->name);
    allow_formats(a->archive, kind);
    archive_read_set_read_callback(a->archive, give);
    if (a->from.seek)
        archive_read_set_seek_callback(a->archive, seek);
    archive_read_set_callback_data(a->archive, a);
    if (archive_read_open1(a->archive) != ARCHIVE_OK)
        return fail(a);
    int more = next_file(a);
    a->ended = !more;
    return more < 0 ? -1 : 0;
}

struct archived *archived_open(const char *name, const struct archived_source *from,
                               enum archived_kind kind)
{
    struct archived *a = mem_zalloc(1, sizeof *a);
    a->name = mem_strdup(name);
    a->from = *from;
    if (begin(a, kind) == 0)
        return a;
    archived_close(a);
    return NULL;
}

void archived_close(struct archived *a)
{
    if (!a)
        return;
    if (a->archive)
        archive_read_free(a->archive);
    free(a->name);
    free(a);
}

int64_t archived_read(struct archived *a, void *bytes, size_t n)
{
    if (a->ended)
        return 0;
    la_ssize_t got = archive_read_data(a->archive, bytes, n);
    if (got < 0)
        return fail(a);
    a->given += (uint64_t)got;
    if (got)
        return got;
    a->ended = 1;
    if (archive_errno(a->archive)) /* some filters take a failed read for the end of the data */
        return fail(a);
    int more = next_file(a);
    if (more > 0)
        return err_set("'%s' is an archive of several files: unpack it first", a->name);
    return more;
}
