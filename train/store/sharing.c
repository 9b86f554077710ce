#include "train/store/sharing.h"

/* The operations in progress on a block. */
struct sharing_work {
    struct comm_work *sum;       /* NULL if there is one rank */
    struct ops_array gradients;  /* no array: no sum is in progress */
    struct ops_array summed;     /* the gradients of the last sum */
    struct comm_work *gather;    /* of parameters, or of `summed`; NULL: none */
    struct ops_array parameters; /* of the last gather */
};

static int is_shared(const struct sharing *h)
{
    return h->store->layout.ranks > 1;
}

/* ---- shares --------------------------------------------------------------------------------- */

/* Returns the layout whose shares of blocks are those that sums give to ranks. */
static const struct layout *cuts_of(const struct sharing *h)
{
    return is_shared(h) ? &h->store->layout : &h->cuts;
}

static const int64_t *shares_of(const struct sharing *h, int block)
{
    return layout_bounds(cuts_of(h), STORE_GRADIENTS, block);
}

void sharing_open(struct sharing *h, struct store *s, struct comm *c)
{
    const struct tensor_table *t = s->tensors;
    const struct store_config cuts = { .ranks = c->size[COMM_DATA], .rank = c->rank[COMM_DATA] };
    *h = (struct sharing){ .comm = c, .store = s };
    layout_init(&h->cuts, t, &cuts);
    h->defers = !is_shared(h) && c->size[COMM_DATA] > 1 && !s->split && !s->moves;
    if (s->shared)
        shared_join(s->shared, c);
    h->pieces = mem_zalloc(t->count + 1, sizeof *h->pieces);
    h->pending = mem_zalloc((size_t)t->blocks, sizeof *h->pending);
    for (size_t i = 0; i < t->count; i++)
        h->pieces[i + 1] = h->pieces[i] + ops_pieces(tensor_elements(&t->rows[i]));
    h->squares = ops_buffer(s->ops, OPS_F64, h->pieces[t->count]);
    word_table_open(&h->table, s, c);
}

void sharing_close(struct sharing *h)
{
    if (!h->store)
        return;
    for (int b = 0; b < h->store->tensors->blocks; b++)
        comm_end_of(h->comm, &h->pending[b].gather);
    word_table_close(&h->table);
    ops_buffer_free(h->store->ops, h->squares);
    layout_release(&h->cuts);
    free(h->pieces);
    free(h->pending);
    *h = (struct sharing){ 0 };
}

/* ---- squares --------------------------------------------------------------------------------- */

/* Returns 1 if a sum of the block's gradients gives each rank only its share, else 0. */
static int is_scattered(const struct sharing *h, int block)
{
    return is_shared(h) || (h->defers && block > 0);
}

/* Returns the part of a tensor that is in this rank's share of the block, as a run of elements of
 * the share. Cuts lie between pieces, so the run has whole pieces. */
static struct ops_run own_run(const struct sharing *h, size_t row)
{
    const struct tensor *t = &h->store->tensors->rows[row];
    const struct split_part own = layout_share(cuts_of(h), h->store->tensors, row);
    if (!is_scattered(h, t->block))
        return (struct ops_run){ t->offset, tensor_elements(t), h->pieces[row] };
    return (struct ops_run){ t->offset + own.first -
                                 shares_of(h, t->block)[h->comm->rank[COMM_DATA]],
                             own.count, h->pieces[row] + ops_pieces(own.first) };
}

/* Sets the elements of h->squares for the pieces in this rank's share of the block: the sum of
 * squares of each piece's gradients. `gradients` is the rank's share of the block. */
static void square_block(struct sharing *h, int block, struct ops_array gradients)
{
    const struct tensor_table *t = h->store->tensors;
    SCOPED_MEM struct ops_run *runs = mem_zalloc(t->count + 1, sizeof *runs);
    int count = 0;
    for (size_t i = t->first[block]; i < t->first[block + 1]; i++)
        runs[count++] = own_run(h, i);
    ops_sum_squares(h->store->ops, h->squares, gradients, runs, count);
}

static void gather_squares(struct sharing *h, int block)
{
    const struct tensor_table *t = h->store->tensors;
    const size_t *first = &t->first[block];
    const int ranks = h->comm->size[COMM_DATA];
    SCOPED_MEM int64_t *bounds = mem_zalloc((size_t)ranks + 1, sizeof *bounds);
    for (int q = 0; q < ranks; q++) {
        bounds[q + 1] = bounds[q];
        for (size_t i = first[0]; i < first[1]; i++)
            bounds[q + 1] += ops_pieces(layout_share_of(cuts_of(h), t, i, q).count);
    }
    if (first[0] < first[1])
        comm_end(h->comm,
                 comm_gather_begin(h->comm, h->store->ops, ops_part(h->squares, h->pieces[*first]),
                                   bounds, "squares of gradients"));
}

/* Adds to tensors[i] the sums of squares of the pieces of tensor i. */
static void add_pieces(const struct sharing *h, double *tensors)
{
    const struct store *s = h->store;
    const int64_t n = h->pieces[s->tensors->count];
    double *squares = ops_map(s->ops, h->squares, n);
    for (size_t i = 0; i < s->tensors->count; i++)
        for (int64_t p = h->pieces[i]; p < h->pieces[i + 1]; p++)
            tensors[i] += squares[p];
    ops_unmap(s->ops, h->squares, n, squares);
}

