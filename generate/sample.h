/*
 * sample.h - which token comes next, given the logits of all.
 *
 * In this order, each step over what the one before left:
 *
 *     repetition  l of each token seen before: l / penalty if l > 0, else l * penalty
 *                 (Keskar and others 2019, CTRL, section 4.1)
 *     temperature l / temperature; 0: the largest l, the lowest id if there are several
 *     top_k       the k largest l, and all that equal the k-th
 *     top_p       the fewest tokens, most probable first, whose probabilities reach p
 *                 (Holtzman and others 2020)
 *     choice      one of those left, by their probabilities made to sum to 1
 *
 * which is the order and meaning that Hugging Face's generate() gives them.
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

struct sampler {
    double temperature;        /* >= 0 */
    int64_t top_k;             /* 0: all */
    double top_p;              /* 1: all */
    double repetition_penalty; /* 1: none */

    /* scratch, [V] once used */
    struct candidate *candidates;
    double *weights;
    unsigned char *seen;
    int64_t size;
};

void sampler_release(struct sampler *s);

/* The next token. logits[V] are changed; ids[0..n) are the tokens so far, prompt included. Takes
 * one number from `rng`, none for temperature 0. */
uint32_t sampler_next(struct sampler *s, float *logits, int64_t V, const uint32_t *ids, size_t n,
                      struct rng *rng);

/* What sampler_next chooses from: fills s->candidates and their s->weights (positive, in any
 * scale) and returns how many. For temperature > 0. */
int64_t sampler_candidates(struct sampler *s, float *logits, int64_t V, const uint32_t *ids,
                           size_t n);

#endif
