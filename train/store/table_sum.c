#include "train/store/table_sum.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"

struct table_run {
    int64_t first, count; /* elements of the block's array */
};

/* ---- life cycle ------------------------------------------------------------------------------ */

static size_t bitmap_bytes(const struct table_sum *t)
{
    return (size_t)t->rows / 8 + 1;
}

void table_sum_open(struct table_sum *t, struct store *s, struct comm *c)
{
    const struct tensor *table = &s->tensors->rows[0];
    const int ranks = c->size[COMM_DATA];
    *t = (struct table_sum){ .comm = c, .store = s };
    assert(table->block == 0 && table->offset == 0);
    if (ranks == 1 || s->split || s->mapped || s->offload)
        return;
    t->rows = table->shape[0];
    t->width = table->shape[1];
    t->used = mem_zalloc(bitmap_bytes(t), 1);
    t->bounds = mem_zalloc((size_t)ranks + 1, sizeof *t->bounds);
}

void table_sum_close(struct table_sum *t)
{
    if (t->store)
        ops_buffer_free(t->store->ops, t->kept, t->room);
    free(t->used);
    free(t->runs);
    free(t->bounds);
    *t = (struct table_sum){ 0 };
}

uint64_t table_sum_bytes(const struct tensor_table *t, int64_t words)
{
    const int64_t most = t->rows[0].shape[0] / 2;
    const int64_t rest = t->block_size[0] - tensor_elements(&t->rows[0]);
    return (uint64_t)((words < most ? words : most) * t->rows[0].shape[1] + rest) * sizeof(float);
}

/* ---- the rows of the second part ------------------------------------------------------------- */

void table_sum_mark(struct table_sum *t, const struct batch *b)
{
    for (int64_t r = 0; r < b->B && t->rows; r++) {
        const uint32_t *ids = b->ids + r * b->T;
        const int64_t n = b->lengths ? b->lengths[r] : b->T;
        for (int64_t i = 0; i < n; i++)
            t->used[ids[i] / 8] |= (unsigned char)(1 << ids[i] % 8);
    }
}

/* Adds the words of the other ranks to t->used. Returns the number of words. */
static int64_t collect_words(struct table_sum *t)
{
    const int ranks = t->comm->size[COMM_DATA];
    const size_t bytes = bitmap_bytes(t);
    unsigned char *all = mem_alloc((size_t)ranks * bytes);
    int64_t count = 0;
    comm_collect(t->comm, COMM_DATA, all, t->used, bytes, "words of the last groups");
    for (size_t i = 0; i < bytes; i++) {
        for (int q = 0; q < ranks; q++)
            t->used[i] |= all[(size_t)q * bytes + i];
        count += __builtin_popcount(t->used[i]);
    }
    free(all);
    return count;
}

static void add_run(struct table_sum *t, int64_t first, int64_t count)
{
    struct table_run *last = t->count ? &t->runs[t->count - 1] : NULL;
    if (last && last->first + last->count == first) {
        last->count += count;
        return;
    }
    mem_grow(t->runs, t->cap, t->count + 1);
    t->runs[t->count++] = (struct table_run){ first, count };
}

/* Sets the runs: the used rows and, if `all`, also what follows the table in the block. Returns the
 * number of their elements. */
static int64_t list_runs(struct table_sum *t, int all)
{
    const int64_t end = t->rows * t->width;
    int64_t n = 0;
    t->count = 0;
    for (int64_t r = 0; r < t->rows; r++)
        if (t->used[r / 8] >> r % 8 & 1)
            add_run(t, r * t->width, t->width);
    if (all)
        add_run(t, end, t->store->tensors->block_size[0] - end);
    for (size_t i = 0; i < t->count; i++)
        n += t->runs[i].count;
    return n;
}

static void make_room(struct table_sum *t, int64_t n)
{
    if (n <= t->room)
        return;
    ops_buffer_free(t->store->ops, t->kept, t->room);
    t->kept = ops_buffer(t->store->ops, OPS_F32, n);
    t->room = n;
}

/* Copies the elements of the runs to t->kept or, if `back`, from there. */
static void copy_runs(struct table_sum *t, struct ops_array gradients, int back)
{
    int64_t at = 0;
    for (size_t i = 0; i < t->count; at += t->runs[i++].count) {
        struct ops_array in = ops_part(gradients, t->runs[i].first), out = ops_part(t->kept, at);
        ops_copy(t->store->ops, back ? in : out, back ? out : in, t->runs[i].count);
    }
}

/* ---- the two parts --------------------------------------------------------------------------- */

/* Returns how many elements of the runs come before element `bound` of the block. */
static int64_t elements_before(const struct table_sum *t, int64_t bound)
{
    int64_t n = 0;
    for (size_t i = 0; i < t->count && t->runs[i].first < bound; i++) {
        const int64_t left = bound - t->runs[i].first;
        n += left < t->runs[i].count ? left : t->runs[i].count;
    }
    return n;
}

/* Begins to sum x[n]; if ranks share the optimizer's state, each gets its share of the sum only,
 * with t->bounds. */
static void begin(struct table_sum *t, struct ops_array x, int64_t n, const char *what)
{
    struct ops *o = t->store->ops;
    t->work = t->store->layout.ranks > 1
                  ? comm_scatter_begin(t->comm, COMM_DATA, o, x, t->bounds, what)
                  : comm_sum_begin(t->comm, COMM_DATA, o, x, n, what);
}

void table_sum_begin(struct table_sum *t, struct ops_array gradients)
{
    const int64_t n = t->rows * t->width;
    const struct layout *l = &t->store->layout;
    assert(t->state == TABLE_IDLE);
    if (!t->rows || collect_words(t) > t->rows / 2)
        return;
    make_room(t, list_runs(t, 0));
    copy_runs(t, gradients, 0);
    for (int q = 0; q <= l->ranks; q++) {
        const int64_t bound = layout_bounds(l, STORE_GRADIENTS, 0)[q];
        t->bounds[q] = bound < n ? bound : n;
    }
    begin(t, gradients, n, "gradients of the table");
    t->state = TABLE_FIRST_PART;
}

void table_sum_restore(struct table_sum *t, struct ops_array gradients)
{
    if (t->state != TABLE_FIRST_PART)
        return;
    comm_end(t->comm, t->work);
    copy_runs(t, gradients, 1);
    t->state = TABLE_EMBEDDING;
}

int table_sum_rest(struct table_sum *t, struct ops_array gradients)
{
    const struct layout *l = &t->store->layout;
    if (t->state == TABLE_EMBEDDING) {
        const int64_t n = list_runs(t, 1);
        make_room(t, n);
        copy_runs(t, gradients, 0);
        for (int q = 0; q <= l->ranks; q++)
            t->bounds[q] = elements_before(t, layout_bounds(l, STORE_GRADIENTS, 0)[q]);
        begin(t, t->kept, n, "gradients of block 0");
        t->state = TABLE_SECOND_PART;
    }
    if (t->rows)
        memset(t->used, 0, bitmap_bytes(t));
    return t->state == TABLE_SECOND_PART;
}

void table_sum_end(struct table_sum *t, struct ops_array gradients)
{
    if (t->state != TABLE_SECOND_PART)
        return;
    comm_end(t->comm, t->work);
    copy_runs(t, gradients, 1);
    t->state = TABLE_IDLE;
}
