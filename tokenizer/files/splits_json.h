/*
 * splits_json.h - reads pre-tokenizers of tokenizer.json that cut byte-level text without changing
 * it: lists of Split, Punctuation and Digits around ByteLevel. They become rules of pretokenize.h.
 */
#ifndef TEXTMILL_TOKENIZER_FILES_SPLITS_JSON_H
#define TEXTMILL_TOKENIZER_FILES_SPLITS_JSON_H

struct js;
struct vocabulary;

/* Sets v->splitter and v->prefix_space and returns 1. Returns 0 and leaves both unchanged if
 * `value` is not such a pre-tokenizer. Returns -1 with an error for a bad pattern. Sets *plain to
 * whether the rules and the prefix alone describe the value completely. */
int splits_read(struct vocabulary *v, const struct js *value, int *plain);

#endif
