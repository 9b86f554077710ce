/*
 * forward.h - runs a model forward: the embedding, the layers in order, the head.
 *
 *     struct forward f = { .model = &model, .ops = ops, .blocks = blocks };
 *     x = forward_layers(&f, &in);           then the losses of the labels, or logits
 *     forward_losses(&f, scores, x, &in);
 *     forward_release(&f);
 *
 * Used for evaluation and generation, where all parameters are in memory.
 */
#pragma once

#include "model/network/model.h"

struct forward {
    const struct model *model; /* borrowed, like ops and blocks */
    struct ops *ops;
    const struct ops_array *blocks; /* parameters: [model->tensors.blocks] */
    /* A layer's input and output. They are not made for all positions at once, because a text may
     * have far fewer tokens. */
    struct ops_room x, y;
};

void forward_release(struct forward *f); /* may be called on a zeroed struct */

/* Runs the embedding and the layers. Returns the last layer's output [N,C], which is valid until
 * the next run. */
struct ops_array forward_layers(struct forward *f, const struct inputs *in);

/* Compute the head's losses (struct head_pass), or its logits for n rows, from x, the last
 * layer's output. */
void forward_losses(const struct forward *f, struct ops_scores out, struct ops_array x,
                    const struct inputs *in);
void forward_logits(const struct forward *f, struct ops_array logits, struct ops_array x,
                    int64_t n);
/* For a model of HEAD_NEXT and the outputs x[n,C] of its last layer: sets *d to the decoder, and
 * normed[n,C], F32, to the decoder's input. */
void forward_decoder(const struct forward *f, struct ops_array normed, struct ops_decoder *d,
                     struct ops_array x, int64_t n);
