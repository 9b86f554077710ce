#include "generate/queue.h"

#include "common/base/log.h"

void queue_init(struct queue *q, struct generator *g, int64_t most)
{
    *q = (struct queue){ .g = g, .most = most };
    q->going = mem_zalloc((size_t)most, sizeof *q->going);
    buf_init(&q->prompt);
}

void queue_release(struct queue *q)
{
    while (q->first)
        queue_drop(q);
    start_release(&q->start);
    buf_release(&q->prompt);
    free(q->going);
    *q = (struct queue){ 0 };
}

void queue_drop(struct queue *q)
{
    struct queued *t = q->first;
    q->first = t->next;
    if (!q->first)
        q->last = NULL;
    q->active -= !t->one.finish;
    generation_release(&t->one);
    buf_release(&t->prompt);
    free(t);
}

/* ---- prompts ------------------------------------------------------------------------------ */

int queue_wants(const struct queue *q)
{
    return !q->left && q->active < q->most;
}

int queue_add(struct queue *q, const char *prompt, size_t n, uint64_t number, uint64_t key,
              int64_t samples)
{
    assert(queue_wants(q) && samples >= 1);
    if (generator_prompt(q->g, &q->start, prompt, n) < 0)
        return -1;
    buf_set(&q->prompt, prompt, n);
    q->number = number;
    q->key = key;
    q->samples = q->left = samples;
    return 0;
}

/* Begins the next text of the prompt. */
static int begin_text(struct queue *q)
{
    struct queued *t = mem_zalloc(1, sizeof *t);
    buf_init(&t->prompt);
    buf_add(&t->prompt, q->prompt.data, q->prompt.len);
    t->number = q->number;
    t->sample = q->samples - q->left--;
    t->prompt_seconds = q->start.seconds;
    t->began = log_seconds();
    if (q->last)
        q->last->next = t;
    else
        q->first = t;
    q->last = t;
    q->active++;
    return generation_begin(q->g, &t->one, &q->start, rng_key(q->key, (uint64_t)t->sample),
                            !q->left);
}

/* ---- steps -------------------------------------------------------------------------------- */

/* Sets the times at which texts ended, and q->active to the number of the others. */
static void count_active(struct queue *q)
{
    q->active = 0;
    for (struct queued *t = q->first; t; t = t->next) {
        if (t->one.finish && !t->ended)
            t->ended = log_seconds();
        q->active += !t->one.finish;
    }
}

int queue_step(struct queue *q)
{
    int64_t going = 0;
    for (struct queued *t = q->first; t; t = t->next)
        if (!t->one.finish)
            q->going[going++] = &t->one;
    if (generator_step(q->g, q->going, going) < 0)
        return -1;
    count_active(q);
    /* a text may end with its first token: at most so many end before the caller takes them out */
    for (int64_t i = 0; i < q->most && q->left && q->active < q->most; i++) {
        if (begin_text(q) < 0)
            return -1;
        count_active(q);
    }
    return q->active > 0 || q->left;
}

void queue_stop(struct queue *q)
{
    for (struct queued *t = q->first; t; t = t->next)
        if (!t->one.finish)
            generation_end(&t->one, FINISH_INTERRUPT);
    q->left = 0;
    count_active(q);
}
