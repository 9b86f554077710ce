#include "wikiprep/input/unpack.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/err.h"
#include "common/linked.h"
#include "common/mem.h"
#include "wikiprep/input/bunzip.h"

LINKED_LIBRARY(archive, "libarchive", archive_version_details() + strlen("libarchive "))

enum { BLOCK = 1 << 16, TAR_BLOCK = 512, MAGIC_BYTES = 10 };

/* Bytes that were read to recognise a format: [begin, end) wait to be used. */
struct ahead {
    unsigned char *bytes;
    size_t begin, end;
};

/* file -> (bunzip ->) (libarchive ->) bytes */
struct unpack {
    char *name; /* for errors */
    int fd;
    struct bunzip *bunzip;   /* when the file is bzip2 */
    struct archive *archive; /* when it is not, or holds a tar archive */
    struct ahead packed, plain;
    uint64_t got, given; /* bytes read from the file; from the archive */
    int ended;
    const struct unpack_range *ranges; /* NULL: the whole file */
    size_t range, range_count;         /* the range at hand */
    uint64_t at;                       /* how far in it */
    struct unpack_range part;          /* of a file that is read from `begin` on */
};

static size_t take_ahead(struct ahead *a, void *bytes, size_t n)
{
    if (n > a->end - a->begin)
        n = a->end - a->begin;
    memcpy(bytes, a->bytes + a->begin, n);
    a->begin += n;
    return n;
}

/* ---- the file ----------------------------------------------------------------------------- */

static int64_t read_file(struct unpack *u, void *bytes, size_t n)
{
    ssize_t got;
    do
        got = read(u->fd, bytes, n);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return err_set("cannot read '%s' at byte %" PRIu64 ": %s", u->name, u->got,
                       strerror(errno));
    u->got += (uint64_t)got;
    return got;
}

static int64_t read_ranges(void *ctx, void *bytes, size_t n)
{
    struct unpack *u = ctx;
    while (u->range < u->range_count &&
           u->ranges[u->range].begin + u->at == u->ranges[u->range].end)
        u->range++, u->at = 0;
    if (u->range == u->range_count)
        return 0;
    const struct unpack_range *r = &u->ranges[u->range];
    uint64_t left = r->end - r->begin - u->at;
    if (lseek(u->fd, (off_t)(r->begin + u->at), SEEK_SET) < 0)
        return err_set("cannot seek in '%s' to byte %" PRIu64 ": %s", u->name, r->begin + u->at,
                       strerror(errno));
    int64_t got = read_file(u, bytes, left < n ? (size_t)left : n);
    u->at += got > 0 ? (uint64_t)got : 0;
    return got;
}

/* Where in the file the ranges' byte `offset` is. */
static uint64_t place_in_ranges(void *ctx, uint64_t offset)
{
    const struct unpack *u = ctx;
    for (size_t i = 0; i < u->range_count; i++) {
        uint64_t n = u->ranges[i].end - u->ranges[i].begin;
        if (offset < n || i + 1 == u->range_count)
            return u->ranges[i].begin + offset;
        offset -= n;
    }
    return offset;
}

static int64_t pull_packed(void *ctx, void *bytes, size_t n)
{
    struct unpack *u = ctx;
    size_t there = take_ahead(&u->packed, bytes, n);
    return there ? (int64_t)there : read_file(u, bytes, n);
}

/* ---- bzip2 ---------------------------------------------------------------------------------- */

static int64_t pull_plain(struct unpack *u, void *bytes, size_t n)
{
    size_t there = take_ahead(&u->plain, bytes, n);
    return there ? (int64_t)there : bunzip_read(u->bunzip, bytes, n);
}

/* Whether the unpacked bytes begin as a tar archive does. An error there comes again. */
static int holds_tar(struct unpack *u)
{
    struct ahead *a = &u->plain;
    for (int64_t got = 1; got > 0 && a->end<TAR_BLOCK; a->end += got> 0 ? (size_t)got : 0)
        got = bunzip_read(u->bunzip, a->bytes + a->end, TAR_BLOCK - a->end);
    return a->end == TAR_BLOCK && !memcmp(a->bytes + 257, "ustar", 5);
}

