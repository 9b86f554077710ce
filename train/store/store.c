#include "train/store/store.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "common/base/pool.h"
#include "train/store/offload.h"

/* ---- initial weights ------------------------------------------------------------------------- */

struct first_weights {
    struct store *store;
    uint64_t seed;
    int block;
    float *floats;
};

/* Initialises this rank's part of a tensor. */
static void initialise_part(const struct first_weights *f, size_t i, float *part)
{
    const struct tensor *row = &f->store->unsplit->rows[i];
    const struct split_runs runs = store_runs(f->store, i, split_number(f->store->split));
    for (int64_t r = 0; r < runs.runs; r++)
        tensor_initialise_part(row, f->seed, r * runs.stride + runs.first, runs.count,
                               part + r * runs.count);
}

static void initialise_one(void *ctx, int64_t i, int thread)
{
    struct first_weights *f = ctx;
    const struct tensor *row = &f->store->tensors->rows[i];
    (void)thread;
    if (row->block == f->block && store_is_split(f->store, (size_t)i))
        initialise_part(f, (size_t)i, f->floats + row->offset);
    else if (row->block == f->block)
        tensor_initialise(row, f->seed, f->floats + row->offset);
}

/* Returns the part of a block's parameters that this rank keeps: all, or its share. */
static struct layout_part kept_part(const struct store *s, int block)
{
    if (!layout_is_gathered(&s->layout, STORE_PARAMETERS))
        return (struct layout_part){ 0, s->tensors->block_size[block] };
    const int64_t *bounds = layout_bounds(&s->layout, STORE_PARAMETERS, block) + s->layout.rank;
    return (struct layout_part){ bounds[0], bounds[1] - bounds[0] };
}

/* Copies the f32 parameters that this rank keeps of a block to their place in the store. */
static void take_block(struct store *s, int block, struct ops_array parameters)
{
    const int shared = layout_is_gathered(&s->layout, STORE_PARAMETERS);
    struct ops_array to = shared ? s->arrays[STORE_PARAMETERS][block]
                                 : store_make(s, STORE_PARAMETERS, block);
    ops_copy(s->ops, to, parameters, s->layout.elements[STORE_PARAMETERS][block]);
    if (!shared)
        store_release(s, STORE_PARAMETERS, block);
}

/* Sets a block's parameters to their initial values, which depend on `seed`: in place, or in an f32
 * buffer that is then copied. */
static void initialise_block(struct store *s, struct pool *pool, int block, uint64_t seed)
{
    const int64_t n = s->tensors->block_size[block];
    const int beside = layout_is_gathered(&s->layout, STORE_PARAMETERS) ||
                       s->layout.type[STORE_PARAMETERS] != OPS_F32;
    struct ops_array floats;
    if (beside)
        floats = ops_buffer(s->ops, OPS_F32, n);
    else
        floats = store_make(s, STORE_PARAMETERS, block);
    struct first_weights f = { s, seed, block, ops_map(s->ops, floats, n) };
    pool_each(pool, (int64_t)s->tensors->count, initialise_one, &f);
    ops_unmap(s->ops, floats, n, f.floats);
    if (!beside) {
        store_release(s, STORE_PARAMETERS, block);
        return;
    }
    take_block(s, block, ops_part(floats, kept_part(s, block).first));
    ops_buffer_free(s->ops, floats, n);
}

static void initialise(struct store *s, uint64_t seed)
{
    struct pool *pool = pool_new(ops_threads(s->ops));
    for (int b = 0; b < s->tensors->blocks; b++)
        if (layout_has(&s->layout, STORE_PARAMETERS, b))
            initialise_block(s, pool, b, seed);
    pool_free(pool);
}

/* ---- life cycle ------------------------------------------------------------------------------ */

static int is_mapped(const struct store *s, int kind, int i)
{
    return s->mapped_as[kind][i] >= 0;
}

/* Returns 1 if the store can use the caller's array as it is, else 0. */
static int is_taken(const struct store *s, int kind, int i)
{
    return kind == STORE_PARAMETERS && layout_has(&s->layout, STORE_PARAMETERS, i) &&
           !is_mapped(s, kind, i) && !layout_is_gathered(&s->layout, kind) &&
           s->layout.type[kind] == OPS_F32;
}

