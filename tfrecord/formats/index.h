/*
 * index.h - the positions of the records in a TFRecord file.
 *
 * An index file has one line per record, "<offset> <bytes>". `bytes` is the size of the whole
 * record, including its 16 bytes of framing. tfrecord2idx writes this format. The index of
 * X.tfrecord is X.index; the index of any other NAME is NAME.index.
 */
#pragma once

#include "common/files/file.h"

/*
 * In memory a record usually takes one or two bytes. Records are grouped in blocks of 64. For each
 * block the offset of its first record is stored, and for each record its size minus the smallest
 * size in the block, in as many bytes as the largest such difference needs (Goldstein, Ramakrishnan
 * and Shaft, "Compressing relations and indexes", 1998).
 */
enum { INDEX_BLOCK = 64 };

struct index_block {
    uint64_t offset; /* byte offset of the first record's frame */
    /* `least`: the smallest record size; `at`: position in `excesses` of the block's first
     * difference */
    uint64_t least, at;
    int width; /* bytes per difference, 0 to 8 */
};

struct record_index {
    uint64_t count;
    struct index_block *blocks;
    unsigned char *excesses;
    size_t block_cap, excess_bytes, excess_cap;
    uint64_t last[INDEX_BLOCK]; /* record sizes of the last block, until it is full */
};

void index_release(struct record_index *index);

/* Returns the byte offset of record i's frame, i < count. */
uint64_t index_at(const struct record_index *index, uint64_t i);

/* Returns the name of the index file of the TFRecord file `path`, in a new buffer. */
struct buf index_path(const char *path);

/* Appends the index file's line for a record to `out`: the record begins at byte `offset` and has
 * `bytes` bytes, including its framing. */
void index_line(struct buf *out, uint64_t offset, uint64_t bytes);

/* Builds the index of a TFRecord file from the mapped file itself. With `data` 1, the CRCs of the
 * records' data are checked, too; with 0, only the lengths are read. Returns 0, or -1 with an error
 * that names the first record that is incomplete or damaged. */
int index_scan(struct record_index *index, const struct file_map *map, const char *path, int data);

/* Writes `to`, the index of a TFRecord file of `bytes` bytes. Returns 0, or -1 with an error. */
int index_write(const struct record_index *index, uint64_t bytes, const char *to);

/* Reads an index file. Returns 0, or -1 with an error if the file is missing, or if its records do
 * not cover a file of `bytes` bytes without gaps; in the second case the error names the line. */
int index_load(struct record_index *index, const char *path, uint64_t bytes);
