/*
 * score.h - computes the probability that a model gives to tokens; all scores are based on it.
 *
 * A window is a piece of text, as tokens t[0..count). The model sees t[0..i) and predicts t[i]. The
 * last `scored` of the targets t[1..count) are scored; the others are context only.
 *
 *     loss  = - sum over scored i of log p(t[i] | t[0..i))          in nats
 *     squares = sum of the squares of these losses
 *     right = number of scored t[i] that are the model's most probable token
 *
 * Several windows run as one batch, padded at the end to the longest one. Attention is causal, so
 * padding does not change the results.
 */
#pragma once

#include "eval/network.h"

struct window {
    const uint32_t *ids; /* [count]; borrowed */
    int64_t count;       /* 2 to positions + 1 */
    int64_t scored;      /* 1 to count - 1 */
    /* [count - 1], borrowed: labels[i] is ids[i + 1], or negative if that is not scored after all.
     * NULL: the last `scored` are scored. Must be NULL if `each` is not. */
    const int32_t *labels;
    /* for the caller; score_windows uses none of these three */
    uint64_t item; /* number of what the window belongs to, as in items.h */
    size_t begin;  /* index of the first token in the caller's ids */
    int64_t mark;
    float *each; /* [scored], borrowed: the losses of the scored tokens are put here; or NULL */

    double loss, squares; /* results of score_windows */
    int64_t right;
    int64_t targets; /* scored */
    int last_right;  /* 1: the last target is the model's most probable token */
};

struct scorer {
    struct network net; /* net.batch, or a longer window, bounds the memory */
    uint32_t *ids;      /* this and the following arrays: [net.rows] */
    int32_t *labels;
    struct ops_scores scores; /* results for the scored tokens, on the device */
    float *losses;            /* these and `right`: their copies in host memory */
    unsigned char *right;
};

/* Prepares a scorer whose `net` was opened with HEAD_NEXT; the rest of it is zeroed. */
void scorer_init(struct scorer *s);
void scorer_release(struct scorer *s); /* does nothing for a zeroed struct */

/* Sets the results of w[0..n). Runs as many windows in a batch as fit, the shortest first, so that
 * windows of similar length share a batch and need little padding. Returns 0, or -1 with an error
 * if a token is not in the model's vocabulary, a window is too long, or a loss is not finite. */
int score_windows(struct scorer *s, struct window *w, size_t n);

/* Returns exp(min(20, loss)). A perplexity above e^20 is not meaningful. */
double score_perplexity(double loss);

/* Returns the standard error of the mean of n independent numbers, from their sum and the sum of
 * their squares: the sample's standard deviation / sqrt(n). Returns 0 for n < 2. */
double score_error(double sum, double squares, uint64_t n);
