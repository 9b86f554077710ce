#include "train/store/word_table.h"

/* ---- life cycle ------------------------------------------------------------------------------ */

static size_t bitmap_bytes(const struct word_table *t)
{
    return (size_t)t->rows / 8 + 1;
}

static unsigned char *bitmap(const struct word_table *t, enum table_part part)
{
    return t->used + (size_t)part * bitmap_bytes(t);
}

void word_table_open(struct word_table *t, struct store *s, struct comm *c)
{
    const struct tensor *table = &s->tensors->rows[0];
    const int ranks = c->size[COMM_DATA];
    *t = (struct word_table){ .comm = c, .store = s };
    assert(table->block == 0 && table->offset == 0);
    if (ranks == 1 || c->size[COMM_PIPE] > 1 || s->split || s->moves || s->layout.zero > 2 ||
        !ops_on_host(s->ops))
        return;
    t->rows = table->shape[0];
    t->width = table->shape[1];
    t->used = mem_zalloc(TABLE_PARTS * bitmap_bytes(t), 1);
    t->bounds = mem_zalloc((size_t)ranks + 1, sizeof *t->bounds);
}

void word_table_close(struct word_table *t)
{
    if (t->store) {
        comm_end_of(t->comm, &t->work);
        ops_room_free(t->store->ops, &t->kept);
    }
    free(t->used);
    free(t->runs);
    free(t->bounds);
    *t = (struct word_table){ 0 };
}

uint64_t word_table_bytes(const struct tensor_table *t, int64_t words)
{
    const int64_t most = t->rows[0].shape[0] / 2;
    const int64_t rest = t->block_size[0] - tensor_elements(&t->rows[0]);
    return (uint64_t)((words < most ? words : most) * t->rows[0].shape[1] + rest) * sizeof(float);
}

/* ---- words ----------------------------------------------------------------------------------- */

void word_table_clear(struct word_table *t)
{
    if (t->rows)
        memset(t->used, 0, TABLE_PARTS * bitmap_bytes(t));
}

void word_table_mark(struct word_table *t, enum table_part part, const struct batch *b)
{
    const uint32_t *ids = b->ids;
    for (int64_t r = 0; r < b->B && t->rows; ids += batch_step(b, r++)) {
        const int64_t n = b->lengths ? b->lengths[r] : b->T;
        for (int64_t i = 0; i < n; i++)
            bitmap(t, part)[ids[i] / 8] |= (unsigned char)(1 << ids[i] % 8);
    }
}

void word_table_collect(struct word_table *t)
{
    const int ranks = t->comm->size[COMM_DATA];
    const size_t each = bitmap_bytes(t), bytes = TABLE_PARTS * each;
    if (!t->rows)
        return;
    SCOPED_MEM unsigned char *all = comm_collect(t->comm, COMM_DATA, t->used, bytes,
                                                 "words of the next step");
    memset(t->words, 0, sizeof t->words);
    for (size_t i = 0; i < bytes; i++) {
        for (int q = 0; q < ranks; q++)
            t->used[i] |= all[(size_t)q * bytes + i];
        t->words[i / each] += __builtin_popcount(t->used[i]);
    }
}

void word_table_forget(struct word_table *t, enum table_part part)
{
    t->words[part] = t->rows;
}

/* Returns 1 if the next operation `part` is done in two parts, else 0. */
static int is_cut(const struct word_table *t, enum table_part part)
{
    return t->rows && t->words[part] <= t->rows / 2;
}

static void add_run(struct word_table *t, int64_t first, int64_t count)
{
    struct split_part *last = t->count ? &t->runs[t->count - 1] : NULL;
    if (last && last->first + last->count == first) {
        last->count += count;
        return;
    }
    mem_next(t->runs, t->count, t->cap) = (struct split_part){ first, count };
}

/* Returns the kept elements as an array of the type of x, whose elements are at most 4 bytes. */
static struct ops_array kept_as(const struct word_table *t, struct ops_array x)
{
    struct ops_array kept = t->kept.at;
    kept.type = x.type;
    return kept;
}

/* Copies the elements of the runs from x to t->kept or, if `back`, from there to x. */
static void copy_runs(struct word_table *t, struct ops_array x, int back)
{
    int64_t at = 0;
    for (size_t i = 0; i < t->count; at += t->runs[i++].count) {
        struct ops_array in = ops_part(x, t->runs[i].first), out = ops_part(kept_as(t, x), at);
        ops_copy(t->store->ops, back ? in : out, back ? out : in, t->runs[i].count);
    }
}

/* Sets the runs to the rows of the words of operation `part` and, if `all`, also to the tensors
 * after the table in the block. Keeps their elements of x in t->kept, and returns their number. */
