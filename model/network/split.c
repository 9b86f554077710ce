#include "model/network/split.h"

#include "model/network/architecture.h"

struct split_part split_part(int64_t n, int ranks, int rank)
{
    const int64_t first = n * rank / ranks;
    return (struct split_part){ first, n * (rank + 1) / ranks - first };
}

/* ---- sizes -------------------------------------------------------------------------------- */

/* Sets *own to this rank's share of n. The shares must be equal if `equal` is 1. */
static int divide(int64_t *own, int64_t n, const struct split *split, int equal, const char *what)
{
    const int ranks = split->ranks[SPLIT_HEADS];
    *own = split_part(n, ranks, split->rank[SPLIT_HEADS]).count;
    if (equal ? n % ranks == 0 : n >= ranks)
        return 0;
    return err_set(equal ? "%lld %s cannot be shared by %d tensor-parallel ranks"
                         : "%lld %s are too few for %d tensor-parallel ranks",
                   (long long)n, what, ranks);
}

/* Sets *own to this rank's share of the width. Each share is even, because dropout masks are made
 * of pairs. Returns 0, or -1 with an error if that is not possible. */
static int divide_width(int64_t *own, int64_t width, const struct split *split)
{
    const int ranks = split->ranks[SPLIT_WIDTH];
    if (ranks > 1 && width % (2 * ranks))
        return err_set("a width of %lld cannot be shared by %d tensor-parallel ranks in even parts",
                       (long long)width, ranks);
    *own = width / ranks;
    return 0;
}

int split_config(struct model_config *own, const struct model_config *config,
                 const struct split *split)
{
    const int64_t positions = config->positions + config->architecture->first_position;
    *own = *config;
    if (split->sequence && config->width % 2)
        return err_set("ranks can share rows of activations only if the width is even");
    return divide(&own->heads, config->heads, split, 1, "heads") < 0 ||
                   divide(&own->kv_heads, config->kv_heads, split, 1, "heads of keys and values") <
                       0 ||
                   divide(&own->inner, config->inner, split, 1, "channels of the MLP") < 0 ||
                   divide(&own->vocabulary, config->vocabulary, split, 0, "words") < 0 ||
                   divide(&own->positions, positions, split, 0, "positions") < 0 ||
                   divide_width(&own->width, config->width, split) < 0
               ? -1
               : 0;
}

/* ---- sums --------------------------------------------------------------------------------- */

static void exchange(const struct model *m, enum split_exchange how, enum split_axis axis,
                     struct ops *o, struct ops_array x, int64_t N, int64_t C, const char *what)
{
    if (split_ranks(m, axis) > 1)
        m->split->exchange(m->split->ctx, how, axis, o, x, N, C, what);
}

/* Returns the F32 array of n numbers in which a sum for x is computed: x itself if x is F32, else
 * scratch memory. */
static struct ops_array summand(struct ops *o, struct ops_array x, int64_t n)
{
    return x.type == OPS_F32 ? x : ops_scratch(o, OPS_F32, n);
}

/* Sums part[n], which is F32, over the ranks along `axis`, and copies the sum to x[n] unless `part`
 * is x (summand). */
static void put_sum(const struct model *m, enum split_axis axis, struct ops *o, struct ops_array x,
                    struct ops_array part, int64_t n, const char *what)
{
    exchange(m, SPLIT_SUM, axis, o, part, n, 1, what);
    if (x.type != OPS_F32)
        ops_copy(o, x, part, n);
}

/* Returns the F32 array in which sum_rows computes y[n,C], from parts of N rows. put_rows then
 * copies the sum to y, unless it was computed there. */
static struct ops_array rows_summand(const struct model *m, struct ops *o, struct ops_array y,
                                     int64_t N, int64_t C)
{
    return split_sequence(m) ? ops_scratch(o, OPS_F32, N * C) : summand(o, y, N * C);
}

static void put_rows(const struct model *m, struct ops *o, struct ops_array y,
                     struct ops_array part, int64_t n)
{
    if (split_sequence(m) || y.type != OPS_F32)
        ops_copy(o, y, part, n);
}

/* ---- rows --------------------------------------------------------------------------------- */

struct split_part split_rows(const struct model *m, int64_t N)
{
    if (!split_sequence(m))
        return (struct split_part){ 0, N };
    return split_part(N, m->split->ranks[SPLIT_HEADS], m->split->rank[SPLIT_HEADS]);
}

