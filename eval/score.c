#include "eval/score.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "common/mem.h"

int scorer_init(struct scorer *s, const char *dir, int threads, int64_t rows)
{
    *s = (struct scorer){ 0 };
    s->ops = ops_new(threads);
    if (!s->ops || folder_load(&s->model, s->ops, &s->blocks, dir) < 0) {
        ops_free(s->ops);
        *s = (struct scorer){ 0 };
        return -1;
    }
    const struct model_config *c = &s->model.config;
    s->rows = rows > c->positions ? rows : c->positions;
    s->x = ops_buffer(s->ops, s->rows * c->width);
    s->y = ops_buffer(s->ops, s->rows * c->width);
    s->ids = mem_zalloc((size_t)s->rows, sizeof *s->ids);
    s->labels = mem_zalloc((size_t)s->rows, sizeof *s->labels);
    s->losses = mem_zalloc((size_t)s->rows, sizeof *s->losses);
    s->right = mem_zalloc((size_t)s->rows, sizeof *s->right);
    return 0;
}

void scorer_release(struct scorer *s)
{
    if (!s->ops)
        return;
    int64_t floats = s->rows * s->model.config.width;
    ops_buffer_free(s->ops, s->x, floats);
    ops_buffer_free(s->ops, s->y, floats);
    free(s->ids);
    free(s->labels);
    free(s->losses);
    free(s->right);
    folder_free_blocks(&s->model, s->ops, s->blocks);
    model_release(&s->model);
    ops_free(s->ops);
    *s = (struct scorer){ 0 };
}

static int check(const struct scorer *s, const struct window *w)
{
    const struct model_config *c = &s->model.config;
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

/* w[0..B) as rows of T: what the model sees, and the label of each place that is scored. */
static void fill(struct scorer *s, const struct window *w, size_t B, int64_t T)
{
    memset(s->ids, 0, B * (size_t)T * sizeof *s->ids);
    for (int64_t i = 0; i < (int64_t)B * T; i++)
        s->labels[i] = MODEL_IGNORE;
    for (size_t b = 0; b < B; b++) {
        int64_t row = (int64_t)b * T;
        memcpy(s->ids + row, w[b].ids, (size_t)(w[b].count - 1) * sizeof *s->ids);
        for (int64_t i = w[b].count - w[b].scored; i < w[b].count; i++)
            s->labels[row + i - 1] = (int32_t)w[b].ids[i];
    }
}

static void collect(const struct scorer *s, struct window *w, int64_t row)
{
    w->loss = 0;
    w->right = 0;
    for (int64_t i = row + w->count - 1 - w->scored; i < row + w->count - 1; i++) {
        w->loss += s->losses[i];
        w->right += s->right[i];
    }
    w->last_right = s->right[row + w->count - 2];
}

static void run_layers(struct scorer *s, const struct batch *batch)
{
    const struct model *m = &s->model;
    m->embedding_fwd(m, s->ops, s->x, s->blocks[0], batch);
    for (int64_t l = 0; l < m->config.layers; l++) {
        m->layer_fwd(m, s->ops, l, s->y, s->x, s->blocks[l + 1], NULL, batch);
        float *swap = s->x;
        s->x = s->y;
        s->y = swap;
    }
}

/* Windows that fit side by side. */
static void run(struct scorer *s, struct window *w, size_t B, int64_t T)
{
    const struct model *m = &s->model;
    struct batch batch = { .B = (int64_t)B, .T = T, .ids = s->ids, .labels = s->labels };
    fill(s, w, B, T);
    run_layers(s, &batch);
    m->head_fwd(m, s->ops, s->losses, s->right, s->x, s->blocks[m->config.layers + 1],
                s->blocks[0], &batch);
    for (size_t b = 0; b < B; b++)
        collect(s, &w[b], (int64_t)b * T);
}

int score_windows(struct scorer *s, struct window *w, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (check(s, &w[i]) < 0)
            return -1;
    for (size_t begin = 0, end; begin < n; begin = end) {
        int64_t T = 0;
        for (end = begin; end < n; end++) {
            int64_t longer = w[end].count - 1 > T ? w[end].count - 1 : T;
            if (end > begin && longer * (int64_t)(end - begin + 1) > s->rows)
                break;
            T = longer;
        }
        run(s, w + begin, end - begin, T);
    }
    for (size_t i = 0; i < n; i++)
        if (!isfinite(w[i].loss))
            return err_set("the model's loss is %f: are its parameters finite?", w[i].loss);
    return 0;
}

double score_perplexity(double loss)
{
    return exp(loss < 20 ? loss : 20);
}
