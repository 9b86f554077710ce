#include "model/network/next_token.h"

#include "model/network/block.h"
#include "model/network/embedding.h"
#include "model/network/split.h"

static void head_fwd(const struct model *m, struct ops *o, struct ops_scores out,
                     struct ops_array x, struct ops_array w, struct ops_array tied,
                     const struct inputs *in)
{
    const struct ops_decoder d = block_decoder(m, w, tied, OPS_NONE);
    const struct ops_norm norm = block_norm(m, w, m->first_head_row, split_rows(m, in->N).count);
    ops_scratch_begin(o);
    struct ops_array normed = ops_scratch(o, ops_operand(o), in->N * norm.C);
    split_norm_fwd(m, o, normed, not_kept, x, &norm, in->N);
    ops_loss_fwd(o, out, normed, &in->targets[0], &d);
}

static void head_fwd_bwd(const struct model *m, struct ops *o, struct ops_scores out,
                         struct ops_array dx, struct ops_gradient dw, struct ops_gradient dtied,
                         struct ops_array x, struct ops_array w, struct ops_array tied,
                         double scale, const struct inputs *in)
{
    const int64_t N = in->N, C = m->config.width;
    const struct ops_decoder d = block_decoder(m, w, tied, OPS_NONE);
    const struct split_part rows = split_rows(m, N);
    const struct ops_norm norm = block_norm(m, w, m->first_head_row, rows.count);
    const struct ops_gradient dtable = m->tied ? dtied : block_gradient(m, dw, m->decoder_table);
    ops_scratch_begin(o);
    struct ops_array normed = ops_scratch(o, ops_operand(o), N * C);
    struct ops_array dnormed = ops_scratch(o, OPS_F32, N * C);
    struct ops_moments kept = { ops_scratch(o, OPS_F32, N), ops_scratch(o, OPS_F32, N), 0 };
    split_norm_fwd(m, o, normed, kept, x, &norm, N);
    ops_loss_fwd_bwd(o, out, dnormed, dtable, no_gradient(), normed, N, scale, &in->targets[0], &d);
    const struct ops_norm_bwd b = {
        .dx = ops_set(dx), .dy = ops_part(dnormed, rows.first * C), .x = x, .kept = kept
    };
    block_norm_bwd(m, o, dw, m->first_head_row, b, &norm);
}

static void head_logits(const struct model *m, struct ops *o, struct ops_array logits,
                        struct ops_array x, struct ops_array w, struct ops_array tied, int64_t n)
{
    const struct ops_decoder d = block_decoder(m, w, tied, OPS_NONE);
    const struct ops_norm norm = block_norm(m, w, m->first_head_row, n);
    ops_scratch_begin(o);
    struct ops_array normed = ops_scratch(o, OPS_F32, n * norm.C);
    ops_norm_fwd(o, normed, not_kept, x, &norm);
    ops_logits(o, logits, normed, n, &d);
}

static int64_t labels(const int32_t **out, const struct batch *b, int)
{
    *out = b->labels;
    return batch_places(b);
}

void next_token_init(struct model *m)
{
    const struct model_config *c = &m->config;
    const struct architecture_names *names = &c->architecture->names;
    const int head = (int)c->layers + 1;
    embedding_init(m);
    layer_init(m);
    block_add_norm(m, head, names->last_norm, 0, c->width, !c->architecture->unbiased, 0);
    m->decoder_table = m->tensors.count;
    if (c->untied)
        block_add_table(m, head, names->decoder, c->vocabulary);
    m->tied = !c->untied;
    m->head_fwd = head_fwd;
    m->head_fwd_bwd = head_fwd_bwd;
    m->head_logits = head_logits;
    m->parts = 1;
    m->part[0] = (struct model_part){ NULL, 1 };
    m->labels = labels;
}
