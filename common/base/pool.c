#include "common/base/pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "common/base/err.h"
#include "common/base/log.h"
#include "common/base/mem.h"

int pool_cpus(void)
{
    cpu_set_t sets[8]; /* for 8,192 processors, as many as Linux can have */
    return sched_getaffinity(0, sizeof sets, sets) < 0 ? 1 : CPU_COUNT_S(sizeof sets, sets);
}

void pool_start_thread(pthread_t *id, void *(*main)(void *), void *arg)
{
    pthread_attr_t how;
    pthread_attr_init(&how);
    pthread_attr_setstacksize(&how, 8 << 20); /* musl gives 128 KiB, too little for deep JSON */
    int failed = pthread_create(id, &how, main, arg);
    pthread_attr_destroy(&how);
    if (failed)
        log_fatal("cannot start a thread: %s", strerror(failed));
}

/* ---- pool ------------------------------------------------------------------------------- */

enum { SPINS = 20000 }; /* about 100 microseconds, after which a waiting thread sleeps */

/* A thread, and what it has to do, on its own cache line. */
struct part {
    _Alignas(64) atomic_llong next; /* of pool_each: the next item, and the end of its range */
    int64_t end;
    atomic_uint begun, ended; /* the last round in which a thread began and ended it */
    struct pool *pool;
    pthread_t id; /* not of part 0, that of the caller */
};

struct pool {
    int threads;
    int spins; /* SPINS, or 0 if there are fewer processors than threads: then spinning would keep
                  other threads from working */
    struct part *parts; /* one per thread */
    void (*fn)(void *ctx, int thread);
    void *ctx;
    atomic_uint round; /* a new value starts a loop */
    atomic_int sleepers, quit;
    pthread_mutex_t lock;
    pthread_cond_t wake;
};

static void cpu_relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb"); /* `yield` has no effect on most ARM processors */
#endif
}

static unsigned await_round(struct pool *p, unsigned seen)
{
    for (int i = 0; i < p->spins; i++) {
        unsigned now = atomic_load_explicit(&p->round, memory_order_acquire);
        if (now != seen)
            return now;
        cpu_relax();
    }
    pthread_mutex_lock(&p->lock);
    atomic_fetch_add(&p->sleepers, 1);
    unsigned now;
    while ((now = atomic_load(&p->round)) == seen)
        pthread_cond_wait(&p->wake, &p->lock);
    atomic_fetch_sub(&p->sleepers, 1);
    pthread_mutex_unlock(&p->lock);
    return now;
}

/* Runs a part, unless a thread has begun it in this round. A thread that is late, perhaps by many
 * rounds, finds its part begun, and touches nothing else. */
static void run_part(struct pool *p, int part, unsigned round)
{
    unsigned before = round - 1;
    if (!atomic_compare_exchange_strong(&p->parts[part].begun, &before, round))
        return;
    p->fn(p->ctx, part);
    atomic_store_explicit(&p->parts[part].ended, round, memory_order_release);
}

static void *worker_main(void *arg)
{
    const struct part *own = arg;
    for (unsigned seen = 0;;) {
        seen = await_round(own->pool, seen);
        if (own->pool->quit)
            return NULL;
        run_part(own->pool, (int)(own - own->pool->parts), seen);
    }
}

struct pool *pool_new(int threads)
{
    struct pool *p = mem_zalloc(1, sizeof *p);
    p->threads = threads < 1 ? 1 : threads;
    p->spins = p->threads <= pool_cpus() ? SPINS : 0;
    p->parts = mem_aligned((size_t)p->threads, sizeof *p->parts);
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->wake, NULL);
    for (int t = 0; t < p->threads; t++) {
        p->parts[t] = (struct part){ .pool = p };
        if (t)
            pool_start_thread(&p->parts[t].id, worker_main, &p->parts[t]);
    }
    return p;
}

