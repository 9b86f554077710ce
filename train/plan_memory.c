/* The part of plan.h for memory outside the store. */
#include "train/plan.h"

#include "common/base/least.h"
#include "train/ranks/reduce.h"
#include "train/saved.h"
#include "train/step/teacher.h"
#include "train/store/word_table.h"

int plan_on_gpu(const struct plan *p)
{
    return strncmp(p->settings->device, "cpu", 3) != 0;
}

int plan_validation_round(const struct plan *p)
{
    return p->engine.stages > 1 ? 8 * p->engine.stages : 1;
}

/* Returns the bytes of the batch that is trained on, of the one that is read meanwhile, and of the
 * sequences of a round of the validation. */
static uint64_t batch_bytes(const struct plan *p)
{
    const enum sequences_kind kind = p->task->head != HEAD_NEXT       ? SEQUENCES_ENCODER
                                     : p->settings->samples.documents ? SEQUENCES_DOCUMENTS
                                                                      : SEQUENCES_PLAIN;
    const struct samples *v = p->validation;
    return 2 * (uint64_t)p->engine.A * sequences_bytes(p->engine.most, p->engine.T, kind) +
           (v ? (uint64_t)plan_validation_round(p) *
                    sequences_bytes(p->engine.B * v->most, p->engine.T, v->kind)
              : 0);
}

/* Returns the floats of scratch memory that a phase needs, for example for the gradients inside a
 * layer, or for the logits of a chunk of rows. */
static int64_t scratch_of(const struct plan *p, enum phase_kind kind)
{
    const int64_t N = p->engine.B * p->engine.T,
                  head = kind == PHASE_HEAD || kind == PHASE_HEAD_EVALUATION;
    const int halves = p->store.half_parameters + 2 * p->store.half_moments;
    switch (kind) {
    case PHASE_LAYER_EVALUATION: return N * layer_scratch_fwd(&p->own);
    case PHASE_UPDATE:
        return optimizer_scratch(&p->optimizer, &p->own.tensors, &p->model.tensors, halves);
    case PHASE_INPUTS:
    case PHASE_GATHER:
    case PHASE_GATHER_TABLE:
    case PHASE_SUM_TABLE:
    case PHASE_SUM: return 0;
    default:
        return phase_is_transfer(kind)
                   ? 0
                   : N * layer_scratch_bwd(&p->own) + (head ? p->needs.loss_floats : 0);
    }
}

static int64_t most_scratch(const struct plan *p, const struct program *list)
{
    int64_t most = 0;
    for (int64_t n = 0; n < list->count; n++)
        most = larger(most, scratch_of(p, list->phases[n].kind));
    return most;
}

/* Returns the bytes of scratch memory: the largest need of any phase, as scratch memory never
 * shrinks; what the back end needs; and what the teacher needs. */
static uint64_t kernel_bytes(const struct plan *p)
{
    const int64_t N = p->engine.B * p->engine.T;
    uint64_t teacher = 0;
    int64_t scratch = most_scratch(p, &p->program);
    SCOPED(program) evaluation = { 0 };
    if (p->validation)
        engine_evaluation(&evaluation, &p->engine, &p->own);
    scratch = larger(scratch, most_scratch(p, &evaluation));
    if (p->settings->teacher && p->engine.stage == p->engine.stages - 1) { /* it has the head */
        scratch = larger(scratch, N * layer_scratch_fwd(&p->teacher)) + p->needs.loss_floats;
        teacher = teacher_bytes(&p->teacher, N);
    }
    return (uint64_t)scratch * sizeof(float) + p->needs.bytes + teacher;
}

/* Returns the bytes for operations on the embedding that are done in two parts (word_table.h). */
static uint64_t table_bytes(const struct plan *p)
{
    const struct step_config *e = &p->engine;
    int sums = 0, gathers = 0;
    for (int64_t n = 0; n < p->program.count; n++) {
        sums |= p->program.phases[n].kind == PHASE_SUM_TABLE;
        gathers |= p->program.phases[n].kind == PHASE_GATHER_TABLE;
    }
    if (!(sums || gathers) || p->ranks == 1 || p->own.split || p->store.dir || plan_on_gpu(p))
        return 0;
    return word_table_bytes(&p->own.tensors, p->ranks * e->G * e->most * e->T);
}

static uint64_t communication_bytes(const struct plan *p)
{
    const int ranks = (int)larger(
        p->ranks, larger(split_ranks(&p->own, SPLIT_HEADS), split_ranks(&p->own, SPLIT_WIDTH)));
    return (ranks > 1 ? reduce_room_bytes(ranks) : 0) + table_bytes(p);
}

static uint64_t saving_bytes(const struct plan *p)
{
    const int moved = p->engine.stages > 1 && p->settings->checkpoint_files == SAVED_ONE;
    return p->settings->save
               ? saved_bytes(&p->own.tensors, &p->model.tensors, p->engine.zero > 0, moved)
               : 0;
}

void plan_measure(struct plan_memory *out, const struct plan *p)
{
    *out = (struct plan_memory){ batch_bytes(p), kernel_bytes(p), communication_bytes(p),
                                 saving_bytes(p) };
}

uint64_t plan_bytes(const struct plan *p)
{
    const struct plan_memory *m = &p->other;
    return store_plan_total(&p->stored) + m->batches + m->kernels + m->communication + m->saving;
}
