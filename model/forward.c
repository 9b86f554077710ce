#include "model/forward.h"

struct ops_array forward_layers(const struct forward *f, struct ops_array x, struct ops_array y,
                                const struct inputs *in)
{
    const struct model *m = f->model;
    m->embedding_fwd(m, f->ops, x, f->blocks[0], in);
    for (int l = 0; l < m->config.layers; l++) {
        m->layer_fwd(m, f->ops, l, y, x, f->blocks[l + 1], (struct model_cache){ 0 }, in);
        struct ops_array swap = x;
        x = y;
        y = swap;
    }
    return x;
}

static struct ops_array head_of(const struct forward *f)
{
    return f->blocks[f->model->config.layers + 1];
}

/* The table that the decoder may be tied to. */
static struct ops_array table_of(const struct forward *f)
{
    return f->model->tied ? f->blocks[0] : OPS_NONE;
}

void forward_losses(const struct forward *f, struct ops_scores out, struct ops_array x,
                    const struct inputs *in)
{
    f->model->head_fwd(f->model, f->ops, out, x, head_of(f), table_of(f), in);
}

void forward_logits(const struct forward *f, struct ops_array logits, struct ops_array x, int64_t n)
{
    f->model->head_logits(f->model, f->ops, logits, x, head_of(f), table_of(f), n);
}
