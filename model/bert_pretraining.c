/* BERT's head for pre-training: masked words by a decoder that is tied to the words' embedding, and
 * the next sentence by a pooler on [CLS] (Devlin et al. 2019, section 3.1). Each computes the rows
 * that have a label alone. */
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "model/bert.h"
#include "model/bert_head.h"
#include "model/block.h"

/* Rows of the head's block; what follows NEXT_BIAS is absent from a bare one. */
enum {
    POOLER,
    POOLER_BIAS,
    NEXT,
    NEXT_BIAS,
    WORD_BIAS,
    TRANSFORM,
    TRANSFORM_BIAS,
    TRANSFORM_GAIN,
    TRANSFORM_SHIFT
};

static void add_tensors(struct model *m)
{
    const int64_t C = m->config.width;
    const int head = (int)m->config.layers + 1;
    bert_add_map(m, head, "bert.pooler.dense.weight", C, C);
    bert_add_vector(m, head, "bert.pooler.dense.bias", C);
    bert_add_map(m, head, "cls.seq_relationship.weight", C, 2);
    bert_add_vector(m, head, "cls.seq_relationship.bias", 2);
    if (m->config.bare_head)
        return;
    bert_add_vector(m, head, "cls.predictions.bias", m->config.vocabulary);
    bert_add_map(m, head, "cls.predictions.transform.dense.weight", C, C);
    bert_add_vector(m, head, "cls.predictions.transform.dense.bias", C);
    bert_add_vector(m, head, "cls.predictions.transform.LayerNorm.weight", C);
    bert_add_vector(m, head, "cls.predictions.transform.LayerNorm.bias", C);
}

/* ---- masked words ------------------------------------------------------------------------- */

/* The rows that have a label. */
struct picked {
    int64_t n;
    int64_t *rows, *tokens; /* in the activations, in [B,T] */
    int32_t *labels;
    float *losses; /* what the decoder makes of them */
    unsigned char *correct;
};

static struct picked pick(const struct batch *b)
{
    struct ops_rows rows = bert_rows(b);
    int64_t N = ops_rows_count(&rows);
    struct picked p = { 0,
                        mem_alloc((size_t)N * sizeof *p.rows),
                        mem_alloc((size_t)N * sizeof *p.tokens),
                        mem_alloc((size_t)N * sizeof *p.labels),
                        mem_alloc((size_t)N * sizeof *p.losses),
                        mem_alloc((size_t)N) };
    int64_t *tokens = p.rows; /* read before it is written: p.n <= row */
    ops_rows_index(tokens, &rows);
    for (int64_t row = 0; row < N; row++) {
        int64_t token = tokens[row];
        if (b->labels[token] < 0)
            continue;
        p.rows[p.n] = row;
        p.tokens[p.n] = token;
        p.labels[p.n++] = b->labels[token];
    }
    return p;
}

static void picked_release(struct picked *p)
{
    free(p->rows);
    free(p->tokens);
    free(p->labels);
    free(p->losses);
    free(p->correct);
}

/* To the places [B,T] where the picked rows stand, and 0 elsewhere; either may be NULL. */
static void spread(float *losses, unsigned char *correct, const struct picked *p,
                   const struct batch *b)
{
    for (int64_t i = 0; i < b->B * b->T && losses; i++)
        losses[i] = 0;
    if (correct)
        memset(correct, 0, (size_t)(b->B * b->T));
    for (int64_t i = 0; i < p->n && losses; i++)
        losses[p->tokens[i]] = p->losses[i];
    for (int64_t i = 0; i < p->n && correct; i++)
        correct[p->tokens[i]] = p->correct[i];
}

/* The way of picked rows to the decoder. Of a bare head all are the rows themselves. */
struct transform {
    float *x, *dense, *active, *normed; /* [n,C] */
    float *mean, *rstd;                 /* [n] */
    float *d;                           /* [n,C] for a backward */
};

static struct transform transform_fwd(const struct model *m, struct ops *o, const float *x,
                                      const float *w, const int64_t *index, int64_t n)
{
    const int64_t C = m->config.width;
    float *p = ops_scratch(o, n * (5 * C + 2));
    struct transform t = {
        p, p + n * C, p + 2 * n * C, p + 3 * n * C, p + 5 * n * C, p + 5 * n * C + n, p + 4 * n * C
    };
    ops_gather_rows(o, t.x, x, index, n, C);
    if (m->config.bare_head) {
        t.normed = t.x;
        return t;
    }
    ops_linear_fwd(o, t.dense, ops_floats(t.x), w + bert_head_offset(m, TRANSFORM),
                   w + bert_head_offset(m, TRANSFORM_BIAS), n, C, C);
    bert_gelu_fwd(m, o, OPS_FLOATS, t.active, t.dense, n, C);
    ops_layernorm_fwd(o, OPS_FLOATS, t.normed, t.mean, t.rstd, t.active,
                      w + bert_head_offset(m, TRANSFORM_GAIN),
                      w + bert_head_offset(m, TRANSFORM_SHIFT), n, C, m->config.epsilon);
    return t;
}

