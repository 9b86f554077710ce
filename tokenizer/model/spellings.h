/*
 * spellings.h - the texts of all tokens, in a table for decoding.
 *
 * An entry has 16 bytes. A text of up to 15 bytes is in its entry, so that decoding a token reads
 * one place in memory and copies with one fixed-size copy.
 */
#pragma once

#include "common/base/base.h"

enum {
    SPELLING_SHORT = 15, /* most bytes of a text in its entry */
    /* other values of `len` */
    SPELLING_LONG, /* the text is in `longer`, and its offset and length are in the entry */
    SPELLING_BYTE, /* the token stands for the byte text[0], which is joined with its neighbours */
    SPELLING_HOLE, /* there is no such token */
};

struct spelling {
    char text[SPELLING_SHORT];
    uint8_t len;
};

struct spellings {
    struct spelling *items; /* by id */
    size_t count;
    struct buf longer;
};

void spellings_init(struct spellings *s, size_t count); /* all texts are empty */
void spellings_release(struct spellings *s);

/* Sets the text of a token. Returns 0, or -1 without an error set if it has 4 GiB or more. */
int spellings_set(struct spellings *s, size_t id, const char *text, size_t n);

/* Returns the text of a token, or its byte, which is not NUL-terminated, and sets *n to its length;
 * NULL for a hole. */
const char *spellings_get(const struct spellings *s, uint32_t id, size_t *n);

/* Appends the texts of ids[0..n) to `out`. Stops at the first id that is a hole, not in the table,
 * or a byte; but an ASCII byte between other texts is appended. There must be no byte token before
 * ids[0]. Returns the number of ids whose texts were appended. */
size_t spellings_put(const struct spellings *s, const uint32_t *ids, size_t n, struct buf *out);
