#include "train/plan.h"

#include <math.h>

#include "common/base/least.h"
#include "common/base/log.h"
#include "common/files/usage.h"
#include "common/program/tool.h"
#include "train/defaults.h"
#include "train/plan_parts.h"
#include "train/saved.h"

/* ---- arithmetic ------------------------------------------------------------------------------ */

/* Checks that the model can be cut into the stages of a pipeline, and that the other options allow
 * one. */
static int check_pipeline(const struct plan *p)
{
    const struct settings *s = p->settings;
    const int64_t stages = s->pipeline_parallel, pieces = s->pipeline_interleave;
    if (stages == 1)
        return pieces == 1 ? 0
                           : err_set("pipeline-parallel is 1x%" PRId64
                                     ": only several stages can have several runs of layers",
                                     pieces);
    if (pieces > 1 && stages * pieces > p->model.config.layers)
        return err_set("%" PRId64 " layers cannot be cut into %" PRId64
                       " pipeline stages with %" PRId64 " runs of layers each",
                       p->model.config.layers, stages, pieces);
    if (stages > p->model.config.layers)
        return err_set("%" PRId64 " layers cannot be cut into %" PRId64 " pipeline stages",
                       p->model.config.layers, stages);
    if (s->memmap_dir || s->device_memory)
        return err_usage("--pipeline-parallel keeps all arrays in memory: it goes without %s",
                         s->memmap_dir ? "--memmap-dir" : "--device-memory");
    return 0;
}

/* Divides the `all` micro-batches of an update among ranks and leaves. */
static int share_micro_batches(struct plan *p, int64_t all)
{
    const struct settings *s = p->settings;
    const int64_t stages = s->pipeline_parallel, pieces = s->pipeline_interleave;
    const int64_t ranks = p->ranks, rounds = s->leaf_rounds;
    const int64_t leaves = s->leaves ? s->leaves : ranks, parts = leaves * rounds;
    if (rounds > 1 && ranks > 1 && s->zero < 2)
        return err_set("leaves %" PRId64 "x%" PRId64 " sums several times over the ranks: it needs "
                       "--zero 2 or 3",
                       leaves, rounds);
    if (all % ranks)
        return err_set("global-batch-size %" PRId64 " = micro-batch-size %" PRId64 " x %" PRId64
                       " micro-batches cannot be shared by %" PRId64 " data-parallel ranks",
                       s->global_batch_size, s->micro_batch_size, all, ranks);
    if (leaves & (leaves - 1) && s->leaves)
        return err_set("leaves %" PRId64 " is not a power of two", leaves);
    if (leaves % ranks)
        return err_set("leaves %" PRId64 " is not a multiple of the %" PRId64
                       " data-parallel ranks",
                       leaves, ranks);
    if (all % parts)
        return err_set("global-batch-size %" PRId64 " = micro-batch-size %" PRId64 " x %" PRId64
                       " micro-batches is not a multiple of leaves %" PRId64,
                       s->global_batch_size, s->micro_batch_size, all, parts);
    p->engine.A = all / ranks;
    p->engine.leaves = (int)(parts / ranks);
    p->engine.rounds = (int)rounds;
    p->engine.zero = ranks > 1 ? (int)s->zero : 0;
    p->engine.stages = (int)stages;
    p->engine.stage = (int)s->stage;
    p->engine.interleave = (int)pieces;
    if (pieces > 1 && all / parts % stages)
        return err_set("pipeline-parallel is %" PRId64 "x%" PRId64 ", but the %" PRId64
                       " micro-batches of a leaf are not a multiple of %" PRId64 " pipeline stages",
                       stages, pieces, all / parts, stages);
    return 0;
}

