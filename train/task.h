/*
 * task.h - what can be trained: a model with its head, the samples that it learns from, and how
 * both are found in files. All else in train/ is the same for every task.
 */
#ifndef TEXTMILL_TRAIN_TASK_H
#define TEXTMILL_TRAIN_TASK_H

#include "model/architecture.h"
#include "train/samples.h"

enum task_kind { TASK_GPT, TASK_BERT, TASK_SQUAD };
#define TASK_WORDS "gpt|bert|squad" /* in the order of the enum */

struct task {
    const char *name;    /* the word of TASK_WORDS */
    const char *purpose; /* behind the architecture's name, in the report; NULL: none */
    enum model_head head;
    int64_t length; /* tokens of a sequence when nothing says how many */
    double masked;  /* words of made sequences that are masked, as a share of their length */

    /* Samples from files, or made from the seed (samples.h). NULL with an error. */
    struct samples *(*open)(const struct samples_config *c, const struct opt_list *paths,
                            const char *what);
    struct samples *(*make)(const struct samples_config *c);
};

const struct task *task_of(enum task_kind kind);
/* The first task whose head models of that architecture can have. */
const struct task *task_for(const struct architecture *a);

#endif
