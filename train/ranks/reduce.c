#include "train/ranks/reduce.h"

#include "common/base/least.h"
#include "model/compute/ops_exchange.h"

enum {
    TAG_SCATTER = 1,
    TAG_GATHER,
    TAG_COLLECT,
    TILE = 1024,     /* floats added at a time: a stack of them fits in a cache */
    DEPTH = 32,      /* size of the stack: more than the logarithm of any number of members */
    FLIGHT = 4,      /* pieces being sent at a time */
    PIECE = 1 << 17, /* most floats in one message */
    PIECE_LEAST = 1 << 12,
    PIECES = 1 << 20 /* most floats that are on their way from all members at once */
};

/* ---- the tree -------------------------------------------------------------------------------- */

/* Returns the number of merges after item k (reduce.h). They leave one sum on the stack for each 1
 * bit of k + 1, sums of more items below those of fewer; after the last item, only one sum. */
int reduce_merges(int64_t k, int last)
{
    if (last)
        return __builtin_popcountll((unsigned long long)k);
    return __builtin_ctzll(~(unsigned long long)k);
}

static void add(float *restrict to, const float *restrict from, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        to[i] += from[i];
}

static void take_larger(float *restrict to, const float *restrict from, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        to[i] = to[i] >= from[i] ? to[i] : from[i];
}

/* Sets the elements i to i + n - 1 of `to`, which may be one of the arrays in[], to the sums or
 * maxima, element by element, of the `count` arrays in[]. n is at most TILE. */
static void add_tile(enum reduce_op op, float *to, const float *const *in, int count, int64_t i,
                     int64_t n)
{
    float stack[DEPTH][TILE];
    int top = 0;
    for (int k = 0; k < count; k++) {
        memcpy(stack[top++], in[k] + i, (size_t)n * sizeof *to);
        for (int m = reduce_merges(k, k + 1 == count); m > 0; m--, top--)
            (op == REDUCE_SUM ? add : take_larger)(stack[top - 2], stack[top - 1], n);
    }
    memcpy(to + i, stack[0], (size_t)n * sizeof *to);
}

/* ---- scatter --------------------------------------------------------------------------------- */

/* A scatter in progress in one level of the group (ops_exchange.h). q is a number in the level.
 * Piece p of share q begins at element p * piece of the share. Up to FLIGHT pieces are being sent
 * at a time. */
struct scatter {
    struct link *l;
    const int *members;
    struct ops_level g;
    enum reduce_op op;
    float *x;
    const int64_t *bounds;
    int64_t piece;
    float *room;                   /* [FLIGHT][size][piece]: received pieces */
    struct link_request *incoming; /* [FLIGHT][size] */
    struct link_request *outgoing; /* [FLIGHT][size] */
    const float **in;              /* [size] */
};

static int member_at(const int *members, const struct ops_level *g, int q)
{
    return members[ops_level_member(g, q)];
}

static int64_t share_size(const struct scatter *s, int q)
{
    const int64_t *share = ops_level_share(&s->g, s->bounds, q);
    return share[1] - share[0];
}

static int64_t piece_size(const struct scatter *s, int q, int64_t p)
{
    int64_t left = share_size(s, q) - p * s->piece;
    return left < 0 ? 0 : smaller(left, s->piece);
}

static float *piece_at(const struct scatter *s, int q, int64_t p)
{
    return s->x + *ops_level_share(&s->g, s->bounds, q) + p * s->piece;
}

static float *room_at(const struct scatter *s, int q, int64_t p)
{
    return s->room + (p % FLIGHT * s->g.size + q) * s->piece;
}

/* Begins to receive piece p of this member's share from all others, and to send them piece p of
 * theirs. */
static int begin_piece(struct scatter *s, int64_t p)
{
    const struct ops_level *g = &s->g;
    struct link_request *in = s->incoming + p % FLIGHT * g->size;
    struct link_request *out = s->outgoing + p % FLIGHT * g->size;
    const int64_t mine = piece_size(s, g->rank, p);
    for (int q = 0; q < g->size; q++)
        if (q != g->rank && mine &&
            link_message(s->l, &in[q], member_at(s->members, g, q), TAG_SCATTER, room_at(s, q, p),
                         (size_t)mine * sizeof(float), 1) < 0)
            return -1;
    for (int k = 1; k < g->size; k++) { /* so that not all members send to the same one first */
        int q = (g->rank + k) % g->size;
        int64_t n = piece_size(s, q, p);
        if (n && link_message(s->l, &out[q], member_at(s->members, g, q), TAG_SCATTER,
                              piece_at(s, q, p), (size_t)n * sizeof(float), 0) < 0)
            return -1;
    }
    return 0;
}

static int finish_piece(struct scatter *s, int64_t p)
{
    const struct ops_level *g = &s->g;
    const int64_t mine = piece_size(s, g->rank, p);
    if (link_wait(s->l, s->incoming + p % FLIGHT * g->size, g->size) < 0)
        return -1;
    for (int q = 0; q < g->size; q++)
        s->in[q] = q == g->rank ? piece_at(s, q, p) : room_at(s, q, p);
    for (int64_t i = 0; i < mine; i += TILE)
        add_tile(s->op, piece_at(s, g->rank, p), s->in, g->size, i, smaller(TILE, mine - i));
    return link_wait(s->l, s->outgoing + p % FLIGHT * g->size, g->size);
}