static int batch_arithmetic(struct plan *p)
{
    struct settings *s = p->settings;
    /* an update has at least one micro-batch for each rank or leaf; with several runs of layers in
     * a stage, as many as there are stages */
    const int64_t shares = larger(p->ranks, s->leaves * s->leaf_rounds) *
                           (s->pipeline_interleave > 1 ? s->pipeline_parallel : 1);
    if (!s->micro_batch_size) {
        const int64_t batch = s->global_batch_size;
        s->micro_batch_size = defaults_micro_batch(tensor_parameters(&p->model.tensors),
                                                   p->engine.T,
                                                   batch % shares ? batch : batch / shares);
        if (!s->global_batch_size && p->data && p->data->count) /* an epoch has >= 1 update */
            s->micro_batch_size = larger(
                1, smaller(s->micro_batch_size, (int64_t)samples_epoch(p->data) / shares));
    }
    if (!s->global_batch_size)
        s->global_batch_size = s->micro_batch_size * shares;
    const int64_t share = s->global_batch_size % shares ? 0 : s->global_batch_size / shares;
    while (s->resume && !tool_given("micro-batch-size") && share % s->micro_batch_size)
        s->micro_batch_size--; /* the run had fewer ranks */
    if (s->global_batch_size % s->micro_batch_size)
        return err_set("global-batch-size %" PRId64
                       " is not a multiple of micro-batch-size %" PRId64,
                       s->global_batch_size, s->micro_batch_size);
    p->engine.B = p->engine.most = s->micro_batch_size;
    const int sharing = split_ranks(&p->own, SPLIT_HEADS);
    if (split_sequence(&p->own) && p->engine.B * p->engine.T < sharing)
        return err_set("%" PRId64
                       " tokens of a micro-batch are too few for %d tensor-parallel ranks",
                       p->engine.B * p->engine.T, sharing);
    if (share_micro_batches(p, s->global_batch_size / s->micro_batch_size) < 0)
        return -1;
    const int64_t leaf = p->engine.A / p->engine.leaves;
    if (s->pipeline_parallel > 1 && s->group && s->group != leaf)
        return err_set("group %" PRId64 " is given, but in a pipeline the group is the leaf, of "
                       "%" PRId64 " micro-batches: give --group 0",
                       s->group, leaf);
    if (s->group > leaf && tool_given("group")) /* a file serves more ranks, too */
        return err_set("group %" PRId64 " is more than the %" PRId64 " micro-batches of %s",
                       s->group, leaf, leaf < p->engine.A || p->ranks > 1 ? "a leaf" : "an update");
    p->engine.G = s->group ? smaller(s->group, leaf) : leaf;
    return 0;
}

static int count_steps(struct plan *p, int want_data)
{
    struct settings *s = p->settings;
    if (s->steps && s->epochs > 0)
        return err_set("steps %" PRId64
                       " and epochs %g are both given: give one of them, and 0 for "
                       "the other",
                       s->steps, s->epochs);
    p->steps = s->steps;
    if (p->steps)
        return 0;
    if (!p->data || !p->data->count)
        return want_data ? err_set("generated data has no epochs: give --steps N") : 0;
    double epochs = s->epochs > 0 ? s->epochs : 1, n = samples_epoch(p->data);
    /* not one less, as 0.29 epochs of 100 would have without the last factor */
    p->steps = (int64_t)(epochs * n / (double)s->global_batch_size * (1 + 1e-15));
    if (!p->steps)
        return err_set("%g epochs of %.0f sequences are less than one global batch of %" PRId64
                       ": give --steps N",
                       epochs, n, s->global_batch_size);
    s->steps = p->steps;
    s->epochs = 0;
    return 0;
}

