#include "train/ranks/comm.h"

#include <pthread.h>
#include <time.h>

#include "common/base/log.h"
#include "common/base/pool.h"
#include "common/program/trace.h"
#include "train/ranks/link.h"
#include "train/ranks/reduce.h"

enum work_kind {
    WORK_SUM,
    WORK_MAX,
    WORK_SCATTER,
    WORK_GATHER,
    WORK_COLLECT,
    WORK_SEND, /* only begins to send or to receive; a WORK_WAIT waits for its end */
    WORK_RECEIVE,
    WORK_WAIT,
    WORK_WATCH, /* the devices do it; the thread waits for its end */
    WORK_QUIT
};

enum {
    FIRST_TAG = 16,      /* tags below are those of reduce.c */
    IDLE_MS = 50,        /* time between two looks for questions of other ranks */
    TRANSFERRING_MS = 1, /* the same while something is being sent or received: MPI moves data
                          * only during calls */
};

struct comm_work {
    struct comm_thread *thread;
    struct comm_work *next;
    enum work_kind kind;
    enum comm_group group;
    char what[LINK_NAME];
    struct ops *ops;
    struct ops_array x;
    int64_t n;
    void *data; /* x in the host's memory, once `mark` is reached; WORK_COLLECT: the array `all` */
    const int64_t *bounds; /* borrowed, or equal to `own` */
    int64_t *own;
    const void *mine; /* for WORK_COLLECT */
    size_t bytes;     /* for WORK_COLLECT, WORK_SEND and WORK_RECEIVE */
    int peer, tag;
    struct link_list messages; /* of WORK_SEND and WORK_RECEIVE */
    struct comm_work *of;      /* WORK_WAIT: the work that it waits for */
    double seconds;
    int done;
    struct ops_mark mark;

    /* of WORK_WATCH: */
    struct ops_group *devices; /* NULL while they join */
    int issued; /* 1: given to the device, `mark` is its end; -1: that failed, with `error` */
    int ended;  /* 1: comm_end was called, so the thread frees the work */
    struct err error;
};

struct comm_thread {
    struct comm_config config;
    struct link link;
    struct reduce_group groups[COMM_GROUPS]; /* own their members */
    struct ops *ops;                         /* borrowed; NULL: operations are staged */
    struct ops_group *devices[COMM_GROUPS];  /* NULL: operations of the group are staged */
    pthread_t id;
    pthread_mutex_t lock;
    pthread_cond_t begun, ended;
    struct comm_work *first, *last; /* unfinished work; the first is in progress */
    int transfers;                  /* sends and receives that have begun and were not waited for */
    int opened;                     /* 1: link_open succeeded; -1: it failed */
    char error[1024];
};

/* ---- the thread ----------------------------------------------------------------------------- */

/* Returns 1 if the devices have done their work, 0 if not yet, -1 with an error. */
static int is_reached(void *ctx)
{
    struct comm_work *w = ctx;
    pthread_mutex_lock(&w->thread->lock);
    const int issued = w->issued;
    if (issued < 0)
        err_restore(&w->error);
    pthread_mutex_unlock(&w->thread->lock);
    if (issued < 0 || (issued && w->devices && ops_group_check(w->ops, w->devices) < 0))
        return err_in("'%s'", w->what);
    return issued && w->devices ? ops_reached(w->ops, &w->mark) : issued;
}

static int has_arrived(void *ctx)
{
    struct comm_work *w = ctx;
    return ops_reached(w->ops, &w->mark);
}

