#include "train/engine.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "common/mem.h"
#include "common/rng.h"
#include "common/trace.h"

enum { KEY_DROPOUT = 0x64726f70 };

/* ---- memory --------------------------------------------------------------------------------- */

static int64_t row_floats(const struct engine_config *c, const struct model *m)
{
    return c->B * c->T * m->config.width;
}

/* Of a head: one a token and one a sequence, or two a sequence. */
static int64_t most_labels(const struct engine_config *c)
{
    return c->most * (c->T + 1);
}

/* The two parts of layers' caches: how many of each there are, and the floats of one. */
struct caches {
    int64_t attentions, attention_floats, rests, rest_floats;
};

static struct caches caches(const struct engine_config *c, const struct model *m)
{
    int64_t each = m->config.layers * c->G, attention;
    int64_t floats = m->layer_cache(m, c->B, c->T, &attention);
    return (struct caches){ c->recompute == RECOMPUTE_NONE ? each : 1, attention,
                            c->recompute == RECOMPUTE_LAYER ? 1 : each, floats - attention };
}

void engine_memory(struct engine_memory *out, const struct engine_config *c, const struct model *m)
{
    uint64_t row = (uint64_t)row_floats(c, m) * sizeof(float);
    struct caches k = caches(c, m);
    int64_t cache = k.attentions * k.attention_floats + k.rests * k.rest_floats;
    out->x = row * (uint64_t)((m->config.layers + 1) * c->G);
    out->dx = row * (uint64_t)c->G;
    out->cache = (uint64_t)cache * sizeof(float);
}

static float **new_rows(struct ops *o, int64_t rows, int64_t floats)
{
    float **array = mem_zalloc((size_t)rows, sizeof *array);
    for (int64_t i = 0; i < rows; i++)
        array[i] = ops_buffer(o, floats);
    return array;
}

static void free_rows(struct ops *o, float **array, int64_t rows, int64_t floats)
{
    for (int64_t i = 0; i < rows; i++)
        ops_buffer_free(o, array[i], floats);
    free(array);
}

void engine_open(struct engine *e, const struct engine_config *config, const struct model *m,
                 struct ops *o, struct store *s, struct comm *c)
{
    assert(config->G >= 1 && config->G <= config->A && config->most >= config->B);
    *e = (struct engine){ .config = *config, .model = m, .ops = o, .store = s, .comm = c,
                          .loss_scale = 1 };
    int64_t row = row_floats(config, m);
    struct caches k = caches(config, m);
    e->x = new_rows(o, (m->config.layers + 1) * config->G, row);
    e->dx = new_rows(o, config->G, row);
    e->attention = new_rows(o, k.attentions, k.attention_floats);
    e->rest = new_rows(o, k.rests, k.rest_floats);
    e->losses = ops_buffer(o, most_labels(config));
    e->correct = mem_zalloc((size_t)most_labels(config), 1);
}

void engine_close(struct engine *e)
{
    if (!e->model)
        return;
    const struct engine_config *c = &e->config;
    struct caches k = caches(c, e->model);
    int64_t row = row_floats(c, e->model);
    free_rows(e->ops, e->x, (e->model->config.layers + 1) * c->G, row);
    free_rows(e->ops, e->dx, c->G, row);
    free_rows(e->ops, e->attention, k.attentions, k.attention_floats);
    free_rows(e->ops, e->rest, k.rests, k.rest_floats);
    ops_buffer_free(e->ops, e->losses, most_labels(c));
    free(e->correct);
    *e = (struct engine){ 0 };
}

/* ---- scores ---------------------------------------------------------------------------------- */

/* A share of right answers says something where there are few: of words among all it would cost
 * a look at each logit. */
static unsigned char *correct_of(const struct engine *e)
{
    return e->model->parts > 1 ? e->correct : NULL;
}

