/*
 * model.h - a model: a tensor table, and the forward and backward functions of its three kinds of
 * block (embedding, layer, head) for one micro-batch.
 *
 *     x[0] = embedding(ids);  x[l+1] = layer(l, x[l]);  loss = head(x[L], labels)
 *
 * Each architecture (architecture.h) fills a struct model in its own file. The caller owns all
 * memory. The parameters of a block are one array, laid out by the tensor table, and so are its
 * gradients. Activations are [B*T,C]. A block function uses no other memory than its arguments and
 * scratch (ops.h). The caller chooses the types of the arrays (ops.h).
 *
 * Dropout masks derive from the inputs' key, the layer and the place (rng.h). A forward pass that
 * is computed again therefore has the same masks.
 */
#ifndef TEXTMILL_MODEL_NETWORK_MODEL_H
#define TEXTMILL_MODEL_NETWORK_MODEL_H

#include <stdint.h>

#include "model/compute/ops.h"
#include "model/network/inputs.h"
#include "model/network/tensor.h"

struct architecture;
struct split;

/* What a model computes from the output of its last layer. */
enum model_head {
    HEAD_NEXT,        /* a decoder: logits of the next token */
    HEAD_NONE,        /* the encoder alone; the head's block is empty and has no functions */
    HEAD_PRETRAINING, /* logits of masked words, and whether the second sentence follows the first
                       */
    HEAD_QUESTIONS,   /* whether a token is the first or the last of an answer */
    MODEL_HEADS
};

struct model_config {
    const struct architecture *architecture; /* NULL: the default for the head */
    enum model_head head;

    int64_t layers;     /* L */
    int64_t width;      /* C */
    int64_t heads;      /* NH */
    int64_t kv_heads;   /* heads of keys and values; must divide NH; 0: NH */
    int64_t head_width; /* HS; 0: C/NH */
    int64_t inner;      /* I, width of the MLP */
    int64_t positions;  /* longest sequence */
    int64_t vocabulary;
    double epsilon; /* of the norms */
    double embedding_dropout, attention_dropout, residual_dropout;
    double init_std;
    enum ops_activation activation; /* of the MLP */
    int untied;                     /* 1: the decoder has its own table, not the embedding's */

    /* Llama, Mistral and Qwen2 only */
    int qkv_bias, out_bias, mlp_bias; /* whether these maps have biases */
    double rope_theta;                /* the base of rotary positions; 0: 10000 */
    struct ops_stretch rope_stretch;

    /* GPT-2 only */
    int unscaled;       /* 1: attention scores are not divided by sqrt(HS) */
    int scale_by_layer; /* 1: the scores of layer l are divided by l + 1 */

    /* BERT only */
    int64_t types;       /* number of segment types */
    int dropout_first;   /* 1: the embedding's dropout comes before its layer norm */
    int bare_head;       /* 1: the head for masked words has no transform and no bias */
    double head_dropout; /* DistilBERT: dropout of the input of the head for questions */
};

/* One part of the loss. The loss is the sum of its parts, each of them `weight` times the mean over
 * the part's labels. */
struct model_part {
    const char *name; /* for example "mlm"; NULL if there is only one part */
    double weight;
};

/* What a layer's forward pass saves for its backward pass, in three parts: the arrays of attention,
 * the other activations, and a few F32 numbers for each row (means, deviations, softmax sums). */
enum model_cache_part { CACHE_ATTENTION, CACHE_REST, CACHE_SUMS, CACHE_PARTS };
struct model_cache {
    struct ops_array part[CACHE_PARTS]; /* CACHE_SUMS is F32 */
};

struct model {
    struct model_config config; /* with a split, the config of this rank's part (split.h) */
    struct tensor_table tensors;

    const struct split *split;     /* borrowed; NULL: one rank */
    int64_t first_head, all_heads; /* this rank's first head, and the number of all heads */
    /* first row of this rank's part of the tables of words and of positions */
    int64_t first_word, first_place;

    /* Rows of the tensor table: the norm of HEAD_NEXT, and the table of a decoder that is not tied,
     * also of HEAD_PRETRAINING. */
    size_t decoder_norm, decoder_table;

    /* Scratch memory that a layer's backward needs, in numbers per row of activations. */
    int64_t layer_scratch;

    /* Returns how many numbers one layer's forward saves for its backward, besides its input. Sets
     * parts[], unless it is NULL, to the numbers of each part. */
    int64_t (*layer_cache)(const struct model *m, int64_t B, int64_t T, int64_t parts[CACHE_PARTS]);

    int tied;            /* 1: the decoder uses the embedding's table and adds to its gradients */
    int embedding_again; /* 1: embedding_bwd reads the embedding's parameters; 0: its w may be
                          * OPS_NONE */

    /* Sets x[B*T,C]. w: the embedding block's parameters. */
    void (*embedding_fwd)(const struct model *m, struct ops *o, struct ops_array x,
                          struct ops_array w, const struct inputs *in);
    /* Computes the gradients of the embedding block from dx[B*T,C], which is overwritten. If the
     * model is tied, the head has already set the gradients of the table of words, and this
     * function adds to them. */
    void (*embedding_bwd)(const struct model *m, struct ops *o, struct ops_gradient dw,
                          struct ops_array dx, struct ops_array w, const struct inputs *in);