static int do_work(struct comm_thread *t, struct comm_work *w)
{
    const struct reduce_group *g = &t->groups[w->group];
    const size_t unit = ops_type_bytes(w->x.type);
    if (w->kind != WORK_WATCH && link_watch(&t->link, NULL, 0, has_arrived, w) < 0)
        return -1;
    switch (w->kind) {
    case WORK_WATCH: return link_watch(&t->link, g->members, g->size, is_reached, w);
    case WORK_SEND:
    case WORK_RECEIVE:
        t->transfers++;
        return link_exchange(&t->link, &w->messages, g->members[w->peer], FIRST_TAG + w->tag,
                             w->data, w->bytes, w->kind == WORK_RECEIVE);
    case WORK_WAIT:
        t->transfers--;
        return link_wait(&t->link, w->of->messages.all, (int)w->of->messages.count);
    case WORK_COLLECT: return reduce_collect(&t->link, g, w->data, w->mine, w->bytes);
    case WORK_GATHER: return reduce_gather(&t->link, g, w->data, w->bounds, unit);
    default: break;
    }
    if (reduce_scatter(&t->link, g, w->kind == WORK_MAX ? REDUCE_MAX : REDUCE_SUM, w->data,
                       w->bounds) < 0)
        return -1;
    return w->kind == WORK_SCATTER ? 0 : reduce_gather(&t->link, g, w->data, w->bounds, unit);
}

/* Reports the error and ends all ranks. */
static void fail(struct comm_thread *t)
{
    log_error("%s", err_get());
    t->link.transport->end_all(t->link.world);
}

/* Sleeps until there is work; answers questions of other ranks now and then. The lock is held on
 * entry and on return. */
static void wait_for_work(struct comm_thread *t)
{
    while (!t->first) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 1000000L * (t->transfers ? TRANSFERRING_MS : IDLE_MS);
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&t->begun, &t->lock, &until);
        if (t->first)
            continue;
        pthread_mutex_unlock(&t->lock);
        if (link_serve(&t->link) < 0)
            fail(t);
        pthread_mutex_lock(&t->lock);
    }
}

static void free_work(struct comm_work *w)
{
    if (w->ops)
        ops_mark_free(w->ops, &w->mark);
    free(w->own);
    free(w->messages.all);
    free(w);
}

/* Waits for the next job of the queue and does it. Returns 1, or 0 if the thread must end. The lock
 * is held on entry and on return. */
static int next_work(struct comm_thread *t)
{
    wait_for_work(t);
    struct comm_work *w = t->first;
    pthread_mutex_unlock(&t->lock);
    int quits = w->kind == WORK_QUIT;
    if (!quits) {
        double began = log_seconds();
        TRACE("communication", w->kind == WORK_COLLECT ? "exchange" : "transfer", -1, 0, 0);
        link_begin(&t->link, w->what);
        if (do_work(t, w) < 0)
            fail(t);
        link_finish(&t->link);
        w->seconds = log_seconds() - began;
    }
    pthread_mutex_lock(&t->lock);
    t->first = w->next;
    w->done = 1;
    if (w->ended)
        free_work(w);
    pthread_cond_broadcast(&t->ended);
    return !quits;
}

static void open_link(struct comm_thread *t)
{
    int result = link_open(&t->link, t->config.transport, t->config.context, t->config.host,
                           t->config.timeout_seconds);
    t->link.stop = t->config.stop;
    pthread_mutex_lock(&t->lock);
    t->opened = result < 0 ? -1 : 1;
    snprintf(t->error, sizeof t->error, "%s", result < 0 ? err_get() : "");
    pthread_cond_broadcast(&t->ended);
    pthread_mutex_unlock(&t->lock);
}

static void *thread_main(void *arg)
{
    struct comm_thread *t = arg;
    open_link(t);
    pthread_mutex_lock(&t->lock);
    while (t->opened > 0 && next_work(t))
        continue;
    pthread_mutex_unlock(&t->lock);
    if (t->opened > 0)
        link_close(&t->link);
    return NULL;
}

/* ---- work ------------------------------------------------------------------------------------ */

static void begin(struct comm *c, struct comm_work *w, enum comm_group group, const char *what)
{
    struct comm_thread *t = c->thread;
    w->thread = t;
    w->group = group;
    snprintf(w->what, sizeof w->what, "%s", what);
    pthread_mutex_lock(&t->lock);
    if (t->first)
        t->last->next = w;
    else
        t->first = w;
    t->last = w;
    pthread_cond_broadcast(&t->begun);
    pthread_mutex_unlock(&t->lock);
}

