#include "common/files/archived.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>

#include "common/base/le.h"
#include "common/base/linked.h"
#include "common/files/compress.h"
#include "common/files/file.h"

LINKED_LIBRARY(archive, "libarchive", archive_version_details() + strlen("libarchive "))

static const unsigned char xz_magic[] = { 0xFD, '7', 'z', 'X', 'Z', 0 };
enum { XZ_FOOTER = 12, XZ_KEPT = 4096, EXTRACT_MOST = 64 << 20 };

struct archived {
    char *name;
    struct archived_source from;
    struct archive *archive;
    struct archive_entry *header;
    uint64_t taken;   /* offset of the end of the packed bytes that libarchive has got */
    uint64_t given;   /* bytes unpacked */
    struct buf piece; /* of xz: the last packed bytes that libarchive has got, for xz_end */
    int is_xz, ended;
    char *broken; /* the error of the source. libarchive may take it for the end of the data. */
    const char *wanted; /* NULL: any file */
    const char *entry;  /* the name of the file that is read; libarchive's */
};

static int no_stream(const struct archived *a, int64_t end)
{
    return err_set("cannot unpack '%s': a stream ends at byte %" PRId64
                   ", and what follows is no other stream",
                   a->name, end);
}

/* Returns 1 if an xz stream may end with these XZ_FOOTER bytes: they end with "YZ" and begin with
 * the checksum of the others. */
static int is_xz_footer(const unsigned char *s)
{
    return !memcmp(s + 10, "YZ", 2) && le_u32(s) == compress_crc32(s + 4, 6);
}

/* Returns 1 if padding or another xz stream may begin with these bytes. */
static int may_follow_xz(const unsigned char *s, size_t n)
{
    size_t zeros = 0;
    while (zeros < n && !s[zeros])
        zeros++;
    n -= zeros;
    return zeros % 4 == 0 &&
           !memcmp(s + zeros, xz_magic, n < sizeof xz_magic ? n : sizeof xz_magic);
}

/* Returns the offset, in the packed bytes, of the first end of an xz stream in the last piece that
 * neither padding nor another stream follows, or -1. libarchive itself does not say where in a
 * piece an error is. */
static int64_t xz_end(const struct archived *a)
{
    const unsigned char *s = (const unsigned char *)a->piece.data;
    size_t n = a->piece.len;
    for (size_t end = XZ_FOOTER; end <= n; end++)
        if (is_xz_footer(s + end - XZ_FOOTER) && !may_follow_xz(s + end, n - end))
            return (int64_t)(a->taken - n + end);
    return -1;
}

static int fail(struct archived *a)
{
    if (a->broken)
        return err_set("%s", a->broken);
    const char *why = archive_error_string(a->archive);
    int64_t at = archive_filter_bytes(a->archive, -1), end = xz_end(a);
    if (end >= 0)
        return no_stream(a, end);
    if (!why) /* libarchive does not say that it has no memory, or that a 7z ends before its list */
        why = errno == ENOMEM ? strerror(ENOMEM) : "cut short or damaged";
    if (strstr(why, "No progress is possible")) /* liblzma needs more input, and there is none */
        why = "cut short";
    if (strstr(why, "not support seeking")) /* an archive whose list of files is at its end */
        why = "7z needs a file, not a pipe";
    /* before anything is unpacked, libarchive does not say where it is */
    if (at < 0 && a->taken && !a->from.seek)
        return err_set("cannot unpack '%s': in its first %" PRIu64 " bytes: %s", a->name, a->taken,
                       why);
    if (at < 0)
        return err_set("cannot unpack '%s': %s", a->name, why);
    return err_set("cannot unpack '%s' at byte %" PRId64 " (%" PRIu64 " unpacked): %s", a->name, at,
                   a->given, why);
}

/* Makes a reader. Enables filters and formats one by one. "all" would also take plain text for an
 * mtree list, and start programs to unpack rare formats. libarchive's own entry is not used: it
 * crashes if there was no memory for that. */
