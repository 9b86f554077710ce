#include "train/dry_run.h"

#include <math.h>

#include "train/cluster.h"

static void put_int(struct buf *out, const char *key, uint64_t value)
{
    buf_addf(out, "%s=%" PRIu64 "\n", key, value);
}

static void print_model(const struct plan *p, struct buf *out)
{
    const struct model_config *c = &p->model.config;
    put_int(out, "layers", (uint64_t)c->layers);
    put_int(out, "width", (uint64_t)c->width);
    put_int(out, "heads", (uint64_t)c->heads);
    if (c->kv_heads != c->heads)
        put_int(out, "kv_heads", (uint64_t)c->kv_heads);
    put_int(out, "inner", (uint64_t)c->inner);
    put_int(out, "positions", (uint64_t)c->positions);
    put_int(out, "vocabulary", (uint64_t)c->vocabulary);
    put_int(out, "parameters", (uint64_t)tensor_parameters(&p->model.tensors));
}

static void print_steps(const struct plan *p, struct buf *out)
{
    double tokens = (double)(p->settings->global_batch_size * p->engine.T);
    double flops = plan_flops_per_token(p);
    put_int(out, "sequence_length", (uint64_t)p->engine.T);
    if (p->settings->mask_tokens)
        put_int(out, "mask_tokens", (uint64_t)p->settings->mask_tokens);
    put_int(out, "micro_batch_size", (uint64_t)p->engine.B);
    put_int(out, "accumulation", (uint64_t)p->engine.A);
    if (p->ranks > 1)
        put_int(out, "data_parallel", (uint64_t)p->ranks);
    put_int(out, "global_batch_size", (uint64_t)p->settings->global_batch_size);
    put_int(out, "tokens_per_step", (uint64_t)tokens);
    buf_addf(out, "learning_rate=%g\nminimum_learning_rate=%g\n", p->schedule.peak,
             p->schedule.floor);
    buf_addf(out, "flops_per_token=%.0f\nflops_per_step=%.0f\n", flops, flops * tokens);
    if (!p->steps)
        return;
    put_int(out, "steps", (uint64_t)p->steps);
    put_int(out, "warmup_steps", (uint64_t)p->schedule.warmup);
    buf_addf(out, "tokens=%.0f\nflops=%.6g\n", tokens * (double)p->steps,
             flops * tokens * (double)p->steps);
}

static void print_memory(const struct plan *p, struct buf *out)
{
    const struct store_plan *t = &p->stored;
    uint64_t caches = 0;
    for (int part = 0; part < CACHE_PARTS; part++)
        caches += t->kind_bytes[STORE_CACHE + part];
    put_int(out, "memory_parameters_bytes", t->kind_bytes[STORE_PARAMETERS]);
    put_int(out, "memory_gradients_bytes", t->kind_bytes[STORE_GRADIENTS]);
    put_int(out, "memory_moments_bytes",
            t->kind_bytes[STORE_MOMENT1] + t->kind_bytes[STORE_MOMENT2]);
    if (p->engine.zero > 1)
        put_int(out, "memory_window_bytes", t->gathered_bytes);
    put_int(out, "memory_x_bytes", t->kind_bytes[STORE_X]);
    put_int(out, "memory_dx_bytes", t->kind_bytes[STORE_DX]);
    put_int(out, "memory_layer_caches_bytes", caches);
    if (p->store.dir || p->store.offload) {
        put_int(out, "store_memory_bytes", t->memory_bytes);
        if (p->store.offload)
            put_int(out, "store_host_bytes", t->host_bytes);
        put_int(out, "store_file_bytes", t->file_bytes);
        put_int(out, "store_window_bytes", t->window_bytes);
        put_int(out, "store_read_bytes_per_step", t->read_bytes);
        put_int(out, "store_written_bytes_per_step", t->written_bytes);
    }
    put_int(out, "memory_batches_bytes", p->other.batches);
    put_int(out, "memory_kernels_bytes", p->other.kernels);
    if (p->other.communication + p->other.saving)
        put_int(out, "memory_communication_bytes", p->other.communication + p->other.saving);
    put_int(out, "memory_bytes", plan_bytes(p));
}

