/*
 * csv.h - tables with commas between the cells, as RFC 4180 has them.
 *
 * A cell in quotes may hold commas, line ends, and quotes that are doubled. Lines end with LF or CR
 * LF. Blank lines between records are skipped; a byte order mark in front of the first is, too.
 * What is ambiguous is an error: a quote inside a cell without quotes, anything between a closing
 * quote and the next comma, and a quote that is never closed.
 */
#ifndef TEXTMILL_TOKENIZER_INPUT_CSV_H
#define TEXTMILL_TOKENIZER_INPUT_CSV_H

#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/file.h"

struct csv {
    struct input *in;      /* borrowed */
    uint64_t line, record; /* the line that was read last; where the record began; from 1 */
    struct buf cells;      /* behind one another */
    size_t *ends;          /* cell i is cells[ends[i - 1]..ends[i]) */
    size_t count, cap;
};

void csv_open(struct csv *c, struct input *in);
void csv_close(struct csv *c);

/* The next record: 1, 0 at the end, -1 with the file and its line. */
int csv_read(struct csv *c);

/* A cell of the record, not NUL-ended, until the next call of csv_read. i < count. */
const char *csv_cell(const struct csv *c, size_t i, size_t *len);

#endif
