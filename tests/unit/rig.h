/*
 * rig.h - a model with its store and engine, for tests of the engine. Each test supplies the
 * micro-batches of a step.
 */
#pragma once

#include "train/step/engine.h"

struct rig {
    struct model model;
    struct program program;
    struct ops *ops;
    struct store store;
    struct comm comm;
    struct engine engine;
    struct step_batch batch; /* set by the test */
    struct engine_score score;
};

void rig_open(struct rig *r, const struct model_config *m, const struct step_config *e);
/* Does the same with a store of the configuration `store`, to which it adds the engine's rows. */
void rig_open_in(struct rig *r, const struct model_config *m, const struct step_config *e,
                 struct store_config store);
void rig_close(struct rig *r);

/* Computes the gradients of step `number` from r->batch, sets r->score and returns the loss. Checks
 * that the norm which the engine reports is that of the gradients in the store. */
double rig_step(struct rig *r, int64_t number);

/* Returns the greatest difference between two runs' gradients, relative to the greatest gradient;
 * of block `block`, or of all blocks if it is -1. */
double rig_difference(const struct rig *a, const struct rig *b, int block);
