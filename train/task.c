#include "train/task.h"

#include "model/folder.h"

static int load_gpt(struct model *m, struct ops *o, struct ops_array **blocks, const char *dir,
                    uint64_t seed, int *made)
{
    (void)seed;
    if (made)
        *made = 0;
    return folder_load(m, o, blocks, dir);
}

static int load_bert(struct model *m, struct ops *o, struct ops_array **blocks, const char *dir,
                     uint64_t seed, int *made)
{
    return folder_load_bert(m, o, blocks, dir, MODEL_BERT_PRETRAINING, seed, made);
}

static int load_squad(struct model *m, struct ops *o, struct ops_array **blocks, const char *dir,
                      uint64_t seed, int *made)
{
    return folder_load_bert(m, o, blocks, dir, MODEL_BERT_QUESTIONS, seed, made);
}

static const struct task tasks[] = {
    [TASK_GPT] = { .name = "gpt",
                   .title = "GPT",
                   .model = MODEL_GPT,
                   .length = 1024,
                   .init = model_init_gpt,
                   .read_config = folder_read_config,
                   .load = load_gpt,
                   .open = samples_open_gpt,
                   .make = samples_make_gpt },
    [TASK_BERT] = { .name = "bert",
                    .title = "BERT",
                    .model = MODEL_BERT_PRETRAINING,
                    .length = 128,
                    .masked = 0.15,
                    .init = model_init_bert,
                    .read_config = folder_read_bert,
                    .load = load_bert,
                    .open = samples_open_bert,
                    .make = samples_make_bert },
    [TASK_SQUAD] = { .name = "squad",
                     .title = "BERT for questions",
                     .model = MODEL_BERT_QUESTIONS,
                     .length = 384,
                     .init = model_init_bert,
                     .read_config = folder_read_bert,
                     .load = load_squad,
                     .open = samples_open_squad,
                     .make = samples_make_squad },
};

const struct task *task_of(enum task_kind kind)
{
    return &tasks[kind];
}
