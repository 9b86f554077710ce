/*
 * architecture.h - the table of supported architectures, one row each: its name, the keys of its
 * config.json, the list of a layer's operations (layer.h), and the names of its tensors in files.
 *
 * Code outside an architecture's own file reads this row; it never tests which architecture it has.
 * To add an architecture, write its file and add its row to the list in architecture.c.
 */
#pragma once

#include "common/base/ids.h"
#include "common/formats/js.h"
#include "model/network/layer.h"
#include "model/network/model.h"

/* How the value of a key in config.json is read and stored. */
enum config_form {
    CONFIG_COUNT,      /* int64_t */
    CONFIG_REAL,       /* double */
    CONFIG_FLAG,       /* int */
    CONFIG_MARK,       /* int; the key is written only if the value is 1 */
    CONFIG_NOT,        /* int: the negation of the value in the file */
    CONFIG_ACTIVATION, /* enum ops_activation */
    CONFIG_ONLY,       /* must equal `absent` (0 false, 1 true); another value is an error */
    CONFIG_TEXT,       /* must be the string `text`; another value is an error */
};

/* Maps a key of config.json to the member of struct model_config that holds its value. A key that
 * is missing or null gets the value `absent`. A CONFIG_COUNT may name an older key in `text`, which
 * is read when `key` is missing. */
struct config_key {
    const char *key;
    enum config_form form;
    size_t member;
    double absent;
    const char *text;
};
#define CONFIG_AT(name) offsetof(struct model_config, name)

/* How the architecture is stored in GGUF files. `keys`: the configuration keys, without the prefix
 * "NAME."; a key with a negative `absent` is required, and a number with a `text` is not written
 * when it equals `absent`. `paired`: whether the rows of query and key matrices are in pair order
 * (gguf_model.h). `sign`: a tensor or key that tells the files of this architecture from those of
 * another one with the same name; NULL: none. */
struct architecture_gguf {
    const char *name;
    const struct config_key *keys;
    int paired;
    const char *sign;
};

struct architecture {
    const char *name;  /* the value of model_type in config.json */
    const char *title; /* the name in reports */
    const char *sign;  /* a key that identifies configurations written before model_type existed;
                        * NULL: none */
    /* The class of the transformers library for each head; NULL: the head is not supported. */
    const char *classes[MODEL_HEADS];
    int own_cuts; /* 1: transformers 5 cuts texts its own way, whatever tokenizer.json says */
    const struct config_key *keys; /* ends with an entry whose key is NULL */
    /* Read and write the rest of the configuration, after the keys; may be NULL. `read` returns 0,
     * or -1 with an error. */
    int (*read)(struct model_config *c, const struct js *root, const char *path);
    void (*print)(struct buf *out, const struct model_config *c);

    const struct layer_row *layer; /* ends with LAYER_END */
    /* The names of the tensors outside the list of a layer; NULL: the model has no such tensor.
     * Names of norms and maps are without ".weight" and ".bias". layer: the beginning of the
     * names of a layer's tensors, with "%lld" for its number. pooler, next, classes: the maps of
     * the heads on the first token. dense, dense_norm, bias: what the head for masked words has
     * before its decoder, and the decoder's bias. decoder: its table. If that is tied to `words`,
     * files may have a copy of `words` under this name, and one of `bias` with the end ".bias". */
    struct architecture_names {
        const char *words, *positions, *types, *norm, *layer, *last_norm, *decoder, *pooler, *next,
            *classes, *dense, *dense_norm, *bias;
    } names;
    int first_position; /* the row of the position table for a text's first token */
    int rms;            /* 1: norms are RMSNorm */
    int unbiased; /* 1: norms have no bias, nor has the dense map of the head for masked words */
    int untransposed; /* 1: files hold a layer's matrices as memory does, [in,out] */
    int scaled_ends;  /* 1: the initial values of maps at the end of residual branches are smaller
                       * by sqrt(2 L), because 2 L of them add to one stream */

    /* Tensor names in files may have the submodule `prefix` or lack it. The tensor table's names
     * have it, unless `bare` is 1. */
    const char *prefix;
    int bare;
    const char *const (*respelled)[2]; /* alternative ends of names, {our end, other end}; {NULL}
                                        * ends the list; may be NULL */
    /* Tensors in files that the model ignores: a string is the start of a name without the prefix
     * or, if it begins with '.', its end. NULL ends the list. */
    const char *const *passed_over;

    const struct architecture_gguf *gguf; /* NULL: GGUF does not support it */

    /* The training options that this architecture accepts although not all do; NULL ends the
     * list. */
    const char *const *settings;
    enum ops_activation activation; /* the activation of new models */

    /* Checks the rest of m->config and completes it, adds the tensors of all blocks, and sets the
     * functions of the head. Returns 0, or -1 with an error if this architecture does not support
     * the config. */
    int (*init)(struct model *m);
};

extern const struct architecture architecture_gpt2, architecture_bert, architecture_distilbert,
    architecture_roberta, architecture_llama, architecture_qwen2, architecture_qwen3,
    architecture_smollm3, architecture_mistral, architecture_modernbert;

/* Returns row i, from 0; NULL after the last row. */
const struct architecture *architecture_at(size_t i);
/* Returns the row called `name` if it supports the head. Otherwise returns NULL and sets an error
 * that lists the architectures that support it. */
const struct architecture *architecture_find(const char *name, enum model_head head);
/* Returns the first row that supports the head, which is used if no architecture is given. */
const struct architecture *architecture_default(enum model_head head);
/* Returns the name that an activation has in config.json. */
const char *architecture_activation(enum ops_activation activation);

/* Reads config.json from text[n]. Its model_type selects the row, which must support `head`. Error
 * messages begin with `name`. Returns 0, or -1 with an error. */
int architecture_read(struct model_config *c, enum model_head head, const char *text, size_t n,
                      const char *name);
/* Sets *head to the head of the model in a folder, whose config.json is text[n]: the head whose
 * class "architectures" names or, for any other class, the next token or the encoder alone,
 * whichever the architecture supports. Returns 0, or -1 with an error that begins with `name`. */
int architecture_head(enum model_head *head, const char *text, size_t n, const char *name);
/* Appends the text of config.json to `out`. begin, ends: as for architecture_print_ends. type: the
 * type of the weights, as torch names it. */
void architecture_print(struct buf *out, const struct model_config *c, int64_t begin,
                        const struct ids *ends, const char *type);
/* Appends the lines of bos_token_id and eos_token_id: of the token that begins a text (-1: none),
 * and of those that end one. */
void architecture_print_ends(struct buf *out, int64_t begin, const struct ids *ends);

/* Helpers for `read`. Set *out to the integer or real number that the key has in the object `root`,
 * or to `absent` if the key is missing or null. Return 0, or -1 with an error that begins with
 * `path`. */
int config_count(int64_t *out, const struct js *root, const char *key, int64_t absent,
                 const char *path);
int config_real(double *out, const struct js *root, const char *key, double absent,
                const char *path);
