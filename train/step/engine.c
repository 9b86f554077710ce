#include "train/step/engine.h"

#include <math.h>

#include "common/base/rng.h"
#include "common/program/trace.h"
#include "model/network/embedding.h"
#include "model/network/layer.h"

enum { KEY_DROPOUT = 0x64726f70, SUMS = 2 * MODEL_PARTS };

/* ---- memory --------------------------------------------------------------------------------- */

void engine_program(struct program *p, const struct step_config *c, const struct model *m,
                    const unsigned char *moments)
{
    struct step_config config = *c;
    config.layers = (int)m->config.layers;
    config.tied = m->tied;
    config.embedding_again = embedding_is_read_again(m);
    config.moments = moments ? 0 : 2;
    for (size_t i = 0; i < m->tensors.count && moments; i++)
        config.moments = moments[i] > config.moments ? moments[i] : config.moments;
    program_step(p, &config);
}

void engine_evaluation(struct program *p, const struct step_config *c, const struct model *m)
{
    struct step_config config = *c;
    config.layers = (int)m->config.layers;
    config.tied = m->tied;
    program_evaluation(p, &config);
}

void engine_rows(struct store_config *out, const struct step_config *c, const struct model *m,
                 const struct program *p)
{
    out->program = p;
    out->row[STORE_X] = out->row[STORE_DX] = split_most_rows(m, c->B * c->T) * m->config.width;
    layer_cache(m, c->B, c->T, &out->row[STORE_CACHE]);
}

void engine_open(struct engine *e, const struct step_config *config, const struct program *p,
                 const struct model *m, struct ops *o, struct store *s, struct comm *c)
{
    /* the most that a head can have: one per token and one per sequence, or two per sequence */
    const int64_t labels = config->most * (config->T + 1);
    assert(config->G >= 1 && config->G <= config->A && config->most >= config->B);
    *e = (struct engine){
        .config = *config, .program = p, .model = m, .ops = o, .store = s, .comm = c
    };
    engine_evaluation(&e->evaluation, config, m);
    sharing_open(&e->sharing, s, c);
    for (int kind = 0; kind < STORE_KINDS && c->size[COMM_PIPE] > 1; kind++)
        e->transfers[kind] = mem_zalloc((size_t)s->layout.count[kind] + 1,
                                        sizeof *e->transfers[kind]);
    e->late = mem_zalloc((size_t)m->tensors.blocks, sizeof *e->late);
    e->inputs = mem_zalloc((size_t)p->micros, sizeof *e->inputs);
    e->scores.losses = ops_buffer(o, OPS_F32, labels);
    if (m->part[0].name) /* a GPT has too many labels to find the correct predictions */
        e->scores.correct = ops_buffer(o, OPS_U8, labels);
    e->sums = ops_buffer(o, OPS_F64, config->A * SUMS);
}

/* Waits for all transfers between stages. */
static void end_transfers(struct engine *e)
{
    for (int kind = 0; kind < STORE_KINDS; kind++)
        for (int i = 0; e->transfers[kind] && i < e->store->layout.count[kind]; i++)
            comm_end_of(e->comm, &e->transfers[kind][i].work);
}

void engine_close(struct engine *e)
{
    if (!e->model)
        return;
    ops_buffer_free(e->ops, e->scores.losses);
    ops_buffer_free(e->ops, e->scores.correct);
    ops_buffer_free(e->ops, e->sums);
    if (e->late_count)
        optimizer_end(&e->update);
    free(e->late);
    end_transfers(e);
    for (int kind = 0; kind < STORE_KINDS; kind++)
        free(e->transfers[kind]);
    for (int i = 0; i < e->program->micros; i++)
        inputs_release(&e->inputs[i], e->ops);
    free(e->inputs);
    sharing_close(&e->sharing);
    program_release(&e->evaluation);
    *e = (struct engine){ 0 };
}

/* ---- scores ---------------------------------------------------------------------------------- */

/* Adds the head's losses and correct predictions for the micro-batch `in` to the sums of
 * micro-batch m of the step, which stay on the device, and its numbers of labels to s. */
