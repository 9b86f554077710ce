/*
 * unpack.h - a compressed file as a stream of bytes.
 *
 * The format is recognised by content, never by name: plain, bzip2, gzip, xz, lzma, zstd, lz4,
 * and archives that hold one file (7z, zip, tar). bzip2, which dumps are published in, goes
 * through bunzip.h, on all cores; the rest through libarchive.
 */
#ifndef TEXTMILL_WIKIPREP_INPUT_UNPACK_H
#define TEXTMILL_WIKIPREP_INPUT_UNPACK_H

#include <stddef.h>
#include <stdint.h>

struct unpack;

/* "-" is stdin; NULL with the error set. `threads` may work on it: the one that calls unpack_read,
 * and those that help it. */
struct unpack *unpack_open(const char *path, int threads);
void unpack_close(struct unpack *u); /* once nobody helps any more */

/* Unpacks ahead, by any thread at any time: 1, or 0 when there is nothing to do now. */
int unpack_help(struct unpack *u);

/* Starts threads of its own that help, for those who have no others. */
void unpack_start_helpers(struct unpack *u);

/* Some streams of a bzip2 file, as if it were those alone: bytes [begin, end), in rising order, of
 * whole streams. `ranges` is borrowed. */
struct unpack_range {
    uint64_t begin, end;
};
struct unpack *unpack_open_ranges(const char *path, const struct unpack_range *ranges, size_t count,
                                  int threads);

/* What bytes [begin, ...) of a plain or bzip2 file hold: of bzip2 from the first block on that
 * begins there. unpack_part_end: how many bytes those have that begin before `end`; UINT64_MAX
 * until reading has come there. */
struct unpack *unpack_open_part(const char *path, uint64_t begin, uint64_t end, int threads);
uint64_t unpack_part_end(const struct unpack *u);

/* Up to n bytes: how many, 0 at the end, -1. What came before an error was good. */
int64_t unpack_read(struct unpack *u, void *bytes, size_t n);

/* After an error: 1 when the next bytes are those behind the damage, as of bzip2 they may be; 0
 * when there are none. */
int unpack_resume(struct unpack *u);

/* At the end: the byte where something begins that is no bzip2 and was left; 0: there is none. */
uint64_t unpack_trailing(const struct unpack *u);

/* Bytes of the packed file that were read so far: for progress. */
uint64_t unpack_packed(const struct unpack *u);

#endif
