/*
 * record_file.h - opens a TFRecord file for reading records (record.h), compressed or not.
 *
 * A plain file is mapped. A compressed file allows no random access, so it is unpacked when it is
 * opened: into memory if it is small, else into a temporary file (spill.h). The offsets of its
 * records are offsets in the unpacked data. Memory use does not depend on its size.
 */
#pragma once

#include "common/files/compress.h"
#include "common/files/file.h"

struct spill;

struct record_file {
    struct file_map packed;  /* the file itself */
    enum compression how;    /* compression, found from the content */
    struct spill *unpacked;  /* unpacked data; NULL: plain file */
    struct file_map records; /* bytes to read records from: `packed` or the unpacked data */
};

/* Opens a file. Returns 0, or -1 if it cannot be read, is a git-lfs pointer, or is a compressed
 * stream that is damaged or cut short. In the last case the error names the record that contains
 * the damage. */
int record_file_open(struct record_file *f, const char *path);
void record_file_close(struct record_file *f);

/* Opens a file as record_file_open does, but also one whose compressed stream is damaged. Returns
 * 1; 0 if the stream is damaged, with the error set and `records` holding the data before the
 * damage; or -1 with an error. */
int record_file_salvage(struct record_file *f, const char *path);