static void wait_for(struct comm_thread *t, const struct comm_work *w)
{
    pthread_mutex_lock(&t->lock);
    while (!w->done)
        pthread_cond_wait(&t->ended, &t->lock);
    pthread_mutex_unlock(&t->lock);
}

/* Begins the operation *w, which is in the caller's memory, and waits for its end. */
static void do_now(struct comm *c, struct comm_work *w, enum comm_group group, const char *what)
{
    begin(c, w, group, what);
    wait_for(c->thread, w);
}

struct comm_work *comm_transfer_begin(struct comm *c, enum comm_group group, int sends, int peer,
                                      int tag, struct ops *o, struct ops_array x, int64_t n,
                                      const char *what)
{
    struct comm_work *w = mem_zalloc(1, sizeof *w);
    assert(tag >= 0 && tag < COMM_TAGS && peer != c->rank[group]);
    w->kind = sends ? WORK_SEND : WORK_RECEIVE;
    w->ops = o;
    w->x = x;
    w->n = n;
    w->peer = peer;
    w->tag = tag;
    w->bytes = (size_t)n * ops_type_bytes(x.type);
    w->data = sends ? ops_map_later(o, x, n, &w->mark) : ops_fill(o, x, n);
    c->counts[group].operations++;
    c->counts[group].bytes += sends ? w->bytes : 0;
    begin(c, w, group, what);
    return w;
}

/* Tells the thread that the devices have been given the operation, or that this has failed. */
static void issue(struct comm_thread *t, struct comm_work *w, int result)
{
    pthread_mutex_lock(&t->lock);
    w->issued = result < 0 ? -1 : 1;
    if (result < 0)
        w->error = err_keep();
    pthread_mutex_unlock(&t->lock);
}

static void begin_devices(struct comm *c, struct comm_work *w, enum comm_group group,
                          const char *what)
{
    struct ops *o = w->ops;
    const enum work_kind kind = w->kind;
    struct ops_group *devices = c->thread->devices[group];
    int result = 0;
    ops_mark(o, OPS_COMPUTE, &w->mark);
    ops_after(o, OPS_COMM, &w->mark);
    w->kind = WORK_WATCH;
    w->devices = devices;
    begin(c, w, group, what);
    if (kind != WORK_GATHER)
        result = ops_group_reduce(o, devices, kind == WORK_MAX, w->x, w->bounds);
    if (!result && kind != WORK_SCATTER)
        result = ops_group_gather(o, devices, w->x, w->bounds);
    ops_mark(o, OPS_COMM, &w->mark);
    issue(c->thread, w, result);
}

static struct comm_work *begin_array(struct comm *c, enum comm_group group, enum work_kind kind,
                                     struct ops *o, struct ops_array x, const int64_t *bounds,
                                     int64_t *own, const char *what)
{
    const int size = c->size[group], rank = c->rank[group];
    if (size == 1 || !bounds[size])
        return NULL;
    struct comm_work *w = mem_zalloc(1, sizeof *w);
    w->kind = kind;
    w->ops = o;
    w->x = x;
    w->n = bounds[size];
    w->bounds = bounds;
    w->own = own;
    int64_t share = bounds[rank + 1] - bounds[rank];
    int64_t sent = kind == WORK_GATHER ? 0 : w->n - share;
    sent += kind == WORK_SCATTER ? 0 : share * (size - 1);
    c->counts[group].operations++;
    c->counts[group].bytes += (uint64_t)sent * ops_type_bytes(x.type);
    if (c->thread->devices[group] && ops_group_takes(o, x)) {
        c->counts[group].direct += (uint64_t)sent * ops_type_bytes(x.type);
        begin_devices(c, w, group, what);
    } else {
        w->data = ops_map_later(o, x, w->n, &w->mark);
        begin(c, w, group, what);
    }
    return w;
}

/* Begins an operation on x[N,C]. Ranks have shares of its rows, as split_part says, in a scatter or
 * a gather; in others, any shares. */
