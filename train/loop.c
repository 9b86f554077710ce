#include "train/loop.h"

#include <errno.h>
#include <math.h>
#include <time.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/files/file.h"
#include "common/files/output_folder.h"
#include "common/files/usage.h"
#include "common/program/tool.h"
#include "common/program/trace.h"
#include "generate/generator.h"
#include "model/folder/folder.h"
#include "train/checkpoint.h"
#include "train/report/metrics.h"
#include "train/report/origin.h"
#include "train/report/page.h"
#include "train/report/profile.h"
#include "train/report/slow.h"
#include "train/samples/batches.h"
#include "train/start.h"
#include "train/stop.h"
#include "train/validation.h"

enum {
    REPORT_SECONDS = 60, /* the report is written again when it is this old */
    TIMED_EVERY = 16,    /* the times of every 16th update are measured */
    SAMPLE_TOKENS = 64   /* length of the text at a validation */
};

struct loop {
    struct plan *plan;
    const struct settings *settings;
    const char *config; /* text of config.yaml */
    struct kv *origin;  /* the facts that say where the run comes from */
    struct ops *ops;
    struct comm *comm; /* borrowed */
    int first;         /* 1: this process logs and writes */
    struct store store;
    struct engine engine;
    /* zeroed: there is no teacher, or another stage of a pipeline has it */
    struct teacher teacher;
    struct model teaching;
    struct ops_array *teaching_blocks;
    struct batches *batches;
    struct metrics metrics;
    struct checkpoint_work *saving; /* what is being written (checkpoint_begin); NULL: nothing */

    struct checkpoint at; /* the current state of the run */
    double began;         /* time at which the whole training began, over all resumed runs */
    double busy;          /* duration of the updates since the last log line */
    int64_t logged_step;  /* step of that line */
    uint64_t logged_tokens;
    double reported;  /* time at which the report was written */
    int64_t run_step; /* step at which this run began */
    uint64_t run_tokens;
    double run_busy;          /* seconds of updates of this run */
    double last_loss;         /* of the last step */
    int timed;                /* 1: the times of this update are measured */
    double lap;               /* time of the last call of lap() */
    double times[TIME_KINDS]; /* seconds, of all updates that were measured */
    struct buf sample;        /* the text of the last validation */
    struct validation validation;
    struct step_batch batch; /* of the next step */
    double batch_tokens;     /* tokens in it, on all ranks */
    int failed;              /* 1: no next step; `why` says why (prepare) */
    int late;                /* 1: this rank has failed with `why`; the others do not know */
    struct err why;
    int stop; /* signal, to any rank, that ends the run */
    int lock; /* file descriptor that locks the output folder; -1: none */
    int made; /* number of folders, the last ones of the output path, that this run made */
};

/* Keeps the error of this rank until `prepare`, where all ranks learn of it. A run of one rank
 * returns it at once. */
static int agree_later(struct loop *l, int result)
{
    if (l->comm->size[COMM_WORLD] == 1 || !result)
        return result;
    l->late = 1;
    l->why = err_keep();
    return 0;
}

/* ---- opening --------------------------------------------------------------------------------- */

/* Makes the output folder. It is made late, when only the disk can still fail, so that a run that
 * cannot start leaves no folder behind. */
static int make_folder(struct loop *l)
{
    const char *out = l->settings->output;
    if (file_mkdirs_count(out, &l->made) < 0 || output_folder_lock(out, &l->lock) < 0)
        return -1;
    return start_refuse_old_run(l->settings); /* another process may have begun a run meanwhile */
}

static int open_ops(struct loop *l, int threads)
{
    l->ops = ops_open_local(l->settings->device, l->comm->rank[COMM_HOST], threads);
    if (l->ops)
        ops_set_precision(l->ops, (enum ops_type)l->settings->precision);
    return l->ops ? 0 : -1;
}

/* Lets the ranks' GPUs join (comm_join_devices), and then, because NCCL takes some of it, checks
 * their memory. Returns 0, or -1 with an error, on all ranks. */
static int join_devices(struct loop *l)
{
    SCOPED(buf) said = BUF_INIT;
    int result = comm_join_devices(l->comm, l->ops, (enum comm_way)l->settings->exchange, &said);
    if (said.len)
        log_info("%s", said.data);
    return result < 0 ? -1 : comm_agree(l->comm, plan_check_device(l->plan, l->ops));
}

