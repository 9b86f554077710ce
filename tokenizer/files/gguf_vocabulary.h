/*
 * gguf_vocabulary.h - reads the vocabulary of a GGUF file: the tokenizer.json inside it or, in
 * files of other programs, llama.cpp's keys of a byte-level BPE.
 */
#ifndef TEXTMILL_TOKENIZER_FILES_GGUF_VOCABULARY_H
#define TEXTMILL_TOKENIZER_FILES_GGUF_VOCABULARY_H

#include <stdint.h>

#include "common/buf.h"

/* Appends the text of a tokenizer.json. Sets *end to the id of the token that ends a text, or to -1
 * if the file does not name it in llama.cpp's way. Returns 0, or -1 with an error. */
int gguf_vocabulary_json(struct buf *text, int64_t *end, const char *path);

#endif
