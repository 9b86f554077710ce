/*
 * architecture.h - one row for each architecture that models can have: its name, how its
 * config.json reads, what its tensors are called in files, and the functions that make it a model.
 *
 * Code outside an architecture's own file asks its row and never which architecture it is. To add
 * one, write its file and add its row to the list in architecture.c.
 */
#ifndef TEXTMILL_MODEL_ARCHITECTURE_H
#define TEXTMILL_MODEL_ARCHITECTURE_H

#include <stddef.h>

#include "common/buf.h"
#include "common/js.h"
#include "model/model.h"

/* Forms of a value in config.json. */
enum config_form {
    CONFIG_COUNT,      /* int64_t */
    CONFIG_REAL,       /* double */
    CONFIG_FLAG,       /* int */
    CONFIG_MARK,       /* int; written only where it is 1 */
    CONFIG_NOT,        /* int: the opposite of the file's value */
    CONFIG_ACTIVATION, /* enum ops_activation */
    CONFIG_ONLY,       /* true or false, as `absent` says; another value is an error */
    CONFIG_TEXT,       /* a word, `text`; another one is an error */
};

/* A key of config.json and the member of struct model_config that holds its value. A key that is
 * missing or null has the value `absent`; of a count first the one of the key named `text`. */
struct config_key {
    const char *key;
    enum config_form form;
    size_t member;
    double absent;
    const char *text;
};
#define CONFIG_AT(name) offsetof(struct model_config, name)

/* In GGUF files: the architecture's name, keys behind it ("NAME.block_count"; those that must be
 * there have `absent` below 0, those that are left out at `absent` a `text`), names of tensors up
 * to their last dot, {ours, theirs} with "%d" for the layer, up to {NULL}; and whether rows of
 * queries and keys are in the order of pairs (gguf_model.h). */
struct architecture_gguf {
    const char *name;
    const struct config_key *keys;
    const char *const (*names)[2];
    int paired;
};

struct architecture {
    const char *name;  /* config.json's model_type */
    const char *title; /* in reports */
    const char *sign;  /* a key that configurations older than model_type have; NULL: none */
    /* The class of transformers for each head; NULL: the architecture does not have that head. */
    const char *classes[MODEL_HEADS];
    const struct config_key *keys; /* the last has no name */
    /* What else the configuration says, after the keys are read and written; may be NULL. */
    int (*read)(struct model_config *c, const struct js *root, const char *path);
    void (*print)(struct buf *out, const struct model_config *c);

    /* Names of tensors in files. All are there with the submodule `prefix` or without. The table
     * of tensors has them with it, or without it if `bare`. */
    const char *prefix;
    int bare;
    const char *const (
        *respelled)[2]; /* ends of names, {ours, theirs}, up to {NULL}; may be NULL */
    /* A file's tensor that is a copy of another; up to a name of NULL. */
    const struct architecture_tie {
        const char *name, *row;
        enum model_head head;
    } * ties;
    /* Beginnings of names, or with a leading '.' ends, of tensors that the model does without;
     * up to NULL. */
    const char *const *passed_over;

    const struct architecture_gguf *gguf; /* NULL: the format does not have it */

    /* Options of a training that not every architecture has, and this one has; up to NULL. */
    const char *const *settings;
    int gated; /* the MLP has two maps side by side, one of which gates the other */
    enum ops_activation activation; /* of a model that is made here */

    /* Adds the tensors and sets the functions of *m, whose config is set and checked; -1 with an
     * error if the architecture asks more of it. */
    int (*init)(struct model *m);
};

extern const struct architecture architecture_gpt2, architecture_bert, architecture_distilbert,
    architecture_llama, architecture_qwen2, architecture_mistral;

/* Row i, from 0; NULL behind the last. */
const struct architecture *architecture_at(size_t i);
/* By name. NULL with an error that lists the names of those with that head. */
const struct architecture *architecture_find(const char *name, enum model_head head);
/* The first row with that head: what a model is of which nobody says it. */
const struct architecture *architecture_default(enum model_head head);

/* Reads config.json's text[n]: the row is that of its model_type, which must have `head`. `name`
 * stands in errors. -1 with an error. */
int architecture_read(struct model_config *c, enum model_head head, const char *text, size_t n,
                      const char *name);
/* Appends config.json. end_of_text: its id, or -1 for none; type: of the weights, in torch's words.
 */
void architecture_print(struct buf *out, const struct model_config *c, int64_t end_of_text,
                        const char *type);

/* Helpers for `read`: as CONFIG_COUNT and CONFIG_REAL, of the config's object or one within it. */
int config_count(int64_t *out, const struct js *root, const char *key, int64_t absent,
                 const char *path);
int config_real(double *out, const struct js *root, const char *key, double absent,
                const char *path);

#endif
