/*
 * repair.h - the good records of a damaged TFRecord file.
 */
#ifndef TEXTMILL_TFRECORD_CHECK_REPAIR_H
#define TEXTMILL_TFRECORD_CHECK_REPAIR_H

#include <stdint.h>

#include "common/file.h"

/* Goes through a file's records, past the bad ones. */
struct repair {
    uint64_t good, bad;  /* records; a stretch in which no record begins counts as one */
    uint64_t lost_bytes; /* of the bad */
    void (*told)(const char *error); /* of each bad one: names file, record and offset; or NULL */
};

/* Writes the good records of `path` to `to`, which may be the same, and the index beside it. What
 * was compressed is not any more. */
int repair_file(struct repair *r, const char *path, const char *to);

/* The same without writing: what repair_file would say. */
void repair_count(struct repair *r, const struct file_map *map, const char *path);

#endif
