#include "train/ranks/reduce.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/least.h"
#include "common/base/mem.h"

enum {
    TAG_SCATTER = 1,
    TAG_GATHER,
    TAG_COLLECT,
    TILE = 1024,     /* floats added at a time: a stack of them fits in a cache */
    DEPTH = 32,      /* size of the stack: more than the logarithm of any number of members */
    FLIGHT = 4,      /* pieces being sent at a time */
    PIECE = 1 << 17, /* most floats in one message */
    PIECE_LEAST = 1 << 12,
    PIECES = 1 << 20,      /* most floats of room for the pieces of all members */
    GATHER_PIECE = 1 << 26 /* most bytes of a message of a gather */
};

/* ---- the tree -------------------------------------------------------------------------------- */

/* Returns the number of merges after item k (reduce.h). After them, the stack has one sum for each
 * 1 bit of k + 1, the sums of more items below. After the last item it has one sum. */
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

/* Sets to[n] to the sums or maxima, element by element, of the `count` arrays in[]. n is at most
 * TILE. */
static void add_tile(enum reduce_op op, float *to, const float *const *in, int count, int64_t n)
{
    float stack[DEPTH][TILE];
    int top = 0;
    for (int k = 0; k < count; k++) {
        memcpy(stack[top++], in[k], (size_t)n * sizeof *to);
        for (int m = reduce_merges(k, k + 1 == count); m > 0; m--, top--)
            (op == REDUCE_SUM ? add : take_larger)(stack[top - 2], stack[top - 1], n);
    }
    memcpy(to, stack[0], (size_t)n * sizeof *to);
}

/* Does what add_tile does, for any n. `to` may be one of the arrays in[]. at[count] is working
 * memory. */
static void add_piece(enum reduce_op op, float *to, const float *const *in, const float **at,
                      int count, int64_t n)
{
    for (int64_t i = 0; i < n; i += TILE) {
        for (int k = 0; k < count; k++)
            at[k] = in[k] + i;
        add_tile(op, to + i, at, count, smaller(TILE, n - i));
    }
}

/* ---- scatter --------------------------------------------------------------------------------- */

/* A scatter in progress. Piece p of share q begins at element p * piece of the share. Up to FLIGHT
 * pieces are being sent at a time. */
struct scatter {
    struct link *l;
    const struct reduce_group *g;
    enum reduce_op op;
    float *x;
    const int64_t *bounds;
    int64_t piece;
    float *room;                   /* [FLIGHT][size][piece]: received pieces */
    struct link_request *incoming; /* [FLIGHT][size] */
    struct link_request *outgoing; /* [FLIGHT][size] */
    const float **in, **at;        /* [size] */
};

static int64_t piece_size(const struct scatter *s, int q, int64_t p)
{
    int64_t left = s->bounds[q + 1] - s->bounds[q] - p * s->piece;
    return left < 0 ? 0 : smaller(left, s->piece);
}

static float *piece_at(const struct scatter *s, int q, int64_t p)
{
    return s->x + s->bounds[q] + p * s->piece;
}

static float *room_at(const struct scatter *s, int q, int64_t p)
{
    return s->room + (p % FLIGHT * s->g->size + q) * s->piece;
}

/* Begins to receive piece p of this member's share from all others, and to send them piece p of
 * theirs. Returns 0, or -1 with an error. */
static int begin_piece(struct scatter *s, int64_t p)
{
    const struct reduce_group *g = s->g;
    struct link_request *in = s->incoming + p % FLIGHT * g->size;
    struct link_request *out = s->outgoing + p % FLIGHT * g->size;
    const int64_t mine = piece_size(s, g->rank, p);
    for (int q = 0; q < g->size; q++)
        if (q != g->rank && mine &&
            link_receive(s->l, &in[q], g->members[q], TAG_SCATTER, room_at(s, q, p),
                         (size_t)mine * sizeof(float)) < 0)
            return -1;
    for (int k = 1; k < g->size; k++) { /* so that not all members send to the same one first */
        int q = (g->rank + k) % g->size;
        int64_t n = piece_size(s, q, p);
        if (n && link_send(s->l, &out[q], g->members[q], TAG_SCATTER, piece_at(s, q, p),
                           (size_t)n * sizeof(float)) < 0)
            return -1;
    }
    return 0;
}

static int finish_piece(struct scatter *s, int64_t p)
{
    const struct reduce_group *g = s->g;
    const int64_t mine = piece_size(s, g->rank, p);
    if (link_wait(s->l, s->incoming + p % FLIGHT * g->size, g->size) < 0)
        return -1;
    for (int q = 0; q < g->size; q++)
        s->in[q] = q == g->rank ? piece_at(s, q, p) : room_at(s, q, p);
    add_piece(s->op, piece_at(s, g->rank, p), s->in, s->at, g->size, mine);
    return link_wait(s->l, s->outgoing + p % FLIGHT * g->size, g->size);
}

