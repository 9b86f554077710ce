#include "train/cluster.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"
#include "common/formats/yaml.h"

/* ---- machine files --------------------------------------------------------------------------- */

static int read_number(const struct yaml *y, const char *path, const char *key, double least,
                       double *value)
{
    const char *text = yaml_get(y, key);
    char *end;
    if (!text)
        return err_set("%s: '%s' is missing", path, key);
    *value = strtod(text, &end);
    if (end == text || *end || !(*value >= least) || *value > 1e30)
        return err_set("%s: %s: '%s' is not a number of at least %g", path, key, text, least);
    return 0;
}

int cluster_machine_load(struct cluster_machine *m, const char *path)
{
    const struct {
        const char *key;
        double *value, least;
    } rows[] = {
        { "flops.f32", &m->f32_flops, 1 },
        { "flops.bf16", &m->bf16_flops, 1 },
        { "reached", &m->reached, 1e-6 },
        { "memory", &m->memory, 1 },
        { "ranks-per-host", &m->ranks_per_host, 1 },
        { "bandwidth.host", &m->host_bandwidth, 1 },
        { "bandwidth.network", &m->network_bandwidth, 1 },
        { "latency", &m->latency, 0 },
    };
    const size_t count = sizeof rows / sizeof *rows;
    struct yaml y;
    *m = (struct cluster_machine){ 0 };
    if (yaml_load(&y, path) < 0)
        return -1;
    int result = 0;
    for (size_t i = 0; i < count && !result; i++)
        result = read_number(&y, path, rows[i].key, rows[i].least, rows[i].value);
    for (size_t i = 0; i < y.count && !result; i++) {
        size_t k = 0;
        while (k < count && strcmp(y.items[i].key, rows[k].key) != 0)
            k++;
        if (k == count)
            result = err_set("%s:%d: '%s' is not known in a machine file", path, y.items[i].line,
                             y.items[i].key);
    }
    yaml_release(&y);
    return result;
}

/* ---- splits ---------------------------------------------------------------------------------- */

/* Reads a number from 1 to 1,000,000 at *text into *value, and moves *text behind it. Returns 0, or
 * -1 if there is no such number. */
static int take_number(const char **text, int64_t *value)
{
    char *end;
    if (**text < '0' || **text > '9')
        return -1;
    *value = strtoll(*text, &end, 10);
    *text = end;
    return *value >= 1 && *value <= 1000000 ? 0 : -1;
}

int cluster_grid_parse(const char *text, int64_t *a, int64_t *b)
{
    *a = *b = 1;
    if (!strcmp(text, "0"))
        return 0;
    if (take_number(&text, a) < 0)
        return -1;
    if (*text == 'x') {
        text++;
        if (take_number(&text, b) < 0)
            return -1;
    }
    return *text ? -1 : 0;
}

/* ---- the estimate ---------------------------------------------------------------------------- */

struct scenario {
    const struct cluster_machine *m;
    const struct cluster_job *job;
    const struct cluster_split *split;
    double word;          /* bytes per weight, and per number of the residual stream */
    double micro_batches; /* micro-batches per step of a data-parallel rank */
    double layers;        /* layers per rank */
};

static int check(struct scenario *c)
{
    const struct cluster_split *s = c->split;
    const int64_t samples = s->data * c->job->micro_batch;
    assert(c->job->global_batch % samples == 0);
    if ((int64_t)c->job->layers % (s->pipeline * s->interleave))
        return err_set("%g layers cannot be cut into %" PRId64 " stages x %" PRId64 " parts",
                       c->job->layers, s->pipeline, s->interleave);
    c->micro_batches = (double)(c->job->global_batch / samples);
    c->layers = c->job->layers / (double)s->pipeline;
    return 0;
}

static double share(int64_t group)
{
    return (double)(group - 1) / (double)group;
}

/* Returns how many numbers a layer keeps per token for the backward pass (Korthikanti et al.,
 * section 4): the inputs of its norms and of its matrices, what attention needs, the outputs of the
 * MLP's first matrices, and two masks of dropout, whose elements take half a number. For a GPT
 * these are 17 per channel. */
