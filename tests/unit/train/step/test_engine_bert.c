/* The program of a step with BERT's losses of two parts, padding and packed rows. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"
#include "tests/unit/rig.h"

enum { L = 2, C = 32, T = 16, V = 60, M = 3, SEQUENCES = 6, ROOM = 8 };

struct run {
    struct rig rig;
    struct sequences sequences[SEQUENCES];
    struct batch micro[SEQUENCES];
};

static void open_run(struct run *r, int64_t B, enum recompute recompute, double dropout)
{
    struct model_config c = { .layers = L,
                              .width = C,
                              .heads = 4,
                              .inner = 4 * C,
                              .positions = T,
                              .vocabulary = V,
                              .epsilon = 1e-5,
                              .embedding_dropout = dropout,
                              .attention_dropout = dropout,
                              .residual_dropout = dropout,
                              .init_std = 0.1,
                              .head = HEAD_PRETRAINING,
                              .types = 2 };
    struct step_config e = {
        .B = B, .T = T, .A = SEQUENCES / B, .G = 1, .most = ROOM, .recompute = recompute, .seed = 3
    };
    struct samples_config s = { .T = T, .mask_tokens = M, .seed = 3, .vocabulary = V };
    *r = (struct run){ 0 };
    rig_open(&r->rig, &c, &e);
    struct samples *made = samples_make(&s, MADE_PAIRS);
    for (int64_t m = 0; m < e.A; m++) {
        struct sequences *q = &r->sequences[m];
        sequences_init(q, ROOM, T, 1);
        for (int64_t i = 0; i < B; i++) {
            uint64_t number = (uint64_t)(m * B + i);
            cr_assert_eq(made->read(made, number, q), 0);
            q->lengths[i] = T - (int64_t)number; /* what stands behind is padding: no label */
            for (int64_t t = q->lengths[i]; t < T; t++)
                q->labels[i * T + t] = MODEL_IGNORE;
        }
        r->micro[m] = sequences_batch(q);
    }
    r->rig.batch.micro = r->micro;
    samples_close(made);
}

static void close_run(struct run *r)
{
    for (int m = 0; m < SEQUENCES; m++)
        sequences_release(&r->sequences[m]);
    rig_close(&r->rig);
}

static double step(struct run *r)
{
    return rig_step(&r->rig, 0);
}

static double difference(const struct run *a, const struct run *b)
{
    return rig_difference(&a->rig, &b->rig, -1);
}

Test(engine_bert, loss_is_the_sum_of_two_means)
{
    struct run a;
    struct engine_score evaluated = { 0 };
    open_run(&a, 3, RECOMPUTE_NONE, 0);
    double loss = step(&a);
    for (int m = 0; m < 2; m++)
        engine_evaluate(&a.rig.engine, &a.micro[m], &evaluated);
    for (int p = 0; p < 2; p++) {
        cr_assert_eq(evaluated.part[p].labels, a.rig.score.part[p].labels);
        cr_assert_eq(evaluated.part[p].correct, a.rig.score.part[p].correct);
        cr_assert_float_eq(evaluated.part[p].loss, a.rig.score.part[p].loss, 1e-4);
    }
    cr_assert_eq(a.rig.score.part[1].labels, SEQUENCES);
    cr_assert_float_eq(loss,
                       a.rig.score.part[0].loss / (double)a.rig.score.part[0].labels +
                           a.rig.score.part[1].loss / SEQUENCES,
                       1e-12);
    cr_assert_float_eq(loss, log(V) + log(2), 0.7);
    close_run(&a);
}

Test(engine_bert, accumulation_equals_one_large_batch)
{
    struct run a, b;
    open_run(&a, 6, RECOMPUTE_NONE, 0);
    open_run(&b, 1, RECOMPUTE_NONE, 0);
    cr_assert_float_eq(step(&a), step(&b), 1e-6);
    cr_assert_lt(difference(&a, &b), 5e-6);
    close_run(&a);
    close_run(&b);
}

Test(engine_bert, a_step_replaces_the_gradients_before_it)
{
    struct run a, b;
    open_run(&a, 3, RECOMPUTE_NONE, 0);
    open_run(&b, 3, RECOMPUTE_NONE, 0);
    step(&a);
    step(&a);
    step(&b);
    cr_assert_eq(difference(&a, &b), 0);
    close_run(&a);
    close_run(&b);
}

Test(engine_bert, recomputation_gives_the_same_bits_with_dropout)
{
    for (int recompute = RECOMPUTE_ATTENTION; recompute <= RECOMPUTE_LAYER; recompute++) {
        struct run a, b;
        open_run(&a, 2, RECOMPUTE_NONE, 0.2);
        open_run(&b, 2, (enum recompute)recompute, 0.2);
        cr_assert_eq(step(&a), step(&b));
        cr_assert_eq(difference(&a, &b), 0);
        close_run(&a);
        close_run(&b);
    }
}

/* The ids and segments of padding must not change the loss or the gradients. */
Test(engine_bert, padding_counts_for_nothing)
{
    struct run a, b;
    open_run(&a, 3, RECOMPUTE_NONE, 0);
    open_run(&b, 3, RECOMPUTE_NONE, 0);
    for (int m = 0; m < 2; m++)
        for (int i = 0; i < 3; i++)
            for (int64_t t = b.sequences[m].lengths[i]; t < T; t++)
                b.sequences[m].ids[i * T + t] = b.sequences[m].segments[i * T + t] = UINT32_MAX;
    cr_assert_eq(step(&a), step(&b));
    cr_assert_eq(difference(&a, &b), 0);
    close_run(&a);
    close_run(&b);
}

/* A micro-batch may have more sequences than rows of T tokens if its tokens fit. Packed rows have
 * such micro-batches. */
Test(engine_bert, more_and_shorter_sequences_fit_where_their_tokens_do)
{
    struct run a, b;
    open_run(&a, 6, RECOMPUTE_NONE, 0);
    open_run(&b, 6, RECOMPUTE_NONE, 0);
    engine_close(&b.rig.engine);
    struct step_config e = { .B = 5, .T = T, .A = 1, .G = 1, .most = 6, .seed = 3 };
    /* 81 tokens in rows for 80 */
    engine_open(&b.rig.engine, &e, &b.rig.program, &b.rig.model, b.rig.ops, &b.rig.store,
                &b.rig.comm);
    b.sequences[0].lengths[0]--;
    a.sequences[0].lengths[0]--;
    a.sequences[0].labels[T - 1] = b.sequences[0].labels[T - 1] = MODEL_IGNORE;
    cr_assert_eq(sequences_tokens(&b.sequences[0]), 80);
    cr_assert_float_eq(step(&a), step(&b), 1e-6);
    cr_assert_lt(difference(&a, &b), 5e-6);
    close_run(&a);
    close_run(&b);
}
