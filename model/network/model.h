/*
 * model.h - a model: a tensor table, and the forward and backward functions of its three kinds of
 * block (embedding.h, layer.h, and the head here) for one micro-batch.
 *
 *     x[0] = embedding(ids);  x[l+1] = layer(l, x[l]);  loss = head(x[L], labels)
 *
 * An architecture (architecture.h) says what the blocks consist of. The caller owns all memory. The
 * parameters of a block are one array, laid out by the tensor table, and so are its gradients.
 * Activations are [N,C], a row for each token. A block function uses no other memory than its
 * arguments and scratch (ops.h). The caller chooses the types of the arrays (ops.h).
 *
 * Dropout masks derive from the inputs' key, the layer and the place (rng.h). A forward pass that
 * is computed again therefore has the same masks.
 */
#pragma once

#include "common/formats/labels.h"
#include "model/compute/ops.h"
#include "model/network/inputs.h"
#include "model/network/tensor.h"

struct architecture;
struct layer_row;
struct split;

/* What a model computes from the output of its last layer. */
enum model_head {
    HEAD_NEXT,        /* a decoder: logits of the next token */
    HEAD_NONE,        /* the encoder alone; the head's block is empty and has no functions */
    HEAD_PRETRAINING, /* logits of masked words, and whether the second sentence follows the first
                       */
    HEAD_QUESTIONS,   /* whether a token is the first or the last of an answer */
    HEAD_CLASSES,     /* the class of a text or a pair of texts, or a number (regression) */
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
    int zero_ends; /* 1: in a new model, the maps that end residual branches are 0 */
    enum ops_activation activation; /* of the MLP */
    int untied;                     /* 1: the decoder has its own table, not the embedding's */

    /* Llama, Mistral and Qwen only; the maps of others have biases */
    int qkv_bias, out_bias, mlp_bias; /* whether these maps have biases */
    double rope_theta;                /* the base of rotary positions; 0: 10000 */
    struct ops_stretch rope_stretch;
    struct ops_stretch
        rope_longer;     /* LongRoPE: for texts of more than rope_stretch.original tokens */
    int64_t rope_pause;  /* SmolLM3: each such layer has no rotary positions; 0: all have them */
    int64_t window;      /* a token attends to tokens less than this many places away; 0: to all */
    int64_t local_pause; /* ModernBERT: layers 0, local_pause, 2 local_pause, ... have no window; 0:
                            all have it */
    double local_theta;  /* base of rotary positions of the layers with a window */
    double rope_dynamic; /* the factor of "dynamic" scaling, or 0. It changes only texts of more
                          * than `positions` tokens, which a model does not take. */

    /* GPT-2 only */
    int unscaled;       /* 1: attention scores are not divided by sqrt(HS) */
    int scale_by_layer; /* 1: the scores of layer l are divided by l + 1 */

    /* BERT only */
    int64_t types;         /* number of segment types */
    int dropout_first;     /* 1: the embedding's dropout comes before its layer norm */
    int bare_head;         /* 1: the head for masked words has no transform and no bias */
    double head_dropout;   /* dropout of the input of the head for questions (DistilBERT) or of the
                            * map to classes */
    struct labels classes; /* of HEAD_CLASSES */
};

/* One part of the loss. The loss is the sum of its parts, each of them `weight` times the mean over
 * the part's labels. Negative labels do not count. */
struct model_part {
    const char *name; /* for example "mlm"; NULL: the loss is reported without accuracy or name */
    double weight;
    enum batch_label labels;
};

/* A pass through the head. If dx is OPS_NONE, it is only forward. Otherwise it also sets dx[n,C]
 * and computes the gradients of the parameters: those of scale * (sum of losses). In this sum, each
 * of BERT's next-sentence losses is multiplied by in->next_weight, and each loss of a start or end
 * of an answer by 0.5. */
