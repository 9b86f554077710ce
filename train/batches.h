/*
 * batches.h - which sequences each step learns from.
 *
 * Training samples are numbered 0, 1, 2, ... for ever. Sample k is sequence
 * permutation(seed, epoch)(k mod n) of a data set of n sequences, in epoch k / n: every epoch
 * uses each sequence once, in its own order, and batches run on across the end of an epoch. The
 * permutation is a Feistel network over [0, n) with cycle walking (Black and Rogaway 2002), so
 * any sample is found without a table, and a position in the data is one number.
 *
 * With A micro-batches a step, R data-parallel ranks and micro-batches of B sequences, row r of
 * micro-batch m on rank q is sample position + (m R + q) B + r.
 *
 * Generated data: sequence k is uniform random ids from (seed, k); there is no end.
 */
#ifndef TEXTMILL_BATCHES_H
#define TEXTMILL_BATCHES_H

#include <stdint.h>

#include "tfrecord/dataset.h"

struct batches_config {
    struct dataset *data; /* borrowed; NULL: generated */
    uint64_t seed;
    int64_t vocabulary;   /* ids are checked against it */
    int64_t B, T, A;      /* sequences, tokens, micro-batches a step on this rank */
    int rank, ranks;      /* data parallel */
};

/* The micro-batches of one step, [A,B,T]. */
struct step_batch {
    uint32_t *ids;
    int32_t *labels;
};

struct batches;

/* Starts reading at sample `position`; a thread reads one step ahead. NULL with an error. */
struct batches *batches_new(const struct batches_config *config, uint64_t position);
void batches_free(struct batches *b);

/* The next step's; valid until the next call. -1 with file, record and offset. */
int batches_next(struct batches *b, struct step_batch *out);

/* Sequence `i` of `data` as ids[T] and labels[T], the ids one place on. */
int batches_read(struct dataset *data, uint64_t i, int64_t T, int64_t vocabulary, uint32_t *ids,
                 int32_t *labels);

/* The place of i in a pseudo-random permutation of [0, n), i < n. */
uint64_t batches_permute(uint64_t key, uint64_t i, uint64_t n);

#endif
