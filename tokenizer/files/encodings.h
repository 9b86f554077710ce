/*
 * encodings.h - the patterns and special tokens of well-known vocabularies. Files of ranks, and
 * vocab.json with merges.txt, contain neither.
 */
#pragma once

#include "tokenizer/model/vocabulary.h"

struct encoding;

/* Each function returns NULL if there is no such encoding. encoding_named finds the encoding that
 * the user named; TOKENIZER_AUTO names none. encoding_of_class finds that of a tokenizer_class in
 * tokenizer_config.json, or of a model_type in config.json; NULL is no class. encoding_of_tokens
 * finds that of a vocabulary that has exactly the tokens of a well-known one. */
const struct encoding *encoding_named(enum tokenizer_pattern pattern);
const struct encoding *encoding_of_class(const char *name);
const struct encoding *encoding_of_tokens(const struct vocabulary *v);

/* Returns the length of the name of a tokenizer class without "Fast" at its end; 0 for NULL. */
size_t class_bytes(const char *name);

/* Returns the regular expression by which the encoding splits text; NULL: GPT-2's pattern. */
const char *encoding_pattern(enum tokenizer_pattern pattern);

/* Makes v cut text as the encoding does, after normalization to NFC for Qwen's. Returns 0, or -1
 * with an error. */
int encoding_cut(struct vocabulary *v, const struct encoding *e);

/* Adds the special tokens of the encoding. Unused ids before them get placeholder names. GPT-2's
 * end-of-text token gets the least id without a token. Returns 0, or -1 with an error. */
int encoding_add_specials(struct vocabulary *v, const struct encoding *e);

/* Gives those of the ids [from, to) that have no token special tokens with placeholder names.
 * Returns 0, or -1 with an error. */
int encoding_fill(struct vocabulary *v, uint32_t from, int64_t to);
