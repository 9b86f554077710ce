#include "train/task.h"

#include "model/folder.h"

static int load_gpt(struct model *m, struct ops *o, float ***blocks, const char *dir, uint64_t seed,
                    int *made)
{
    (void)seed;
    if (made)
        *made = 0;
    return folder_load(m, o, blocks, dir);
}

static const struct task tasks[] = {
    [TASK_GPT] = { .title = "GPT", .model = MODEL_GPT, .length = 1024, .init = model_init_gpt,
                   .read_config = folder_read_config, .load = load_gpt,
                   .open = samples_open_gpt, .make = samples_make_gpt },
};

const struct task *task_of(enum task_kind kind)
{
    return &tasks[kind];
}
