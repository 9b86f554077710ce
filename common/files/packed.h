/*
 * packed.h - opens an input that may be compressed with gzip, Zstandard, bzip2, xz, lzma or lz4.
 *
 * The format is recognised by the first bytes, never by the name. But a plain file with the suffix
 * of such a format is an error: it is damaged. Several compressed streams, one after the other, are
 * read as one. Checksums are verified. The error for a damaged or truncated stream names the byte.
 */
#pragma once

#include "common/files/file.h"

/* The decompressor between a file and its unpacked bytes. It must not move in memory while `in` is
 * open. */
struct packed {
    int is_packed;                  /* 0: the file is plain, and the fields below are empty */
    struct input file;              /* the packed bytes */
    struct compress_reader *reader; /* gzip and Zstandard; NULL for other formats */
    struct archived *archived;      /* bzip2, xz, lzma and lz4; NULL for other formats */
};

/* Opens the file `path` ("-" is stdin), so that `in` reads its unpacked bytes; in->path is `path`.
 * Returns 0, or -1 with an error; then there is nothing to close. */
int packed_open(struct packed *p, struct input *in, const char *path);
void packed_close(struct packed *p, struct input *in); /* fine on zeroed structs */

/* Returns the length of `path` without a suffix such as ".gz". */
size_t packed_name(const char *path);