static void add_scores(const struct engine *e, struct engine_score *s, const struct inputs *in,
                       int64_t m)
{
    struct ops_array sums = ops_part(e->sums, m * SUMS);
    for (int p = 0; p < e->model->parts; p++) {
        struct ops_scores part = inputs_scores(in, e->scores, p);
        s->part[p].labels += in->labelled[p];
        ops_add_sum(e->ops, ops_part(sums, 2 * p), part.losses, in->targets[p].n);
        if (!ops_is_none(part.correct))
            ops_add_sum(e->ops, ops_part(sums, 2 * p + 1), part.correct, in->targets[p].n);
    }
}

static void add_sums(const struct engine *e, struct engine_score *s, const double *sums, int64_t n)
{
    for (int64_t m = 0; m < n; m++, sums += SUMS)
        for (int p = 0; p < e->model->parts; p++) {
            s->part[p].loss += sums[2 * p];
            s->part[p].correct += (int64_t)sums[2 * p + 1];
        }
}

/* Returns [n][SUMS]: for each micro-batch, the sum of losses and of correct predictions of each
 * part. Resets them to 0. The caller frees the result. */
static double *take_sums(const struct engine *e, int64_t n)
{
    double *sums = mem_zalloc((size_t)(n * SUMS), sizeof *sums);
    ops_download(e->ops, sums, e->sums, n * SUMS);
    ops_zero(e->ops, e->sums, n * SUMS);
    return sums;
}

/* Returns the number that micro-batch m of rank `rank` has among the micro-batches of all ranks. */
static int64_t micro_batch(const struct engine *e, int rank, int64_t m)
{
    const struct step_config *c = &e->config;
    return program_micro_batch(c->zero, c->A, c->leaves, e->comm->size[COMM_DATA], rank, m);
}

void engine_take_last_score(const struct engine *e, struct engine_score *s)
{
    SCOPED_MEM struct engine_score *all = comm_collect(e->comm, COMM_PIPE, s, sizeof *s, "scores");
    *s = all[e->comm->size[COMM_PIPE] - 1];
}

/* Adds the sums of all ranks to s, in the order of the micro-batches. On entry s has this rank's
 * numbers of labels. */
static void sum_scores(const struct engine *e, struct engine_score *s)
{
    const int ranks = e->comm->size[COMM_DATA];
    const int64_t A = e->config.A, own = A * SUMS;
    SCOPED_MEM double *mine = take_sums(e, A);
    SCOPED_MEM double *all = comm_collect(e->comm, COMM_DATA, mine, (size_t)own * sizeof *all,
                                          "losses");
    SCOPED_MEM double *ordered = mem_zalloc((size_t)(ranks * own), sizeof *ordered);
    for (int q = 0; q < ranks; q++)
        for (int64_t m = 0; m < A; m++)
            memcpy(ordered + micro_batch(e, q, m) * SUMS, all + (q * A + m) * SUMS,
                   SUMS * sizeof *all);
    add_sums(e, s, ordered, ranks * A);
    for (int p = 0; p < e->model->parts; p++)
        s->part[p].labels = (int64_t)comm_sum_real(e->comm, COMM_DATA, (double)s->part[p].labels);
    engine_take_last_score(e, s);
}

void engine_add_score(struct engine_score *sum, const struct engine_score *s)
{
    for (int p = 0; p < MODEL_PARTS; p++) {
        sum->part[p].loss += s->part[p].loss;
        sum->part[p].labels += s->part[p].labels;
        sum->part[p].correct += s->part[p].correct;
    }
}

double engine_loss(const struct model *m, const struct engine_score *s)
{
    double loss = 0;
    int64_t labels = 0;
    for (int p = 0; p < m->parts; p++) {
        labels += s->part[p].labels;
        if (s->part[p].labels)
            loss += m->part[p].weight * s->part[p].loss / (double)s->part[p].labels;
    }
    return labels ? loss : NAN;
}

/* ---- phases ---------------------------------------------------------------------------------- */

/* The state of one execution of the program, or of a part of it. */
struct pass {
    struct engine *e;
    int training;
    const struct batch *batches; /* the next batch */
    int64_t taken, scored;       /* number of batches taken and scored so far */
    int64_t step;
    double scale;       /* factor on the sum of losses */
    double next_weight; /* weight of the second part of the loss relative to the first */
    struct engine_score *score;
};

