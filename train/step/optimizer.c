#include "train/step/optimizer.h"

#include <math.h>

#include "common/base/rng.h"

enum { KEY_ROUNDING = 0x726f756e64 }; /* differs from the keys of other uses of the seed */

enum {
    NEWTON_SCHULZ = 5, /* iterations of Muon */
    LAMB_SQUARES = 2,  /* sums of squares of a tensor */
    CHUNK = 1 << 17    /* elements of bf16 arrays converted to f32 at a time; they fit in a cache */
};

/* Returns the optimizer for one tensor. Muon is for the matrices inside layers. It is not for
 * embedding tables, whose rows are independent of each other. */
static enum optimizer_kind kind_for(enum optimizer_kind kind, const struct tensor_table *t,
                                    const struct tensor *row)
{
    if (kind != OPTIMIZER_MUON)
        return kind;
    int in_a_layer = row->block > 0 && row->block < t->blocks - 1;
    return row->rank == 2 && in_a_layer ? OPTIMIZER_MUON : OPTIMIZER_ADAMW;
}

unsigned char *optimizer_moments(enum optimizer_kind kind, const struct tensor_table *t)
{
    static const unsigned char count[] = {
        [OPTIMIZER_ADAMW] = 2,  [OPTIMIZER_ADAM] = 2, [OPTIMIZER_LAMB] = 2,
        [OPTIMIZER_NVLAMB] = 2, [OPTIMIZER_SGD] = 0,  [OPTIMIZER_MOMENTUM] = 1,
        [OPTIMIZER_MUON] = 1,
    };
    unsigned char *moments = mem_zalloc(t->count, 1);
    for (size_t i = 0; i < t->count; i++)
        moments[i] = count[kind_for(kind, t, &t->rows[i])];
    return moments;
}

static int is_lamb(enum optimizer_kind kind)
{
    return kind == OPTIMIZER_LAMB || kind == OPTIMIZER_NVLAMB;
}

static int is_whole(enum optimizer_kind kind)
{
    return is_lamb(kind) || kind == OPTIMIZER_MUON;
}

unsigned char *optimizer_whole(enum optimizer_kind kind, const struct tensor_table *t)
{
    unsigned char *whole = mem_zalloc(t->count, 1);
    for (size_t i = 0; i < t->count; i++)
        whole[i] = (unsigned char)is_whole(kind_for(kind, t, &t->rows[i]));
    return whole;
}

/* Returns x itself if it is F32, else a copy of it as F32 in scratch memory. */
static struct ops_array as_floats(struct ops *o, struct ops_array x, int64_t n)
{
    if (x.type == OPS_F32 || ops_is_none(x))
        return x;
    struct ops_array floats = ops_scratch(o, OPS_F32, n);
    ops_copy(o, floats, x, n);
    return floats;
}

static int is_finite(struct ops *o, struct ops_array x, int64_t n)
{
    double squares = 0;
    for (int64_t i = 0; i < n && isfinite(squares); i += OPS_PIECE) {
        const struct ops_run piece = { 0, n - i < OPS_PIECE ? n - i : OPS_PIECE, 0 };
        ops_scratch_begin(o);
        struct ops_array sum = ops_scratch(o, OPS_F64, 1);
        ops_sum_squares(o, sum, as_floats(o, ops_part(x, i), piece.n), &piece, 1);
        ops_download(o, &squares, sum, 1);
    }
    return isfinite(squares);
}

const struct tensor *optimizer_not_finite(struct store *s, enum store_kind kind)
{
    const struct tensor *found = NULL;
    for (size_t i = 0; i < s->tensors->count && !found; i++) {
        const struct tensor *row = &s->tensors->rows[i];
        const struct split_part own = layout_own(&s->layout, s->tensors, i);
        if (!own.count)
            continue;
        struct ops_array x = store_fetch(s, kind, row->block, MODE_READ, 1);
        if (!is_finite(s->ops, store_own_tensor(s, kind, x, i), own.count))
            found = row;
        store_release(s, kind, row->block, 1);
    }
    return found;
}

