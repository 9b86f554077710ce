/*
 * queue.h - generates the texts of many prompts, several at a time, and gives them out in the order
 * of the prompts.
 *
 *     queue_init(&q, &g, 8);
 *     do {
 *         while (queue_wants(&q) && ... there is another prompt ...)
 *             queue_add(&q, prompt, n, number, key, samples);
 *         more = queue_step(&q);
 *         while ((t = q.first) && ... print the news of t ... && t->one.finish)
 *             queue_drop(&q);
 *     } while (more > 0);
 *     queue_release(&q);
 *
 * When a text ends, the next one takes its place. A text waits in the queue until the texts before
 * it have ended, too.
 */
#pragma once

#include "generate/generator.h"

/* One text. */
struct queued {
    struct queued *next;
    struct buf prompt;
    uint64_t number; /* number of the prompt, given by the caller */
    int64_t sample;  /* number of the text, from 0, among those with this prompt */
    struct generation one;
    double prompt_seconds, began, ended; /* times of log_seconds; ended 0: not yet */
    int told;                            /* not used here; free for the caller */
};

struct queue {
    struct generator *g;         /* borrowed */
    int64_t most;                /* number of texts to generate at a time */
    struct queued *first, *last; /* first may be unfinished; NULL: the queue is empty */
    int64_t active;              /* number of unfinished texts */
    struct generation **going;

    /* the prompt that was added last, and how many of its texts have not begun yet */
    struct start start;
    struct buf prompt;
    uint64_t number, key;
    int64_t samples, left;
};

void queue_init(struct queue *q, struct generator *g, int64_t most);
void queue_release(struct queue *q);

/* Returns 1 if another prompt can be added now, else 0. */
int queue_wants(const struct queue *q);
/* Adds a prompt: runs prompt[0..n) through the model and sets q->start. Later steps begin `samples`
 * texts with it. `number` is kept in each of them; text i gets the random numbers that rng_key(key,
 * i) selects. Returns 0, or -1 with an error; the texts added before are still in the queue. */
int queue_add(struct queue *q, const char *prompt, size_t n, uint64_t number, uint64_t key,
              int64_t samples);

/* Generates one token for each unfinished text, and begins at most `most` texts of the added prompt
 * until `most` texts are unfinished. Returns 1 if there are texts that are unfinished or have not
 * begun, 0 if not, or -1 with an error. */
int queue_step(struct queue *q);

void queue_drop(struct queue *q); /* frees the first text in the queue */

/* Ends all texts that have begun, with FINISH_INTERRUPT; the others will not begin. */
void queue_stop(struct queue *q);