/* Takes the next micro-batch. In training each micro-batch gets its own dropout key. */
static void take_inputs(struct pass *s, const struct phase *f)
{
    const struct engine *e = s->e;
    struct batch b = *s->batches++;
    int64_t number = micro_batch(e, e->comm->rank[COMM_DATA], s->taken++);
    uint64_t key = rng_key(rng_key(rng_key(0, e->config.seed), KEY_DROPOUT), (uint64_t)s->step);
    assert((b.joined || b.B <= e->config.most) && b.T == e->config.T);
    if (s->training) {
        b.key = rng_key(key, (uint64_t)number);
        b.dropout = e->config.rise ? (double)s->step / (double)e->config.rise : 1;
        b.next_weight = s->next_weight;
    }
    inputs_set(&e->inputs[f->micro], e->ops, e->model, &b);
}

/* Runs the head: in an evaluation, which has no gradients, only forward. */
static void run_head(struct pass *s, const struct phase *f, const struct ops_array *at)
{
    const struct engine *e = s->e;
    struct inputs *in = &e->inputs[f->micro];
    const struct head_pass p = { .out = e->scores,
                                 .x = at[USE_X],
                                 .w = at[USE_W],
                                 .tied = at[USE_TIED],
                                 .in = in,
                                 .dx = at[USE_DX],
                                 .dw = { at[USE_DW], f->add },
                                 .dtied = { at[USE_DTIED], f->add },
                                 .scale = s->scale };
    if (e->teacher && f->kind == PHASE_HEAD)
        in->targets[0].teacher = teacher_run(e->teacher, in);
    e->model->head(e->model, e->ops, &p);
    add_scores(e, s->score, in, s->scored++);
}

/* Begins to send or to receive the array of the phase, which is the rows of a micro-batch or a
 * block. */
static void transfer(struct pass *s, const struct phase *f, const struct ops_array *at)
{
    const struct engine *e = s->e;
    const struct use *u = &f->uses[0];
    struct engine_transfer *t = &e->transfers[u->kind][u->number];
    char what[40];
    int64_t n;
    assert(f->count == 1);
    if (u->own) {
        const int64_t *own = layout_bounds(&e->store->layout, u->kind, f->block) +
                             e->store->layout.rank;
        n = own[1] - own[0];
    } else if (u->kind < STORE_BLOCKS)
        n = e->store->tensors->block_size[f->block];
    else
        n = split_rows(e->model, e->inputs[f->micro].N).count * e->model->config.width;
    comm_end_of(e->comm, &t->work);
    snprintf(what, sizeof what, "%s, micro-batch %d", phase_name(f->kind), f->micro);
    t->sends = u->mode == MODE_READ;
    t->work = comm_transfer_begin(e->comm, COMM_PIPE, t->sends, f->peer, u->kind, e->ops,
                                  at[u->role], n, what);
}

/* Executes one phase. `at` holds the phase's arrays by role; unused roles have no array. In an
 * evaluation a layer's cache is empty. */
static void execute(struct pass *s, const struct phase *f, const struct ops_array *at)
{
    const struct engine *e = s->e;
    const struct model *m = e->model;
    const struct inputs *in = f->micro < 0 ? NULL : &e->inputs[f->micro];
    const struct ops_array w = at[USE_W], x = at[USE_X],
                           state[OPS_STATES] = { w, at[USE_M], at[USE_V] };
    const struct ops_gradient dw = { at[USE_DW], f->add };
    const struct model_cache cache = { { at[USE_ATTENTION], at[USE_REST], at[USE_SUMS] } };
    switch (f->kind) {
    case PHASE_INPUTS: take_inputs(s, f); break;
    case PHASE_EMBEDDING_FORWARD: embedding_fwd(m, e->ops, at[USE_Y], w, in); break;
    case PHASE_LAYER_FORWARD:
    case PHASE_LAYER_AGAIN:
    case PHASE_LAYER_EVALUATION: layer_fwd(m, e->ops, f->layer, at[USE_Y], x, w, cache, in); break;
    case PHASE_HEAD:
    case PHASE_HEAD_EVALUATION: run_head(s, f, at); break;
    case PHASE_ATTENTION_AGAIN: layer_attention_fwd(m, e->ops, f->layer, x, w, cache, in); break;
    case PHASE_LAYER_BACKWARD:
        layer_bwd(m, e->ops, f->layer, at[USE_DX], dw, x, w, cache, in);
        break;
    case PHASE_EMBEDDING_BACKWARD:
        word_table_restore(&s->e->sharing.table, dw.to);
        embedding_bwd(m, e->ops, dw, at[USE_DX], w, in);
        break;
    case PHASE_MERGE:
        ops_add(e->ops, dw.to, at[USE_MERGED], e->store->tensors->block_size[f->block]);
        break;
    case PHASE_SUM_TABLE: word_table_begin_sum(&s->e->sharing.table, at[USE_DTIED]); break;
    case PHASE_SUM:
        if (e->config.zero > 1)
            store_sum(e->store, f->block, f->uses[1].number, f->merges);
        else
            sharing_sum(&s->e->sharing, f->block, dw.to);
        break;
    case PHASE_UPDATE: optimizer_update_block(&e->update, f->block, state, dw.to); break;
    case PHASE_GATHER: sharing_gather(&s->e->sharing, f->block, w); break;
    case PHASE_GATHER_TABLE: sharing_gather_table(&s->e->sharing); break;
    default: transfer(s, f, at);
    }
}

