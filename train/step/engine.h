/*
 * engine.h - runs the program of a training step (program.h) and the program of an evaluation.
 *
 * engine_step computes the gradients of the loss over the labels of the whole global batch: the
 * mean over the labels, or the sum of the means of the loss's parts (model.h). engine_update then
 * runs the optimizer.
 *
 * The gradients of layers and head have the same bits for any group size G. The gradients of a
 * table that embedding and head share are the same sum, but added in another order. A pipeline
 * gives the same bits as one rank; if embedding and head share a table, as one rank whose group is
 * a whole leaf. A recomputed forward pass gives the same bits as the first one, because dropout
 * uses counters and activations are rounded to the same type; so the gradients are the same, too.
 */
#pragma once

#include "model/network/model.h"
#include "train/program/program.h"
#include "train/ranks/comm.h"
#include "train/samples/batches.h"
#include "train/step/optimizer.h"
#include "train/step/teacher.h"
#include "train/store/sharing.h"
#include "train/store/store.h"

/* The transfer of an array between the stages of a pipeline. It begins in its phase and goes on
 * while later phases run. A receive ends before its array is used, a send before it is changed. */
struct engine_transfer {
    struct comm_work *work; /* NULL: none is in progress */
    int sends;
};

struct engine {
    struct step_config config;
    const struct model *model; /* borrowed, like the next four */
    const struct program *program;
    struct ops *ops;
    struct store *store;
    struct comm *comm;
    struct program evaluation;
    double labels[MODEL_PARTS]; /* of all ranks, in each part of the loss (engine_count) */
    int counted;                /* 1: labels are those of the next step */
    int (*watch)(void *ctx, double share); /* see engine_step; NULL: none */
    void *watch_ctx;
    int left;                 /* 1: the last engine_step was left */
    struct inputs *inputs;    /* [program->micros]: the micro-batches in progress */
    struct ops_scores scores; /* buffer [most,T+1] for the scores of all labels */
    struct ops_array sums;    /* F64 [A,MODEL_PARTS,2]: for each micro-batch and part of the loss,
                               * the sum of the losses and the number of correct predictions */
    struct teacher *teacher;  /* borrowed; NULL: none. The caller sets it after engine_open */
    struct sharing sharing;   /* operations with the other data-parallel ranks */
    struct engine_transfer *transfers[STORE_KINDS]; /* [arrays of the kind]; NULL: no pipeline */

    /* Blocks whose update waits for the sum of their gradients (engine_update). */
    struct optimizer_update update;
    int64_t *late; /* [layers+2]: 1 + the number of the block's phase of update; 0: none waits */
    int late_count;
};

/* Loss and accuracy over some labels, for each part of the loss. */
struct engine_score {
    struct {
        double loss;             /* sum of the labels' losses, in nats */
        int64_t labels, correct; /* correct: counted only if the loss has several parts */
    } part[MODEL_PARTS];
};

/* Returns the mean loss, or the sum of the parts' means; NAN without labels. */
double engine_loss(const struct model *m, const struct engine_score *s);
void engine_add_score(struct engine_score *sum, const struct engine_score *s);

/* Make the program of a training step, and that of an evaluation, of the model. The caller releases
 * it. `moments`: the number of moments of each tensor (layout.h). */
void engine_program(struct program *p, const struct step_config *config, const struct model *m,
                    const unsigned char *moments);
void engine_evaluation(struct program *p, const struct step_config *config, const struct model *m);

/* Sets those fields of *out that depend on the engine: the program `p` and the sizes of rows of
 * activations. */
void engine_rows(struct store_config *out, const struct step_config *config, const struct model *m,
                 const struct program *p);

/* Opens the engine. The store must have been opened with the values that engine_rows set for the
 * same arguments. */
void engine_open(struct engine *e, const struct step_config *config, const struct program *p,
                 const struct model *m, struct ops *o, struct store *s, struct comm *c);
void engine_close(struct engine *e); /* fine on a zeroed struct */

/* Counts the labels of the next step's batch over all ranks, and lists its words. engine_step needs
 * both, and calls this itself if the caller has not. It is better called before engine_update: then
 * engine_step has no exchange that waits for the parameters that engine_update gathers, and
 * engine_update gathers the rows of these words first (word_table.h). */
void engine_count(struct engine *e, const struct step_batch *batch);

/* Computes the gradients of step `step` (from 0) and puts them into the store in place of the old
 * ones. Sets *score to the score of the batch and returns its loss. Calls `watch` before each phase
 * with the share of the phases that are done. If `watch` returns 1 before the first phase of a
 * group of micro-batches, the step is left: e->left is 1, and gradients, score and loss are
 * undefined. Only a rank that is alone may leave a step. */
double engine_step(struct engine *e, int64_t step, const struct step_batch *batch,
                   struct engine_score *score);

/* Returns the norm of the last step's gradients (sharing.h). */
double engine_norm(const struct engine *e);

/* Updates all parameters with the optimizer `a` and the learning rate `rate`; `t` is the number of
 * the update (from 1), `norm` the norm of the gradients. The update overwrites the gradients. Where
 * ranks share the optimizer's state, each rank gathers the parameters that the others have updated.
 * Where they do not, it gathers the sums of gradients (sharing_gather_sums), and a block is updated
 * when its sum is there. These gathers go on in the background: engine_step waits for each block,
 * and updates it, when it first uses it. engine_settle does so for all blocks. Call it before other
 * code reads parameters, moments or gradients. `a` is borrowed until then. */
void engine_update(struct engine *e, const struct optimizer *a, double norm, double rate,
                   int64_t t);
void engine_settle(struct engine *e);

/* Computes the score of micro-batch `b` without dropout and adds it to *score. b->B must be at most
 * config.most unless b->joined is 1. All stages of a pipeline must call it, with the same batch;
 * only the last one adds to *score. A stage does not wait for the next one to finish, so all stages
 * work at the same time if the calls follow each other. */
void engine_evaluate(struct engine *e, const struct batch *b, struct engine_score *score);
/* Replaces *s on all stages of a pipeline by that of the last stage, which alone knows the score.
 * All stages must call it. */
void engine_take_last_score(const struct engine *e, struct engine_score *s);