static void open_batches(struct loop *l)
{
    const struct plan *p = l->plan;
    if (p->validation)
        validation_open(&l->validation, p, &l->engine);
    l->batches = batches_new(p->data, &p->engine, l->comm->rank[COMM_DATA],
                             l->comm->size[COMM_DATA], l->at.position);
}

/* Writes config.yaml, the file `path`: the facts about the run, and its settings. */
static int write_config(const struct loop *l, const char *path)
{
    SCOPED(buf) text = BUF_INIT;
    origin_print(l->origin, &text);
    buf_adds(&text, l->config);
    return file_write(path, text.data, text.len);
}

/* Opens the files in the output folder. A run whose first checkpoint could not be written ends now,
 * not when it is due. */
static int open_files(struct loop *l)
{
    const struct plan *p = l->plan;
    const int resumed = l->settings->resume;
    SCOPED(buf) path = file_path(l->settings->output, "config.yaml");
    SCOPED(buf) checkpoints = file_path(l->settings->output, "checkpoints");
    if (l->settings->save && l->at.step < p->steps && access(checkpoints.data, W_OK) < 0 &&
        errno != ENOENT)
        return err_set("cannot write to '%s': %s", checkpoints.data, strerror(errno));
    kv_add(l->origin, "kernels", ops_describe(l->ops));
    if ((l->settings->force && start_remove_old_run(l->settings->output) < 0) ||
        (!resumed && write_config(l, path.data) < 0) ||
        metrics_open(&l->metrics, l->settings->output, l->at.step, p->model.part, p->model.parts) <
            0 ||
        metrics_begin(&l->metrics, l->at.step, l->origin, l->config) < 0)
        return -1;
    if (!resumed) /* the metrics have the facts of this run, config.yaml those of all */
        return 0;
    return origin_resume(l->origin, path.data, l->at.step) < 0 ? -1 : write_config(l, path.data);
}

/* Sets l->sample to the model's continuation of the prompt of --sample, of at most `length` tokens:
 * to what `generate --slide` prints after it for the same seed. A second signal ends it early.
 * Returns 0, or -1 with an error. */
static int write_sample(struct loop *l, int64_t length)
{
    const struct plan *p = l->plan;
    const char *prompt = l->settings->sample;
    const uint64_t key = rng_key(rng_key(rng_key(0, p->engine.seed), 0), 0); /* as in generate */
    const int count = p->own.tensors.blocks;
    SCOPED_MEM struct ops_array *blocks = mem_zalloc((size_t)count, sizeof *blocks);
    struct generator g = { .sampler = SAMPLER_DEFAULT, .length = length, .begin = 1, .slide = 1 };
    SCOPED(start) start = { 0 };
    struct generation one = { 0 }, *texts[] = { &one };
    for (int i = 0; i < count; i++)
        blocks[i] = store_fetch(&l->store, STORE_PARAMETERS, i, MODE_READ, 0);
    generator_open(&g, p->tokenizer, l->ops, &p->own, blocks);
    int result = generator_prompt(&g, &start, prompt, strlen(prompt));
    if (!result)
        result = generation_begin(&g, &one, &start, key, 1);
    while (!result && !one.finish && *stop_count() < 2)
        result = generator_step(&g, texts, 1);
    buf_clear(&l->sample); /* a NUL, which would end the text, becomes U+FFFD */
    buf_add_replaced(&l->sample, one.text.all.data, one.text.all.len, "", 1, "\xEF\xBF\xBD", 3);
    generation_release(&one);
    generator_release(&g);
    for (int i = 0; i < count; i++)
        store_release(&l->store, STORE_PARAMETERS, i, 0);
    return result < 0 ? err_in("sample") : 0;
}

/* Lets the model write one token for --sample, so that errors show before hours of training.
 * A file may have it without validation data: then nothing is written. */
static int try_sample(struct loop *l)
{
    return l->settings->sample && l->plan->validation && l->first ? write_sample(l, 1) : 0;
}