/* ---- the interpreter ------------------------------------------------------------------------- */

static void update_late(struct engine *e, int block);

/* Waits until the array of use u can be used in that way: for its transfer, if there is one. */
static void await_transfer(struct engine *e, const struct use *u)
{
    struct engine_transfer *t = e->transfers[u->kind];
    if (t && t[u->number].work && (!t[u->number].sends || u->mode != MODE_READ))
        comm_end_of(e->comm, &t[u->number].work);
}

static void run_phase(struct pass *s, const struct program *p, int64_t n)
{
    struct store *store = s->e->store;
    const struct phase *f = &p->phases[n];
    const struct use *all[PROGRAM_TOGETHER];
    const int count = program_together(p, n, all);
    struct ops_array at[USE_ROLES] = { 0 };
    for (int i = 0; i < f->count; i++)
        if (f->uses[i].kind == STORE_PARAMETERS)
            update_late(s->e, f->uses[i].number);
    TRACE_PHASE(phase_name(f->kind), f->layer);
    for (int i = 0; i < f->count; i++) {
        await_transfer(s->e, &f->uses[i]);
        sharing_await(&s->e->sharing, &f->uses[i]);
        at[f->uses[i].role] = store_begin(store, &f->uses[i]);
    }
    for (int i = f->count; i < count; i++)
        store_expect(store, all[i]);
    execute(s, f, at);
    for (int i = 0; i < f->count; i++)
        store_end(store, &f->uses[i]);
}

/* Updates a block if its update was postponed. */
static void update_late(struct engine *e, int block)
{
    struct pass s = { .e = e };
    const int64_t n = e->late[block] - 1;
    if (n < 0)
        return;
    e->late[block] = 0;
    run_phase(&s, e->program, n);
    if (!--e->late_count)
        optimizer_end(&e->update);
}

/* Runs the parts from..to-1 of a program. In training tells e->watch how much is done, and leaves
 * the step as engine_step says. Returns 1 if the step is left, else 0. */
static int run_parts(struct pass *s, const struct program *p, int from, int to)
{
    const struct engine *e = s->e;
    int64_t all = 0, done = 0;
    for (int part = from; part < to; part++)
        all += p->parts[part].turns * (p->parts[part].end - p->parts[part].first);
    for (int part = from; part < to; part++)
        for (int64_t turn = 0; turn < p->parts[part].turns; turn++)
            for (int64_t n = p->parts[part].first; n < p->parts[part].end; n++, done++) {
                const double share = (double)done / (double)all;
                if (s->training && e->watch && e->watch(e->watch_ctx, share) &&
                    n == p->parts[part].first)
                    return 1;
                run_phase(s, p, n);
            }
    return 0;
}

/* ---- a step ---------------------------------------------------------------------------------- */

/* Returns the number of labels of a part of the loss in the micro-batches of all ranks. */
static double count_labels(const struct engine *e, const struct step_batch *s, int part)
{
    const enum batch_label kind = e->model->part[part].labels;
    int64_t count = 0;
    for (int64_t m = 0; m < e->config.A; m++) {
        const int32_t *labels = batch_labels(&s->micro[m], kind);
        const int64_t n = batch_label_count(&s->micro[m], kind);
        for (int64_t i = 0; i < n && labels; i++)
            count += labels[i] >= 0;
    }
    return comm_sum_real(e->comm, COMM_DATA, (double)count);
}

