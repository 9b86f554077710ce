/*
 * encode_document.h - what becomes of one document: a frame of the token stream, or a line of ids.
 *
 *     const struct encode_options how = { .t = tokenizer, .width = 2, .mend = MEND_FEW };
 *     encode_document(&how, encoder, batch, 1, text, n);
 */
#ifndef TEXTMILL_TOKENIZER_ENCODE_DOCUMENT_H
#define TEXTMILL_TOKENIZER_ENCODE_DOCUMENT_H

#include <stddef.h>
#include <stdint.h>

#include "tokenizer/batch.h"
#include "tokenizer/input/mend.h"
#include "tokenizer/tokenizer.h"

enum encode_offsets { OFFSETS_NONE, OFFSETS_BYTES, OFFSETS_CHARACTERS };

#define ENCODE_OFFSETS "none|bytes|chars"

struct encode_options {
    const struct tokenizer *t; /* borrowed */
    int width;                 /* bytes of an id in the stream: 2 or 4 */
    int special;               /* spellings of special tokens in the text become their ids */
    int as_ids;                /* a line of decimal ids, not a frame */
    int wrap;                  /* with as_ids: special tokens around the document */
    enum encode_offsets offsets; /* with as_ids: the line is JSON, {"ids":[…],"offsets":[[…]…]} */
    enum mend_rule mend;         /* what becomes of bytes that are not UTF-8 */
};

/* Appends document `number`, text[0..n), to b->out, and counts in b->tokens and b->replaced. With
 * b->sentences the frame says where sentences, which are lines, end. -1 with an error that names
 * the document: its text is not UTF-8 or cannot be encoded, or the ends of its sentences cannot be
 * found. */
int encode_document(const struct encode_options *how, struct encoder *e, struct batch *b,
                    uint64_t number, const char *text, size_t n);

#endif