int64_t split_most_rows(const struct model *m, int64_t N)
{
    const int ranks = split_ranks(m, SPLIT_HEADS);
    return split_sequence(m) ? (N + ranks - 1) / ranks : N;
}

/* Returns the part of x[N,C] with this rank's rows. */
static struct ops_array own_rows(const struct model *m, struct ops_array x, int64_t N, int64_t C)
{
    return ops_part(x, split_rows(m, N).first * C);
}

/* Fills x[N,C] with the rows that the other ranks have, if the rows are divided among them; else
 * does nothing. `what` names the exchange in messages. */
static void gather_rows(const struct model *m, struct ops *o, struct ops_array x, int64_t N,
                        int64_t C, const char *what)
{
    if (split_sequence(m))
        exchange(m, SPLIT_GATHER, SPLIT_HEADS, o, x, N, C, what);
}

/* Sums x[N,C], F32, over the ranks. Returns the part of x with this rank's rows of the sum. */
static struct ops_array sum_rows(const struct model *m, struct ops *o, struct ops_array x,
                                 int64_t N, int64_t C, const char *what)
{
    exchange(m, split_sequence(m) ? SPLIT_SCATTER : SPLIT_SUM, SPLIT_HEADS, o, x, N, C, what);
    return own_rows(m, x, N, C);
}

void split_sum_of_rows(const struct model *m, struct ops *o, struct ops_array x, int64_t n)
{
    exchange(m, SPLIT_SUM, SPLIT_HEADS, o, x, n, 1, "sum over rows");
}

struct ops_array split_all_rows(const struct model *m, struct ops *o, enum ops_type type,
                                struct ops_array x, int64_t N, int64_t C, const char *what)
{
    if (!split_sequence(m))
        return x;
    struct ops_array all = ops_scratch(o, type, N * C);
    ops_copy(o, own_rows(m, all, N, C), x, split_rows(m, N).count * C);
    gather_rows(m, o, all, N, C, what);
    return all;
}

struct ops_array split_room_for_rows(const struct model *m, struct ops *o, struct ops_array dx,
                                     int64_t N, int64_t C)
{
    return split_sequence(m) ? ops_scratch(o, OPS_F32, N * C) : dx;
}

void split_own_rows(const struct model *m, struct ops *o, struct ops_array dx, struct ops_array all,
                    int64_t N, int64_t C)
{
    if (split_sequence(m))
        ops_copy(o, dx, own_rows(m, all, N, C), split_rows(m, N).count * C);
}

/* ---- columns ------------------------------------------------------------------------------ */

/* Returns x[rows,columns,C] as an array [columns,rows,C] in scratch memory. */
static struct ops_array turned(struct ops *o, struct ops_array x, int64_t rows, int64_t columns,
                               int64_t C)
{
    const int64_t n = rows * columns;
    struct ops_array y = ops_scratch(o, OPS_F32, n * C), index = ops_scratch(o, OPS_I64, n);
    int64_t *from = ops_fill(o, index, n);
    for (int64_t i = 0; i < n; i++)
        from[i] = i % rows * columns + i / rows;
    ops_unmap(o, index, n, from);
    ops_gather_rows(o, y, x, index, n, C);
    return y;
}

struct ops_array split_own_columns(const struct model *m, struct ops *o, struct ops_array x,
                                   int64_t n)
{
    const int64_t ranks = split_ranks(m, SPLIT_WIDTH), C = m->config.width;
    if (ranks == 1)
        return x;
    return ops_part(turned(o, x, n, ranks, C), m->split->rank[SPLIT_WIDTH] * n * C);
}

struct ops_array split_all_columns(const struct model *m, struct ops *o, struct ops_array x,
                                   int64_t n, const char *what)
{
    const int64_t ranks = split_ranks(m, SPLIT_WIDTH), C = m->config.width;
    if (ranks == 1)
        return x;
    struct ops_array parts = ops_scratch(o, OPS_F32, ranks * n * C);
    ops_copy(o, ops_part(parts, m->split->rank[SPLIT_WIDTH] * n * C), x, n * C);
    exchange(m, SPLIT_GATHER, SPLIT_WIDTH, o, parts, ranks, n * C, what);
    return turned(o, parts, ranks, n, C);
}

/* Returns 1 on the first rank along the axis, else 0. Only this rank adds the terms that all of
 * them hold whole, so that a sum over the ranks contains them once. */
static int is_first(const struct model *m, enum split_axis axis)
{
    return !m->split->rank[axis];
}

/* ---- embedding ---------------------------------------------------------------------------- */

