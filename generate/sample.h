/*
 * sample.h - chooses the next token from the logits of all tokens.
 *
 * The steps, in this order; each one works on the tokens that the step before it kept:
 *
 *     bias        l + bias, for the tokens that have a bias
 *     repetition  for each token in the window: l / penalty if l > 0, else l * penalty
 *                 (Keskar and others 2019, CTRL, section 4.1)
 *     presence    l - presence - c * frequency, for each token that was generated c >= 1 times
 *                 in the window (as in OpenAI's API)
 *     temperature l / temperature; 0: choose the largest l, and of equal ones the lowest id
 *     top_k       keep the k largest l, and all equal to the k-th
 *     top_p       keep the fewest tokens, most probable first, whose probabilities sum to p or more
 *                 (Holtzman and others 2020)
 *     min_p       keep the tokens at least min_p times as probable as the most probable one
 *                 (Nguyen and others 2024)
 *     typical_p   keep the fewest tokens whose probabilities sum to p or more, those with -log p
 *                 nearest to the entropy first; and all that are as near as the last one
 *                 (Meister and others 2023, Locally typical sampling)
 *     choice      draw one of the tokens left, with probabilities scaled to sum to 1
 *
 * Order and meaning are those of Hugging Face's generate(), which has no presence penalty. The
 * window is the last `window` tokens of the text, including the prompt; 0: the whole text.
 */
#pragma once

#include "common/base/rng.h"

struct candidate {
    float logit;
    uint32_t id;
};

struct sampler_bias {
    uint32_t id;
    float bias;
};
/* Parses "ID=X" with X from -1e6 to 1e6. Returns 0, or -1 with an error. */
int sampler_bias_parse(struct sampler_bias *out, const char *text);

struct sampler {
    double temperature;        /* >= 0 */
    int64_t top_k;             /* 0: all */
    double top_p;              /* 1: all */
    double min_p;              /* 0: all */
    double typical_p;          /* 1: all */
    double repetition_penalty; /* 1: none */
    double presence, frequency;
    int64_t window;                    /* 0: all */
    const struct sampler_bias *biases; /* borrowed */
    size_t bias_count;

    /* scratch arrays, [V], allocated at the first use */
    struct candidate *candidates;
    double *weights;
    unsigned char *seen;
    struct ranked *ranked;
    int64_t size;
};

/* The values of an ordinary choice. */
#define SAMPLER_DEFAULT                                                                            \
    {                                                                                              \
        .temperature = 1, .top_k = 40, .top_p = 1, .typical_p = 1, .repetition_penalty = 1         \
    }

/* The tokens so far: ids[0..prompt) are the prompt's, ids[prompt..n) were generated. */
struct sampler_text {
    const uint32_t *ids;
    size_t n, prompt;
};

void sampler_release(struct sampler *s);

/* Chooses the next token. Changes logits[V]. Takes one number from `rng`, or none for temperature
 * 0. */
uint32_t sampler_next(struct sampler *s, float *logits, int64_t V, const struct sampler_text *text,
                      struct rng *rng);

/* Applies only the steps before the temperature: bias and penalties. */
void sampler_adjust(struct sampler *s, float *logits, int64_t V, const struct sampler_text *text);

/* Applies all steps but the choice. Fills s->candidates with the tokens that are left and
 * s->weights with their relative probabilities, which need not sum to 1. Returns the number of
 * these tokens. Only for temperature > 0. */
int64_t sampler_candidates(struct sampler *s, float *logits, int64_t V,
                           const struct sampler_text *text);

/* Returns log sum of exp(logits[0..V)), by which the log probabilities are below the logits. */
double logprobs_sum(const float *logits, int64_t V);
