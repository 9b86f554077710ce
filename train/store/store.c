#include "train/store/store.h"

#include "common/base/pool.h"
#include "train/store/offload.h"

/* ---- initial weights ------------------------------------------------------------------------- */

/* What initialise_block needs. The random numbers depend on `seed`. */
struct first_weights {
    struct store *store;
    struct pool *pool;
    uint64_t seed;
    int block;
    float *floats;
};

/* Initialises tensor i, or this rank's part of it, if it is in the block. */
static void initialise_one(void *ctx, int64_t i, int)
{
    struct first_weights *f = ctx;
    const struct store *s = f->store;
    const struct tensor *own = &s->tensors->rows[i];
    if (own->block != f->block)
        return;
    const int rank = s->split ? split_number(s->split) : 0;
    const struct split_runs runs = store_runs(s, (size_t)i, rank);
    for (int64_t r = 0; r < runs.runs; r++)
        tensor_initialise(&s->unsplit->rows[i], f->seed, r * runs.stride + runs.first, runs.count,
                          f->floats + own->offset + r * runs.count);
}

static int initialise_block(void *ctx, int block, struct split_part part,
                            struct ops_array *parameters)
{
    struct first_weights *f = ctx;
    struct ops *o = f->store->ops;
    const int64_t n = f->store->tensors->block_size[block];
    const struct ops_array all = ops_buffer(o, OPS_F32, n);
    f->block = block;
    f->floats = ops_map(o, all, n);
    pool_each(f->pool, (int64_t)f->store->tensors->count, initialise_one, f);
    ops_unmap(o, all, n, f->floats);
    *parameters = all;
    if (part.count < n) {
        *parameters = ops_buffer(o, OPS_F32, part.count);
        ops_copy(o, *parameters, ops_part(all, part.first), part.count);
        ops_buffer_free(o, all);
    }
    return 0;
}

/* ---- life cycle ------------------------------------------------------------------------------ */

/* Returns 1 if the store can use the caller's array as it is, else 0. */
static int is_taken(const struct store *s, int kind, int i)
{
    return kind == STORE_PARAMETERS && layout_has(&s->layout, STORE_PARAMETERS, i) &&
           !s->spots[kind][i].home && s->layout.type[kind] == OPS_F32;
}

/* Reads the parameters, or this rank's shares of them: each array is used as it is, or copied to
 * its place and freed. */
static int read_parameters(struct store *s, const struct store_source *from)
{
    const struct layout *l = &s->layout;
    for (int b = 0; b < s->tensors->blocks; b++) {
        struct ops_array x;
        if (!layout_has(l, STORE_PARAMETERS, b))
            continue;
        const int shared = layout_is_gathered(l, STORE_PARAMETERS);
        const struct split_part part = {
            shared ? layout_bounds(l, STORE_PARAMETERS, b)[l->rank] : 0,
            l->elements[STORE_PARAMETERS][b],
        };
        if (from->read(from->ctx, b, part, &x) < 0)
            return -1;
        struct spot *to = &s->spots[STORE_PARAMETERS][b];
        if (is_taken(s, STORE_PARAMETERS, b)) {
            to->array = x;
            continue;
        }
        ops_copy(s->ops, spot_fetch(to, MODE_MAKE), x, part.count);
        spot_release(to, THEN_LEAVES);
        ops_buffer_free(s->ops, x);
    }
    return 0;
}

/* Opens the home (home.h) of the arrays that are not kept in memory: the file or, for a GPU, the
 * host's memory. It numbers all arrays of the store; those that it does not hold have 0 bytes. */
static int open_home(struct store *s, const struct store_config *c)
{
    const struct layout *l = &s->layout;
    int all = 0, count = 0, files = 0;
    for (int kind = 0; kind < STORE_KINDS; kind++)
        all += l->count[kind];
    SCOPED_MEM uint64_t *bytes = mem_zalloc((size_t)all, sizeof *bytes);
    SCOPED_MEM uint64_t *in_file = mem_zalloc((size_t)all, sizeof *in_file);
    for (int kind = 0; kind < STORE_KINDS; kind++) {
        s->spots[kind] = mem_zalloc((size_t)l->count[kind] + 1, sizeof *s->spots[kind]);
        for (int i = 0; i < l->count[kind]; i++, count++) {
            const enum place place = l->place[kind][i];
            s->spots[kind][i] = (struct spot){ .number = count, .array.type = l->type[kind] };
            bytes[count] = place == PLACE_MEMORY ? 0 : layout_bytes(l, kind, i);
            in_file[count] = place == PLACE_FILE ? bytes[count] : 0;
            files += place == PLACE_FILE;
        }
    }
    const int needed = files && l->window_bytes;
    if (needed)
        s->mapped = mapped_new(c->dir, in_file, count,
                               l->stage_bytes ? l->stage_bytes / 2 : l->window_bytes);
    if (c->offload && l->window_bytes && (s->mapped || !needed))
        s->offload = offload_new(s->ops, bytes, in_file, count, s->mapped, l->window_bytes);
    return needed && !s->mapped ? -1 : 0;
}