/* Returns the number of ranks that together have one copy of the model. */
static double ranks_of_model(const struct plan *p)
{
    return (double)p->engine.stages * split_ranks(&p->own, SPLIT_HEADS) *
           split_ranks(&p->own, SPLIT_WIDTH);
}

/* Returns how many parameters of a block a rank has. */
static double block_parameters(const struct plan *p, int block)
{
    const struct tensor_table *t = &p->own.tensors;
    double n = 0;
    for (size_t i = t->first[block]; i < t->first[block + 1]; i++)
        n += (double)tensor_elements(&t->rows[i]);
    return n;
}

/* Sets *sums to how often the gradients of block `b` are summed over the ranks in an update, and
 * *gathers to how often its parameters are gathered. */
static void count_transfers(const struct plan *p, int b, int64_t *sums, int64_t *gathers)
{
    const int64_t fetched = p->program.moves[STORE_PARAMETERS][b].reads;
    *sums = *gathers = 0;
    for (int64_t n = 0; n < p->program.count; n++) {
        const struct phase *f = &p->program.phases[n];
        *sums += f->block == b && f->kind == PHASE_SUM ? f->turns : 0;
        *gathers += f->block == b && f->kind == PHASE_GATHER ? f->turns : 0;
    }
    *gathers += p->engine.zero > 2 ? fetched : 0;
}

/* Returns what a rank sends to the other data-parallel ranks in an update; it receives as many
 * bytes. A sum of gradients gives each rank a share. Then shares are gathered: of the sums or, if
 * ranks share the optimizer's state, of the parameters. */
static struct cluster_group data_group(const struct plan *p)
{
    const double ranks = (double)p->ranks, others = (ranks - 1) / ranks;
    struct cluster_group g = { .ranks = ranks, .apart = ranks_of_model(p) };
    for (int b = 0; b < p->model.tensors.blocks; b++) {
        int64_t sums, gathers;
        count_transfers(p, b, &sums, &gathers);
        g.operations += (double)(sums + gathers);
        g.bytes += block_parameters(p, b) * others *
                   (double)((p->engine.zero ? 4 : 8) * sums +
                            (p->store.half_parameters ? 2 : 4) * gathers);
    }
    return g;
}

static void print_communication(const struct plan *p, struct buf *out)
{
    const struct cluster_group g = data_group(p);
    if (p->ranks == 1)
        return;
    put_int(out, "leaves", plan_leaves(p));
    put_int(out, "zero", (uint64_t)p->settings->zero);
    buf_addf(out, "data_parallel_bytes_per_step=%.0f\n", g.bytes);
    buf_addf(out, "data_parallel_operations_per_step=%.0f\n", g.operations);
}

/* What this stage of a pipeline owns. */
struct owned {
    int embedding, head; /* 1 or 0 */
    int64_t layers;
};

static struct owned owned_by(const struct plan *p)
{
    const int layers = (int)p->model.config.layers, stage = p->engine.stage;
    const int *owners = p->program.owners;
    struct owned own = { .embedding = owners[0] == stage, .head = owners[layers + 1] == stage };
    for (int b = 1; b <= layers; b++)
        own.layers += owners[b] == stage;
    return own;
}

/* Returns how many tokens of a micro-batch the head predicts. */
static double labels_of(const struct plan *p)
{
    switch (p->own.config.head) {
    case HEAD_NEXT: return (double)(p->engine.B * p->engine.T);
    case HEAD_PRETRAINING: return (double)(p->engine.B * p->settings->mask_tokens);
    default: return 0;
    }
}

/* Returns `layer` if the backward pass computes whole layers again, `attention` if it does so for
 * attention only, else 0. */
static int again(const struct plan *p, int layer, int attention)
{
    return p->engine.recompute == RECOMPUTE_LAYER       ? layer
           : p->engine.recompute == RECOMPUTE_ATTENTION ? attention
                                                        : 0;
}