/* Reads the parameters: each array is used as it is, or copied to its place and freed. */
static int read_parameters(struct store *s, const struct store_source *from)
{
    for (int b = 0; b < s->tensors->blocks; b++) {
        struct ops_array x;
        if (!layout_has(&s->layout, STORE_PARAMETERS, b))
            continue;
        const struct layout_part part = kept_part(s, b);
        if (from->read(from->ctx, b, part, &x) < 0)
            return -1;
        if (is_taken(s, STORE_PARAMETERS, b)) {
            s->arrays[STORE_PARAMETERS][b] = x;
            continue;
        }
        take_block(s, b, x);
        ops_buffer_free(s->ops, x, part.count);
    }
    return 0;
}

/* Numbers the arrays that are not kept in memory: sets mapped_as, bytes[] to their sizes, and
 * in_file[] to their numbers in the file, or -1. Returns their number. */
static int number_arrays(struct store *s, uint64_t *bytes, int *in_file)
{
    const struct layout *l = &s->layout;
    int count = 0, files = 0;
    for (int kind = 0; kind < STORE_KINDS; kind++) {
        s->mapped_as[kind] = mem_zalloc((size_t)l->count[kind] + 1, sizeof *s->mapped_as[kind]);
        for (int i = 0; i < l->count[kind]; i++) {
            s->mapped_as[kind][i] = -1;
            if (l->place[kind][i] == PLACE_MEMORY)
                continue;
            in_file[count] = l->place[kind][i] == PLACE_FILE ? files++ : -1;
            bytes[count] = layout_bytes(l, (enum store_kind)kind, i);
            s->mapped_as[kind][i] = count++;
        }
    }
    return count;
}

/* Opens the file with those of the arrays that it holds. Its memory is the window or, on a GPU, a
 * part of the stages. Returns 0, or -1 with an error. */
static int open_file(struct store *s, const char *dir, const uint64_t *bytes, const int *in_file,
                     int count)
{
    const struct layout *l = &s->layout;
    uint64_t *sizes = mem_zalloc((size_t)count + 1, sizeof *sizes);
    int files = 0;
    for (int i = 0; i < count; i++)
        if (in_file[i] >= 0)
            sizes[files++] = bytes[i];
    const int needed = files && l->window_bytes;
    if (needed)
        s->mapped = mapped_new(dir, sizes, files,
                               l->stage_bytes ? l->stage_bytes / 2 : l->window_bytes);
    free(sizes);
    return needed && !s->mapped ? -1 : 0;
}

/* Opens what holds the arrays that are not kept in memory: the file, the host's memory or the
 * shared window. Returns 0, or -1 with an error. */
static int open_places(struct store *s, const struct store_config *c)
{
    const struct layout *l = &s->layout;
    size_t all = 1;
    for (int kind = 0; kind < STORE_KINDS; kind++)
        all += (size_t)l->count[kind];
    uint64_t *bytes = mem_zalloc(all, sizeof *bytes);
    int *in_file = mem_zalloc(all, sizeof *in_file);
    const int count = number_arrays(s, bytes, in_file);
    const int result = open_file(s, c->dir, bytes, in_file, count);
    if (l->zero > 1)
        s->shared = shared_new(s->ops, l->window_bytes);
    else if (!result && c->offload && l->window_bytes)
        s->offload = offload_new(s->ops, bytes, in_file, count, s->mapped, l->window_bytes);
    free(bytes);
    free(in_file);
    return result;
}

/* Fetches an array that is not kept in memory. */
static struct ops_array fetch_away(struct store *s, int kind, int i, enum use_mode use)
{
    const enum ops_type type = s->layout.type[kind];
    struct ops_array a;
    if (!s->offload)
        return ops_host_array(mapped_fetch(s->mapped, s->mapped_as[kind][i], use), type);
    a = offload_fetch(s->offload, s->mapped_as[kind][i], use);
    a.type = type;
    return a;
}

