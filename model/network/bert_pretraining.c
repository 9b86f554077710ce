/* BERT's head for pre-training (Devlin et al. 2019, section 3.1). A decoder, usually tied to the
 * embedding of words, predicts masked words. A pooler on [CLS] predicts whether the second sentence
 * follows the first. Each computes only the rows that have a label. */
#include "model/network/bert_head.h"
#include "model/network/split.h"

/* Tensors for masked words, in the table's order, after those for the next sentence, which RoBERTa
 * lacks. A bare head lacks WORD_BIAS to TRANSFORM_SHIFT. An untied decoder comes last. */
enum { WORD_BIAS, TRANSFORM, TRANSFORM_BIAS, TRANSFORM_GAIN, TRANSFORM_SHIFT, DECODER };

/* Returns the number of the head's tensors before those for words. */
static int first_tensors(const struct model *m)
{
    return m->config.architecture->names.next ? BERT_FIRST_TENSORS : 0;
}

/* Returns the place of tensor i for words among those that the model has. */
static int place_of(const struct model *m, int i)
{
    const int unbiased = m->config.architecture->unbiased;
    return m->config.bare_head ? WORD_BIAS
                               : i - unbiased * ((i > TRANSFORM_BIAS) + (i > TRANSFORM_SHIFT));
}

/* Returns the row of tensor i for words in the tensor table. */
static size_t word_row(const struct model *m, int i)
{
    return bert_head_row(m, first_tensors(m) + place_of(m, i));
}

static void add_tensors(struct model *m)
{
    const struct architecture_names *names = &m->config.architecture->names;
    const int64_t C = m->config.width, W = split_width(m);
    const double std = m->config.init_std;
    const int head = (int)m->config.layers + 1, biased = !m->config.architecture->unbiased;
    if (names->next)
        bert_first_init(m, names->pooler, names->next, 2);
    if (!m->config.bare_head) {
        block_add_vector(m, head, m->config.untied ? "cls.predictions.decoder.bias" : names->bias,
                         m->config.vocabulary);
        block_add_map(m, head, names->dense, 0, C, W, std, biased, 0);
        block_add_norm(m, head, names->dense_norm, 0, W, biased, 0);
    }
    if (m->config.untied)
        block_add_table(m, head, names->decoder, m->config.vocabulary);
}

static struct ops_linear map_of(const struct model *m, struct ops_array w, int i, int64_t n)
{
    return block_linear(m, w, word_row(m, i), n);
}

/* Returns the head's activation. transformers' RoBERTa has GELU there, whatever its layers have. */
static enum ops_activation activation(const struct model *m)
{
    return first_tensors(m) ? m->config.activation : OPS_GELU;
}

/* ---- masked words ------------------------------------------------------------------------- */

/* The intermediate results of n rows from the last layer's output to the decoder. In a bare head
 * all of them are the rows themselves. W: all columns, C: this rank's. */
struct transform {
    struct ops_array x;                     /* [n,C] */
    struct ops_array dense, active, normed; /* [n,W] */
    struct ops_array y;                     /* [n,C] this rank's columns of `normed` */
    struct ops_moments kept;
};

/* Returns the results of the transform for n rows of x: for row rows[i], or for row i if `rows` is
 * OPS_NONE. */
static struct transform transform_fwd(const struct model *m, struct ops *o, struct ops_array x,
                                      struct ops_array w, struct ops_array rows, int64_t n)
{
    const int64_t C = m->config.width, W = split_width(m);
    struct transform t = { .x = ops_is_none(rows) ? x : ops_scratch(o, OPS_F32, n * C) };
    if (!ops_is_none(rows))
        ops_gather_rows(o, t.x, x, rows, n, C);
    t.y = t.x;
    if (m->config.bare_head)
        return t;
    const struct ops_linear map = map_of(m, w, TRANSFORM, n);
    const struct ops_norm norm = block_norm(m, w, word_row(m, TRANSFORM_GAIN), n);
    t.dense = ops_scratch(o, OPS_F32, n * W);
    t.active = ops_scratch(o, OPS_F32, n * W);
    t.normed = ops_scratch(o, OPS_F32, n * W);
    t.kept = (struct ops_moments){ ops_scratch(o, OPS_F32, n), ops_scratch(o, OPS_F32, n), 0 };
    split_linear_fwd(m, o, t.dense, t.x, &map, 1);
    ops_gated_fwd(o, &(struct ops_gate){ activation(m), n, W, W }, t.active, t.dense, OPS_NONE);
    ops_norm_fwd(o, t.normed, t.kept, t.active, &norm);
    t.y = split_own_columns(m, o, t.normed, n);
    return t;
}

/* Replaces d, the gradient of t->y, by the gradient of t->x. */
static void transform_bwd(const struct model *m, struct ops *o, struct ops_array d,
                          struct ops_gradient dw, struct ops_array w, const struct transform *t,
                          int64_t n)
{
    if (m->config.bare_head)
        return;
    const struct ops_linear map = map_of(m, w, TRANSFORM, n);
    const struct ops_norm norm = block_norm(m, w, word_row(m, TRANSFORM_GAIN), n);
    const struct ops_norm_bwd b = { .dx = ops_set(t->normed),
                                    .dgain = block_gradient(m, dw, word_row(m, TRANSFORM_GAIN)),
                                    .dbias = m->config.architecture->unbiased
                                                 ? no_gradient()
                                                 : block_gradient(m, dw,
                                                                  word_row(m, TRANSFORM_SHIFT)),
                                    .dy = split_all_columns(m, o, d, n, "gradients of the decoder"),
                                    .x = t->active,
                                    .kept = t->kept };
    ops_norm_bwd(o, &b, &norm);
    ops_gated_bwd(o, &(struct ops_gate){ activation(m), n, norm.C, norm.C }, t->normed, OPS_NONE,
                  t->dense, no_gradient(), t->normed, t->dense, OPS_NONE);
    block_linear_bwd(m, o, ops_set(d), dw, word_row(m, TRANSFORM), t->normed, t->x, &map);
}