static unsigned begin_round(struct pool *p)
{
    unsigned round = atomic_fetch_add(&p->round, 1) + 1;
    if (atomic_load(&p->sleepers)) {
        pthread_mutex_lock(&p->lock);
        pthread_cond_broadcast(&p->wake);
        pthread_mutex_unlock(&p->lock);
    }
    return round;
}

void pool_free(struct pool *p)
{
    if (!p)
        return;
    p->quit = 1;
    begin_round(p);
    for (int t = 1; t < p->threads; t++)
        pthread_join(p->parts[t].id, NULL);
    pthread_mutex_destroy(&p->lock);
    pthread_cond_destroy(&p->wake);
    free(p->parts);
    free(p);
}

void pool_run(struct pool *p, void (*fn)(void *ctx, int thread), void *ctx)
{
    if (p->threads == 1) {
        fn(ctx, 0);
        return;
    }
    p->fn = fn;
    p->ctx = ctx;
    unsigned round = begin_round(p);
    for (int t = 0; t < p->threads; t++)
        run_part(p, t, round);
    for (int t = 1, spins = 0; t < p->threads;) {
        if (atomic_load_explicit(&p->parts[t].ended, memory_order_acquire) == round)
            t++;
        else if (spins++ < p->spins)
            cpu_relax();
        else
            sched_yield(); /* the others may wait for this processor */
    }
}

struct loop {
    int64_t n, grain;
    int threads;
    void (*range)(void *ctx, int64_t begin, int64_t end, int thread);
    void (*each)(void *ctx, int64_t i, int thread);
    void *ctx;
    struct part *parts;
};

static void run_range(void *arg, int thread)
{
    struct loop *l = arg;
    int64_t grains = (l->n + l->grain - 1) / l->grain;
    int64_t begin = grains * thread / l->threads * l->grain;
    int64_t end = grains * (thread + 1) / l->threads * l->grain;
    if (end > l->n)
        end = l->n;
    if (begin < end)
        l->range(l->ctx, begin, end, thread);
}

void pool_for(struct pool *p, int64_t n, int64_t grain,
              void (*fn)(void *ctx, int64_t begin, int64_t end, int thread), void *ctx)
{
    struct loop l = { .n = n, .grain = grain, .threads = p->threads, .range = fn, .ctx = ctx };
    if (n > grain)
        pool_run(p, run_range, &l);
    else if (n > 0)
        fn(ctx, 0, n, 0);
}

static void run_each(void *arg, int thread)
{
    struct loop *l = arg;
    for (int t = 0; t < l->threads; t++) {
        struct part *part = &l->parts[(thread + t) % l->threads];
        for (long long i; (i = atomic_fetch_add(&part->next, 1)) < part->end;)
            l->each(l->ctx, i, thread);
    }
}

void pool_each(struct pool *p, int64_t n, void (*fn)(void *ctx, int64_t i, int thread), void *ctx)
{
    struct loop l = { .n = n, .threads = p->threads, .each = fn, .ctx = ctx, .parts = p->parts };
    if (n == 1) {
        fn(ctx, 0, 0);
        return;
    }
    for (int t = 0; t < p->threads; t++) {
        atomic_init(&p->parts[t].next, n * t / p->threads);
        p->parts[t].end = n * (t + 1) / p->threads;
    }
    pool_run(p, run_each, &l);
}

/* ---- pipeline --------------------------------------------------------------------------- */

struct slot {
    enum { SLOT_FREE, SLOT_TAKEN, SLOT_DONE } state;
    char *error; /* the message if reading or work failed; the slot is not used again then */
};

struct flow {
    const struct pipeline *p;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct slot *slots;     /* item i lives in slot i mod item_count */
    uint64_t read, written; /* items so far */
    int reading, writing, ended;
    uint64_t changes; /* number of changes to this struct */
    char *error;      /* the run's error; set once */
};

static int slot_of(const struct flow *f, uint64_t item)
{
    return (int)(item % (uint64_t)f->p->item_count);
}

