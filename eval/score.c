#include "eval/score.h"

#include <math.h>

void scorer_init(struct scorer *s)
{
    size_t n = (size_t)s->net.rows;
    s->ids = mem_zalloc(n, sizeof *s->ids);
    s->labels = mem_zalloc(n, sizeof *s->labels);
    s->scores.losses = ops_buffer(s->net.ops, OPS_F32, s->net.rows);
    s->scores.correct = ops_buffer(s->net.ops, OPS_U8, s->net.rows);
    s->losses = mem_zalloc(n, sizeof *s->losses);
    s->right = mem_zalloc(n, sizeof *s->right);
}

void scorer_release(struct scorer *s)
{
    free(s->ids);
    free(s->labels);
    free(s->losses);
    free(s->right);
    ops_buffer_free(s->net.ops, s->scores.losses);
    ops_buffer_free(s->net.ops, s->scores.correct);
    network_close(&s->net);
    *s = (struct scorer){ 0 };
}

static int check(const struct scorer *s, const struct window *w)
{
    const struct model_config *c = &s->net.model.config;
    assert(w->scored >= 1 && w->scored < w->count);
    if (w->count - 1 > c->positions)
        return err_set("a window of %lld tokens is longer than the model's %lld positions",
                       (long long)w->count - 1, (long long)c->positions);
    for (int64_t i = 0; i < w->count; i++)
        if (w->ids[i] >= c->vocabulary)
            return err_set("token %u is not in the model's vocabulary of %lld", w->ids[i],
                           (long long)c->vocabulary);
    return 0;
}

/* Writes the windows w[0..B) as rows of length T: the input tokens, and the labels of the scored
 * positions (MODEL_IGNORE elsewhere). */
static void fill(struct scorer *s, struct window *const *w, size_t B, int64_t T)
{
    memset(s->ids, 0, B * (size_t)T * sizeof *s->ids);
    for (int64_t i = 0; i < (int64_t)B * T; i++)
        s->labels[i] = MODEL_IGNORE;
    for (size_t b = 0; b < B; b++) {
        int64_t row = (int64_t)b * T;
        memcpy(s->ids + row, w[b]->ids, (size_t)(w[b]->count - 1) * sizeof *s->ids);
        w[b]->targets = w[b]->scored;
        for (int64_t i = w[b]->count - w[b]->scored; i < w[b]->count; i++) {
            const int32_t label = w[b]->labels ? w[b]->labels[i - 1] : (int32_t)w[b]->ids[i];
            s->labels[row + i - 1] = label;
            w[b]->targets -= label < 0;
        }
    }
}

/* Sets the results of window *w, whose scores begin at index `first`. */
static void collect(const struct scorer *s, struct window *w, int64_t first)
{
    w->loss = w->squares = 0;
    w->right = 0;
    for (int64_t i = first; i < first + w->targets; i++) {
        w->loss += s->losses[i];
        w->squares += (double)s->losses[i] * s->losses[i];
        w->right += s->right[i];
    }
    w->last_right = w->targets && s->right[first + w->targets - 1];
    if (w->each)
        memcpy(w->each, s->losses + first, (size_t)w->scored * sizeof *w->each);
}

/* Runs the windows w[0..B), which fit into one batch, with rows of length T. */
static void run(struct scorer *s, struct window *const *w, size_t B, int64_t T)
{
    struct batch batch = { .B = (int64_t)B, .T = T, .ids = s->ids, .labels = s->labels };
    fill(s, w, B, T);
    struct ops_array x = network_run(&s->net, &batch);
    forward_losses(&s->net.forward, s->scores, x, &s->net.inputs);
    ops_download(s->net.ops, s->losses, s->scores.losses, s->net.inputs.targets[0].n);
    ops_download(s->net.ops, s->right, s->scores.correct, s->net.inputs.targets[0].n);
    int64_t first = 0;
    for (size_t b = 0; b < B; first += w[b++]->targets)
        collect(s, w[b], first);
}

/* Compares windows of one array: the shorter comes first, of equal lengths the earlier one. */
static int by_length(const void *a, const void *b)
{
    const struct window *x = *(struct window *const *)a, *y = *(struct window *const *)b;
    return x->count != y->count ? (x->count < y->count ? -1 : 1) : x < y ? -1 : x > y;
}

/* Runs all windows, the shorter first. LongRoPE's frequencies are those of a batch's longest
 * window, so windows that need others are in another batch. */
static void run_all(struct scorer *s, struct window *const *w, size_t n)
{
    const struct model_config *c = &s->net.model.config;
    for (size_t begin = 0, end; begin < n; begin = end) {
        int64_t T = 0;
        for (end = begin; end < n; end++) {
            int64_t longer = w[end]->count - 1 > T ? w[end]->count - 1 : T;
            if (end > begin && (longer * (int64_t)(end - begin + 1) > s->net.batch ||
                                model_is_longer(c, longer) != model_is_longer(c, T)))
                break;
            T = longer;
        }
        run(s, w + begin, end - begin, T);
    }
}

int score_windows(struct scorer *s, struct window *w, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (check(s, &w[i]) < 0)
            return -1;
    SCOPED_MEM struct window **order = mem_alloc(n * sizeof *order);
    for (size_t i = 0; i < n; i++)
        order[i] = &w[i];
    qsort(order, n, sizeof *order, by_length);
    run_all(s, order, n);
    for (size_t i = 0; i < n; i++)
        if (!isfinite(w[i].loss))
            return err_set(
                "the model's loss is %f: its weights are damaged or its training diverged",
                w[i].loss);
    return 0;
}

double score_error(double sum, double squares, uint64_t n)
{
    double mean = sum / (double)n, off = squares - mean * sum;
    return n < 2 || off < 0 ? 0 : sqrt(off / (double)(n - 1) / (double)n);
}

double score_perplexity(double loss)
{
    return exp(loss < 20 ? loss : 20);
}