double sharing_squares(const struct sharing *h)
{
    const struct store *s = h->store;
    const size_t count = s->tensors->count;
    const int ranks = h->comm->size[COMM_TENSOR];
    double sum = 0;
    SCOPED_MEM double *own = mem_zalloc(count, sizeof *own);
    add_pieces(h, own);
    SCOPED_MEM double *all = comm_collect(h->comm, COMM_MODEL, own, count * sizeof *own,
                                          "squares of gradients");
    for (size_t i = 0; i < count; i++) {
        const int owner = s->layout.owner[s->tensors->rows[i].block];
        for (int q = 0; q < ranks; q++)
            sum += store_counts(s, i, q) ? all[(size_t)(owner * ranks + q) * count + i] : 0;
    }
    return sum;
}

/* ---- work on blocks -------------------------------------------------------------------------- */

static void end_sum(struct sharing *h, int block)
{
    struct sharing_work *w = &h->pending[block];
    const int64_t own = shares_of(h, block)[h->comm->rank[COMM_DATA]];
    comm_end_of(h->comm, &w->sum);
    if (!block)
        word_table_end_sum(&h->table, w->gradients);
    square_block(h, block, is_scattered(h, block) ? ops_part(w->gradients, own) : w->gradients);
    w->gradients = OPS_NONE;
}

void sharing_sum(struct sharing *h, int block, struct ops_array gradients)
{
    struct store *s = h->store;
    struct sharing_work *w = &h->pending[block];
    char what[40];
    snprintf(what, sizeof what, "gradients of block %d", block);
    w->gradients = w->summed = gradients;
    if (!block && word_table_sum_rest(&h->table, gradients))
        return;
    w->sum = is_scattered(h, block)
                 ? comm_scatter_begin(h->comm, s->ops, gradients, shares_of(h, block), what)
                 : comm_sum_begin(h->comm, s->ops, gradients, s->tensors->block_size[block], what);
    if (!w->sum || s->moves)
        end_sum(h, block);
}

/* Sets the elements of h->squares for the shares of gradients that this rank keeps. */
static void square_shares(struct sharing *h)
{
    struct store *s = h->store;
    for (int b = 0; b < s->tensors->blocks; b++) {
        if (!layout_owns(&s->layout, b))
            continue;
        square_block(h, b, store_fetch(s, STORE_GRADIENTS, b, MODE_READ, 1));
        store_release(s, STORE_GRADIENTS, b, 1);
    }
}

void sharing_end_sums(struct sharing *h)
{
    const int blocks = h->store->tensors->blocks;
    if (h->store->shared)
        shared_end_sums(h->store->shared);
    if (layout_is_shared(&h->store->layout, STORE_GRADIENTS))
        square_shares(h);
    for (int b = blocks; b-- > 0;) /* in the order in which they began */
        if (!ops_is_none(h->pending[b].gradients))
            end_sum(h, b);
    for (int b = 0; b < blocks; b++)
        if (layout_owns(&h->store->layout, b) && is_scattered(h, b))
            gather_squares(h, b);
}

/* Begins to gather x, an array of a block that `name` names. */
static void gather(struct sharing *h, int block, struct ops_array x, const int64_t *bounds,
                   const char *name)
{
    char what[40];
    snprintf(what, sizeof what, "%s of block %d", name, block);
    h->pending[block].gather = comm_gather_begin(h->comm, h->store->ops, x, bounds, what);
}

int sharing_gather_sums(struct sharing *h)
{
    for (int b = 1; b < h->store->tensors->blocks && h->defers; b++)
        if (layout_owns(&h->store->layout, b))
            gather(h, b, h->pending[b].summed, shares_of(h, b), "summed gradients");
    return h->defers;
}

static void gather_parameters(struct sharing *h, int block)
{
    gather(h, block, h->pending[block].parameters,
           layout_bounds(&h->store->layout, STORE_PARAMETERS, block), "parameters");
}

void sharing_gather(struct sharing *h, int block, struct ops_array parameters)
{
    h->pending[block].parameters = parameters;
    if (!block && word_table_gather_rows(&h->table, parameters))
        return;
    gather_parameters(h, block);
    if (h->store->moves)
        comm_end_of(h->comm, &h->pending[block].gather);
}

void sharing_gather_table(struct sharing *h)
{
    if (word_table_take_rest(&h->table, h->pending[0].parameters))
        gather_parameters(h, 0);
}

void sharing_await(struct sharing *h, const struct use *u)
{
    if (u->kind != STORE_PARAMETERS)
        return;
    if (!u->number)
        word_table_await_rows(&h->table, h->pending[0].parameters);
    comm_end_of(h->comm, &h->pending[u->number].gather);
}

void sharing_end_gathers(struct sharing *h)
{
    sharing_gather_table(h);
    for (int b = 0; b < h->store->tensors->blocks; b++)
        comm_end_of(h->comm, &h->pending[b].gather);
}

const struct tensor *sharing_first(const struct sharing *h, const struct tensor *own)
{
    const struct tensor_table *t = h->store->tensors;
    const int behind = own ? (int)(t->count - (size_t)(own - t->rows)) : 0;
    const int most = comm_most(h->comm, behind);
    return most ? &t->rows[t->count - (size_t)most] : NULL;
}
