/*
 * id_rows.h - documents as ids: those of a token stream, or lines of decimal ids.
 *
 * Of a stream each id is in the vocabulary, which must be the one that the stream was made with.
 * Lines may have spaces, tabs and CR between and behind numbers below 2^32, and nothing else.
 */
#ifndef TEXTMILL_TOKENIZER_ID_ROWS_H
#define TEXTMILL_TOKENIZER_ID_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "common/file.h"
#include "common/ids.h"
#include "common/stream.h"
#include "tokenizer/tokenizer.h"

struct id_rows {
    struct input in;
    int lines; /* not a stream */
    struct stream_reader stream;
    struct ids line;
    uint64_t number;     /* of documents so far */
    const uint32_t *ids; /* the document, until the next */
    size_t count;
};

/* A file, "-" for stdin. -1, with nothing to close: it cannot be opened, is no token stream, or one
 * of another vocabulary. */
int id_rows_open(struct id_rows *r, const char *path, int lines, const struct tokenizer *t);
int id_rows_next(struct id_rows *r); /* 1, 0 at the end, -1 */
void id_rows_close(struct id_rows *r);

/* Puts file and line, or document, in front of the error: -1. */
int id_rows_where(const struct id_rows *r);

#endif
