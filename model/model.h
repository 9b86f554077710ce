/*
 * model.h - a model as the engine sees it: a tensor table and the forward and backward of its
 * three kinds of block, for one micro-batch.
 *
 *     x[0] = embedding(ids);  x[l+1] = layer(l, x[l]);  loss = head(x[L], labels)
 *
 * Each architecture (architecture.h) fills a struct model in its own file. The caller owns all
 * memory: parameters and gradients of a block are one array each, laid out by the tensor table;
 * activations are rows of B*T*C numbers. A block function touches nothing else. Arrays are of the
 * types that the caller keeps them in (ops.h).
 *
 * Randomness (dropout) comes from the inputs' key folded with layer and place (rng.h), so that a
 * recomputed forward sees equal masks.
 */
#ifndef TEXTMILL_MODEL_MODEL_H
#define TEXTMILL_MODEL_MODEL_H

#include <stdint.h>

#include "model/inputs.h"
#include "model/ops.h"
#include "model/tensor.h"

struct architecture;
struct split;

/* What a model says about the output of its last layer. */
enum model_head {
    HEAD_NEXT,        /* the next token: a decoder */
    HEAD_NONE,        /* nothing: the encoder alone. The head's block is empty, without functions */
    HEAD_PRETRAINING, /* masked words, and whether the second sentence follows the first */
    HEAD_QUESTIONS,   /* the first and the last token of an answer */
    MODEL_HEADS
};

struct model_config {
    const struct architecture *architecture; /* NULL: the default for the head */
    enum model_head head;

    int64_t layers;     /* L */
    int64_t width;      /* C */
    int64_t heads;      /* NH */
    int64_t kv_heads;   /* heads of keys and values, which divides NH; 0: NH */
    int64_t head_width; /* HS; 0: C/NH */
    int64_t inner;      /* I, width of the MLP */
    int64_t positions;  /* longest sequence */
    int64_t vocabulary;
    double epsilon; /* of the norms */
    double embedding_dropout, attention_dropout, residual_dropout;
    double init_std;
    enum ops_activation activation; /* of the MLP */
    int untied;                     /* 1: the decoder has a table of its own, not the embedding's */

    /* of Llama and its kin alone */
    int qkv_bias, out_bias, mlp_bias; /* whether these maps have biases */
    double rope_theta;                /* the base of rotary positions; 0: 10000 */
    struct ops_stretch rope_stretch;

    /* of GPT-2 alone */
    int unscaled;       /* 1: attention's scores are not divided by the root of HS */
    int scale_by_layer; /* 1: those of layer l are divided by l + 1 */

    /* of BERT alone */
    int64_t types;       /* segments that are told apart */
    int dropout_first;   /* 1: the embedding's dropout comes before its layer norm */
    int bare_head;       /* 1: masked words are decoded as they are, without transform and bias */
    double head_dropout; /* DistilBERT: of what the head for questions reads */
};

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
    struct ops_array part[CACHE_PARTS]; /* sums are F32 */
};

struct model {
    struct model_config config; /* with a split this rank's own part (split.h) */
    struct tensor_table tensors;

    const struct split *split;       /* borrowed; NULL: one rank */
    int64_t first_head, all_heads;   /* this rank's heads among all of them, */
    int64_t first_word, first_place; /* and its rows of the tables of words and positions */

    size_t decoder_norm, decoder_table; /* rows of the table, of a decoder's head (block.h) */

    /* Numbers of scratch that a layer's backward takes for each row. */
    int64_t layer_scratch;

    /* Numbers that one layer keeps from forward for backward, beside its input row; parts (may be
     * NULL) is set to those of each part. */
    int64_t (*layer_cache)(const struct model *m, int64_t B, int64_t T, int64_t parts[CACHE_PARTS]);

    int tied; /* 1: the head reads the embedding block and makes gradients of it */

    /* x[B*T,C] is set. w: the embedding block's parameters. */
    void (*embedding_fwd)(const struct model *m, struct ops *o, struct ops_array x,
                          struct ops_array w, const struct inputs *in);
    /* From dx[B*T,C], which is destroyed. What the head has made gradients of is added to. */
    void (*embedding_bwd)(const struct model *m, struct ops *o, struct ops_gradient dw,
                          struct ops_array dx, struct ops_array w, const struct inputs *in);

