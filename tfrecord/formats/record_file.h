/*
 * record_file.h - a TFRecord file to read records from (record.h), compressed or not.
 *
 * A plain file is mapped as it is. A compressed one has no places to go to, so it is unpacked when
 * it is opened, into memory if it is small and else into a temporary file (spill.h): offsets of its
 * records are offsets in what was unpacked, and memory does not depend on its size.
 */
#ifndef TEXTMILL_TFRECORD_FORMATS_RECORD_FILE_H
#define TEXTMILL_TFRECORD_FORMATS_RECORD_FILE_H

#include "common/compress.h"
#include "common/file.h"

struct spill;

struct record_file {
    struct file_map packed;  /* the file itself */
    enum compression how;    /* by its content */
    struct spill *unpacked;  /* NULL: plain */
    struct file_map records; /* what records are read from: `packed`, or what was in it */
};

/* -1 when the file cannot be read, is a git-lfs pointer, or is a compressed stream that is damaged
 * or cut short; then the error names the record that the damage is in. */
int record_file_open(struct record_file *f, const char *path);
void record_file_close(struct record_file *f);

/* The same for those who want what is left: 1, or 0 when a compressed stream is damaged; then
 * `records` is what came before, and the error says what is wrong. */
int record_file_salvage(struct record_file *f, const char *path);

#endif
