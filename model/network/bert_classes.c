/* BERT's head for classes of texts (Devlin et al. 2019, section 4.1): a pooler on the first token,
 * [CLS], and a map to the logits of the classes, or to the number that a regression predicts. The
 * head for the next sentence is the same with two classes. */
#include "model/network/bert_head.h"

/* The numbers of the head's tensors. Weights come first, and their bias follows. */
enum { POOLER, MAP = 2 };

void bert_first_init(struct model *m, const char *pooler, const char *map, int64_t outputs)
{
    const int64_t C = m->config.width, W = split_width(m);
    const int head = (int)m->config.layers + 1;
    block_add_map(m, head, pooler, 0, C, W, m->config.init_std, 1, 0);
    block_add_map(m, head, map, 0, W, outputs, m->config.init_std, 1, -1);
}

struct bert_first bert_first_fwd(const struct model *m, struct ops *o, struct ops_array x,
                                 struct ops_array w, struct ops_array rows, int64_t B,
                                 struct ops_dropout drop)
{
    const int64_t C = m->config.width, W = split_width(m);
    struct bert_first f = { .pooler = block_linear(m, w, bert_head_row(m, POOLER), B),
                            .map = block_linear(m, w, bert_head_row(m, MAP), B),
                            .drop = drop,
                            .x = ops_is_none(rows) ? x : ops_scratch(o, OPS_F32, B * C),
                            .pooled = ops_scratch(o, OPS_F32, B * W) };
    f.logits = ops_scratch(o, OPS_F32, B * f.map.O);
    f.dropped = drop.rate > 0 ? ops_scratch(o, OPS_F32, B * W) : f.pooled;
    if (!ops_is_none(rows))
        ops_gather_rows(o, f.x, x, rows, B, C);
    split_linear_fwd(m, o, f.pooled, f.x, &f.pooler, 1);
    ops_tanh_fwd(o, f.pooled, B * W);
    ops_dropout(o, f.dropped, f.pooled, B * W, drop);
    ops_linear_fwd(o, f.logits, f.dropped, &f.map, 1);
    return f;
}

void bert_first_bwd(const struct model *m, struct ops *o, struct ops_array dx,
                    struct ops_gradient dw, struct bert_first *f, struct ops_array rows, int64_t B)
{
    const int64_t C = m->config.width, W = split_width(m);
    struct ops_array d = ops_scratch(o, OPS_F32, B * W);
    block_linear_bwd(m, o, ops_set(d), dw, bert_head_row(m, MAP), f->logits, f->dropped, &f->map);
    ops_dropout(o, d, d, B * W, f->drop);
    ops_tanh_bwd(o, d, f->pooled, B * W);
    block_linear_bwd(m, o, ops_set(f->pooled), dw, bert_head_row(m, POOLER), d, f->x, &f->pooler);
    if (ops_is_none(rows))
        ops_add(o, dx, f->pooled, B * C);
    else
        ops_scatter_rows(o, dx, f->pooled, rows, B, C);
}

/* ---- classes ------------------------------------------------------------------------------ */

/* Sets `out` to the squared errors of n predictions. With `gradient` 1 replaces the predictions by
 * the gradients of scale * (sum of the errors). In host memory: there are few. */
static void square_loss(struct ops *o, struct ops_scores out, struct ops_array predictions,
                        const float *values, int64_t n, int gradient, double scale)
{
    float *y = ops_map(o, predictions, n), *losses = ops_map(o, out.losses, n);
    for (int64_t i = 0; i < n; i++) {
        const double error = (double)y[i] - values[i];
        losses[i] = (float)(error * error);
        y[i] = gradient ? (float)(2 * scale * error) : y[i];
    }
    ops_unmap(o, out.losses, n, losses);
    ops_unmap(o, predictions, n, y);
}

static void run_head(const struct model *m, struct ops *o, const struct head_pass *p)
{
    const struct inputs *in = p->in;
    const int64_t C = m->config.width;
    const struct ops_labels *l = &in->targets[0], own = bert_picked(l);
    const struct labels *c = &m->config.classes;
    const int back = head_goes_back(p);
    struct ops_array all = bert_all_rows(m, o, p->x, in), d = bert_gradient_begin(m, o, p);
    struct bert_first f = bert_first_fwd(m, o, all, p->w, l->rows, l->n,
                                         block_pooled_dropout(m, in));
    if (c->regression)
        square_loss(o, p->out, f.logits, in->values, l->n, back, p->scale);
    else
        ops_cross_entropy(o, p->out, f.logits, c->count, &own, back, p->scale);
    if (!back)
        return;
    bert_first_bwd(m, o, d, p->dw, &f, l->rows, l->n);
    split_own_rows(m, o, p->dx, d, in->N, C);
}

static void classes_logits(const struct model *m, struct ops *o, struct ops_array logits,
                           struct ops_array x, struct ops_array w, struct ops_array, int64_t n)
{
    ops_scratch_begin(o);
    ops_copy(o, logits, bert_first_fwd(m, o, x, w, OPS_NONE, n, no_dropout).logits,
             n * m->config.classes.count);
}

void bert_classes_init(struct model *m)
{
    const struct architecture_names *names = &m->config.architecture->names;
    m->head = run_head;
    m->head_logits = classes_logits;
    m->parts = 1;
    m->part[0] = (struct model_part){ m->config.classes.regression ? NULL : "class", 1,
                                      LABEL_CLASS };
    bert_first_init(m, names->pooler, names->classes, m->config.classes.count);
}
