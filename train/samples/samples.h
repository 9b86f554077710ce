/*
 * samples.h - the samples that a model learns from, read by number.
 *
 * A sample is one sequence, or one row in which several sequences are packed. Each kind of model
 * and data has a reader that returns the sequences of the sample with a given number (from 0).
 */
#pragma once

#include "classify/classify.h"
#include "common/program/opt.h"
#include "model/network/model.h"
#include "tfrecord/read/dataset.h"
#include "tokenizer/tokenizer.h"

/* The arrays that sequences have: ids and labels; or also those of encoders; or also the lengths of
 * the documents into which sequences are divided. */
enum sequences_kind { SEQUENCES_PLAIN, SEQUENCES_ENCODER, SEQUENCES_DOCUMENTS };

/* A buffer for up to `room` sequences of T tokens. `count` of them are filled. */
struct sequences {
    int64_t T, room, count;
    enum sequences_kind kind;
    int64_t documents; /* in all sequences */
    uint32_t *ids;     /* [room,T], and one element more; so has `labels` */
    int32_t *labels;   /* [room,T] */
    int64_t *lengths;  /* of each sequence of an encoder, [room]; or of each document, [room*T] */
    /* for encoders only, else NULL */
    uint32_t *segments;               /* [room,T] */
    int32_t *classes, *starts, *ends; /* [room] */
    float *values;                    /* [room] */
};

/* Allocates room for `room` sequences of T tokens. */
void sequences_init(struct sequences *s, int64_t room, int64_t T, enum sequences_kind kind);
void sequences_release(struct sequences *s);
void sequences_clear(struct sequences *s); /* no sequence is filled */
uint64_t sequences_bytes(int64_t room, int64_t T, enum sequences_kind kind);

/* Adds a sequence of T tokens to the buffer and returns its index. For an encoder, sets its
 * segments to 0 and its labels to MODEL_IGNORE. The buffer must have room. */
int64_t sequences_add(struct sequences *s);
/* For SEQUENCES_DOCUMENTS: divides sequence `row` into documents, each of which begins with an
 * end-of-text or at the start of the sequence. An end-of-text whose label is end-of-text, too, is
 * padding, and its label becomes MODEL_IGNORE. */
void sequences_divide(struct sequences *s, int64_t row, uint32_t end_of_text);

/* Returns all filled sequences, or their documents, as a batch, which borrows their arrays. */
struct batch sequences_batch(const struct sequences *s);
int64_t sequences_tokens(const struct sequences *s); /* without padding */

struct samples {
    uint64_t count; /* number of samples; 0: samples are generated, without end */
    int64_t most;   /* most sequences in a sample */
    double epoch;   /* samples after which each document has occurred once; 0: all samples */
    enum sequences_kind kind;   /* of the sequences */
    int64_t T;                  /* most tokens in a sequence */
    int64_t mask_tokens;        /* most masked tokens in a sequence; 0: no masking */
    uint64_t tokens;            /* in all samples; BERT's with padding; 0: samples are generated */
    uint64_t blend;             /* hash of a blend's sources and weights; 0: no blend */
    struct dataset_facts facts; /* borrowed; `epoch` is not used */
    const struct labels *classes; /* of the labels; NULL: none */
    uint64_t seed;                /* of generated samples */
    int64_t ids; /* size of the model's vocabulary: a greater or equal id is an error. Set before
                  * reading */

    /* Adds the sequences of sample i to *out. Returns 0, or -1 with an error that names the file,
     * the record and its offset. */
    int (*read)(const struct samples *s, uint64_t i, struct sequences *out);
    /* Adds the sequences of training sample k to *out. `key` selects the order of the training
     * samples, which has no end. Returns 0, or -1 with an error. NULL: the order is that of
     * batches_draw. */
    int (*draw)(const struct samples *s, uint64_t key, uint64_t k, struct sequences *out);
    /* Appends lines key=value to `out`. They describe the data, and how much of it a run of `drawn`
     * samples uses (0: the number is not known). Each key begins with the text `begins`. NULL:
     * there is nothing to describe. */
    void (*describe)(const struct samples *s, const char *begins, double drawn, struct buf *out);
    void (*close)(struct samples *s); /* releases all but *s itself; NULL: there is nothing */
};