static struct comm_work *begin_whole(struct comm *c, enum comm_group group, enum work_kind kind,
                                     struct ops *o, struct ops_array x, int64_t N, int64_t C,
                                     const char *what)
{
    const int size = c->size[group], by_rows = kind == WORK_SCATTER || kind == WORK_GATHER;
    if (size == 1 || !N)
        return NULL;
    int64_t *bounds = mem_zalloc((size_t)size + 1, sizeof *bounds);
    for (int q = 1; q < size; q++) /* cut between rows, or at cache lines */
        bounds[q] = by_rows ? split_part(N, size, q).first * C : N * C / 16 * q / size * 16;
    bounds[size] = N * C;
    return begin_array(c, group, kind, o, x, bounds, bounds, what);
}

struct comm_work *comm_sum_begin(struct comm *c, struct ops *o, struct ops_array x, int64_t n,
                                 const char *what)
{
    return begin_whole(c, COMM_DATA, WORK_SUM, o, x, n, 1, what);
}

struct comm_work *comm_scatter_begin(struct comm *c, struct ops *o, struct ops_array x,
                                     const int64_t *bounds, const char *what)
{
    return begin_array(c, COMM_DATA, WORK_SCATTER, o, x, bounds, NULL, what);
}

struct comm_work *comm_gather_begin(struct comm *c, struct ops *o, struct ops_array x,
                                    const int64_t *bounds, const char *what)
{
    return begin_array(c, COMM_DATA, WORK_GATHER, o, x, bounds, NULL, what);
}

void comm_end(struct comm *c, struct comm_work *w)
{
    if (!w)
        return;
    if (w->kind == WORK_WATCH) { /* the device waits for the end; then the thread frees *w */
        ops_after(w->ops, OPS_COMPUTE, &w->mark);
        pthread_mutex_lock(&c->thread->lock);
        w->ended = 1;
        if (w->done)
            free_work(w);
        pthread_mutex_unlock(&c->thread->lock);
        return;
    }
    TRACE_PHASE("waiting for other ranks", -1);
    double began = log_seconds();
    if (w->kind == WORK_SEND || w->kind == WORK_RECEIVE) {
        struct comm_work end = { .kind = WORK_WAIT, .of = w };
        do_now(c, &end, w->group, w->what);
        w->seconds = end.seconds;
    } else {
        wait_for(c->thread, w);
    }
    c->counts[w->group].waited += log_seconds() - began;
    c->counts[w->group].seconds += w->seconds;
    if (w->kind == WORK_SEND)
        ops_unmap_unchanged(w->ops, w->x, w->data);
    else
        ops_unmap(w->ops, w->x, w->n, w->data);
    free_work(w);
}

void comm_end_of(struct comm *c, struct comm_work **w)
{
    comm_end(c, *w);
    *w = NULL;
}

static void exchange(void *ctx, enum split_exchange how, enum split_axis axis, struct ops *o,
                     struct ops_array x, int64_t N, int64_t C, const char *what)
{
    static const enum work_kind kinds[] = { [SPLIT_SUM] = WORK_SUM,
                                            [SPLIT_MOST] = WORK_MAX,
                                            [SPLIT_SCATTER] = WORK_SCATTER,
                                            [SPLIT_GATHER] = WORK_GATHER };
    const enum comm_group group = axis == SPLIT_WIDTH ? COMM_TENSOR2 : COMM_TENSOR1;
    comm_end(ctx, begin_whole(ctx, group, kinds[how], o, x, N, C, what));
}

struct split comm_split(struct comm *c)
{
    return (struct split){
        .ranks = { [SPLIT_HEADS] = c->size[COMM_TENSOR1], [SPLIT_WIDTH] = c->size[COMM_TENSOR2] },
        .rank = { [SPLIT_HEADS] = c->rank[COMM_TENSOR1], [SPLIT_WIDTH] = c->rank[COMM_TENSOR2] },
        .exchange = exchange,
        .ctx = c
    };
}

/* ---- small values ---------------------------------------------------------------------------- */

void *comm_collect(struct comm *c, enum comm_group group, const void *mine, size_t bytes,
                   const char *what)
{
    void *all = mem_zalloc((size_t)c->size[group], bytes);
    struct comm_work w = { .kind = WORK_COLLECT, .data = all, .mine = mine, .bytes = bytes };
    if (c->size[group] > 1)
        do_now(c, &w, group, what);
    else
        memcpy(all, mine, bytes);
    return all;
}

