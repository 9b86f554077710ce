#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "tests/unit/rig.h"

/* A tiny model and eight sequences of random ids; what differs is how a step goes over them. */

enum { L = 3, C = 32, NH = 4, T = 12, V = 50, SEQUENCES = 8 };

struct run {
    struct rig rig;
    struct samples *samples;
    struct batches *batches;
};

static void open_run(struct run *r, int64_t B, int64_t G, enum recompute recompute, double dropout)
{
    struct model_config c = { .layers = L, .width = C, .heads = NH, .inner = 4 * C, .positions = T,
                              .vocabulary = V, .epsilon = 1e-5, .embedding_dropout = dropout,
                              .attention_dropout = dropout, .residual_dropout = dropout,
                              .init_std = 0.1 };
    struct engine_config e = { .B = B, .T = T, .A = SEQUENCES / B, .G = G, .most = B,
                               .recompute = recompute, .seed = 3 };
    struct samples_config made = { .T = T, .seed = 3, .vocabulary = V };
    r->samples = samples_make_gpt(&made);
    struct batches_config b = { .samples = r->samples, .seed = 3, .B = B, .T = T,
                                .A = SEQUENCES / B, .ranks = 1 };
    rig_open(&r->rig, &c, &e);
    r->batches = batches_new(&b, 0);
    cr_assert_eq(batches_next(r->batches, &r->rig.batch), 0);
}

static void close_run(struct run *r)
{
    batches_free(r->batches);
    samples_close(r->samples);
    rig_close(&r->rig);
}

static double step(struct run *r, int64_t number)
{
    return rig_step(&r->rig, number);
}

static double difference(const struct run *a, const struct run *b, int block)
{
    return rig_difference(&a->rig, &b->rig, block);
}

Test(engine, recomputation_gives_the_same_bits_with_dropout)
{
    for (int recompute = RECOMPUTE_ATTENTION; recompute <= RECOMPUTE_LAYER; recompute++) {
        struct run a, b;
        open_run(&a, 2, 1, RECOMPUTE_NONE, 0.2);
        open_run(&b, 2, 1, (enum recompute)recompute, 0.2);
        double x = step(&a, 5), y = step(&b, 5);
        cr_assert_eq(x, y);
        cr_assert_eq(difference(&a, &b, -1), 0);
        close_run(&a);
        close_run(&b);
    }
}

Test(engine, groups_give_the_same_gradients)
{
    for (int64_t G = 2; G <= 4; G++) { /* 3 leaves a last group of one */
        for (int recompute = RECOMPUTE_NONE; recompute <= RECOMPUTE_LAYER; recompute++) {
            struct run a, b;
            open_run(&a, 2, 1, RECOMPUTE_NONE, 0.2);
            open_run(&b, 2, G, (enum recompute)recompute, 0.2);
            double x = step(&a, 0), y = step(&b, 0);
            cr_assert_float_eq(x, y, 1e-12);
            for (int block = 1; block <= L + 1; block++)
                cr_assert_eq(difference(&a, &b, block), 0, "block %d", block);
            cr_assert_lt(difference(&a, &b, 0), 1e-6); /* the same sum in another order */
            close_run(&a);
            close_run(&b);
        }
    }
}

Test(engine, accumulation_equals_one_large_batch)
{
    struct run a, b;
    open_run(&a, 8, 1, RECOMPUTE_NONE, 0);
    open_run(&b, 1, 1, RECOMPUTE_NONE, 0);
    double x = step(&a, 0), y = step(&b, 0);
    cr_assert_float_eq(x, y, 1e-6);
    cr_assert_lt(difference(&a, &b, -1), 2e-6);
    close_run(&a);
    close_run(&b);
}

