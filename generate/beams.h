/*
 * beams.h - beam search: finds probable continuations of a prompt by keeping the `width` most
 * probable beginnings (beams) at each step.
 *
 *     beams_begin(&b, &g, &start);               after generator_prompt
 *     while ((more = beams_step(&b)) > 0) ;
 *     beams_take(&b, 0, &one);                   the best one
 *     beams_release(&b);
 *
 * A step extends each beam by each token and sorts these continuations by their sum of log p (with
 * the biases and penalties of the generator's sampler applied to log p). A continuation ends with
 * the end-of-text token, with a stop text or at the maximal length. Those of the first `width`
 * continuations that end are results, with the score
 *
 *     sum of log p / tokens ^ length_penalty
 *
 * The best `width` results are kept. The first `width` continuations that do not end are the beams
 * of the next step. The search ends when there are `width` results and the best beam's score, at
 * its present length, is not above the worst result's. These are the rules of Hugging Face's
 * generate(num_beams=width, early_stopping=False).
 */
#pragma once

#include "generate/generator.h"

/* A continuation of the prompt: a beam or a result. */
struct beam {
    struct generation one; /* a result has no keys and values */
    double sum;            /* sum of log p */
    double score;          /* set for results only */
};

struct beams {
    int64_t width;         /* at least 1; the caller sets width and length_penalty */
    double length_penalty; /* 1: score = mean of log p; larger: longer results win */

    struct generator *g; /* borrowed, like the prompt */
    const struct start *start;
    struct beam *running, *next; /* [width] */
    struct beam *results;        /* [width], the best first */
    int64_t running_count, result_count;
    struct continuation *continuations;
    struct order_rank *top; /* the most probable tokens after each beam */
    float *logits;          /* [running_count,V] of the running beams, borrowed */
    struct cache **taking;  /* [width]: caches that get a token in this step; `last` [width]: these
                             * tokens */
    uint32_t *last;
};

/* Begins the search with the prompt `start` that the generator has run (generator_prompt). Changes
 * start->logits. */
void beams_begin(struct beams *b, struct generator *g, const struct start *start);
/* Extends the beams by one token. Returns 1, 0 if the search has ended, or -1 with an error. */
int beams_step(struct beams *b);
void beams_release(struct beams *b); /* keeps width and length_penalty */

/* Sets *one to the i-th best result (from 0) and returns its score. If the search was stopped
 * before there were i + 1 results, sets *one to the best running beam, with FINISH_INTERRUPT, and
 * returns its sum of log p. */
double beams_take(const struct beams *b, int64_t i, struct generation *one);