char *comm_texts(struct comm *c, const char *text, size_t *room, const char *what)
{
    const size_t n = strlen(text);
    *room = (size_t)comm_most(c, (int)n) + 1;
    SCOPED_MEM char *mine = mem_zalloc(1, *room);
    memcpy(mine, text, n);
    return comm_collect(c, COMM_WORLD, mine, *room, what);
}

double comm_sum_real(struct comm *c, enum comm_group group, double x)
{
    SCOPED_MEM double *all = comm_collect(c, group, &x, sizeof x, "sum");
    double sum = 0;
    for (int q = 0; q < c->size[group]; q++)
        sum += all[q];
    return sum;
}

int comm_agree(struct comm *c, int result)
{
    enum { FINE, FAILED, MISUSED };
    const int size = c->size[COMM_WORLD];
    const int own = result >= 0 ? FINE : err_is_usage() ? MISUSED : FAILED;
    if (size == 1)
        return own ? -1 : 0;
    SCOPED_MEM int *ends = comm_collect(c, COMM_WORLD, &own, sizeof own, "agreement");
    int first = 0, alike = 0;
    while (first < size && !ends[first])
        first++;
    if (first == size)
        return 0;
    size_t room;
    SCOPED_MEM char *errors = comm_texts(c, own ? err_get() : "", &room, "errors");
    const char *why = errors + (size_t)first * room;
    for (int r = 0; r < size; r++)
        alike += ends[r] && !strcmp(errors + (size_t)r * room, why);
    if (ends[first] == MISUSED)
        err_usage("%s", why);
    else
        err_set("%s", why);
    return alike == size ? -1 : err_in("rank %d on %s", first, comm_host(c, first));
}

int comm_most(struct comm *c, int x)
{
    SCOPED_MEM int *all = comm_collect(c, COMM_WORLD, &x, sizeof x, "signals");
    int most = x;
    for (int r = 0; r < c->size[COMM_WORLD]; r++)
        most = all[r] > most ? all[r] : most;
    return most;
}

int comm_differs(struct comm *c, uint64_t value)
{
    SCOPED_MEM uint64_t *all = comm_collect(c, COMM_WORLD, &value, sizeof value, "comparison");
    int first = 0;
    for (int q = c->size[COMM_WORLD] - 1; q > 0; q--)
        first = all[q] != all[0] ? q : first;
    return first;
}

/* ---- life cycle ------------------------------------------------------------------------------ */

void comm_init(struct comm *c)
{
    *c = (struct comm){ 0 };
    for (int g = 0; g < COMM_GROUPS; g++)
        c->size[g] = 1;
}

/* Launchers set these variables for each process: Open MPI's mpirun; MPICH, Intel MPI, and srun
 * with PMI; srun. */
int comm_launched(void)
{
    static const char *const names[] = { "OMPI_COMM_WORLD_SIZE", "PMI_SIZE",
                                         "SLURM_STEP_NUM_TASKS" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = getenv(names[i]);
        long n = value ? strtol(value, NULL, 10) : 0;
        if (n > 1)
            return (int)n;
    }
    return 1;
}

/* Returns how many members of a group are on each host (struct ops_level). */
static int local_of(const struct link *l, const int *members, int size)
{
    int most = 1, local, q;
    while (most < size && !memcmp(l->hosts[members[most]], l->hosts[members[0]], LINK_NAME))
        most++;
    if (most == size)
        return size;
    for (local = most & -most; local > 1; local /= 2) { /* the powers of two that divide `most` */
        for (q = 0; q < size &&
                    !memcmp(l->hosts[members[q]], l->hosts[members[q / local * local]], LINK_NAME);
             q++)
            continue;
        if (q == size && size % local == 0)
            break;
    }
    return local;
}

