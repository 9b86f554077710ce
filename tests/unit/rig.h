/*
 * rig.h - a model, its store and the engine, as tests of the engine hold them; each test brings the
 * micro-batches that a step goes over.
 */
#ifndef TEXTMILL_RIG_H
#define TEXTMILL_RIG_H

#include "train/engine.h"

struct rig {
    struct model model;
    struct program program;
    struct ops *ops;
    struct store store;
    struct comm comm;
    struct engine engine;
    struct step_batch batch; /* the test's */
    struct engine_score score;
};

void rig_open(struct rig *r, const struct model_config *m, const struct engine_config *e);
/* The same with a store of that kind, to which it adds the engine's rows. */
void rig_open_in(struct rig *r, const struct model_config *m, const struct engine_config *e,
                 struct store_config store);
void rig_close(struct rig *r);

/* Of r->batch; to r->score. The norm that the engine has found is that of what stands in the store.
 */
double rig_step(struct rig *r, int64_t number);

/* The greatest difference of two runs' gradients, relative to the greatest gradient; block -1:
 * all blocks. */
double rig_difference(const struct rig *a, const struct rig *b, int block);

#endif
