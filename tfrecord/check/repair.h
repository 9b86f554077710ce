/*
 * repair.h - saves the valid records of a damaged TFRecord file.
 */
#pragma once

#include "common/files/file.h"

/* The result of a repair. */
struct repair {
    uint64_t good, bad;  /* number of valid and of bad records; a range of bytes without a record's
                            start counts as one bad record */
    uint64_t lost_bytes; /* bytes of the bad records */
    void (*told)(const char *error); /* called for each bad record with an error that names file,
                                        record and offset; may be NULL */
};

/* Writes the valid records of the file `path` to the file `to`, which may be the same, and writes
 * its index. The output is not compressed, even if the input was. Returns 0, or -1 with an error. A
 * damaged file without a valid record is an error, and nothing is written. */
int repair_file(struct repair *r, const char *path, const char *to);

/* Counts valid and bad records as repair_file does, without writing. */
void repair_count(struct repair *r, const struct file_map *map, const char *path);