/* The settings of a reader. */
struct samples_config {
    int64_t T;           /* most tokens in a sequence; 0: as many as the data has */
    int64_t longest;     /* with T 0: at most this many */
    int64_t usual;       /* with T 0: this many if the data has no length */
    int64_t mask_tokens; /* most masked tokens in a sequence (BERT); 0: as the data has */
    uint64_t seed;       /* seed of generated samples */
    int64_t vocabulary;  /* size of the vocabulary of generated samples */
    const struct tokenizer *tokenizer; /* for texts; NULL: none. Borrowed for the call */
    int documents;                     /* GPT: 1: the sequences are divided into documents */
    int google;                        /* for SQuAD: see squad_windows.h */
    int64_t stride;                    /* -1: squad_usual_stride */
    struct classify_columns columns;   /* for classes */
    const struct labels *classes;      /* of the model; count 0: those of the data. Borrowed for
                                        * the call */
};

/* GPT. samples_open_gpt opens the token ids of tfrecord/read/dataset.h; the label of each token is
 * the id of the next token. `what` is the name of the data in messages. To divide sequences into
 * documents, the id of end-of-text must be known from the data's manifest or the tokenizer. Returns
 * NULL with an error. */
struct samples *samples_open_gpt(const struct samples_config *c, const struct opt_list *paths,
                                 const char *what);

/* BERT pre-training. samples_open_bert opens the records of tfrecord/read/bert_rows.h. All records
 * must have the shape of the first one, which must match T and mask_tokens if these are set.
 * Returns NULL with an error. */
struct samples *samples_open_bert(const struct samples_config *c, const struct opt_list *paths,
                                  const char *what);

/* SQuAD and classes. samples_open_squad opens the windows into which a file's questions are cut
 * (squad_windows.h), samples_open_classify the texts with labels of a file (classify.h). Return
 * NULL with an error. */
struct samples *samples_open_squad(const struct samples_config *c, const struct opt_list *paths,
                                   const char *what);
struct samples *samples_open_classify(const struct samples_config *c, const struct opt_list *paths,
                                      const char *what);

/* Makes samples of uniform random ids, which depend on the seed and on the sample's number: for
 * GPT; pairs of sentences for BERT; or sequences with answers and two classes. */
enum samples_made { MADE_SEQUENCES, MADE_PAIRS, MADE_ANSWERS };
struct samples *samples_make(const struct samples_config *c, enum samples_made made);

/* Returns 0 if the paths are one file and a tokenizer is there, or -1 with an error. `kind`: what
 * the file holds. */
int samples_check_file(const struct samples_config *c, const struct opt_list *paths,
                       const char *what, const char *kind);

/* Opens a blend (tfrecord/formats/blend.h) if the paths have weights, as "A:0.7,B:0.3". Each source
 * is opened by `open`, one of the functions above. Without weights, returns open(c, paths, what).
 * Returns NULL with an error.
 *
 * The order of a blend has no epochs of its own: each source has its own epochs, each in an order
 * of its own. So a source is used up before any of its samples comes twice. The samples of all
 * sources together count as one epoch of the blend. */
typedef struct samples *samples_open(const struct samples_config *c, const struct opt_list *paths,
                                     const char *what);
struct samples *samples_open_blend(samples_open *open, const struct samples_config *c,
                                   const struct opt_list *paths, const char *what);

/* Returns the number of samples after which each document has occurred once. */
double samples_epoch(const struct samples *s);

/* Does nothing on NULL. */
void samples_close(struct samples *s);
