/* ranks: trains a few updates on 1, 2, 4 and 6 ranks, which are threads of this process, with and
 * without shared moments, gradients and weights, and as a pipeline. Losses, norms and weights must
 * have the same bits. Built with MODE=tsan, it also shows races, which MPI's own threads would
 * hide. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"
#include "common/base/hash.h"
#include "common/base/mem.h"
#include "tests/unit/threads.h"
#include "train/samples/batches.h"
#include "train/step/engine.h"
#include "train/step/optimizer.h"

/* A layer has several pieces (layout.h), so that it can be shared. */
enum { L = 3, C = 128, T = 16, V = 600, SEQUENCES = 16, LEAVES = 4, UPDATES = 3, MOST = 8 };

static const struct model_config shape = { .layers = L,
                                           .width = C,
                                           .heads = 4,
                                           .inner = 4 * C,
                                           .positions = T,
                                           .vocabulary = V,
                                           .epsilon = 1e-5,
                                           .embedding_dropout = 0.1,
                                           .attention_dropout = 0.1,
                                           .residual_dropout = 0.1,
                                           .init_std = 0.02 };

/* Hashes of what a rank has computed: of losses and norms, and of weights. The hash of weights is 0
 * if the rank does not own them. */
struct result {
    uint64_t said, block[L + 2];
};

struct run {
    enum optimizer_kind kind;
    int ranks, zero;            /* data-parallel ones */
    int heads, width, sequence; /* tensor-parallel ones, along both dimensions */
    int pipe;                   /* stages; 0 is 1 */
    int leaf;                   /* 1: a group is a whole leaf */
    int untied;
    struct result result[MOST]; /* of each rank */
};

/* The objects of one rank. */
struct rank {
    struct model model, unsplit;
    struct split split;
    struct program program;
    struct ops *ops;
    struct store store;
    struct engine engine;
    struct optimizer optimizer;
    unsigned char *moments, *whole;
    struct samples *samples;
    struct batches *batches;
};

static int tensor_of(const struct run *r)
{
    return r->heads * r->width;
}

static void must(int result)
{
    if (result < 0) {
        fprintf(stderr, "ranks: %s\n", err_get());
        exit(1);
    }
}

static void open_rank(struct rank *r, const struct run *run, struct comm *c)
{
    const int64_t A = SEQUENCES / 2 / run->ranks;
    struct model_config config = shape;
    struct step_config e = {
        .B = 2, .T = T, .A = A, .G = 1, .leaves = LEAVES / run->ranks, .most = 2, .seed = 3
    };
    e.zero = run->zero;
    e.stages = run->pipe;
    e.stage = c->rank[COMM_PIPE];
    e.G = run->leaf ? A / e.leaves : 1;
    config.untied = run->untied;
    struct samples_config made = { .T = T, .seed = 3, .vocabulary = V };
    *r = (struct rank){ .ops = ops_open("cpu", 1),
                        .optimizer = { .kind = run->kind,
                                       .bias_correction = 1,
                                       .beta1 = 0.9,
                                       .beta2 = 0.95,
                                       .epsilon = 1e-8,
                                       .momentum = 0.9,
                                       .weight_decay = 0.1,
                                       .clip = 1 } };
    r->split = comm_split(c);
    r->split.sequence = run->sequence;
    must(model_init(&r->unsplit, &config));
    must(model_init_split(&r->model, &config, tensor_of(run) > 1 ? &r->split : NULL));
    r->moments = optimizer_moments(run->kind, &r->model.tensors);
    r->whole = optimizer_whole(run->kind, &r->model.tensors);
    struct store_config s = { .moments = r->moments,
                              .whole = r->whole,
                              .half_moments = 1,
                              .split = r->model.split,
                              .unsplit = &r->unsplit.tensors,
                              .ranks = run->zero ? run->ranks : 1,
                              .zero = run->zero,
                              .rank = c->rank[COMM_DATA] };
    engine_program(&r->program, &e, &r->model, r->moments);
    engine_rows(&s, &e, &r->model, &r->program);
    must(store_open(&r->store, r->ops, &r->model.tensors, &s, NULL, 7));
    engine_open(&r->engine, &e, &r->program, &r->model, r->ops, &r->store, c);
    r->samples = samples_make(&made, MADE_SEQUENCES);
    r->batches = batches_new(r->samples, &e, c->rank[COMM_DATA], run->ranks, 0);
}

static void close_rank(struct rank *r)
{
    batches_free(r->batches);
    samples_close(r->samples);
    engine_close(&r->engine);
    store_close(&r->store);
    program_release(&r->program);
    free(r->moments);
    free(r->whole);
    model_release(&r->model);
    model_release(&r->unsplit);
    ops_free(r->ops);
}

static void hash_weights(struct rank *r, uint64_t hashes[L + 2])
{
    for (int b = 0; b < r->model.tensors.blocks; b++) {
        if (!layout_owns(&r->store.layout, b))
            continue;
        const int64_t n = r->model.tensors.block_size[b];
        struct ops_array w = store_fetch(&r->store, STORE_PARAMETERS, b, MODE_READ, 0);
        void *floats = ops_map(r->ops, w, n);
        hashes[b] = hash_more(HASH_START, floats, (size_t)n * sizeof(float));
        ops_unmap(r->ops, w, n, floats);
        store_release(&r->store, STORE_PARAMETERS, b, 0);
    }
}

