/*
 * wordpiece.h - cuts a word into tokens: always the longest token that matches, and after the
 * first one only tokens that begin with "##" (Devlin et al., "BERT", 2019). A word that cannot be
 * cut completely, or that has too many characters, becomes the unknown token.
 */
#pragma once

#include "common/base/ids.h"

struct vocabulary;
struct wordpiece;

extern const char wordpiece_prefix[]; /* "##" */
enum { WORDPIECE_PREFIX_BYTES = 2 };

/* Makes an encoder of the model's tokens in v, which is not needed afterwards. `unknown` is the id
 * of the unknown token, `max_chars` the most characters of a word. */
struct wordpiece *wordpiece_new(const struct vocabulary *v, uint32_t unknown, size_t max_chars);
void wordpiece_free(struct wordpiece *w);

/* Appends the ids of a word of n > 0 bytes to `out`. */
void wordpiece_encode(const struct wordpiece *w, const char *word, size_t n, struct ids *out);
