#include "train/engine.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "common/mem.h"
#include "common/rng.h"
#include "common/trace.h"

enum { KEY_DROPOUT = 0x64726f70, SUMS = 2 * MODEL_PARTS };

/* ---- memory --------------------------------------------------------------------------------- */

/* Of a head: one a token and one a sequence, or two a sequence. */
static int64_t most_labels(const struct engine_config *c)
{
    return c->most * (c->T + 1);
}

/* Whether each layer of each micro-batch keeps that part of its cache until it comes back. */
static int is_kept(enum recompute again, int part)
{
    return again == RECOMPUTE_NONE || (again == RECOMPUTE_ATTENTION && part != CACHE_ATTENTION);
}

void engine_rows(struct store_config *out, const struct engine_config *c, const struct model *m)
{
    const int64_t L = m->config.layers, row = c->B * c->T * m->config.width;
    int64_t numbers[CACHE_PARTS];
    m->layer_cache(m, c->B, c->T, numbers);
    out->group = (int)c->G;
    out->groups = (int)((c->A + c->G - 1) / c->G);
    out->rows[STORE_X] = (struct store_rows){ (int)((L + 1) * c->G), row };
    out->rows[STORE_DX] = (struct store_rows){ (int)c->G, row };
    for (int p = 0; p < CACHE_PARTS; p++)
        out->rows[STORE_CACHE + p] = (struct store_rows){ is_kept(c->recompute, p) ? (int)(L * c->G)
                                                                                   : 1,
                                                          numbers[p] };
}

void engine_open(struct engine *e, const struct engine_config *config, const struct model *m,
                 struct ops *o, struct store *s, struct comm *c)
{
    assert(config->G >= 1 && config->G <= config->A && config->most >= config->B);
    *e = (struct engine){
        .config = *config, .model = m, .ops = o, .store = s, .comm = c, .loss_scale = 1
    };
    e->inputs = mem_zalloc((size_t)config->G, sizeof *e->inputs);
    e->scores.losses = ops_buffer(o, OPS_F32, most_labels(config));
    if (m->parts > 1) /* of words among all it would cost a look at each logit */
        e->scores.correct = ops_buffer(o, OPS_U8, most_labels(config));
    e->sums = ops_buffer(o, OPS_F64, SUMS);
    e->squares = ops_buffer(o, OPS_F64, m->tensors.blocks);
}

void engine_close(struct engine *e)
{
    if (!e->model)
        return;
    ops_buffer_free(e->ops, e->scores.losses, most_labels(&e->config));
    ops_buffer_free(e->ops, e->scores.correct, most_labels(&e->config));
    ops_buffer_free(e->ops, e->sums, SUMS);
    ops_buffer_free(e->ops, e->squares, e->model->tensors.blocks);
    for (int64_t i = 0; i < e->config.G; i++)
        inputs_release(&e->inputs[i], e->ops);
    free(e->inputs);
    *e = (struct engine){ 0 };
}

/* ---- scores ---------------------------------------------------------------------------------- */

/* What a head left in the scores of a micro-batch goes into the sums, where it stays until the step
 * asks for them. A share of right answers says something where there are few. */
static void add_scores(const struct engine *e, struct engine_score *s, const struct inputs *in)
{
    for (int p = 0; p < e->model->parts; p++) {
        struct ops_scores part = inputs_scores(in, e->scores, p);
        s->part[p].labels += in->labelled[p];
        ops_add_sum(e->ops, ops_part(e->sums, 2 * p), part.losses, in->targets[p].n);
        if (!ops_is_none(part.correct))
            ops_add_sum(e->ops, ops_part(e->sums, 2 * p + 1), part.correct, in->targets[p].n);
    }
}