    /* Sets y[B*T,C] from x[B*T,C]; y must not be x. cache: all parts OPS_NONE if no backward
     * follows (evaluation, generation). With in->past the rows are new tokens that follow the
     * cached ones. */
    void (*layer_fwd)(const struct model *m, struct ops *o, int64_t layer, struct ops_array y,
                      struct ops_array x, struct ops_array w, struct model_cache cache,
                      const struct inputs *in);
    /* Recomputes CACHE_ATTENTION and attention's share of CACHE_SUMS from x, with the same bits as
     * layer_fwd. */
    void (*attention_fwd)(const struct model *m, struct ops *o, int64_t layer, struct ops_array x,
                          struct ops_array w, struct model_cache cache, const struct inputs *in);
    /* Replaces dx, the gradient with respect to y, by the gradient with respect to x, and computes
     * the gradients dw of the layer's parameters. cache: as layer_fwd left it for the same x; it is
     * overwritten. */
    void (*layer_bwd)(const struct model *m, struct ops *o, int64_t layer, struct ops_array dx,
                      struct ops_gradient dw, struct ops_array x, struct ops_array w,
                      struct model_cache cache, const struct inputs *in);

    /* Sets out.losses to the losses of all targets: those of the first part of the loss, then those
     * of the second (inputs_scores). Sets out.correct unless it is OPS_NONE. w: the head block's
     * parameters. tied: the embedding block's parameters, used if the decoder is tied to them. */
    void (*head_fwd)(const struct model *m, struct ops *o, struct ops_scores out,
                     struct ops_array x, struct ops_array w, struct ops_array tied,
                     const struct inputs *in);
    /* Sets `out` as head_fwd does. Sets dx[B*T,C] and the gradients of the parameters to those of
     * scale * (sum of losses). In that sum, each of BERT's next-sentence losses is multiplied by
     * in->next_weight, and each loss of a start or end of an answer by 0.5. */
    void (*head_fwd_bwd)(const struct model *m, struct ops *o, struct ops_scores out,
                         struct ops_array dx, struct ops_gradient dw, struct ops_gradient dtied,
                         struct ops_array x, struct ops_array w, struct ops_array tied,
                         double scale, const struct inputs *in);

    /* Computes the head's logits for n rows x[n,C]. HEAD_NEXT: logits[n,V] of the next token.
     * HEAD_QUESTIONS: logits[n,2] that an answer starts or ends at the row. NULL for other heads.
     * w and tied: as for head_fwd. */
    void (*head_logits)(const struct model *m, struct ops *o, struct ops_array logits,
                        struct ops_array x, struct ops_array w, struct ops_array tied, int64_t n);

    /* The parts of the loss. `labels` sets *labels to the batch's labels of one part, or NULL if
     * there are none, and returns how many places they cover: B*T (tokens) or B (sequences).
     * Negative labels do not count. */
    int parts;
    struct model_part part[MODEL_PARTS];
    int64_t (*labels)(const int32_t **labels, const struct batch *b, int part);
};

/* Initialises *m: checks the config, fills in its defaults, and calls the architecture's init.
 * Returns 0, or -1 with an error. */
int model_init(struct model *m, const struct model_config *config);
/* Initialises *m as model_init does, but with only this rank's part of the model (split.h). split
 * NULL: the whole model. The split is borrowed. */
int model_init_split(struct model *m, const struct model_config *config, const struct split *split);
void model_release(struct model *m);

/* model_is_map returns 1 if row `row` of the tensor table is the matrix [in,out] of a linear map.
 * model_is_decoder returns 1 if it is the table that gives the logits of the next token or of a
 * masked word. Else they return 0. */
int model_is_map(const struct model *m, size_t row);
int model_is_decoder(const struct model *m, size_t row);

/* Divides an array of as many numbers as layer_cache says into the parts of a layer's cache. If
 * `array` is OPS_NONE, all parts are OPS_NONE. */
struct model_cache model_cache_in(const struct model *m, struct ops_array array, int64_t B,
                                  int64_t T);

/* Returns 1 if two models have the same architecture, kind of head, number of attention heads,
 * longest sequence, and names and shapes of tensors, else 0. */
int model_alike(const struct model *a, const struct model *b);

/* The widths inside a layer: of the outputs of the matrices before attention (queries, keys and
 * values together), of attention's output, of the outputs of the MLP's first matrices (the gate's,
 * too, if it is gated), and of the input of its last one. */
struct model_widths {
    int64_t qkv, attention, first, inner;
};
struct model_widths model_widths(const struct model_config *c);

/* Returns the floating-point operations of training, forward and backward, for one token of a
 * sequence of T. p is for HEAD_PRETRAINING: the share of the tokens that have a label. The matrices
 * of a layer have P = 2*C*HS*(NH + KV) + G*C*I weights; G is 2, or 3 if the MLP is gated. A decoder
 * takes 6*(L*P + V*C) + 6*L*T*NH*HS, where causal attention counts half. BERT's pre-training takes
 * 6*(L*P + p*(V*C + C^2)) + 12*L*T*NH*HS, without the C^2 if the head is bare. Other encoders take
 * 6*L*P + 12*L*T*NH*HS. */
double model_flops_per_token(const struct model_config *c, int64_t T, double p);

#endif