static struct ops_decoder decoder_of(const struct model *m, struct ops_array w,
                                     struct ops_array tied)
{
    return block_decoder(
        m, w, tied, m->config.bare_head ? OPS_NONE : block_tensor(m, w, word_row(m, WORD_BIAS)));
}

static void word_logits(const struct model *m, struct ops *o, struct ops_array logits,
                        struct ops_array x, struct ops_array w, struct ops_array tied, int64_t n)
{
    const struct ops_decoder d = decoder_of(m, w, tied);
    ops_scratch_begin(o);
    struct transform t = transform_fwd(m, o, x, w, OPS_NONE, n);
    ops_logits(o, logits, t.y, n, &d);
}

/* Computes the losses of masked words from all rows x. Unless d is OPS_NONE, also computes their
 * gradients, and adds that with respect to x to d. */
static void learn_words(const struct model *m, struct ops *o, const struct head_pass *p,
                        struct ops_array x, struct ops_array d)
{
    const int64_t C = m->config.width;
    const struct ops_labels *l = &p->in->targets[0], own = bert_picked(l);
    const struct ops_decoder decoder = decoder_of(m, p->w, p->tied);
    struct transform t = transform_fwd(m, o, x, p->w, l->rows, l->n);
    const struct ops_gradient dbias = m->config.bare_head
                                          ? no_gradient()
                                          : block_gradient(m, p->dw, word_row(m, WORD_BIAS));
    const struct ops_gradient dtable = m->tied ? p->dtied
                                               : block_gradient(m, p->dw, m->decoder_table);
    struct ops_array dy = ops_is_none(d) ? OPS_NONE : ops_scratch(o, OPS_F32, l->n * C);
    ops_loss(o, p->out, dy, dtable, dbias, t.y, l->n, p->scale, &own, &decoder);
    if (ops_is_none(d))
        return;
    transform_bwd(m, o, dy, p->dw, p->w, &t, l->n);
    if (ops_is_none(l->rows))
        ops_add(o, d, dy, l->n * C);
    else
        ops_scatter_rows(o, d, dy, l->rows, l->n, C);
}

/* ---- the next sentence -------------------------------------------------------------------- */

/* Computes the losses of the next sentence, and their gradients, as learn_words does. */
static void learn_next(const struct model *m, struct ops *o, const struct head_pass *p,
                       struct ops_array x, struct ops_array d)
{
    const struct ops_labels *l = &p->in->targets[1], own = bert_picked(l);
    struct bert_first f = bert_first_fwd(m, o, x, p->w, l->rows, l->n, no_dropout);
    ops_cross_entropy(o, inputs_scores(p->in, p->out, 1), f.logits, 2, &own, head_goes_back(p),
                      p->scale * p->in->next_weight);
    if (head_goes_back(p))
        bert_first_bwd(m, o, d, p->dw, &f, l->rows, l->n);
}

/* ---- the head ----------------------------------------------------------------------------- */

/* Zeroes the gradients of the head's tensors [first, end). */
static void begin_tensors(const struct model *m, struct ops *o, struct ops_array dw, int first,
                          int end)
{
    for (int i = first; i < end; i++) {
        const size_t row = bert_head_row(m, i);
        ops_zero(o, block_tensor(m, dw, row), tensor_elements(&m->tensors.rows[row]));
    }
}

/* Zeroes the gradients of the tensors for which the batch has no labels. */
static void begin_unused(const struct model *m, struct ops *o, const struct head_pass *p)
{
    const int words = p->in->targets[0].n > 0, next = p->in->targets[1].n > 0;
    const int first = first_tensors(m), end = first + place_of(m, DECODER) + m->config.untied;
    if (!words && !p->dw.add)
        begin_tensors(m, o, p->dw.to, first, end);
    if (!words && m->tied && !p->dtied.add)
        ops_zero(o, p->dtied.to, m->config.vocabulary * m->config.width);
    if (!next && !p->dw.add)
        begin_tensors(m, o, p->dw.to, 0, first);
}

static void run_head(const struct model *m, struct ops *o, const struct head_pass *p)
{
    struct ops_array all = bert_all_rows(m, o, p->x, p->in), d = bert_gradient_begin(m, o, p);
    if (p->in->targets[0].n)
        learn_words(m, o, p, all, d);
    if (p->in->targets[1].n)
        learn_next(m, o, p, all, d);
    if (!head_goes_back(p))
        return;
    begin_unused(m, o, p);
    split_own_rows(m, o, p->dx, d, p->in->N, m->config.width);
}

void bert_pretraining_init(struct model *m)
{
    m->tied = !m->config.untied;
    m->head = run_head;
    m->head_logits = word_logits;
    m->parts = first_tensors(m) ? 2 : 1;
    m->part[0] = (struct model_part){ "mlm", 1, LABEL_TOKEN };
    m->part[1] = (struct model_part){ "nsp", 1, LABEL_CLASS };
    add_tensors(m);
    m->decoder_table = m->tied ? 0 : word_row(m, DECODER);
}
