#include "tests/unit/threads.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"
#include "common/base/log.h"
#include "common/base/mem.h"

enum { EAGER = 128 };

/* A send or a receive that has begun. A send has no copy of its data, and ends when its receive has
 * begun, as that of a long message by MPI. So a sender that changes the data too early is found
 * out, and so are ranks that wait for each other for ever. A send of at most EAGER bytes ends at
 * once; a copy of the request waits in its place. */
struct request {
    struct request *next;   /* in the order begun */
    struct request *before; /* of all requests and copies of the run, which threads_free frees */
    int sends, from, to, tag, done;
    size_t bytes;
    const void *data; /* of a send */
    void *room;       /* of a receive */
    char copy[EAGER];
};

struct threads {
    int ranks, of_a_host; /* of_a_host 0: all */
    uint64_t sent;        /* bytes of long messages to other hosts */
    pthread_mutex_t lock;
    struct request *open; /* sends and receives that have no partner yet */
    struct request *last; /* of all */
    int ended;            /* end_all was called */
    double timeout;
    void (*failed)(void *ctx, const char *error);
    void *failed_ctx;
    void (*fn)(void *ctx, struct comm *c);
    void *ctx;
};

/* The transport of one rank. */
struct world {
    struct threads *all;
    int rank;
    int failed; /* end_all was called by this rank */
};

/* ---- the transport ------------------------------------------------------------------------- */

static void *open_world(void *context, int *rank, int *size, char *error, size_t room)
{
    struct world *w = context;
    (void)error, (void)room;
    *rank = w->rank;
    *size = w->all->ranks;
    return w;
}

static void close_world(void *world)
{
    (void)world;
}

static void end_all(void *world)
{
    struct world *w = world;
    struct threads *all = w->all;
    if (all->failed && !w->failed++)
        all->failed(all->failed_ctx, err_get());
    pthread_mutex_lock(&all->lock);
    all->ended = 1;
    pthread_mutex_unlock(&all->lock);
}

/* The first open request that fits; from -1: from anybody. The lock is held. */
static struct request **find(struct threads *all, int sends, int from, int to, int tag)
{
    struct request **r = &all->open;
    while (*r && !((*r)->sends == sends && (*r)->to == to && (*r)->tag == tag &&
                   (from < 0 || (*r)->from == from)))
        r = &(*r)->next;
    return r;
}

static struct request *request_new(struct threads *all, const struct request *made)
{
    struct request *r = mem_zalloc(1, sizeof *r);
    *r = *made;
    r->before = all->last;
    return all->last = r;
}

/* Ends a short send and returns the copy that waits for the receive. */
static struct request *copy_of(struct threads *all, struct request *r)
{
    struct request *copy = request_new(all, r);
    memcpy(copy->copy, r->data, r->bytes);
    copy->data = copy->copy;
    r->done = 1;
    return copy;
}

/* Copies the data of a new request and its partner, or keeps the request open. After the end of the
 * run it does nothing, because the memory of open requests may be gone. */
static void *begin(struct threads *all, const struct request *made)
{
    struct request *r, **last;
    pthread_mutex_lock(&all->lock);
    if (all->ended) {
        pthread_mutex_unlock(&all->lock);
        return NULL;
    }
    r = request_new(all, made);
    if (r->sends && r->bytes > EAGER && all->of_a_host &&
        r->from / all->of_a_host != r->to / all->of_a_host)
        all->sent += r->bytes;
    struct request **place = find(all, !r->sends, r->from, r->to, r->tag), *partner = *place;
    if (partner) {
        assert(partner->bytes == r->bytes);
        memcpy(r->sends ? partner->room : r->room, r->sends ? r->data : partner->data, r->bytes);
        *place = partner->next;
        partner->done = r->done = 1;
    } else {
        for (last = &all->open; *last; last = &(*last)->next)
            continue;
        *last = r->sends && r->bytes <= EAGER ? copy_of(all, r) : r;
    }
    pthread_mutex_unlock(&all->lock);
    return r;
}