/* Sets up a group of `size` ranks with the numbers first, first + step, ... */
static void fill_group(struct comm *c, enum comm_group g, int first, int size, int step)
{
    struct comm_thread *t = c->thread;
    int *members = mem_zalloc((size_t)size, sizeof *members);
    for (int q = 0; q < size; q++)
        members[q] = first + q * step;
    free(t->groups[g].members);
    c->size[g] = size;
    c->rank[g] = (t->link.rank - first) / step;
    t->groups[g] = (struct reduce_group){ size, c->rank[g], local_of(&t->link, members, size),
                                          members };
}

/* Sets up the group of the ranks on this rank's host. */
static void find_host(struct comm *c)
{
    const int world = c->size[COMM_WORLD], own = c->rank[COMM_WORLD];
    int *members = mem_zalloc((size_t)world, sizeof *members), size = 0;
    for (int r = 0; r < world; r++) {
        if (r == own)
            c->rank[COMM_HOST] = size;
        if (!memcmp(comm_host(c, r), comm_host(c, own), LINK_NAME))
            members[size++] = r;
    }
    c->size[COMM_HOST] = size;
    c->thread->groups[COMM_HOST] = (struct reduce_group){ size, c->rank[COMM_HOST], size, members };
}

void comm_regroup(struct comm *c, int pipe, int tensor1, int tensor2)
{
    const int size = c->size[COMM_WORLD], rank = c->rank[COMM_WORLD], tensor = tensor1 * tensor2;
    const int model = pipe * tensor;
    const int first = rank / model * model;  /* the first rank with the same copy of the model */
    const int grid = rank / tensor * tensor; /* the first rank of the tensor-parallel group */
    assert(pipe > 0 && tensor1 > 0 && tensor2 > 0 && size % model == 0);
    if (!c->thread)
        return;
    fill_group(c, COMM_DATA, rank % model, size / model, model);
    fill_group(c, COMM_TENSOR, grid, tensor, 1);
    fill_group(c, COMM_TENSOR1, grid + rank % tensor2, tensor1, tensor2);
    fill_group(c, COMM_TENSOR2, rank / tensor2 * tensor2, tensor2, 1);
    fill_group(c, COMM_PIPE, first + rank % tensor, pipe, tensor);
    fill_group(c, COMM_MODEL, first, model, 1);
}

/* ---- devices --------------------------------------------------------------------------------- */

/* What a rank says of its device. */
struct device {
    int found; /* as ops_group_find returns it */
    char name[OPS_DEVICE_NAME], host[LINK_NAME];
    char why[256]; /* not empty: it cannot exchange arrays */
};

/* Appends to `why` what keeps the devices of the ranks from direct exchanges, if anything does. */
static void say_why_not(const struct comm *c, const struct device *all, struct buf *why)
{
    const int size = c->size[COMM_WORLD];
    for (int r = 0; r < size && !why->len; r++) {
        if (!all[r].found)
            buf_addf(why, "rank %d on %s: %s", r, comm_host(c, r), all[r].why);
        for (int q = 0; q < r && !why->len; q++)
            if (!strcmp(all[q].name, all[r].name) && !strcmp(all[q].host, all[r].host))
                buf_addf(why, "ranks %d and %d on %s share a device", q, r, comm_host(c, r));
    }
}

/* Checks that the devices can exchange arrays. If not, appends the reason to `why`. */
static int find_devices(struct comm *c, struct ops *o, struct buf *why)
{
    struct device own = { 0 };
    own.found = ops_group_find(o, own.name);
    snprintf(own.why, sizeof own.why, "%s", own.found > 0 ? "" : err_get());
    snprintf(own.host, sizeof own.host, "%s", comm_host(c, c->rank[COMM_WORLD]));
    int result = comm_agree(c, own.found);
    SCOPED_MEM struct device *all = comm_collect(c, COMM_WORLD, &own, sizeof own, "devices");
    if (!result)
        say_why_not(c, all, why);
    return result;
}

