/*
 * csv.h - reads tables in CSV format (RFC 4180).
 *
 * A quoted cell may hold commas, line ends, and doubled quotes. Lines end with LF or CR LF. Blank
 * lines between records are skipped. Ambiguous input is an error: a quote inside an unquoted cell,
 * anything between a closing quote and the next comma, and a quote that is never closed.
 */
#pragma once

#include "common/files/file.h"

struct csv {
    struct input *in;      /* borrowed */
    uint64_t line, record; /* line numbers, from 1: of the last line read, and of the first line of
                            * the record */
    struct buf cells;      /* the texts of the record's cells, concatenated */
    size_t *ends;          /* cell i is cells[ends[i - 1]..ends[i]) */
    size_t count, cap;
};

void csv_open(struct csv *c, struct input *in);
void csv_close(struct csv *c);

/* Reads the next record. Returns 1, 0 at the end, or -1 with an error that names file and line. */
int csv_read(struct csv *c);

/* Returns cell i of the record, i < c->count, which is not NUL-terminated, and sets *len. The
 * bytes stay valid until the next call of csv_read. */
const char *csv_cell(const struct csv *c, size_t i, size_t *len);