static void make_arrays(struct store *s, int own_parameters)
{
    const struct layout *l = &s->layout;
    for (int kind = 0; kind < STORE_KINDS; kind++) {
        s->arrays[kind] = mem_zalloc((size_t)l->count[kind] + 1, sizeof *s->arrays[kind]);
        for (int i = 0; i < l->count[kind]; i++) {
            if (!is_mapped(s, kind, i) && (own_parameters || !is_taken(s, kind, i)))
                s->arrays[kind][i] = ops_buffer(s->ops, l->type[kind], l->elements[kind][i]);
        }
    }
}

/* Adds the arrays that ranks share to s->shared. */
static void add_shared(struct store *s)
{
    const struct layout *l = &s->layout;
    for (int kind = 0; kind < STORE_BLOCKS; kind++) {
        const char *name = kind == STORE_PARAMETERS ? "parameters" : "gradients";
        for (int i = 0; i < l->count[kind] && layout_is_gathered(l, kind); i++) {
            const int block = i % s->tensors->blocks;
            int number = shared_add(s->shared, s->arrays[kind][i],
                                    layout_bounds(l, (enum store_kind)kind, block), name, block);
            s->in_shared[kind] = number - i;
        }
    }
}

int store_open(struct store *s, struct ops *o, const struct tensor_table *tensors,
               const struct store_config *config, const struct store_source *from, uint64_t seed)
{
    static const struct store_config in_memory;
    const struct store_config *c = config ? config : &in_memory;
    *s = (struct store){
        .ops = o, .tensors = tensors, .unsplit = c->split ? c->unsplit : tensors, .split = c->split
    };
    if (layout_init(&s->layout, tensors, c) < 0 || open_places(s, c) < 0) {
        store_close(s);
        return -1;
    }
    make_arrays(s, !from);
    add_shared(s);
    if (!from) {
        initialise(s, seed);
    } else if (read_parameters(s, from) < 0) {
        store_close(s);
        return -1;
    }
    return 0;
}

void store_close(struct store *s)
{
    for (int kind = 0; kind < STORE_KINDS; kind++) {
        for (int i = 0; s->arrays[kind] && i < s->layout.count[kind]; i++)
            if (!is_mapped(s, kind, i))
                ops_buffer_free(s->ops, s->arrays[kind][i], s->layout.elements[kind][i]);
        free(s->arrays[kind]);
        free(s->mapped_as[kind]);
    }
    offload_free(s->offload);
    mapped_free(s->mapped);
    shared_free(s->shared);
    layout_release(&s->layout);
    *s = (struct store){ 0 };
}

/* ---- use ------------------------------------------------------------------------------------- */

static struct ops_array fetch(struct store *s, enum store_kind kind, int i, enum use_mode use)
{
    assert(i >= 0 && i < s->layout.count[kind]);
    s->fetched++;
    if (layout_is_gathered(&s->layout, kind))
        return shared_fetch(s->shared, s->in_shared[kind] + i, use);
    return is_mapped(s, kind, i) ? fetch_away(s, kind, i, use) : s->arrays[kind][i];
}

struct ops_array store_view(struct store *s, enum store_kind kind, int i)
{
    return fetch(s, kind, i, MODE_READ);
}

struct ops_array store_fetch(struct store *s, enum store_kind kind, int i)
{
    return fetch(s, kind, i, MODE_WRITE);
}

struct ops_array store_make(struct store *s, enum store_kind kind, int i)
{
    return fetch(s, kind, i, MODE_MAKE);
}

static void release(struct store *s, enum store_kind kind, int i, enum use_then then)
{
    assert(s->fetched > 0 && i >= 0 && i < s->layout.count[kind]);
    s->fetched--;
    if (layout_is_gathered(&s->layout, kind))
        shared_release(s->shared, s->in_shared[kind] + i);
    else if (is_mapped(s, kind, i) && s->offload)
        offload_release(s->offload, s->mapped_as[kind][i], then);
    else if (is_mapped(s, kind, i))
        mapped_release(s->mapped, s->mapped_as[kind][i], then);
}

void store_release(struct store *s, enum store_kind kind, int i)
{
    release(s, kind, i, THEN_LEAVES);
}

