#include "train/samples/task.h"

static const struct task tasks[] = {
    [TASK_GPT] = { .name = "gpt",
                   .head = HEAD_NEXT,
                   .length = 1024,
                   .open = samples_open_gpt,
                   .make = samples_make_gpt },
    [TASK_BERT] = { .name = "bert",
                    .head = HEAD_PRETRAINING,
                    .length = 128,
                    .masked = 0.15,
                    .open = samples_open_bert,
                    .make = samples_make_bert },
    [TASK_SQUAD] = { .name = "squad",
                     .purpose = " for questions",
                     .head = HEAD_QUESTIONS,
                     .length = 384,
                     .open = samples_open_squad,
                     .make = samples_make_pairs },
    [TASK_CLASSIFY] = { .name = "classify",
                        .purpose = " for classes",
                        .head = HEAD_CLASSES,
                        .length = 128,
                        .open = samples_open_classify,
                        .make = samples_make_pairs },
    [TASK_REGRESSION] = { .name = "regression",
                          .purpose = " for numbers",
                          .head = HEAD_CLASSES,
                          .length = 128,
                          .open = samples_open_classify,
                          .make = samples_make_pairs },
};

const struct task *task_of(enum task_kind kind)
{
    return &tasks[kind];
}

const struct task *task_for(const struct architecture *a)
{
    for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++)
        if (a->classes[tasks[i].head])
            return &tasks[i];
    return NULL;
}