Test(engine, a_step_replaces_the_gradients_before_it)
{
    struct run a, b;
    open_run(&a, 4, 1, RECOMPUTE_NONE, 0);
    open_run(&b, 4, 1, RECOMPUTE_NONE, 0);
    step(&a, 0);
    step(&a, 0);
    step(&b, 0);
    cr_assert_eq(difference(&a, &b, -1), 0);
    close_run(&a);
    close_run(&b);
}

Test(engine, dropout_differs_from_step_to_step_and_between_micro_batches)
{
    struct run a;
    open_run(&a, 4, 1, RECOMPUTE_NONE, 0.3);
    double x = step(&a, 0), y = step(&a, 1);
    cr_assert_neq(x, y);
    cr_assert_eq(step(&a, 0), x);
    close_run(&a);
}

/* Labels that do not count are neither in the loss nor in the mean. */
Test(engine, loss_is_the_mean_over_counted_labels)
{
    struct run a;
    open_run(&a, 2, 1, RECOMPUTE_NONE, 0);
    int32_t labels[SEQUENCES * T];
    struct engine_score evaluated = { 0 };
    for (int m = 0; m < SEQUENCES / 2; m++) {
        struct batch *b = &a.rig.batch.micro[m];
        for (int i = m * 2 * T; i < (m + 1) * 2 * T; i++)
            labels[i] = i < 5 * T || i % 3 ? MODEL_IGNORE : b->labels[i - m * 2 * T];
        b->labels = labels + m * 2 * T;
        engine_evaluate(&a.rig.engine, b, &evaluated);
    }
    cr_assert_eq(evaluated.part[0].labels, T); /* every third of 3 T places */
    cr_assert_float_eq(step(&a, 0), evaluated.part[0].loss / T, 1e-5);
    cr_assert_eq(a.rig.score.part[0].labels, T);
    close_run(&a);
}

Test(engine, first_loss_is_near_that_of_a_uniform_guess)
{
    struct run a;
    open_run(&a, 8, 1, RECOMPUTE_NONE, 0);
    cr_assert_float_eq(step(&a, 0), log(V), 0.5);
    close_run(&a);
}

Test(engine, memory_is_what_is_planned)
{
    struct run a;
    struct engine_memory none, attention, layer;
    open_run(&a, 2, 4, RECOMPUTE_NONE, 0);
    struct engine_config c = a.rig.engine.config;
    engine_memory(&none, &c, &a.rig.model);
    c.recompute = RECOMPUTE_ATTENTION;
    engine_memory(&attention, &c, &a.rig.model);
    c.recompute = RECOMPUTE_LAYER;
    engine_memory(&layer, &c, &a.rig.model);
    cr_assert_eq(none.x, (L + 1) * 4 * 2 * T * C * sizeof(float));
    cr_assert_eq(none.dx, 4 * 2 * T * C * sizeof(float));
    cr_assert_eq(none.cache, layer.cache * L * 4);
    uint64_t part = (4 * C + NH) * 2 * T * sizeof(float); /* q, k, v, found, and a sum a head */
    cr_assert_eq(attention.cache, none.cache - (L * 4 - 1) * part);
    close_run(&a);
}

Test(store, everything_fetched_is_released)
{
    struct run a;
    open_run(&a, 2, 2, RECOMPUTE_LAYER, 0);
    step(&a, 0);
    cr_assert_eq(a.rig.store.fetched, 0);
    close_run(&a);
}

Test(store, first_weights_depend_on_the_seed_alone)
{
    struct run a;
    struct store other;
    open_run(&a, 2, 2, RECOMPUTE_NONE, 0);
    struct ops *one = ops_new(1);
    store_open(&other, one, &a.rig.model.tensors, NULL, NULL, 7);
    for (int b = 0; b < a.rig.model.tensors.blocks; b++)
        cr_assert_arr_eq(other.arrays[STORE_PARAMETERS][b], a.rig.store.arrays[STORE_PARAMETERS][b],
                         (size_t)a.rig.model.tensors.block_size[b] * sizeof(float));
    store_close(&other);
    ops_free(one);
    close_run(&a);
}