struct head_pass {
    /* Receives the losses of all targets: those of the first part of the loss, then those of the
     * second (inputs_scores); and `correct`, unless that is OPS_NONE. */
    struct ops_scores out;
    struct ops_array x;    /* [n,C] the last layer's output */
    struct ops_array w;    /* the parameters of the head's block */
    struct ops_array tied; /* those of the embedding's block, if the decoder is tied to its table */
    const struct inputs *in;
    struct ops_array dx;
    struct ops_gradient dw, dtied;
    double scale;
};

static inline int head_goes_back(const struct head_pass *p)
{
    return !ops_is_none(p->dx);
}

struct model {
    struct model_config config; /* with a split, the config of this rank's part (split.h) */
    struct tensor_table tensors;

    const struct split *split;     /* borrowed; NULL: one rank */
    int64_t first_head, all_heads; /* this rank's first head, and the number of all heads */
    /* first row of this rank's part of the tables of words and of positions */
    int64_t first_word, first_place;

    const struct layer_row *lists[4]; /* the lists of the layers' rows (layer.h) */

    /* Rows of `tensors`: the head's first one; the weights of a decoder that is not tied. */
    size_t first_head_row, decoder_table;

    int tied; /* 1: the decoder uses the embedding's table and adds to its gradients */

    /* Runs a pass through the head; NULL if there is none. */
    void (*head)(const struct model *m, struct ops *o, const struct head_pass *p);

    /* Computes the head's logits for n rows x[n,C]. HEAD_NEXT: logits[n,V] of the next token.
     * HEAD_PRETRAINING: logits[n,V] of a masked word. HEAD_QUESTIONS: logits[n,2] that an answer
     * starts or ends at the row. HEAD_CLASSES: logits[n,classes]; the rows are those of first
     * tokens. NULL if there is no head. w and tied: as in struct head_pass. */
    void (*head_logits)(const struct model *m, struct ops *o, struct ops_array logits,
                        struct ops_array x, struct ops_array w, struct ops_array tied, int64_t n);

    int parts; /* of the loss */
    struct model_part part[MODEL_PARTS];
};

/* Initialises *m: checks the config, fills in its defaults, and calls the architecture's init.
 * Returns 0, or -1 with an error. */
int model_init(struct model *m, const struct model_config *config);
/* Initialises *m as model_init does, but with only this rank's part of the model (split.h). split
 * NULL: the whole model. The split is borrowed. */
int model_init_split(struct model *m, const struct model_config *config, const struct split *split);
void model_release(struct model *m);

/* Returns 1 if the layer is one of ModernBERT's layers with a window (local_pause), else 0. */
static inline int model_is_local(const struct model_config *c, int64_t layer)
{
    return c->local_pause && layer % c->local_pause != 0;
}

/* Returns 1 if sequences of T tokens have rope_longer's rotary frequencies, else 0. */
static inline int model_is_longer(const struct model_config *c, int64_t T)
{
    return c->rope_longer.divided && (double)T > c->rope_stretch.original;
}

/* model_is_map returns 1 if row `row` of the tensor table is the matrix [in,out] of a linear map.
 * model_is_decoder returns 1 if it is the table that gives the logits of the next token or of a
 * masked word. Else they return 0. */
int model_is_map(const struct model *m, size_t row);
int model_is_decoder(const struct model *m, size_t row);

/* Returns 1 if two models have the same architecture, kind of head, activation, settings of
 * attention, longest sequence, and names and shapes of tensors, else 0. */
int model_alike(const struct model *a, const struct model *b);

/* Returns the floating-point operations of training, forward and backward, for one token of a
 * sequence of T. p is for HEAD_PRETRAINING: the share of the tokens that have a label. The matrices
 * of a layer have P = 2*C*HS*(NH + KV) + G*C*I weights; G is 2, or 3 if the MLP is gated. A decoder
 * takes 6*(L*P + V*C) + 6*L*T*NH*HS, where causal attention counts half, and a window changes
 * nothing. BERT's pre-training takes 6*(L*P + p*(V*C + C^2)) + 12*L*T*NH*HS, without the C^2 if the
 * head is bare. Other encoders take 6*L*P + 12*L*T*NH*HS. */
double model_flops_per_token(const struct model_config *c, int64_t T, double p);
