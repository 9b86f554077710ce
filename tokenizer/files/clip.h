/*
 * clip.h - makes a tokenizer.json of CLIP's vocab.json and merges.txt. These do not say that text
 * is in lower case, how it is split, and which tokens stand around it.
 */
#pragma once

#include "common/base/base.h"

/* Returns 1 if text[0..n), the text of a vocab.json, has CLIP's tokens, else 0. */
int clip_is(const char *text, size_t n);

/* Appends a tokenizer.json made of the texts of the two files. `name` is for errors. Returns 0, or
 * -1 with an error. */
int clip_json(struct buf *out, const struct buf *tokens, const struct buf *merges,
              const char *name);
