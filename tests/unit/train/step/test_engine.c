#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"
#include "tests/unit/arrays.h"
#include "tests/unit/rig.h"

/* These tests use a tiny model and eight sequences of random ids. The runs differ in the way in
 * which a step goes over the sequences. */

enum { L = 3, C = 32, NH = 4, T = 12, V = 50, SEQUENCES = 8 };

struct run {
    struct rig rig;
    struct samples *samples;
    struct batches *batches;
};

static void open_run_in(struct run *r, int64_t B, int64_t G, enum recompute recompute,
                        double dropout, struct store_config store)
{
    struct model_config c = { .layers = L,
                              .width = C,
                              .heads = NH,
                              .inner = 4 * C,
                              .positions = T,
                              .vocabulary = V,
                              .epsilon = 1e-5,
                              .embedding_dropout = dropout,
                              .attention_dropout = dropout,
                              .residual_dropout = dropout,
                              .init_std = 0.1 };
    struct step_config e = {
        .B = B, .T = T, .A = SEQUENCES / B, .G = G, .most = B, .recompute = recompute, .seed = 3
    };
    struct samples_config made = { .T = T, .seed = 3, .vocabulary = V };
    r->samples = samples_make(&made, MADE_SEQUENCES);
    rig_open_in(&r->rig, &c, &e, store);
    r->batches = batches_new(r->samples, &e, 0, 1, 0);
    cr_assert_eq(batches_next(r->batches, &r->rig.batch), 0);
}

