#include "train/store.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/pool.h"

/* ---- the plan ----------------------------------------------------------------------------------- */

static int has(const unsigned char *moments, size_t row, enum store_kind kind)
{
    return kind < STORE_MOMENT1 || !moments || moments[row] > kind - STORE_MOMENT1;
}

/* Where the tensors of a kind stand: as the table says, without those that have none. */
static void lay_out(int64_t *offset, int64_t *size, const struct tensor_table *t,
                    const struct store_config *c, enum store_kind kind)
{
    for (size_t i = 0; i < t->count; i++) {
        const struct tensor *row = &t->rows[i];
        int64_t floats = tensor_elements(row);
        offset[i] = has(c->moments, i, kind) ? size[row->block] : -1;
        if (offset[i] >= 0)
            size[row->block] += (floats + TENSOR_ALIGN - 1) / TENSOR_ALIGN * TENSOR_ALIGN;
    }
    for (int b = 0; b < t->blocks && c->half && kind >= STORE_MOMENT1; b++)
        size[b] /= 2;
}

/* Sizes of all arrays, and of them those that are in the file: [kind * blocks + block]. */
struct layout {
    int64_t *offset[STORE_KINDS];
    int64_t *size, *in_file;
    int blocks;
};

static void layout_init(struct layout *l, const struct tensor_table *t,
                        const struct store_config *c)
{
    size_t arrays = (size_t)(STORE_KINDS * t->blocks);
    *l = (struct layout){ .size = mem_zalloc(arrays, sizeof *l->size),
                          .in_file = mem_zalloc(arrays, sizeof *l->in_file), .blocks = t->blocks };
    for (int kind = 0; kind < STORE_KINDS; kind++) {
        l->offset[kind] = mem_zalloc(t->count, sizeof *l->offset[kind]);
        lay_out(l->offset[kind], l->size + kind * t->blocks, t, c, kind);
    }
    if (c->dir)
        memcpy(l->in_file, l->size, arrays * sizeof *l->size);
}

static void layout_release(struct layout *l)
{
    for (int kind = 0; kind < STORE_KINDS; kind++)
        free(l->offset[kind]);
    free(l->size);
    free(l->in_file);
}

/* The window over the file: all of the largest block that an update needs at once, and as much
 * again for what is read ahead and written behind. */
static uint64_t window_bytes(const struct layout *l)
{
    int64_t most = 0, total = 0;
    for (int b = 0; b < l->blocks; b++) {
        int64_t block = 0;
        for (int kind = 0; kind < STORE_KINDS; kind++)
            block += l->in_file[kind * l->blocks + b];
        most = block > most ? block : most;
        total += block;
    }
    return (uint64_t)(2 * most < total ? 2 * most : total) * sizeof(float);
}

/* Keeps one array in memory, if there is room for it and the window that is then left. */
static void keep(struct layout *l, int kind, int block, uint64_t *kept, uint64_t room)
{
    int i = kind * l->blocks + block;
    uint64_t bytes = (uint64_t)l->size[i] * sizeof(float);
    int64_t before = l->in_file[i];
    l->in_file[i] = 0;
    if (*kept + bytes + window_bytes(l) <= room)
        *kept += bytes;
    else
        l->in_file[i] = before;
}

static int choose(struct layout *l, uint64_t room)
{
    static const enum store_kind order[] = { STORE_GRADIENTS, STORE_PARAMETERS, STORE_MOMENT1,
                                             STORE_MOMENT2 };
    uint64_t kept = 0;
    if (!room)
        return 0;
    for (int i = 0; i < 2; i++)
        keep(l, order[i], 0, &kept, room);
    for (int i = 0; i < STORE_KINDS; i++)
        for (int b = i < 2; b < l->blocks; b++)
            keep(l, order[i], b, &kept, room);
    if (kept + window_bytes(l) <= room)
        return 0;
    char need[32], have[32];
    return err_set("memory is too small: what a phase uses takes %s, and %s are left for it",
                   log_bytes(need, kept + window_bytes(l)), log_bytes(have, room));
}