/* Adds the rows of the table that the tokens p use to these tokens' rows of x. With `back` 1, adds
 * the rows of x, which are gradients, to the rows of the table. */
static void add_rows(struct ops *o, struct ops_array x, struct ops_array table, int64_t C,
                     const struct inputs_picked *p, int back)
{
    const struct ops_embedding e = { .words = table, .C = C };
    const struct ops_tokens t = { .N = p->n, .T = p->n, .ids = p->ids };
    if (!p->n || ops_is_none(table))
        return;
    struct ops_array rows = ops_scratch(o, OPS_F32, p->n * C);
    if (back) {
        ops_gather_rows(o, rows, x, p->rows, p->n, C);
        ops_embedding_bwd(o, &e, rows, &t);
    } else {
        ops_embedding_fwd(o, rows, &t, &e);
        ops_scatter_rows(o, x, rows, p->rows, p->n, C);
    }
}

void split_embedding_fwd(const struct model *m, struct ops *o, struct ops_array x,
                         const struct ops_embedding *e, const struct inputs *in)
{
    const int64_t n = in->N * e->C;
    if (!m->split) {
        ops_embedding_fwd(o, x, &in->tokens, e);
        return;
    }
    struct ops_array part = rows_summand(m, o, x, in->N, e->C);
    ops_zero(o, part, n);
    add_rows(o, part, e->words, e->C, &in->words, 0);
    add_rows(o, part, e->positions, e->C, &in->places_had, 0);
    if (is_first(m, SPLIT_HEADS))
        add_rows(o, part, e->types, e->C, &in->types, 0);
    part = sum_rows(m, o, part, in->N, e->C, "sum of embeddings");
    put_rows(m, o, x, part, split_rows(m, in->N).count * e->C);
}

void split_embedding_bwd(const struct model *m, struct ops *o, const struct ops_embedding *d,
                         struct ops_array dx, const struct inputs *in)
{
    if (!m->split) {
        ops_embedding_bwd(o, d, dx, &in->tokens);
        return;
    }
    dx = split_all_rows(m, o, OPS_F32, dx, in->N, d->C, "gradients of embeddings");
    add_rows(o, dx, d->words, d->C, &in->words, 1);
    add_rows(o, dx, d->positions, d->C, &in->places_had, 1);
    add_rows(o, dx, d->types, d->C, &in->types, 1);
}

/* ---- norms -------------------------------------------------------------------------------- */

/* Computes the moments of rows whose columns are divided. Returns them: `kept` or, if they are not
 * kept, scratch memory. */
static struct ops_moments moments_of(const struct model *m, struct ops *o, struct ops_moments kept,
                                     struct ops_array x, const struct ops_norm *l)
{
    const int ranks = split_ranks(m, SPLIT_WIDTH);
    const int64_t n = l->N, each = l->rms ? n : 2 * n;
    struct ops_array parts = ops_scratch(o, OPS_F32, ranks * each);
    struct ops_array own = ops_part(parts, m->split->rank[SPLIT_WIDTH] * each);
    const struct ops_moments of_part = { l->rms ? OPS_NONE : ops_part(own, n), own, 0 };
    if (ops_is_none(kept.rstd))
        kept = (struct ops_moments){ l->rms ? OPS_NONE : ops_scratch(o, OPS_F32, n),
                                     ops_scratch(o, OPS_F32, n), 0 };
    ops_norm_fwd(o, OPS_NONE, of_part, x, l);
    exchange(m, SPLIT_GATHER, SPLIT_WIDTH, o, parts, ranks, each, "moments of rows");
    ops_norm_join(o, kept, parts, ranks, l);
    kept.known = 1;
    return kept;
}

void split_norm_of_rows(const struct model *m, struct ops *o, struct ops_array y,
                        struct ops_moments kept, struct ops_array x, const struct ops_norm *l)
{
    ops_norm_fwd(o, y, l->all > l->C && !kept.known ? moments_of(m, o, kept, x, l) : kept, x, l);
}

void split_norm_fwd(const struct model *m, struct ops *o, struct ops_array y,
                    struct ops_moments kept, struct ops_array x, const struct ops_norm *l,
                    int64_t N)
{
    split_norm_of_rows(m, o, own_rows(m, y, N, l->C), kept, x, l);
    gather_rows(m, o, y, N, l->C, "normed rows");
}

