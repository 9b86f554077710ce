/*
 * batches.h - which samples each step learns from.
 *
 * Training samples are numbered 0, 1, 2, ... for ever. Number k is sample
 * permutation(seed, epoch)(k mod n) of a data set of n (samples.h), in epoch k / n: every epoch
 * uses each once, in its own order, and batches run on across the end of an epoch. The
 * permutation is a swap-or-not shuffle of [0, n) (Hoang, Morris, Rogaway, "An enciphering scheme
 * based on a card shuffle", 2012), so any sample is found without a table, and a position in the
 * data is one number. Samples that are made have no end, and are taken as they are numbered.
 *
 * With A micro-batches a step, R data-parallel ranks and micro-batches of B samples, row r of
 * micro-batch m on rank q is number position + (q A + m) B + r: ranks have neighbouring
 * micro-batches, or where they share gradients neighbouring leaves (program_micro_batch).
 */
#ifndef TEXTMILL_TRAIN_BATCHES_H
#define TEXTMILL_TRAIN_BATCHES_H

#include <stdint.h>

#include "train/samples.h"

/* Changes whenever the same position means another sample. 1 was a Feistel network. */
enum { BATCHES_ORDER = 2 };

struct batches_config {
    const struct samples *samples; /* borrowed */
    uint64_t seed;
    int64_t B, T, A;  /* samples of a micro-batch, tokens of a sequence, micro-batches a step on
                       * this rank */
    int rank, ranks;  /* data parallel */
    int zero, leaves; /* what they share, and the leaves of each (program.h) */
};

/* The micro-batches of one step. */
struct step_batch {
    struct batch *micro; /* [A], without what the engine adds: key, training, first, next_weight */
    int64_t tokens;      /* in all, without padding */
};

struct batches;

/* Starts reading at sample `position`; a thread reads one step ahead. */
struct batches *batches_new(const struct batches_config *config, uint64_t position);
void batches_free(struct batches *b);

/* The next step's; valid until the next call. -1 with file, record and offset. */
int batches_next(struct batches *b, struct step_batch *out);

/* The place of i in a pseudo-random permutation of [0, n), i < n. */
uint64_t batches_permute(uint64_t key, uint64_t i, uint64_t n);

#endif
