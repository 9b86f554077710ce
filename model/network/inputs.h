/*
 * inputs.h - one micro-batch: as the caller gives it in host memory (struct batch), and as the
 * model's functions read it (struct inputs).
 *
 * struct inputs has no padding: row r of the activations belongs to the r-th token that is not
 * padding, counted over all sequences. Its lists of targets (labels) have only the tokens with a
 * label. Its arrays are arrays of the compute context (ops.h).
 */
#pragma once

#include "model/compute/ops.h"

struct model;

enum { MODEL_IGNORE = -100 }; /* label of a token that has no loss */
enum { MODEL_PARTS = 2 };     /* most parts of a loss */

/* One micro-batch of B sequences of up to T tokens. */
struct batch {
    int64_t B, T;
    const uint32_t *ids;    /* [B,T] */
    const int32_t *labels;  /* [B,T], MODEL_IGNORE where there is no label */
    uint64_t key;           /* dropout key, made from (seed, step, micro-batch) */
    double dropout;         /* factor on the rates of dropout: 1 in training, else 0 */
    const int64_t *lengths; /* [B] real tokens, each from 1 to T; NULL: all T */
    int joined; /* 1: ids and labels have no padding; sequence b begins where b-1 ends */

    /* BERT only */
    const uint32_t *segments; /* [B,T]; NULL: all 0 */
    const int32_t *classes;   /* [B] class of each sequence. Pre-training: 0: the second sentence
                               * follows the first, 1: it does not, MODEL_IGNORE: not known. NULL:
                               * no labels */
    const float *values;      /* [B] a regression's targets, whose classes are 0; else NULL */
    double next_weight; /* factor on each next-sentence loss in the sum of losses; the factor on a
                         * masked word's loss is 1 */
    const int32_t *starts, *ends; /* [B] first and last token of each answer; values outside the
                                   * sequence do not count */
};

/* The tokens whose id (word, position or segment) is in this rank's part of an embedding table.
 * rows[n]: their rows of the activations. ids[n]: their rows of the table, counted from the first
 * row of the part. */
struct inputs_picked {
    int64_t n;
    struct ops_array rows, ids; /* I64, U32 */
    struct ops_room row_room, id_room;
};

/* Returns how far apart sequences s and s + 1 of a batch begin in ids and labels. */
static inline int64_t batch_step(const struct batch *b, int64_t s)
{
    return b->joined ? b->lengths[s] : b->T;
}

/* Returns the number of elements of ids and of labels. */
static inline int64_t batch_places(const struct batch *b)
{
    int64_t n = b->joined ? 0 : b->B * b->T;
    for (int64_t s = 0; s < b->B && b->joined; s++)
        n += b->lengths[s];
    return n;
}

/* The kinds of labels: one for each token, or for each sequence (its class, its answer's ends). */
enum batch_label { LABEL_TOKEN, LABEL_CLASS, LABEL_START, LABEL_END };

/* Returns the batch's labels of one kind; NULL if it has none of them. */
static inline const int32_t *batch_labels(const struct batch *b, enum batch_label kind)
{
    const int32_t *const all[] = { b->labels, b->classes, b->starts, b->ends };
    return all[kind];
}

/* Returns the number of tokens, or of sequences, that may have a label of this kind. */
static inline int64_t batch_label_count(const struct batch *b, enum batch_label kind)
{
    return kind == LABEL_TOKEN ? batch_places(b) : b->B;
}

struct inputs {
    int64_t N;                /* rows */
    struct ops_rows rows;     /* its lengths are the batch's array */
    struct ops_tokens tokens; /* [N] */

    /* The labels of each part of the loss. A part over tokens has only the tokens with a label. A
     * part over sequences has all sequences, each with the row of its first token. labelled[]: the
     * number of labels that are not negative. */
    struct ops_labels targets[MODEL_PARTS];
    int64_t labelled[MODEL_PARTS];

    /* With tensor-parallel ranks only: the tokens whose row of the word table, and those whose row
     * of the position table, this rank has; and all tokens with their segments. */
    struct inputs_picked words, places_had, types;

    uint64_t key;
    double dropout;
    double next_weight;
    const float *values;         /* [rows.B] the batch's array, in host memory */
    const struct ops_past *past; /* [rows.B]; NULL: the rows are whole sequences, without a cache */

    struct ops_room ids, segments, places, target_rows[MODEL_PARTS], labels[MODEL_PARTS];
};

/* Sets the inputs to those of a batch. *in must be zeroed before the first call; later calls reuse
 * its arrays. Borrows b->lengths. */
void inputs_set(struct inputs *in, struct ops *o, const struct model *m, const struct batch *b);
/* Sets the inputs to tokens that follow the earlier ones of B sequences: ids[B,n] follow past[B],
 * which is borrowed and has room for them. There are no targets. From one call to the next, only
 * the contents of arrays and `past` change, as ops_repeat needs. */
void inputs_follow(struct inputs *in, struct ops *o, const struct ops_past *past, int64_t B,
                   const uint32_t *ids, int64_t n);
void inputs_release(struct inputs *in, struct ops *o);

/* Returns the scores of part `part` of the loss, as a part of `all`, which holds the scores of all
 * parts one after the other. */
struct ops_scores inputs_scores(const struct inputs *in, struct ops_scores all, int part);