void split_norm_bwd(const struct model *m, struct ops *o, const struct ops_norm_bwd *b,
                    const struct ops_norm *l)
{
    if (l->all <= l->C) {
        ops_norm_bwd(o, b, l);
        return;
    }
    struct ops_norm_bwd first = *b, second = *b;
    first.sums = second.sums = ops_scratch(o, OPS_F32, 2 * l->N);
    first.dx = second.dgain = second.dbias = (struct ops_gradient){ 0 };
    ops_norm_bwd(o, &first, l);
    exchange(m, SPLIT_SUM, SPLIT_WIDTH, o, first.sums, 2 * l->N, 1, "sums of a norm's gradients");
    ops_norm_bwd(o, &second, l);
}

/* ---- layers ------------------------------------------------------------------------------- */

void split_linear_fwd(const struct model *m, struct ops *o, struct ops_array y, struct ops_array x,
                      const struct ops_linear l[], int count)
{
    const int divided = split_ranks(m, SPLIT_WIDTH) > 1;
    struct ops_linear own[SPLIT_MAPS];
    int64_t n = 0;
    assert(count <= SPLIT_MAPS);
    for (int i = 0; i < count; i++) {
        own[i] = l[i];
        if (divided && !is_first(m, SPLIT_WIDTH))
            own[i].bias = OPS_NONE;
        n += l[i].N * l[i].O;
    }
    struct ops_array part = divided ? summand(o, y, n) : y;
    ops_linear_fwd(o, part, x, own, count);
    if (divided)
        put_sum(m, SPLIT_WIDTH, o, y, part, n, "sum of inner channels");
}

void split_linear_bwd(const struct model *m, struct ops *o, struct ops_array dx,
                      struct ops_array dy, const struct ops_linear *l)
{
    const struct ops_gradient none = { 0 };
    const int divided = split_ranks(m, SPLIT_WIDTH) > 1;
    struct ops_array part = divided ? summand(o, dx, l->N * l->I) : dx;
    ops_linear_bwd(o, ops_set(part), none, none, dy, OPS_NONE, l);
    if (divided)
        put_sum(m, SPLIT_WIDTH, o, dx, part, l->N * l->I, "sum of inner gradients");
}

/* Sets y to base + dropout(map of x). Each rank computes one summand of the map's output, over its
 * part of the inner channels. The sum over the ranks includes the bias once, because only the first
 * rank adds it. */
void split_residual_fwd(const struct model *m, struct ops *o, struct ops_array y,
                        struct ops_array base, struct ops_array x, const struct ops_linear *l,
                        struct ops_dropout drop)
{
    const int64_t n = split_rows(m, l->N).count * l->O;
    struct ops_linear own = *l;
    if (!m->split) {
        ops_residual_fwd(o, y, base, x, l, drop);
        return;
    }
    if (!is_first(m, SPLIT_HEADS))
        own.bias = OPS_NONE;
    struct ops_array part = rows_summand(m, o, y, l->N, l->O);
    ops_linear_fwd(o, part, x, &own, 1);
    part = sum_rows(m, o, part, l->N, l->O, "sum of a layer");
    ops_dropout(o, part, part, n, drop);
    ops_add(o, part, base, n);
    put_rows(m, o, y, part, n);
}

struct ops_array split_gradient_begin(const struct model *m, struct ops *o, struct ops_array dx,
                                      int64_t N, int64_t C)
{
    struct ops_array all = split_room_for_rows(m, o, dx, N, C);
    if (m->split && (split_sequence(m) || !is_first(m, SPLIT_HEADS)))
        ops_zero(o, all, N * C);
    if (split_sequence(m))
        ops_copy(o, own_rows(m, all, N, C), dx, split_rows(m, N).count * C);
    return all;
}

struct ops_array split_gradient_end(const struct model *m, struct ops *o, struct ops_array dx,
                                    int64_t N, int64_t C)
{
    if (!m->split)
        return dx;
    if (dx.type == OPS_F32)
        return sum_rows(m, o, dx, N, C, "sum of gradients");
    struct ops_array part = ops_scratch(o, OPS_F32, N * C);
    ops_copy(o, part, dx, N * C);
    put_sum(m, SPLIT_HEADS, o, dx, part, N * C, "sum of gradients");
    return dx;
}

struct ops_array split_branch_gradient(const struct model *m, struct ops *o,
                                       struct ops_array masked, struct ops_array dx, int64_t N,
                                       int64_t C, struct ops_dropout drop)
{
    if (drop.rate == 0 && !split_sequence(m))
        return dx;
    ops_dropout(o, own_rows(m, masked, N, C), dx, split_rows(m, N).count * C, drop);
    gather_rows(m, o, masked, N, C, "gradients of a branch");
    return masked;
}

