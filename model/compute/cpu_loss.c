/*
 * cpu_loss.c - losses of the CPU back end.
 */
#include <math.h>

#include "model/compute/cpu.h"

/* ---- columns of longer rows --------------------------------------------------------------- */

struct columns {
    const struct kernels *k;
    const struct ops_columns *c;
    struct ops_scores out;
    int gradient;
    float scale;
};

static float *logits_of(const struct columns *s, int64_t r)
{
    return cpu_floats(s->c->logits) + r * s->c->V;
}

/* Returns the column of row r's label among this rank's columns, or -1 if another rank has it. */
static int64_t column_of(const struct ops_columns *c, int64_t r)
{
    int64_t column = ((const int32_t *)(void *)c->labels.address)[r] - c->first;
    return column >= 0 && column < c->V ? column : -1;
}

static void most_of_rows(void *ctx, int64_t begin, int64_t end, int)
{
    const struct columns *s = ctx;
    for (int64_t r = begin; r < end; r++)
        cpu_floats(s->c->most)[r] = s->k->largest(logits_of(s, r), s->c->V);
}

static void sums_of_rows(void *ctx, int64_t begin, int64_t end, int)
{
    const struct columns *s = ctx;
    for (int64_t r = begin; r < end; r++) {
        float *logits = logits_of(s, r);
        int64_t label = column_of(s->c, r);
        cpu_floats(s->c->wanted)[r] = label < 0 ? 0 : logits[label];
        cpu_floats(s->c->sums)[r] = s->k->exponentials(logits, cpu_floats(s->c->most)[r], s->c->V);
    }
}

static void losses_of_rows(void *ctx, int64_t begin, int64_t end, int)
{
    const struct columns *s = ctx;
    unsigned char *correct = (unsigned char *)s->out.correct.address;
    for (int64_t r = begin; r < end; r++) {
        const float most = cpu_floats(s->c->most)[r], wanted = cpu_floats(s->c->wanted)[r];
        const float sum = cpu_floats(s->c->sums)[r];
        int64_t label = column_of(s->c, r);
        cpu_floats(s->out.losses)[r] = (float)(log((double)sum) + (double)most - (double)wanted);
        if (correct)
            correct[r] = wanted >= most;
        if (!s->gradient)
            continue;
        s->k->scale(logits_of(s, r), s->scale / sum, s->c->V);
        if (label >= 0)
            logits_of(s, r)[label] -= s->scale;
    }
}

void cpu_columns_most(struct ops *o, const struct ops_columns *c)
{
    pool_for(o->pool, c->n, cpu_row_grain(c->V), most_of_rows,
             &(struct columns){ .k = o->k, .c = c });
}

void cpu_columns_sums(struct ops *o, const struct ops_columns *c)
{
    pool_for(o->pool, c->n, cpu_row_grain(c->V), sums_of_rows,
             &(struct columns){ .k = o->k, .c = c });
}

void cpu_columns_loss(struct ops *o, struct ops_scores out, const struct ops_columns *c,
                      int gradient, double scale)
{
    struct columns s = { o->k, c, out, gradient, (float)scale };
    pool_for(o->pool, c->n, cpu_row_grain(c->V), losses_of_rows, &s);
}

/* ---- whole rows --------------------------------------------------------------------------- */

/* Logits whose rows begin ld apart. `gradient`: OPS_NONE, or the logits' memory in the gradients'
 * type. */
struct rows {
    const struct kernels *k;
    struct ops_scores out;
    float *logits;
    int64_t ld, V;
    struct ops_array labels, gradient;
    float scale;
};

/* Sets the scores of row i from its V logits and its label. A label outside the columns has loss
 * 0. */
static void score_row(const struct rows *s, int64_t i, float *logits)
{
    unsigned char *correct = (unsigned char *)s->out.correct.address;
    const int64_t label = ((const int32_t *)(void *)s->labels.address)[i];
    struct ops_array gradient = cpu_f32(logits);
    double loss = 0;
    gradient.type = s->gradient.type;
    if (label >= 0 && label < s->V) {
        loss = s->k->cross_entropy(logits, correct ? correct + i : NULL, s->V, label,
                                   ops_is_none(s->gradient) ? OPS_NONE : gradient, s->scale);
    } else {
        if (!ops_is_none(s->gradient))
            memset(logits, 0, (size_t)s->V * sizeof *logits);
        if (correct)
            correct[i] = 0;
    }
    cpu_floats(s->out.losses)[i] = (float)loss;
}

static void score_rows(void *ctx, int64_t begin, int64_t end, int)
{
    const struct rows *s = ctx;
    for (int64_t i = begin; i < end; i++)
        score_row(s, i, s->logits + i * s->ld);
}

void cpu_cross_entropy(struct ops *o, struct ops_scores out, struct ops_array logits, int64_t ld,
                       int64_t V, struct ops_array labels, int64_t n, struct ops_array gradient,
                       double scale)
{
    struct rows s = { o->k, out, cpu_floats(logits), ld, V, labels, gradient, (float)scale };
    pool_for(o->pool, n, cpu_row_grain(V), score_rows, &s);
}

void cpu_span_loss(struct ops *o, struct ops_scores out, struct ops_array logits, int side,
                   const struct ops_labels *l, const struct ops_rows *rows, int gradient,
                   double scale)
{
    float *column = mem_alloc((size_t)rows->T * sizeof *column), *at = cpu_floats(logits) + side;
    struct rows s = { .k = o->k, .out = out, .labels = l->labels, .scale = (float)scale };
    s.gradient = gradient ? cpu_f32(column) : OPS_NONE;
    for (int64_t b = 0; b < rows->B; b++) {
        s.V = ops_rows_of(rows, b);
        for (int64_t i = 0; i < s.V; i++)
            column[i] = at[2 * i];
        score_row(&s, b, column);
        for (int64_t i = 0; i < s.V && gradient; i++)
            at[2 * i] = column[i];
        at += 2 * s.V;
    }
    free(column);
}