/* Finds the words of all ranks that operations on the table need to know before the step. */
static void list_words(struct engine *e, const struct step_batch *batch)
{
    struct word_table *t = &e->sharing.table;
    const struct step_config *c = &e->config;
    const int64_t leaf = c->A / (c->leaves ? c->leaves : 1), last_group = (leaf - 1) % c->G + 1;
    word_table_clear(t);
    for (int64_t m = 0; m < c->A; m++) {
        if (m < c->G)
            word_table_mark(t, TABLE_GATHER, &batch->micro[m]);
        if (m >= c->A - last_group)
            word_table_mark(t, TABLE_SUM, &batch->micro[m]);
    }
    word_table_collect(t);
}

void engine_count(struct engine *e, const struct step_batch *batch)
{
    list_words(e, batch);
    for (int part = 0; part < e->model->parts; part++)
        e->labels[part] = count_labels(e, batch, part);
    e->counted = 1;
}

/* Returns the factor that turns the sum of losses into the loss: 1 / (number of labels of the first
 * part). Sets *next_weight to the factor on each loss of the second part in that sum, so that the
 * second part, too, counts with the mean of its losses. */
static double weigh(struct engine *e, const struct step_batch *s, double *next_weight)
{
    if (!e->counted)
        engine_count(e, s);
    e->counted = 0;
    const double first = e->labels[0] > 0 ? e->labels[0] : 1;
    const double second = e->model->parts > 1 ? e->labels[1] : 0;
    *next_weight = second > 0 ? first / second : 0;
    return 1 / first;
}

double engine_step(struct engine *e, int64_t step, const struct step_batch *batch,
                   struct engine_score *score)
{
    struct pass s = {
        .e = e, .training = 1, .batches = batch->micro, .step = step, .score = score
    };
    *score = (struct engine_score){ 0 };
    s.scale = weigh(e, batch, &s.next_weight);
    e->left = run_parts(&s, e->program, 0, e->program->update);
    if (e->left)
        return NAN;
    sharing_end_sums(&e->sharing);
    sum_scores(e, score);
    return engine_loss(e->model, score);
}

double engine_norm(const struct engine *e)
{
    return sqrt(sharing_squares(&e->sharing));
}

/* Sends the updated parameters of a tied table from the first stage of a pipeline to the last. If
 * ranks share the parameters, each sends its share, and waits until it has arrived, because it may
 * be gathered at any time afterwards. */
static void exchange_table(struct engine *e)
{
    struct pass s = { .e = e };
    run_parts(&s, e->program, e->program->update + 1, e->program->part_count);
    if (layout_is_shared(&e->store->layout, STORE_PARAMETERS))
        end_transfers(e);
}

/* Postpones the updates of all blocks but block 0, whose sum is complete. */
static void postpone(struct engine *e)
{
    const struct program_part *part = &e->program->parts[e->program->update];
    for (int64_t n = part->first; n < part->end; n++)
        if (e->program->phases[n].block > 0) {
            e->late[e->program->phases[n].block] = n + 1;
            e->late_count++;
        }
}

void engine_update(struct engine *e, const struct optimizer *a, double norm, double rate, int64_t t)
{
    const struct program_part *part = &e->program->parts[e->program->update];
    struct pass s = { .e = e };
    assert(!e->late_count);
    if (!e->counted)
        word_table_forget(&e->sharing.table, TABLE_GATHER);
    optimizer_begin(&e->update, a, e->store, e->comm, norm, rate, t);
    if (sharing_gather_sums(&e->sharing))
        postpone(e);
    for (int64_t n = part->first; n < part->end; n++)
        if (!e->late[e->program->phases[n].block])
            run_phase(&s, e->program, n);
    if (!e->late_count)
        optimizer_end(&e->update);
    exchange_table(e);
}

void engine_settle(struct engine *e)
{
    for (int b = 0; b < e->model->tensors.blocks; b++)
        update_late(e, b);
    sharing_end_gathers(&e->sharing);
}

void engine_evaluate(struct engine *e, const struct batch *b, struct engine_score *score)
{
    struct engine_score own = { 0 };
    struct pass s = { .e = e, .batches = b, .score = &own };
    assert(b->dropout == 0);
    engine_settle(e);
    run_parts(&s, &e->evaluation, 0, 1);
    SCOPED_MEM double *sums = take_sums(e, 1);
    add_sums(e, &own, sums, 1);
    engine_add_score(score, &own);
}
