#include "train/store.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "common/pool.h"

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
        struct first_weights f = { s, seed, b, store_make(s, STORE_PARAMETERS, b) };
        pool_each(pool, (int64_t)s->tensors->count, initialise_one, &f);
        store_release(s, STORE_PARAMETERS, b);
    }
    pool_free(pool);
}

/* ---- life cycle ---------------------------------------------------------------------------------- */

static int is_mapped(const struct store *s, int kind, int i)
{
    return s->mapped_as[kind][i] >= 0;
}

/* What ops_buffer makes of an array. */
static int64_t floats_of(const struct layout *l, int kind, int i)
{
    return (int64_t)((layout_bytes(l, kind, i) + sizeof(float) - 1) / sizeof(float));
}

/* Whether an array can be the caller's. */
static int is_taken(const struct store *s, int kind, int i)
{
    return kind == STORE_PARAMETERS && !is_mapped(s, kind, i) && !store_is_half(s, kind);
}

/* The caller's parameters: taken as they are, or copied to where they are kept. */
static void take_parameters(struct store *s, float **parameters)
{
    for (int b = 0; b < s->tensors->blocks; b++) {
        if (is_taken(s, STORE_PARAMETERS, b)) {
            s->arrays[STORE_PARAMETERS][b] = parameters[b];
            continue;
        }
        int64_t n = s->layout.elements[STORE_PARAMETERS][b];
        ops_copy(s->ops, store_make(s, STORE_PARAMETERS, b), parameters[b], n);
        store_release(s, STORE_PARAMETERS, b);
        ops_buffer_free(s->ops, parameters[b], n);
    }
    free(parameters);
}

/* The file with what the layout says of it. */
static int open_file(struct store *s, const char *dir)
{
    const struct layout *l = &s->layout;
    int count = 0, all = 0;
    for (int kind = 0; kind < STORE_KINDS; kind++)
        all += l->count[kind];
    uint64_t *bytes = mem_zalloc((size_t)all, sizeof *bytes);
    for (int kind = 0; kind < STORE_KINDS; kind++) {
        s->mapped_as[kind] = mem_zalloc((size_t)l->count[kind] + 1, sizeof *s->mapped_as[kind]);
        for (int i = 0; i < l->count[kind]; i++) {
            s->mapped_as[kind][i] = l->in_file[kind][i] ? count : -1;
            if (l->in_file[kind][i])
                bytes[count++] = layout_bytes(l, kind, i);
        }
    }
    if (l->window_bytes)
        s->mapped = mapped_new(dir, bytes, count, l->window_bytes);
    free(bytes);
    return l->window_bytes && !s->mapped ? -1 : 0;
}

