#include "tests/unit/threads.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "common/mem.h"

/* A message that was sent and not yet received. It holds its own copy of the data. */
struct message {
    struct message *next;
    int from, to, tag;
    size_t bytes;
    char *data;
};

struct threads {
    int ranks;
    pthread_mutex_t lock;
    struct message *messages; /* in the order sent */
    int ended;                /* end_all was called */
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
};

struct request {
    int receives, from, tag;
    void *data;
    size_t bytes;
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
    struct threads *all = ((struct world *)world)->all;
    pthread_mutex_lock(&all->lock);
    all->ended = 1;
    pthread_mutex_unlock(&all->lock);
}

static int send_bytes(void *world, void **request, int to, int tag, const void *data, size_t bytes)
{
    struct world *w = world;
    struct message *m = mem_zalloc(1, sizeof *m), **last;
    *m = (struct message){ NULL, w->rank, to, tag, bytes, mem_alloc(bytes) };
    memcpy(m->data, data, bytes);
    pthread_mutex_lock(&w->all->lock);
    for (last = &w->all->messages; *last; last = &(*last)->next)
        continue;
    *last = m;
    pthread_mutex_unlock(&w->all->lock);
    *request = mem_zalloc(1, sizeof(struct request));
    return 0;
}

static int receive_bytes(void *world, void **request, int from, int tag, void *data, size_t bytes)
{
    struct request *r = mem_zalloc(1, sizeof *r);
    (void)world;
    *r = (struct request){ 1, from, tag, data, bytes };
    *request = r;
    return 0;
}

/* Finds the first message with the tag `tag` for this rank from rank `from`, or from any rank if
 * that is -1. Returns the pointer to it in the list, which points to NULL if there is none. The
 * caller holds the lock. */
static struct message **find(struct world *w, int from, int tag)
{
    struct message **m = &w->all->messages;
    while (*m && !((*m)->to == w->rank && (*m)->tag == tag && (from < 0 || (*m)->from == from)))
        m = &(*m)->next;
    return m;
}

static int test(void *world, void *request)
{
    struct world *w = world;
    struct request *r = request;
    struct message *found = NULL;
    pthread_mutex_lock(&w->all->lock);
    int ended = w->all->ended;
    if (r->receives && !ended) {
        struct message **place = find(w, r->from, r->tag);
        if ((found = *place))
            *place = found->next;
    }
    pthread_mutex_unlock(&w->all->lock);
    if (ended)
        return -1;
    if (found) {
        assert(found->bytes == r->bytes);
        memcpy(r->data, found->data, r->bytes);
        free(found->data);
        free(found);
    }
    int done = found || !r->receives;
    if (done)
        free(r);
    return done;
}

static int probe(void *world, int tag, int *from)
{
    struct world *w = world;
    pthread_mutex_lock(&w->all->lock);
    struct message *m = *find(w, -1, tag);
    int ended = w->all->ended;
    pthread_mutex_unlock(&w->all->lock);
    if (m)
        *from = m->from;
    return ended ? -1 : m != NULL;
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
    .send = send_bytes,
    .receive = receive_bytes,
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
    for (struct message *m = w->messages, *next; m; m = next) {
        next = m->next;
        free(m->data);
        free(m);
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
}

static void *rank_main(void *arg)
{
    struct world *w = arg;
    struct comm c;
    struct comm_config config = { .transport = &by_threads,
                                  .context = w,
                                  .timeout_seconds = w->all->timeout,
                                  .failed = w->all->failed,
                                  .failed_ctx = w->all->failed_ctx };
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
        worlds[r] = (struct world){ w, r };
        if (pthread_create(&ids[r], NULL, rank_main, &worlds[r]))
            abort();
    }
    for (int r = 0; r < w->ranks; r++)
        pthread_join(ids[r], NULL);
    free(worlds);
    free(ids);
}
