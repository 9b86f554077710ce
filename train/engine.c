#include "train/engine.h"

#include <assert.h>
#include <stdlib.h>

#include "common/mem.h"
#include "common/rng.h"

enum { KEY_DROPOUT = 0x64726f70 };

/* ---- memory --------------------------------------------------------------------------------- */

static int64_t row_floats(const struct engine_config *c, const struct model *m)
{
    return c->B * c->T * m->config.width;
}

static int64_t caches(const struct engine_config *c, const struct model *m)
{
    return c->recompute == RECOMPUTE_LAYER ? 1 : m->config.layers * c->G;
}

void engine_memory(struct engine_memory *out, const struct engine_config *c, const struct model *m)
{
    uint64_t row = (uint64_t)row_floats(c, m) * sizeof(float);
    uint64_t cache = (uint64_t)m->layer_cache(m, c->B, c->T) * sizeof(float);
    out->x = row * (uint64_t)((m->config.layers + 1) * c->G);
    out->dx = row * (uint64_t)c->G;
    out->cache = cache * (uint64_t)caches(c, m);
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
    assert(config->G >= 1 && config->G <= config->A);
    *e = (struct engine){ .config = *config, .model = m, .ops = o, .store = s, .comm = c };
    int64_t row = row_floats(config, m);
    e->x = new_rows(o, (m->config.layers + 1) * config->G, row);
    e->dx = new_rows(o, config->G, row);
    e->cache = new_rows(o, caches(config, m), m->layer_cache(m, config->B, config->T));
    e->losses = ops_buffer(o, config->B * config->T);
}

void engine_close(struct engine *e)
{
    if (!e->model)
        return;
    const struct engine_config *c = &e->config;
    int64_t row = row_floats(c, e->model);
    free_rows(e->ops, e->x, (e->model->config.layers + 1) * c->G, row);
    free_rows(e->ops, e->dx, c->G, row);
    free_rows(e->ops, e->cache, caches(c, e->model), e->model->layer_cache(e->model, c->B, c->T));
    ops_buffer_free(e->ops, e->losses, c->B * c->T);
    *e = (struct engine){ 0 };
}

/* ---- one group of micro-batches --------------------------------------------------------------- */

struct group {
    struct engine *e;
    struct batch *batches; /* [count] */
    int64_t count;
    double scale; /* of the sum of losses */
    double loss;  /* their sum so far */
};

static float **x_of(const struct engine *e, int64_t l, int64_t i)
{
    return &e->x[l * e->config.G + i];
}

static float *cache_of(const struct engine *e, int64_t l, int64_t i)
{
    return e->cache[e->config.recompute == RECOMPUTE_LAYER ? 0 : l * e->config.G + i];
}

static void embedding_forward(struct group *g)
{
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
    struct engine *e = g->e;
    int64_t L = e->model->config.layers;
    int block = (int)L + 1;
    const float *w = store_view(e->store, STORE_PARAMETERS, block);
    const float *tied = store_view(e->store, STORE_PARAMETERS, 0);
    float *dw = store_fetch(e->store, STORE_GRADIENTS, block);
    float *dtied = store_fetch(e->store, STORE_GRADIENTS, 0);
    expect_backward(e, block);
    for (int64_t i = 0; i < g->count; i++)
        g->loss += e->model->head_fwd_bwd(e->model, e->ops, e->dx[i], dw, dtied, *x_of(e, L, i), w,
                                          tied, g->scale, &g->batches[i]);
    store_release(e->store, STORE_GRADIENTS, 0);
    store_release(e->store, STORE_GRADIENTS, block);
    store_release(e->store, STORE_PARAMETERS, 0);
    store_release(e->store, STORE_PARAMETERS, block);
}

