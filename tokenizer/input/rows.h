/*
 * rows.h - reads the rows of a Parquet or Arrow file (common/formats/columns.h).
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
