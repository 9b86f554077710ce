/*
 * decoder.h - the decoders of tokenizer.json: from the names of tokens to text, step by step.
 *
 * Each step makes strings of strings, as Hugging Face's decoders do; in the end they are joined. A
 * vocabulary without one has a space between its tokens.
 */
#ifndef TEXTMILL_TOKENIZER_MODEL_DECODER_H
#define TEXTMILL_TOKENIZER_MODEL_DECODER_H

#include <stddef.h>

#include "common/buf.h"

struct js;
struct decoder;

/* NULL with an error: a decoder that is not supported. `value` may be null. */
struct decoder *decoder_new(const struct js *value);
void decoder_free(struct decoder *d);

/* Strings behind one another: string i is text.data[ends[i - 1]..ends[i]). */
struct strings {
    struct buf text;
    size_t *ends, count, cap;
};
#define STRINGS_INIT                                                                               \
    {                                                                                              \
        BUF_INIT, NULL, 0, 0                                                                       \
    }
void strings_release(struct strings *s);
void strings_add(struct strings *s, const char *text, size_t n);

/* Appends the text; what is in `names` is used up. -1: a pattern takes too much. */
int decoder_run(const struct decoder *d, struct strings *names, struct buf *out);

#endif
