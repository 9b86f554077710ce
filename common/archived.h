/*
 * archived.h - what libarchive unpacks: streams of bzip2, xz, lzma, zstd and lz4, and archives (7z,
 * zip, tar) that hold one file.
 *
 * The format is recognised by content. gzip is left to compress.h, since libarchive does not
 * compare its checksum.
 */
#ifndef TEXTMILL_COMMON_ARCHIVED_H
#define TEXTMILL_COMMON_ARCHIVED_H

#include <stddef.h>
#include <stdint.h>

/* Where packed bytes come from. */
struct archived_source {
    /* The next bytes, which stay until the next call: how many, 0 at the end, -1 with an error. */
    int64_t (*give)(void *ctx, const void **bytes);
    /* As lseek, for archives whose list of files stands at their end; NULL: cannot seek. */
    int64_t (*seek)(void *ctx, int64_t offset, int whence);
    void *ctx;
};

enum archived_kind {
    ARCHIVED_STREAM, /* archives are not looked into: their bytes are given as they are */
    ARCHIVED_ANY,
};

struct archived;

/* `name` is for errors, `from` is copied. NULL with an error. */
struct archived *archived_open(const char *name, const struct archived_source *from,
                               enum archived_kind kind);
void archived_close(struct archived *a);

/* Up to n bytes: how many, 0 at the end, -1. What came before an error was good. */
int64_t archived_read(struct archived *a, void *bytes, size_t n);

#endif
