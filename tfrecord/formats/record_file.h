/*
 * record_file.h - opens a TFRecord file for reading records (record.h), compressed or not.
 *
 * A plain file is mapped. A compressed file allows no random access, so it is unpacked when it is
 * opened: into memory if it is small, else into a temporary file (spill.h). The offsets of its
 * records are offsets in the unpacked data. Memory use does not depend on its size.
 */
#ifndef TEXTMILL_TFRECORD_FORMATS_RECORD_FILE_H
#define TEXTMILL_TFRECORD_FORMATS_RECORD_FILE_H

#include "common/compress.h"
#include "common/file.h"

struct spill;

struct record_file {
    struct file_map packed;  /* the file itself */
    enum compression how;    /* compression, found from the content */
    struct spill *unpacked;  /* unpacked data; NULL: plain file */
    struct file_map records; /* bytes to read records from: `packed` or the unpacked data */
};

/* Opens a file. Returns -1 if it cannot be read, is a git-lfs pointer, or is a compressed stream
 * that is damaged or cut short. In the last case the error names the record that contains the
 * damage. */
int record_file_open(struct record_file *f, const char *path);
void record_file_close(struct record_file *f);

/* As record_file_open, but accepts a damaged compressed stream. Returns 1, or 0 for a damaged
 * stream; then `records` is the data before the damage, and the error is set. */
int record_file_salvage(struct record_file *f, const char *path);

#endif
