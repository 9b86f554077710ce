/*
 * bunzip.h - decompresses bzip2 on all cores, as a stream of bytes.
 *
 * A bzip2 file is a sequence of streams. A stream holds blocks, which may begin at any bit:
 *
 *     "BZh" level  block*  end-of-stream marker, checksum, zero bits up to a byte
 *
 * Only a 48-bit marker shows where a block begins (bzblock.h), and the same bits can occur inside
 * compressed data. The file is cut into pieces before every marker (bzpiece.h), and several threads
 * decode the pieces as if each were a block. The reader takes the pieces in order and accepts a
 * block only if it begins where the one before it ended. If a marker was only data, its pieces are
 * joined and decoded again. So files of one stream and of thousands are equally fast, and no data
 * can cause a wrong result.
 *
 * All CRCs are checked before any byte is returned. Zero bytes between and after streams are
 * skipped; other bytes there are an error. Data returned before an error is correct, and reading
 * may resume at the next undamaged block.
 *
 * Memory: about 15 MB per thread, and at most 50 MB, whatever the file contains.
 */
#pragma once

#include "common/base/base.h"

struct bunzip;

/* Returns 1 if the first n bytes of a file begin a bzip2 stream, else 0. 10 bytes are enough. */
int bunzip_recognises(const void *bytes, size_t n);

/* Where the compressed bytes come from. `pull` stores up to n more of them in `bytes` and returns
 * their number, 0 at the end, or -1 with the error set. Any thread may call it, but only one at a
 * time. For error messages `place` converts an offset in these bytes to one in the file; NULL: they
 * are equal. */
struct bunzip_source {
    const char *name; /* borrowed; for error messages */
    int64_t (*pull)(void *ctx, void *bytes, size_t n);
    uint64_t (*place)(void *ctx, uint64_t offset);
    void *ctx;
};

/* Creates a decompressor; `from` is copied. Up to `threads` threads may work on it: the caller of
 * bunzip_read, and helpers that decode ahead. */
struct bunzip *bunzip_new(const struct bunzip_source *from, int threads);
void bunzip_free(struct bunzip *b); /* no other thread may call bunzip_help any more */

/* Decodes one block ahead. Any thread may call it at any time. Returns 1, or 0 if there is nothing
 * to do now. */
int bunzip_help(struct bunzip *b);

/* For a part of a file; to be called before the first read. in_middle 1: the input begins in the
 * middle of the file, so it is skipped up to its first block. The part ends at the offset `end` in
 * the compressed bytes. bunzip_part_end returns the decompressed size of the blocks that begin
 * before it, or UINT64_MAX until reading has reached a block that begins at or after it. */
void bunzip_set_part(struct bunzip *b, int in_middle, uint64_t end);
uint64_t bunzip_part_end(const struct bunzip *b);

/* Reads up to n unpacked bytes. Returns their number, 0 at the end, or -1 with the error set. */
int64_t bunzip_read(struct bunzip *b, void *bytes, size_t n);

/* After an error: continues at the next undamaged block, in any stream. Returns 1, or 0 if there is
 * none. The amount of lost data is unknown, and the checksum of that stream is not checked; the CRC
 * of each block still is. Each marker is tried as the start of one block that ends at the next
 * marker, so skipping damage takes linear time. */
int bunzip_resume(struct bunzip *b);

/* Returns the number of compressed bytes used so far. */
uint64_t bunzip_packed(const struct bunzip *b);