static double kept_per_token(const struct cluster_job *job)
{
    const struct layer_widths *w = &job->inside;
    return 5 * job->width + (double)(w->qkv + w->attention + w->first + w->inner);
}

static void estimate_memory(const struct scenario *c, struct cluster_estimate *e)
{
    const struct cluster_split *s = c->split;
    const struct cluster_job *job = c->job;
    const double tensor = (double)(s->tensor1 * s->tensor2), data = (double)s->data;
    const double own = job->parameters / (tensor * (double)s->pipeline);
    e->weights = own * c->word / (s->zero > 2 ? data : 1);
    e->gradients = own * 4 / (s->zero > 1 ? data : 1);
    e->moments = own * (job->bf16 ? 12 : 8) / (s->zero ? data : 1);
    /* With recomputation a layer keeps only x; with two dimensions x is split over the inner
     * dimension only. */
    const double numbers = (double)(job->sequence_length * job->micro_batch) * c->word;
    const double x = numbers * job->width, whole = numbers * kept_per_token(job) / tensor;
    const double kept = job->recompute ? x / (s->tensor2 > 1 ? (double)s->tensor2 : tensor) : whole;
    const double flying = c->micro_batches < (double)s->pipeline ? c->micro_batches
                                                                 : (double)s->pipeline;
    e->activations = kept * c->layers * flying + whole;
}

/* Returns the seconds that `n` operations take which together send `bytes` bytes per rank, in a
 * group of `group` ranks. The numbers of neighbouring ranks of the group differ by `apart`, which
 * decides whether the group lies in one host. */
static double seconds(const struct scenario *c, int64_t group, int64_t apart, double bytes,
                      double n)
{
    if (group == 1)
        return 0;
    int inside = (double)(group * apart) <= c->m->ranks_per_host;
    return bytes / (inside ? c->m->host_bandwidth : c->m->network_bandwidth) + n * c->m->latency;
}

/*
 * Sets the bytes and the time of the tensor-parallel group. The unit of its transfers is one sum of
 * x over the ranks, per layer; a sum that leaves each rank only a part of the result counts 1/2.
 * With two dimensions, sizes are those of a rank's part of x.
 *
 *     one dimension, forward and backward     1 after attention, 1 after the MLP
 *     two dimensions, forward                 QKV 1/2 q and FC f over tensor2; OUT 1 and PROJ 1
 *                                             over tensor1
 *     two dimensions, backward                PROJ i and OUT 1/2 a over tensor2; FC 1/2 and QKV 1/2
 *                                             over tensor1
 *
 * Here q, a, f and i are the widths inside the layer (struct layer_widths: qkv, attention, first
 * and inner) divided by that of x. For a GPT they are 3, 1, 4 and 4.
 */
static void estimate_tensor(const struct scenario *c, struct cluster_estimate *e)
{
    const struct cluster_split *s = c->split;
    const struct layer_widths *w = &c->job->inside;
    const int two = s->tensor2 > 1;
    const double forward = c->job->recompute ? 2 : 1;
    const double first = forward * 2 + (two ? 1 : 2);
    const double second = (forward * ((double)w->qkv / 2 + (double)w->first) + (double)w->inner +
                           (double)w->attention / 2) /
                          c->job->width;
    const double tokens = (double)(c->job->global_batch * c->job->sequence_length) /
                          (double)s->data;
    const double x = 2 * tokens * c->job->width * c->word * c->layers;
    const double bytes1 = x * first * share(s->tensor1) / (double)s->tensor2;
    const double bytes2 = two ? x * second * share(s->tensor2) / (double)s->tensor1 : 0;
    const double operations = (forward * 2 + 2) * c->layers * c->micro_batches;
    e->tensor_bytes = bytes1 + bytes2;
    e->tensor_seconds = seconds(c, s->tensor1, s->tensor2, bytes1, operations) +
                        seconds(c, s->tensor2, 1, bytes2, operations);
    e->pipeline_bytes = s->pipeline > 1
                            ? 2 * tokens * c->job->width * c->word * (double)s->interleave /
                                  (double)(s->tensor1 * s->tensor2)
                            : 0;
}

