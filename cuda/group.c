/* group.c - exchanges of arrays with the GPUs of other processes, by NCCL.
 *
 * NCCL's library is opened when it is needed, so that neither the build nor a run on one GPU needs
 * it. Its functions and types are declared here, as its documentation gives them ("NCCL API"; they
 * have been the same since version 2.13). Its own sums are not used, because their order depends on
 * the number of GPUs and on how they are connected: pieces of the shares are sent, and a kernel
 * adds them (cuda_add_tree). */
#include <dlfcn.h>

#include "cuda/cuda.h"

#ifndef NCCL_LIBRARY /* the Makefile gives emulated devices another one */
#define NCCL_LIBRARY "libnccl.so.2"
#endif

enum { NCCL_SUCCESS = 0, NCCL_IN_PROGRESS = 7, NCCL_BYTES = 1 /* ncclUint8 */ };

struct nccl_id { /* ncclUniqueId: passed by value */
    char bytes[OPS_GROUP_ID];
};

struct nccl {
    int (*get_id)(struct nccl_id *id);
    int (*join)(void **group, int size, struct nccl_id id, int rank);
    int (*leave)(void *group);
    int (*async_error)(void *group, int *error);
    const char *(*error_text)(int error);
    const char *(*last_error)(void *group);
    int (*begin)(void);
    int (*end)(void);
    int (*send)(const void *from, size_t count, int type, int peer, void *group, void *stream);
    int (*receive)(void *to, size_t count, int type, int peer, void *group, void *stream);
};

struct ops_group {
    const struct nccl *library; /* borrowed */
    void *nccl;
    int rank, size, local;
};

/* ---- the library -------------------------------------------------------------------------- */

/* Sets n's functions. Returns 0, or -1 with an error if the library lacks one of them. */
static int find_functions(struct nccl *n, void *library)
{
    const struct {
        const char *name;
        void *function;
    } rows[] = {
        { "ncclGetUniqueId", &n->get_id },
        { "ncclCommInitRank", &n->join },
        { "ncclCommDestroy", &n->leave },
        { "ncclCommGetAsyncError", &n->async_error },
        { "ncclGetErrorString", &n->error_text },
        { "ncclGetLastError", &n->last_error },
        { "ncclGroupStart", &n->begin },
        { "ncclGroupEnd", &n->end },
        { "ncclSend", &n->send },
        { "ncclRecv", &n->receive },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        void *found = dlsym(library, rows[i].name);
        if (!found)
            return err_set("cannot use NCCL: '%s' has no function %s: version 2.13 is needed",
                           NCCL_LIBRARY, rows[i].name);
        memcpy(rows[i].function, &found, sizeof found);
    }
    return 0;
}

int group_find(struct ops *o, char *name)
{
    void *library = dlopen(NCCL_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        err_set("cannot use NCCL: %s", dlerror());
        return 0;
    }
    struct nccl *n = mem_zalloc(1, sizeof *n);
    if (find_functions(n, library) < 0) {
        free(n);
        return -1;
    }
    free(o->group);
    o->group = n;
    device_identify(o, name);
    return 1;
}

/* Returns 0, or -1 with an error if `error` is one of NCCL's. `group` may be NULL. */
static int check(const struct nccl *n, void *group, const char *what, int error)
{
    if (error == NCCL_SUCCESS || error == NCCL_IN_PROGRESS)
        return 0;
    const char *more = n->last_error(group);
    return err_set("NCCL failed: %s: %s%s%s", what, n->error_text(error), more && *more ? ": " : "",
                   more ? more : "");
}

int group_identify(struct ops *o, char *id)
{
    const struct nccl *n = o->group;
    struct nccl_id nccl;
    if (check(n, NULL, "making a group", n->get_id(&nccl)) < 0)
        return -1;
    memcpy(id, nccl.bytes, sizeof nccl.bytes);
    return 0;
}

struct ops_group *group_join(struct ops *o, const char *id, int rank, int size, int local)
{
    struct ops_group *g = mem_zalloc(1, sizeof *g);
    struct nccl_id nccl;
    assert(rank >= 0 && rank < size && local > 0 && size % local == 0);
    *g = (struct ops_group){ o->group, NULL, rank, size, local };
    memcpy(nccl.bytes, id, sizeof nccl.bytes);
    if (check(g->library, NULL, "joining a group", g->library->join(&g->nccl, size, nccl, rank)) <
        0) {
        free(g);
        return NULL;
    }
    return g;
}

void group_leave(struct ops *o, struct ops_group *g)
{
    device_finish(o);
    g->library->leave(g->nccl);
    free(g);
}

int group_takes(const struct ops *o, struct ops_array x)
{
    return !device_is_host(o, x.address);
}

int group_check(const struct ops *, struct ops_group *g)
{
    int error = NCCL_SUCCESS;
    int result = g->library->async_error(g->nccl, &error);
    return check(g->library, g->nccl, "an exchange with other GPUs", result ? result : error);
}

