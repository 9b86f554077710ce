#include "train/batches.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "common/mem.h"
#include "common/rng.h"

/* Tell the uses of the seed apart. */
enum { KEY_ORDER = 0x6f72646572, KEY_GENERATED = 0x67656e };

enum { SLOTS = 2, ROUNDS = 4 };

struct slot {
    struct step_batch batch;
    int full;
    char error[1024]; /* the reading thread's; "" if all is well */
};

struct batches {
    struct batches_config config;
    uint64_t position;    /* of the next step to be read */
    uint32_t *sequence;   /* scratch of the reading thread: T+1 ids */
    struct slot slots[SLOTS];
    int reading, taking;  /* slot numbers */
    int taken;            /* the slot before `taking` is in the caller's hands */
    int quit;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
};

/* ---- order ---------------------------------------------------------------------------------- */

/* Four rounds over two halves of `half` bits; what falls outside [0, n) is sent through again.
 * The domain is less than 4n, so that takes four rounds of it at most on average. */
uint64_t batches_permute(uint64_t key, uint64_t i, uint64_t n)
{
    assert(i < n);
    int bits = n > 1 ? 64 - __builtin_clzll(n - 1) : 0, half = (bits + 1) / 2;
    uint64_t mask = (UINT64_C(1) << half) - 1;
    do {
        uint64_t left = i >> half, right = i & mask;
        for (unsigned round = 0; round < ROUNDS; round++) {
            uint64_t next = left ^ (rng_at(rng_key(key, round), right) & mask);
            left = right;
            right = next;
        }
        i = left << half | right;
    } while (i >= n);
    return i;
}

/* ---- reading -------------------------------------------------------------------------------- */

/* ids[0..T] of one sequence as inputs and labels. */
static void split(const uint32_t *sequence, int64_t T, uint32_t *ids, int32_t *labels)
{
    memcpy(ids, sequence, (size_t)T * sizeof *ids);
    for (int64_t t = 0; t < T; t++)
        labels[t] = (int32_t)sequence[t + 1];
}

static int check(const uint32_t *sequence, int64_t T, int64_t vocabulary, uint64_t i)
{
    for (int64_t t = 0; t <= T; t++)
        if (sequence[t] >= vocabulary)
            return err_set("sequence %llu of the data has id %u at place %lld, but the vocabulary "
                           "has %lld", (unsigned long long)i, sequence[t], (long long)t,
                           (long long)vocabulary);
    return 0;
}

static int read_checked(struct dataset *data, uint64_t i, int64_t T, int64_t vocabulary,
                        uint32_t *sequence)
{
    return dataset_read(data, i, sequence) < 0 ? -1 : check(sequence, T, vocabulary, i);
}

int batches_read(struct dataset *data, uint64_t i, int64_t T, int64_t vocabulary, uint32_t *ids,
                 int32_t *labels)
{
    uint32_t *sequence = mem_alloc((size_t)(T + 1) * sizeof *sequence);
    int result = read_checked(data, i, T, vocabulary, sequence);
    if (!result)
        split(sequence, T, ids, labels);
    free(sequence);
    return result;
}

static void generate(const struct batches_config *c, uint64_t k, uint32_t *sequence)
{
    struct rng r = { .key = rng_key(rng_key(rng_key(0, c->seed), KEY_GENERATED), k) };
    for (int64_t t = 0; t <= c->T; t++)
        sequence[t] = (uint32_t)rng_below(&r, (uint64_t)c->vocabulary);
}

static int read_sample(struct batches *b, uint64_t k)
{
    const struct batches_config *c = &b->config;
    if (!c->data) {
        generate(c, k, b->sequence);
        return 0;
    }
    uint64_t n = dataset_count(c->data);
    uint64_t key = rng_key(rng_key(rng_key(0, c->seed), KEY_ORDER), k / n);
    return read_checked(c->data, batches_permute(key, k % n, n), c->T, c->vocabulary, b->sequence);
}

static int read_step(struct batches *b, struct step_batch *out)
{
    const struct batches_config *c = &b->config;
    for (int64_t m = 0; m < c->A; m++) {
        uint64_t first = b->position + (uint64_t)((m * c->ranks + c->rank) * c->B);
        for (int64_t r = 0; r < c->B; r++) {
            if (read_sample(b, first + (uint64_t)r) < 0)
                return -1;
            int64_t at = (m * c->B + r) * c->T;
            split(b->sequence, c->T, out->ids + at, out->labels + at);
        }
    }
    b->position += (uint64_t)(c->A * c->ranks * c->B);
    return 0;
}

/* ---- the reading thread ---------------------------------------------------------------------- */

static void *read_ahead(void *arg)
{
    struct batches *b = arg;
    pthread_mutex_lock(&b->lock);
    for (;;) {
        struct slot *s = &b->slots[b->reading];
        while (s->full && !b->quit)
            pthread_cond_wait(&b->changed, &b->lock);
        if (b->quit)
            break;
        pthread_mutex_unlock(&b->lock);
        int failed = read_step(b, &s->batch) < 0;
        snprintf(s->error, sizeof s->error, "%s", failed ? err_get() : "");
        pthread_mutex_lock(&b->lock);
        s->full = 1;
        b->reading = (b->reading + 1) % SLOTS;
        pthread_cond_broadcast(&b->changed);
        if (failed)
            break;
    }
    pthread_mutex_unlock(&b->lock);
    return NULL;
}

static void release(struct batches *b)
{
    pthread_mutex_destroy(&b->lock);
    pthread_cond_destroy(&b->changed);
    for (int i = 0; i < SLOTS; i++) {
        free(b->slots[i].batch.ids);
        free(b->slots[i].batch.labels);
    }
    free(b->sequence);
    free(b);
}

struct batches *batches_new(const struct batches_config *config, uint64_t position)
{
    struct batches *b = mem_zalloc(1, sizeof *b);
    b->config = *config;
    b->position = position;
    b->sequence = mem_zalloc((size_t)config->T + 1, sizeof *b->sequence);
    size_t tokens = (size_t)(config->A * config->B * config->T);
    for (int i = 0; i < SLOTS; i++) {
        b->slots[i].batch.ids = mem_zalloc(tokens, sizeof(uint32_t));
        b->slots[i].batch.labels = mem_zalloc(tokens, sizeof(int32_t));
    }
    pthread_mutex_init(&b->lock, NULL);
    pthread_cond_init(&b->changed, NULL);
    int failed = pthread_create(&b->thread, NULL, read_ahead, b);
    if (failed) {
        release(b);
        err_set("cannot start a thread: %s", strerror(failed));
        return NULL;
    }
    return b;
}

void batches_free(struct batches *b)
{
    if (!b)
        return;
    pthread_mutex_lock(&b->lock);
    b->quit = 1;
    pthread_cond_broadcast(&b->changed);
    pthread_mutex_unlock(&b->lock);
    pthread_join(b->thread, NULL);
    release(b);
}

int batches_next(struct batches *b, struct step_batch *out)
{
    pthread_mutex_lock(&b->lock);
    if (b->taken) { /* the caller is done with the slot before */
        b->slots[(b->taking + SLOTS - 1) % SLOTS].full = 0;
        pthread_cond_broadcast(&b->changed);
    }
    struct slot *s = &b->slots[b->taking];
    while (!s->full)
        pthread_cond_wait(&b->changed, &b->lock);
    b->taking = (b->taking + 1) % SLOTS;
    b->taken = 1;
    pthread_mutex_unlock(&b->lock);
    *out = s->batch;
    return *s->error ? err_set("%s", s->error) : 0;
}
