/*
 * task.h - what can be trained: a model with its head, the samples that it learns from, and how
 * both are found in files. All else in train/ is the same for every task.
 */
#ifndef TEXTMILL_TASK_H
#define TEXTMILL_TASK_H

#include "train/samples.h"

enum task_kind { TASK_GPT, TASK_BERT, TASK_SQUAD };
#define TASK_WORDS "gpt|bert|squad" /* in the order of the enum */

struct task {
    const char *name;  /* the word of TASK_WORDS */
    const char *title; /* of the model, in the report */
    enum model_kind model;
    int64_t length; /* tokens of a sequence when nothing says how many */
    double masked;  /* words of made sequences that are masked, as a share of their length */

    int (*init)(struct model *m, const struct model_config *c);

    /* Of a model folder (model/folder.h): its config, and it itself. Tensors of the head that it
     * lacks get initial values from the seed, and *made says how many; made NULL: an error. */
    int (*read_config)(struct model_config *c, const char *dir);
    int (*load)(struct model *m, struct ops *o, struct ops_array **blocks, const char *dir,
                uint64_t seed, int *made);

    /* Samples from files, or made from the seed (samples.h). NULL with an error. */
    struct samples *(*open)(const struct samples_config *c, const struct opt_list *paths,
                            const char *what);
    struct samples *(*make)(const struct samples_config *c);
};

const struct task *task_of(enum task_kind kind);

#endif