double optimizer_clip_factor(const struct optimizer *a, double norm)
{
    double longest = a->clip > 0 ? a->clip : INFINITY;
    if (a->kind == OPTIMIZER_NVLAMB && longest > 1)
        longest = 1;
    return norm > longest ? longest / norm : 1;
}

/* The F32 arrays of one tensor, or of a piece of it. m and v may be OPS_NONE. */
struct tensor_state {
    struct ops_array w, g, m, v;
    int64_t n;
};

/* Returns the settings of the update, with the decay of this tensor. */
static struct ops_adamw adam_of(const struct optimizer_update *u, const struct tensor *row)
{
    struct ops_adamw h = u->h;
    h.decay = row->rank == 2 || u->optimizer->decay_all ? u->optimizer->weight_decay : 0;
    return h;
}

/* The two passes over the tensors of a block. LAMB needs both: ranks that share a tensor sum its
 * squares in between. */
enum pass { PASS_FIRST, PASS_SECOND };

/* Makes x[R,C] nearly orthogonal: divides it by its norm, and repeats X <- aX + (bA + cA^2) X with
 * A = X X^T, or X <- aX + X (bA + cA^2) with A = X^T X, whichever A is smaller (Newton-Schulz).
 * Each singular value s becomes a s + b s^3 + c s^5, which drives values in (0, 1] towards 1. The
 * constants are Jordan's (Muon, 2024). They make small values grow fast, but 1 is not a fixed
 * point. */
static void newton_schulz(struct ops *o, struct ops_array x, int64_t R, int64_t C)
{
    const double a = 3.4445, b = -4.7750, c = 2.0315;
    const int tall = R > C;
    const int64_t n = tall ? C : R;
    struct ops_array A = ops_scratch(o, OPS_F32, n * n), P = ops_scratch(o, OPS_F32, n * n);
    struct ops_array Y = ops_scratch(o, OPS_F32, R * C);
    const struct ops_matrix square = { A, n, 0 }, p = { P, n, 0 }, X = { x, C, 0 };
    const struct ops_matmul gram = {
        .C = square, .A = { x, C, tall }, .B = { x, C, !tall }, .M = n, .N = n, .K = tall ? R : C
    };
    const struct ops_matmul squared = { .C = p, .A = square, .B = square, .M = n, .N = n, .K = n };
    const struct ops_matmul apply = {
        .C = { Y, C }, .A = tall ? X : p, .B = tall ? p : X, .M = R, .N = C, .K = n
    };
    ops_normalise(o, x, R * C);
    for (int i = 0; i < NEWTON_SCHULZ; i++) {
        ops_matmul(o, &gram);
        ops_matmul(o, &squared);
        ops_blend(o, P, c, A, b, n * n);
        ops_matmul(o, &apply);
        ops_blend(o, x, a, Y, 1, R * C);
    }
}

/* Sets x to matrix i of which tensor-parallel ranks have parts of the same size; `own` is that of
 * this rank. */
static void join_parts(const struct optimizer_update *u, size_t i, struct ops_array x,
                       struct ops_array own)
{
    const struct store *s = u->store;
    const int64_t n = tensor_elements(&s->unsplit->rows[i]);
    const int64_t each = tensor_elements(&s->tensors->rows[i]);
    SCOPED_MEM float *mine = mem_alloc((size_t)each * sizeof *mine);
    ops_download(s->ops, mine, own, each);
    SCOPED_MEM float *all = comm_collect(u->comm, COMM_TENSOR, mine, (size_t)each * sizeof *mine,
                                         "gather of a tensor");
    float *to = ops_fill(s->ops, x, n);
    for (int q = 0; q < split_all(s->split); q++) {
        const struct split_runs runs = store_runs(s, i, q);
        assert(split_elements(&runs) == each);
        split_join(to, all + q * each, &runs, sizeof *to);
    }
    ops_unmap(s->ops, x, n, to);
}

