/*
 * decoder.h - the decoders of tokenizer.json: from the names of tokens to text, step by step.
 *
 * Each step makes strings of strings, as Hugging Face's decoders do; in the end they are joined. A
 * vocabulary without one has a space between its tokens.
 */
#ifndef TEXTMILL_TOKENIZER_MODEL_DECODER_H
#define TEXTMILL_TOKENIZER_MODEL_DECODER_H

#include <stddef.h>
#include <stdint.h>

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

/* What each token becomes by itself, for decoders whose steps up to the joining of strings look at
 * one string and whether it is the first. Such decode a hundred times as fast. */
struct decoder_table;

/* `names`: of all ids, in order; used up. NULL: the decoder has other steps, or a pattern takes too
 * much. */
struct decoder_table *decoder_table_new(const struct decoder *d, struct strings *names);
void decoder_table_free(struct decoder_table *t);

/* Appends the text of ids, which are below the number of names, as decoder_run does. */
void decoder_table_run(const struct decoder_table *t, const uint32_t *ids, size_t n,
                       struct buf *out);

#endif