/* From t->d, the gradient in t->normed, to the gradient in t->x, which is returned. */
static const float *transform_bwd(const struct model *m, struct ops *o, float *dw, const float *w,
                                  const struct transform *t, int64_t n)
{
    const int64_t C = m->config.width;
    if (m->config.bare_head)
        return t->d;
    ops_layernorm_bwd(o, t->normed, dw + bert_head_offset(m, TRANSFORM_GAIN),
                      dw + bert_head_offset(m, TRANSFORM_SHIFT), NULL, t->d, t->active,
                      w + bert_head_offset(m, TRANSFORM_GAIN), t->mean, t->rstd, n, C);
    bert_gelu_bwd(m, o, t->normed, t->dense, n, C);
    ops_linear_bwd(o, t->d, dw + bert_head_offset(m, TRANSFORM),
                   dw + bert_head_offset(m, TRANSFORM_BIAS), ops_factors(t->normed),
                   ops_floats(t->x), w + bert_head_offset(m, TRANSFORM), n, C, C);
    return t->d;
}

static const float *word_bias(const struct model *m, const float *w)
{
    return m->config.bare_head ? NULL : w + bert_head_offset(m, WORD_BIAS);
}

void bert_word_logits(const struct model *m, struct ops *o, float *logits, const float *x,
                      const float *w, const float *tied, const int64_t *index, int64_t n)
{
    const int64_t V = m->config.vocabulary;
    struct transform t = transform_fwd(m, o, x, w, index, n);
    ops_logits(o, logits, t.normed, tied, n, V, m->config.width);
    for (int64_t i = 0; i < n && !m->config.bare_head; i++)
        ops_add(o, logits + i * V, word_bias(m, w), V);
}

static double words_fwd(const struct model *m, struct ops *o, float *losses, unsigned char *correct,
                        const float *x, const float *w, const float *tied, const struct batch *b)
{
    struct picked p = pick(b);
    double sum = 0;
    if (p.n) {
        struct transform t = transform_fwd(m, o, x, w, p.rows, p.n);
        sum = ops_biased_loss_fwd(o, p.losses, p.correct, t.normed, tied, word_bias(m, w), p.labels,
                                  p.n, m->config.vocabulary, m->config.width);
    }
    spread(losses, correct, &p, b);
    picked_release(&p);
    return sum;
}

/* dx is added to. */
static double words_fwd_bwd(const struct model *m, struct ops *o, float *losses,
                            unsigned char *correct, float *dx, float *dw, float *dtied,
                            const float *x, const float *w, const float *tied, double scale,
                            const struct batch *b)
{
    const int64_t C = m->config.width;
    struct picked p = pick(b);
    double sum = 0;
    if (p.n) {
        struct transform t = transform_fwd(m, o, x, w, p.rows, p.n);
        float *dbias = m->config.bare_head ? NULL : dw + bert_head_offset(m, WORD_BIAS);
        sum = ops_biased_loss_fwd_bwd(o, p.losses, p.correct, t.d, dtied, dbias, t.normed, tied,
                                      word_bias(m, w), p.labels, scale, b->first, p.n,
                                      m->config.vocabulary, C);
        ops_scatter_rows(o, dx, transform_bwd(m, o, dw, w, &t, p.n), p.rows, p.n, C);
    } else if (b->first) {
        ops_zero(o, dtied, m->config.vocabulary * C);
    }
    spread(losses, correct, &p, b);
    picked_release(&p);
    return sum;
}

/* ---- the next sentence -------------------------------------------------------------------- */

/* The sequences' first tokens, [CLS]. */
struct pooled {
    int64_t *rows;
    float *x, *pooled, *d; /* [B,C] */
    float *logits;         /* [B,2] */
};