static int layout_make(struct layout *l, const struct tensor_table *t, const struct store_config *c)
{
    layout_init(l, t, c);
    return c->dir ? choose(l, c->memory_bytes) : 0;
}

int store_plan(struct store_plan *p, const struct tensor_table *tensors,
               const struct store_config *c)
{
    struct layout l;
    int result = layout_make(&l, tensors, c);
    *p = (struct store_plan){ .window_bytes = window_bytes(&l) };
    for (int i = 0; i < STORE_KINDS * l.blocks; i++) {
        uint64_t bytes = (uint64_t)l.size[i] * sizeof(float);
        p->kind_bytes[i / l.blocks] += bytes;
        *(l.in_file[i] ? &p->file_bytes : &p->memory_bytes) += bytes;
    }
    layout_release(&l);
    return result;
}

/* ---- first weights ------------------------------------------------------------------------------- */

struct first_weights {
    struct store *store;
    uint64_t seed;
    int block;
    float *array;
};

static void initialise_one(void *ctx, int64_t i, int thread)
{
    struct first_weights *f = ctx;
    const struct tensor *row = &f->store->tensors->rows[i];
    (void)thread;
    if (row->block == f->block)
        tensor_initialise(row, f->seed, f->array + row->offset);
}

static void initialise(struct store *s, uint64_t seed)
{
    struct pool *pool = pool_new(ops_threads(s->ops));
    for (int b = 0; b < s->tensors->blocks; b++) {
        struct first_weights f = { s, seed, b, store_fetch(s, STORE_PARAMETERS, b) };
        pool_each(pool, (int64_t)s->tensors->count, initialise_one, &f);
        store_release(s, STORE_PARAMETERS, b);
    }
    pool_free(pool);
}

/* ---- life cycle ---------------------------------------------------------------------------------- */

static int is_mapped(const struct store *s, int kind, int block)
{
    return s->mapped && s->arrays[kind][block] == mapped_data(s->mapped, kind * s->tensors->blocks +
                                                                              block);
}

/* The caller's parameters: taken as they are, or copied into the file. */
static void take_parameters(struct store *s, float **parameters)
{
    for (int b = 0; b < s->tensors->blocks; b++) {
        if (!is_mapped(s, STORE_PARAMETERS, b)) {
            s->arrays[STORE_PARAMETERS][b] = parameters[b];
            continue;
        }
        size_t bytes = (size_t)s->size[STORE_PARAMETERS][b] * sizeof(float);
        memcpy(store_fetch(s, STORE_PARAMETERS, b), parameters[b], bytes);
        store_release(s, STORE_PARAMETERS, b);
        ops_buffer_free(s->ops, parameters[b], s->size[STORE_PARAMETERS][b]);
    }
    free(parameters);
}

static void make_arrays(struct store *s, const struct layout *l, int own_parameters)
{
    for (int kind = 0; kind < STORE_KINDS; kind++) {
        s->arrays[kind] = mem_zalloc((size_t)l->blocks, sizeof *s->arrays[kind]);
        for (int b = 0; b < l->blocks; b++) {
            int i = kind * l->blocks + b;
            if (l->in_file[i])
                s->arrays[kind][b] = mapped_data(s->mapped, i);
            else if (l->size[i] && (kind != STORE_PARAMETERS || own_parameters))
                s->arrays[kind][b] = ops_buffer(s->ops, l->size[i]);
        }
    }
}

static void free_parameters(struct store *s, float **parameters)
{
    for (int b = 0; parameters && b < s->tensors->blocks; b++)
        ops_buffer_free(s->ops, parameters[b], s->tensors->block_size[b]);
    free(parameters);
}