/* Replaces g, this rank's part of matrix i, by its part of the orthogonalised whole. */
static void orthogonalise(const struct optimizer_update *u, size_t i, struct ops_array g)
{
    struct store *s = u->store;
    const struct tensor *whole = &s->unsplit->rows[i];
    const int64_t n = tensor_elements(whole), own = tensor_elements(&s->tensors->rows[i]);
    struct ops_array x = g;
    if (store_is_split(s, i)) {
        x = ops_scratch(s->ops, OPS_F32, n);
        join_parts(u, i, x, g);
    }
    newton_schulz(s->ops, x, whole->shape[0], whole->shape[1]);
    if (!store_is_split(s, i))
        return;
    const struct split_runs runs = store_runs(s, i, split_number(s->split));
    float *from = ops_map(s->ops, x, n), *to = ops_fill(s->ops, g, own);
    split_cut(to, from, &runs, sizeof *to);
    ops_unmap(s->ops, g, own, to);
    ops_unmap(s->ops, x, n, from);
}

static void muon(const struct optimizer_update *u, size_t i, const struct tensor_state *x,
                 const struct ops_adamw *h)
{
    struct ops *o = u->store->ops;
    const struct tensor *whole = &u->store->unsplit->rows[i];
    const double longer = (double)(whole->shape[0] > whole->shape[1] ? whole->shape[0]
                                                                     : whole->shape[1]);
    ops_blend(o, x->m, h->momentum, x->g, h->gradient_scale, x->n);
    ops_blend(o, x->g, h->gradient_scale, x->m, h->momentum, x->n);
    orthogonalise(u, i, x->g);
    ops_blend(o, x->w, 1 - h->rate * h->decay, x->g, -h->rate * 0.2 * sqrt(longer), x->n);
}

/* Updates tensor i by any optimizer except AdamW. Only LAMB has a second pass. */
static void update_tensor(const struct optimizer_update *u, size_t i, const struct tensor_state *x,
                          enum pass pass)
{
    const struct optimizer *a = u->optimizer;
    const struct tensor *row = &u->store->tensors->rows[i];
    struct ops *o = u->store->ops;
    const struct ops_adamw h = adam_of(u, row);
    const struct ops_array squares = ops_part(u->squares, (int64_t)i * LAMB_SQUARES);
    switch (kind_for(a->kind, u->store->tensors, row)) {
    case OPTIMIZER_ADAMW: assert(0); break; /* optimizer_update_block does it */
    case OPTIMIZER_ADAM: ops_adam(o, x->w, x->m, x->v, x->g, x->n, &h); break;
    case OPTIMIZER_LAMB:
    case OPTIMIZER_NVLAMB:
        if (pass == PASS_FIRST)
            ops_lamb_begin(o, squares, x->w, x->m, x->v, x->g, x->n, &h);
        else
            ops_lamb_end(o, x->w, x->g, squares, x->n, &h);
        break;
    case OPTIMIZER_SGD:
    case OPTIMIZER_MOMENTUM: ops_sgd(o, x->w, x->m, x->g, x->n, &h); break;
    case OPTIMIZER_MUON: muon(u, i, x, &h); break;
    }
}

/* Returns the number of elements of a tensor that are converted to f32 at a time if some array is
 * bf16: a chunk, or the whole tensor if the update needs it; 0 for AdamW, which computes with bf16
 * arrays directly. */
static int64_t piece_of(const struct optimizer *a, const struct tensor_table *t,
                        const struct tensor *row)
{
    enum optimizer_kind kind = kind_for(a->kind, t, row);
    int64_t n = tensor_elements(row);
    if (kind == OPTIMIZER_ADAMW)
        return 0;
    return is_whole(kind) || n < CHUNK ? n : CHUNK;
}

