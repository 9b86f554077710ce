/*
 * engine.h - the program of a training step.
 *
 * A step learns from A micro-batches of B sequences. They are taken in groups of G, and within
 * a group phase by phase, every micro-batch of the group before the next phase:
 *
 *     embedding forward            x[0]
 *     layer 0 .. L-1 forward       x[l+1] from x[l]
 *     head forward and backward    losses; dx; the tied table's gradient
 *     layer L-1 .. 0 backward      dx in place; with recomputation the layer's forward again
 *     embedding backward
 *
 * after which the gradients in the store are those of the loss over the labels of the whole
 * global batch: their mean, or the sum of its parts' means (model.h). As the last group leaves a
 * block, its gradients are summed over the ranks and, while they are in memory, squared for the
 * norm.
 *
 * A block's arrays are fetched once a phase, so that G is how often a weight that comes from far
 * away is used; G = 1 is the usual loop over micro-batches. The gradients of layers and head are
 * the same bits for any G; the tied table's are the same sum in another order.
 *
 * Activations are the store's: x has (L+1) G rows and dx G rows of B T C floats; what layers keep
 * between forward and backward is L G caches in parts (model.h), or one of each part that is
 * recomputed: of attention's or of all. Row or cache number l G + i is that of layer l and
 * micro-batch i of the group. Recomputed forwards are the same bits (dropout comes from counters),
 * also where the store rounds them, hence so are the gradients.
 */
#ifndef TEXTMILL_ENGINE_H
#define TEXTMILL_ENGINE_H

#include <stdint.h>

#include "model/model.h"
#include "train/batches.h"
#include "train/comm.h"
#include "train/store.h"

/* What backward makes again: nothing; what attention made (queries, keys, values and what the
 * heads found: nearly half of what a layer keeps, for a twelfth more arithmetic); or all. */
enum recompute { RECOMPUTE_NONE, RECOMPUTE_ATTENTION, RECOMPUTE_LAYER };
#define RECOMPUTE_WORDS "none|attention|layer" /* in the order of the enum */

struct engine_config {
    int64_t B, T, A, G; /* A: of this rank; G <= A */
    int64_t most;       /* sequences of a micro-batch: B, or more where rows of B T tokens hold
                         * packed ones */
    enum recompute recompute;
    uint64_t seed; /* of dropout */
};

struct engine {
    struct engine_config config;
    const struct model *model; /* these four borrowed */
    struct ops *ops;
    struct store *store;
    struct comm *comm;
    double loss_scale;        /* gradients are those of so many times the loss; 1 at first */
    struct inputs *inputs;    /* [G]: the group's micro-batches */
    struct ops_scores scores; /* [most,T+1]: whatever labels a model has */
    struct ops_array sums;    /* F64 [MODEL_PARTS, 2]: of losses and of right answers */
    struct ops_array squares; /* F64 [blocks]: the sum of the last step's gradients squared */
};

/* What the model made of some labels, by part of the loss. */
struct engine_score {
    struct {
        double loss;             /* sum, in nats */
        int64_t labels, correct; /* correct: not counted where the loss has one part only */
    } part[MODEL_PARTS];
};
double engine_loss(const struct model *m, const struct engine_score *s); /* NAN without labels */

/* What the engine needs of a store: the rows of activations, and how they are grouped. */
void engine_rows(struct store_config *out, const struct engine_config *config,
                 const struct model *m);

void engine_open(struct engine *e, const struct engine_config *config, const struct model *m,
                 struct ops *o, struct store *s, struct comm *c);
void engine_close(struct engine *e); /* fine on a zeroed struct */

/* Gradients of step number `step` (from 0) into the store, replacing what stands there, and the
 * score that they are of. Returns its loss. */
double engine_step(struct engine *e, int64_t step, const struct step_batch *batch,
                   struct engine_score *score);

/* sqrt(sum of g^2 over all parameters), g = the last step's gradients / loss_scale. The sum is one
 * over blocks, in their order. */
double engine_norm(const struct engine *e);

/* Adds the score of `b`, without dropout. b->B <= most. */
void engine_evaluate(struct engine *e, const struct batch *b, struct engine_score *score);

#endif