/* Loads the teacher, if there is one, on the rank that has the model's head. */
static int open_teacher(struct loop *l)
{
    const struct settings *s = l->settings;
    if (!s->teacher || l->comm->rank[COMM_PIPE] != l->comm->size[COMM_PIPE] - 1)
        return 0;
    if ((s->verify && folder_verify(s->teacher, 0, 1) < 0) ||
        folder_load(&l->teaching, l->ops, &l->teaching_blocks, s->teacher, HEAD_NEXT, 0, NULL) < 0)
        return -1;
    l->teaching.config.residual_dropout = s->teacher_dropout;
    l->teaching.config.embedding_dropout = l->teaching.config.attention_dropout = 0;
    l->teacher.forward = (struct forward){ &l->teaching, l->ops, .blocks = l->teaching_blocks };
    l->teacher.out.share = s->teacher_share;
    l->engine.teacher = &l->teacher;
    return 0;
}

static int open_loop(struct loop *l, int threads)
{
    struct plan *p = l->plan;
    const struct settings *s = l->settings;
    int result = l->first ? output_folder_lock(s->output, &l->lock) : 0;
    const int there = l->lock >= 0;
    if (!result)
        result = open_ops(l, threads);
    if (comm_agree(l->comm, result) < 0 || join_devices(l) < 0)
        return -1;
    const struct run_start start = { p, l->config, l->ops, l->comm, &l->store, &l->at };
    if (comm_agree(l->comm, start_run(&start)) < 0)
        return -1;
    engine_open(&l->engine, &p->engine, &p->program, &p->own, l->ops, &l->store, l->comm);
    if (comm_agree(l->comm, open_teacher(l)) < 0 || comm_agree(l->comm, try_sample(l)) < 0)
        return -1;
    open_batches(l);
    result = l->first && p->validation ? validation_check(&l->validation) : 0;
    result = comm_agree(l->comm, !result && l->first && !there ? make_folder(l) : result);
    if (!result && s->save && s->checkpoint_files == SAVED_BLOCK)
        result = checkpoint_all_see(l->comm, s->output, s->output); /* all ranks write there */
    if (!result && l->first)
        result = open_files(l);
    l->began = log_seconds() - l->at.seconds;
    l->logged_step = l->at.step;
    l->logged_tokens = l->at.tokens;
    return comm_agree(l->comm, result);
}

static int close_loop(struct loop *l)
{
    batches_free(l->batches);
    int result = metrics_close(&l->metrics);
    engine_close(&l->engine);
    teacher_release(&l->teacher);
    folder_free_blocks(&l->teaching, l->ops, l->teaching_blocks);
    model_release(&l->teaching);
    store_close(&l->store);
    comm_leave_devices(l->comm);
    ops_free(l->ops);
    validation_close(&l->validation);
    buf_release(&l->sample);
    if (l->lock >= 0)
        close(l->lock);
    return result;
}

/* ---- validation, reports and checkpoints ----------------------------------------------------- */

static int validate(struct loop *l, struct engine_score *score)
{
    TRACE_PHASE("validation", -1);
    engine_settle(&l->engine);
    int result = validation_score(&l->validation, score);
    if (!result && !isfinite(score->part[0].loss + score->part[1].loss))
        result = err_set("training diverged at step %" PRId64 ": validation loss nan", l->at.step);
    if (!result && l->first && l->settings->sample)
        result = write_sample(l, SAMPLE_TOKENS);
    return comm_agree(l->comm, result);
}

/* Appends loss and accuracy of each part, such as "mlm 7.4312 (12.3 %)", if they have names. */
static void put_parts(struct buf *out, const struct model *m, const struct metrics_point *p)
{
    for (int i = 0; i < m->parts && m->part[0].name; i++)
        buf_addf(out, "  %s %.4f (%.1f %%)", m->part[i].name, p->part[i][METRICS_LOSS],
                 100 * p->part[i][METRICS_ACCURACY]);
}

