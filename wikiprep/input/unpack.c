#include "wikiprep/input/unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/again.h"
#include "common/base/utf8.h"
#include "common/files/archived.h"
#include "common/files/compress.h"
#include "wikiprep/input/bunzip.h"

enum { BLOCK = 1 << 16, TAR_BLOCK = 512, MAGIC_BYTES = 10 };

/* A stage that bytes pass through. `bytes` holds those read ahead to recognise a format; of them,
 * [begin, end) are not used yet. */
struct stage {
    struct unpack *of;
    unsigned char *bytes;
    size_t begin, end;
    int64_t (*read)(struct unpack *u, void *bytes, size_t n);
};

/* A file that is being unpacked. Its bytes pass through bunzip.h or compress.h if they have such a
 * format, and through libarchive if they have another one or are an archive. */
struct unpack {
    char *name; /* for errors */
    int fd;
    struct bunzip *bunzip;          /* if the file is bzip2 */
    struct compress_reader *stream; /* if it is gzip or zstd */
    struct archived *archive;       /* if it is none of these, or holds a tar archive */
    struct stage packed, plain;
    uint64_t got;                      /* bytes read from the file */
    int is_xml;                        /* the file begins with '<' */
    const struct unpack_range *ranges; /* NULL: the whole file */
    size_t range, range_count;         /* the current range */
    uint64_t at;                       /* offset in the current range */
    struct unpack_range part;          /* set by unpack_start_part */
    int is_stepwise;                   /* 1: the part's format must be unpacked from its start */
    int ends_stepwise;                 /* if is_stepwise: 1: the part ends before the file */
    uint64_t given, stop; /* if is_stepwise: bytes unpacked of the part; its size if known */
};

/* Stores up to n bytes: those read ahead, or further ones. Returns their number, or -1. */
static int64_t stage_pull(void *stage, void *bytes, size_t n)
{
    struct stage *a = stage;
    if (a->begin == a->end)
        return a->read(a->of, bytes, n);
    n = n < a->end - a->begin ? n : a->end - a->begin;
    memcpy(bytes, a->bytes + a->begin, n);
    a->begin += n;
    return (int64_t)n;
}

/* As stage_pull, but the bytes are in the stage's memory: sets *bytes to them. */
static int64_t stage_give(void *stage, const void **bytes)
{
    struct stage *a = stage;
    *bytes = a->begin == a->end ? a->bytes : a->bytes + a->begin;
    if (a->begin == a->end)
        return a->read(a->of, a->bytes, BLOCK);
    size_t n = a->end - a->begin;
    a->begin = a->end;
    return (int64_t)n;
}

/* ---- the file ----------------------------------------------------------------------------- */

static int64_t read_file(struct unpack *u, void *bytes, size_t n)
{
    const ssize_t got = AGAIN(read(u->fd, bytes, n));
    if (got < 0)
        return err_set("cannot read '%s' at byte %" PRIu64 ": %s", u->name, u->got,
                       strerror(errno));
    u->got += (uint64_t)got;
    return got;
}

