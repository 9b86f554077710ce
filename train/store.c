#include "train/store.h"

#include <assert.h>
#include <stdlib.h>

#include "common/mem.h"
#include "common/pool.h"

static float **new_arrays(struct ops *o, const struct tensor_table *t)
{
    float **arrays = mem_zalloc((size_t)t->blocks, sizeof *arrays);
    for (int b = 0; b < t->blocks; b++)
        arrays[b] = ops_buffer(o, t->block_size[b]);
    return arrays;
}

struct first_weights {
    struct store *store;
    uint64_t seed;
};

static void initialise_one(void *ctx, int64_t i, int thread)
{
    struct first_weights *f = ctx;
    const struct tensor *row = &f->store->tensors->rows[i];
    (void)thread;
    tensor_initialise(row, f->seed, f->store->arrays[STORE_PARAMETERS][row->block] + row->offset);
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
    struct first_weights f = { s, seed };
    struct pool *pool = pool_new(ops_threads(o));
    pool_each(pool, (int64_t)tensors->count, initialise_one, &f);
    pool_free(pool);
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
