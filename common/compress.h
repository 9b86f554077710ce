/*
 * compress.h - whole files packed as TensorFlow packs them: the records' framing is inside, and the
 * stream around it is gzip (RFC 1952), zlib (RFC 1950) or, which TensorFlow does not read,
 * Zstandard (RFC 8878).
 *
 * Which one a file is shows in its first bytes, and never in its name. Several streams end to end
 * are one, as those programs have it that pack them.
 */
#ifndef TEXTMILL_COMMON_COMPRESS_H
#define TEXTMILL_COMMON_COMPRESS_H

#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"

enum compression { COMPRESS_NONE, COMPRESS_GZIP, COMPRESS_ZLIB, COMPRESS_ZSTD };

const char *compress_name(enum compression how); /* "none", "gzip", "zlib", "zstd" */

/* What a file that begins with these bytes seems to be. */
enum compression compress_recognise(const unsigned char *bytes, uint64_t n);

/* ---- packing ------------------------------------------------------------------------------ */

struct compress;

/* At the usual level: 6 of zlib, 3 of Zstandard, with its checksum. `how` is not COMPRESS_NONE.
 * NULL when there is no memory for it. */
struct compress *compress_new(enum compression how);
void compress_free(struct compress *c);

/* Appends to `out` as much of the packed stream as there is after bytes[0..n). */
void compress_add(struct compress *c, const void *bytes, size_t n, struct buf *out);
void compress_end(struct compress *c, struct buf *out); /* the rest; nothing may follow */

/* ---- unpacking ---------------------------------------------------------------------------- */

/* Gives the unpacked bytes to `put` piece by piece; a piece is at most 256 KiB, so that memory does
 * not depend on what a stream claims. -1 when `put` failed or the stream is damaged or cut short;
 * then the error says so, with the byte of data[0..n), and what was given before is good as far as
 * can be told. */
int compress_unpack(enum compression how, const unsigned char *data, uint64_t n,
                    int (*put)(void *ctx, const void *bytes, size_t n), void *ctx);

/* The same from bytes that come piece by piece: `give` hands out the next ones, which stay until it
 * is called again; 0 at the end, -1 with an error. compress_read: up to n bytes, 0 at the end, -1;
 * what came before an error was good as far as can be told. NULL when there is no memory. */
struct compress_reader;
struct compress_reader *compress_reader_new(enum compression how,
                                            int64_t (*give)(void *ctx, const void **bytes),
                                            void *ctx);
void compress_reader_free(struct compress_reader *r);
int64_t compress_read(struct compress_reader *r, void *bytes, size_t n);

/* ---- checksums ---------------------------------------------------------------------------- */

/* CRC-32 of bytes[0..n), as gzip and zip files have it (RFC 1952, section 8). */
uint32_t compress_crc32(const void *bytes, uint64_t n);

#endif
