/* BERT's head for questions: of every token, whether an answer starts and whether one ends there
 * (Devlin et al. 2019, section 4.2). */
#include <stdlib.h>

#include "common/mem.h"
#include "model/bert.h"
#include "model/bert_head.h"

/* Rows of the head's block. */
enum { SPAN, SPAN_BIAS };

void bert_span_logits(const struct model *m, struct ops *o, float *logits, const float *x,
                      const float *w, const struct batch *b)
{
    ops_linear_fwd(o, logits, ops_floats(x), w + bert_head_offset(m, SPAN),
                   w + bert_head_offset(m, SPAN_BIAS), bert_count_rows(b), m->config.width, 2);
}

/* The softmax of a start (side 0) or an end (1) goes over one sequence: logits[n,2], of which one
 * column is used and, with gradient, replaced. */
static double side_loss(struct ops *o, float *loss, unsigned char *correct, float *logits,
                        int64_t n, int side, int32_t label, int gradient, double scale)
{
    float *column = mem_alloc((size_t)n * sizeof *column);
    if (label >= n)
        label = MODEL_IGNORE;
    for (int64_t i = 0; i < n; i++)
        column[i] = logits[2 * i + side];
    double sum = ops_cross_entropy(o, loss, correct, column, &label, gradient, scale, 1, n);
    for (int64_t i = 0; i < n && gradient; i++)
        logits[2 * i + side] = column[i];
    free(column);
    return sum;
}

/* losses[2,B] and correct[2,B] may be NULL. */
static double span_loss(struct ops *o, float *losses, unsigned char *correct, float *logits,
                        const struct batch *b, int gradient, double scale)
{
    const struct ops_rows rows = bert_rows(b);
    double sum = 0;
    for (int64_t i = 0, row = 0; i < b->B; row += ops_rows_of(&rows, i++))
        for (int side = 0; side < 2; side++) {
            int64_t at = side * b->B + i;
            sum += side_loss(o, losses ? losses + at : NULL, correct ? correct + at : NULL,
                             logits + 2 * row, ops_rows_of(&rows, i), side,
                             (side ? b->ends : b->starts)[i], gradient, 0.5 * scale);
        }
    return 0.5 * sum;
}

static double questions_fwd(const struct model *m, struct ops *o, float *losses,
                            unsigned char *correct, const float *x, const float *w,
                            const float *tied, const struct batch *b)
{
    (void)tied;
    float *logits = ops_scratch(o, 2 * bert_count_rows(b));
    bert_span_logits(m, o, logits, x, w, b);
    return span_loss(o, losses, correct, logits, b, 0, 0);
}

static double questions_fwd_bwd(const struct model *m, struct ops *o, float *losses,
                                unsigned char *correct, float *dx, float *dw, float *dtied,
                                const float *x, const float *w, const float *tied, double scale,
                                const struct batch *b)
{
    (void)dtied;
    (void)tied;
    const int64_t N = bert_count_rows(b);
    float *logits = ops_scratch(o, 2 * N);
    bert_span_logits(m, o, logits, x, w, b);
    double sum = span_loss(o, losses, correct, logits, b, 1, scale);
    ops_linear_bwd(o, dx, dw + bert_head_offset(m, SPAN), dw + bert_head_offset(m, SPAN_BIAS),
                   ops_floats(logits), ops_floats(x), w + bert_head_offset(m, SPAN), N,
                   m->config.width, 2);
    return sum;
}

static int64_t labels(const int32_t **out, const struct batch *b, int part)
{
    *out = part ? b->ends : b->starts;
    return b->B;
}

void bert_questions_init(struct model *m)
{
    const int head = (int)m->config.layers + 1;
    m->head_fwd = questions_fwd;
    m->head_fwd_bwd = questions_fwd_bwd;
    m->parts = 2;
    m->part[0] = (struct model_part){ "start", 0.5 };
    m->part[1] = (struct model_part){ "end", 0.5 };
    m->labels = labels;
    bert_add_map(m, head, "qa_outputs.weight", m->config.width, 2);
    bert_add_vector(m, head, "qa_outputs.bias", 2);
}
