/*
 * splits_json.h - reads pre-tokenizers of tokenizer.json that cut byte-level text without changing
 * it: lists of Split, Punctuation and Digits around ByteLevel. They become rules of pretokenize.h.
 */
#pragma once

struct js;
struct vocabulary;

/* Reads `value`, the JSON of a pre-tokenizer, into v->splitter and v->prefix_space, and returns 1.
 * Returns 0, without a change of v, if it is not one of the pre-tokenizers above, or -1 with an
 * error for a bad pattern. If the result is 1, sets *plain to 1 if the two fields describe the
 * whole value, else to 0. */
int splits_read(struct vocabulary *v, const struct js *value, int *plain);
