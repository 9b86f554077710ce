/* BERT's head for questions: for each token, logits that an answer starts there and that one ends
 * there (Devlin et al. 2019, section 4.2). */
#include "model/network/bert_head.h"
#include "model/network/split.h"

/* Tensors of the head. */
enum { SPAN };

static void span_logits(const struct model *m, struct ops *o, struct ops_array logits,
                        struct ops_array x, struct ops_array w, struct ops_array, int64_t n)
{
    const struct ops_linear span = block_linear(m, w, bert_head_row(m, SPAN), n);
    split_linear_fwd(m, o, logits, x, &span, 1);
}

/* Returns the head's input, all rows [N,C] of x[n,C] with dropout; it may be x itself. */
static struct ops_array head_input(const struct model *m, struct ops *o, struct ops_array x,
                                   const struct inputs *in)
{
    const struct ops_dropout drop = block_head_dropout(m, in);
    const int64_t C = m->config.width, n = split_rows(m, in->N).count * C;
    struct ops_array read = x;
    ops_scratch_begin(o);
    if (drop.rate) {
        read = ops_scratch(o, x.type, n);
        ops_dropout(o, read, x, n, drop);
    }
    return split_all_rows(m, o, x.type, read, in->N, C, "rows of the head");
}

static void run_head(const struct model *m, struct ops *o, const struct head_pass *p)
{
    const struct inputs *in = p->in;
    const struct ops_linear span = block_linear(m, p->w, bert_head_row(m, SPAN), in->N);
    const int64_t N = in->N, C = m->config.width;
    struct ops_array read = head_input(m, o, p->x, in);
    struct ops_array logits = ops_scratch(o, OPS_F32, 2 * N); /* then their gradients */
    span_logits(m, o, logits, read, p->w, OPS_NONE, N);
    for (int side = 0; side < 2; side++)
        ops_span_loss(o, inputs_scores(in, p->out, side), logits, side, &in->targets[side],
                      &in->rows, head_goes_back(p), 0.5 * p->scale);
    if (!head_goes_back(p))
        return;
    struct ops_array all = split_room_for_rows(m, o, p->dx, N, C);
    block_linear_bwd(m, o, ops_set(all), p->dw, bert_head_row(m, SPAN), logits, read, &span);
    split_own_rows(m, o, p->dx, all, N, C);
    ops_dropout(o, p->dx, p->dx, split_rows(m, N).count * C, block_head_dropout(m, in));
}

void bert_questions_init(struct model *m)
{
    m->head = run_head;
    m->head_logits = span_logits;
    m->parts = 2;
    m->part[0] = (struct model_part){ "start", 0.5, LABEL_START };
    m->part[1] = (struct model_part){ "end", 0.5, LABEL_END };
    block_add_map(m, (int)m->config.layers + 1, "qa_outputs", 0, m->config.width, 2,
                  m->config.init_std, 1, 0);
}