static void open_run(struct run *r, int64_t B, int64_t G, enum recompute recompute, double dropout)
{
    open_run_in(r, B, G, recompute, dropout, (struct store_config){ 0 });
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

Test(engine, nothing_has_no_loss)
{
    const struct model m = { .parts = 1 };
    cr_expect(isnan(engine_loss(&m, &(struct engine_score){ 0 })));
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

/* Padding between tensors must not count. */
Test(engine, norm_is_over_all_parameters)
{
    struct run a;
    double sum = 0;
    open_run(&a, 2, 3, RECOMPUTE_NONE, 0);
    step(&a, 0);
    for (size_t i = 0; i < a.rig.model.tensors.count; i++) {
        const struct tensor *row = &a.rig.model.tensors.rows[i];
        const float *g = floats(a.rig.store.spots[STORE_GRADIENTS][row->block].array) + row->offset;
        for (int64_t k = 0; k < tensor_elements(row); k++)
            sum += (double)g[k] * g[k];
    }
    double norm = sqrt(sum);
    cr_assert_float_eq(engine_norm(&a.rig.engine), norm, 1e-12 * norm);
    close_run(&a);
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

/* The loss must be the mean over the labels that are not MODEL_IGNORE. */
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

static uint64_t row_bytes(const struct run *r, enum recompute recompute, enum store_kind kind,
                          int half)
{
    struct step_config e = r->rig.engine.config;
    struct store_config c = { .half_activations = half };
    struct program program;
    struct store_plan p;
    e.recompute = recompute;
    engine_program(&program, &e, &r->rig.model, NULL);
    engine_rows(&c, &e, &r->rig.model, &program);
    cr_assert_eq(store_plan(&p, &r->rig.model.tensors, &c), 0);
    program_release(&program);
    return p.kind_bytes[kind];
}

Test(engine, memory_is_what_is_planned)
{
    const uint64_t floats = 2 * T * sizeof(float); /* a number for each token of a micro-batch */
    struct run a;
    open_run(&a, 2, 4, RECOMPUTE_NONE, 0);
    for (int r = RECOMPUTE_NONE; r <= RECOMPUTE_LAYER; r++) {
        int all = L * 4, attentions = r == RECOMPUTE_NONE ? all : 1, rests = r < 2 ? all : 1;
        uint64_t attention = row_bytes(&a, r, STORE_CACHE + CACHE_ATTENTION, 0);
        uint64_t rest = row_bytes(&a, r, STORE_CACHE + CACHE_REST, 0);
        cr_assert_eq(row_bytes(&a, r, STORE_X, 0), (L + 1) * 4 * C * floats);
        cr_assert_eq(row_bytes(&a, r, STORE_DX, 0), 4 * C * floats);
        cr_assert_eq(attention, attentions * 4 * C * floats); /* q, k, v, and what was found */
        cr_assert_eq(rest, rests * 5 * C * floats);
        cr_assert_leq(row_bytes(&a, r, STORE_CACHE + CACHE_SUMS, 0), rests * (NH + 6) * floats);
        cr_assert_eq(row_bytes(&a, r, STORE_CACHE + CACHE_REST, 1), rest / 2);
    }
    close_run(&a);
}

/* ---- where and how activations are kept ------------------------------------------------------ */

/* Checks that the gradients of all blocks have the same bits in two runs. */
static void check_same(const struct run *a, struct run *b)
{
    const struct tensor_table *t = &a->rig.model.tensors;
    for (int k = 0; k < t->blocks; k++) {
        const float *x = floats(store_fetch(&b->rig.store, STORE_GRADIENTS, k, MODE_READ, 0));
        cr_assert_arr_eq(x, floats(a->rig.store.spots[STORE_GRADIENTS][k].array),
                         (size_t)t->block_size[k] * sizeof *x, "block %d", k);
        store_release(&b->rig.store, STORE_GRADIENTS, k, 0);
    }
}

/* Returns a limit of memory: what the store needs if all else is in the file, and a third of the
 * rest. */
static uint64_t some_memory(const struct run *r, struct store_config c)
{
    struct store_plan p;
    engine_rows(&c, &r->rig.engine.config, &r->rig.model, &r->rig.program);
    cr_assert_eq(store_plan(&p, &r->rig.model.tensors, &c), 0);
    return store_plan_total(&p) + (p.file_bytes - p.window_bytes) / 3;
}

/* Compares two steps with arrays in a file with two steps in memory: the second step finds what the
 * first one left in rows and files. G: micro-batches per group; half: bf16 activations and
 * parameters; some: some of the arrays stay in memory. */
static void check_in_file(int64_t G, enum recompute recompute, int half, int some)
{
    struct run a, b;
    struct store_config plain = { .half_activations = half, .half_parameters = half }, file = plain;
    file.dir = "/tmp";
    open_run_in(&a, 2, G, recompute, 0.2, plain);
    file.memory_bytes = some ? some_memory(&a, file) : 0;
    open_run_in(&b, 2, G, recompute, 0.2, file);
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(step(&a, i), step(&b, i));
        check_same(&a, &b);
    }
    cr_assert_gt(mapped_traffic(b.rig.store.mapped).written_bytes, 0);
    cr_assert_eq(b.rig.store.fetched, 0);
    close_run(&a);
    close_run(&b);
}

Test(engine, rows_in_a_file_are_the_same_bits)
{
    for (int recompute = RECOMPUTE_NONE; recompute <= RECOMPUTE_LAYER; recompute++)
        for (int half = 0; half < 2; half++) {
            check_in_file(1, (enum recompute)recompute, half, 0);
            check_in_file(3, (enum recompute)recompute, half, 0);
            check_in_file(2, (enum recompute)recompute, half, 1);
        }
}

/* The bytes that steps move between memory and file must be at most the planned ones, and the first
 * weights. They may be fewer: an array that is used again before it has left memory is not read. */
static void check_traffic(int64_t G, enum recompute recompute)
{
    enum { STEPS = 4 };
    struct run a;
    struct store_plan p;
    struct store_config c = { .dir = "/tmp" };
    struct optimizer adamw = { .beta1 = 0.9, .beta2 = 0.95, .epsilon = 1e-8 };
    open_run_in(&a, 2, G, recompute, 0.2, c);
    engine_rows(&c, &a.rig.engine.config, &a.rig.model, &a.rig.program);
    cr_assert_eq(store_plan(&p, &a.rig.model.tensors, &c), 0);
    for (int i = 0; i < STEPS; i++) {
        engine_step(&a.rig.engine, i, &a.rig.batch, &a.rig.score);
        engine_update(&a.rig.engine, &adamw, 1, 1e-3, i + 1);
    }
    struct mapped_traffic moved = mapped_traffic(a.rig.store.mapped);
    uint64_t weights = mapped_bytes(p.kind_bytes[STORE_PARAMETERS]) * 21 / 20;
    cr_assert_leq(moved.read_bytes, STEPS * p.read_bytes);
    cr_assert_leq(moved.written_bytes, STEPS * p.written_bytes + weights);
    cr_assert_geq(moved.read_bytes, STEPS * p.read_bytes / 2);
    cr_assert_geq(moved.written_bytes, STEPS * p.written_bytes / 2);
    close_run(&a);
}

Test(engine, traffic_is_what_is_planned)
{
    for (int recompute = RECOMPUTE_NONE; recompute <= RECOMPUTE_LAYER; recompute++) {
        check_traffic(1, (enum recompute)recompute);
        check_traffic(4, (enum recompute)recompute);
    }
}

Test(engine, activations_of_bf16_are_near_and_recomputed_to_the_same_bits)
{
    struct store_config half = { .half_activations = 1 };
    struct run exact, a, b;
    open_run(&exact, 2, 2, RECOMPUTE_NONE, 0.2);
    open_run_in(&a, 2, 2, RECOMPUTE_NONE, 0.2, half);
    double x = step(&exact, 5), y = step(&a, 5);
    cr_assert_neq(x, y);
    cr_assert_float_eq(x, y, 0.01);
    double d = difference(&exact, &a, -1);
    cr_assert(d > 0 && d < 0.03, "%g", d);
    for (int recompute = RECOMPUTE_ATTENTION; recompute <= RECOMPUTE_LAYER; recompute++)
        for (int G = 1; G <= 2; G++) {
            open_run_in(&b, 2, G, (enum recompute)recompute, 0.2, half);
            cr_assert_eq(step(&b, 5), y);
            cr_assert_eq(difference(&a, &b, 2), 0, "recompute %d, group %d", recompute, G);
            close_run(&b);
        }
    close_run(&exact);
    close_run(&a);
}

Test(engine, parameters_of_bf16_give_what_their_values_do)
{
    struct run a, b;
    open_run_in(&a, 2, 2, RECOMPUTE_NONE, 0, (struct store_config){ .half_parameters = 1 });
    open_run(&b, 2, 2, RECOMPUTE_NONE, 0);
    for (int k = 0; k < b.rig.model.tensors.blocks; k++)
        trim(b.rig.ops, floats(b.rig.store.spots[STORE_PARAMETERS][k].array),
             b.rig.model.tensors.block_size[k]);
    cr_assert_eq(step(&a, 0), step(&b, 0));
    check_same(&a, &b);
    close_run(&a);
    close_run(&b);
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
    struct ops *one = ops_open("cpu", 1);
    store_open(&other, one, &a.rig.model.tensors, &(struct store_config){ 0 }, NULL, 7);
    for (int b = 0; b < a.rig.model.tensors.blocks; b++)
        cr_assert_arr_eq(floats(other.spots[STORE_PARAMETERS][b].array),
                         floats(a.rig.store.spots[STORE_PARAMETERS][b].array),
                         (size_t)a.rig.model.tensors.block_size[b] * sizeof(float));
    store_close(&other);
    ops_free(one);
    close_run(&a);
}
