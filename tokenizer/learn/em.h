/*
 * em.h - fits the probabilities of pieces to the segments by expectation maximization, and removes
 * the pieces whose loss costs the least likelihood (Kudo 2018, section 3.2).
 *
 * The expected counts are summed as integers, so they do not depend on the order of the sums, and
 * the pieces that remain do not depend on the number of threads.
 */
#pragma once

#include "common/base/pool.h"
#include "tokenizer/learn/seeds.h"
#include "tokenizer/learn/segments.h"

struct em;

/* `s`, `p` and `pool`, which has `threads` threads, are borrowed. */
struct em *em_new(const struct segments *s, struct seeds *p, struct pool *pool, int threads);
void em_free(struct em *e);

/* Does a step of expectation maximization. Sets the probability of each piece from its expected
 * count over all divisions of the segments, weighted by their probabilities. Removes pieces with an
 * expected count below 0.5, except characters. As in SentencePiece, the logarithm of the
 * probability is digamma(count) - digamma(sum of counts), which favours a few frequent pieces.
 * Returns the smallest score of the pieces with an expected count of at least 0.5. Characters with
 * a smaller count get this score minus 10. */
double em_step(struct em *e);

/* Divides each segment in the most probable way. Removes pieces that no division has, and pieces
 * that are less probable than another division of their characters. Then removes the pieces with
 * the smallest loss of likelihood until `size` remain. Characters are kept. The loss of a piece is
 * estimated as if its most probable other division replaced it everywhere. */
void em_prune(struct em *e, size_t size);
