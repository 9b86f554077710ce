#include "train/optimizer.h"

#include <math.h>

#include "common/mem.h"

/* What is done with one tensor. Muon is for the matrices between two layers' activations; a row
 * of an embedding table is a thing of its own. */
static enum optimizer_kind kind_for(enum optimizer_kind kind, const struct tensor_table *t,
                                    const struct tensor *row)
{
    if (kind != OPTIMIZER_MUON)
        return kind;
    int in_a_layer = row->block > 0 && row->block < t->blocks - 1;
    return row->rank == 2 && in_a_layer ? OPTIMIZER_MUON : OPTIMIZER_ADAMW;
}

unsigned char *optimizer_moments(enum optimizer_kind kind, const struct tensor_table *t)
{
    static const unsigned char count[] = {
        [OPTIMIZER_ADAMW] = 2, [OPTIMIZER_ADAM] = 2, [OPTIMIZER_LAMB] = 2, [OPTIMIZER_NVLAMB] = 2,
        [OPTIMIZER_SGD] = 0, [OPTIMIZER_MOMENTUM] = 1, [OPTIMIZER_MUON] = 1,
    };
    unsigned char *moments = mem_zalloc(t->count, 1);
    for (size_t i = 0; i < t->count; i++)
        moments[i] = count[kind_for(kind, t, &t->rows[i])];
    return moments;
}

double optimizer_norm(struct store *s, struct comm *c)
{
    double sum = 0;
    for (int b = 0; b < s->tensors->blocks; b++) {
        const float *g = store_view(s, STORE_GRADIENTS, b);
        store_expect(s, STORE_GRADIENTS, b + 1, MAPPED_READ);
        sum += ops_sum_squares(s->ops, g, s->tensors->block_size[b]);
        store_release(s, STORE_GRADIENTS, b);
    }
    return sqrt(comm_sum_real(c, COMM_TENSOR, sum));
}

const struct tensor *optimizer_not_finite(struct store *s, enum store_kind kind)
{
    const struct tensor *found = NULL;
    for (size_t i = 0; i < s->tensors->count && !found; i++) {
        const struct tensor *row = &s->tensors->rows[i];
        if (s->offset[kind][i] < 0)
            continue;
        const float *x = store_view(s, kind, row->block) + s->offset[kind][i];
        if (!isfinite(ops_sum_squares(s->ops, x, tensor_elements(row))))
            found = row;
        store_release(s, kind, row->block);
    }
    return found;
}

double optimizer_clip_factor(const struct optimizer *a, double norm)
{
    double longest = a->clip > 0 ? a->clip : INFINITY;
    if (a->kind == OPTIMIZER_NVLAMB && longest > 1)
        longest = 1;
    return norm > longest ? longest / norm : 1;
}

/* One tensor's arrays; a moment that is not kept is NULL. */
struct tensor_state {
    float *w, *g, *m, *v;
    int64_t n;
};

static void update_tensor(struct ops *o, enum optimizer_kind kind, const struct tensor *row,
                          const struct tensor_state *x, const struct ops_adamw *h, double momentum)
{
    struct ops_sgd sgd = { h->rate, momentum, h->decay, h->gradient_scale };
    switch (kind) {
    case OPTIMIZER_ADAMW:
        ops_adamw(o, x->w, x->m, x->v, x->g, x->n, h);
        break;
    case OPTIMIZER_ADAM:
        ops_adam(o, x->w, x->m, x->v, x->g, x->n, h);
        break;
    case OPTIMIZER_LAMB:
    case OPTIMIZER_NVLAMB:
        ops_lamb(o, x->w, x->m, x->v, x->g, x->n, h);
        break;
    case OPTIMIZER_SGD:
    case OPTIMIZER_MOMENTUM:
        ops_sgd(o, x->w, x->m, x->g, x->n, &sgd);
        break;
    case OPTIMIZER_MUON:
        ops_muon(o, x->w, x->m, x->g, row->shape[0], row->shape[1], &sgd);
        break;
    }
}

static float *at(float *array, int64_t offset)
{
    return offset < 0 ? NULL : array + offset;
}

static void update_block(const struct optimizer *a, struct store *s, int block,
                         const struct ops_adamw *common)
{
    float *arrays[STORE_KINDS];
    for (int kind = 0; kind < STORE_KINDS; kind++)
        arrays[kind] = store_fetch(s, kind, block);
    for (int kind = 0; kind < STORE_KINDS; kind++)
        store_expect(s, kind, block + 1, MAPPED_WRITE);
    for (size_t i = 0; i < s->tensors->count; i++) {
        const struct tensor *row = &s->tensors->rows[i];
        if (row->block != block)
            continue;
        struct ops_adamw h = *common;
        h.decay = row->decay ? a->weight_decay : 0;
        struct tensor_state x = {
            .w = arrays[STORE_PARAMETERS] + row->offset,
            .g = arrays[STORE_GRADIENTS] + row->offset,
            .m = at(arrays[STORE_MOMENT1], s->offset[STORE_MOMENT1][i]),
            .v = at(arrays[STORE_MOMENT2], s->offset[STORE_MOMENT2][i]),
            .n = tensor_elements(row),
        };
        update_tensor(s->ops, kind_for(a->kind, s->tensors, row), row, &x, &h, a->momentum);
    }
    for (int kind = 0; kind < STORE_KINDS; kind++)
        store_release(s, kind, block);
}

void optimizer_update(const struct optimizer *a, struct store *s, double norm, double rate,
                      int64_t t)
{
    int correct = a->bias_correction;
    struct ops_adamw h = {
        .rate = rate,
        .beta1 = a->beta1,
        .beta2 = a->beta2,
        .epsilon = a->epsilon,
        .gradient_scale = optimizer_clip_factor(a, norm),
        .m_correction = correct ? 1 / (1 - pow(a->beta1, (double)t)) : 1,
        .v_correction = correct ? 1 / (1 - pow(a->beta2, (double)t)) : 1,
    };
    for (int b = 0; b < s->tensors->blocks; b++)
        update_block(a, s, b, &h);
}