int store_open(struct store *s, struct ops *o, const struct tensor_table *tensors,
               const struct store_config *config, float **parameters, uint64_t seed)
{
    static const struct store_config in_memory;
    const struct store_config *c = config ? config : &in_memory;
    struct layout l;
    *s = (struct store){ .ops = o, .tensors = tensors, .half = c->half };
    int result = layout_make(&l, tensors, c);
    uint64_t window = window_bytes(&l);
    if (!result && window &&
        !(s->mapped = mapped_new(c->dir, l.in_file, STORE_KINDS * l.blocks, window)))
        result = -1;
    if (result < 0) {
        free_parameters(s, parameters);
        layout_release(&l);
        *s = (struct store){ 0 };
        return -1;
    }
    make_arrays(s, &l, !parameters);
    for (int kind = 0; kind < STORE_KINDS; kind++) {
        size_t bytes = (size_t)l.blocks * sizeof(int64_t);
        s->offset[kind] = l.offset[kind];
        s->size[kind] = mem_zalloc((size_t)l.blocks, sizeof(int64_t));
        memcpy(s->size[kind], l.size + kind * l.blocks, bytes);
        l.offset[kind] = NULL; /* the store's now */
    }
    layout_release(&l);
    if (parameters)
        take_parameters(s, parameters);
    else
        initialise(s, seed);
    return 0;
}

void store_close(struct store *s)
{
    for (int kind = 0; kind < STORE_KINDS && s->tensors; kind++) {
        for (int b = 0; b < s->tensors->blocks; b++)
            if (s->arrays[kind][b] && !is_mapped(s, kind, b))
                ops_buffer_free(s->ops, s->arrays[kind][b], s->size[kind][b]);
        free(s->arrays[kind]);
        free(s->offset[kind]);
        free(s->size[kind]);
    }
    mapped_free(s->mapped);
    *s = (struct store){ 0 };
}

/* ---- use ----------------------------------------------------------------------------------------- */

static float *fetch(struct store *s, enum store_kind kind, int block, enum mapped_use use)
{
    assert(block >= 0 && block < s->tensors->blocks);
    s->fetched++;
    return is_mapped(s, kind, block) ? mapped_fetch(s->mapped, kind * s->tensors->blocks + block, use)
                                     : s->arrays[kind][block];
}

float *store_fetch(struct store *s, enum store_kind kind, int block)
{
    return fetch(s, kind, block, MAPPED_WRITE);
}

const float *store_view(struct store *s, enum store_kind kind, int block)
{
    return fetch(s, kind, block, MAPPED_READ);
}

void store_release(struct store *s, enum store_kind kind, int block)
{
    assert(s->fetched > 0 && block >= 0 && block < s->tensors->blocks);
    s->fetched--;
    if (is_mapped(s, kind, block))
        mapped_release(s->mapped, kind * s->tensors->blocks + block);
}

void *store_moment(const struct store *s, enum store_kind kind, float *array, size_t row)
{
    int64_t offset = s->offset[kind][row];
    assert(kind >= STORE_MOMENT1);
    if (offset < 0)
        return NULL;
    return s->half ? (void *)((uint16_t *)(void *)array + offset) : array + offset;
}

void store_expect(struct store *s, enum store_kind kind, int block, enum mapped_use use)
{
    if (block >= 0 && block < s->tensors->blocks && is_mapped(s, kind, block))
        mapped_expect(s->mapped, kind * s->tensors->blocks + block, use);
}

void store_zero(struct store *s, enum store_kind kind, int block)
{
    if (is_mapped(s, kind, block))
        mapped_zero(s->mapped, kind * s->tensors->blocks + block);
    else
        ops_zero(s->ops, s->arrays[kind][block], s->size[kind][block]);
}

int store_check(struct store *s)
{
    return s->mapped ? mapped_check(s->mapped) : 0;
}

struct mapped_traffic store_traffic(const struct store *s)
{
    return s->mapped ? mapped_traffic(s->mapped) : (struct mapped_traffic){ 0 };
}

float *const *store_all(const struct store *s, enum store_kind kind)
{
    assert(!s->fetched);
    return s->arrays[kind];
}
