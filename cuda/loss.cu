/* loss.cu - cross entropy. Each block computes one softmax. */
#include "cuda/kernel.h"

/* Rows of logits get large blocks. So few rows are computed at a time, and each is still in the
 * cache when it is read for the second time. */
enum { THREADS = 256, ROW_THREADS = 1024, EACH = 8 };

struct loss {
    struct view logits;
    const int32_t *labels;
    const int64_t *sequences; /* for spans: [B,2] first row and length */
    float *losses;
    unsigned char *correct;
    int64_t ld, V; /* for spans: V is 2, and ld is the column */
    int gradient;
    float scale;
};

static inline struct loss loss_of(struct ops_scores out, struct ops_array logits, int64_t ld,
                                  struct ops_array labels, int gradient, double scale)
{
    struct loss l = { 0 };
    l.logits = view_rows(logits, ld);
    l.labels = (const int32_t *)view_of(labels).at;
    l.losses = floats(view_of(out.losses));
    l.correct = (unsigned char *)view_of(out.correct).at;
    l.ld = ld;
    l.gradient = gradient;
    l.scale = (float)scale;
    return l;
}

/* A running maximum, and the sum of exp(x - max) so far. */
struct soft {
    float max, sum;
};

DEVICE void soft_add(struct soft *s, float x)
{
    if (x > s->max) {
        s->sum = s->sum * expf(s->max - x) + 1;
        s->max = x;
    } else {
        s->sum += expf(x - s->max);
    }
}

DEVICE void soft_add_eight(struct soft *s, const struct eight *x, int64_t n)
{
    float max = s->max, sum = 0;
    for (int j = 0; j < EACH; j++)
        max = j < n ? fmaxf(max, x->v[j]) : max;
    if (!(max > -INFINITY))
        return;
    for (int j = 0; j < EACH; j++)
        sum += j < n ? power2(LOG2_E * (x->v[j] - max)) : 0;
    s->sum = s->sum * power2(LOG2_E * (s->max - max)) + sum;
    s->max = max;
}

/* Returns, to all threads of the block, the values s of all of them combined. `parts`: SUM_FLOATS
 * floats of shared memory. */
DEVICE struct soft soft_block(struct soft s, float *parts)
{
    struct soft all;
    all.max = block_join(s.max, parts, 1);
    all.sum = block_join(s.max > -INFINITY ? s.sum * expf(s.max - all.max) : 0, parts, 0);
    return all;
}

DEVICE void score(const struct loss *a, int64_t row, struct soft s, int valid, float logit)
{
    if (threadIdx.x)
        return;
    a->losses[row] = valid ? logf(s.sum) + s.max - logit : 0;
    if (a->correct)
        a->correct[row] = valid && !(s.max > logit);
}

KERNEL(loss_rows, loss, ROW_THREADS, 2)
{
    SHARED(float, parts);
    const int64_t row = blockIdx.x, at = row * a.ld, V = a.V;
    const int64_t label = a.labels[row];
    const int valid = label >= 0 && label < V;
    struct soft s = { -INFINITY, 0 };
    for (int64_t i = threadIdx.x * EACH; i < V && valid; i += ROW_THREADS * EACH) {
        const struct eight x = get8(a.logits, at + i, V - i);
        soft_add_eight(&s, &x, V - i);
    }
    s = soft_block(s, parts);
    const float logit = valid ? get(a.logits, at + label) : 0;
    score(&a, row, s, valid, logit);
    BLOCK_BARRIER(); /* the label's logit has been read */
    const float scale = a.scale / s.sum;
    for (int64_t i = threadIdx.x * EACH; i < V && a.gradient; i += ROW_THREADS * EACH) {
        struct eight x = get8(a.logits, at + i, V - i);
        for (int j = 0; j < EACH; j++) {
            x.v[j] = valid ? power2(LOG2_E * (x.v[j] - s.max)) * scale : 0;
            if (i + j == label)
                x.v[j] -= a.scale;
        }
        put8(a.logits, at + i, V - i, x);
    }
}

EXTERN_C void cuda_cross_entropy(struct ops *o, struct ops_scores out, struct ops_array logits,
                                 int64_t ld, int64_t V, struct ops_array labels, int64_t n,
                                 struct ops_array gradient, double scale)
{
    struct loss l = loss_of(out, logits, ld, labels, !ops_is_none(gradient), scale);
    l.V = V;
    LAUNCH(o, loss_rows, n, 1, ROW_THREADS, SUM_FLOATS * sizeof(float), l);
}

