/*
 * score.h - how probable a model finds given tokens: the one computation behind every score.
 *
 * A window is a piece of text in tokens. The model sees t[0..i) and is asked for t[i]; of the
 * targets t[1..count) the last `scored` count, the others are context only.
 *
 *     loss  = - sum over scored i of log p(t[i] | t[0..i))          in nats
 *     squares = sum of their squares
 *     right = how many scored t[i] are the model's first choice
 *
 * Windows are run side by side, padded at the end to the longest: attention looks back only, so
 * padding changes nothing.
 */
#ifndef TEXTMILL_EVAL_SCORE_H
#define TEXTMILL_EVAL_SCORE_H

#include <stddef.h>
#include <stdint.h>

#include "eval/network.h"

struct window {
    const uint32_t *ids; /* [count]; borrowed */
    int64_t count;       /* 2 to positions + 1 */
    int64_t scored;      /* 1 to count - 1 */

    double loss, squares; /* results of score_windows */
    int64_t right;
    int last_right; /* 1: the last target is the first choice */
};

struct scorer {
    struct network net; /* net.rows, the tokens run at a time, bounds the memory */
    uint32_t *ids;      /* this and the following [net.rows] */
    int32_t *labels;
    struct ops_scores scores; /* of what is scored, */
    float *losses;            /* and the host's copies */
    unsigned char *right;
};

/* Loads the model folder `dir`. `rows` is raised to hold one window of full length. */
int scorer_init(struct scorer *s, const char *dir, const char *device, int threads,
                enum ops_type weights, int64_t rows);
void scorer_release(struct scorer *s); /* fine on a zeroed one */

/* Fills the results of w[0..n), as many at a time as fit. Windows of like length side by side
 * waste least. -1 when a token is not in the model's vocabulary, or a window too long. */
int score_windows(struct scorer *s, struct window *w, size_t n);

/* exp(min(20, loss)): no perplexity is shown above e^20, where the digits mean nothing. */
double score_perplexity(double loss);

/* Standard error of the mean of n numbers drawn independently, from their sum and that of their
 * squares: the sample's deviation / sqrt(n). 0 of fewer than two. */
double score_error(double sum, double squares, uint64_t n);

#endif