static int make_reader(struct archived *a, enum archived_kind kind)
{
    struct archive *r = a->archive = archive_read_new();
    a->header = archive_entry_new();
    if (!r || !a->header || archive_read_support_filter_bzip2(r) < ARCHIVE_WARN ||
        archive_read_support_filter_xz(r) < ARCHIVE_WARN ||
        archive_read_support_filter_lzma(r) < ARCHIVE_WARN ||
        archive_read_support_filter_lz4(r) < ARCHIVE_WARN ||
        (kind == ARCHIVED_ANY && (archive_read_support_format_7zip(r) < ARCHIVE_WARN ||
                                  archive_read_support_format_zip(r) < ARCHIVE_WARN ||
                                  archive_read_support_format_tar(r) < ARCHIVE_WARN)) ||
        archive_read_support_format_empty(r) < ARCHIVE_WARN ||
        /* lowest priority: chosen if the data is no archive */
        archive_read_support_format_raw(r) < ARCHIVE_WARN)
        return err_set("cannot read '%s': out of memory", a->name);
    return 0;
}

/* Moves to the next file in the archive whose name without folders begins with a->wanted. Returns
 * 1, 0 if there is none, or -1 with an error. */
static int next_file(struct archived *a)
{
    for (int got; (got = archive_read_next_header2(a->archive, a->header)) != ARCHIVE_EOF;) {
        /* after a failed seek libarchive may give bytes from another place of the file */
        if (a->broken || got < ARCHIVE_WARN)
            return fail(a);
        archive_clear_error(a->archive); /* a warning: the locale C cannot have the file's name */
        if (archive_entry_filetype(a->header) != AE_IFREG)
            continue;
        a->entry = archive_entry_pathname_utf8(a->header);
        if (!a->wanted || (a->entry && !strncmp(file_name(a->entry), a->wanted, strlen(a->wanted))))
            return 1;
    }
    return 0;
}

/* Counts packed bytes. Keeps those of xz, and some before them: a footer and padding may be in
 * several pieces. */
static void note_piece(struct archived *a, const void *bytes, size_t n)
{
    if (!a->taken)
        a->is_xz = n >= sizeof xz_magic && !memcmp(bytes, xz_magic, sizeof xz_magic);
    a->taken += n;
    if (!a->is_xz)
        return;
    if (a->piece.len > XZ_KEPT)
        buf_cut(&a->piece, 0, a->piece.len - XZ_KEPT);
    buf_add(&a->piece, bytes, n);
}

/* Keeps the error of the source, and tells libarchive of it. Returns libarchive's status. */
static int break_off(struct archived *a)
{
    archive_set_error(a->archive, EIO, "%s", err_get());
    free(a->broken);
    a->broken = mem_strdup(err_get());
    return ARCHIVE_FATAL;
}

static la_ssize_t give(struct archive *, void *ctx, const void **bytes)
{
    struct archived *a = ctx;
    int64_t n = a->from.give(a->from.ctx, bytes);
    if (n < 0)
        return break_off(a);
    if (n > 0)
        note_piece(a, *bytes, (size_t)n);
    return (la_ssize_t)n;
}

/* Checks that nothing follows a stream: libarchive takes any bytes after a stream that do not begin
 * another stream for the end of the file. */
static int check_end(struct archived *a)
{
    if (a->broken)
        return fail(a);
    const int format = archive_format(a->archive);
    if (format != ARCHIVE_FORMAT_RAW && format != ARCHIVE_FORMAT_EMPTY)
        return 0;
    const int64_t used = archive_filter_bytes(a->archive, -1);
    const void *bytes;
    int64_t more = used >= 0 && (uint64_t)used < a->taken ? 1 : a->from.give(a->from.ctx, &bytes);
    return more > 0 ? no_stream(a, used) : more < 0 ? -1 : 0;
}

