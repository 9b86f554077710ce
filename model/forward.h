/*
 * forward.h - a model run forward: the embedding, the layers in their order, the head.
 *
 *     x = forward_layers(&f, x, y, &in);     then the losses of the inputs' labels, or logits
 *     forward_losses(&f, scores, x, &in);
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
};

/* Runs the embedding and the layers. x and y [N,C] are two buffers; the last layer's output is in
 * the one that is returned. */
struct ops_array forward_layers(const struct forward *f, struct ops_array x, struct ops_array y,
                                const struct inputs *in);

/* From that output: the head's losses, as model.h has them, and its logits of n rows. */
void forward_losses(const struct forward *f, struct ops_scores out, struct ops_array x,
                    const struct inputs *in);
void forward_logits(const struct forward *f, struct ops_array logits, struct ops_array x,
                    int64_t n);

#endif
