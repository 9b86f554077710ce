/*
 * unpack.h - reads a compressed file as a stream of bytes.
 *
 * The format is recognised by content, never by name: plain, bzip2, gzip, xz, lzma, zstd, lz4, and
 * archives (7z, zip, tar), whose files are read one after the other. bzip2, the usual format of
 * dumps, is decoded by bunzip.h on all cores; gzip and zstd by compress.h; the other formats by
 * libarchive.
 */
#pragma once

#include "common/base/base.h"

struct unpack;

/* Opens a file ("-": stdin). Returns NULL with the error set. Up to `threads` threads may work on
 * it: the caller of unpack_read, and its helpers. */
struct unpack *unpack_open(const char *path, int threads);
void unpack_close(struct unpack *u); /* no other thread may call unpack_help any more */

/* Decompresses ahead. Any thread may call it at any time. Returns 1, or 0 if there is nothing to do
 * now. */
int unpack_help(struct unpack *u);

/* Opens some streams of a bzip2 file as if the file held only these. Each range [begin, end) covers
 * whole streams; the ranges are in rising order. `ranges` is borrowed. */
struct unpack_range {
    uint64_t begin, end;
};
struct unpack *unpack_open_ranges(const char *path, const struct unpack_range *ranges, size_t count,
                                  int threads);

/* unpack_start_part continues at byte `begin` of an open file; in bzip2, at the first block that
 * begins there or later. Other formats must be unpacked from their start, in pieces of UNPACK_PIECE
 * bytes: it continues at the first piece after `begin` packed bytes have been read, and all later
 * reads must ask for UNPACK_PIECE bytes. Returns 0, or -1 with the error set. unpack_part_end
 * returns the decompressed size of the data that begins between bytes `begin` and `end`, or
 * UINT64_MAX until reading has reached its end. */
enum { UNPACK_PIECE = 1 << 16 };
int unpack_start_part(struct unpack *u, uint64_t begin, uint64_t end, int threads);
uint64_t unpack_part_end(const struct unpack *u);

/* Reads up to n bytes. Returns their number, 0 at the end, or -1 with the error set. Bytes returned
 * before an error are correct. */
int64_t unpack_read(struct unpack *u, void *bytes, size_t n);

/* After an error: returns 1 if reading can continue after the damage, which is possible only in
 * bzip2; else 0. */
int unpack_resume(struct unpack *u);

/* Returns the number of compressed bytes read so far, for progress reports. */
uint64_t unpack_packed(const struct unpack *u);
