#include "train/step/teacher.h"

#include "common/base/rng.h"

enum { KEY_TEACHER = 0x74656163 };

void teacher_release(struct teacher *t)
{
    ops_room_free(t->forward.ops, &t->x);
    forward_release(&t->forward);
}

const struct ops_teacher *teacher_run(struct teacher *t, const struct inputs *in)
{
    const int64_t C = t->forward.model->config.width;
    struct inputs own = *in;
    own.dropout = 1;
    own.key = rng_key(in->key, KEY_TEACHER);
    t->out.x = ops_room(t->forward.ops, &t->x, OPS_F32, in->N * C);
    struct ops_array last = forward_layers(&t->forward, &own);
    forward_decoder(&t->forward, t->out.x, &t->out.d, last, in->N);
    return &t->out;
}

uint64_t teacher_bytes(const struct model *m, int64_t rows)
{
    int64_t numbers = 3 * rows * m->config.width;
    for (int b = 0; b < m->tensors.blocks; b++)
        numbers += m->tensors.block_size[b];
    return (uint64_t)numbers * sizeof(float);
}
