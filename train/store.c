#include "train/store.h"

#include <assert.h>
#include <stdlib.h>

#include "common/mem.h"

static float **new_arrays(struct ops *o, const struct tensor_table *t)
{
    float **arrays = mem_zalloc((size_t)t->blocks, sizeof *arrays);
    for (int b = 0; b < t->blocks; b++)
        arrays[b] = ops_buffer(o, t->block_size[b]);
    return arrays;
}

void store_open(struct store *s, struct ops *o, const struct tensor_table *tensors,
                float **parameters, uint64_t seed)
{
    *s = (struct store){ .ops = o, .tensors = tensors };
    for (int kind = 0; kind < STORE_KINDS; kind++)
        if (kind != STORE_PARAMETERS || !parameters)
            s->arrays[kind] = new_arrays(o, tensors);
    if (parameters) {
        s->arrays[STORE_PARAMETERS] = parameters;
        return;
    }
    for (size_t i = 0; i < tensors->count; i++) {
        const struct tensor *row = &tensors->rows[i];
        tensor_initialise(row, seed, s->arrays[STORE_PARAMETERS][row->block] + row->offset);
    }
}

void store_close(struct store *s)
{
    for (int kind = 0; kind < STORE_KINDS && s->tensors; kind++) {
        for (int b = 0; b < s->tensors->blocks; b++)
            ops_buffer_free(s->ops, s->arrays[kind][b], s->tensors->block_size[b]);
        free(s->arrays[kind]);
    }
    *s = (struct store){ 0 };
}

float *store_fetch(struct store *s, enum store_kind kind, int block)
{
    assert(block >= 0 && block < s->tensors->blocks);
    s->fetched++;
    return s->arrays[kind][block];
}

void store_release(struct store *s, enum store_kind kind, int block)
{
    assert(s->fetched > 0 && s->arrays[kind][block]);
    (void)kind, (void)block;
    s->fetched--;
}

float *const *store_all(const struct store *s, enum store_kind kind)
{
    assert(!s->fetched);
    return s->arrays[kind];
}

uint64_t store_bytes(const struct tensor_table *tensors)
{
    uint64_t floats = 0;
    for (int b = 0; b < tensors->blocks; b++)
        floats += (uint64_t)tensors->block_size[b];
    return floats * sizeof(float);
}
