/* Models that predict the next token: embedding, layers, and a head of a norm and a decoder. */
#include "model/network/block.h"
#include "model/network/embedding.h"
#include "model/network/split.h"

static void run_head(const struct model *m, struct ops *o, const struct head_pass *p)
{
    const int64_t N = p->in->N, C = m->config.width;
    const struct ops_labels *l = &p->in->targets[0];
    const struct ops_decoder d = block_decoder(m, p->w, p->tied, OPS_NONE);
    const struct split_part rows = split_rows(m, N);
    const struct ops_norm norm = block_norm(m, p->w, m->first_head_row, rows.count);
    ops_scratch_begin(o);
    struct ops_array normed = ops_scratch(o, ops_operand(o), N * C), dnormed = OPS_NONE;
    struct ops_moments kept = not_kept;
    const struct ops_gradient dtable = m->tied ? p->dtied
                                               : block_gradient(m, p->dw, m->decoder_table);
    if (head_goes_back(p)) {
        dnormed = ops_scratch(o, OPS_F32, N * C);
        kept = (struct ops_moments){ ops_scratch(o, OPS_F32, N), ops_scratch(o, OPS_F32, N), 0 };
    }
    split_norm_fwd(m, o, normed, kept, p->x, &norm, N);
    ops_loss(o, p->out, dnormed, dtable, no_gradient(), normed, N, p->scale, l, &d);
    if (!head_goes_back(p))
        return;
    const struct ops_norm_bwd b = {
        .dx = ops_set(p->dx), .dy = ops_part(dnormed, rows.first * C), .x = p->x, .kept = kept
    };
    block_norm_bwd(m, o, p->dw, m->first_head_row, b, &norm);
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
    m->head = run_head;
    m->head_logits = head_logits;
    m->parts = 1;
    m->part[0] = (struct model_part){ NULL, 1, LABEL_TOKEN };
}