/* ---- loss --------------------------------------------------------------------------------- */

static void share(const void *ctx, enum ops_share_kind kind, struct ops *o, struct ops_array x,
                  int64_t n)
{
    const struct model *m = ctx;
    if (kind == OPS_SHARE_MOST)
        exchange(m, SPLIT_MOST, SPLIT_HEADS, o, x, n, 1, "largest logits");
    else
        exchange(m, SPLIT_SUM, kind == OPS_SHARE_SUM ? SPLIT_HEADS : SPLIT_WIDTH, o, x, n, 1,
                 "sums of the head");
}

struct ops_decoder split_decoder(const struct model *m, const struct ops_decoder *d)
{
    struct ops_decoder own = *d;
    if (!m->split)
        return own;
    if (!is_first(m, SPLIT_WIDTH))
        own.bias = OPS_NONE;
    own.shares = (struct ops_shares){ m->first_word, m->split->ranks[SPLIT_HEADS], share, m };
    return own;
}

/* ---- tensors ------------------------------------------------------------------------------ */

int split_is_shared(const struct tensor *whole, const struct tensor *own)
{
    return tensor_elements(whole) != tensor_elements(own);
}

/* Returns the axis of the grid over which axis k of a tensor is divided, if it is divided. */
static enum split_axis axis_of(const struct tensor *whole, int k)
{
    return k == whole->across ? SPLIT_WIDTH : SPLIT_HEADS;
}

static int rank_along(const struct split *split, enum split_axis axis, int number)
{
    const int columns = split->ranks[SPLIT_WIDTH];
    return axis == SPLIT_WIDTH ? number % columns : number / columns;
}

/* Returns the range of axis k of a tensor that the rank with this number holds. If the tensor
 * consists of `maps` matrices side by side, the range is within each matrix. whole is the tensor of
 * the model, own the part of this rank. */
static struct split_part part_of(const struct tensor *whole, const struct tensor *own, int k,
                                 int maps, const struct split *split, int number)
{
    const enum split_axis axis = axis_of(whole, k);
    const int64_t n = whole->shape[k] / maps;
    if (whole->shape[k] == own->shape[k])
        return (struct split_part){ 0, n };
    return split_part(n, split->ranks[axis], rank_along(split, axis, number));
}

struct split_runs split_runs(const struct tensor *whole, const struct tensor *own,
                             const struct split *split, int number)
{
    const int64_t all = tensor_elements(whole), columns = whole->shape[whole->rank - 1];
    if (!split_is_shared(whole, own))
        return (struct split_runs){ 1, all, all, 0 };
    const struct split_part c = part_of(whole, own, whole->rank - 1, whole->maps, split, number);
    const struct split_part r = whole->rank == 2 ? part_of(whole, own, 0, 1, split, number)
                                                 : (struct split_part){ 0, 1 };
    if (c.count * whole->maps == columns) /* whole rows */
        return (struct split_runs){ 1, r.count * columns, all, r.first * columns };
    return (struct split_runs){ r.count * whole->maps, c.count, columns / whole->maps,
                                r.first * columns + c.first };
}

int split_counts(const struct tensor *whole, const struct tensor *own, const struct split *split,
                 int number)
{
    int divided[SPLIT_AXES] = { 0 };
    for (int k = 0; k < whole->rank; k++)
        divided[axis_of(whole, k)] |= whole->shape[k] != own->shape[k];
    for (int axis = 0; axis < SPLIT_AXES; axis++)
        if (!divided[axis] && rank_along(split, (enum split_axis)axis, number))
            return 0;
    return 1;
}

int64_t split_elements(const struct split_runs *r)
{
    return r->runs * r->count;
}

void split_cut(void *part, const void *whole, const struct split_runs *r, size_t bytes)
{
    char *to = part;
    const char *from = whole;
    for (int64_t i = 0; i < r->runs; i++)
        memcpy(to + (size_t)(i * r->count) * bytes,
               from + (size_t)(i * r->stride + r->first) * bytes, (size_t)r->count * bytes);
}

void split_join(void *whole, const void *part, const struct split_runs *r, size_t bytes)
{
    char *to = whole;
    const char *from = part;
    for (int64_t i = 0; i < r->runs; i++)
        memcpy(to + (size_t)(i * r->stride + r->first) * bytes,
               from + (size_t)(i * r->count) * bytes, (size_t)r->count * bytes);
}
