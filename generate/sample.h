/*
 * sample.h - which token comes next, given the logits of all.
 *
 * In this order, each step over what the one before left:
 *
 *     bias        l + bias, of the tokens that have one
 *     repetition  l of each token that occurs in the window: l / penalty if l > 0, else l * penalty
 *                 (Keskar and others 2019, CTRL, section 4.1)
 *     presence    l - presence - c * frequency, of each token that was generated c >= 1 times in
 *                 the window (as the API of OpenAI has it)
 *     temperature l / temperature; 0: the largest l, the lowest id if there are several
 *     top_k       the k largest l, and all that equal the k-th
 *     top_p       the fewest tokens, most probable first, whose probabilities reach p
 *                 (Holtzman and others 2020)
 *     min_p       those at least min_p times as probable as the most probable one
 *                 (Nguyen and others 2024)
 *     typical_p   the fewest tokens, those first whose -log p is nearest to the entropy, whose
 *                 probabilities reach p; and all that are as near as the last one
 *                 (Meister and others 2023, Locally typical sampling)
 *     choice      one of those left, by their probabilities made to sum to 1
 *
 * which is the order and meaning that Hugging Face's generate() gives them; it has no penalty of
 * presence. The window is the last `window` tokens of the text, the prompt's included; 0: all.
 */
#ifndef TEXTMILL_GENERATE_SAMPLE_H
#define TEXTMILL_GENERATE_SAMPLE_H

#include <stddef.h>
#include <stdint.h>

#include "common/rng.h"

struct candidate {
    float logit;
    uint32_t id;
};

struct sampler_bias {
    uint32_t id;
    float bias;
};
/* Reads "ID=X", X from -1e6 to 1e6. -1 with an error. */
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

    /* scratch, [V] once used */
    struct candidate *candidates;
    double *weights;
    unsigned char *seen;
    struct ranked *ranked;
    int64_t size;
};

/* The tokens so far: ids[0..prompt) are the prompt's, ids[prompt..n) were generated. */
struct sampler_text {
    const uint32_t *ids;
    size_t n, prompt;
};

void sampler_release(struct sampler *s);

/* The next token. logits[V] are changed. Takes one number from `rng`, none for temperature 0. */
uint32_t sampler_next(struct sampler *s, float *logits, int64_t V, const struct sampler_text *text,
                      struct rng *rng);

/* The steps before the temperature alone. */
void sampler_adjust(struct sampler *s, float *logits, int64_t V, const struct sampler_text *text);

/* What sampler_next chooses from: fills s->candidates and their s->weights (positive, in any
 * scale) and returns how many. For temperature > 0. */
int64_t sampler_candidates(struct sampler *s, float *logits, int64_t V,
                           const struct sampler_text *text);

#endif
