/*
 * archived.h - unpacks files with libarchive: compressed streams (bzip2, xz, lzma, lz4), and
 * archives (7z, zip, tar).
 *
 * The format is recognised by the file's content. compress.h reads gzip and zstd instead:
 * libarchive does not verify the checksum of gzip.
 */
#pragma once

#include "common/base/base.h"

/* A source of packed bytes. `ctx` is the first argument of the functions. */
struct archived_source {
    /* Sets *bytes to the next bytes, which stay valid until the next call. Returns their number, 0
     * at the end, or -1 with an error. */
    int64_t (*give)(void *ctx, const void **bytes);
    /* Moves the read position as lseek does: archives with the list of their files at the end need
     * it. NULL: the source cannot do that. */
    int64_t (*seek)(void *ctx, int64_t offset, int whence);
    void *ctx;
};

enum archived_kind {
    ARCHIVED_STREAM, /* unpacks streams only; an archive's own bytes are returned as they are */
    ARCHIVED_ANY,    /* streams, and all files of an archive, one after the other */
};

struct archived;

/* Opens a packed file. `name` is used in error messages; *from is copied. Returns NULL with an
 * error. */
struct archived *archived_open(const char *name, const struct archived_source *from,
                               enum archived_kind kind);
void archived_close(struct archived *a); /* NULL is allowed */

/* Reads up to n unpacked bytes. Returns their number, 0 at the end, or -1 with an error. Bytes
 * returned before an error are valid. */
int64_t archived_read(struct archived *a, void *bytes, size_t n);

/* Finds the first file of the archive `path` (zip, 7z, tar) whose name, without folders, begins
 * with `begin`. Sets *name to its name with folders and *out, which is empty, to its contents.
 * Returns 0, or -1 with an error, also if there is no such file, or if it has more than 64 MiB. */
int archived_extract(const char *path, const char *begin, struct buf *name, struct buf *out);
