/*
 * index.h - where the records of a TFRecord file are.
 *
 * An index file has a line a record, "<offset> <bytes>", bytes being the whole record with its
 * 16 bytes of framing: what tfrecord2idx writes and its readers want. X.tfrecord has X.index
 * beside it; of other names NAME.index.
 */
#ifndef TEXTMILL_INDEX_H
#define TEXTMILL_INDEX_H

#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/file.h"

struct record_index {
    uint64_t *offsets; /* of the frames */
    uint64_t count, cap;
};

void index_release(struct record_index *index);

/* The index file's name for `path`; replaces out. */
void index_path(struct buf *out, const char *path);

/* Appends a record's line. */
void index_line(struct buf *out, uint64_t offset, uint64_t bytes);

/* Finds the records from the file itself: -1 naming the record that is torn or damaged.
 * With `data` the data's CRCs are checked too; without, only lengths are read. */
int index_scan(struct record_index *index, const struct file_map *map, const char *path, int data);

/* Reads an index file: -1 when it is absent, or does not cover a file of `bytes` bytes record
 * after record; then the error names the line. */
int index_load(struct record_index *index, const char *path, uint64_t bytes);

#endif