static void make_arrays(struct store *s, int own_parameters)
{
    const struct layout *l = &s->layout;
    for (int kind = 0; kind < STORE_KINDS; kind++) {
        s->arrays[kind] = mem_zalloc((size_t)l->count[kind] + 1, sizeof *s->arrays[kind]);
        for (int i = 0; i < l->count[kind]; i++) {
            if (is_mapped(s, kind, i))
                s->arrays[kind][i] = mapped_data(s->mapped, s->mapped_as[kind][i]);
            else if (own_parameters || !is_taken(s, kind, i))
                s->arrays[kind][i] = ops_buffer(s->ops, floats_of(l, kind, i));
        }
        for (int i = 0; i < STORE_COPIES; i++) {
            struct store_copy *c = &s->copies[kind][i];
            c->array = -1;
            if (l->copies[kind][i])
                c->data = ops_buffer(s->ops, l->copies[kind][i]);
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
    *s = (struct store){ .ops = o, .tensors = tensors };
    if (layout_init(&s->layout, tensors, c) < 0 || open_file(s, c->dir) < 0) {
        free_parameters(s, parameters);
        store_close(s);
        return -1;
    }
    make_arrays(s, !parameters);
    if (parameters)
        take_parameters(s, parameters);
    else
        initialise(s, seed);
    return 0;
}

void store_close(struct store *s)
{
    for (int kind = 0; kind < STORE_KINDS; kind++) {
        for (int i = 0; s->arrays[kind] && i < s->layout.count[kind]; i++)
            if (!is_mapped(s, kind, i))
                ops_buffer_free(s->ops, s->arrays[kind][i], floats_of(&s->layout, kind, i));
        for (int i = 0; i < STORE_COPIES; i++)
            ops_buffer_free(s->ops, s->copies[kind][i].data, s->layout.copies[kind][i]);
        free(s->arrays[kind]);
        free(s->mapped_as[kind]);
    }
    mapped_free(s->mapped);
    layout_release(&s->layout);
    *s = (struct store){ 0 };
}

/* ---- use ----------------------------------------------------------------------------------------- */

static struct store_copy *copy_of(struct store *s, enum store_kind kind, int i)
{
    return &s->copies[kind][layout_copy(&s->layout, kind, i)];
}

static void *hold(struct store *s, enum store_kind kind, int i, enum mapped_use use)
{
    assert(i >= 0 && i < s->layout.count[kind]);
    s->fetched++;
    return is_mapped(s, kind, i) ? mapped_fetch(s->mapped, s->mapped_as[kind][i], use)
                                 : s->arrays[kind][i];
}

static void let_go(struct store *s, enum store_kind kind, int i, int dead)
{
    assert(s->fetched > 0 && i >= 0 && i < s->layout.count[kind]);
    s->fetched--;
    if (is_mapped(s, kind, i))
        (dead ? mapped_drop : mapped_release)(s->mapped, s->mapped_as[kind][i]);
}

/* The array itself is in use only while it is copied; who had the copy last may find it still good.
 */
static float *fetch_copy(struct store *s, enum store_kind kind, int i, enum mapped_use use)
{
    struct store_copy *c = copy_of(s, kind, i);
    assert(!c->users || c->array == i);
    if (c->array != i && use != MAPPED_MAKE) {
        ops_from_bf16(s->ops, c->data, hold(s, kind, i, MAPPED_READ), s->layout.elements[kind][i]);
        let_go(s, kind, i, 0);
    }
    c->array = i;
    c->users++;
    c->changed |= use != MAPPED_READ;
    s->fetched++;
    return c->data;
}

/* A copy that was changed is none any more: what went back was rounded, or is lost. */
static void release_copy(struct store *s, enum store_kind kind, int i, int dead)
{
    struct store_copy *c = copy_of(s, kind, i);
    s->fetched--;
    if (--c->users || !c->changed)
        return;
    if (!dead) {
        ops_to_bf16(s->ops, hold(s, kind, i, MAPPED_MAKE), c->data, s->layout.elements[kind][i]);
        let_go(s, kind, i, 0);
    }
    c->array = -1;
    c->changed = 0;
}

static float *fetch(struct store *s, enum store_kind kind, int i, enum mapped_use use)
{
    return store_is_half(s, kind) ? fetch_copy(s, kind, i, use) : hold(s, kind, i, use);
}

const float *store_view(struct store *s, enum store_kind kind, int i)
{
    return fetch(s, kind, i, MAPPED_READ);
}

float *store_fetch(struct store *s, enum store_kind kind, int i)
{
    return fetch(s, kind, i, MAPPED_WRITE);
}

float *store_make(struct store *s, enum store_kind kind, int i)
{
    return fetch(s, kind, i, MAPPED_MAKE);
}

void *store_hold(struct store *s, enum store_kind kind, int i)
{
    struct store_copy *c = copy_of(s, kind, i);
    assert(!c->users || c->array != i);
    if (c->array == i)
        c->array = -1;
    return hold(s, kind, i, MAPPED_WRITE);
}

static void release(struct store *s, enum store_kind kind, int i, int dead)
{
    const struct store_copy *c = copy_of(s, kind, i);
    if (c->users && c->array == i) {
        release_copy(s, kind, i, dead);
        return;
    }
    if (s->layout.form[kind] == STORE_ROUNDED && !dead)
        ops_trim_bf16(s->ops, s->arrays[kind][i], s->layout.elements[kind][i]);
    let_go(s, kind, i, dead);
}

void store_release(struct store *s, enum store_kind kind, int i)
{
    release(s, kind, i, 0);
}

void store_drop(struct store *s, enum store_kind kind, int i)
{
    release(s, kind, i, 1);
}

void store_expect(struct store *s, enum store_kind kind, int i, enum mapped_use use)
{
    if (i >= 0 && i < s->layout.count[kind] && is_mapped(s, kind, i))
        mapped_expect(s->mapped, s->mapped_as[kind][i], use);
}

void *store_tensor(const struct store *s, enum store_kind kind, void *array, size_t row)
{
    assert(kind < STORE_BLOCKS);
    int64_t offset = s->layout.offset[kind][row];
    if (offset < 0)
        return NULL;
    return store_is_half(s, kind) ? (void *)((uint16_t *)array + offset)
                                  : (void *)((float *)array + offset);
}

int store_check(struct store *s)
{
    return s->mapped ? mapped_check(s->mapped) : 0;
}

struct mapped_traffic store_traffic(const struct store *s)
{
    return s->mapped ? mapped_traffic(s->mapped) : (struct mapped_traffic){ 0 };
}

void *const *store_all(const struct store *s, enum store_kind kind)
{
    assert(!s->fetched);
    return s->arrays[kind];
}