/* Sets the learning rates and the warm-up that are not given. */
static void choose_rates(struct plan *p)
{
    struct settings *s = p->settings;
    if (s->learning_rate < 0)
        s->learning_rate = defaults_learning_rate(tensor_parameters(&p->model.tensors),
                                                  p->task->head != HEAD_NEXT, !!s->start_from);
    if (s->minimum_learning_rate < 0)
        s->minimum_learning_rate = s->learning_rate / 10;
    if (s->warmup < 0)
        s->warmup = (double)defaults_warmup(p->steps);
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* Returns 0, or -1 with an error if the GPU back end cannot compute a model with the configuration
 * c. */
static int check_gpu(const struct plan *p, const struct model_config *c)
{
    if (c->local_pause)
        return err_set("a GPU cannot compute a %s yet: give --device cpu", c->architecture->title);
    if (c->head_width > OPS_GPU_HEAD)
        return err_set("a GPU takes heads of at most %d numbers, not %" PRId64
                       ": give --device cpu",
                       OPS_GPU_HEAD, c->head_width);
    if (c->window && p->engine.T > c->window)
        return err_set("a GPU has no attention in a window yet: give --device cpu, or a "
                       "--sequence-length of at most %" PRId64,
                       c->window);
    return 0;
}

/* Asks the back end what it needs. */
static int ask_back_end(struct plan *p)
{
    const struct model_config *c = &p->own.config;
    const int heads = split_ranks(&p->own, SPLIT_HEADS);
    const struct ops_sizes sizes = { .precision = (enum ops_type)p->settings->precision,
                                     .N = p->engine.B * p->engine.T,
                                     .C = c->width,
                                     .wide = larger(c->inner, 3 * c->width),
                                     .V = c->vocabulary,
                                     .shares = heads,
                                     .group = (int)p->ranks * heads *
                                              split_ranks(&p->own, SPLIT_WIDTH) };
    if (plan_on_gpu(p) && (check_gpu(p, c) < 0 || check_gpu(p, &p->teacher.config) < 0))
        return -1;
    return ops_needs(p->settings->device, &sizes, &p->needs);
}

/* Returns what the user can give to need less memory, before "a smaller --micro-batch-size". */
static const char *less_memory(const struct plan *p)
{
    const int in_memory = !p->store.dir && p->engine.stages == 1;
    return p->settings->recompute == RECOMPUTE_LAYER
               ? (in_memory ? "--memmap-dir DIR or " : "")
               : (in_memory ? "--memmap-dir DIR, --recompute layer, or " : "--recompute layer or ");
}

static int too_small(const struct plan *p, uint64_t needed)
{
    char limit[32], need[32];
    const int gpu = plan_on_gpu(p);
    log_bytes(need, needed);
    log_bytes(limit, gpu ? p->settings->device_memory : p->settings->memory);
    if (gpu || p->store.dir)
        return err_set("training takes %s, which is more than --%s %s%s", need,
                       gpu ? "device-memory" : "memory", limit,
                       gpu ? "" : ": --memory 0 takes no more than that");
    return err_set("training takes %s, which is more than --memory %s: give %sa smaller "
                   "--micro-batch-size",
                   need, limit, less_memory(p));
}

/* Returns the floating-point operations per token of the teacher's forward pass. */
static double teacher_flops(const struct plan *p)
{
    return p->settings->teacher ? model_flops_per_token(&p->teacher.config, p->engine.T, 0) / 3 : 0;
}

/* Returns the times of phases relative to each other, by their operations: a backward pass takes
 * twice as long as a forward pass. Recomputed attention takes a quarter of a layer's time. */
static struct timeline_costs costs_of(const struct plan *p)
{
    const double masked = (double)p->settings->mask_tokens / (double)p->engine.T;
    struct model_config c = p->model.config;
    struct timeline_costs costs = { { 0 } };
    const double all = plan_flops_per_token(p), layers = (double)c.layers;
    c.layers = 0;
    const double head = model_flops_per_token(&c, p->engine.T, masked) + teacher_flops(p);
    costs.of[PHASE_HEAD] = head;
    costs.of[PHASE_LAYER_FORWARD] = costs.of[PHASE_LAYER_AGAIN] = (all - head) / layers / 3;
    costs.of[PHASE_ATTENTION_AGAIN] = costs.of[PHASE_LAYER_FORWARD] / 4;
    costs.of[PHASE_LAYER_BACKWARD] = 2 * costs.of[PHASE_LAYER_FORWARD];
    return costs;
}

static int plan_store(struct plan *p)
{
    const struct settings *s = p->settings;
    if (plan_on_gpu(p) && (s->memmap_dir || s->memory) && !s->device_memory)
        return err_usage("on a GPU, --memory and --memmap-dir need --device-memory");
    if (!plan_on_gpu(p) && s->device_memory)
        return err_usage("--device-memory is for --device cuda");
    uint64_t limit = plan_on_gpu(p) ? s->device_memory : s->memory;
    p->store = (struct store_config){ .moments = p->moments,
                                      .whole = p->whole,
                                      .split = p->own.split,
                                      .unsplit = &p->model.tensors,
                                      .ranks = s->zero ? (int)p->ranks : 1,
                                      .zero = (int)s->zero,
                                      .rank = s->dry_run ? LAYOUT_FULLEST : (int)s->rank,
                                      .dir = s->memmap_dir,
                                      .half_parameters = s->parameter_precision == OPS_BF16,
                                      .half_moments = s->state_precision == OPS_BF16,
                                      .half_activations = s->activation_precision == OPS_BF16 };
    p->costs = costs_of(p);
    p->engine.head = (int)lround(p->costs.of[PHASE_HEAD] / (3 * p->costs.of[PHASE_LAYER_FORWARD]));
    engine_program(&p->program, &p->engine, &p->own, p->moments);
    engine_rows(&p->store, &p->engine, &p->own, &p->program);
    if (ask_back_end(p) < 0)
        return -1;
    plan_measure(&p->other, p);
    const struct plan_memory *m = &p->other;
    const uint64_t other = m->kernels + m->saving +
                           (plan_on_gpu(p) ? 0 : m->batches + m->communication);
    p->store.offload = plan_on_gpu(p) && limit;
    if (limit)
        p->store.memory_bytes = limit > other ? limit - other : 1;
    if (plan_on_gpu(p))
        p->store.host_bytes = s->memory;
    while (store_plan(&p->stored, &p->own.tensors, &p->store) < 0) {
        if (!p->store.memory_bytes)
            return -1;
        p->store.memory_bytes = 0; /* the least, which the error names */
    }
    const uint64_t all = store_plan_total(&p->stored) + other;
    return limit && all > limit ? too_small(p, all) : 0;
}

/* Refuses --sample where the model cannot write. A file may have it without validation data: then
 * nothing is written. */
static int check_sample(const struct plan *p)
{
    const struct settings *s = p->settings;
    if (!s->sample || !p->validation)
        return 0;
    if (p->task->head != HEAD_NEXT || !p->tokenizer)
        return err_set("--sample needs %s", p->tokenizer ? "a model that writes: a GPT or a Llama"
                                                         : "a tokenizer: give --vocab");
    return s->memmap_dir || s->device_memory || p->own.split || p->engine.stages > 1 ||
                   p->engine.zero > 2
               ? err_set("--sample needs all weights in the memory of each process: it goes "
                         "without --tensor-parallel, --pipeline-parallel, --zero 3, --memmap-dir "
                         "and --device-memory")
               : 0;
}

int plan_make(struct plan *p, struct settings *s, uint64_t seed, int want_data)
{
    *p = (struct plan){ .settings = s,
                        .task = task_of((enum task_kind)s->task),
                        .ranks = s->data_parallel };
    p->engine.seed = seed;
    p->engine.recompute = (enum recompute)s->recompute;
    if (plan_model_settle(p) < 0)
        return -1;
    if (plan_data_check_length(p) < 0 || plan_data_find_tokenizer(p) < 0 ||
        plan_data_open(p, want_data) < 0 || plan_model_vocabulary(p) < 0 ||
        plan_model_make(p) < 0 || check_pipeline(p) < 0 || batch_arithmetic(p) < 0 ||
        plan_model_teacher(p) < 0 || plan_check_vocabulary(p, s->teacher, "the teacher") < 0 ||
        plan_data_make(p) < 0 || count_steps(p, want_data) < 0 || check_sample(p) < 0)
        return -1;
    p->engine.rise = s->late_dropout ? p->steps : 0;
    choose_rates(p);
    if (s->checkpoint_files == SAVED_AUTO)
        s->checkpoint_files = (int)saved_choice((s->parameter_precision == OPS_BF16 ? 2 : 4) *
                                                (uint64_t)tensor_parameters(&p->model.tensors));
    p->optimizer = s->optimizer;
    p->optimizer.seed = seed;
    p->moments = optimizer_moments(p->optimizer.kind, &p->own.tensors);
    p->whole = optimizer_whole(p->optimizer.kind, &p->own.tensors);
    if (plan_store(p) < 0)
        return -1;
    return schedule_init(&p->schedule, s->schedule, s->learning_rate, s->minimum_learning_rate,
                         p->steps, p->steps ? s->warmup : 0);
}

/* ---- a plan that is made -------------------------------------------------------------------- */

int plan_check_machine(const struct plan *p, uint64_t needed)
{
    const uint64_t machine = usage_machine_bytes();
    char need[32], has[32];
    if (p->settings->memory || needed <= machine)
        return 0;
    return err_set(
        "training takes %s, but this machine has only %s of memory: give %sa smaller --micro-batch-size",
        log_bytes(need, needed), log_bytes(has, machine), less_memory(p));
}

int plan_check_device(const struct plan *p, const struct ops *o)
{
    const uint64_t needed = store_plan_total(&p->stored) + p->other.kernels + p->other.saving;
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
    buf_release(&p->sampling);
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

void plan_arithmetic(char out[PLAN_ARITHMETIC], const struct plan *p, const struct ops *o)
{
    const struct split *s = p->own.split;
    int n = 0;
    if (s)
        n = snprintf(out, PLAN_ARITHMETIC, "%s-parallel %dx%d ",
                     s->sequence ? "sequence" : "tensor", s->ranks[0], s->ranks[1]);
    snprintf(out + n, (size_t)(PLAN_ARITHMETIC - n), "%s", ops_arithmetic(o));
}

double plan_flops_per_token(const struct plan *p)
{
    double predicted = (double)p->settings->mask_tokens / (double)p->engine.T;
    return model_flops_per_token(&p->model.config, p->engine.T, predicted) + teacher_flops(p);
}
