/*
 * engine.h - runs the program of a training step (program.h), and of an evaluation.
 *
 * After the first half of a step the gradients in the store are those of the loss over the labels
 * of the whole global batch: their mean, or the sum of its parts' means (model.h). The other half
 * is the update by the optimizer.
 *
 * The gradients of layers and head are the same bits for any G; the tied table's are the same sum
 * in another order. Recomputed forwards are the same bits (dropout comes from counters), also where
 * the store rounds them, hence so are the gradients.
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
    int64_t B, T, A, G; /* A: of this rank; G <= A */
    int leaves;         /* of this rank (program.h); 0: 1 */
    int zero;           /* what ranks share (program.h) */
    int64_t most;       /* sequences of a micro-batch: B, or more where rows of B T tokens hold
                         * packed ones */
    enum recompute recompute;
    uint64_t seed; /* of dropout */
};

struct engine {
    struct engine_config config;
    const struct model *model; /* these five borrowed */
    const struct program *program;
    struct ops *ops;
    struct store *store;
    struct comm *comm;
    struct program evaluation;
    double loss_scale;        /* gradients are those of so many times the loss; 1 at first */
    struct inputs *inputs;    /* [G]: the group's micro-batches */
    struct ops_scores scores; /* [most,T+1]: whatever labels a model has */
    struct ops_array sums;    /* F64 [A, MODEL_PARTS, 2]: of losses and of right answers */
    struct sharing sharing;   /* with the other ranks */
};

/* What the model made of some labels, by part of the loss. */
struct engine_score {
    struct {
        double loss;             /* sum, in nats */
        int64_t labels, correct; /* correct: not counted where the loss has one part only */
    } part[MODEL_PARTS];
};
double engine_loss(const struct model *m, const struct engine_score *s); /* NAN without labels */

/* The program of a step, the caller's to release; moments: see layout.h. */
void engine_program(struct program *p, const struct engine_config *config, const struct model *m,
                    const unsigned char *moments);

/* What the engine needs of a store: its program, and the sizes of the rows of activations. */
void engine_rows(struct store_config *out, const struct engine_config *config,
                 const struct model *m, const struct program *p);

/* The store must have been opened with engine_rows of the same. */
void engine_open(struct engine *e, const struct engine_config *config, const struct program *p,
                 const struct model *m, struct ops *o, struct store *s, struct comm *c);
void engine_close(struct engine *e); /* fine on a zeroed struct */

/* Gradients of step number `step` (from 0) into the store, replacing what stands there, and the
 * score that they are of. Returns its loss. */
double engine_step(struct engine *e, int64_t step, const struct step_batch *batch,
                   struct engine_score *score);

/* sqrt(sum of g^2 over all parameters), g = the last step's gradients / loss_scale (sharing.h). */
double engine_norm(const struct engine *e);

/* Update number `t` (from 1) of all parameters by the gradients, which have that norm. The
 * gradients are used up. */
void engine_update(struct engine *e, struct optimizer *a, double norm, double rate, int64_t t);

/* Schedule-free alone (optimizer.h): the parameters become the model, on all ranks. */
void engine_to_model(struct engine *e, const struct optimizer *a);
void engine_from_model(struct engine *e, const struct optimizer *a); /* and back */

/* Adds the score of `b`, without dropout. b->B <= most. */
void engine_evaluate(struct engine *e, const struct batch *b, struct engine_score *score);

#endif
