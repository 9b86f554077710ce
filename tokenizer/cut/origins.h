/*
 * origins.h - where each byte of a normalized text came from.
 *
 * The origin of a byte is the position of the byte of the text before the step that it came from,
 * as Hugging Face's tokenizers keep it. Their rules are: A step writes characters one after
 * another. Each of them takes the place of the next character of the text, may remove some
 * characters after that one, or is inserted. An inserted character has the origin of the last byte
 * of the character before it. So a character that composes several has the origin of the first of
 * them, and a replacement that of the last character that it replaces.
 */
#ifndef TEXTMILL_TOKENIZER_CUT_ORIGINS_H
#define TEXTMILL_TOKENIZER_CUT_ORIGINS_H

#include <stddef.h>

#include "common/ids.h"
#include "tokenizer/cut/steps.h"

enum { ORIGINS_NONE = -1 }; /* as uint32_t: inserted before the first character of the text */

/* Normalizes a text as stepper_normalize does, with `normalizer`, the steps of s, and sets
 * `origins` to the origin in text[0..n) of each byte that is appended to `out`. Returns -1 with an
 * error. */
int origins_normalize(struct stepper *s, const struct steps *normalizer, const char *text, size_t n,
                      struct buf *out, int *lost, struct ids *origins);

#endif