static void announce(struct flow *f)
{
    f->changes++;
    pthread_cond_broadcast(&f->changed);
}

static void fail(struct flow *f, const char *message)
{
    if (!f->error)
        f->error = mem_strdup(message);
    f->ended = 1;
}

/* Writes the next item in order. This function and the two below are called with the lock held, and
 * release it while they run the caller's code. */
static void write_next(struct flow *f)
{
    int s = slot_of(f, f->written);
    f->writing = 1;
    if (f->slots[s].error) {
        fail(f, f->slots[s].error);
    } else if (!f->error) {
        pthread_mutex_unlock(&f->lock);
        int failed = f->p->write(f->p->ctx, f->p->items[s]);
        pthread_mutex_lock(&f->lock);
        if (failed < 0)
            fail(f, err_get());
    }
    f->slots[s].state = SLOT_FREE;
    f->written++;
    f->writing = 0;
    announce(f);
}

static void read_and_work(struct flow *f)
{
    int s = slot_of(f, f->read);
    f->reading = 1;
    pthread_mutex_unlock(&f->lock);
    int got = f->p->read(f->p->ctx, f->p->items[s]);
    pthread_mutex_lock(&f->lock);
    f->reading = 0;
    if (got <= 0)
        f->ended = 1;
    if (got == 0) {
        announce(f);
        return;
    }
    f->slots[s].state = SLOT_TAKEN;
    f->read++;
    int failed = got < 0; /* an error takes its place in item order, after the items read before */
    if (!failed && f->p->work) {
        announce(f);
        pthread_mutex_unlock(&f->lock);
        failed = f->p->work(f->p->ctx, f->p->items[s]) < 0;
        pthread_mutex_lock(&f->lock);
    }
    if (failed)
        f->slots[s].error = mem_strdup(err_get());
    f->slots[s].state = SLOT_DONE;
    announce(f);
}

/* Runs the caller's `help`, or waits. For a thread that has no item to process; called with the
 * lock held. */
static void help_or_wait(struct flow *f)
{
    uint64_t before = f->changes;
    int helped = 0;
    if (f->p->help && !f->ended) {
        pthread_mutex_unlock(&f->lock);
        helped = f->p->help(f->p->ctx);
        pthread_mutex_lock(&f->lock);
    }
    if (!helped && f->changes == before)
        pthread_cond_wait(&f->changed, &f->lock);
}

static void *flow_main(void *arg)
{
    struct flow *f = arg;
    pthread_mutex_lock(&f->lock);
    for (;;) {
        if (!f->writing && f->written < f->read &&
            f->slots[slot_of(f, f->written)].state == SLOT_DONE)
            write_next(f);
        else if (!f->reading && !f->ended && f->slots[slot_of(f, f->read)].state == SLOT_FREE)
            read_and_work(f);
        else if (f->ended && f->written == f->read && !f->reading)
            break;
        else
            help_or_wait(f);
    }
    pthread_mutex_unlock(&f->lock);
    return NULL;
}

int pipeline_run(const struct pipeline *p, int threads)
{
    size_t n = (size_t)p->item_count;
    struct flow f = { .p = p };
    f.slots = mem_zalloc(n, sizeof *f.slots);
    pthread_mutex_init(&f.lock, NULL);
    pthread_cond_init(&f.changed, NULL);
    SCOPED_MEM pthread_t *ids = mem_zalloc((size_t)threads + 1, sizeof *ids);
    for (int t = 1; t < threads; t++)
        pool_start_thread(&ids[t], flow_main, &f);
    flow_main(&f);
    for (int t = 1; t < threads; t++)
        pthread_join(ids[t], NULL);
    const int result = f.error ? err_set("%s", f.error) : 0;
    for (size_t i = 0; i < n; i++)
        free(f.slots[i].error);
    free(f.error);
    free(f.slots);
    pthread_mutex_destroy(&f.lock);
    pthread_cond_destroy(&f.changed);
    return result;
}