/* Returns what a rank sends in an update to the ranks that share its layers along SPLIT_HEADS; it
 * receives as many bytes (split.h). They are gathers and scatters of rows (a sum is both), and
 * three sums of a number per label. */
static struct cluster_group heads_group(const struct plan *p)
{
    const struct model_config *c = &p->own.config;
    const struct owned own = owned_by(p);
    const int encoder = c->head != HEAD_NEXT, sequence = split_sequence(&p->own);
    const double ranks = (double)split_ranks(&p->own, SPLIT_HEADS), C = (double)c->width;
    const double N = (double)(p->engine.B * p->engine.T), A = (double)p->engine.A;
    const double labels = own.head ? labels_of(p) : 0;
    const int64_t rows = own.embedding * (encoder ? 4 : 2) + own.head * (encoder ? 0 : sequence) +
                         own.layers * (8 + 2 * sequence + again(p, 4, sequence));
    return (struct cluster_group){
        .ranks = ranks,
        .apart = split_ranks(&p->own, SPLIT_WIDTH),
        .bytes = A * 4 * (ranks - 1) / ranks * ((double)rows * N * C + 2 * labels * (C + 3)),
        .operations = A * ((double)rows / 2 + 4 * own.head),
    };
}

/* Returns how many numbers the ranks along SPLIT_WIDTH sum for the head: logits; in BERT's
 * pre-training also the outputs of the pooler and of the transform, and half as many again for the
 * decoder's gradient, since a gather counts as half a sum. */
static double head_sums(const struct plan *p)
{
    const struct model_config *c = &p->own.config;
    const double W = (double)split_width(&p->own), B = (double)p->engine.B, labels = labels_of(p);
    if (c->head == HEAD_QUESTIONS)
        return 2 * B * (double)p->engine.T;
    return labels * (double)c->vocabulary +
           (c->head == HEAD_PRETRAINING ? B * W + (c->bare_head ? 0 : 1.5 * labels * W) : 0);
}

/* Returns how many numbers ranks along SPLIT_WIDTH sum for a layer: inner channels and their
 * gradients. */
static double layer_sums(const struct plan *p)
{
    const struct layer_widths w = layer_widths(&p->own.config);
    return (double)(p->engine.B * p->engine.T *
                    (w.qkv * (1 + again(p, 1, 1)) + w.first * (1 + again(p, 1, 0)) + w.attention +
                     w.inner));
}

/* Returns how many norms this stage has. A layer has two. Decoders have one in the head, encoders
 * have one in the embedding. */
static int64_t count_norms(const struct plan *p, const struct owned *own)
{
    return 2 * own->layers + (p->own.config.head != HEAD_NEXT ? own->embedding : own->head);
}

/* Returns how often the moments of norms are gathered in a micro-batch: for each norm in the
 * forward pass, and for those that are computed again. Decoders have a norm before attention,
 * encoders have one after it, and one in the embedding that is always computed again. */
static double norm_gathers(const struct plan *p, const struct owned *own)
{
    const int encoder = p->own.config.head != HEAD_NEXT;
    return (double)(count_norms(p, own) + encoder * own->embedding +
                    own->layers * again(p, 2, !encoder));
}

/* Returns what a rank sends in an update along SPLIT_WIDTH: sums of the layers and of the head; the
 * moments of each norm's rows, and in the backward pass two sums for each of these rows. */
static struct cluster_group width_group(const struct plan *p)
{
    const struct owned own = owned_by(p);
    const double ranks = (double)split_ranks(&p->own, SPLIT_WIDTH), A = (double)p->engine.A;
    const double rows = (double)split_most_rows(&p->own, p->engine.B * p->engine.T);
    const double sums = (double)own.layers * layer_sums(p) + (own.head ? head_sums(p) : 0) +
                        2 * rows * (double)count_norms(p, &own);
    const int means = p->own.config.head != HEAD_NEXT ||
                      p->own.tensors.rows[p->own.first_head_row].biased;
    const double gathers = norm_gathers(p, &own), moments = (means ? 2 : 1) * rows * gathers;
    return (struct cluster_group){
        .ranks = ranks,
        .apart = 1,
        .bytes = A * 4 * (ranks - 1) * (2 * sums / ranks + moments),
        .operations = A * ((double)own.layers * (4 + again(p, 2, 1)) + own.head +
                           (double)count_norms(p, &own) + gathers),
    };
}

