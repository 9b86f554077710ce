/*
 * logprobs.h - how probable the model finds tokens: natural logarithms of softmax(logits), as the
 * model gives them, before biases, penalties and temperature.
 *
 *     log p[i] = l[i] - log sum of exp(l)
 */
#ifndef TEXTMILL_GENERATE_LOGPROBS_H
#define TEXTMILL_GENERATE_LOGPROBS_H

#include <stdint.h>

struct logprob {
    uint32_t id;
    double logprob;
};

/* log sum of exp(logits[0..V)). */
double logprobs_sum(const float *logits, int64_t V);

/* The n <= V most probable tokens, in falling order, of equal ones the lower id first. sum: as
 * logprobs_sum has it; 0 when the logits are log probabilities. */
void logprobs_top(struct logprob *out, int64_t n, const float *logits, int64_t V, double sum);

#endif
