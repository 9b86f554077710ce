#include "wikiprep/unpack.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/err.h"
#include "common/mem.h"

struct unpack {
    struct archive *archive;
    char *name;     /* for errors */
    uint64_t given; /* bytes so far */
    int ended;
};

enum { BLOCK = 1 << 16 };

static int fail(struct unpack *u, const char *doing)
{
    const char *why = archive_error_string(u->archive);
    int64_t at = archive_filter_bytes(u->archive, -1);
    if (!why)
        why = "unknown reason";
    if (at < 0) /* not even begun */
        return err_set("cannot %s '%s': %s", doing, u->name, why);
    return err_set("cannot %s '%s' at byte %" PRId64 " (%" PRIu64 " unpacked): %s", doing, u->name,
                   at, u->given, why);
}

/* Filters and formats one by one: "all" would also take text for an mtree list, and start
 * programs to unpack rare formats. */
static void allow_formats(struct archive *a)
{
    archive_read_support_filter_bzip2(a);
    archive_read_support_filter_gzip(a);
    archive_read_support_filter_xz(a);
    archive_read_support_filter_lzma(a);
    archive_read_support_filter_zstd(a);
    archive_read_support_filter_lz4(a);
    archive_read_support_format_7zip(a);
    archive_read_support_format_zip(a);
    archive_read_support_format_tar(a);
    archive_read_support_format_empty(a);
    archive_read_support_format_raw(a); /* bids lowest: whatever is no archive */
}

/* Moves on to the next file in the archive: 1, 0 when there is none, -1. */
static int next_file(struct unpack *u)
{
    struct archive_entry *entry;
    for (int got; (got = archive_read_next_header(u->archive, &entry)) != ARCHIVE_EOF;) {
        if (got < ARCHIVE_WARN)
            return fail(u, "unpack");
        if (archive_entry_filetype(entry) == AE_IFREG)
            return 1;
    }
    return 0;
}

struct unpack *unpack_open(const char *path)
{
    int is_stdin = !strcmp(path, "-");
    struct stat st;
    errno = 0;
    if (!is_stdin && (stat(path, &st) < 0 || S_ISDIR(st.st_mode))) {
        err_set("cannot open '%s': %s", path, strerror(errno ? errno : EISDIR));
        return NULL;
    }
    struct unpack *u = mem_zalloc(1, sizeof *u);
    u->name = mem_strdup(is_stdin ? "<stdin>" : path);
    u->archive = archive_read_new();
    if (!u->archive) {
        err_set("cannot read '%s': out of memory", path);
        unpack_close(u);
        return NULL;
    }
    allow_formats(u->archive);
    int failed = 0;
    if (archive_read_open_filename(u->archive, is_stdin ? NULL : path, BLOCK) != ARCHIVE_OK)
        failed = fail(u, "unpack");
    else
        failed = next_file(u);
    if (failed < 0) {
        unpack_close(u);
        return NULL;
    }
    u->ended = !failed;
    return u;
}

void unpack_close(struct unpack *u)
{
    if (!u)
        return;
    if (u->archive)
        archive_read_free(u->archive);
    free(u->name);
    free(u);
}

int64_t unpack_read(struct unpack *u, void *bytes, size_t n)
{
    if (u->ended)
        return 0;
    la_ssize_t got = archive_read_data(u->archive, bytes, n);
    if (got < 0)
        return fail(u, "unpack");
    u->given += (uint64_t)got;
    if (got)
        return got;
    u->ended = 1;
    if (archive_errno(u->archive)) /* some filters take a failed read for the end of the data */
        return fail(u, "unpack");
    int more = next_file(u);
    if (more > 0)
        return err_set("'%s' is an archive of several files: unpack it first", u->name);
    return more;
}

uint64_t unpack_packed(const struct unpack *u)
{
    return (uint64_t)archive_filter_bytes(u->archive, -1);
}
