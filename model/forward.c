#include "model/forward.h"

static struct ops_array take_block(const void *source, int block)
{
    return ((const struct ops_array *)source)[block];
}

struct forward forward_of(const struct model *m, struct ops *o, const struct ops_array *blocks)
{
    return (struct forward){ .model = m, .ops = o, .take = take_block, .source = blocks };
}

static void give(const struct forward *f, int block)
{
    if (f->give)
        f->give(f->source, block);
}

struct ops_array forward_layers(const struct forward *f, struct ops_array x, struct ops_array y,
                                const struct inputs *in)
{
    const struct model *m = f->model;
    m->embedding_fwd(m, f->ops, x, f->take(f->source, 0), in);
    give(f, 0);
    for (int l = 0; l < m->config.layers; l++) {
        struct ops_array w = f->take(f->source, l + 1);
        m->layer_fwd(m, f->ops, l, y, x, w, (struct model_cache){ 0 }, in);
        give(f, l + 1);
        struct ops_array swap = x;
        x = y;
        y = swap;
    }
    return x;
}

/* The head, with the table that its decoder may be tied to. */
struct head {
    int block;
    struct ops_array w, tied;
};

static struct head take_head(const struct forward *f)
{
    const int block = (int)f->model->config.layers + 1;
    return (struct head){ block, f->take(f->source, block),
                          f->model->tied ? f->take(f->source, 0) : OPS_NONE };
}

static void give_head(const struct forward *f, const struct head *h)
{
    give(f, h->block);
    if (f->model->tied)
        give(f, 0);
}

void forward_losses(const struct forward *f, struct ops_scores out, struct ops_array x,
                    const struct inputs *in)
{
    const struct head h = take_head(f);
    f->model->head_fwd(f->model, f->ops, out, x, h.w, h.tied, in);
    give_head(f, &h);
}

void forward_logits(const struct forward *f, struct ops_array logits, struct ops_array x, int64_t n)
{
    const struct head h = take_head(f);
    f->model->head_logits(f->model, f->ops, logits, x, h.w, h.tied, n);
    give_head(f, &h);
}
