/*
 * rows.h - reads the rows of a Parquet or Arrow file, and copies those of Parquet files
 * (common/formats/columns.h).
 */
#pragma once

#include "common/files/file.h"
#include "common/formats/columns.h"

struct rows {
    struct input *in; /* borrowed */
    const struct columns *library;
    struct columns_reader *reader;
    struct columns_cell *cells; /* values of the current row, in the order of the names */
    size_t count;
    uint64_t row; /* number of the current row, from 1 */
};

/* Opens the columns `names`, separated by commas, of the file `in`; no byte of it was read yet.
 * Returns 0, or -1 with an error that names the file; the caller calls rows_close even then. */
int rows_open(struct rows *r, struct input *in, enum columns_kind kind, const char *names);
void rows_close(struct rows *r); /* allowed on a zeroed struct */

/* Reads the next row. Returns 1, 0 at the end, or -1 with an error that names the file and the
 * row. */
int rows_read(struct rows *r);

/* A copy of the rows of Parquet files, as one file. Rows may be left out or get another text. */
struct rows_copy {
    const struct file_names *paths; /* of the files, borrowed */
    size_t next;                    /* the file to be opened next */
    size_t opened;                  /* number of files so far that were not empty */
    struct input in[2];             /* the open file and the one before it */
    const struct columns *library;
    struct columns_copy *copy;
};

/* Begins to copy the files to `out`; `text` and `mark` as struct columns has them. Returns 0, or -1
 * with an error; the caller calls rows_copy_close even then. */
int rows_copy_open(struct rows_copy *c, const struct file_names *paths, const char *text,
                   const char *mark, struct output *out);
void rows_copy_close(struct rows_copy *c); /* allowed on a zeroed struct */

/* Copies the next row if `keep` is 1. It is a row of the file `file`, an element of paths->names.
 * `text` and `mark` are as for copy_row of struct columns. Returns 0, or -1 with an error. */
int rows_copy_put(struct rows_copy *c, const char *file, int keep, const struct buf *text,
                  const char *mark);
int rows_copy_end(struct rows_copy *c); /* ends the copy; 0, or -1 with an error */
