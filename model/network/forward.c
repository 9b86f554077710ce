#include "model/network/forward.h"

#include "model/network/block.h"
#include "model/network/embedding.h"
#include "model/network/layer.h"

void forward_release(struct forward *f)
{
    if (!f->ops)
        return;
    ops_room_free(f->ops, &f->x);
    ops_room_free(f->ops, &f->y);
}

struct ops_array forward_layers(struct forward *f, const struct inputs *in)
{
    const struct model *m = f->model;
    const int64_t n = in->N * m->config.width;
    const struct ops_array x[] = { ops_room(f->ops, &f->x, OPS_F32, n),
                                   ops_room(f->ops, &f->y, OPS_F32, n) };
    embedding_fwd(m, f->ops, x[0], f->blocks[0], in);
    for (int l = 0; l < m->config.layers; l++)
        layer_fwd(m, f->ops, l, x[(l + 1) % 2], x[l % 2], f->blocks[l + 1],
                  (struct model_cache){ 0 }, in);
    return x[m->config.layers % 2];
}

static struct ops_array head_of(const struct forward *f)
{
    return f->blocks[f->model->config.layers + 1];
}

/* Returns the embedding block if the decoder is tied to its table, else OPS_NONE. */
static struct ops_array table_of(const struct forward *f)
{
    return f->model->tied ? f->blocks[0] : OPS_NONE;
}

void forward_losses(const struct forward *f, struct ops_scores out, struct ops_array x,
                    const struct inputs *in)
{
    const struct head_pass p = {
        .out = out, .x = x, .w = head_of(f), .tied = table_of(f), .in = in
    };
    f->model->head(f->model, f->ops, &p);
}

void forward_logits(const struct forward *f, struct ops_array logits, struct ops_array x, int64_t n)
{
    f->model->head_logits(f->model, f->ops, logits, x, head_of(f), table_of(f), n);
}

void forward_decoder(const struct forward *f, struct ops_array normed, struct ops_decoder *d,
                     struct ops_array x, int64_t n)
{
    const struct model *m = f->model;
    const struct ops_norm norm = block_norm(m, head_of(f), m->first_head_row, n);
    ops_norm_fwd(f->ops, normed, not_kept, x, &norm);
    *d = block_decoder(m, head_of(f), table_of(f), OPS_NONE);
}
