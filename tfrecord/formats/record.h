/*
 * record.h - TFRecord framing.
 *
 * A file is records back to back, each of them
 *
 *     u64 length | u32 masked CRC32C of the 8 length bytes | data | u32 masked CRC32C of data
 *
 * little-endian. Reading is over a mapped file (record_file.h); both CRCs are checked before data
 * is believed, and a length is never more than the file has, whatever it says.
 *
 * Errors say what is wrong with the record; the caller, who counts, puts file, record and byte
 * offset in front (record_where).
 */
#ifndef TEXTMILL_TFRECORD_FORMATS_RECORD_H
#define TEXTMILL_TFRECORD_FORMATS_RECORD_H

#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/file.h"

enum { RECORD_HEAD_BYTES = 12, RECORD_FRAME_BYTES = 16 };

struct record {
    const unsigned char *data; /* in the map */
    uint64_t bytes;            /* of data */
    uint64_t offset;           /* of the frame in the file; the next is at record_end */
};

static inline uint64_t record_end(const struct record *r)
{
    return r->offset + r->bytes + RECORD_FRAME_BYTES;
}

/* The record whose frame begins at `offset`: 1, 0 when the file ends there, -1. */
int record_read(const struct file_map *map, uint64_t offset, struct record *r);

/* The same without reading the data: its CRC is not checked. For finding where records are. */
int record_skim(const struct file_map *map, uint64_t offset, struct record *r);

/* Where to go on after the record at `offset` that record_read refused: at its end, if only its
 * data is damaged, else where the next good record begins, or at the end of the file. */
uint64_t record_after(const struct file_map *map, uint64_t offset);

/* Appends data[0..n) as one framed record. */
void record_frame(struct buf *out, const void *data, size_t n);

/* Puts "<path>: record <number> at byte <offset>" in front of the error. Returns -1. */
int record_where(const char *path, uint64_t number, uint64_t offset);

#endif