/* Adds the sums, which begin again. */
static void take_sums(const struct engine *e, struct engine_score *s)
{
    double sums[SUMS];
    ops_download(e->ops, sums, e->sums, SUMS);
    ops_zero(e->ops, e->sums, SUMS);
    for (int p = 0; p < e->model->parts; p++) {
        s->part[p].loss += sums[2 * p];
        s->part[p].correct += (int64_t)sums[2 * p + 1];
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
    int count;    /* of e->inputs */
    int first;    /* of the step: gradients are made, not added to */
    int last;     /* of the step: they are the step's */
    double scale; /* of the sum of losses */
    struct engine_score *score;
};

/* Row l G + i of x; of what layers keep it is layer l's. */
static int row_of(const struct engine *e, int64_t l, int i)
{
    return (int)(l * e->config.G) + i;
}

static int cache_row(const struct engine *e, int part, int64_t l, int i)
{
    return is_kept(e->config.recompute, part) ? row_of(e, l, i) : 0;
}

/* Those of a layer's cache that are kept, or those that are not, or all: to make, or to use up. */
enum cache_parts { KEPT_PARTS = 1, MADE_PARTS = 2, ALL_PARTS = 3 };

static int is_among(const struct engine *e, int part, enum cache_parts which)
{
    return which & (is_kept(e->config.recompute, part) ? KEPT_PARTS : MADE_PARTS);
}

static void fetch_cache(struct engine *e, struct model_cache *k, int64_t l, int i,
                        enum cache_parts which, enum mapped_use use)
{
    for (int p = 0; p < CACHE_PARTS; p++)
        if (is_among(e, p, which))
            k->part[p] = (use == MAPPED_MAKE ? store_make : store_fetch)(e->store, STORE_CACHE + p,
                                                                         cache_row(e, p, l, i));
}

static void release_cache(struct engine *e, int64_t l, int i, enum cache_parts which)
{
    for (int p = 0; p < CACHE_PARTS; p++)
        if (is_among(e, p, which))
            store_release(e->store, STORE_CACHE + p, cache_row(e, p, l, i));
}

static void drop_cache(struct engine *e, int64_t l, int i)
{
    for (int p = 0; p < CACHE_PARTS; p++)
        store_drop(e->store, STORE_CACHE + p, cache_row(e, p, l, i));
}

/* What the next micro-batch needs of layer l, which may be none: its input, and on the way back
 * what it has kept. */
static void expect_rows(struct group *g, int64_t l, int i, int back)
{
    struct engine *e = g->e;
    if (l < 0)
        return;
    store_expect(e->store, STORE_X, row_of(e, l, i), MAPPED_READ);
    if (l == e->model->config.layers)
        return;
    for (int p = 0; p < CACHE_PARTS; p++)
        store_expect(e->store, STORE_CACHE + p, cache_row(e, p, l, i),
                     back ? MAPPED_WRITE : MAPPED_MAKE);
    if (back)
        store_expect(e->store, STORE_DX, i, MAPPED_WRITE);
    else
        store_expect(e->store, STORE_X, row_of(e, l + 1, i), MAPPED_MAKE);
}

/* After micro-batch i on layer l comes the next one there, or the first on the layer to follow. */
static void expect_next(struct group *g, int64_t l, int i, int64_t follows, int back)
{
    if (i + 1 < g->count)
        expect_rows(g, l, i + 1, back);
    else
        expect_rows(g, follows, 0, back);
}

/* A block's gradients: made by the step's first micro-batch, added to by the others. */
static struct ops_gradient fetch_gradients(struct group *g, int block)
{
    struct store *s = g->e->store;
    return g->first ? ops_set(store_make(s, STORE_GRADIENTS, block))
                    : ops_added(store_fetch(s, STORE_GRADIENTS, block));
}

/* The group has added its last to a block's gradients, and the last group has made the step's of
 * them. */
static void finish_gradients(struct group *g, int block, struct ops_array dw)
{
    struct engine *e = g->e;
    const int64_t n = e->store->tensors->block_size[block];
    if (g->last) {
        comm_sum(e->comm, COMM_DATA, dw, n);
        ops_sum_squares(e->ops, ops_part(e->squares, block), dw, n);
    }
    store_release(e->store, STORE_GRADIENTS, block);
}

static void embedding_forward(struct group *g)
{
    TRACE_PHASE("embedding forward", -1);
    struct engine *e = g->e;
    struct ops_array w = store_view(e->store, STORE_PARAMETERS, 0);
    store_expect(e->store, STORE_PARAMETERS, 1, MAPPED_READ);
    for (int i = 0; i < g->count; i++) {
        struct ops_array x = store_make(e->store, STORE_X, row_of(e, 0, i));
        if (i + 1 == g->count)
            expect_rows(g, 0, 0, 0);
        e->model->embedding_fwd(e->model, e->ops, x, w, &e->inputs[i]);
        store_release(e->store, STORE_X, row_of(e, 0, i));
    }
    store_release(e->store, STORE_PARAMETERS, 0);
}

/* What follows on the forward pass of block `block`; g NULL: of an evaluation. */
static void expect_forward(struct engine *e, const struct group *g, int block)
{
    int L = (int)e->model->config.layers;
    store_expect(e->store, STORE_PARAMETERS, block + 1, MAPPED_READ);
    if (block < L)
        return;
    store_expect(e->store, STORE_PARAMETERS, 0, MAPPED_READ);
    for (int b = 0; b <= L + 1 && g; b += L + 1)
        store_expect(e->store, STORE_GRADIENTS, b, g->first ? MAPPED_MAKE : MAPPED_WRITE);
}

/* What follows on the backward pass of block `block`, the head's too. */
static void expect_backward(struct group *g, int block)
{
    if (block > 1)
        store_expect(g->e->store, STORE_PARAMETERS, block - 1, MAPPED_READ);
    store_expect(g->e->store, STORE_GRADIENTS, block - 1,
                 g->first && block > 1 ? MAPPED_MAKE : MAPPED_WRITE);
}

/* Layer l is block l+1 (tensor.h). */
static void layer_forward(struct group *g, int64_t l)
{
    TRACE_PHASE("layer forward", l);
    struct engine *e = g->e;
    struct ops_array w = store_view(e->store, STORE_PARAMETERS, (int)l + 1);
    expect_forward(e, g, (int)l + 1);
    for (int i = 0; i < g->count; i++) {
        struct ops_array x = store_view(e->store, STORE_X, row_of(e, l, i));
        struct ops_array y = store_make(e->store, STORE_X, row_of(e, l + 1, i));
        struct model_cache cache;
        fetch_cache(e, &cache, l, i, ALL_PARTS, MAPPED_MAKE);
        expect_next(g, l, i, l + 1, 0);
        e->model->layer_fwd(e->model, e->ops, l, y, x, w, cache, &e->inputs[i]);
        release_cache(e, l, i, ALL_PARTS);
        store_release(e->store, STORE_X, row_of(e, l + 1, i));
        store_release(e->store, STORE_X, row_of(e, l, i));
    }
    store_release(e->store, STORE_PARAMETERS, (int)l + 1);
}

static void head(struct group *g)
{
    TRACE_PHASE("head", -1);
    struct engine *e = g->e;
    const struct model *m = e->model;
    int64_t L = m->config.layers;
    int block = (int)L + 1;
    struct ops_array w = store_view(e->store, STORE_PARAMETERS, block);
    struct ops_array tied = store_view(e->store, STORE_PARAMETERS, 0);
    struct ops_gradient dw = fetch_gradients(g, block), dtied = fetch_gradients(g, 0);
    expect_backward(g, block);
    for (int i = 0; i < g->count; i++) {
        struct ops_array x = store_view(e->store, STORE_X, row_of(e, L, i));
        struct ops_array dx = store_make(e->store, STORE_DX, i);
        expect_next(g, L, i, L - 1, 1);
        m->head_fwd_bwd(m, e->ops, e->scores, dx, dw, dtied, x, w, tied, g->scale, &e->inputs[i]);
        dw.add = dtied.add = 1;
        add_scores(e, g->score, &e->inputs[i]);
        store_release(e->store, STORE_DX, i);
        store_drop(e->store, STORE_X, row_of(e, L, i));
    }
    store_release(e->store, STORE_GRADIENTS, 0); /* which the embedding adds to */
    finish_gradients(g, block, dw.to);
    store_release(e->store, STORE_PARAMETERS, 0);
    store_release(e->store, STORE_PARAMETERS, block);
}

/* Makes again what the layer has not kept. x[l+1] is free by now, and is lost again. */
static void recompute(struct group *g, int64_t l, int i, struct ops_array x, struct ops_array w,
                      struct model_cache *cache)
{
    struct engine *e = g->e;
    const struct model *m = e->model;
    fetch_cache(e, cache, l, i, MADE_PARTS, MAPPED_MAKE);
    if (e->config.recompute == RECOMPUTE_LAYER) {
        struct ops_array y = store_make(e->store, STORE_X, row_of(e, l + 1, i));
        m->layer_fwd(m, e->ops, l, y, x, w, *cache, &e->inputs[i]);
        store_drop(e->store, STORE_X, row_of(e, l + 1, i));
    } else if (e->config.recompute == RECOMPUTE_ATTENTION) {
        m->attention_fwd(m, e->ops, l, x, w, *cache, &e->inputs[i]);
    }
}

static void layer_backward(struct group *g, int64_t l)
{
    TRACE_PHASE("layer backward", l);
    struct engine *e = g->e;
    const struct model *m = e->model;
    struct ops_array w = store_view(e->store, STORE_PARAMETERS, (int)l + 1);
    struct ops_gradient dw = fetch_gradients(g, (int)l + 1);
    expect_backward(g, (int)l + 1);
    for (int i = 0; i < g->count; i++) {
        struct ops_array x = store_view(e->store, STORE_X, row_of(e, l, i));
        struct ops_array dx = store_fetch(e->store, STORE_DX, i);
        struct model_cache cache;
        fetch_cache(e, &cache, l, i, KEPT_PARTS, MAPPED_WRITE);
        expect_next(g, l, i, l - 1, 1);
        recompute(g, l, i, x, w, &cache);
        m->layer_bwd(m, e->ops, l, dx, dw, x, w, cache, &e->inputs[i]);
        dw.add = 1;
        drop_cache(e, l, i);
        store_release(e->store, STORE_DX, i);
        store_drop(e->store, STORE_X, row_of(e, l, i));
    }
    finish_gradients(g, (int)l + 1, dw.to);
    store_release(e->store, STORE_PARAMETERS, (int)l + 1);
}

static void embedding_backward(struct group *g)
{
    TRACE_PHASE("embedding backward", -1);
    struct engine *e = g->e;
    struct ops_array w = store_view(e->store, STORE_PARAMETERS, 0);
    struct ops_gradient dw = { store_fetch(e->store, STORE_GRADIENTS, 0), !g->first };
    for (int i = 0; i < g->count; i++) {
        struct ops_array dx = store_fetch(e->store, STORE_DX, i);
        e->model->embedding_bwd(e->model, e->ops, dw, dx, w, &e->inputs[i]);
        dw.add = 1;
        store_drop(e->store, STORE_DX, i);
    }
    finish_gradients(g, 0, dw.to);
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
    struct group g = { .e = e, .scale = weigh(e, s, &next_weight) * e->loss_scale, .score = score };
    *score = (struct engine_score){ 0 };
    for (int64_t m = 0; m < c->A; m += g.count) {
        g.first = !m;
        g.count = (int)(c->A - m < c->G ? c->A - m : c->G);
        g.last = m + g.count == c->A;
        for (int i = 0; i < g.count; i++) {
            struct batch b = micro_batch(e, step, s, m + i, next_weight);
            inputs_set(&e->inputs[i], e->ops, e->model, &b);
        }
        run_group(&g);
    }
    take_sums(e, score);
    sum_score(e, score);
    return engine_loss(e->model, score);
}

double engine_norm(const struct engine *e)
{
    const int blocks = e->model->tensors.blocks;
    double sum = 0, *squares = ops_map(e->ops, e->squares, blocks);
    for (int b = 0; b < blocks; b++)
        sum += squares[b];
    ops_unmap(e->ops, e->squares, blocks, squares);
    return sqrt(comm_sum_real(e->comm, COMM_TENSOR, sum)) / e->loss_scale;
}

void engine_evaluate(struct engine *e, const struct batch *b, struct engine_score *score)
{
    const struct model *m = e->model;
    struct store *s = e->store;
    const int64_t L = m->config.layers;
    const int rows[] = { row_of(e, 0, 0), row_of(e, 1, 0) };
    assert(b->B <= e->config.most && b->T == e->config.T && !b->training);
    struct ops_array x = store_make(s, STORE_X, rows[0]), y = store_make(s, STORE_X, rows[1]);
    const struct inputs *in = &e->inputs[0];
    inputs_set(&e->inputs[0], e->ops, m, b);
    m->embedding_fwd(m, e->ops, x, store_view(s, STORE_PARAMETERS, 0), in);
    store_release(s, STORE_PARAMETERS, 0);
    for (int64_t l = 0; l < L; l++) {
        struct ops_array w = store_view(s, STORE_PARAMETERS, (int)l + 1);
        expect_forward(e, NULL, (int)l + 1);
        m->layer_fwd(m, e->ops, l, y, x, w, (struct model_cache){ 0 }, in);
        store_release(s, STORE_PARAMETERS, (int)l + 1);
        struct ops_array swap = x;
        x = y;
        y = swap;
    }
    m->head_fwd(m, e->ops, e->scores, x, store_view(s, STORE_PARAMETERS, (int)L + 1),
                store_view(s, STORE_PARAMETERS, 0), in);
    store_release(s, STORE_PARAMETERS, (int)L + 1);
    store_release(s, STORE_PARAMETERS, 0);
    for (int i = 0; i < 2; i++)
        store_drop(s, STORE_X, rows[i]);
    add_scores(e, score, in);
    take_sums(e, score);
}