/* Prints the log line of a step. `labels` is the number of labels of the validation. */
static void say(const struct loop *l, const struct metrics_point *p, double labels)
{
    SCOPED(buf) parts = BUF_INIT, validation = BUF_INIT;
    char left[32];
    if (!isnan(p->validation))
        buf_addf(&validation, "  val %.4f", p->validation);
    if (!isnan(p->validation) && l->validation.bytes)
        buf_addf(&validation, ", %.4f bits/byte",
                 p->validation / log(2) * labels / (double)l->validation.bytes);
    double flops = plan_flops_per_token(l->plan);
    log_time(left, (double)(l->plan->steps - p->step) * p->seconds);
    put_parts(&parts, &l->plan->model, p);
    log_info("step %" PRId64 "/%" PRId64 "  loss %.4f%s%s  lr %.2e  norm %.3f  %.0f tok/s  "
             "%.1f GFLOP/s  %s left",
             p->step, l->plan->steps, p->loss, parts.data, validation.data, p->rate, p->norm,
             p->tokens_per_second, p->tokens_per_second * flops * 1e-9, left);
}

/* Stores the mean loss and accuracy of each part; NAN if a part has no labels. */
static void take_score(struct metrics_point *p, const struct model *m,
                       const struct engine_score *score, enum metrics_value first)
{
    for (int i = 0; i < METRICS_PARTS; i++) {
        double labels = i < m->parts ? (double)score->part[i].labels : 0;
        p->part[i][first + METRICS_LOSS] = labels > 0 ? score->part[i].loss / labels : NAN;
        p->part[i][first + METRICS_ACCURACY] = labels > 0 ? (double)score->part[i].correct / labels
                                                          : NAN;
    }
}

/* Prints and stores a line of metrics. `validation` has no labels if it was not measured. */
static int report_step(struct loop *l, const struct engine_score *score,
                       const struct engine_score *validation, double rate, double norm)
{
    const struct model *m = &l->plan->model;
    struct metrics_point p = {
        .step = l->at.step,
        .loss = engine_loss(m, score),
        .validation = engine_loss(m, validation),
        .rate = rate,
        .norm = norm,
        .tokens = (double)l->at.tokens,
        .seconds = l->busy / (double)(l->at.step - l->logged_step),
        .elapsed = log_seconds() - l->began,
        .tokens_per_second = l->busy > 0 ? (double)(l->at.tokens - l->logged_tokens) / l->busy : 0,
    };
    take_score(&p, m, score, METRICS_LOSS);
    take_score(&p, m, validation, METRICS_VALIDATION);
    l->busy = 0;
    l->logged_step = l->at.step;
    l->logged_tokens = l->at.tokens;
    memcpy(p.seconds_of, l->times, sizeof p.seconds_of);
    say(l, &p, (double)validation->part[0].labels);
    if (!isnan(p.validation) && l->first && l->settings->sample) {
        p.sample = mem_strdup(l->sample.data);
        for (char *c = l->sample.data; (c = strchr(c, '\n'));)
            *c = ' ';
        log_info("sample: %s%s", l->settings->sample, l->sample.data);
    }
    return l->first ? metrics_add(&l->metrics, &p) : 0;
}

/* Goes on with what is being written, if anything: with wait 1 until it has ended, else only as far
 * as no rank has to wait for its disk. Ranks ask each other until all disks are done, which may
 * take longer than --comm-timeout. Returns 0, or -1 with an error, on all ranks. */
static int go_on_saving(struct loop *l, int wait)
{
    const struct timespec nap = { .tv_nsec = 1000000 };
    int more = 1;
    if (!l->saving)
        return 0;
    while (more > 0)
        if (!comm_most(l->comm, checkpoint_waits(l->saving)))
            more = checkpoint_go_on(&l->saving);
        else if (wait)
            nanosleep(&nap, NULL);
        else
            return 0;
    return comm_agree(l->comm, more);
}

/* Returns -1 with an error, on all ranks, if a weight is not finite: such a model is not saved. The
 * loss shows it only in the next update. Else returns 0. */
static int check_weights(struct loop *l)
{
    engine_settle(&l->engine);
    const struct tensor *bad = sharing_first(&l->engine.sharing,
                                             optimizer_not_finite(&l->store, STORE_PARAMETERS));
    return bad ? err_set("training diverged at step %" PRId64 "; not finite: %s", l->at.step,
                         bad->name)
               : 0;
}