/* Sets the home of each array or, if it is kept in memory and no source gives it, allocates it. */
static void make_arrays(struct store *s)
{
    const struct layout *l = &s->layout;
    struct home *away = s->offload ? offload_home(s->offload) : mapped_home(s->mapped);
    for (int kind = 0; kind < STORE_KINDS; kind++)
        for (int i = 0; i < l->count[kind]; i++) {
            struct spot *at = &s->spots[kind][i];
            at->home = l->place[kind][i] == PLACE_MEMORY ? NULL : away;
            if (!at->home && !is_taken(s, kind, i))
                at->array = ops_buffer(s->ops, l->type[kind], l->elements[kind][i]);
        }
}

/* Adds the arrays that ranks share to s->shared. */
static void add_shared(struct store *s)
{
    const struct layout *l = &s->layout;
    if (l->zero > 1)
        s->shared = shared_new(s->ops, l->gathered_bytes);
    for (int kind = 0; kind < STORE_BLOCKS; kind++) {
        const char *name = kind == STORE_PARAMETERS ? "parameters" : "gradients";
        if (layout_is_gathered(l, kind))
            s->gathered[kind] = mem_zalloc((size_t)l->count[kind], sizeof *s->gathered[kind]);
        for (int i = 0; i < l->count[kind] && s->gathered[kind]; i++) {
            const int block = i % s->tensors->blocks;
            s->gathered[kind][i] = (struct spot){
                .home = shared_home(s->shared),
                .number = shared_add(s->shared, &s->spots[kind][i], layout_bounds(l, kind, block),
                                     name, block, kind == STORE_GRADIENTS),
                .array.type = l->type[kind]
            };
        }
    }
}

int store_open(struct store *s, struct ops *o, const struct tensor_table *tensors,
               const struct store_config *c, const struct store_source *from, uint64_t seed)
{
    *s = (struct store){ .ops = o,
                         .tensors = tensors,
                         .unsplit = c->split ? c->unsplit : tensors,
                         .split = c->split,
                         .moves = c->dir || c->offload };
    int result = layout_init(&s->layout, tensors, c) < 0 ? -1 : open_home(s, c);
    if (!result) {
        struct first_weights first = { .store = s, .seed = seed };
        const struct store_source initial = { initialise_block, &first };
        make_arrays(s);
        add_shared(s);
        first.pool = from ? NULL : pool_new(ops_threads(o));
        result = read_parameters(s, from ? from : &initial);
        pool_free(first.pool);
    }
    if (result < 0)
        store_close(s);
    return result;
}

void store_close(struct store *s)
{
    for (int kind = 0; kind < STORE_KINDS; kind++) {
        for (int i = 0; s->spots[kind] && i < s->layout.count[kind]; i++)
            if (!s->spots[kind][i].home)
                ops_buffer_free(s->ops, s->spots[kind][i].array);
        free(s->spots[kind]);
    }
    for (int kind = 0; kind < STORE_BLOCKS; kind++)
        free(s->gathered[kind]);
    offload_free(s->offload);
    mapped_free(s->mapped);
    shared_free(s->shared);
    layout_release(&s->layout);
    *s = (struct store){ 0 };
}

/* ---- use ------------------------------------------------------------------------------------- */

/* Returns where the array of use u is. For USE_SUM the spot is empty: shared_sum fetches that
 * array. */
static const struct spot *spot_of(const struct store *s, const struct use *u)
{
    static const struct spot nowhere;
    assert(u->number >= 0 && u->number < s->layout.count[u->kind]);
    if (u->role == USE_SUM)
        return &nowhere;
    if (u->own || u->kind >= STORE_BLOCKS || !s->gathered[u->kind])
        return &s->spots[u->kind][u->number];
    return &s->gathered[u->kind][u->number];
}

struct ops_array store_begin(struct store *s, const struct use *u)
{
    s->fetched++;
    if (u->own && u->kind == STORE_PARAMETERS && u->mode != MODE_READ && s->gathered[u->kind])
        shared_forget(s->shared, s->gathered[u->kind][u->number].number);
    struct ops_array a = spot_fetch(spot_of(s, u), (enum use_mode)u->mode);
    if (!u->own || layout_is_shared(&s->layout, u->kind))
        return a;
    return ops_part(
        a, layout_bounds(&s->layout, u->kind, u->number % s->tensors->blocks)[s->layout.rank]);
}

void store_end(struct store *s, const struct use *u)
{
    assert(s->fetched > 0);
    s->fetched--;
    spot_release(spot_of(s, u), (enum use_then)u->then);
}

void store_expect(struct store *s, const struct use *u)
{
    spot_expect(spot_of(s, u), (enum use_mode)u->mode);
}

#define USE(k, i, m, o)                                                                            \
    (&(struct use){ .kind = (unsigned char)k, .number = i, .mode = (unsigned char)m, .own = !!o })

struct ops_array store_fetch(struct store *s, enum store_kind kind, int i, enum use_mode mode,
                             int own)
{
    return store_begin(s, USE(kind, i, mode, own));
}

void store_release(struct store *s, enum store_kind kind, int i, int own)
{
    store_end(s, USE(kind, i, MODE_READ, own));
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

void store_sum(struct store *s, int block, int to, int merges)
{
    const int first = s->gathered[STORE_GRADIENTS][0].number;
    shared_sum(s->shared, first + block, first + to, s->tensors->blocks, merges);
}

int store_check(struct store *s)
{
    return s->mapped ? mapped_check(s->mapped) : 0;
}