static void train_rank(void *ctx, struct comm *c)
{
    struct run *run = ctx;
    struct result *result = &run->result[c->rank[COMM_WORLD]];
    struct rank r;
    comm_regroup(c, run->pipe ? run->pipe : 1, run->heads, run->width);
    result->said = HASH_START;
    open_rank(&r, run, c);
    struct step_batch batch;
    must(batches_next(r.batches, &batch));
    for (int64_t t = 0; t < UPDATES; t++) {
        struct engine_score score;
        double said[2] = { engine_step(&r.engine, t, &batch, &score), 0 };
        said[1] = engine_norm(&r.engine);
        result->said = hash_more(result->said, said, sizeof said);
        must(batches_next(r.batches, &batch));
        if (t) /* the first time, engine_step counts */
            engine_count(&r.engine, &batch);
        engine_update(&r.engine, &r.optimizer, said[1], 1e-2, t + 1);
        if (t == 1) /* all updates and gathers must end before it */
            engine_evaluate(&r.engine, &batch.micro[0], &score);
    }
    engine_settle(&r.engine);
    hash_weights(&r, result->block);
    close_rank(&r);
}

/* Returns whether a hash equals *want. If *want is 0, sets it to the hash and returns 1. */
static int is_wanted(uint64_t *want, uint64_t hash)
{
    *want = *want ? *want : hash;
    return hash == *want;
}

/* 1 when each rank has what `want` says of its place in the tensor group, which is set where it is
 * 0. */
static int run_ranks(struct run run, struct result want[MOST])
{
    const int tensor = tensor_of(&run), all = run.ranks * tensor * (run.pipe ? run.pipe : 1);
    struct threads *w = threads_new(all);
    int equal = 1;
    threads_run(w, train_rank, &run);
    threads_free(w);
    for (int q = 0; q < all; q++) {
        struct result *own = &want[q % tensor];
        equal &= is_wanted(&own->said, run.result[q].said);
        for (int b = 0; b < L + 2; b++)
            equal &= !run.result[q].block[b] || is_wanted(&own->block[b], run.result[q].block[b]);
    }
    printf("%s: optimizer %d, ranks %d, zero %d, tensor parallel %dx%d%s, stages %d%s\n",
           equal ? "ok" : "FAIL", (int)run.kind, run.ranks, run.zero, run.heads, run.width,
           run.sequence ? ", shared rows" : "", run.pipe ? run.pipe : 1,
           run.untied ? ", untied" : "");
    return equal;
}

/* Pipelines beside one stage: {data-parallel ranks, zero, tensor parallel along both dimensions,
 * shared rows, stages}. A step has 8 micro-batches in 4 leaves. Adds to *passed; returns the number
 * of runs. */
static int run_pipelines(int *passed)
{
    static const int rows[][6] = {
        { 1, 0, 1, 1, 0, 1 }, { 1, 0, 1, 1, 0, 2 }, { 1, 0, 1, 1, 0, 3 }, { 2, 0, 1, 1, 0, 2 },
        { 2, 1, 1, 1, 0, 3 }, { 1, 0, 2, 1, 0, 1 }, { 1, 0, 2, 1, 0, 3 }, { 1, 0, 2, 1, 1, 1 },
        { 1, 0, 2, 1, 1, 2 }, { 1, 0, 2, 2, 0, 1 }, { 1, 0, 2, 2, 0, 2 }, { 2, 2, 1, 1, 0, 2 },
        { 2, 3, 1, 1, 0, 3 }, { 4, 3, 1, 1, 0, 2 }, { 2, 3, 2, 1, 0, 2 },
    };
    const int count = sizeof rows / sizeof *rows;
    for (int untied = 0; untied < 2; untied++) {
        struct result want[4][MOST] = { { { 0 } } };
        for (int i = 0; i < count; i++) {
            const int *r = rows[i];
            *passed += run_ranks((struct run){ .kind = OPTIMIZER_ADAMW,
                                               .ranks = r[0],
                                               .zero = r[1],
                                               .heads = r[2],
                                               .width = r[3],
                                               .sequence = r[4],
                                               .pipe = r[5],
                                               .leaf = 1,
                                               .untied = untied },
                                 want[r[2] - 1 + 2 * r[4] + (r[3] - 1)]);
        }
    }
    return 2 * count;
}

int main(void)
{
    static const enum optimizer_kind kinds[] = { OPTIMIZER_ADAMW, OPTIMIZER_LAMB, OPTIMIZER_MUON };
    int passed = 0, count = 0;
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (size_t k = 0; k < 1 + sizeof kinds / sizeof *kinds; k++) {
        struct result want[MOST] = { { 0 } };
        for (int i = 0; i < 9; i++, count++) /* 1; 2 and 4 ranks, of all stages */
            passed += run_ranks((struct run){ .kind = kinds[k % 3],
                                              .untied = k == 3,
                                              .ranks = i ? 2 << (i - 1) / 4 : 1,
                                              .zero = i ? (i - 1) % 4 : 0,
                                              .heads = 1,
                                              .width = 1 },
                                want);
    }
    for (size_t k = 0; k < 4 * sizeof kinds / sizeof *kinds; k++) {
        struct result want[MOST] = { { 0 } };
        for (int i = 0; i < 5; i++, count++) /* 1; 2 of all stages; two or four ranks each */
            passed += run_ranks((struct run){ .kind = kinds[k / 4],
                                              .ranks = i ? 2 : 1,
                                              .zero = i ? i - 1 : 0,
                                              .heads = k % 4 == 2 ? 1 : 2,
                                              .width = k % 4 < 2 ? 1 : 2,
                                              .sequence = k % 4 == 1 },
                                want);
    }
    count += run_pipelines(&passed);
    printf("ranks: %d passed, %d failed\n", passed, count - passed);
    return passed != count;
}
