#include "train/optimizer.h"

#include <math.h>

double optimizer_norm(struct store *s, struct comm *c)
{
    double sum = 0;
    for (int b = 0; b < s->tensors->blocks; b++) {
        float *g = store_fetch(s, STORE_GRADIENTS, b);
        sum += ops_sum_squares(s->ops, g, s->tensors->block_size[b]);
        store_release(s, STORE_GRADIENTS, b);
    }
    return sqrt(comm_sum_real(c, COMM_TENSOR, sum));
}

double optimizer_clip_factor(const struct optimizer *a, double norm)
{
    return a->clip > 0 && norm > a->clip ? a->clip / norm : 1;
}

static void update_block(struct store *s, int block, struct ops_adamw h, double decay)
{
    float *arrays[STORE_KINDS];
    for (int kind = 0; kind < STORE_KINDS; kind++)
        arrays[kind] = store_fetch(s, kind, block);
    for (size_t i = 0; i < s->tensors->count; i++) {
        const struct tensor *row = &s->tensors->rows[i];
        if (row->block != block)
            continue;
        h.decay = row->decay ? decay : 0;
        ops_adamw(s->ops, arrays[STORE_PARAMETERS] + row->offset,
                  arrays[STORE_MOMENT1] + row->offset, arrays[STORE_MOMENT2] + row->offset,
                  arrays[STORE_GRADIENTS] + row->offset, tensor_elements(row), &h);
    }
    for (int kind = 0; kind < STORE_KINDS; kind++)
        store_release(s, kind, block);
}

void optimizer_update(const struct optimizer *a, struct store *s, double norm, double rate,
                      int64_t t)
{
    struct ops_adamw h = {
        .rate = rate,
        .beta1 = a->beta1,
        .beta2 = a->beta2,
        .epsilon = a->epsilon,
        .gradient_scale = optimizer_clip_factor(a, norm),
        .m_correction = 1 / (1 - pow(a->beta1, (double)t)),
        .v_correction = 1 / (1 - pow(a->beta2, (double)t)),
    };
    for (int b = 0; b < s->tensors->blocks; b++)
        update_block(s, b, h, a->weight_decay);
}