static struct pooled pool_fwd(const struct model *m, struct ops *o, const float *x, const float *w,
                              const struct batch *b)
{
    const struct ops_rows rows = bert_rows(b);
    const int64_t B = b->B, C = m->config.width;
    float *p = ops_scratch(o, B * (3 * C + 2));
    struct pooled f = { mem_alloc((size_t)B * sizeof *f.rows), p, p + B * C, p + 2 * B * C,
                        p + 3 * B * C };
    for (int64_t i = 0, row = 0; i < B; row += ops_rows_of(&rows, i++))
        f.rows[i] = row;
    ops_gather_rows(o, f.x, x, f.rows, B, C);
    ops_linear_fwd(o, f.pooled, ops_floats(f.x), w + bert_head_offset(m, POOLER),
                   w + bert_head_offset(m, POOLER_BIAS), B, C, C);
    ops_tanh_fwd(o, f.pooled, B * C);
    ops_linear_fwd(o, f.logits, ops_floats(f.pooled), w + bert_head_offset(m, NEXT),
                   w + bert_head_offset(m, NEXT_BIAS), B, C, 2);
    return f;
}

void bert_next_logits(const struct model *m, struct ops *o, float *logits, const float *x,
                      const float *w, const struct batch *b)
{
    struct pooled f = pool_fwd(m, o, x, w, b);
    memcpy(logits, f.logits, (size_t)b->B * 2 * sizeof *logits);
    free(f.rows);
}

static double no_next(float *losses, unsigned char *correct, const struct batch *b)
{
    for (int64_t i = 0; i < b->B && losses; i++)
        losses[i] = 0;
    if (correct)
        memset(correct, 0, (size_t)b->B);
    return 0;
}

static double next_fwd(const struct model *m, struct ops *o, float *losses, unsigned char *correct,
                       const float *x, const float *w, const struct batch *b)
{
    if (!b->next)
        return no_next(losses, correct, b);
    struct pooled f = pool_fwd(m, o, x, w, b);
    double sum = ops_cross_entropy(o, losses, correct, f.logits, b->next, 0, 0, b->B, 2);
    free(f.rows);
    return sum;
}

/* dx is added to. */
static double next_fwd_bwd(const struct model *m, struct ops *o, float *losses,
                           unsigned char *correct, float *dx, float *dw, const float *x,
                           const float *w, double scale, const struct batch *b)
{
    const int64_t B = b->B, C = m->config.width;
    if (!b->next)
        return no_next(losses, correct, b);
    struct pooled f = pool_fwd(m, o, x, w, b);
    double sum = ops_cross_entropy(o, losses, correct, f.logits, b->next, 1, scale, B, 2);
    ops_linear_bwd(o, f.d, dw + bert_head_offset(m, NEXT), dw + bert_head_offset(m, NEXT_BIAS),
                   ops_floats(f.logits), ops_floats(f.pooled), w + bert_head_offset(m, NEXT), B, C,
                   2);
    ops_tanh_bwd(o, f.d, f.pooled, B * C);
    ops_linear_bwd(o, f.pooled, dw + bert_head_offset(m, POOLER),
                   dw + bert_head_offset(m, POOLER_BIAS), ops_floats(f.d), ops_floats(f.x),
                   w + bert_head_offset(m, POOLER), B, C, C);
    ops_scatter_rows(o, dx, f.pooled, f.rows, B, C);
    free(f.rows);
    return sum;
}

/* ---- the head ----------------------------------------------------------------------------- */

static double pretraining_fwd(const struct model *m, struct ops *o, float *losses,
                              unsigned char *correct, const float *x, const float *w,
                              const float *tied, const struct batch *b)
{
    int64_t words = b->B * b->T;
    double sum = words_fwd(m, o, losses, correct, x, w, tied, b);
    return sum + b->next_weight *
                     next_fwd(m, o, losses + words, correct ? correct + words : NULL, x, w, b);
}

static double pretraining_fwd_bwd(const struct model *m, struct ops *o, float *losses,
                                  unsigned char *correct, float *dx, float *dw, float *dtied,
                                  const float *x, const float *w, const float *tied, double scale,
                                  const struct batch *b)
{
    int64_t words = b->B * b->T;
    begin_head(m, o, dw, dtied, b);
    ops_zero(o, dx, bert_count_rows(b) * m->config.width);
    double sum = words_fwd_bwd(m, o, losses, correct, dx, dw, dtied, x, w, tied, scale, b);
    return sum + b->next_weight * next_fwd_bwd(m, o, losses ? losses + words : NULL,
                                               correct ? correct + words : NULL, dx, dw, x, w,
                                               scale * b->next_weight, b);
}

static int64_t labels(const int32_t **out, const struct batch *b, int part)
{
    *out = part ? b->next : b->labels;
    return part ? b->B : b->B * b->T;
}

void bert_pretraining_init(struct model *m)
{
    m->head_fwd = pretraining_fwd;
    m->head_begins = 1;
    m->head_fwd_bwd = pretraining_fwd_bwd;
    m->parts = 2;
    m->part[0] = (struct model_part){ "mlm", 1 };
    m->part[1] = (struct model_part){ "nsp", 1 };
    m->labels = labels;
    add_tensors(m);
}
