/*
 * shards.h - loss over training data as train reads it: sequences out of TFRecord or Megatron
 * files, each token predicted from those before it in its sequence.
 */
#ifndef TEXTMILL_EVAL_SHARDS_H
#define TEXTMILL_EVAL_SHARDS_H

#include <stdint.h>

#include "eval/score.h"
#include "tfrecord/read/dataset.h"

struct shards_score {
    uint64_t sequences, targets;
    double nll;     /* nats, all targets */
    double squares; /* sum of their losses squared */
    uint64_t right;
};

/* The first `sequences` of d, whose length is `length` + 1. */
int shards_score(struct shards_score *score, struct scorer *s, struct dataset *d, int64_t length,
                 uint64_t sequences, void (*progress)(uint64_t done));

#endif
