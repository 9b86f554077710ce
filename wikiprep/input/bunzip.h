/*
 * bunzip.h - bzip2 on all cores, as a stream of bytes.
 *
 * A bzip2 file is a sequence of streams, and a stream one of blocks that begin at any bit:
 *
 *     "BZh" level  block*  end-of-stream magic, checksum, zero bits up to a byte
 *
 * Nothing says where blocks begin but their magic number (bzblock.h). The packed bytes are cut
 * before every magic (bzpiece.h), and the pieces are decoded side by side in the hope that each is
 * a block. They are then taken in order: a block counts when it begins where the one before it
 * ended. Where a magic turns out to be data, the pieces around it are joined and decoded again. So
 * streams of one block and of thousands are equally fast, and no data can mislead.
 *
 * All CRCs are checked before a byte is given out. Zero bytes between and behind streams are
 * skipped; anything else there is an error where blocks follow it, and else left. After whatever
 * error, what came before it was good, and reading may go on with the next block that is whole.
 *
 * Memory: per thread some 15 MB; at most 50 MB, whatever the file says.
 */
#ifndef TEXTMILL_WIKIPREP_INPUT_BUNZIP_H
#define TEXTMILL_WIKIPREP_INPUT_BUNZIP_H

#include <stddef.h>
#include <stdint.h>

struct bunzip;

/* Whether n bytes of a file's beginning (14 are enough) are those of a bzip2 stream. */
int bunzip_recognises(const void *bytes, size_t n);

/* `pull` gives up to n more packed bytes: how many, 0 at the end, -1 with the error set. It is
 * called by any thread, one at a time. `name` (borrowed) is for errors. `threads` may work on it:
 * the one that calls bunzip_read, and those that help it, which read ahead. */
struct bunzip *bunzip_new(const char *name, int64_t (*pull)(void *ctx, void *bytes, size_t n),
                          void *ctx, int threads);
void bunzip_free(struct bunzip *b); /* once nobody helps any more */

/* Unpacks a block ahead, by any thread at any time: 1, or 0 when there is nothing to do now. */
int bunzip_help(struct bunzip *b);

/* Starts threads of its own that help: threads - 1. Once, for those who have no others. */
void bunzip_start_helpers(struct bunzip *b);

/* `place` tells errors where in the file the pulled byte `offset` is, where those are not the same.
 */
void bunzip_set_places(struct bunzip *b, uint64_t (*place)(void *ctx, uint64_t offset));

/* For a beginning in mid-file, before the first read: goes to the first block. */
void bunzip_start_at_block(struct bunzip *b);

/* Sets a mark at a byte of the packed ones; bunzip_given_to_mark is how many bytes the blocks have
 * that begin before it: UINT64_MAX until one behind it is reached. */
void bunzip_set_mark(struct bunzip *b, uint64_t packed);
uint64_t bunzip_given_to_mark(const struct bunzip *b);

/* Up to n bytes: how many, 0 at the end, -1. */
int64_t bunzip_read(struct bunzip *b, void *bytes, size_t n);

/* After an error: goes on at the next block that is whole, in whatever stream; 0 when there is
 * none. What was lost before it cannot be told, nor can that stream's checksum; the block's own is
 * right. Between two magics lies a block or none, so that damage is passed in linear time. */
int bunzip_resume(struct bunzip *b);

/* At the end: the byte where something begins that is no bzip2 and was left; 0: there is none. */
uint64_t bunzip_trailing(const struct bunzip *b);

/* Packed bytes that were used so far. */
uint64_t bunzip_packed(const struct bunzip *b);

#endif
