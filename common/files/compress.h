/*
 * compress.h - compressed files as TensorFlow writes them: one compressed stream around all records
 * of a file. The stream is gzip (RFC 1952), zlib (RFC 1950) or Zstandard (RFC 8878). TensorFlow
 * does not read Zstandard.
 *
 * A file's compression is recognised by its first bytes, never by its name. Several streams one
 * after the other are read as one, as gzip and zstd do.
 */
#pragma once

#include "common/base/base.h"

enum compression { COMPRESS_NONE, COMPRESS_GZIP, COMPRESS_ZLIB, COMPRESS_ZSTD };

const char *compress_name(enum compression how); /* "none", "gzip", "zlib", "zstd" */

/* Returns the compression of a file that begins with bytes[0..n). */
enum compression compress_recognise(const unsigned char *bytes, uint64_t n);

/* ---- packing ------------------------------------------------------------------------------ */

struct compress;

/* Creates a compressor. `how` must not be COMPRESS_NONE. The level is 6 for gzip and zlib, and 3
 * for Zstandard, which also writes its checksum. Returns NULL with an error if memory runs out. */
struct compress *compress_new(enum compression how);
void compress_free(struct compress *c); /* NULL is allowed */

/* Compresses bytes[0..n) and appends to `out` the part of the compressed stream that is ready. */
void compress_add(struct compress *c, const void *bytes, size_t n, struct buf *out);

/* Appends the rest of the stream. After it, only compress_free may be called. */
void compress_end(struct compress *c, struct buf *out);

/* ---- unpacking ---------------------------------------------------------------------------- */

/* Unpacks data[0..n) and passes the bytes to `put` in pieces of at most 256 KiB, so memory does not
 * depend on the size that a stream declares. `put` returns 0, or -1 to stop. Returns 0, or -1 if
 * `put` failed, or if the stream is damaged or cut short. In the second case the error names the
 * byte offset in data, and the bytes passed before are correct as far as can be checked. */
int compress_unpack(enum compression how, const unsigned char *data, uint64_t n,
                    int (*put)(void *ctx, const void *bytes, size_t n), void *ctx);

/* Unpacks a stream whose bytes arrive in pieces. `give` sets *bytes to the next packed bytes, which
 * stay valid until its next call; it returns their number, 0 at the end, or -1 with an error.
 * compress_reader_new returns NULL with an error if memory runs out. compress_read stores up to n
 * unpacked bytes; it returns their number, 0 at the end, or -1 with an error. Bytes returned before
 * an error are correct as far as can be checked. `how` must not be COMPRESS_NONE. */
struct compress_reader;
struct compress_reader *compress_reader_new(enum compression how,
                                            int64_t (*give)(void *ctx, const void **bytes),
                                            void *ctx);
void compress_reader_free(struct compress_reader *r); /* NULL is allowed */
int64_t compress_read(struct compress_reader *r, void *bytes, size_t n);

/* ---- checksums ---------------------------------------------------------------------------- */

/* Returns the CRC-32 of bytes[0..n), as used in gzip and zip files (RFC 1952, section 8). */
uint32_t compress_crc32(const void *bytes, uint64_t n);
