#include "train/store.h"

#include <assert.h>
#include <stdlib.h>

#include "common/mem.h"
#include "common/pool.h"

static int has(const unsigned char *moments, size_t row, enum store_kind kind)
{
    return kind < STORE_MOMENT1 || !moments || moments[row] > kind - STORE_MOMENT1;
}

/* Where the tensors of a kind stand: as the table says, without those that have none. */
static void lay_out(int64_t *offset, int64_t *size, const struct tensor_table *t,
                    const unsigned char *moments, enum store_kind kind)
{
    for (size_t i = 0; i < t->count; i++) {
        const struct tensor *row = &t->rows[i];
        int64_t floats = tensor_elements(row);
        offset[i] = has(moments, i, kind) ? size[row->block] : -1;
        if (offset[i] >= 0)
            size[row->block] += (floats + TENSOR_ALIGN - 1) / TENSOR_ALIGN * TENSOR_ALIGN;
    }
}

static float **new_arrays(struct ops *o, const int64_t *size, int blocks)
{
    float **arrays = mem_zalloc((size_t)blocks, sizeof *arrays);
    for (int b = 0; b < blocks; b++)
        arrays[b] = size[b] ? ops_buffer(o, size[b]) : NULL;
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
                const unsigned char *moments, float **parameters, uint64_t seed)
{
    *s = (struct store){ .ops = o, .tensors = tensors };
    for (int kind = 0; kind < STORE_KINDS; kind++) {
        s->offset[kind] = mem_zalloc(tensors->count, sizeof *s->offset[kind]);
        s->size[kind] = mem_zalloc((size_t)tensors->blocks, sizeof *s->size[kind]);
        lay_out(s->offset[kind], s->size[kind], tensors, moments, kind);
        if (kind != STORE_PARAMETERS || !parameters)
            s->arrays[kind] = new_arrays(o, s->size[kind], tensors->blocks);
    }
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
            if (s->arrays[kind][b])
                ops_buffer_free(s->ops, s->arrays[kind][b], s->size[kind][b]);
        free(s->arrays[kind]);
        free(s->offset[kind]);
        free(s->size[kind]);
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
    assert(s->fetched > 0 && block >= 0 && block < s->tensors->blocks);
    (void)kind, (void)block;
    s->fetched--;
}

float *const *store_all(const struct store *s, enum store_kind kind)
{
    assert(!s->fetched);
    return s->arrays[kind];
}

uint64_t store_bytes(const struct tensor_table *tensors, const unsigned char *moments,
                     enum store_kind kind)
{
    int64_t *offset = mem_zalloc(tensors->count, sizeof *offset), floats = 0;
    int64_t *size = mem_zalloc((size_t)tensors->blocks, sizeof *size);
    lay_out(offset, size, tensors, moments, kind);
    for (int b = 0; b < tensors->blocks; b++)
        floats += size[b];
    free(offset);
    free(size);
    return (uint64_t)floats * sizeof(float);
}
