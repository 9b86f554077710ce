/*
 * beams.h - beam search: the most probable continuations of a prompt that are found by keeping the
 * `width` most probable beginnings at each step.
 *
 *     beams_begin(&b, &g);                       after generator_prompt
 *     while ((more = beams_step(&b)) > 0) ;
 *     beams_take(&b, 0, &one);                   the best one
 *     beams_release(&b);
 *
 * A step extends each of the kept beginnings by each token and ranks what comes out by its
 * sum of log p (biases and penalties of the generator's sampler apply to log p). Of the first
 * `width`, those that end - with the end-of-text token, a stop text or the last token that is
 * allowed - are results, with the score
 *
 *     sum of log p / tokens ^ length_penalty
 *
 * The best `width` results are kept, and the first `width` that do not end are the next step's
 * beginnings. It is over when there are `width` results and the best beginning, scored by its
 * length so far, is not better than the worst of them. These are the rules of Hugging Face's
 * generate(num_beams=width, early_stopping=False).
 */
#ifndef TEXTMILL_GENERATE_BEAMS_H
#define TEXTMILL_GENERATE_BEAMS_H

#include "generate/generator.h"

/* A continuation: one beam of many, or a result. */
struct beam {
    struct ids ids; /* generated tokens */
    double sum;     /* of log p */
    double score;   /* of a result */
    enum finish finish;
};

struct beams {
    int64_t width;         /* at least 1; the caller sets these two */
    double length_penalty; /* 1: the mean of log p; above, longer results are favoured */

    struct generator *g;          /* borrowed */
    struct cache *caches, *spare; /* [width], of the running ones; of the next step's */
    struct beam *running, *next;  /* [width] */
    struct beam *results;         /* [width], the best first */
    int64_t running_count, result_count;
    struct continuation *continuations;
    struct logprob *top; /* [2 * width] */
};

/* Begins with the prompt that the generator has taken. */
void beams_begin(struct beams *b, struct generator *g);
/* One token more: 1, 0 when it was the last, -1. */
int beams_step(struct beams *b);
void beams_release(struct beams *b); /* width and length_penalty stay */

/* The i-th best result as a generation. When the caller broke off before there were so many, it is
 * the best running one, and *one finishes with FINISH_INTERRUPT. Returns its score. */
double beams_take(const struct beams *b, int64_t i, struct generation *one);

#endif