static int run_scatter(struct scatter *s)
{
    int64_t longest = 0;
    for (int q = 0; q < s->g->size; q++)
        longest = s->bounds[q + 1] - s->bounds[q] > longest ? s->bounds[q + 1] - s->bounds[q]
                                                            : longest;
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
    int64_t piece = smaller(PIECE, PIECES / size);
    return piece < PIECE_LEAST ? PIECE_LEAST : piece;
}

uint64_t reduce_room_bytes(int size)
{
    return FLIGHT * (uint64_t)size * (uint64_t)piece_for(size) * sizeof(float);
}

int reduce_scatter(struct link *l, const struct reduce_group *g, enum reduce_op op, float *x,
                   const int64_t *bounds)
{
    const size_t size = (size_t)g->size;
    const int64_t piece = piece_for(g->size);
    struct scatter s = { .l = l, .g = g, .op = op, .x = x, .bounds = bounds, .piece = piece };
    s.room = mem_alloc(FLIGHT * size * (size_t)piece * sizeof *s.room);
    s.incoming = mem_zalloc(FLIGHT * size, sizeof *s.incoming);
    s.outgoing = mem_zalloc(FLIGHT * size, sizeof *s.outgoing);
    s.in = mem_zalloc(size, sizeof *s.in);
    s.at = mem_zalloc(size, sizeof *s.at);
    int result = run_scatter(&s);
    if (result < 0)
        link_keep(l, s.room);
    else
        free(s.room);
    free(s.incoming);
    free(s.outgoing);
    free(s.in);
    free(s.at);
    return result;
}

/* ---- gather ---------------------------------------------------------------------------------- */

/* A list of requests that are in progress; it grows as needed. */
struct batch_of_requests {
    struct link_request *all;
    size_t count, cap;
};

/* Begins to send `bytes` bytes at `data` to member `peer` or, with `receives` 1, to receive them,
 * in messages of at most GATHER_PIECE bytes. Adds the requests to *b. Returns 0, or -1 with an
 * error. */
static int exchange(struct link *l, struct batch_of_requests *b, int peer, int tag, char *data,
                    int64_t bytes, int receives)
{
    for (int64_t i = 0; i < bytes; i += GATHER_PIECE) {
        size_t n = (size_t)smaller(GATHER_PIECE, bytes - i);
        mem_grow(b->all, b->cap, b->count + 1);
        struct link_request *r = &b->all[b->count++];
        *r = (struct link_request){ 0 };
        if ((receives ? link_receive(l, r, peer, tag, data + i, n)
                      : link_send(l, r, peer, tag, data + i, n)) < 0)
            return -1;
    }
    return 0;
}

/* Sends this member's part to all others and receives theirs. at[q] and bytes[q] are the address
 * and size of the part of member q. Returns 0, or -1 with an error. */
static int gather(struct link *l, const struct reduce_group *g, int tag, char *const *at,
                  const int64_t *bytes)
{
    struct batch_of_requests b = { 0 };
    const int rank = g->rank;
    int result = 0;
    for (int q = 0; q < g->size && !result; q++)
        if (q != rank)
            result = exchange(l, &b, g->members[q], tag, at[q], bytes[q], 1);
    for (int k = 1; k < g->size && !result; k++) {
        int q = (rank + k) % g->size;
        result = exchange(l, &b, g->members[q], tag, at[rank], bytes[rank], 0);
    }
    if (!result)
        result = link_wait(l, b.all, (int)b.count);
    free(b.all);
    return result;
}

int reduce_gather(struct link *l, const struct reduce_group *g, void *x, const int64_t *bounds,
                  size_t unit)
{
    char **at = mem_zalloc((size_t)g->size, sizeof *at);
    int64_t *bytes = mem_zalloc((size_t)g->size, sizeof *bytes);
    for (int q = 0; q < g->size; q++) {
        at[q] = (char *)x + bounds[q] * (int64_t)unit;
        bytes[q] = (bounds[q + 1] - bounds[q]) * (int64_t)unit;
    }
    int result = gather(l, g, TAG_GATHER, at, bytes);
    free(at);
    free(bytes);
    return result;
}

int reduce_collect(struct link *l, const struct reduce_group *g, void *all, const void *mine,
                   size_t bytes)
{
    char **at = mem_zalloc((size_t)g->size, sizeof *at);
    int64_t *each = mem_zalloc((size_t)g->size, sizeof *each);
    for (int q = 0; q < g->size; q++) {
        at[q] = (char *)all + (size_t)q * bytes;
        each[q] = (int64_t)bytes;
    }
    memcpy(at[g->rank], mine, bytes);
    int result = gather(l, g, TAG_COLLECT, at, each);
    free(at);
    free(each);
    return result;
}