static la_int64_t seek(struct archive *, void *ctx, la_int64_t offset, int whence)
{
    struct archived *a = ctx;
    int64_t at = a->from.seek(a->from.ctx, offset, whence);
    if (at < 0 && errno == EINVAL) /* before the beginning, in a file too small to be an archive */
        return ARCHIVE_FATAL;
    if (at < 0) {
        err_set("cannot seek in '%s': %s", a->name, strerror(errno));
        return break_off(a);
    }
    a->taken = (uint64_t)at;
    a->is_xz = 0;
    buf_clear(&a->piece);
    return at;
}

static int begin(struct archived *a, enum archived_kind kind)
{
    if (make_reader(a, kind) < 0)
        return -1;
    archive_read_set_read_callback(a->archive, give);
    if (a->from.seek)
        archive_read_set_seek_callback(a->archive, seek);
    if (archive_read_set_callback_data(a->archive, a) != ARCHIVE_OK ||
        archive_read_open1(a->archive) != ARCHIVE_OK)
        return fail(a);
    int more = next_file(a), format = archive_format(a->archive);
    a->ended = !more;
    if (!more && format != ARCHIVE_FORMAT_RAW && format != ARCHIVE_FORMAT_EMPTY)
        return err_set("'%s' is an archive that holds no file", a->name);
    /* if a packed stream ends within its first bytes, libarchive takes them for plain text */
    if (more > 0 && kind == ARCHIVED_STREAM && archive_filter_count(a->archive) == 1)
        return err_set("cannot unpack '%s': its first bytes are damaged or cut short", a->name);
    return more < 0 || (!more && check_end(a) < 0) ? -1 : 0;
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

static void free_reader(struct archived *a)
{
    archive_read_free(a->archive); /* of NULL, too */
    archive_entry_free(a->header);
}

void archived_close(struct archived *a)
{
    if (!a)
        return;
    free_reader(a);
    buf_release(&a->piece);
    free(a->broken);
    free(a->name);
    free(a);
}

int64_t archived_read(struct archived *a, void *bytes, size_t n)
{
    int more = !a->ended;
    while (more > 0) {
        la_ssize_t got = archive_read_data(a->archive, bytes, n);
        if (got < 0)
            return fail(a);
        a->given += (uint64_t)got;
        if (got)
            return got;
        if (archive_errno(a->archive)) /* some filters take a failed read for the end of the data */
            return fail(a);
        more = next_file(a);
        if ((a->ended = !more))
            more = check_end(a);
    }
    return more;
}

static int extract(struct archived *a, struct buf *name, struct buf *out)
{
    if (archive_read_open_filename(a->archive, a->name, 1 << 16) != ARCHIVE_OK)
        return err_set("cannot open '%s': %s", a->name, strerror(archive_errno(a->archive)));
    int found = next_file(a);
    if (!found)
        return err_set("'%s' is no archive with a file '%s*'", a->name, a->wanted);
    if (found < 0)
        return -1;
    buf_adds(name, a->entry);
    for (;;) {
        const void *piece;
        size_t n;
        la_int64_t at;
        int got = archive_read_data_block(a->archive, &piece, &n, &at);
        if (got == ARCHIVE_EOF)
            return 0;
        if (got < ARCHIVE_WARN)
            return fail(a);
        if (n > EXTRACT_MOST - out->len) /* a small archive may unpack to any size */
            return err_set("cannot read '%s': its file '%s' has more than %d MiB", a->name,
                           name->data, EXTRACT_MOST >> 20);
        buf_add(out, piece, n);
    }
}

int archived_extract(const char *path, const char *begin, struct buf *name, struct buf *out)
{
    struct archived a = { .name = mem_strdup(path), .wanted = begin };
    buf_clear(name);
    int result = make_reader(&a, ARCHIVED_ANY) < 0 ? -1 : extract(&a, name, out);
    free_reader(&a);
    free(a.name);
    return result;
}
