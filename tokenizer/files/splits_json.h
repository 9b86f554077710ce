/*
 * splits_json.h - pre-tokenizers of tokenizer.json that cut a text of bytes without changing it:
 * lists of Split, Punctuation and Digits around ByteLevel, as rules of pretokenize.h.
 */
#ifndef TEXTMILL_TOKENIZER_FILES_SPLITS_JSON_H
#define TEXTMILL_TOKENIZER_FILES_SPLITS_JSON_H

struct js;
struct vocabulary;

/* Fills v->splitter and v->prefix_space: 1. 0 (both as they were): the value is none of these, or
 * says something else. *plain becomes whether the rules and the prefix alone say what the value
 * says. -1 with an error: a bad pattern. */
int splits_read(struct vocabulary *v, const struct js *value, int *plain);

#endif
