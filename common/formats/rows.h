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

/* A Parquet file with the rows of others, some of which are left out or have another text. */
struct rows_copy {
    const struct file_names *paths; /* of the files, borrowed */
    size_t next;                    /* the file to be opened next */
    struct input in[2];             /* the file, and the one before it */
    const struct columns *library;
    struct columns_copy *copy;
};

/* Begins to copy the files to `out`; `text` and `mark` as struct columns has them. Returns 0, or -1
 * with an error; the caller calls rows_copy_close even then. */
int rows_copy_open(struct rows_copy *c, const struct file_names *paths, const char *text,
                   const char *mark, struct output *out);
void rows_copy_close(struct rows_copy *c); /* allowed on a zeroed struct */

/* Takes the next row over if `keep`. It is one of `file`, a name of the paths. `text`: another one;
 * NULL: as it was read. Returns 0, or -1 with an error that names the file. */
int rows_copy_put(struct rows_copy *c, const char *file, int keep, const struct buf *text,
                  const char *mark);
int rows_copy_end(struct rows_copy *c); /* the same for the end of the copy */
