/*
 * batches.h - the samples of each training step.
 *
 * Training samples are numbered 0, 1, 2, ... without end. With a data set of n samples
 * (samples.h), training sample k is sample permutation(seed, epoch)(k mod n), where epoch is
 * k / n rounded down. So every epoch uses each sample once, in an order of its own, and one batch
 * may hold samples of two epochs. The permutation is a swap-or-not shuffle of [0, n) (Hoang,
 * Morris, Rogaway, "An enciphering scheme based on a card shuffle", 2012). It needs no table, so a
 * single number, the position, says where a run is in its data. Generated samples have no end: they
 * are used in the order of their numbers. A blend says which source training sample k comes from
 * and which training sample of that source it is (samples_open_blend).
 *
 * A step has A micro-batches on each of R data-parallel ranks, and B samples in each micro-batch.
 * Row r of micro-batch m on rank q is training sample position + (q A + m) B + r. So each rank has
 * consecutive micro-batches. Where ranks share gradients, each rank has consecutive micro-batches
 * within a leaf instead (program_micro_batch).
 */
#pragma once

#include "train/program/program.h"
#include "train/samples/samples.h"

/* Version of the order of samples: raised whenever the same position comes to mean another sample.
 * Version 1 was a Feistel network. */
enum { BATCHES_ORDER = 2 };

/* The micro-batches of one step. */
struct step_batch {
    struct batch *micro; /* [A]; the fields key, training and next_weight are not set */
    int64_t tokens;      /* tokens in all micro-batches, without padding */
};

struct batches;

/* Starts a thread that reads one step ahead, from training sample `position` on. Of *c it uses
 * seed, B, T, A, zero and leaves. rank, ranks: this rank's number in the data-parallel group, and
 * the size of that group. Borrows the samples. */
struct batches *batches_new(const struct samples *samples, const struct step_config *c, int rank,
                            int ranks, uint64_t position);
void batches_free(struct batches *b);

/* Sets *out to the micro-batches of the next step. They are valid until the next call. Returns 0,
 * or -1 with an error that names the file, the record and its offset. */
int batches_next(struct batches *b, struct step_batch *out);

/* Adds the sequences of training sample k to *out. `key` selects the order of the training samples.
 * Returns 0, or -1 with an error. */
int batches_draw(const struct samples *s, uint64_t key, uint64_t k, struct sequences *out);

/* Returns the position of i (below n) in the pseudo-random permutation of [0, n) that `key`
 * selects. */
uint64_t batches_permute(uint64_t key, uint64_t i, uint64_t n);
