/*
 * sample_text.h - lets the model in training write a text, with the code and the choices of
 * `generate`.
 */
#pragma once

#include "train/plan.h"
#include "train/store/store.h"

/* Sets *out to the text, of at most `length` tokens, with which the model continues the prompt of
 * the settings: that which `generate --slide` prints for the same seed after the prompt. Ends early
 * when *stop is above 1. All weights must be in memory. Returns 0, or -1 with an error. */
int sample_text(const struct plan *p, struct store *s, int64_t length, const volatile int *stop,
                struct buf *out);