static int save(struct loop *l)
{
    TRACE_PHASE("checkpoint", -1);
    if (go_on_saving(l, 1) < 0 || check_weights(l) < 0)
        return -1;
    const double began = log_seconds();
    l->at.seconds = log_seconds() - l->began;
    l->at.next_rate = schedule_rate(&l->plan->schedule, l->at.step);
    l->at.leaves = plan_leaves(l->plan);
    plan_arithmetic(l->at.arithmetic, l->plan, l->ops);
    int result = l->first ? start_has_folder(l->settings->output, l->lock) : 0;
    if (!result && l->first)
        result = metrics_sync(&l->metrics);
    result = comm_agree(l->comm, result);
    const struct checkpoint_content content = { l->plan, &l->store, l->comm, l->config };
    if (!result)
        result = checkpoint_begin(&l->saving, &l->at, &content);
    if (!result)
        log_detail("saving checkpoint of step %" PRId64 ": training stood for %.3f s", l->at.step,
                   log_seconds() - began);
    return result;
}

/* Writes the report and, with `card` 1, the model card. `running` 1: the run goes on. */
static int write_pages(struct loop *l, int running, int card)
{
    if (!l->first || start_has_folder(l->settings->output, l->lock) < 0)
        return l->first ? -1 : 0;
    SCOPED(buf) path = file_path(l->settings->output, "report.html"), title = BUF_INIT,
                about = BUF_INIT;
    const struct model_config *c = &l->plan->model.config;
    buf_addf(&title, "%s%s, %" PRId64 " layer%s of width %" PRId64 ", %" PRId64 " head%s",
             c->architecture->title, l->plan->task->purpose ? l->plan->task->purpose : "",
             c->layers, c->layers > 1 ? "s" : "", c->width, c->heads, c->heads > 1 ? "s" : "");
    origin_print(l->origin, &about);
    struct page_run page = {
        .name = l->settings->output,
        .title = title.data,
        .config = l->config,
        .about = about.data,
        .steps = l->plan->steps,
        .parameters = tensor_parameters(&l->plan->model.tensors),
        .flops_per_token = plan_flops_per_token(l->plan),
        .machine = ops_describe(l->ops),
        .peak_bytes = usage_peak_bytes(),
        .running = running,
        .calibrated = l->validation.calibrated,
        .metrics = &l->metrics,
    };
    l->reported = log_seconds();
    const int failed = page_write(path.data, &page, 1);
    return failed || !card ? failed
                           : page_write_card(l->settings->output, &page, l->origin,
                                             l->plan->task->head == HEAD_NEXT);
}

/* ---- the loop -------------------------------------------------------------------------------- */

static int due(int64_t step, int64_t every, int64_t last)
{
    return step == last || (every && step % every == 0);
}

/* Sets an error for a loss or norm that is not finite: it names the first weight that is not finite
 * or, if there is none, the first gradient. Returns -1. */
static int diverged(struct loop *l, double loss, double norm)
{
    const struct sharing *h = &l->engine.sharing;
    const struct tensor *weight, *bad;
    bad = weight = sharing_first(h, optimizer_not_finite(&l->store, STORE_PARAMETERS));
    if (!bad)
        bad = sharing_first(h, optimizer_not_finite(&l->store, STORE_GRADIENTS));
    return err_set("training diverged at step %" PRId64 ": loss %g, gradient norm %g%s%s%s",
                   l->at.step + 1, loss, norm, bad ? "; not finite: " : "",
                   bad && !weight ? "the gradient of " : "", bad ? bad->name : "");
}

/* Updates the weights if loss and norm are finite. */
static int update(struct loop *l, double loss, double norm, double rate)
{
    if (!isfinite(loss) || !isfinite(norm))
        return diverged(l, loss, norm);
    engine_update(&l->engine, &l->plan->optimizer, norm, rate, l->at.step + 1);
    return l->store.moves ? comm_agree(l->comm, store_check(&l->store)) : 0;
}

/* Prints the progress line: the step; if steps take a second or more, how much of it is done; and
 * if a step is done, the last loss and the mean speed of this run. */