/* Lets the devices of a group join. Returns 0, or -1 with an error, on all ranks of the world. */
static int join_group(struct comm *c, struct ops *o, enum comm_group group)
{
    const int size = c->size[group], rank = c->rank[group];
    char id[OPS_GROUP_ID] = { 0 };
    struct comm_work w = { .kind = WORK_WATCH };
    if (comm_agree(c, rank ? 0 : ops_group_identify(o, id)) < 0)
        return -1;
    SCOPED_MEM char *all = comm_collect(c, group, id, sizeof id, "identity of a group of devices");
    begin(c, &w, group, "joining of devices");
    c->thread->devices[group] = ops_group_join(o, all, rank, size, c->thread->groups[group].local);
    issue(c->thread, &w, c->thread->devices[group] ? 0 : -1);
    wait_for(c->thread, &w);
    return 0;
}

int comm_join_devices(struct comm *c, struct ops *o, enum comm_way way, struct buf *said)
{
    static const enum comm_group groups[] = { COMM_DATA, COMM_TENSOR1, COMM_TENSOR2 };
    SCOPED(buf) why = BUF_INIT;
    int result = 0;
    if (c->size[COMM_WORLD] == 1 || ops_on_host(o))
        return 0;
    if (way == COMM_STAGED)
        buf_adds(&why, "as was asked for");
    else
        result = find_devices(c, o, &why);
    if (!result && why.len && way == COMM_DIRECT)
        result = err_set("devices cannot exchange arrays directly: %s", why.data);
    for (size_t i = 0; i < sizeof groups / sizeof *groups && !result && !why.len; i++)
        if (c->size[groups[i]] > 1)
            result = join_group(c, o, groups[i]);
    if (!result && !why.len)
        c->thread->ops = o;
    if (!result && why.len)
        buf_addf(said, "devices exchange arrays through the hosts' memory and %s: %s",
                 c->thread->config.transport->name, why.data);
    else if (!result)
        buf_addf(said, "devices exchange arrays directly%s",
                 c->size[COMM_PIPE] > 1 ? "; stages of a pipeline, through MPI" : "");
    return result;
}

void comm_leave_devices(struct comm *c)
{
    struct comm_thread *t = c->thread;
    if (!t || !t->ops)
        return;
    pthread_mutex_lock(&t->lock);
    while (t->first)
        pthread_cond_wait(&t->ended, &t->lock);
    pthread_mutex_unlock(&t->lock);
    for (int g = 0; g < COMM_GROUPS; g++)
        ops_group_leave(t->ops, t->devices[g]);
    memset(t->devices, 0, sizeof t->devices);
    t->ops = NULL;
}

static void free_thread(struct comm *c)
{
    struct comm_thread *t = c->thread;
    pthread_join(t->id, NULL);
    pthread_mutex_destroy(&t->lock);
    pthread_cond_destroy(&t->begun);
    pthread_cond_destroy(&t->ended);
    for (int g = 0; g < COMM_GROUPS; g++)
        free(t->groups[g].members);
    free(t);
    comm_init(c);
}

int comm_open(struct comm *c, const struct comm_config *config)
{
    struct comm_thread *t = mem_zalloc(1, sizeof *t);
    comm_init(c);
    c->thread = t;
    t->config = *config;
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->begun, NULL);
    pthread_cond_init(&t->ended, NULL);
    pool_start_thread(&t->id, thread_main, t);
    pthread_mutex_lock(&t->lock);
    while (!t->opened)
        pthread_cond_wait(&t->ended, &t->lock);
    pthread_mutex_unlock(&t->lock);
    if (t->opened < 0) {
        err_set("%s", t->error);
        free_thread(c);
        return -1;
    }
    fill_group(c, COMM_WORLD, 0, t->link.size, 1);
    find_host(c);
    comm_regroup(c, 1, 1, 1);
    return 0;
}

void comm_close(struct comm *c)
{
    if (!c->thread)
        return;
    struct comm_work quit = { .kind = WORK_QUIT };
    begin(c, &quit, COMM_WORLD, "end");
    free_thread(c);
}

int comm_is_first(const struct comm *c)
{
    return !c->rank[COMM_WORLD];
}

const char *comm_host(const struct comm *c, int rank)
{
    return c->thread->link.hosts[rank];
}