static int begin_bytes(void *world, void **request, int peer, int tag, void *data, size_t bytes,
                       int receives)
{
    const struct world *w = world;
    const struct request r = { .sends = !receives,
                               .from = receives ? peer : w->rank,
                               .to = receives ? w->rank : peer,
                               .tag = tag,
                               .bytes = bytes,
                               .data = receives ? NULL : data,
                               .room = receives ? data : NULL };
    *request = begin(w->all, &r);
    return *request ? 0 : -1;
}

static int test(void *world, void *request)
{
    struct world *w = world;
    struct request *r = request;
    pthread_mutex_lock(&w->all->lock);
    int done = w->all->ended ? -1 : r->done;
    pthread_mutex_unlock(&w->all->lock);
    return done;
}

static int probe(void *world, int tag, int *from)
{
    struct world *w = world;
    pthread_mutex_lock(&w->all->lock);
    const struct request *r = *find(w->all, 1, -1, w->rank, tag);
    int ended = w->all->ended;
    if (r)
        *from = r->from;
    pthread_mutex_unlock(&w->all->lock);
    return ended ? -1 : r != NULL;
}

static const char *error(void *world)
{
    (void)world;
    return "another rank has ended the run";
}

static const struct transport by_threads = {
    .name = "threads",
    .open = open_world,
    .close = close_world,
    .end_all = end_all,
    .begin = begin_bytes,
    .test = test,
    .probe = probe,
    .error = error,
};

/* ---- ranks ----------------------------------------------------------------------------------- */

struct threads *threads_new(int ranks)
{
    struct threads *w = mem_zalloc(1, sizeof *w);
    w->ranks = ranks;
    pthread_mutex_init(&w->lock, NULL);
    return w;
}

void threads_free(struct threads *w)
{
    for (struct request *r = w->last, *before; r; r = before) {
        before = r->before;
        free(r);
    }
    pthread_mutex_destroy(&w->lock);
    free(w);
}

void threads_set_timeout(struct threads *w, double seconds,
                         void (*failed)(void *ctx, const char *error), void *ctx)
{
    w->timeout = seconds;
    w->failed = failed;
    w->failed_ctx = ctx;
    log_level = -2; /* errors are for `failed` alone */
}

void threads_set_hosts(struct threads *w, int ranks_of_a_host)
{
    w->of_a_host = ranks_of_a_host;
}

uint64_t threads_sent(struct threads *w)
{
    const uint64_t sent = w->sent;
    w->sent = 0;
    return sent;
}

static void *rank_main(void *arg)
{
    struct world *w = arg;
    struct comm c;
    char host[32];
    struct comm_config config = { .transport = &by_threads,
                                  .context = w,
                                  .host = w->all->of_a_host ? host : NULL,
                                  .timeout_seconds = w->all->timeout };
    snprintf(host, sizeof host, "host-%d", w->all->of_a_host ? w->rank / w->all->of_a_host : 0);
    if (comm_open(&c, &config) < 0) {
        fprintf(stderr, "threads: %s\n", err_get());
        abort();
    }
    w->all->fn(w->all->ctx, &c);
    comm_close(&c);
    return NULL;
}

void threads_run(struct threads *w, void (*fn)(void *ctx, struct comm *c), void *ctx)
{
    pthread_t *ids = mem_zalloc((size_t)w->ranks, sizeof *ids);
    struct world *worlds = mem_zalloc((size_t)w->ranks, sizeof *worlds);
    w->fn = fn;
    w->ctx = ctx;
    for (int r = 0; r < w->ranks; r++) {
        worlds[r] = (struct world){ .all = w, .rank = r };
        if (pthread_create(&ids[r], NULL, rank_main, &worlds[r]))
            abort();
    }
    for (int r = 0; r < w->ranks; r++)
        pthread_join(ids[r], NULL);
    free(worlds);
    free(ids);
}
