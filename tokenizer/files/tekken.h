/*
 * tekken.h - reads tekken.json, Mistral's form of a file of ranks:
 *
 *     config          pattern, default_vocab_size, default_num_special_tokens
 *     special_tokens  names; may be missing or too few. Special tokens have the ids from 0 on.
 *     vocab           rank and token_bytes (base64) of each token. The id is the rank plus the
 *                     number of special tokens; tokens whose id is beyond the size are not used.
 */
#pragma once

#include "tokenizer/model/vocabulary.h"

/* Returns 1 if text[0..n), the text of a JSON file, is a tekken.json, else 0. */
int tekken_is(const char *text, size_t n);

/* Parses text[0..n) into an initialised vocabulary. Returns 0, or -1 with an error with `name`. */
int tekken_parse(struct vocabulary *v, const char *text, size_t n, const char *name);