/* ---- libarchive ----------------------------------------------------------------------------- */

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

static la_ssize_t give_archive(struct archive *a, void *ctx, const void **bytes)
{
    struct unpack *u = ctx;
    struct ahead *from = u->bunzip ? &u->plain : &u->packed;
    if (from->begin == from->end) {
        int64_t got = u->bunzip ? bunzip_read(u->bunzip, from->bytes, BLOCK)
                                : read_file(u, from->bytes, BLOCK);
        if (got < 0) {
            archive_set_error(a, EIO, "%s", err_get());
            return -1;
        }
        from->begin = 0;
        from->end = (size_t)got;
    }
    *bytes = from->bytes + from->begin;
    la_ssize_t n = (la_ssize_t)(from->end - from->begin);
    from->begin = from->end;
    return n;
}

/* A 7z archive's list of files stands at its end. */
static la_int64_t seek_archive(struct archive *a, void *ctx, la_int64_t offset, int whence)
{
    struct unpack *u = ctx;
    off_t at = lseek(u->fd, offset, whence);
    if (at < 0) {
        archive_set_error(a, errno, "cannot seek: %s", strerror(errno));
        return ARCHIVE_FATAL;
    }
    u->packed.begin = u->packed.end;
    return at;
}

static int open_archive(struct unpack *u)
{
    u->archive = archive_read_new();
    if (!u->archive)
        return err_set("cannot read '%s': out of memory", u->name);
    allow_formats(u->archive);
    archive_read_set_read_callback(u->archive, give_archive);
    if (!u->bunzip && lseek(u->fd, 0, SEEK_CUR) >= 0)
        archive_read_set_seek_callback(u->archive, seek_archive);
    archive_read_set_callback_data(u->archive, u);
    if (archive_read_open1(u->archive) != ARCHIVE_OK)
        return fail(u, "unpack");
    int more = next_file(u);
    u->ended = !more;
    return more < 0 ? -1 : 0;
}

static int64_t read_archive(struct unpack *u, void *bytes, size_t n)
{
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

/* ---- both ------------------------------------------------------------------------------------ */

/* Looks at the first bytes of the file, and at the first unpacked ones. */
static int recognise(struct unpack *u, int threads)
{
    struct ahead *a = &u->packed;
    for (int64_t got = 1; got && a->end < MAGIC_BYTES; a->end += (size_t)got)
        if ((got = read_file(u, a->bytes + a->end, BLOCK - a->end)) < 0)
            return -1;
    if (!bunzip_recognises(a->bytes, a->end))
        return open_archive(u);
    u->bunzip = bunzip_new(u->name, pull_packed, u, threads);
    return holds_tar(u) ? open_archive(u) : 0;
}

static struct unpack *open_file(const char *path)
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
    u->packed.bytes = mem_alloc(BLOCK);
    u->plain.bytes = mem_alloc(BLOCK);
    u->fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (u->fd < 0) {
        err_set("cannot open '%s': %s", path, strerror(errno));
        unpack_close(u);
        return NULL;
    }
    return u;
}

struct unpack *unpack_open(const char *path, int threads)
{
    struct unpack *u = open_file(path);
    if (u && recognise(u, threads) < 0) {
        unpack_close(u);
        return NULL;
    }
    return u;
}

/* Does a stream begin where each range does? */
static int check_ranges(struct unpack *u)
{
    for (size_t i = 0; i < u->range_count; i++) {
        unsigned char magic[MAGIC_BYTES];
        uint64_t begin = u->ranges[i].begin;
        ssize_t n = pread(u->fd, magic, sizeof magic, (off_t)begin);
        if (n < 0)
            return err_set("cannot read '%s' at byte %" PRIu64 ": %s", u->name, begin,
                           strerror(errno));
        if (!bunzip_recognises(magic, (size_t)n))
            return err_set("no bzip2 stream begins at byte %" PRIu64 " of '%s'", begin, u->name);
    }
    return 0;
}