/* x[l+1] is free by now: the recomputed forward writes there what stood there before. */
static void layer_backward(struct group *g, int64_t l)
{
    struct engine *e = g->e;
    const float *w = store_view(e->store, STORE_PARAMETERS, (int)l + 1);
    float *dw = store_fetch(e->store, STORE_GRADIENTS, (int)l + 1);
    expect_backward(e, (int)l + 1);
    for (int64_t i = 0; i < g->count; i++) {
        float *x = *x_of(e, l, i), *cache = cache_of(e, l, i);
        if (e->config.recompute == RECOMPUTE_LAYER)
            e->model->layer_fwd(e->model, e->ops, l, *x_of(e, l + 1, i), x, w, cache,
                                &g->batches[i]);
        e->model->layer_bwd(e->model, e->ops, l, e->dx[i], dw, x, w, cache, &g->batches[i]);
    }
    store_release(e->store, STORE_GRADIENTS, (int)l + 1);
    store_release(e->store, STORE_PARAMETERS, (int)l + 1);
}

static void embedding_backward(struct group *g)
{
    struct engine *e = g->e;
    const float *w = store_fetch(e->store, STORE_PARAMETERS, 0);
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

static int64_t count_labels(const int32_t *labels, int64_t n)
{
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++)
        count += labels[i] != MODEL_IGNORE;
    return count;
}

/* But for layers that set them at the first micro-batch; a file that is zero need not be read. */
static void zero_gradients(struct engine *e)
{
    const struct tensor_table *t = e->store->tensors;
    int layers = !e->model->layers_begin || e->store->mapped;
    for (int b = 0; b < t->blocks; b += layers ? 1 : t->blocks - 1)
        store_zero(e->store, STORE_GRADIENTS, b);
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
                                int64_t m)
{
    const struct engine_config *c = &e->config;
    int64_t at = m * c->B * c->T;
    int64_t number = m * e->comm->size[COMM_DATA] + e->comm->rank[COMM_DATA];
    uint64_t key = rng_key(rng_key(rng_key(0, c->seed), KEY_DROPOUT), (uint64_t)step);
    return (struct batch){ .B = c->B, .T = c->T, .ids = s->ids + at, .labels = s->labels + at,
                           .key = rng_key(key, (uint64_t)number), .training = 1,
                           .first = !m };
}

double engine_step(struct engine *e, int64_t step, const struct step_batch *s)
{
    const struct engine_config *c = &e->config;
    double labels = (double)count_labels(s->labels, c->A * c->B * c->T);
    labels = comm_sum_real(e->comm, COMM_DATA, labels);
    struct group g = { .e = e, .scale = labels ? 1 / labels : 0 };
    g.batches = mem_zalloc((size_t)c->G, sizeof *g.batches);
    zero_gradients(e);
    for (int64_t m = 0; m < c->A; m += g.count) {
        g.count = c->A - m < c->G ? c->A - m : c->G;
        for (int64_t i = 0; i < g.count; i++)
            g.batches[i] = micro_batch(e, step, s, m + i);
        run_group(&g);
    }
    free(g.batches);
    sum_gradients(e);
    return comm_sum_real(e->comm, COMM_DATA, g.loss) * g.scale;
}

double engine_evaluate(struct engine *e, const struct batch *b, int64_t *labels)
{
    const struct model *m = e->model;
    int64_t L = m->config.layers;
    assert(b->B <= e->config.B && b->T == e->config.T && !b->training);
    float *x = *x_of(e, 0, 0), *y = *x_of(e, 1, 0);
    const float *tied = store_view(e->store, STORE_PARAMETERS, 0);
    m->embedding_fwd(m, e->ops, x, tied, b);
    for (int64_t l = 0; l < L; l++) {
        const float *w = store_view(e->store, STORE_PARAMETERS, (int)l + 1);
        expect_forward(e, (int)l + 1, 0);
        m->layer_fwd(m, e->ops, l, y, x, w, NULL, b);
        store_release(e->store, STORE_PARAMETERS, (int)l + 1);
        float *swap = x;
        x = y;
        y = swap;
    }
    const float *w = store_view(e->store, STORE_PARAMETERS, (int)L + 1);
    double sum = m->head_fwd(m, e->ops, e->losses, NULL, x, w, tied, b);
    store_release(e->store, STORE_PARAMETERS, (int)L + 1);
    store_release(e->store, STORE_PARAMETERS, 0);
    *labels += count_labels(b->labels, b->B * b->T);
    return sum;
}