static void say_progress(const struct loop *l, int64_t step, double share)
{
    char part[16] = "", done[96] = "", speed[32], left[32];
    const double steps = (double)(l->at.step - l->run_step), busy = l->run_busy;
    if (!l->first || !progress_due())
        return;
    if (share < 1 && busy >= steps)
        snprintf(part, sizeof part, ", %.0f %% of it", 100 * share);
    if (steps > 0)
        snprintf(done, sizeof done, ", loss %.4f, %s tok/s, %s left", l->last_loss,
                 log_count(speed, (uint64_t)lround((double)(l->at.tokens - l->run_tokens) / busy)),
                 log_time(left, ((double)(l->plan->steps - step) + 1 - share) * busy / steps));
    progress_line("step %" PRId64 "/%" PRId64 "%s%s", step, l->plan->steps, part, done);
}

/* Called by the engine with the share of the step that is done. Returns 1 to leave the step. */
static int watch_step(void *ctx, double share)
{
    const struct loop *l = ctx;
    say_progress(l, l->at.step + 1, share);
    return *stop_count() > 1;
}

/* Writes the report after the first step, and later when it is older than a minute. */
static int keep_report(struct loop *l)
{
    return l->reported > 0 && log_seconds() - l->reported < REPORT_SECONDS ? 0
                                                                           : write_pages(l, 1, 0);
}

/* Adds the time since the last call to the time of this kind. */
static void lap(struct loop *l, enum metrics_time kind)
{
    const double now = log_seconds();
    l->times[kind] += l->timed ? now - l->lap : 0;
    l->lap = now;
}

/* Reads the batch of step t, if there is such a step. Exchanges with the other ranks what all must
 * know before it: whether any rank has failed or was told to stop, whether the last checkpoint is
 * complete, and the numbers of labels and tokens. Must be called before the update of the step
 * before: the gathers that begin there go on during the forward pass of step t, and an exchange
 * between the two would wait for them. If a rank has failed, sets l->failed, so that the run ends
 * after the step before. */
static void prepare(struct loop *l, int64_t t)
{
    const int saved = go_on_saving(l, 0);
    int result = l->late ? err_restore(&l->why) : saved;
    if (!result && t < l->plan->steps)
        result = batches_next(l->batches, &l->batch);
    lap(l, TIME_READING);
    l->late = 0;
    l->failed = comm_agree(l->comm, result) < 0;
    if (l->failed)
        l->why = err_keep();
    l->stop = comm_most(l->comm, *stop_signal());
    if (l->failed || t == l->plan->steps)
        return;
    engine_count(&l->engine, &l->batch);
    l->batch_tokens = comm_sum_real(l->comm, COMM_DATA, (double)l->batch.tokens);
}

static int profiles(const struct loop *l)
{
    return l->first && l->settings->profile;
}

/* begin_pass and end_pass enclose the forward and the backward pass. If the update is measured,
 * they add the times of its kernels to l->times. A GPU's kernels return too early for that. */
static void begin_pass(struct loop *l)
{
    l->timed = l->at.step % TIMED_EVERY == 1 && ops_on_host(l->ops);
    l->lap = log_seconds();
    if (l->timed && !profiles(l))
        trace_start(0);
    if (l->timed)
        profile_add(l->times, -1);
}

static void end_pass(struct loop *l)
{
    lap(l, TIME_OTHER);
    if (l->timed)
        profile_add(l->times, 1);
    if (l->timed && !profiles(l))
        trace_stop();
}

/* Computes the gradients, updates the weights, and sets *score, *rate and *norm. If watch_step
 * abandons the step, only *rate is valid, and the weights and l->at stay. */
static int learn(struct loop *l, struct engine_score *score, double *rate, double *norm)
{
    int64_t t = l->at.step;
    *rate = schedule_rate(&l->plan->schedule, t);
    const double tokens = l->batch_tokens;
    begin_pass(l);
    double loss = engine_step(&l->engine, t, &l->batch, score);
    end_pass(l);
    if (l->engine.left)
        return 0;
    *norm = engine_norm(&l->engine);
    lap(l, TIME_OPTIMIZER);
    prepare(l, t + 1);
    lap(l, TIME_WAITING);
    /* a batch without labels, such as pieces of long questions of a chat, has no loss */
    const int has_loss = score->part[0].labels || score->part[1].labels;
    if (update(l, has_loss ? loss : 0, *norm, *rate) < 0)
        return -1;
    lap(l, TIME_OPTIMIZER);
    l->at.step = t + 1;
    l->at.position += (uint64_t)l->settings->global_batch_size;
    l->at.tokens += (uint64_t)tokens;
    return 0;
}