/* Returns the bytes that a rank of this stage sends in an update to the ranks that share its
 * layers, along both dimensions. */
static double tensor_parallel_bytes(const struct plan *p)
{
    return heads_group(p).bytes + width_group(p).bytes;
}

/* Appends to `out` what a rank sends to the ranks that share its layers. */
static void print_tensor_parallel(const struct plan *p, struct buf *out)
{
    const struct cluster_group heads = heads_group(p), width = width_group(p);
    if (!p->own.split)
        return;
    put_int(out, "tensor_parallel", (uint64_t)(heads.ranks * width.ranks));
    if (split_sequence(&p->own))
        put_int(out, "sequence_parallel", 1);
    if (width.ranks > 1) {
        buf_addf(out, "tensor_parallel_grid=%.0fx%.0f\n", heads.ranks, width.ranks);
        buf_addf(out, "tensor1_bytes_per_step=%.0f\n", heads.bytes);
        buf_addf(out, "tensor2_bytes_per_step=%.0f\n", width.bytes);
    }
    buf_addf(out, "tensor_parallel_bytes_per_step=%.0f\n", tensor_parallel_bytes(p));
}

/* ---- pipelines ------------------------------------------------------------------------------- */

/* Returns the bytes that a rank of this stage sends to other stages in an update, if no micro-batch
 * has padding. */
static double sent_bytes(const struct plan *p)
{
    double bytes = 0;
    for (int64_t n = 0; n < p->program.count; n++) {
        const struct phase *f = &p->program.phases[n];
        const struct use *u = &f->uses[0];
        if (!phase_is_transfer(f->kind) || u->mode != MODE_READ)
            continue;
        const int half = u->kind == STORE_PARAMETERS  ? p->store.half_parameters
                         : u->kind == STORE_GRADIENTS ? 0
                                                      : p->store.half_activations;
        const int64_t numbers = u->kind < STORE_BLOCKS ? p->own.tensors.block_size[f->block]
                                                       : p->store.row[u->kind];
        bytes += (double)(f->turns * numbers * (half ? 2 : 4)) / (u->own ? p->store.ranks : 1);
    }
    return bytes;
}

/* Returns the plan of another stage, without checks. Only its program must be released. */
static struct plan plan_of_stage(const struct plan *p, int stage)
{
    struct plan q = *p;
    q.engine.stage = stage;
    engine_program(&q.program, &q.engine, &q.own, q.moments);
    engine_rows(&q.store, &q.engine, &q.own, &q.program);
    store_plan(&q.stored, &q.own.tensors, &q.store);
    plan_measure(&q.other, &q);
    return q;
}

/* Raises the memory and transferred bytes in *step to those of plan q where these are greater. */
static void add_stage(struct cluster_step *step, const struct plan *q)
{
    const struct cluster_group groups[] = { heads_group(q), width_group(q), data_group(q) };
    struct cluster_group *most[] = { &step->heads, &step->width, &step->data };
    step->memory = fmax(step->memory, (double)plan_bytes(q));
    for (int i = 0; i < 3; i++)
        if (!most[i]->ranks || groups[i].bytes > most[i]->bytes)
            *most[i] = groups[i];
}

static void print_stage(const struct plan *q, struct buf *out)
{
    const int stage = q->engine.stage;
    buf_addf(out, "stage_%d_layers=%" PRId64 "\n", stage, owned_by(q).layers);
    buf_addf(out, "stage_%d_memory_bytes=%" PRIu64 "\n", stage, plan_bytes(q));
    buf_addf(out, "stage_%d_sent_bytes_per_step=%.0f\n", stage, sent_bytes(q));
    if (q->own.split)
        buf_addf(out, "stage_%d_tensor_parallel_bytes_per_step=%.0f\n", stage,
                 tensor_parallel_bytes(q));
}

