/*
 * origins.h - where each byte of a normalized text came from.
 *
 * A normalizer is a list of steps. The origin of a byte of the normalized text is the position of a
 * byte in the text before normalization, by the rules of Hugging Face's tokenizers: A step writes
 * characters one after another. Each of them is inserted, or takes the place of the next character
 * of the step's input; in that case it may also remove some characters after that one. An inserted
 * character has the origin of the last byte of the character before it. So a character that
 * composes several has the origin of the first of them.
 */
#pragma once

#include "common/base/ids.h"
#include "tokenizer/cut/steps.h"

/* The origin, as uint32_t, of bytes that were inserted before the first character. */
enum { ORIGINS_NONE = -1 };

/* Normalizes text[0..n) as stepper_normalize does, and sets `origins` to the origin of each byte
 * that is appended to `out`. `normalizer` has the steps from which s was made. *lost is set to 1 if
 * the first character was dropped, else to 0. Returns 0, or -1 with an error. */
int origins_normalize(struct stepper *s, const struct steps *normalizer, const char *text, size_t n,
                      struct buf *out, int *lost, struct ids *origins);