    /* y[B*T,C] is set from x[B*T,C]; y and x differ. cache: of none when no backward will follow
     * (evaluation, generation). With in->past the rows are tokens after those that went before. */
    void (*layer_fwd)(const struct model *m, struct ops *o, int64_t layer, struct ops_array y,
                      struct ops_array x, struct ops_array w, struct model_cache cache,
                      const struct inputs *in);
    /* The part of layer_fwd that sets CACHE_ATTENTION and its share of CACHE_SUMS, from x: the same
     * bits again. */
    void (*attention_fwd)(const struct model *m, struct ops *o, int64_t layer, struct ops_array x,
                          struct ops_array w, struct model_cache cache, const struct inputs *in);
    /* dx holds the gradient in y and is set to the gradient in x. cache as layer_fwd left it for
     * the same x; it is scratch afterwards. */
    void (*layer_bwd)(const struct model *m, struct ops *o, int64_t layer, struct ops_array dx,
                      struct ops_gradient dw, struct ops_array x, struct ops_array w,
                      struct model_cache cache, const struct inputs *in);

    /* The loss of each target is set, part after part (inputs_scores). out.correct may be none.
     * w: the head block; tied: the embedding block (the decoder is tied to it). */
    void (*head_fwd)(const struct model *m, struct ops *o, struct ops_scores out,
                     struct ops_array x, struct ops_array w, struct ops_array tied,
                     const struct inputs *in);
    /* The same, and the gradients of scale * (sum of losses): dx is set. BERT's next-sentence
     * losses count next_weight times in that sum, those of starts and ends half. */
    void (*head_fwd_bwd)(const struct model *m, struct ops *o, struct ops_scores out,
                         struct ops_array dx, struct ops_gradient dw, struct ops_gradient dtied,
                         struct ops_array x, struct ops_array w, struct ops_array tied,
                         double scale, const struct inputs *in);

    /* What the head says about n rows x[n,C], HEAD_NEXT: logits[n,V] of the next token,
     * HEAD_QUESTIONS: logits[n,2] that an answer starts and ends there. NULL of other heads. */
    void (*head_logits)(const struct model *m, struct ops *o, struct ops_array logits,
                        struct ops_array x, struct ops_array w, struct ops_array tied, int64_t n);

    /* The parts of the loss, in the order of their losses, and the labels of one: *labels is set
     * (NULL: none), how many places there are is returned: B*T of tokens or B of sequences.
     * Negative ones do not count. */
    int parts;
    struct model_part part[MODEL_PARTS];
    int64_t (*labels)(const int32_t **labels, const struct batch *b, int part);
};

/* Checks the config, sets what it leaves open, and lets its architecture fill *m. -1 with an
 * error. */
int model_init(struct model *m, const struct model_config *config);
/* The same, of one rank's part. */
int model_init_split(struct model *m, const struct model_config *config, const struct split *split);
void model_release(struct model *m);

/* Whether a row of the table is a matrix of a linear map, [in,out]; whether it is the table that
 * gives the logits of the next token. */
int model_is_map(const struct model *m, size_t row);
int model_is_decoder(const struct model *m, size_t row);

/* The cache of a layer in one array of layer_cache numbers; of none in none. */
struct model_cache model_cache_in(const struct model *m, struct ops_array array, int64_t B,
                                  int64_t T);

/* 1 when two models have equal architectures, heads, sizes and tensors. */
int model_alike(const struct model *a, const struct model *b);

/* FLOPs of training on one token of a sequence of T, forward and backward, with p the share of
 * tokens that have a label. A layer has P = 2*C*HS*(NH + KV) + G*C*I weights in its matrices, G
 * being 2, or 3 where the MLP is gated; causal attention is counted once: 6*(L*P + V*C) +
 * 6*L*T*NH*HS of a decoder, 6*(L*P + p*(V*C + C^2)) + 12*L*T*NH*HS in BERT's pre-training, less
 * the C^2 of a bare head, and without p's part of other encoders. */
double model_flops_per_token(const struct model_config *c, int64_t T, double p);

#endif
