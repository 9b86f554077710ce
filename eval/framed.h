/*
 * framed.h - a text's tokens as Hugging Face's tokenizers give them: with the special tokens that
 * the vocabulary puts around a text (Llama's <s>; GPT-2 has none).
 */
#ifndef TEXTMILL_EVAL_FRAMED_H
#define TEXTMILL_EVAL_FRAMED_H

#include "tokenizer/tokenizer.h"

/* Appends the ids of text[0..n). -1 when it cannot be encoded. */
int framed_encode(const struct tokenizer *t, struct encoder *e, const char *text, size_t n,
                  struct ids *out);

/* The token that a model sees before a text's first one: the first of those that the vocabulary
 * puts there, else end-of-text. -1 with an error when there is neither. */
int64_t framed_start(const struct tokenizer *t);

#endif
