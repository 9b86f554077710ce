/*
 * logprobs.h - log probabilities of tokens: natural logarithms of softmax(logits), for the model's
 * own logits, before biases, penalties and temperature.
 *
 *     log p[i] = l[i] - log sum of exp(l)
 */
#pragma once

#include "common/base/base.h"

struct logprob {
    uint32_t id;
    double logprob;
};

/* Returns log sum of exp(logits[0..V)). */
double logprobs_sum(const float *logits, int64_t V);

/* Writes the n <= V most probable tokens to `out`, most probable first; of equal ones the lower id
 * comes first. `sum` is the result of logprobs_sum for these logits, or 0 if `logits` already holds
 * log probabilities. */
void logprobs_top(struct logprob *out, int64_t n, const float *logits, int64_t V, double sum);
