#include "train/samples/task.h"

static const struct task tasks[] = {
    [TASK_GPT] = { .name = "gpt",
                   .head = HEAD_NEXT,
                   .length = 1024,
                   .open = samples_open_gpt,
                   .made = MADE_SEQUENCES },
    [TASK_BERT] = { .name = "bert",
                    .head = HEAD_PRETRAINING,
                    .length = 128,
                    .masked = 0.15,
                    .open = samples_open_bert,
                    .made = MADE_PAIRS },
    [TASK_SQUAD] = { .name = "squad",
                     .purpose = " for questions",
                     .head = HEAD_QUESTIONS,
                     .length = 384,
                     .open = samples_open_squad,
                     .made = MADE_ANSWERS },
    [TASK_CLASSIFY] = { .name = "classify",
                        .purpose = " for classes",
                        .head = HEAD_CLASSES,
                        .length = 128,
                        .open = samples_open_classify,
                        .made = MADE_ANSWERS },
    [TASK_REGRESSION] = { .name = "regression",
                          .purpose = " for numbers",
                          .head = HEAD_CLASSES,
                          .length = 128,
                          .open = samples_open_classify,
                          .made = MADE_ANSWERS },
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
