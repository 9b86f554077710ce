/*
 * model.h - a model as the engine sees it: a tensor table and the forward and backward of its
 * three kinds of block, for one micro-batch.
 *
 *     x[0] = embedding(ids);  x[l+1] = layer(l, x[l]);  loss = head(x[L], labels)
 *
 * gpt.c fills a struct model for GPT-2 and GPT-3, bert.c for BERT. The engine owns all memory:
 * parameters and gradients of a block are one array each, laid out by the tensor table;
 * activations are rows of B*T*C floats. A block function touches nothing else.
 *
 * Randomness (dropout) comes from batch->key folded with layer and place (rng.h), so that a
 * recomputed forward sees equal masks.
 */
#ifndef TEXTMILL_MODEL_H
#define TEXTMILL_MODEL_H

#include <stdint.h>

#include "model/ops.h"
#include "model/tensor.h"

enum { MODEL_IGNORE = -100 }; /* a label that does not count */

enum model_kind {
    MODEL_GPT,
    MODEL_BERT,             /* the encoder alone: its head block is empty and has no functions */
    MODEL_BERT_PRETRAINING, /* with the heads for masked words and for the next sentence */
    MODEL_BERT_QUESTIONS,   /* with the head for the first and last token of an answer */
};

struct model_config {
    int64_t layers;    /* L */
    int64_t width;     /* C */
    int64_t heads;     /* NH; divides C */
    int64_t inner;     /* width of the MLP, 4*C */
    int64_t positions; /* longest sequence */
    int64_t vocabulary;
    double epsilon; /* of layer norm */
    double embedding_dropout, attention_dropout, residual_dropout;
    double init_std;

    enum model_kind kind;
    /* of BERT alone */
    int64_t types;     /* segments that are told apart */
    int gelu_tanh;     /* 1: GELU's tanh form; 0: as defined */
    int dropout_first; /* 1: the embedding's dropout comes before its layer norm */
    int bare_head;     /* 1: masked words are decoded as they are, without transform and bias */
};

/* One micro-batch of B sequences of T tokens. */
struct batch {
    int64_t B, T;
    const uint32_t *ids;   /* [B,T] */
    const int32_t *labels; /* [B,T], MODEL_IGNORE where none */
    uint64_t key;          /* of dropout: (seed, step, micro-batch) folded */
    int training;          /* 0: no dropout */
    int first;             /* 1: a step's first; see layer_bwd */

    /* of BERT alone */
    const int64_t *lengths;   /* [B] real tokens, each from 1 to T; NULL: all T. Padding is never
                               * computed: row r of the activations is the r-th real token. */
    const uint32_t *segments; /* [B,T]; NULL: all 0 */
    const int32_t *next;      /* [B] 0 the next sentence, 1 another, or MODEL_IGNORE; NULL: none */
    double next_weight;       /* of a next-sentence loss beside a word's in the sum of losses */
    const int32_t *starts, *ends; /* [B] of the answers; outside of the sequence: does not count */
};

enum { MODEL_PARTS = 2 };

/* A loss is the sum of its parts, each of them `weight` times the mean over its own labels. */
struct model_part {
    const char *name; /* "mlm"; NULL of the only part */
    double weight;
};

/* What a layer keeps from forward for backward, in parts: what attention made, the rest of its
 * activations, and a few numbers a row (means, deviations, softmax sums), which want all their
 * bits. */
enum model_cache_part { CACHE_ATTENTION, CACHE_REST, CACHE_SUMS, CACHE_PARTS };
struct model_cache {
    float *part[CACHE_PARTS];
};

struct model {
    struct model_config config;
    struct tensor_table tensors;

    /* Floats that one layer keeps from forward for backward, beside its input row; parts (may be
     * NULL) is set to those of each part. */
    int64_t (*layer_cache)(const struct model *m, int64_t B, int64_t T, int64_t parts[CACHE_PARTS]);