/* Writes the log line, the checkpoint and the report that are due after this step. */
static int write_due(struct loop *l, const struct engine_score *score,
                     const struct engine_score *validation, double rate, double norm)
{
    const struct settings *s = l->settings;
    int64_t t = l->at.step, last = l->plan->steps;
    int validated = l->plan->validation && due(t, s->validate_every, last);
    int reported = validated || t == 1 || due(t, s->log_every, last);
    int result = reported ? report_step(l, score, validation, rate, norm) : 0;
    if (!(s->save && s->save_every && due(t, s->save_every, last)))
        return agree_later(l, result < 0 ? result : keep_report(l));
    if (comm_agree(l->comm, result) < 0)
        return -1;
    return comm_agree(l->comm, save(l) < 0 ? -1 : write_pages(l, 1, 0));
}

/* Does one update, and the validation and output that are due after it. */
static int step(struct loop *l)
{
    struct engine_score score, validation = { 0 };
    double began = log_seconds(), rate, norm;
    if (learn(l, &score, &rate, &norm) < 0)
        return -1;
    if (l->engine.left)
        return 0;
    began = log_seconds() - began;
    l->busy += began;
    l->run_busy += began;
    l->last_loss = engine_loss(&l->plan->model, &score);
    say_progress(l, l->at.step, 1);
    if (l->plan->validation && due(l->at.step, l->settings->validate_every, l->plan->steps) &&
        validate(l, &validation) < 0)
        return -1;
    l->at.validation = engine_loss(&l->plan->model, &validation);
    return write_due(l, &score, &validation, rate, norm);
}

/* Ends the run after a signal. */
static int stop(struct loop *l)
{
    if (l->settings->save && (save(l) < 0 || go_on_saving(l, 1) < 0))
        return -1;
    log_info("stopped by %s after step %" PRId64 "%s", stop_name(l->stop), l->at.step,
             l->settings->save ? "; its checkpoint is saved, --resume continues from it" : "");
    return write_pages(l, 0, 0);
}

/* Ends a complete run. The model is written last: if it exists, all other files are complete. */
static int finish(struct loop *l)
{
    const struct settings *s = l->settings;
    if (go_on_saving(l, 1) < 0 || (l->at.step > l->run_step && check_weights(l) < 0))
        return -1;
    /* a file may ask to calibrate where it cannot be done (check_useful in train.c) */
    if (s->calibrate && s->save && l->plan->validation && s->parameter_precision == OPS_F32 &&
        validation_calibrate(&l->validation) < 0)
        return -1;
    if (comm_agree(l->comm, write_pages(l, 0, s->save) < 0 ? -1 : metrics_close(&l->metrics)) < 0)
        return -1;
    if (!s->save)
        return 0;
    const struct checkpoint_content content = { l->plan, &l->store, l->comm, l->config };
    /* an earlier run may have been killed before it had removed all that it was to remove */
    if (comm_agree(l->comm, l->first ? checkpoint_prune(s->output, s->keep) : 0) < 0 ||
        checkpoint_begin_model(&l->saving, &content) < 0)
        return -1;
    return go_on_saving(l, 1);
}

/* Returns 1 if the run ends before its last step. With several ranks, `prepare` has set l->stop. */
static int is_over(struct loop *l)
{
    if (l->comm->size[COMM_WORLD] == 1)
        l->stop = *stop_signal();
    return l->failed || l->stop;
}

static int run(struct loop *l)
{
    int64_t last = l->plan->steps;
    l->run_step = l->at.step;
    l->run_tokens = l->at.tokens;
    l->engine.watch = watch_step;
    l->engine.watch_ctx = l;
    progress_begin("step(s)", 0);
    prepare(l, l->at.step);
    while (l->at.step < last && !is_over(l))
        if (step(l) < 0)
            return -1;
    if (l->failed)
        return err_restore(&l->why);
    if (comm_agree(l->comm, l->late ? err_restore(&l->why) : 0) < 0)
        return -1;
    progress_end();
    return comm_agree(l->comm, l->at.step < last ? stop(l) : finish(l));
}

