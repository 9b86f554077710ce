/*
 * inputs.h - one micro-batch: as the host has it, and as a model's functions read it.
 *
 * Inputs are a batch without its padding and without the places that have no label, in arrays of
 * the context: row r of the activations is the r-th real token.
 */
#ifndef TEXTMILL_MODEL_INPUTS_H
#define TEXTMILL_MODEL_INPUTS_H

#include <stdint.h>

#include "model/ops.h"

struct model;

enum { MODEL_IGNORE = -100 }; /* a label that does not count */
enum { MODEL_PARTS = 2 };     /* of a loss, at most */

/* One micro-batch of B sequences of T tokens. */
struct batch {
    int64_t B, T;
    const uint32_t *ids;   /* [B,T] */
    const int32_t *labels; /* [B,T], MODEL_IGNORE where none */
    uint64_t key;          /* of dropout: (seed, step, micro-batch) folded */
    int training;          /* 0: no dropout */

    /* of BERT alone */
    const int64_t *lengths;   /* [B] real tokens, each from 1 to T; NULL: all T */
    const uint32_t *segments; /* [B,T]; NULL: all 0 */
    const int32_t *next;      /* [B] 0 the next sentence, 1 another, or MODEL_IGNORE; NULL: none */
    double next_weight;       /* of a next-sentence loss beside a word's in the sum of losses */
    const int32_t *starts, *ends; /* [B] of the answers; outside of the sequence: does not count */
};

/* Keys and values of the tokens that went before, in each layer, so that only new tokens are
 * computed (generation). A layer writes those of the new tokens from row `used` on. */
struct past {
    struct ops_array keys, values; /* F32 [L,room,KV*HS] */
    int64_t room, used;            /* in tokens */
};

/* An array that is kept between batches, and its room. */
struct inputs_array {
    struct ops_array at;
    int64_t room;
};

/* Of some tokens their rows of the activations, and the rows of a table that they look up. */
struct inputs_picked {
    int64_t n;
    struct ops_array rows, ids; /* I64, U32 */
    struct inputs_array row_room, id_room;
};

struct inputs {
    int64_t N;                /* rows */
    struct ops_rows rows;     /* its lengths are the batch's */
    struct ops_tokens tokens; /* [N] */

    /* By part of the loss. Of parts over tokens those that have a label; of parts over sequences
     * all of them, with the first row of each. `labelled` is how many labels are not negative. */
    struct ops_labels targets[MODEL_PARTS];
    int64_t labelled[MODEL_PARTS];

    /* Of a rank's part of a model: the tokens whose word and whose place it has, and all. */
    struct inputs_picked words, places_had, types;

    uint64_t key;
    int training;
    double next_weight;
    const struct past *past; /* NULL: the rows are whole sequences */

    struct inputs_array ids, segments, places, target_rows[MODEL_PARTS], labels[MODEL_PARTS];
};

/* Sets the inputs (zeroed at first) to those of a batch; the arrays that they had are used again.
 * `lengths` is borrowed. */
void inputs_set(struct inputs *in, struct ops *o, const struct model *m, const struct batch *b);
/* The same of n tokens that follow those of `past`, which is borrowed; there are no targets. */
void inputs_follow(struct inputs *in, struct ops *o, const struct past *past, const uint32_t *ids,
                   int64_t n);
void inputs_release(struct inputs *in, struct ops *o);

/* The scores of a part: those of the parts follow each other. */
struct ops_scores inputs_scores(const struct inputs *in, struct ops_scores all, int part);

#endif
