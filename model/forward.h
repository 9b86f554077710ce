/*
 * forward.h - a model run forward: the embedding, the layers in their order, the head.
 *
 *     x = forward_layers(&f, x, y, &in);     then the losses of the inputs' labels, or logits
 *     forward_losses(&f, scores, x, &in);
 *
 * A source has the parameters, block by block, and takes each back when its part is done: so they
 * may be in memory, or come from a file. Evaluation and generation run so; a training step has an
 * order of its own.
 */
#ifndef TEXTMILL_FORWARD_H
#define TEXTMILL_FORWARD_H

#include "model/model.h"

struct forward {
    const struct model *model; /* borrowed, as are the others */
    struct ops *ops;
    /* The parameters of a block until they are given back; give may be NULL. */
    struct ops_array (*take)(const void *source, int block);
    void (*give)(const void *source, int block);
    const void *source;
};

/* Of blocks in memory. */
struct forward forward_of(const struct model *m, struct ops *o, const struct ops_array *blocks);

/* The last layer's output [N,C], which is x or y: rooms for it. */
struct ops_array forward_layers(const struct forward *f, struct ops_array x, struct ops_array y,
                                const struct inputs *in);

/* From that output: the head's losses, as model.h has them, and its logits of n rows. */
void forward_losses(const struct forward *f, struct ops_scores out, struct ops_array x,
                    const struct inputs *in);
void forward_logits(const struct forward *f, struct ops_array logits, struct ops_array x,
                    int64_t n);

#endif