/* Prints the traffic between memory and disk, and the time that the run waited for it. */
static void say_traffic(const struct loop *l, double seconds)
{
    char in[32], out[32];
    if (!l->store.mapped)
        return;
    const struct mapped_traffic t = mapped_traffic(l->store.mapped);
    log_info("disk: %s read, %s written; %.1f %% of the time was spent waiting for it",
             log_bytes(in, t.read_bytes), log_bytes(out, t.written_bytes),
             seconds > 0 ? 100 * t.waited_seconds / seconds : 0);
}

/* Prints the bytes of the transfers between ranks. If none of them was direct, also prints their
 * time and the time that this rank waited for them. */
static void say_communication(const struct loop *l)
{
    static const char *const names[COMM_GROUPS] = { [COMM_DATA] = "",
                                                    [COMM_TENSOR1] = ", tensor parallel",
                                                    [COMM_TENSOR2] = ", second dimension",
                                                    [COMM_PIPE] = ", pipeline" };
    char sent[32], direct[32];
    for (int g = 0; g < COMM_GROUPS; g++) {
        const struct comm_counts *c = &l->comm->counts[g];
        if (!c->operations || !names[g])
            continue;
        log_bytes(sent, c->bytes);
        if (!c->direct)
            log_info("communication%s: %s sent by rank 0 in %.1f seconds; %.1f seconds of "
                     "waiting for it",
                     names[g], sent, c->seconds, c->waited);
        else
            log_info("communication%s: %s sent by rank 0, %s of it from device to device", names[g],
                     sent, log_bytes(direct, c->direct));
    }
}

/* Names the ranks that are slower than others. */
static void say_slow(const struct loop *l)
{
    const int ranks = l->comm->size[COMM_WORLD], data = l->comm->size[COMM_DATA];
    if (data == 1 || l->engine.left)
        return;
    SCOPED(buf) out = BUF_INIT;
    SCOPED_MEM double(*seconds)[TIME_KINDS] = comm_collect(l->comm, COMM_WORLD, l->times,
                                                           sizeof *seconds, "times of ranks");
    SCOPED_MEM const char **hosts = mem_zalloc((size_t)ranks, sizeof *hosts);
    for (int r = 0; r < ranks; r++)
        hosts[r] = comm_host(l->comm, r);
    slow_describe(&out, seconds, hosts, ranks, ranks / data);
    if (out.len)
        log_info("slow ranks: %s", out.data);
}

/* Trains, and says what it took. Returns 0, or -1 with an error, which is then in the report, too.
 */
static int run_and_tell(struct loop *l)
{
    const struct plan *p = l->plan;
    const double began = log_seconds();
    char parameters[32];
    log_info("%s parameters, %s",
             log_count(parameters, (uint64_t)tensor_parameters(&p->model.tensors)),
             ops_describe(l->ops));
    if (profiles(l))
        trace_start(1);
    int failed = run(l) < 0;
    const double seconds = log_seconds() - began;
    say_traffic(l, seconds);
    say_communication(l);
    if (!failed)
        say_slow(l);
    if (!failed && profiles(l))
        failed = profile_finish(p->settings->profile, l->ops, (enum ops_type)p->settings->precision,
                                seconds) < 0;
    tool_count("step(s)", (uint64_t)(l->at.step - l->run_step));
    tool_count("token(s)", l->at.tokens - l->run_tokens);
    if (failed) {
        const struct err why = err_keep();
        go_on_saving(l, 1); /* complete the checkpoint that was begun before the failure */
        if (l->metrics.log.file)
            write_pages(l, 0, 0);
        err_restore(&why);
    }
    return failed ? -1 : 0;
}

int loop_run(struct plan *p, const char *config, struct kv *origin, int threads, struct comm *c)
{
    struct loop l = { .plan = p,
                      .settings = p->settings,
                      .config = config,
                      .origin = origin,
                      .comm = c,
                      .first = comm_is_first(c),
                      .at.validation = NAN, /* a signal may save before the first validation */
                      .sample = BUF_INIT,
                      .lock = -1 };
    stop_catch(c->size[COMM_WORLD] == 1, comm_is_first(c));
    int failed = open_loop(&l, threads) < 0 || run_and_tell(&l) < 0;
    failed |= close_loop(&l) < 0;
    if (failed && l.made)
        file_rmdirs(p->settings->output, l.made);
    return failed ? -1 : 0;
}
