#include "model/network/forward.h"

#include "model/network/block.h"
#include "model/network/embedding.h"
#include "model/network/layer.h"

void forward_release(struct forward *f)
{
    if (!f->ops)
        return;
    ops_buffer_free(f->ops, f->x, f->room * f->model->config.width);
    ops_buffer_free(f->ops, f->y, f->room * f->model->config.width);
    f->x = f->y = OPS_NONE;
    f->room = 0;
}

/* Grows the memory to `rows` rows. It is not made for all positions at once, because a text may
 * have far fewer tokens. */
static void reserve(struct forward *f, int64_t rows)
{
    if (rows <= f->room)
        return;
    forward_release(f);
    f->room = rows;
    f->x = ops_buffer(f->ops, OPS_F32, rows * f->model->config.width);
    f->y = ops_buffer(f->ops, OPS_F32, rows * f->model->config.width);
}

struct ops_array forward_layers(struct forward *f, const struct inputs *in)
{
    const struct model *m = f->model;
    reserve(f, in->N);
    struct ops_array x = f->x, y = f->y;
    embedding_fwd(m, f->ops, x, f->blocks[0], in);
    for (int l = 0; l < m->config.layers; l++) {
        layer_fwd(m, f->ops, l, y, x, f->blocks[l + 1], (struct model_cache){ 0 }, in);
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
