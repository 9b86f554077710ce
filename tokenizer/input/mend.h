/*
 * mend.h - what becomes of bytes that are no text: not UTF-8, or half of a surrogate pair in JSON.
 */
#ifndef TEXTMILL_TOKENIZER_INPUT_MEND_H
#define TEXTMILL_TOKENIZER_INPUT_MEND_H

#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"

enum mend_rule {
    MEND_FEW,  /* U+FFFD stands for them, as long as they are few: else it is no text at all */
    MEND_ALL,  /* U+FFFD stands for them */
    MEND_NONE, /* they are an error */
};

#define MEND_RULES "few|replace|error"

/* Whether so many bytes of a document of n may be replaced: 0, or -1 with an error. Few are up to
 * 100 bytes, or up to one in a hundred. */
int mend_check(enum mend_rule rule, uint64_t replaced, size_t n);

/* Appends a JSON text with U+FFFD for what is not UTF-8 and for the escapes of lone surrogates.
 * Returns how many of its bytes were replaced. */
uint64_t mend_json(struct buf *out, const char *text, size_t n);

#endif