struct ops_array store_fetch_own(struct store *s, enum store_kind kind, int i, enum use_mode use)
{
    const struct layout *l = &s->layout;
    if (layout_is_gathered(l, kind)) {
        s->fetched++;
        if (kind == STORE_PARAMETERS && use != MODE_READ)
            shared_forget(s->shared, s->in_shared[kind] + i);
        return s->arrays[kind][i];
    }
    struct ops_array a = fetch(s, kind, i, use);
    if (layout_is_shared(l, kind))
        return a;
    return ops_part(a, layout_bounds(l, kind, i % s->tensors->blocks)[l->rank]);
}

static void release_own(struct store *s, enum store_kind kind, int i, enum use_then then)
{
    if (layout_is_gathered(&s->layout, kind))
        s->fetched--;
    else
        release(s, kind, i, then);
}

void store_release_own(struct store *s, enum store_kind kind, int i)
{
    release_own(s, kind, i, THEN_LEAVES);
}

struct ops_array store_begin(struct store *s, const struct use *u)
{
    if (u->own)
        return store_fetch_own(s, u->kind, u->number, (enum use_mode)u->mode);
    return fetch(s, u->kind, u->number, (enum use_mode)u->mode);
}

void store_end(struct store *s, const struct use *u)
{
    (u->own ? release_own : release)(s, u->kind, u->number, (enum use_then)u->then);
}

void store_expect(struct store *s, const struct use *u)
{
    if (layout_is_gathered(&s->layout, u->kind)) {
        if (!u->own)
            shared_expect(s->shared, s->in_shared[u->kind] + u->number, (enum use_mode)u->mode);
    } else if (is_mapped(s, u->kind, u->number) && s->offload)
        offload_expect(s->offload, s->mapped_as[u->kind][u->number], (enum use_mode)u->mode);
    else if (is_mapped(s, u->kind, u->number))
        mapped_expect(s->mapped, s->mapped_as[u->kind][u->number], (enum use_mode)u->mode);
}

struct ops_array store_tensor(const struct store *s, enum store_kind kind, struct ops_array array,
                              size_t row)
{
    assert(kind < STORE_BLOCKS);
    const struct layout *l = &s->layout;
    return l->offset[kind][row] < 0 ? OPS_NONE : ops_part(array, l->offset[kind][row]);
}

struct ops_array store_own_tensor(const struct store *s, enum store_kind kind, struct ops_array own,
                                  size_t row)
{
    const struct layout *l = &s->layout;
    const int64_t before = layout_bounds(l, kind, s->tensors->rows[row].block)[l->rank];
    const int64_t offset = l->offset[kind][row];
    return offset < 0 ? OPS_NONE
                      : ops_part(own, offset + layout_share(l, s->tensors, row).first - before);
}

int store_is_split(const struct store *s, size_t row)
{
    return split_is_shared(&s->unsplit->rows[row], &s->tensors->rows[row]);
}

static const struct split one_rank = { .ranks = { 1, 1 } };

int store_counts(const struct store *s, size_t row, int rank)
{
    return split_counts(&s->unsplit->rows[row], &s->tensors->rows[row],
                        s->split ? s->split : &one_rank, rank);
}

struct split_runs store_runs(const struct store *s, size_t row, int rank)
{
    return split_runs(&s->unsplit->rows[row], &s->tensors->rows[row],
                      s->split ? s->split : &one_rank, rank);
}

void store_join(struct store *s, struct comm *c)
{
    if (s->shared)
        shared_join(s->shared, c);
}

void store_sum(struct store *s, int block, int to, int merges, const struct shared_end *end)
{
    const int first = s->in_shared[STORE_GRADIENTS];
    shared_sum(s->shared, first + block, first + to, s->tensors->blocks, merges, end);
}

void store_end_sums(struct store *s)
{
    if (s->shared)
        shared_end_sums(s->shared);
}

struct ops_array store_enter(struct store *s, int block)
{
    return shared_enter(s->shared, s->in_shared[STORE_PARAMETERS] + block);
}

void store_complete(struct store *s, int block)
{
    shared_complete(s->shared, s->in_shared[STORE_PARAMETERS] + block);
}

int store_check(struct store *s)
{
    return s->mapped ? mapped_check(s->mapped) : 0;
}

struct mapped_traffic store_traffic(const struct store *s)
{
    if (s->mapped)
        return mapped_traffic(s->mapped);
    return s->offload ? offload_traffic(s->offload) : (struct mapped_traffic){ 0 };
}
