/*
 * index.h - where the records of a TFRecord file are.
 *
 * An index file has a line a record, "<offset> <bytes>", bytes being the whole record with its
 * 16 bytes of framing: what tfrecord2idx writes and its readers want. X.tfrecord has X.index
 * beside it; of other names NAME.index.
 */
#ifndef TEXTMILL_TFRECORD_FORMATS_INDEX_H
#define TEXTMILL_TFRECORD_FORMATS_INDEX_H

#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/file.h"

/*
 * In memory a record takes one to two bytes, as a rule: of each 64 the first one's place is kept,
 * and of all their size, as the excess over the least of them in as many bytes as the largest
 * excess needs (Goldstein, Ramakrishnan and Shaft, "Compressing relations and indexes", 1998).
 */
enum { INDEX_BLOCK = 64 };

struct index_block {
    uint64_t offset;    /* of the first record's frame */
    uint64_t least, at; /* the least size; where the excesses begin */
    int width;          /* bytes of an excess, 0 to 8 */
};

struct record_index {
    uint64_t count;
    struct index_block *blocks;
    unsigned char *excesses;
    size_t block_cap, excess_bytes, excess_cap;
    uint64_t last[INDEX_BLOCK]; /* sizes of the block that is not full */
};

void index_release(struct record_index *index);

/* Where record i's frame begins, i < count. */
uint64_t index_at(const struct record_index *index, uint64_t i);

/* The index file's name for `path`; replaces out. */
void index_path(struct buf *out, const char *path);

/* Appends a record's line. */
void index_line(struct buf *out, uint64_t offset, uint64_t bytes);

/* Finds the records from the file itself: -1 naming the record that is torn or damaged.
 * With `data` the data's CRCs are checked too; without, only lengths are read. */
int index_scan(struct record_index *index, const struct file_map *map, const char *path, int data);

/* Writes the index file `to` of a file of `bytes` bytes. */
int index_write(const struct record_index *index, uint64_t bytes, const char *to);

/* Reads an index file: -1 when it is absent, or does not cover a file of `bytes` bytes record
 * after record; then the error names the line. */
int index_load(struct record_index *index, const char *path, uint64_t bytes);

#endif
