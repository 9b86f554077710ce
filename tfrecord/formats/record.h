/*
 * record.h - TFRecord framing.
 *
 * A file is a sequence of records. Each record is
 *
 *     u64 length | u32 masked CRC32C of the 8 length bytes | data | u32 masked CRC32C of data
 *
 * All numbers are little-endian. Records are read from a mapped file (record_file.h). Both CRCs are
 * checked before data is used, and a length that exceeds the file is an error.
 *
 * Errors say what is wrong with the record. The caller knows its number and adds file, record and
 * byte offset (record_where).
 */
#pragma once

#include "common/files/file.h"

enum { RECORD_HEAD_BYTES = 12, RECORD_FRAME_BYTES = 16 };

struct record {
    const unsigned char *data; /* in the map */
    uint64_t bytes;            /* of data */
    uint64_t offset;           /* of the frame in the file; the next frame is at record_end */
};

static inline uint64_t record_end(const struct record *r)
{
    return r->offset + r->bytes + RECORD_FRAME_BYTES;
}

/* Reads the record whose frame begins at `offset` into *r. Returns 1, 0 if the file ends there, or
 * -1 with an error. */
int record_read(const struct file_map *map, uint64_t offset, struct record *r);

/* As record_read, but does not read the data or check its CRC; for finding the positions of
 * records. */
int record_skim(const struct file_map *map, uint64_t offset, struct record *r);

/* Returns the offset to continue at after record_read refused the record at `offset`. If only the
 * data is damaged, this is the record's end; else the start of the next valid record, or the end of
 * the file. */
uint64_t record_after(const struct file_map *map, uint64_t offset);

/* Appends data[0..n) to `out` as one framed record. */
void record_frame(struct buf *out, const void *data, size_t n);

/* Puts "<path>: record <number> at byte <offset>" in front of the error. Returns -1. */
int record_where(const char *path, uint64_t number, uint64_t offset);
