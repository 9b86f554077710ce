/*
 * samples.h - what a model learns from, by number.
 *
 * A sample is what the data holds under one number: a sequence, or a row of several that are
 * packed. Each kind of model and of data has its reader; who asks for sample i gets sequences.
 */
#ifndef TEXTMILL_TRAIN_SAMPLES_H
#define TEXTMILL_TRAIN_SAMPLES_H

#include <stdint.h>

#include "common/opt.h"
#include "model/model.h"
#include "tokenizer/tokenizer.h"

/* Room for sequences of up to T tokens, and those that are there. */
struct sequences {
    int64_t T, room, count;
    uint32_t *ids;   /* [room,T], and one more */
    int32_t *labels; /* [room,T] */
    /* for encoders, else NULL */
    uint32_t *segments;            /* [room,T] */
    int64_t *lengths;              /* [room] */
    int32_t *next, *starts, *ends; /* [room] */
};

/* Room for `room` sequences, the encoders' arrays too if asked. */
void sequences_init(struct sequences *s, int64_t room, int64_t T, int encoder);
void sequences_release(struct sequences *s);
uint64_t sequences_bytes(int64_t room, int64_t T, int encoder);

/* The next row, whose length is T, and of which an encoder's segments are 0, its labels
 * MODEL_IGNORE. */
int64_t sequences_add(struct sequences *s);

/* All that are there, as a batch; borrows their arrays. */
struct batch sequences_batch(const struct sequences *s);
int64_t sequences_tokens(const struct sequences *s); /* without padding */

struct samples {
    uint64_t count;        /* 0: they are made, and there is one of every number */
    int64_t most;          /* sequences in a sample */
    double epoch;          /* samples in which each document comes once; 0: all */
    int encoder;           /* 1: the sequences have an encoder's arrays */
    int64_t T;             /* tokens of a sequence, at most */
    int64_t mask_tokens;   /* masked words of a sequence, at most; 0: not of that kind */
    uint64_t tokens;       /* places for tokens in all; 0: they are made */
    uint64_t checksum;     /* of the vocabulary that made them; 0: not known */
    uint64_t vocabulary;   /* its size; 0: not known */
    const char *tokenizer; /* path of the tokenizer.json kept with the data; NULL: none */
    int64_t ids; /* the model's: an id that is not below is an error. Set before reading */

    /* Adds the sequences of sample i. -1 with file, record and offset. */
    int (*read)(const struct samples *s, uint64_t i, struct sequences *out);
    /* Appends what is in the data, lines key=value, of which each key begins so; NULL: nothing. */
    void (*describe)(const struct samples *s, const char *begins, struct buf *out);
    void (*close)(struct samples *s);
};

/* What reading depends on. */
struct samples_config {
    int64_t T;           /* tokens of a sequence, at most; 0: what the data has, */
    int64_t longest;     /* but not more than this, or this where the data has no length */
    int64_t mask_tokens; /* masked words of a sequence, at most (BERT); 0: what the data has */
    uint64_t seed;       /* of samples that are made */
    int64_t vocabulary;  /* and their ids */
    const struct tokenizer *tokenizer; /* of texts; NULL: none. Borrowed for the call */
    int google;                        /* of SQuAD: squad_windows.h */
    int64_t stride, question_tokens;   /* stride -1: squad_usual_stride */
};

/* GPT: the ids of tfrecord/read/dataset.h and, as labels, the ids one place on; or uniform random
 * ids from (seed, number). NULL with an error, which calls the data `what`. */
struct samples *samples_open_gpt(const struct samples_config *c, const struct opt_list *paths,
                                 const char *what);
struct samples *samples_make_gpt(const struct samples_config *c);

/* BERT in pre-training: the records of tfrecord/read/bert_rows.h, all of the shape of the first,
 * which must be T and mask_tokens; or pairs of random ids. */
struct samples *samples_open_bert(const struct samples_config *c, const struct opt_list *paths,
                                  const char *what);
struct samples *samples_make_bert(const struct samples_config *c);

/* SQuAD: the windows of a file's questions, or random rows with answers. */
struct samples *samples_open_squad(const struct samples_config *c, const struct opt_list *paths,
                                   const char *what);
struct samples *samples_make_squad(const struct samples_config *c);

/* Fine on NULL. */
void samples_close(struct samples *s);

#endif
