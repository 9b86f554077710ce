/*
 * engine.h - runs the program of a training step (program.h) and the program of an evaluation.
 *
 * engine_step computes the gradients of the loss over the labels of the whole global batch: the
 * mean over the labels, or the sum of the means of the loss's parts (model.h). engine_update then
 * runs the optimizer.
 *
 * The gradients of layers and head have the same bits for any group size G. Those of a tied table
 * are the same sum in another order. A recomputed forward pass gives the same bits (dropout uses
 * counters), also where the store rounds them, and so the gradients are the same, too.
 */
#ifndef TEXTMILL_TRAIN_ENGINE_H
#define TEXTMILL_TRAIN_ENGINE_H

#include <stdint.h>

#include "model/model.h"
#include "train/batches.h"
#include "train/comm.h"
#include "train/optimizer.h"
#include "train/program.h"
#include "train/sharing.h"
#include "train/store.h"

struct engine_config {
    int64_t B, T, A, G; /* A: micro-batches of this rank; G <= A */
    int leaves;         /* leaves of this rank (program.h); 0: 1 */
    int zero;           /* ZeRO stage (program.h) */
    int64_t most;       /* most sequences in a micro-batch: B, or more where several are
                         * packed in one row */
    enum recompute recompute;
    uint64_t seed; /* for dropout */
};

struct engine {
    struct engine_config config;
    const struct model *model; /* borrowed, like the next four */
    const struct program *program;
    struct ops *ops;
    struct store *store;
    struct comm *comm;
    struct program evaluation;
    double loss_scale;        /* factor by which the gradients are too large; 1 at first */
    struct inputs *inputs;    /* [G]: the group's micro-batches */
    struct ops_scores scores; /* [most,T+1]: scores of all labels */
    struct ops_array sums;    /* F64 [A, MODEL_PARTS, 2]: sum of losses; correct predictions */
    struct sharing sharing;   /* operations with the other ranks */
};

/* Loss and accuracy over some labels, for each part of the loss. */
struct engine_score {
    struct {
        double loss;             /* sum, in nats */
        int64_t labels, correct; /* correct: counted only if the loss has several parts */
    } part[MODEL_PARTS];
};
double engine_loss(const struct model *m, const struct engine_score *s); /* NAN without labels */

/* Makes the program of a step. The caller releases it. `moments`: see layout.h. */
void engine_program(struct program *p, const struct engine_config *config, const struct model *m,
                    const unsigned char *moments);

/* Sets the fields of *out that the engine needs: the program and the sizes of activation rows. */
void engine_rows(struct store_config *out, const struct engine_config *config,
                 const struct model *m, const struct program *p);

/* Opens the engine. The store must have been opened with the same engine_rows. */
void engine_open(struct engine *e, const struct engine_config *config, const struct program *p,
                 const struct model *m, struct ops *o, struct store *s, struct comm *c);
void engine_close(struct engine *e); /* fine on a zeroed struct */

/* Computes the gradients of step `step` (from 0) into the store, replacing its old gradients. Sets
 * *score to the score of the batch and returns its loss. */
double engine_step(struct engine *e, int64_t step, const struct step_batch *batch,
                   struct engine_score *score);

/* Returns the norm of the last step's gradients, divided by loss_scale (sharing.h). */
double engine_norm(const struct engine *e);

/* Updates all parameters: update number `t` (from 1). `norm` is the norm of the gradients. The
 * gradients are undefined afterwards. */
void engine_update(struct engine *e, struct optimizer *a, double norm, double rate, int64_t t);

/* With a schedule-free optimizer, turns the parameters into the averaged model on all ranks
 * (optimizer.h). Does nothing with other optimizers. */
void engine_to_model(struct engine *e, const struct optimizer *a);
void engine_from_model(struct engine *e, const struct optimizer *a); /* undoes it */

/* Adds the score of `b`, computed without dropout, to *score. b->B <= most. */
void engine_evaluate(struct engine *e, const struct batch *b, struct engine_score *score);

#endif
