/*
 * batch.h - batches of documents, the work items of the pipelines of tokenize.
 */
#pragma once

#include "common/base/pool.h"
#include "tokenizer/input/source.h"
#include "tokenizer/tokenizer.h"

/* A batch of documents and the results for them. The caller of batch_read and the pipeline's
 * worker fill in the fields that apply to their command. */
struct batch {
    struct buf text;    /* the documents, joined */
    size_t *ends;       /* document i is text[ends[i - 1]..ends[i]) */
    const char **files; /* the file that document i is from */
    size_t count, ends_cap, files_cap;
    uint64_t first; /* number of the batch's first document in the run, counted from 1 */
    int sentences;  /* 1: each line of a document is a sentence */
    struct buf out; /* the result */
    uint64_t tokens;
    uint64_t replaced; /* bytes that were not valid text and became U+FFFD */
    /* working memory for the current document: its ids; the ids with special tokens around them;
     * the ends of its sentences */
    struct ids ids, wrapped, sentence_ends;
    struct buf repaired;
};

/* Reads the next documents of `source` into the batch b. Returns 1 if it holds any, 0 at the end of
 * the input, -1 with an error. Set *sentences_so_far to -1 before the first call; the function sets
 * it to 1 if documents have sentences and to 0 if not. Input that mixes both kinds is an error,
 * unless sentences_so_far is NULL. */
int batch_read(struct batch *b, struct source *source, int *sentences_so_far);

/* Runs the pipeline `p`, whose items are batches, on `threads` threads. Allocates p->items and
 * frees them. Returns 0, or -1 with an error. */
int batch_run(struct pipeline *p, int threads);

/* A pool of objects that one thread at a time uses, such as encoders. Callers create objects when
 * the pool is empty. A thread preferably gets the object it used last, whose data may still be in
 * that processor's caches. */
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
void *idle_take(struct idle *i); /* removes an object from the pool; NULL if the pool is empty */
void idle_give(struct idle *i, void *item);

/* For a pool of encoders of `t`: idle_encoder takes one, or makes one if the pool is empty. */
struct encoder *idle_encoder(struct idle *i, const struct tokenizer *t);
void idle_release_encoders(struct idle *i);
