/*
 * encode_document.h - encodes one document as a frame of the token stream or as a line of ids.
 *
 *     const struct encode_options how = { .t = tokenizer, .width = 2, .mend = MEND_FEW };
 *     encode_document(&how, encoder, batch, 1, text, n);
 */
#pragma once

#include "tokenizer/batch.h"
#include "tokenizer/chat.h"
#include "tokenizer/input/mend.h"
#include "tokenizer/tokenizer.h"

enum encode_offsets { OFFSETS_NONE, OFFSETS_BYTES, OFFSETS_CHARACTERS };

#define ENCODE_OFFSETS "none|bytes|chars"

struct encode_options {
    const struct tokenizer *t; /* borrowed */
    int width;                 /* bytes of an id in the stream: 2 or 4 */
    int special;               /* 1: the spelling of a special token in the text becomes its id */
    int as_ids;                /* write a line of decimal ids instead of a frame */
    int wrap; /* with as_ids: add the vocabulary's special tokens around each document */
    enum encode_offsets offsets; /* with as_ids: the line is JSON, {"ids":[…],"offsets":[[…]…]} */
    const struct chat *chat;     /* not NULL: each document is a conversation (chat.h). Borrowed */
    enum mend_rule mend;         /* how to treat bytes that are not UTF-8 */
};

/* Encodes document `number`, text[0..n), and appends the result to b->out. Adds to the counts
 * b->tokens and b->replaced. A conversation's frame records its spans; its
 * line of ids is JSON, {"ids":[…],"mask":[…]}, with 1 for labels. If b->sentences is set, each line
 * is a sentence, and the frame records where sentences end. Returns 0, or -1 with an error that
 * names the document if its text is not acceptable UTF-8, if it cannot be encoded, or if the ends
 * of its sentences cannot be found. */
int encode_document(const struct encode_options *how, struct encoder *e, struct batch *b,
                    uint64_t number, const char *text, size_t n);