static int64_t read_ranges(void *stage, void *bytes, size_t n)
{
    struct unpack *u = ((struct stage *)stage)->of;
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

/* Returns the offset in the file of byte `offset` of the concatenated ranges. */
static uint64_t place_in_file(void *stage, uint64_t offset)
{
    const struct unpack *u = ((struct stage *)stage)->of;
    for (size_t i = 0; i < u->range_count; i++) {
        uint64_t n = u->ranges[i].end - u->ranges[i].begin;
        if (offset < n || i + 1 == u->range_count)
            return u->ranges[i].begin + offset;
        offset -= n;
    }
    return offset;
}

static void open_bunzip(struct unpack *u, int64_t (*pull)(void *stage, void *bytes, size_t n),
                        int threads)
{
    const struct bunzip_source from = { u->name, pull, place_in_file, &u->packed };
    u->bunzip = bunzip_new(&from, threads);
}

/* ---- inside of bzip2, gzip and zstd ---------------------------------------------------------- */

static int64_t read_inside(struct unpack *u, void *bytes, size_t n)
{
    if (!u->stream)
        return bunzip_read(u->bunzip, bytes, n);
    int64_t got = compress_read(u->stream, bytes, n);
    return got < 0 ? err_in("cannot unpack '%s'", u->name) : got;
}

/* Returns 1 if the decompressed bytes begin with a tar header, else 0. A read error is ignored,
 * because the next read reports it again. */
static int holds_tar(struct unpack *u)
{
    struct stage *a = &u->plain;
    for (int64_t got = 1; got > 0 && a->end<TAR_BLOCK; a->end += got> 0 ? (size_t)got : 0)
        got = read_inside(u, a->bytes + a->end, TAR_BLOCK - a->end);
    return a->end == TAR_BLOCK && !memcmp(a->bytes + 257, "ustar", 5);
}

/* ---- libarchive ----------------------------------------------------------------------------- */

/* Moves the read position, as lseek does. Reading a 7z archive needs it, because the list of its
 * files is at its end. Returns the new position, or -1 with errno set. */
static int64_t seek_packed(void *stage, int64_t offset, int whence)
{
    struct stage *packed = stage;
    off_t at = lseek(packed->of->fd, (off_t)offset, whence);
    if (at >= 0)
        packed->begin = packed->end;
    return at;
}

static int open_archive(struct unpack *u)
{
    int inside = u->bunzip || u->stream;
    int seeks = !inside && lseek(u->fd, 0, SEEK_CUR) >= 0;
    if (!inside && !seeks && errno != ESPIPE)
        return err_set("cannot seek in '%s': %s", u->name, strerror(errno));
    const struct archived_source from = { stage_give, seeks ? seek_packed : NULL,
                                          inside ? &u->plain : &u->packed };
    u->archive = archived_open(u->name, &from, ARCHIVED_ANY);
    return u->archive ? 0 : -1;
}

/* ---- both ------------------------------------------------------------------------------------ */

/* Recognises the format from the first bytes of the file, and from the first decompressed bytes. */
static int recognise(struct unpack *u, int threads)
{
    struct stage *a = &u->packed;
    for (int64_t got = 1; got && a->end < MAGIC_BYTES; a->end += (size_t)got)
        if ((got = read_file(u, a->bytes + a->end, BLOCK - a->end)) < 0)
            return -1;
    const size_t bom = utf8_mark((const char *)a->bytes, a->end);
    u->is_xml = a->end > bom && a->bytes[bom] == '<';
    enum compression how = compress_recognise(a->bytes, a->end);
    if (bunzip_recognises(a->bytes, a->end))
        open_bunzip(u, stage_pull, threads);
    else if (how != COMPRESS_GZIP && how != COMPRESS_ZSTD)
        return open_archive(u);
    else if (!(u->stream = compress_reader_new(how, stage_give, &u->packed)))
        return -1;
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
    u->packed = (struct stage){ u, mem_alloc(BLOCK), 0, 0, read_file };
    u->plain = (struct stage){ u, mem_alloc(BLOCK), 0, 0, read_inside };
    u->fd = is_stdin ? STDIN_FILENO : AGAIN(open(path, O_RDONLY | O_CLOEXEC));
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

/* Checks that a bzip2 stream begins at the start of each range. */
static int check_ranges(struct unpack *u)
{
    for (size_t i = 0; i < u->range_count; i++) {
        unsigned char magic[MAGIC_BYTES];
        uint64_t begin = u->ranges[i].begin;
        ssize_t n = AGAIN(pread(u->fd, magic, sizeof magic, (off_t)begin));
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
    open_bunzip(u, read_ranges, threads);
    return u;
}

/* Drops what is unpacked before the part begins. Where parts begin and end depends only on the
 * sequence of reads, so neighbouring parts agree on it. Returns 0, or -1 with an error. */
static int step_to_part(struct unpack *u)
{
    struct stat st;
    if (fstat(u->fd, &st) < 0)
        return err_set("cannot read '%s': %s", u->name, strerror(errno));
    u->is_stepwise = 1;
    if (recognise(u, 1) < 0)
        return -1;
    SCOPED_MEM char *piece = mem_alloc(UNPACK_PIECE);
    int64_t got = 1;
    if (u->part.begin)
        do
            got = unpack_read(u, piece, UNPACK_PIECE);
        while (u->got < u->part.begin && got > 0);
    u->given = 0;
    u->ends_stepwise = u->part.end < (uint64_t)st.st_size;
    u->stop = u->ends_stepwise && u->part.begin && u->got >= u->part.end ? 0 : UINT64_MAX;
    return got < 0 ? -1 : 0;
}

int unpack_start_part(struct unpack *u, uint64_t begin, uint64_t end, int threads)
{
    int packed = u->bunzip != NULL, stepwise = packed ? u->archive != NULL : !u->is_xml;
    if (lseek(u->fd, stepwise ? 0 : (off_t)begin, SEEK_SET) < 0)
        return err_set("cannot seek in '%s' to byte %" PRIu64 ": %s", u->name, begin,
                       strerror(errno));
    u->part = (struct unpack_range){ begin, end };
    u->packed.begin = u->packed.end = u->plain.begin = u->plain.end = 0;
    archived_close(u->archive);
    u->archive = NULL;
    bunzip_free(u->bunzip);
    u->bunzip = NULL;
    compress_reader_free(u->stream);
    u->stream = NULL;
    u->got = 0;
    if (stepwise)
        return step_to_part(u);
    if (!packed)
        return 0;
    u->ranges = &u->part;
    u->range_count = 1;
    open_bunzip(u, stage_pull, threads);
    bunzip_set_part(u->bunzip, begin > 0, end - begin);
    return 0;
}

uint64_t unpack_part_end(const struct unpack *u)
{
    if (u->is_stepwise)
        return u->stop;
    return u->bunzip ? bunzip_part_end(u->bunzip) : u->part.end - u->part.begin;
}

void unpack_close(struct unpack *u)
{
    if (!u)
        return;
    bunzip_free(u->bunzip);
    compress_reader_free(u->stream);
    archived_close(u->archive);
    if (u->fd > STDIN_FILENO)
        close(u->fd);
    free(u->packed.bytes);
    free(u->plain.bytes);
    free(u->name);
    free(u);
}

int64_t unpack_read(struct unpack *u, void *bytes, size_t n)
{
    int64_t got = u->archive               ? archived_read(u->archive, bytes, n)
                  : u->bunzip || u->stream ? stage_pull(&u->plain, bytes, n)
                                           : read_file(u, bytes, n);
    u->given += got > 0 ? (uint64_t)got : 0;
    if (u->ends_stepwise && u->stop == UINT64_MAX && u->got >= u->part.end)
        u->stop = u->given;
    return got;
}

int unpack_help(struct unpack *u)
{
    return u->bunzip && !u->is_stepwise && bunzip_help(u->bunzip);
}

int unpack_resume(struct unpack *u)
{
    return u->bunzip && !u->archive && bunzip_resume(u->bunzip);
}

uint64_t unpack_packed(const struct unpack *u)
{
    return u->bunzip ? bunzip_packed(u->bunzip) : u->got;
}