/* What a head left in losses and correct. */
static void add_score(const struct engine *e, struct engine_score *s, const struct batch *b)
{
    const float *losses = e->losses;
    const unsigned char *correct = correct_of(e);
    for (int p = 0; p < e->model->parts; p++) {
        const int32_t *labels;
        int64_t n = e->model->labels(&labels, b, p);
        for (int64_t i = 0; i < n && labels; i++) {
            if (labels[i] < 0)
                continue;
            s->part[p].loss += losses[i];
            s->part[p].labels++;
            s->part[p].correct += correct && correct[i];
        }
        losses += n;
        correct += correct ? n : 0;
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

/* ---- one group of micro-batches --------------------------------------------------------------- */

struct group {
    struct engine *e;
    struct batch *batches; /* [count] */
    int64_t count;
    double scale; /* of the sum of losses */
    struct engine_score *score;
};

static float **x_of(const struct engine *e, int64_t l, int64_t i)
{
    return &e->x[l * e->config.G + i];
}

static struct model_cache cache_of(const struct engine *e, int64_t l, int64_t i)
{
    enum recompute again = e->config.recompute;
    int64_t own = l * e->config.G + i;
    return (struct model_cache){ e->attention[again == RECOMPUTE_NONE ? own : 0],
                                 e->rest[again == RECOMPUTE_LAYER ? 0 : own] };
}

static void embedding_forward(struct group *g)
{
    TRACE_PHASE("embedding forward", -1);
    struct engine *e = g->e;
    const float *w = store_view(e->store, STORE_PARAMETERS, 0);
    store_expect(e->store, STORE_PARAMETERS, 1, MAPPED_READ);
    for (int64_t i = 0; i < g->count; i++)
        e->model->embedding_fwd(e->model, e->ops, *x_of(e, 0, i), w, &g->batches[i]);
    store_release(e->store, STORE_PARAMETERS, 0);
}

/* What follows on the forward pass of block `block`. */
static void expect_forward(struct engine *e, int block, int training)
{
    int64_t L = e->model->config.layers;
    store_expect(e->store, STORE_PARAMETERS, block + 1, MAPPED_READ);
    if (block < L || !training)
        return;
    store_expect(e->store, STORE_PARAMETERS, 0, MAPPED_READ);
    store_expect(e->store, STORE_GRADIENTS, (int)L + 1, MAPPED_WRITE);
    store_expect(e->store, STORE_GRADIENTS, 0, MAPPED_WRITE);
}

/* What follows on the backward pass of block `block`, the head's too. */
static void expect_backward(struct engine *e, int block)
{
    if (block > 1)
        store_expect(e->store, STORE_PARAMETERS, block - 1, MAPPED_READ);
    store_expect(e->store, STORE_GRADIENTS, block - 1, MAPPED_WRITE);
}

/* Layer l is block l+1 (tensor.h). */
static void layer_forward(struct group *g, int64_t l)
{
    TRACE_PHASE("layer forward", l);
    struct engine *e = g->e;
    const float *w = store_view(e->store, STORE_PARAMETERS, (int)l + 1);
    expect_forward(e, (int)l + 1, 1);
    for (int64_t i = 0; i < g->count; i++)
        e->model->layer_fwd(e->model, e->ops, l, *x_of(e, l + 1, i), *x_of(e, l, i), w,
                            cache_of(e, l, i), &g->batches[i]);
    store_release(e->store, STORE_PARAMETERS, (int)l + 1);
}

static void head(struct group *g)
{
    TRACE_PHASE("head", -1);
    struct engine *e = g->e;
    int64_t L = e->model->config.layers;
    int block = (int)L + 1;
    const float *w = store_view(e->store, STORE_PARAMETERS, block);
    const float *tied = store_view(e->store, STORE_PARAMETERS, 0);
    float *dw = store_fetch(e->store, STORE_GRADIENTS, block);
    float *dtied = store_fetch(e->store, STORE_GRADIENTS, 0);
    expect_backward(e, block);
    for (int64_t i = 0; i < g->count; i++) {
        e->model->head_fwd_bwd(e->model, e->ops, e->losses, correct_of(e), e->dx[i], dw, dtied,
                               *x_of(e, L, i), w, tied, g->scale, &g->batches[i]);
        add_score(e, g->score, &g->batches[i]);
    }
    store_release(e->store, STORE_GRADIENTS, 0);
    store_release(e->store, STORE_GRADIENTS, block);
    store_release(e->store, STORE_PARAMETERS, 0);
    store_release(e->store, STORE_PARAMETERS, block);
}

/* x[l+1] is free by now: the recomputed forward writes there what stood there before. */
static void layer_backward(struct group *g, int64_t l)
{
    TRACE_PHASE("layer backward", l);
    struct engine *e = g->e;
    const float *w = store_view(e->store, STORE_PARAMETERS, (int)l + 1);
    float *dw = store_fetch(e->store, STORE_GRADIENTS, (int)l + 1);
    expect_backward(e, (int)l + 1);
    for (int64_t i = 0; i < g->count; i++) {
        float *x = *x_of(e, l, i);
        struct model_cache cache = cache_of(e, l, i);
        if (e->config.recompute == RECOMPUTE_LAYER)
            e->model->layer_fwd(e->model, e->ops, l, *x_of(e, l + 1, i), x, w, cache,
                                &g->batches[i]);
        else if (e->config.recompute == RECOMPUTE_ATTENTION)
            e->model->attention_fwd(e->model, e->ops, l, x, w, cache, &g->batches[i]);
        e->model->layer_bwd(e->model, e->ops, l, e->dx[i], dw, x, w, cache, &g->batches[i]);
    }
    store_release(e->store, STORE_GRADIENTS, (int)l + 1);
    store_release(e->store, STORE_PARAMETERS, (int)l + 1);
}

static void embedding_backward(struct group *g)
{
    TRACE_PHASE("embedding backward", -1);
    struct engine *e = g->e;
    const float *w = store_view(e->store, STORE_PARAMETERS, 0);
    float *dw = store_fetch(e->store, STORE_GRADIENTS, 0);
    for (int64_t i = 0; i < g->count; i++)
        e->model->embedding_bwd(e->model, e->ops, dw, e->dx[i], w, &g->batches[i]);
    store_release(e->store, STORE_GRADIENTS, 0);
    store_release(e->store, STORE_PARAMETERS, 0);
}

static void run_group(struct group *g)
{
    int64_t L = g->e->model->config.layers;
    embedding_forward(g);
    for (int64_t l = 0; l < L; l++)
        layer_forward(g, l);
    head(g);
    for (int64_t l = L; l-- > 0;)
        layer_backward(g, l);
    embedding_backward(g);
}

/* ---- a step ----------------------------------------------------------------------------------- */

/* Of all ranks' micro-batches. */
static double count_labels(const struct engine *e, const struct step_batch *s, int part)
{
    int64_t count = 0;
    for (int64_t m = 0; m < e->config.A; m++) {
        const int32_t *labels;
        int64_t n = e->model->labels(&labels, &s->micro[m], part);
        for (int64_t i = 0; i < n && labels; i++)
            count += labels[i] >= 0;
    }
    return comm_sum_real(e->comm, COMM_DATA, (double)count);
}

/* So that each part counts by its mean: of the sum of losses, and of the second part in it. */
static double weigh(const struct engine *e, const struct step_batch *s, double *next_weight)
{
    double first = count_labels(e, s, 0);
    double second = e->model->parts > 1 ? count_labels(e, s, 1) : 0;
    first = first > 0 ? first : 1;
    *next_weight = second > 0 ? first / second : 0;
    return 1 / first;
}

/* But for blocks that set them at the first micro-batch; a file that is zero need not be read. */
static void zero_gradients(struct engine *e)
{
    const struct tensor_table *t = e->store->tensors;
    for (int b = 0; b < t->blocks; b++) {
        int in_a_layer = b > 0 && b < t->blocks - 1;
        if (e->store->mapped || !(in_a_layer ? e->model->layers_begin : e->model->head_begins))
            store_zero(e->store, STORE_GRADIENTS, b);
    }
}

static void sum_gradients(struct engine *e)
{
    const struct tensor_table *t = e->store->tensors;
    for (int b = 0; b < t->blocks && e->comm->size[COMM_DATA] > 1; b++) {
        float *g = store_fetch(e->store, STORE_GRADIENTS, b);
        comm_sum(e->comm, COMM_DATA, g, t->block_size[b]);
        store_release(e->store, STORE_GRADIENTS, b);
    }
}

/* Micro-batch m of this step, with its own dropout masks. */
static struct batch micro_batch(const struct engine *e, int64_t step, const struct step_batch *s,
                                int64_t m, double next_weight)
{
    struct batch b = s->micro[m];
    int64_t number = m * e->comm->size[COMM_DATA] + e->comm->rank[COMM_DATA];
    uint64_t key = rng_key(rng_key(rng_key(0, e->config.seed), KEY_DROPOUT), (uint64_t)step);
    assert(b.B <= e->config.most && b.T == e->config.T);
    b.key = rng_key(key, (uint64_t)number);
    b.training = 1;
    b.first = !m;
    b.next_weight = next_weight;
    return b;
}

static void sum_score(struct engine *e, struct engine_score *s)
{
    for (int p = 0; p < e->model->parts; p++) {
        double labels = (double)s->part[p].labels, correct = (double)s->part[p].correct;
        s->part[p].loss = comm_sum_real(e->comm, COMM_DATA, s->part[p].loss);
        s->part[p].labels = (int64_t)comm_sum_real(e->comm, COMM_DATA, labels);
        s->part[p].correct = (int64_t)comm_sum_real(e->comm, COMM_DATA, correct);
    }
}

double engine_step(struct engine *e, int64_t step, const struct step_batch *s,
                   struct engine_score *score)
{
    const struct engine_config *c = &e->config;
    double next_weight;
    struct group g = { .e = e, .scale = weigh(e, s, &next_weight) * e->loss_scale,
                       .score = score };
    g.batches = mem_zalloc((size_t)c->G, sizeof *g.batches);
    *score = (struct engine_score){ 0 };
    zero_gradients(e);
    for (int64_t m = 0; m < c->A; m += g.count) {
        g.count = c->A - m < c->G ? c->A - m : c->G;
        for (int64_t i = 0; i < g.count; i++)
            g.batches[i] = micro_batch(e, step, s, m + i, next_weight);
        run_group(&g);
    }
    free(g.batches);
    sum_gradients(e);
    sum_score(e, score);
    return engine_loss(e->model, score);
}

void engine_evaluate(struct engine *e, const struct batch *b, struct engine_score *score)
{
    const struct model *m = e->model;
    int64_t L = m->config.layers;
    assert(b->B <= e->config.most && b->T == e->config.T && !b->training);
    float *x = *x_of(e, 0, 0), *y = *x_of(e, 1, 0);
    const float *tied = store_view(e->store, STORE_PARAMETERS, 0);
    m->embedding_fwd(m, e->ops, x, tied, b);
    for (int64_t l = 0; l < L; l++) {
        const float *w = store_view(e->store, STORE_PARAMETERS, (int)l + 1);
        expect_forward(e, (int)l + 1, 0);
        m->layer_fwd(m, e->ops, l, y, x, w, (struct model_cache){ 0 }, b);
        store_release(e->store, STORE_PARAMETERS, (int)l + 1);
        float *swap = x;
        x = y;
        y = swap;
    }
    const float *w = store_view(e->store, STORE_PARAMETERS, (int)L + 1);
    m->head_fwd(m, e->ops, e->losses, correct_of(e), x, w, tied, b);
    store_release(e->store, STORE_PARAMETERS, (int)L + 1);
    store_release(e->store, STORE_PARAMETERS, 0);
    add_score(e, score, b);
}
