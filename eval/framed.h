/*
 * framed.h - encodes a text like Hugging Face's tokenizers: with the special tokens that the
 * vocabulary puts around a text (Llama: <s>; GPT-2: none).
 */
#pragma once

#include "tokenizer/tokenizer.h"

/* Appends the ids of text[0..n) and of the special tokens around it to `out`. Returns 0, or -1 with
 * an error if the text cannot be encoded. */
int framed_encode(const struct tokenizer *t, struct encoder *e, const char *text, size_t n,
                  struct ids *out);

/* Returns the token that is put before a text to predict the text's first token: the first special
 * token that the vocabulary puts before a text or, if it puts none, end-of-text. Returns -1 with an
 * error if there is neither. */
int64_t framed_start(const struct tokenizer *t);
