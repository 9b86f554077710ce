/*
 * sample_text.h - lets the model in training write a text, with the code and the choices of
 * `generate`.
 */
#pragma once

#include "train/plan.h"
#include "train/store/store.h"

/* Sets *out to the model's continuation of the settings' prompt, of at most `length` tokens. It is
 * what `generate --slide` prints after the prompt for the same seed. Ends early when *stop is above
 * 1. All weights must be in memory. Returns 0, or -1 with an error. */
int sample_text(const struct plan *p, struct store *s, int64_t length, const volatile int *stop,
                struct buf *out);