static void estimate_data(const struct scenario *c, struct cluster_estimate *e)
{
    const struct cluster_split *s = c->split;
    const int64_t apart = s->tensor1 * s->tensor2 * s->pipeline;
    const double own = c->job->parameters / (double)apart;
    const double transfers = s->zero > 2 ? 3 : 2;
    e->data_bytes = own * c->word * transfers * share(s->data);
    e->data_seconds = seconds(c, s->data, apart, e->data_bytes, transfers * c->layers);
}

static void estimate_step(const struct scenario *c, struct cluster_estimate *e)
{
    const struct cluster_split *s = c->split;
    const double tokens = (double)(c->job->global_batch * c->job->sequence_length);
    const double flops = tokens * c->job->flops_per_token;
    const double speed = (double)e->ranks * (c->job->bf16 ? c->m->bf16_flops : c->m->f32_flops);
    e->compute_seconds = flops / (speed * c->m->reached) * (c->job->recompute ? 4.0 / 3 : 1);
    e->bubble = (double)(s->pipeline - 1) / ((double)s->interleave * c->micro_batches);
    const double exposed = e->data_seconds - e->compute_seconds / 2;
    e->step_seconds = (e->compute_seconds + e->tensor_seconds / 2) * (1 + e->bubble) +
                      (exposed > 0 ? exposed : 0);
    e->tokens_per_second = tokens / e->step_seconds;
    e->mfu = flops / (speed * e->step_seconds);
}

int cluster_estimate(struct cluster_estimate *out, const struct cluster_machine *m,
                     const struct cluster_job *job, const struct cluster_split *split)
{
    struct scenario c = { .m = m, .job = job, .split = split, .word = job->bf16 ? 2 : 4 };
    *out = (struct cluster_estimate){ .ranks = split->data * split->pipeline * split->tensor1 *
                                               split->tensor2 };
    if (check(&c) < 0)
        return -1;
    estimate_memory(&c, out);
    estimate_tensor(&c, out);
    estimate_data(&c, out);
    estimate_step(&c, out);
    return 0;
}

void cluster_print(const struct cluster_estimate *e, const struct cluster_machine *m,
                   const struct cluster_split *split, struct buf *out)
{
    const double memory = e->weights + e->gradients + e->moments + e->activations;
    buf_addf(out, "estimate_ranks=%" PRId64 "\n", e->ranks);
    buf_addf(out,
             "estimate_split=tensor=%" PRId64 "x%" PRId64 ",pipeline=%" PRId64
             ",interleave=%" PRId64 ",data=%" PRId64 ",zero=%" PRId64 "\n",
             split->tensor1, split->tensor2, split->pipeline, split->interleave, split->data,
             split->zero);
    buf_addf(out,
             "estimate_weights_bytes=%.0f\nestimate_gradients_bytes=%.0f\n"
             "estimate_moments_bytes=%.0f\nestimate_activations_bytes=%.0f\n",
             e->weights, e->gradients, e->moments, e->activations);
    buf_addf(out, "estimate_memory_bytes=%.0f\nestimate_memory_share=%.3f\n", memory,
             memory / m->memory);
    buf_addf(out,
             "estimate_tensor_bytes_per_step=%.0f\nestimate_pipeline_bytes_per_step=%.0f\n"
             "estimate_data_bytes_per_step=%.0f\n",
             e->tensor_bytes, e->pipeline_bytes, e->data_bytes);
    buf_addf(out,
             "estimate_compute_seconds=%.4g\nestimate_tensor_seconds=%.4g\n"
             "estimate_data_seconds=%.4g\nestimate_bubble=%.4f\nestimate_step_seconds=%.4g\n",
             e->compute_seconds, e->tensor_seconds, e->data_seconds, e->bubble, e->step_seconds);
    buf_addf(out, "estimate_tokens_per_second=%.0f\nestimate_mfu=%.4f\n", e->tokens_per_second,
             e->mfu);
}
