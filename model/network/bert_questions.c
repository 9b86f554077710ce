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

/* Computes the logits [N,2] and sets `out` to the losses of starts and ends. Returns the array of
 * the logits; with `gradient` 1 it holds the gradients of scale * (sum of losses) instead. */
static struct ops_array span_loss(const struct model *m, struct ops *o, struct ops_scores out,
                                  struct ops_array x, struct ops_array w, int gradient,
                                  double scale, const struct inputs *in)
{
    struct ops_array logits = ops_scratch(o, OPS_F32, 2 * in->N);
    span_logits(m, o, logits, x, w, OPS_NONE, in->N);
    for (int side = 0; side < 2; side++)
        ops_span_loss(o, inputs_scores(in, out, side), logits, side, &in->targets[side], &in->rows,
                      gradient, 0.5 * scale);
    return logits;
}

static void questions_fwd(const struct model *m, struct ops *o, struct ops_scores out,
                          struct ops_array x, struct ops_array w, struct ops_array,
                          const struct inputs *in)
{
    span_loss(m, o, out, head_input(m, o, x, in), w, 0, 0, in);
}

static void questions_fwd_bwd(const struct model *m, struct ops *o, struct ops_scores out,
                              struct ops_array dx, struct ops_gradient dw, struct ops_gradient,
                              struct ops_array x, struct ops_array w, struct ops_array,
                              double scale, const struct inputs *in)
{
    const struct ops_linear span = block_linear(m, w, bert_head_row(m, SPAN), in->N);
    const int64_t N = in->N, C = m->config.width;
    struct ops_array read = head_input(m, o, x, in);
    struct ops_array dlogits = span_loss(m, o, out, read, w, 1, scale, in);
    struct ops_array all = split_room_for_rows(m, o, dx, N, C);
    block_linear_bwd(m, o, ops_set(all), dw, bert_head_row(m, SPAN), dlogits, read, &span);
    split_own_rows(m, o, dx, all, N, C);
    ops_dropout(o, dx, dx, split_rows(m, N).count * C, block_head_dropout(m, in));
}

static int64_t labels(const int32_t **out, const struct batch *b, int part)
{
    *out = part ? b->ends : b->starts;
    return b->B;
}

void bert_questions_init(struct model *m)
{
    m->head_fwd = questions_fwd;
    m->head_fwd_bwd = questions_fwd_bwd;
    m->head_logits = span_logits;
    m->parts = 2;
    m->part[0] = (struct model_part){ "start", 0.5 };
    m->part[1] = (struct model_part){ "end", 0.5 };
    m->labels = labels;
    block_add_map(m, (int)m->config.layers + 1, "qa_outputs", 0, m->config.width, 2,
                  m->config.init_std, 1, 0);
}
