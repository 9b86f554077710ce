/*
 * forward.h - a model run forward: the embedding, the layers in their order, the head.
 *
 *     struct forward f = { .model = &model, .ops = ops, .blocks = blocks };
 *     x = forward_layers(&f, &in);           then the losses of the inputs' labels, or logits
 *     forward_losses(&f, scores, x, &in);
 *     forward_release(&f);
 *
 * For evaluation and generation, where all parameters are in memory.
 */
#ifndef TEXTMILL_MODEL_FORWARD_H
#define TEXTMILL_MODEL_FORWARD_H

#include "model/model.h"

struct forward {
    const struct model *model; /* borrowed, as are the others */
    struct ops *ops;
    const struct ops_array *blocks; /* parameters: [model->tensors.blocks] */
    struct ops_array x, y;          /* [room,C] a layer's input and output */
    int64_t room;                   /* as many rows as the largest run had */
};

void forward_release(struct forward *f); /* fine on a zeroed one */

/* Runs the embedding and the layers. The last layer's output [N,C] is valid until the next run. */
struct ops_array forward_layers(struct forward *f, const struct inputs *in);

/* From that output: the head's losses, as model.h has them, and its logits of n rows. */
void forward_losses(const struct forward *f, struct ops_scores out, struct ops_array x,
                    const struct inputs *in);
void forward_logits(const struct forward *f, struct ops_array logits, struct ops_array x,
                    int64_t n);

#endif