static int64_t keep_runs(struct word_table *t, enum table_part part, int all, struct ops_array x)
{
    const int64_t end = t->rows * t->width;
    int64_t n = 0;
    t->count = 0;
    for (int64_t r = 0; r < t->rows; r++)
        if (bitmap(t, part)[r / 8] >> r % 8 & 1)
            add_run(t, r * t->width, t->width);
    if (all)
        add_run(t, end, t->store->tensors->block_size[0] - end);
    for (size_t i = 0; i < t->count; i++)
        n += t->runs[i].count;
    ops_room(t->store->ops, &t->kept, OPS_F32, n);
    copy_runs(t, x, 0);
    return n;
}

/* If the operation of this state is in progress, ends it, puts the kept elements back into x, and
 * sets the state that follows. */
static void end(struct word_table *t, enum table_state state, enum table_state next,
                struct ops_array x)
{
    if (t->state != state)
        return;
    comm_end_of(t->comm, &t->work);
    copy_runs(t, x, 1);
    t->state = next;
}

/* Returns how many elements of the runs come before element `bound` of the block. */
static int64_t elements_before(const struct word_table *t, int64_t bound)
{
    int64_t n = 0;
    for (size_t i = 0; i < t->count && t->runs[i].first < bound; i++) {
        const int64_t left = bound - t->runs[i].first;
        n += left < t->runs[i].count ? left : t->runs[i].count;
    }
    return n;
}

/* Sets t->bounds to the bounds of the ranks' shares in the kept elements. */
static void cut_kept(struct word_table *t, enum store_kind kind)
{
    const struct layout *l = &t->store->layout;
    for (int q = 0; q <= l->ranks; q++)
        t->bounds[q] = elements_before(t, layout_bounds(l, kind, 0)[q]);
}

/* ---- the sum --------------------------------------------------------------------------------- */

/* Begins to sum x[n] over the ranks. If they share the optimizer's state, each gets only its share
 * of the sum, with the bounds t->bounds. */
static void begin_sum(struct word_table *t, struct ops_array x, int64_t n, const char *what)
{
    struct ops *o = t->store->ops;
    t->work = t->store->layout.ranks > 1 ? comm_scatter_begin(t->comm, o, x, t->bounds, what)
                                         : comm_sum_begin(t->comm, o, x, n, what);
}

void word_table_begin_sum(struct word_table *t, struct ops_array gradients)
{
    const int64_t n = t->rows * t->width;
    const struct layout *l = &t->store->layout;
    assert(t->state == TABLE_IDLE);
    if (!is_cut(t, TABLE_SUM))
        return;
    keep_runs(t, TABLE_SUM, 0, gradients);
    for (int q = 0; q <= l->ranks; q++) {
        const int64_t bound = layout_bounds(l, STORE_GRADIENTS, 0)[q];
        t->bounds[q] = bound < n ? bound : n;
    }
    begin_sum(t, gradients, n, "gradients of the table");
    t->state = TABLE_FIRST_SUM;
}

void word_table_restore(struct word_table *t, struct ops_array gradients)
{
    end(t, TABLE_FIRST_SUM, TABLE_EMBEDDING, gradients);
}

int word_table_sum_rest(struct word_table *t, struct ops_array gradients)
{
    if (t->state != TABLE_EMBEDDING)
        return 0;
    const int64_t n = keep_runs(t, TABLE_SUM, 1, gradients);
    cut_kept(t, STORE_GRADIENTS);
    begin_sum(t, t->kept.at, n, "gradients of block 0");
    t->state = TABLE_SECOND_SUM;
    return 1;
}

void word_table_end_sum(struct word_table *t, struct ops_array gradients)
{
    end(t, TABLE_SECOND_SUM, TABLE_IDLE, gradients);
}

/* ---- the gather ------------------------------------------------------------------------------ */

int word_table_gather_rows(struct word_table *t, struct ops_array parameters)
{
    assert(t->state == TABLE_IDLE);
    if (!is_cut(t, TABLE_GATHER))
        return 0;
    keep_runs(t, TABLE_GATHER, 1, parameters);
    cut_kept(t, STORE_PARAMETERS);
    t->work = comm_gather_begin(t->comm, t->store->ops, kept_as(t, parameters), t->bounds,
                                "parameters of words");
    t->state = TABLE_ROWS;
    return 1;
}

void word_table_await_rows(struct word_table *t, struct ops_array parameters)
{
    end(t, TABLE_ROWS, TABLE_REST, parameters);
}

int word_table_take_rest(struct word_table *t, struct ops_array parameters)
{
    word_table_await_rows(t, parameters);
    if (t->state != TABLE_REST)
        return 0;
    t->state = TABLE_IDLE;
    return 1;
}