    /* x[B*T,C] is set. w: the embedding block's parameters. */
    void (*embedding_fwd)(const struct model *m, struct ops *o, float *x, const float *w,
                          const struct batch *b);
    /* dw is added to, from dx[B*T,C], which is destroyed. */
    void (*embedding_bwd)(const struct model *m, struct ops *o, float *dw, float *dx,
                          const float *w, const struct batch *b);

    /* y[B*T,C] is set from x[B*T,C]; y and x differ. cache: of NULLs when no backward will follow
     * (evaluation). */
    void (*layer_fwd)(const struct model *m, struct ops *o, int64_t layer, float *y, const float *x,
                      const float *w, struct model_cache cache, const struct batch *b);
    /* The part of layer_fwd that sets CACHE_ATTENTION and its share of CACHE_SUMS, from x: the same
     * bits again. */
    void (*attention_fwd)(const struct model *m, struct ops *o, int64_t layer, const float *x,
                          const float *w, struct model_cache cache, const struct batch *b);
    /* dx holds the gradient in y and is set to the gradient in x. dw is added to; where b->first,
     * and layers_begin says so, it is set, which saves the pass that would clear it. cache as
     * layer_fwd left it for the same x; it is scratch afterwards. */
    int layers_begin;
    void (*layer_bwd)(const struct model *m, struct ops *o, int64_t layer, float *dx, float *dw,
                      const float *x, const float *w, struct model_cache cache,
                      const struct batch *b);

    /* losses[B*T] is set to the negative log-likelihood (nats) of each label, 0 where ignored;
     * returns their sum. correct, if not NULL: [B*T] set to 1 where the label is the argmax.
     * w: the head block; tied: the embedding block (the decoder is tied to it).
     * BERT in pre-training has [B] more of both, the next-sentence ones, whose losses count
     * next_weight times in the sum; BERT for questions has [2,B] in all, the starts' and the
     * ends', whose losses count half: part after part. */
    double (*head_fwd)(const struct model *m, struct ops *o, float *losses, unsigned char *correct,
                       const float *x, const float *w, const float *tied, const struct batch *b);
    /* The same, and the gradients of scale * (sum of losses): dx is set; dw and dtied are added to;
     * where b->first, and head_begins says so, both blocks are set. losses and correct are set or,
     * both, NULL. */
    int head_begins;
    double (*head_fwd_bwd)(const struct model *m, struct ops *o, float *losses,
                           unsigned char *correct, float *dx, float *dw, float *dtied,
                           const float *x, const float *w, const float *tied, double scale,
                           const struct batch *b);

    /* The parts of the loss, in the order of their losses, and the labels of one: *labels is set
     * (NULL: none), how many places there are is returned. Negative ones do not count. */
    int parts;
    struct model_part part[MODEL_PARTS];
    int64_t (*labels)(const int32_t **labels, const struct batch *b, int part);
};

/* GPT-2 and GPT-3 (gpt.c): checks the config (heads divide width, ...) and fills *m.
 * -1 with an error. */
int model_init_gpt(struct model *m, const struct model_config *config);
/* BERT (bert.c); config->kind says with which head. */
int model_init_bert(struct model *m, const struct model_config *config);
void model_release(struct model *m);

/* The cache of a layer in one array of layer_cache floats; of NULLs in NULL. */
struct model_cache model_cache_in(const struct model *m, float *array, int64_t B, int64_t T);

/* What every kind demands of its config. -1 with an error. */
int model_check_config(const struct model_config *c);

/* FLOPs of training on one token of a sequence of T, forward and backward, with I the inner width
 * and p the share of tokens that have a label: of GPT, causal attention counted once,
 * 6*(L*(4*C^2 + 2*C*I) + V*C) + 6*L*T*C; of BERT in pre-training 6*(L*(4*C^2 + 2*C*I) +
 * p*(V*C + C^2)) + 12*L*T*C, less the C^2 of a bare head; of the other BERTs without p's part. */
double model_flops_per_token(const struct model_config *c, int64_t T, double p);

#endif
