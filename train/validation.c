#include "train/validation.h"

#include <math.h>

#include "common/base/log.h"
#include "train/saved.h"
#include "train/stop.h"

void validation_open(struct validation *v, const struct plan *p, struct engine *e)
{
    const int count = plan_validation_round(p);
    *v = (struct validation){ .plan = p, .engine = e };
    v->round = mem_zalloc((size_t)count, sizeof *v->round);
    for (int k = 0; k < count; k++)
        sequences_init(&v->round[k], p->engine.B * p->validation->most, p->engine.T,
                       p->validation->kind);
}

void validation_close(struct validation *v)
{
    for (int k = 0; v->round && k < plan_validation_round(v->plan); k++)
        sequences_release(&v->round[k]);
    free(v->round);
}

/* Reads the validation samples from i to i + B - 1 that are below n into *to. */
static int read_validation(const struct validation *v, struct sequences *to, uint64_t i, uint64_t n)
{
    const struct samples *d = v->plan->validation;
    const uint64_t B = (uint64_t)v->plan->engine.B;
    sequences_clear(to);
    for (uint64_t k = i; k < n && k < i + B; k++)
        if (d->read(d, k, to) < 0)
            return -1;
    return 0;
}

/* A round of the validation: each data-parallel rank evaluates `count` micro-batches. Number m of
 * rank r has the validation samples from first + (m ranks + r) B on; samples from number n on do
 * not count. */
struct round {
    int count;
    uint64_t first, n;
};

static uint64_t first_sample(const struct validation *v, const struct round *r, int m)
{
    const uint64_t ranks = (uint64_t)v->engine->comm->size[COMM_DATA];
    return r->first + ((uint64_t)m * ranks + (uint64_t)v->engine->comm->rank[COMM_DATA]) *
                          (uint64_t)v->plan->engine.B;
}

/* Sets scores[count] to the scores of this rank's micro-batches; in a pipeline, on the last stage
 * only. If ranks share the weights, all must take part, so a rank without samples evaluates the
 * first samples and discards the score. Returns 0, or -1 with an error, the same on all ranks. */
static int score_round(struct validation *v, const struct round *r, struct engine_score *scores)
{
    const int shared = layout_is_shared(&v->engine->store->layout, STORE_PARAMETERS);
    int result = 0;
    for (int m = 0; m < r->count && !result; m++) {
        const uint64_t i = first_sample(v, r, m);
        result = read_validation(v, &v->round[m], i >= r->n && shared ? 0 : i, r->n);
    }
    if (comm_agree(v->engine->comm, result) < 0)
        return -1;
    for (int m = 0; m < r->count; m++) {
        const int behind = first_sample(v, r, m) >= r->n;
        struct batch b = sequences_batch(&v->round[m]);
        scores[m] = (struct engine_score){ 0 };
        if (!behind || shared)
            engine_evaluate(v->engine, &b, &scores[m]);
        if (behind)
            scores[m] = (struct engine_score){ 0 };
    }
    return 0;
}

/* Returns the number of validation samples that are evaluated. */
static uint64_t count_validation(const struct validation *v)
{
    const uint64_t samples = v->plan->validation->count;
    const uint64_t limit = (uint64_t)v->plan->settings->validation_batches *
                           (uint64_t)v->plan->engine.B;
    return limit && limit < samples ? limit : samples;
}

/* Works in rounds: the stages of a pipeline wait for each other only at the end of a round. */
int validation_score(struct validation *v, struct engine_score *score)
{
    const int ranks = v->engine->comm->size[COMM_DATA], most = plan_validation_round(v->plan);
    const uint64_t each = (uint64_t)v->plan->engine.B * (uint64_t)ranks;
    SCOPED_MEM struct engine_score *own = mem_zalloc((size_t)most, sizeof *own);
    struct round r = { .n = count_validation(v) };
    int result = 0;
    for (; r.first < r.n && !result && *stop_count() < 2; r.first += each * (uint64_t)r.count) {
        const uint64_t left = (r.n - r.first + each - 1) / each;
        r.count = left < (uint64_t)most ? (int)left : most;
        result = score_round(v, &r, own);
        SCOPED_MEM struct engine_score *all = comm_collect(
            v->engine->comm, COMM_DATA, own, (size_t)r.count * sizeof *own, "validation");
        for (int m = 0; m < r.count; m++)
            for (int q = 0; q < ranks; q++)
                engine_add_score(score, &all[q * r.count + m]);
    }
    if (r.first < r.n) /* stopped by a second signal */
        *score = (struct engine_score){ 0 };
    engine_take_last_score(v->engine, score);
    return result;
}

int validation_check(struct validation *v)
{
    const uint64_t samples = count_validation(v);
    const struct tokenizer *t = v->plan->tokenizer;
    const int counts = v->plan->task->head == HEAD_NEXT && t && tokenizer_tiles(t);
    for (uint64_t i = 0; i < samples; i += (uint64_t)v->plan->engine.B) {
        if (read_validation(v, v->round, i, samples) < 0)
            return -1;
        for (int64_t k = 0; counts && k < v->round->count * v->round->T; k++) {
            size_t n;
            const int32_t id = v->round->labels[k];
            if (id != tokenizer_end_of_text(t) && !tokenizer_is_special(t, (uint32_t)id) &&
                tokenizer_token(t, (uint32_t)id, &n))
                v->bytes += n;
        }
    }
    return 0;
}

/* Sets *loss to the validation loss with the logits multiplied by `factor`. To this end, scales the
 * last norm, from whose output the logits are computed; *now is its present factor. */
static int loss_at(struct validation *v, double factor, double *now, double *loss)
{
    const struct model *m = &v->plan->own;
    const size_t norms = m->config.architecture->unbiased ? 1 : 2;
    struct engine_score score = { 0 };
    saved_scale(v->engine->store, m->first_head_row, m->first_head_row + norms, factor / *now);
    *now = factor;
    int result = comm_agree(v->engine->comm, validation_score(v, &score));
    *loss = engine_loss(&v->plan->model, &score);
    return result;
}

/* Searches the factor of the logits with the lowest loss, which is convex in the factor. Each round
 * goes to the minimum of the parabola through three points, but at most 2 * reach away. */
int validation_calibrate(struct validation *v)
{
    const double reach = 0.1, least = 0.3, near = 0.02;
    double now = 1, factor = 1, before, loss, low, high, moved = 1;
    if (loss_at(v, 1, &now, &before) < 0)
        return -1;
    loss = before;
    for (int round = 0; round < 8 && moved > near && isfinite(loss); round++) {
        if (loss_at(v, factor - reach, &now, &low) < 0 ||
            loss_at(v, factor + reach, &now, &high) < 0)
            return -1;
        const double bend = low - 2 * loss + high;
        const double to = bend > 0 ? factor + reach / 2 * (low - high) / bend : factor;
        const double next = fmax(fmax(least, factor - 2 * reach), fmin(to, factor + 2 * reach));
        moved = fabs(next - factor);
        factor = next;
        if (loss_at(v, factor, &now, &loss) < 0)
            return -1;
    }
    if (!(loss <= before)) {
        log_info(*stop_count() < 2 ? "not calibrated: no other factor of the logits has a smaller "
                                     "validation loss"
                                   : "not calibrated before the second signal: --resume does it");
        return loss_at(v, 1, &now, &loss);
    }
    v->calibrated = (struct page_calibration){ factor, loss };
    log_info("calibrated: logits times %.4f, validation loss %.4f -> %.4f", factor, before, loss);
    return 0;
}