static int run_scatter(struct scatter *s)
{
    int64_t longest = 0;
    for (int q = 0; q < s->g.size; q++)
        longest = larger(longest, share_size(s, q));
    int64_t pieces = (longest + s->piece - 1) / s->piece;
    int result = 0;
    for (int64_t p = 0; p < pieces + FLIGHT - 1 && !result; p++) {
        if (p < pieces)
            result = begin_piece(s, p);
        if (!result && p >= FLIGHT - 1)
            result = finish_piece(s, p - FLIGHT + 1);
    }
    return result;
}

static int64_t piece_for(int size)
{
    return larger(PIECE_LEAST, smaller(PIECE, PIECES / size));
}

uint64_t reduce_room_bytes(int size)
{
    return FLIGHT * (uint64_t)size * (uint64_t)piece_for(size) * sizeof(float);
}

/* Does the scatter that s describes. Returns 0, or -1 with an error. */
static int scatter_level(struct scatter s)
{
    const size_t size = (size_t)s.g.size;
    const int64_t piece = s.piece = piece_for(s.g.size);
    if (size == 1)
        return 0;
    s.room = mem_alloc(FLIGHT * size * (size_t)piece * sizeof *s.room);
    SCOPED_MEM struct link_request *requests = mem_zalloc(2 * FLIGHT * size, sizeof *requests);
    SCOPED_MEM const float **arrays = mem_zalloc(size, sizeof *arrays);
    s.incoming = requests;
    s.outgoing = requests + FLIGHT * size;
    s.in = arrays;
    int result = run_scatter(&s);
    if (result < 0)
        link_keep(s.l, s.room);
    else
        free(s.room);
    return result;
}

int reduce_scatter(struct link *l, const struct reduce_group *g, enum reduce_op op, float *x,
                   const int64_t *bounds)
{
    struct scatter s = { .l = l, .members = g->members, .op = op, .x = x, .bounds = bounds };
    int result = 0;
    for (int h = 0; h < g->size / g->local && !result; h++) {
        s.g = ops_level_within(g->rank, g->local, h);
        result = scatter_level(s);
    }
    s.g = ops_level_between(g->rank, g->size, g->local);
    return result ? result : scatter_level(s);
}

/* ---- gather ---------------------------------------------------------------------------------- */

/* Sends this member's share of a level to its other members and receives theirs. */
static int gather_level(struct link *l, const struct reduce_group *all, struct ops_level g, char *x,
                        const int64_t *bounds, size_t unit)
{
    struct link_list messages = { 0 };
    int result = 0;
    for (int k = 1; k < 2 * g.size && !result; k++) { /* not all send to the same one first */
        const int q = (g.rank + k) % g.size, receives = k < g.size;
        const int64_t *share = ops_level_share(&g, bounds, receives ? q : g.rank);
        if (q != g.rank)
            result = link_exchange(l, &messages, member_at(all->members, &g, q), TAG_GATHER,
                                   x + share[0] * (int64_t)unit,
                                   (size_t)(share[1] - share[0]) * unit, receives);
    }
    if (!result)
        result = link_wait(l, messages.all, (int)messages.count);
    free(messages.all);
    return result;
}

int reduce_gather(struct link *l, const struct reduce_group *g, void *x, const int64_t *bounds,
                  size_t unit)
{
    int result = gather_level(l, g, ops_level_between(g->rank, g->size, g->local), x, bounds, unit);
    for (int h = 0; h < g->size / g->local && !result; h++)
        result = gather_level(l, g, ops_level_within(g->rank, g->local, h), x, bounds, unit);
    return result;
}

/* ---- small values ---------------------------------------------------------------------------- */

int reduce_collect(struct link *l, const struct reduce_group *g, void *all, const void *mine,
                   size_t bytes)
{
    const int size = g->size, rank = g->rank;
    char *got = mem_alloc((size_t)size * bytes); /* `mine` of this member and those after it */
    int result = 0;
    memcpy(got, mine, bytes);
    for (int n = 1; n < size && !result; n *= 2) {
        const int from = g->members[(rank + n) % size], to = g->members[(rank - n + size) % size];
        const size_t more = (size_t)smaller(n, size - n) * bytes;
        struct link_list messages = { 0 };
        result = link_exchange(l, &messages, from, TAG_COLLECT, got + (size_t)n * bytes, more, 1);
        if (!result)
            result = link_exchange(l, &messages, to, TAG_COLLECT, got, more, 0);
        if (!result)
            result = link_wait(l, messages.all, (int)messages.count);
        free(messages.all);
    }
    for (int k = 0; k < size && !result; k++)
        memcpy((char *)all + (size_t)((rank + k) % size) * bytes, got + (size_t)k * bytes, bytes);
    if (result < 0)
        link_keep(l, got);
    else
        free(got);
    return result;
}
