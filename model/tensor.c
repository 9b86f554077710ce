#include "model/tensor.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "common/rng.h"

static void begin_block(struct tensor_table *t, int block)
{
    assert(block == t->blocks);
    t->block_size = mem_resize(t->block_size, (size_t)block + 1, sizeof *t->block_size);
    t->block_size[block] = 0;
    t->blocks++;
}

void tensor_add(struct tensor_table *t, int block, const char *name, int64_t rows, int64_t columns,
                enum tensor_init init, float std, int decay, enum tensor_split split)
{
    if (block >= t->blocks)
        begin_block(t, block);
    assert(block == t->blocks - 1 && strlen(name) < TENSOR_NAME && rows > 0 && columns >= 0);
    mem_grow(t->rows, t->cap, t->count + 1);
    struct tensor *row = &t->rows[t->count++];
    *row = (struct tensor){ .rank = columns ? 2 : 1, .shape = { rows, columns }, .init = init,
                            .std = std, .decay = decay, .split = split, .block = block,
                            .offset = t->block_size[block] };
    snprintf(row->name, sizeof row->name, "%s", name);
    int64_t size = (tensor_elements(row) + TENSOR_ALIGN - 1) / TENSOR_ALIGN * TENSOR_ALIGN;
    t->block_size[block] += size;
}

void tensor_release(struct tensor_table *t)
{
    free(t->rows);
    free(t->block_size);
    *t = (struct tensor_table){ 0 };
}

int64_t tensor_elements(const struct tensor *row)
{
    return row->shape[0] * (row->rank == 2 ? row->shape[1] : 1);
}

int64_t tensor_parameters(const struct tensor_table *t)
{
    int64_t total = 0;
    for (size_t i = 0; i < t->count; i++)
        total += tensor_elements(&t->rows[i]);
    return total;
}

const struct tensor *tensor_find(const struct tensor_table *t, const char *name)
{
    for (size_t i = 0; i < t->count; i++)
        if (!strcmp(t->rows[i].name, name))
            return &t->rows[i];
    return NULL;
}

/* ---- initial values ----------------------------------------------------------------------- */

static uint64_t name_key(uint64_t seed, const char *name)
{
    uint64_t key = rng_key(0, seed);
    for (const char *c = name; *c; c++)
        key = rng_key(key, (unsigned char)*c);
    return key;
}

/* Elements 2i and 2i+1 are the two normals that Box and Muller (1958) make of one pair of
 * uniform numbers, the i-th number's halves. */
static void fill_normal(float *out, int64_t n, uint64_t key, float std)
{
    for (int64_t i = 0; i < n; i += 2) {
        uint64_t bits = rng_at(key, (uint64_t)i / 2);
        double u = ((double)(uint32_t)bits + 1) * 0x1p-32; /* (0, 1] */
        double angle = (double)(bits >> 32) * (6.283185307179586 * 0x1p-32);
        double radius = std * sqrt(-2 * log(u));
        out[i] = (float)(radius * cos(angle));
        if (i + 1 < n)
            out[i + 1] = (float)(radius * sin(angle));
    }
}

void tensor_initialise(const struct tensor *row, uint64_t seed, float *out)
{
    int64_t n = tensor_elements(row);
    if (row->init == INIT_NORMAL) {
        fill_normal(out, n, name_key(seed, row->name), row->std);
        return;
    }
    float value = row->init == INIT_ONE ? 1 : 0;
    for (int64_t i = 0; i < n; i++)
        out[i] = value;
}
