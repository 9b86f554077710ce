#include "train/samples/batches.h"

#include "common/base/pool.h"
#include "common/base/rng.h"

enum { KEY_ORDER = 0x6f72646572 }; /* differs from the keys of other uses of the seed */

enum { SLOTS = 2, ROUNDS = 64 };

struct slot {
    struct step_batch batch;
    struct sequences *sequences; /* [A]: the sequences of each micro-batch */
    int full;
    char error[1024]; /* error of the reading thread; "" if there is none */
};

struct batches {
    const struct samples *samples; /* borrowed */
    struct step_config config;
    int rank, ranks;
    uint64_t position; /* position of the next step to read */
    struct slot slots[SLOTS];
    int reading, taking; /* slots that the thread fills and the caller takes next */
    int taken;           /* 1: the caller uses the slot before `taking` */
    int quit;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
};

/* ---- order ---------------------------------------------------------------------------------- */

/* Each round pairs x with (k - x) mod n for a random k below n, and swaps a random half of the
 * pairs. After all rounds, two neighbours are still neighbours with probability about 2^-ROUNDS. */
uint64_t batches_permute(uint64_t key, uint64_t i, uint64_t n)
{
    assert(i < n);
    for (uint64_t round = 0; round < ROUNDS; round++) {
        uint64_t k = (uint64_t)((unsigned __int128)rng_at(key, round) * n >> 64);
        uint64_t other = k >= i ? k - i : k + (n - i), upper = i > other ? i : other;
        if (rng_at(rng_key(key, round), upper) >> 63)
            i = other;
    }
    return i;
}

/* ---- reading -------------------------------------------------------------------------------- */

int batches_draw(const struct samples *s, uint64_t key, uint64_t k, struct sequences *out)
{
    if (s->draw)
        return s->draw(s, key, k, out);
    if (s->count)
        k = batches_permute(rng_key(key, k / s->count), k % s->count, s->count);
    return s->read(s, k, out);
}

static int read_step(struct batches *b, struct slot *s)
{
    const struct step_config *c = &b->config;
    const uint64_t key = rng_key(rng_key(0, c->seed), KEY_ORDER);
    s->batch.tokens = 0;
    for (int64_t m = 0; m < c->A; m++) {
        struct sequences *sequences = &s->sequences[m];
        int64_t number = program_micro_batch(c->zero, c->A, c->leaves, b->ranks, b->rank, m);
        uint64_t first = b->position + (uint64_t)(number * c->B);
        sequences_clear(sequences);
        for (int64_t r = 0; r < c->B; r++)
            if (batches_draw(b->samples, key, first + (uint64_t)r, sequences) < 0)
                return -1;
        s->batch.micro[m] = sequences_batch(sequences);
        s->batch.tokens += sequences_tokens(sequences);
    }
    b->position += (uint64_t)(c->A * b->ranks * c->B);
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
        int failed = read_step(b, s) < 0;
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

struct batches *batches_new(const struct samples *samples, const struct step_config *c, int rank,
                            int ranks, uint64_t position)
{
    struct batches *b = mem_zalloc(1, sizeof *b);
    b->samples = samples;
    b->config = *c;
    b->rank = rank;
    b->ranks = ranks;
    b->position = position;
    for (struct slot *s = b->slots; s < b->slots + SLOTS; s++) {
        s->sequences = mem_zalloc((size_t)c->A, sizeof *s->sequences);
        s->batch.micro = mem_zalloc((size_t)c->A, sizeof *s->batch.micro);
        for (int64_t m = 0; m < c->A; m++)
            sequences_init(&s->sequences[m], c->B * samples->most, c->T, samples->kind);
    }
    pthread_mutex_init(&b->lock, NULL);
    pthread_cond_init(&b->changed, NULL);
    pool_start_thread(&b->thread, read_ahead, b);
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
    pthread_mutex_destroy(&b->lock);
    pthread_cond_destroy(&b->changed);
    for (int i = 0; i < SLOTS; i++) {
        for (int64_t m = 0; m < b->config.A; m++)
            sequences_release(&b->slots[i].sequences[m]);
        free(b->slots[i].sequences);
        free(b->slots[i].batch.micro);
    }
    free(b);
}

int batches_next(struct batches *b, struct step_batch *out)
{
    pthread_mutex_lock(&b->lock);
    if (b->taken) { /* the caller has finished with the previous slot */
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
