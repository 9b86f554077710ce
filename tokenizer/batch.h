/*
 * batch.h - documents in batches through a pipeline: what goes through the commands of tokenize.
 */
#ifndef TEXTMILL_TOKENIZER_BATCH_H
#define TEXTMILL_TOKENIZER_BATCH_H

#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/pool.h"
#include "tokenizer/input/source.h"
#include "tokenizer/tokenizer.h"

/* Some documents, and what becomes of them. */
struct batch {
    struct buf text;
    size_t *ends; /* document i is text[ends[i - 1]..ends[i]) */
    size_t count, ends_cap;
    uint64_t first; /* document's number in the run, from 1 */
    int sentences;
    struct buf out;
    uint64_t tokens;
    uint64_t replaced; /* bytes that were no text */
    struct ids ids, wrapped, types, sentence_ends;
    struct buf repaired;
};

/* Fills a batch: 1, 0 at the end, -1. Documents with and without sentences do not mix: what the
 * first ones are is kept in *sentences_so_far, which is -1 at first. */
int batch_read(struct batch *b, struct source *source, int *sentences_so_far);

/* Runs `p`, which lacks its items, with batches for items. */
int batch_run(struct pipeline *p, int threads);

/* Things that belong to one thread at a time, made as wanted. A thread gets the one it had before,
 * if that is there: what it has in its processor's caches is of use then. */
struct idle {
    pthread_mutex_t lock;
    struct idle_item {
        void *item;
        pthread_t last;
    } * items;
    size_t count, cap;
};
void idle_init(struct idle *i);
void idle_release(struct idle *i, void (*release)(void *item));
void *idle_take(struct idle *i); /* NULL: there is none */
void idle_give(struct idle *i, void *item);

#endif
