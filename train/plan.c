#include "train/plan.h"

#include "common/base/log.h"

int plan_check_device(const struct plan *p, const struct ops *o)
{
    const uint64_t needed = store_plan_total(&p->stored) + p->other.kernels;
    const uint64_t has = ops_free_bytes(o);
    char text[2][32];
    if (needed <= has)
        return 0;
    return err_set(
        "training takes %s of the GPU's memory, but only %s are free: give --device-memory or a smaller --micro-batch-size",
        log_bytes(text[0], needed), log_bytes(text[1], has));
}

void plan_release(struct plan *p)
{
    model_release(&p->model);
    model_release(&p->own);
    model_release(&p->teacher);
    schedule_release(&p->schedule);
    program_release(&p->program);
    free(p->moments);
    free(p->whole);
    buf_release(&p->chat);
    ids_release(&p->ends);
    tokenizer_free(p->tokenizer);
    samples_close(p->data);
    samples_close(p->validation);
    *p = (struct plan){ 0 };
}

uint64_t plan_leaves(const struct plan *p)
{
    return (uint64_t)p->engine.leaves * (uint64_t)p->ranks;
}

double plan_flops_per_token(const struct plan *p)
{
    double predicted = (double)p->settings->mask_tokens / (double)p->engine.T;
    return model_flops_per_token(&p->model.config, p->engine.T, predicted) + plan_teacher_flops(p);
}

double plan_teacher_flops(const struct plan *p)
{
    return p->settings->teacher ? model_flops_per_token(&p->teacher.config, p->engine.T, 0) / 3 : 0;
}
