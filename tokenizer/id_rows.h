/*
 * id_rows.h - reads documents as ids, from a token stream or from lines of decimal ids.
 *
 * A token stream must have been made with the given vocabulary: a header with another checksum is
 * an error. Ids on lines are not checked against the vocabulary: they may be any numbers below
 * 2^32. Each line is a document; spaces, tabs and CR may stand between the ids and after the last
 * one. A byte order mark before the first line is left out.
 */
#pragma once

#include "common/base/ids.h"
#include "common/files/file.h"
#include "common/formats/stream.h"
#include "tokenizer/tokenizer.h"

struct id_rows {
    struct input in;
    int lines; /* the input is lines of decimal ids, not a token stream */
    struct stream_reader stream;
    struct ids line;
    uint64_t number;     /* number of documents read so far */
    const uint32_t *ids; /* ids of the current document; valid until the next read */
    size_t count;
};

/* Opens the file `path`; "-" is stdin. `lines` 1: it has lines of decimal ids; 0: it is a token
 * stream. Returns 0, or -1 with an error, and nothing to close, if the file cannot be opened, is
 * not a token stream, or was made with another vocabulary than `t`. */
int id_rows_open(struct id_rows *r, const char *path, int lines, const struct tokenizer *t);
/* Reads the next document. Returns 1, 0 at the end, -1 with an error. */
int id_rows_next(struct id_rows *r);
void id_rows_close(struct id_rows *r);

/* Prefixes the current error with the file and the line or document number. Returns -1. */
int id_rows_where(const struct id_rows *r);
