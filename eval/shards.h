/*
 * shards.h - loss over training data in the form that `train` reads: sequences from TFRecord or
 * Megatron files. Each token that is a label is predicted from the tokens before it in its
 * sequence.
 */
#pragma once

#include "eval/score.h"
#include "tfrecord/read/dataset.h"

struct shards_score {
    uint64_t sequences, targets;
    double nll;     /* sum of the losses of all targets, in nats */
    double squares; /* sum of the squares of these losses */
    uint64_t right;
};

/* Scores the first `sequences` sequences of d, which have length + 1 tokens each, and sets *score.
 * Calls `progress` with the number of tokens read so far. Returns 0, or -1 with an error,
 * also if no token is a label. */
int shards_score(struct shards_score *score, struct scorer *s, struct dataset *d, int64_t length,
                 uint64_t sequences, void (*progress)(uint64_t done));