/* ---- exchanges ---------------------------------------------------------------------------- */

/* Begins to send `bytes` bytes to member q, or to receive them from it. */
static int message(struct ops *o, struct ops_group *g, int q, struct ops_array x, int64_t bytes,
                   int receives)
{
    const struct nccl *n = g->library;
    void *at = x.address, *stream = device_stream(o);
    if (bytes <= 0)
        return 0;
    return receives ? check(n, g->nccl, "receiving",
                            n->receive(at, (size_t)bytes, NCCL_BYTES, q, g->nccl, stream))
                    : check(n, g->nccl, "sending",
                            n->send(at, (size_t)bytes, NCCL_BYTES, q, g->nccl, stream));
}

/* The sums or the gather of one level (struct ops_level). q is a number in the level. Piece p of
 * share q begins at element p * piece of the share; a gather has one piece. */
struct reduction {
    struct ops_group *g;
    struct ops_level at;
    struct ops_array x, room; /* room[size,piece]: received pieces */
    const int64_t *bounds;
    int64_t piece;
};

static int64_t share_size(const struct reduction *r, int q)
{
    const int64_t *share = ops_level_share(&r->at, r->bounds, q);
    return share[1] - share[0];
}

static int64_t piece_size(const struct reduction *r, int q, int64_t p)
{
    int64_t left = share_size(r, q) - p * r->piece;
    return left < 0 ? 0 : left < r->piece ? left : r->piece;
}

static struct ops_array piece_at(const struct reduction *r, int q, int64_t p)
{
    return ops_part(r->x, *ops_level_share(&r->at, r->bounds, q) + p * r->piece);
}

/* Sends piece p of each other member's share to it, and receives piece p of this member's own; or,
 * if `gathers` is 1, sends piece p of this member's share to all others, and receives theirs. */
static int exchange(struct ops *o, const struct reduction *r, int64_t p, int gathers)
{
    struct ops_group *g = r->g;
    const struct ops_level *at = &r->at;
    const int64_t each = (int64_t)ops_type_bytes(r->x.type);
    int result = check(g->library, g->nccl, "an exchange", g->library->begin());
    for (int q = 0; q < at->size && !result; q++) {
        const int member = ops_level_member(at, q);
        const int in = gathers ? q : at->rank, out = gathers ? at->rank : q; /* the shares */
        if (q == at->rank)
            continue;
        result = message(o, g, member,
                         gathers ? piece_at(r, q, p) : ops_part(r->room, q * r->piece),
                         piece_size(r, in, p) * each, 1);
        if (!result)
            result = message(o, g, member, piece_at(r, out, p), piece_size(r, out, p) * each, 0);
    }
    return result ? -1 : check(g->library, g->nccl, "an exchange", g->library->end());
}

static int reduce_pieces(struct ops *o, struct reduction *r, int most)
{
    const struct ops_level *at = &r->at;
    int64_t longest = 0;
    int result = 0;
    for (int q = 0; q < at->size; q++)
        longest = share_size(r, q) > longest ? share_size(r, q) : longest;
    r->piece = OPS_GROUP_ROOM / at->size;
    r->piece = longest < r->piece ? longest : r->piece;
    r->room = cuda_room(o, ROOM_GROUP, OPS_F32, OPS_GROUP_ROOM);
    for (int64_t p = 0; p * r->piece < longest && !result && at->size > 1; p++) {
        result = exchange(o, r, p, 0);
        if (!result)
            cuda_add_tree(o, piece_at(r, at->rank, p), r->room, r->piece, at->rank, at->size,
                          piece_size(r, at->rank, p), most);
    }
    return result;
}

int group_reduce(struct ops *o, struct ops_group *g, int most, struct ops_array x,
                 const int64_t *bounds)
{
    struct reduction r = { .g = g, .x = x, .bounds = bounds };
    int result = 0;
    assert(x.type == OPS_F32);
    device_select(o, OPS_COMM);
    for (int h = 0; h < g->size / g->local && !result; h++) {
        r.at = ops_level_within(g->rank, g->local, h);
        result = reduce_pieces(o, &r, most);
    }
    r.at = ops_level_between(g->rank, g->size, g->local);
    result = result ? result : reduce_pieces(o, &r, most);
    device_select(o, OPS_COMPUTE);
    return result;
}

int group_gather(struct ops *o, struct ops_group *g, struct ops_array x, const int64_t *bounds)
{
    struct reduction r = { .g = g, .x = x, .bounds = bounds, .piece = INT64_MAX };
    device_select(o, OPS_COMM);
    r.at = ops_level_between(g->rank, g->size, g->local);
    int result = exchange(o, &r, 0, 1);
    for (int h = 0; h < g->size / g->local && !result; h++) {
        r.at = ops_level_within(g->rank, g->local, h);
        result = exchange(o, &r, 0, 1);
    }
    device_select(o, OPS_COMPUTE);
    return result;
}