/* Each block computes the softmax over one column of a sequence's rows. */
KERNEL(span_loss, loss, THREADS)
{
    SHARED(float, parts);
    const int64_t b = blockIdx.x, n = a.sequences[2 * b + 1], label = a.labels[b];
    const int valid = label >= 0 && label < n;
    float *logits = floats(a.logits) + 2 * a.sequences[2 * b] + a.ld;
    struct soft s = { -INFINITY, 0 };
    for (int64_t i = threadIdx.x; i < n; i += THREADS)
        soft_add(&s, logits[2 * i]);
    s = soft_block(s, parts);
    score(&a, b, s, valid, valid ? logits[2 * label] : 0);
    BLOCK_BARRIER();
    for (int64_t i = threadIdx.x; i < n && a.gradient; i += THREADS) {
        float p = expf(logits[2 * i] - s.max) / s.sum - (i == label ? 1 : 0);
        logits[2 * i] = valid ? a.scale * p : 0;
    }
}

EXTERN_C void cuda_span_loss(struct ops *o, struct ops_scores out, struct ops_array logits,
                             int side, const struct ops_labels *l, const struct ops_rows *rows,
                             int gradient, double scale)
{
    struct loss s = loss_of(out, logits, side, l->labels, gradient, scale);
    s.sequences = (const int64_t *)view_of(cuda_sequences(o, rows)).at;
    LAUNCH(o, span_loss, rows->B, 1, THREADS, SUM_FLOATS * sizeof(float), s);
}

/* ---- columns of longer rows --------------------------------------------------------------- */

struct columns {
    float *logits, *most, *sums, *wanted, *losses;
    const int32_t *labels;
    unsigned char *correct;
    int64_t V, first;
    int gradient;
    float scale;
};

static inline struct columns columns_of(const struct ops_columns *c)
{
    struct columns k = { 0 };
    k.logits = floats(view_of(c->logits));
    k.most = floats(view_of(c->most));
    k.sums = floats(view_of(c->sums));
    k.wanted = floats(view_of(c->wanted));
    k.labels = (const int32_t *)view_of(c->labels).at;
    k.V = c->V;
    k.first = c->first;
    return k;
}

KERNEL(columns_most, columns, THREADS)
{
    SHARED(float, parts);
    const float *logits = a.logits + blockIdx.x * a.V;
    float most = -INFINITY;
    for (int64_t i = threadIdx.x; i < a.V; i += THREADS)
        most = logits[i] > most ? logits[i] : most;
    most = block_join(most, parts, 1);
    if (!threadIdx.x)
        a.most[blockIdx.x] = most;
}

KERNEL(columns_sums, columns, THREADS)
{
    SHARED(float, parts);
    const int64_t row = blockIdx.x, label = a.labels[row] - a.first;
    float *logits = a.logits + row * a.V;
    const float most = a.most[row];
    float sum = 0;
    if (!threadIdx.x)
        a.wanted[row] = label >= 0 && label < a.V ? logits[label] : 0;
    BLOCK_BARRIER(); /* the label's logit has been read */
    for (int64_t i = threadIdx.x; i < a.V; i += THREADS) {
        logits[i] = expf(logits[i] - most);
        sum += logits[i];
    }
    sum = block_join(sum, parts, 0);
    if (!threadIdx.x)
        a.sums[row] = sum;
}

KERNEL(columns_loss, columns, THREADS)
{
    const int64_t row = blockIdx.x, label = a.labels[row] - a.first;
    float *logits = a.logits + row * a.V;
    const float factor = a.scale / a.sums[row];
    if (!threadIdx.x) {
        a.losses[row] = logf(a.sums[row]) + a.most[row] - a.wanted[row];
        if (a.correct)
            a.correct[row] = a.wanted[row] >= a.most[row];
    }
    for (int64_t i = threadIdx.x; i < a.V && a.gradient; i += THREADS)
        logits[i] = logits[i] * factor - (i == label ? a.scale : 0);
}

EXTERN_C void cuda_columns_most(struct ops *o, const struct ops_columns *c)
{
    struct columns k = columns_of(c);
    LAUNCH(o, columns_most, c->n, 1, THREADS, SUM_FLOATS * sizeof(float), k);
}

EXTERN_C void cuda_columns_sums(struct ops *o, const struct ops_columns *c)
{
    struct columns k = columns_of(c);
    LAUNCH(o, columns_sums, c->n, 1, THREADS, SUM_FLOATS * sizeof(float), k);
}

EXTERN_C void cuda_columns_loss(struct ops *o, struct ops_scores out, const struct ops_columns *c,
                                int gradient, double scale)
{
    struct columns k = columns_of(c);
    k.losses = floats(view_of(out.losses));
    k.correct = (unsigned char *)view_of(out.correct).at;
    k.gradient = gradient;
    k.scale = (float)scale;
    LAUNCH(o, columns_loss, c->n, 1, THREADS, 0, k);
}