struct unpack *unpack_open_ranges(const char *path, const struct unpack_range *ranges, size_t count,
                                  int threads)
{
    struct unpack *u = open_file(path);
    if (!u)
        return NULL;
    u->ranges = ranges;
    u->range_count = count;
    if (check_ranges(u) < 0) {
        unpack_close(u);
        return NULL;
    }
    u->bunzip = bunzip_new(u->name, read_ranges, u, threads);
    bunzip_set_places(u->bunzip, place_in_ranges);
    return u;
}

static uint64_t place_in_part(void *ctx, uint64_t offset)
{
    const struct unpack *u = ctx;
    return u->part.begin + offset;
}

/* Goes to the part of a file that was recognised: its first bytes were read. */
static int start_part(struct unpack *u, int threads)
{
    int packed = u->bunzip != NULL, is_tar = packed && u->archive;
    const unsigned char *s = u->packed.bytes;
    size_t bom = u->packed.end > 3 && !memcmp(s, "\xEF\xBB\xBF", 3) ? 3 : 0;
    if (is_tar || (!packed && (u->packed.end <= bom || s[bom] != '<')))
        return err_set("cannot read a part of '%s': it is neither bzip2 nor plain XML", u->name);
    if (lseek(u->fd, (off_t)u->part.begin, SEEK_SET) < 0)
        return err_set("cannot seek in '%s' to byte %" PRIu64 ": %s", u->name, u->part.begin,
                       strerror(errno));
    u->packed.begin = u->packed.end = u->plain.begin = u->plain.end = 0;
    if (u->archive)
        archive_read_free(u->archive);
    u->archive = NULL;
    bunzip_free(u->bunzip);
    u->bunzip = NULL;
    u->got = 0;
    u->ended = 0;
    if (!packed)
        return 0;
    u->bunzip = bunzip_new(u->name, pull_packed, u, threads);
    bunzip_set_places(u->bunzip, place_in_part);
    bunzip_set_mark(u->bunzip, u->part.end - u->part.begin);
    if (u->part.begin)
        bunzip_start_at_block(u->bunzip);
    return 0;
}

struct unpack *unpack_open_part(const char *path, uint64_t begin, uint64_t end, int threads)
{
    struct unpack *u = unpack_open(path, threads);
    if (!u)
        return NULL;
    u->part = (struct unpack_range){ begin, end };
    if (start_part(u, threads) == 0)
        return u;
    unpack_close(u);
    return NULL;
}

uint64_t unpack_part_end(const struct unpack *u)
{
    return u->bunzip ? bunzip_given_to_mark(u->bunzip) : u->part.end - u->part.begin;
}

void unpack_close(struct unpack *u)
{
    if (!u)
        return;
    bunzip_free(u->bunzip);
    if (u->archive)
        archive_read_free(u->archive);
    if (u->fd > STDIN_FILENO)
        close(u->fd);
    free(u->packed.bytes);
    free(u->plain.bytes);
    free(u->name);
    free(u);
}

int64_t unpack_read(struct unpack *u, void *bytes, size_t n)
{
    if (u->ended)
        return 0;
    if (u->archive)
        return read_archive(u, bytes, n);
    return u->bunzip ? pull_plain(u, bytes, n) : read_file(u, bytes, n);
}

int unpack_help(struct unpack *u)
{
    return u->bunzip && bunzip_help(u->bunzip);
}

void unpack_start_helpers(struct unpack *u)
{
    if (u->bunzip)
        bunzip_start_helpers(u->bunzip);
}

int unpack_resume(struct unpack *u)
{
    return u->bunzip && !u->archive && bunzip_resume(u->bunzip);
}

uint64_t unpack_trailing(const struct unpack *u)
{
    return u->bunzip ? bunzip_trailing(u->bunzip) : 0;
}

uint64_t unpack_packed(const struct unpack *u)
{
    return u->bunzip ? bunzip_packed(u->bunzip) : u->got;
}