int64_t optimizer_scratch(const struct optimizer *a, const struct tensor_table *t,
                          const struct tensor_table *whole, int halves)
{
    int64_t most = 0;
    for (size_t i = 0; i < t->count; i++) {
        const struct tensor *row = &whole->rows[i];
        const int64_t all = tensor_elements(row);
        int64_t need = halves * piece_of(a, t, &t->rows[i]);
        if (kind_for(a->kind, t, &t->rows[i]) == OPTIMIZER_MUON) {
            const int64_t R = row->shape[0], C = row->shape[1], n = R < C ? R : C;
            need += 2 * n * n + all;
            if (tensor_elements(&t->rows[i]) < all)
                need += 2 * all; /* the matrix, and the parts of all ranks */
        }
        most = need > most ? need : most;
    }
    return most;
}

/* The kinds of arrays (program.h) that OPS_W, OPS_M and OPS_V stand for. */
static const enum store_kind kept_kinds[OPS_STATES] = { STORE_PARAMETERS, STORE_MOMENT1,
                                                        STORE_MOMENT2 };

/* Like update_tensor, piece by piece if an array is bf16: each piece is converted to f32 in scratch
 * memory, updated, and rounded back. */
static void update_pieces(const struct optimizer_update *u, size_t row,
                          const struct ops_state kept[OPS_STATES], struct ops_array g, int64_t size,
                          enum pass pass)
{
    struct ops *o = u->store->ops;
    const struct tensor_table *t = u->store->tensors;
    int halves = 0;
    for (int k = 0; k < OPS_STATES; k++)
        halves += kept[k].at.type == OPS_BF16;
    int64_t piece = halves ? piece_of(u->optimizer, t, &t->rows[row]) : size;
    for (int64_t i = 0; i < size; i += piece) {
        const int64_t n = size - i < piece ? size - i : piece;
        struct ops_array at[OPS_STATES];
        ops_scratch_begin(o);
        for (int k = 0; k < OPS_STATES; k++)
            at[k] = as_floats(o, ops_part(kept[k].at, i), n);
        update_tensor(u, row,
                      &(struct tensor_state){ at[OPS_W], ops_part(g, i), at[OPS_M], at[OPS_V], n },
                      pass);
        for (int k = 0; k < OPS_STATES; k++)
            if (kept[k].at.type == OPS_BF16)
                ops_round(o, (struct ops_state){ ops_part(kept[k].at, i), kept[k].key }, at[k], n,
                          (uint64_t)i);
    }
}

/* Returns this rank's part of a tensor, and the key of the random numbers for stochastic rounding.
 * One random number serves four elements, so the part starts at number first / 4. */
static struct ops_state kept_part(const struct optimizer_update *u, int k, struct ops_array own,
                                  size_t row, int64_t first)
{
    uint64_t key = rng_key(rng_key(u->key, row), (uint64_t)k);
    return (struct ops_state){ store_own_tensor(u->store, kept_kinds[k], own, row),
                               rng_from(key, (uint64_t)first / 4) };
}

/* Replaces the squares of the tensors first to end - 1 by their sums over the ranks that share
 * these tensors. With ZeRO only one data-parallel rank has computed them; those of others are 0. */
