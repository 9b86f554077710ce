/*
 * task.h - the kinds of training. A task has a kind of head, a kind of samples, and the functions
 * that open both. All other code in train/ is the same for every task.
 */
#pragma once

#include "model/network/architecture.h"
#include "train/samples/samples.h"

enum task_kind { TASK_GPT, TASK_BERT, TASK_SQUAD, TASK_CLASSIFY, TASK_REGRESSION };
#define TASK_WORDS "gpt|bert|squad|classify|regression" /* in the order of the enum */

struct task {
    const char *name;    /* the word of TASK_WORDS */
    const char *purpose; /* text after the architecture's name in the report; NULL: none */
    enum model_head head;
    int64_t length; /* default tokens per sequence */
    double masked;  /* fraction of the tokens of generated sequences that are masked */

    samples_open *open;     /* opens samples from files (samples.h) */
    enum samples_made made; /* its samples of random ids */
};

const struct task *task_of(enum task_kind kind);
/* Returns the first task whose head the architecture a can have, or NULL if there is none. */
const struct task *task_for(const struct architecture *a);