/* Appends to `out` the memory and the transfers of each stage, and the share of the time that
 * stages wait for each other. Sets this share in *step, and the most that a stage needs. */
static void print_pipeline(const struct plan *p, struct cluster_step *step, struct buf *out)
{
    const int stages = p->engine.stages;
    struct timeline t;
    SCOPED_MEM struct program *programs = mem_zalloc((size_t)stages, sizeof *programs);
    put_int(out, "pipeline_parallel", (uint64_t)stages);
    if (p->engine.interleave > 1)
        put_int(out, "pipeline_interleave", (uint64_t)p->engine.interleave);
    for (int s = 0; s < stages; s++) {
        const struct plan q = plan_of_stage(p, s);
        programs[s] = q.program;
        print_stage(&q, out);
        add_stage(step, &q);
    }
    if (!timeline_run(&t, programs, stages, &p->costs)) {
        step->bubble = 1 - t.busy / (t.length * stages);
        buf_addf(out, "pipeline_bubble=%.4f\n", step->bubble);
    }
    for (int s = 0; s < stages; s++)
        program_release(&programs[s]);
}

/* ---- the estimate for a cluster --------------------------------------------------------------- */

/* Returns which share of the computing is done again in the backward pass. */
static double share_again(const struct plan *p)
{
    const double layers = (double)p->model.config.layers / plan_flops_per_token(p);
    switch (p->engine.recompute) {
    case RECOMPUTE_LAYER: return layers * p->costs.of[PHASE_LAYER_AGAIN];
    case RECOMPUTE_ATTENTION: return layers * p->costs.of[PHASE_ATTENTION_AGAIN];
    default: return 0;
    }
}

/* Returns the share of an update's computing during which data-parallel ranks exchange. A leaf is a
 * part of the batch, and a group is a number of its micro-batches that pass through a layer
 * together. With ZeRO 2 and 3 ranks exchange in every group. Else gradients are sent in the last
 * group of a leaf, and weights or sums of gradients in the first group of the next update. */
static double overlap(const struct plan *p)
{
    const struct step_config *e = &p->engine;
    return e->zero > 1 ? 1 : fmin(1, (double)(e->leaves * e->G) / (double)e->A);
}

/* Appends the time of a step on the cluster of --machine. Returns 0, or -1 with an error. */
static int print_estimate(const struct plan *p, struct cluster_step *step, struct buf *out)
{
    step->ranks = (double)p->ranks * ranks_of_model(p);
    step->tokens = (double)(p->settings->global_batch_size * p->engine.T);
    step->flops = step->tokens * plan_flops_per_token(p);
    step->work = step->flops * (1 + share_again(p));
    step->bf16 = p->settings->precision == OPS_BF16;
    step->overlap = overlap(p);
    return cluster_estimate(out, p->settings->machine, step);
}

static void print_data(const struct samples *s, const char *begins, double drawn, struct buf *out)
{
    buf_addf(out, "%ssequences=%" PRIu64 "\n%stokens=%" PRIu64 "\n", begins, s->count, begins,
             s->tokens);
    if (s->describe)
        s->describe(s, begins, drawn, out);
}

int dry_run_print(const struct plan *p, struct buf *out)
{
    struct cluster_step step = { 0 };
    const double drawn = (double)p->steps * (double)p->settings->global_batch_size;
    print_model(p, out);
    print_steps(p, out);
    print_memory(p, out);
    print_communication(p, out);
    print_tensor_parallel(p, out);
    if (p->engine.stages > 1)
        print_pipeline(p, &step, out);
    else
        add_stage(&step, p);
    if (p->data && p->data->count)
        print_data(p->data, "training_", drawn, out);
    if (p->data && p->data->count && p->steps)
        buf_addf(out, "epochs=%.4f\n", drawn / samples_epoch(p->data));
    if (p->validation)
        print_data(p->validation, "validation_", (double)p->validation->count, out);
    return p->settings->machine ? print_estimate(p, &step, out) : 0;
}