static void sum_squares(const struct optimizer_update *u, size_t first, size_t end)
{
    struct store *s = u->store;
    const size_t n = (end - first) * LAMB_SQUARES;
    const int data = u->comm->size[COMM_DATA], tensor = u->comm->size[COMM_TENSOR];
    struct ops_array squares = ops_part(u->squares, (int64_t)first * LAMB_SQUARES);
    SCOPED_MEM double *own = mem_zalloc(n, sizeof *own), *sums = mem_zalloc(n, sizeof *sums);
    ops_download(s->ops, own, squares, (int64_t)n);
    if (s->layout.ranks > 1) {
        SCOPED_MEM double *all = comm_collect(u->comm, COMM_DATA, own, n * sizeof *all,
                                              "squares of weights");
        for (size_t i = 0; i < n; i++)
            for (int q = 0; q < data; q++)
                own[i] = (q ? own[i] : 0) + all[(size_t)q * n + i];
    }
    SCOPED_MEM double *all = comm_collect(u->comm, COMM_TENSOR, own, n * sizeof *all,
                                          "squares of weights");
    for (size_t i = 0; i < n; i++)
        for (int q = 0; q < tensor; q++)
            sums[i] += store_counts(s, first + i / LAMB_SQUARES, q) ? all[(size_t)q * n + i] : 0;
    ops_upload(s->ops, squares, sums, (int64_t)n);
}

/* Does LAMB's second pass over the tensors first to end - 1. */
static void lamb_again(const struct optimizer_update *u, size_t first, size_t end,
                       struct ops_array w, struct ops_array g)
{
    const struct store *s = u->store;
    if (s->split)
        sum_squares(u, first, end);
    for (size_t i = first; i < end; i++) {
        const struct split_part own = layout_own(&s->layout, s->tensors, i);
        const struct ops_state kept[OPS_STATES] = { kept_part(u, OPS_W, w, i, own.first) };
        if (own.count)
            update_pieces(u, i, kept, store_own_tensor(s, STORE_GRADIENTS, g, i), own.count,
                          PASS_SECOND);
    }
}

void optimizer_update_block(const struct optimizer_update *u, int block,
                            const struct ops_array state[OPS_STATES], struct ops_array g)
{
    const struct store *s = u->store;
    const struct tensor_table *t = s->tensors;
    const size_t first = t->first[block], end = t->first[block + 1];
    for (size_t i = first; i < end; i++) {
        const struct split_part own = layout_own(&s->layout, t, i);
        struct ops_state kept[OPS_STATES];
        if (!own.count)
            continue;
        for (int k = 0; k < OPS_STATES; k++)
            kept[k] = kept_part(u, k, state[k], i, own.first);
        const struct ops_array part = store_own_tensor(s, STORE_GRADIENTS, g, i);
        const struct ops_adamw h = adam_of(u, &t->rows[i]);
        if (kind_for(u->optimizer->kind, t, &t->rows[i]) == OPTIMIZER_ADAMW)
            ops_adamw(s->ops, kept, part, own.count, &h);
        else
            update_pieces(u, i, kept, part, own.count, PASS_FIRST);
    }
    if (!ops_is_none(u->squares) && first < end)
        lamb_again(u, first, end, state[OPS_W], g);
}

void optimizer_begin(struct optimizer_update *u, const struct optimizer *a, struct store *s,
                     struct comm *c, double norm, double rate, int64_t t)
{
    int correct = a->bias_correction;
    *u = (struct optimizer_update){ .optimizer = a,
                                    .store = s,
                                    .comm = c,
                                    .h = {
                                        .rate = rate,
                                        .beta1 = a->beta1,
                                        .beta2 = a->beta2,
                                        .epsilon = a->epsilon,
                                        .momentum = a->momentum,
                                        .gradient_scale = optimizer_clip_factor(a, norm),
                                        .m_correction = correct ? 1 / (1 - pow(a->beta1, (double)t))
                                                                : 1,
                                        .v_correction = correct ? 1 / (1 - pow(a->beta2, (double)t))
                                                                : 1,
                                    } };
    u->key = rng_key(rng_key(rng_key(0, a->seed), KEY_ROUNDING), (uint64_t)t);
    if (is_lamb(a->kind))
        u->squares = ops_buffer(s->ops, OPS_F64, (int64_t)s->tensors->count * LAMB_SQUARES);
}

void optimizer_end(struct optimizer_update *u)
{
    ops_buffer_free(u->store->ops, u->squares);
}
