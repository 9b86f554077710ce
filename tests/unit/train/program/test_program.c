#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"
#include "common/files/file.h"
#include "train/program/program.h"
#include "train/program/timeline.h"

static void compile_leaves(struct program *p, int layers, int64_t micro, int64_t group, int leaves,
                           enum recompute recompute, int tied)
{
    program_step(p, &(struct step_config){ .layers = layers,
                                           .A = micro,
                                           .G = group,
                                           .leaves = leaves,
                                           .recompute = recompute,
                                           .tied = tied,
                                           .moments = 2 });
}

static void compile(struct program *p, int layers, int64_t micro, int64_t group,
                    enum recompute recompute, int tied)
{
    compile_leaves(p, layers, micro, group, 1, recompute, tied);
}

static void check_text(const struct program *p, const char *path)
{
    struct buf expected = BUF_INIT, out = BUF_INIT;
    cr_assert_eq(file_read(path, &expected), 0, "%s", err_get());
    program_print(p, &out);
    cr_assert_str_eq(out.data, expected.data, "%s:\n%s", path, out.data);
    buf_release(&expected);
    buf_release(&out);
}

/* The texts of the programs for one layer and seven micro-batches in groups of two, and for three
 * layers and one micro-batch (which docs/step.svg shows), beside the expected texts. */
Test(program, a_step_reads_as_it_should)
{
    struct program p;
    compile(&p, 1, 7, 2, RECOMPUTE_ATTENTION, 1);
    check_text(&p, "tests/data/programs/step");
    program_release(&p);
    compile(&p, 3, 1, 1, RECOMPUTE_NONE, 1);
    check_text(&p, "tests/data/programs/plain");
    program_release(&p);
    program_evaluation(&p, &(struct step_config){ .layers = 3, .tied = 1 });
    check_text(&p, "tests/data/programs/evaluation");
    program_release(&p);
}

/* The text of the program if ranks share parameters, gradients and moments, and a micro-batch has
 * two leaves. */
Test(program, a_step_of_ranks_that_share_reads_as_it_should)
{
    struct program p;
    program_step(
        &p, &(struct step_config){
                .layers = 1, .A = 2, .G = 1, .leaves = 2, .zero = 3, .tied = 1, .moments = 2 });
    check_text(&p, "tests/data/programs/shared");
    program_release(&p);
}

static void compile_stage(struct program *p, int stages, int stage, int64_t micro, int leaves,
                          int tied)
{
    program_step(p, &(struct step_config){ .layers = 5,
                                           .A = micro,
                                           .G = micro / leaves,
                                           .leaves = leaves,
                                           .tied = tied,
                                           .moments = 2,
                                           .stages = stages,
                                           .stage = stage });
}

/* The texts of the programs of two stages, each with one layer, for two leaves of two
 * micro-batches, and of an evaluation. */
Test(program, the_stages_of_a_pipeline_read_as_they_should)
{
    static const char *const paths[] = { "tests/data/programs/stage-first",
                                         "tests/data/programs/stage-last" };
    struct program p;
    for (int stage = 0; stage < 2; stage++) {
        program_step(&p, &(struct step_config){ .layers = 2,
                                                .A = 4,
                                                .G = 2,
                                                .leaves = 2,
                                                .tied = 1,
                                                .moments = 2,
                                                .stages = 2,
                                                .stage = stage });
        check_text(&p, paths[stage]);
        program_release(&p);
    }
    program_evaluation(&p,
                       &(struct step_config){ .layers = 3, .tied = 1, .stages = 3, .stage = 1 });
    check_text(&p, "tests/data/programs/stage-evaluation");
    program_release(&p);
}

/* Stage s of 4 keeps the activations of at most 4 - s micro-batches, and the program has as many
 * arrays for them. */
Test(program, a_stage_keeps_what_is_on_its_way)
{
    for (int stage = 0; stage < 4; stage++) {
        struct program p;
        int64_t made = 0, most = 0;
        int first = 0;
        compile_stage(&p, 4, stage, 12, 2, 0);
        while (p.owners[first + 1] != stage)
            first++;
        for (int64_t n = 0; n < p.count; n++) {
            made += p.phases[n].kind == PHASE_INPUTS;
            most = made > most ? made : most;
            made -= p.phases[n].kind == PHASE_LAYER_BACKWARD && p.phases[n].layer == first;
        }
        cr_assert_eq(most, 4 - stage);
        cr_assert_eq(p.micros, 4 - stage);
        program_release(&p);
    }
}

/* Each block must be updated by exactly one stage, its owner. */
Test(program, a_block_has_one_owner)
{
    for (int stages = 1; stages <= 5; stages++) {
        int updates[7] = { 0 };
        for (int stage = 0; stage < stages; stage++) {
            struct program p;
            compile_stage(&p, stages, stage, 4, 1, 1);
            for (int64_t n = 0; n < p.count; n++)
                if (p.phases[n].kind == PHASE_UPDATE) {
                    updates[p.phases[n].block]++;
                    cr_assert_eq(p.owners[p.phases[n].block], stage);
                }
            program_release(&p);
        }
        for (int b = 0; b < 7; b++)
            cr_assert_eq(updates[b], 1, "%d stages, block %d", stages, b);
    }
}

/* Twelve layers in four stages, with a head that is as much work as no, 5 or 30 layers. */
Test(program, stages_have_equal_work)
{
    static const int heads[] = { 0, 5, 30 },
                     layers[][4] = { { 3, 3, 3, 3 }, { 4, 5, 2, 1 }, { 9, 1, 1, 1 } };
    for (int k = 0; k < 3; k++) {
        int count[4] = { 0 };
        struct program p;
        program_evaluation(
            &p, &(struct step_config){ .layers = 12, .head = heads[k], .stages = 4, .stage = 1 });
        cr_assert_eq(p.owners[0], 0);
        cr_assert_eq(p.owners[13], 3);
        for (int b = 1; b <= 12; b++)
            count[p.owners[b]]++;
        for (int s = 0; s < 4; s++)
            cr_assert_eq(count[s], layers[k][s], "head %d, stage %d: %d", heads[k], s, count[s]);
        program_release(&p);
    }
}

/* Runs a pipeline in which the forward of a layer takes the time 1, and its backward 2. Returns the
 * share of the time in which stages wait. */
static double bubble(int layers, int stages, int pieces, int64_t micro, int leaves, int tied)
{
    struct program p[8];
    struct timeline t;
    const struct timeline_costs costs = {
        { [PHASE_LAYER_FORWARD] = 1, [PHASE_LAYER_BACKWARD] = 2 }
    };
    for (int s = 0; s < stages; s++)
        program_step(&p[s], &(struct step_config){ .layers = layers,
                                                   .A = micro,
                                                   .G = micro / leaves,
                                                   .leaves = leaves,
                                                   .tied = tied,
                                                   .moments = 2,
                                                   .stages = stages,
                                                   .stage = s,
                                                   .interleave = pieces });
    cr_assert_eq(timeline_run(&t, p, stages, &costs), 0,
                 "%d stages of %d pieces, %d micro-batches, %d leaves: they wait for ever", stages,
                 pieces, (int)micro, leaves);
    for (int s = 0; s < stages; s++)
        program_release(&p[s]);
    cr_assert_float_eq(t.busy, 3.0 * layers * (double)micro, 1e-9);
    return 1 - t.busy / (t.length * stages);
}

/* Stages must not wait for each other for ever. If a leaf has at least as many micro-batches as
 * there are stages, they must wait only while the pipeline fills and empties. */
Test(program, stages_wait_only_while_the_pipeline_fills_and_empties)
{
    for (int stages = 2; stages <= 8; stages++)
        for (int leaves = 1; leaves <= 8; leaves *= 2)
            for (int64_t leaf = 1; leaf <= 9; leaf++)
                for (int tied = 0; tied < 2; tied++) {
                    const int64_t A = leaf * leaves;
                    const double waits = bubble(stages, stages, 1, A, leaves, tied);
                    const double least = (double)(stages - 1) / (double)(A + stages - 1);
                    if (!tied || leaves == 1 || leaf >= stages)
                        cr_assert_float_eq(waits, least, 1e-9, "%d stages, %d of %d: %g, not %g",
                                           stages, leaves, (int)leaf, waits, least);
                }
}

Test(program, first_stages_alone_wait_for_ever)
{
    struct program p[2];
    struct timeline t;
    const struct timeline_costs costs = { { [PHASE_LAYER_FORWARD] = 1 } };
    for (int s = 0; s < 2; s++)
        program_step(&p[s], &(struct step_config){ .layers = 2,
                                                   .A = 2,
                                                   .G = 2,
                                                   .leaves = 1,
                                                   .moments = 2,
                                                   .stages = 2,
                                                   .interleave = 1 });
    cr_expect_eq(timeline_run(&t, p, 2, &costs), -1);
    for (int s = 0; s < 2; s++)
        program_release(&p[s]);
}

/* With several pieces they wait so many times less. */
Test(program, stages_of_several_pieces_wait_less)
{
    for (int stages = 2; stages <= 8; stages++)
        for (int pieces = 2; pieces <= 4; pieces++)
            for (int leaves = 1; leaves <= 4; leaves *= 2)
                for (int leaf = stages; leaf <= 3 * stages; leaf += stages)
                    for (int tied = 0; tied < 2; tied++) {
                        const int64_t A = leaf * leaves;
                        const double waits = bubble(stages * pieces, stages, pieces, A, leaves,
                                                    tied);
                        const double least = (double)(stages - 1) /
                                             (double)(A * pieces + stages - 1);
                        cr_assert_float_eq(waits, least, 1e-9,
                                           "%d stages of %d pieces, %d of %d: %g, not %g", stages,
                                           pieces, leaves, leaf, waits, least);
                    }
}

/* Each piece has its own layers: stage 0 of 2 has the first and the third, and keeps their
 * activations apart. */
Test(program, a_stage_of_two_pieces_reads_as_it_should)
{
    struct program p;
    program_step(
        &p,
        &(struct step_config){
            .layers = 4, .A = 2, .G = 2, .tied = 1, .moments = 1, .stages = 2, .interleave = 2 });
    check_text(&p, "tests/data/programs/stage-pieces");
    program_release(&p);
    program_evaluation(
        &p, &(struct step_config){ .layers = 4, .tied = 1, .stages = 2, .interleave = 2 });
    check_text(&p, "tests/data/programs/evaluation-pieces");
    program_release(&p);
}

/* Each micro-batch must belong to exactly one rank. If the ranks share gradients, the micro-batches
 * are dealt to the ranks leaf by leaf. */
Test(program, ranks_have_neighbouring_leaves)
{
    for (int zero = 0; zero <= 3; zero++) {
        int seen[24] = { 0 };
        for (int rank = 0; rank < 4; rank++)
            for (int64_t m = 0; m < 6; m++)
                seen[program_micro_batch(zero, 6, 3, 4, rank, m)]++;
        for (int i = 0; i < 24; i++)
            cr_assert_eq(seen[i], 1, "zero %d, micro-batch %d", zero, i);
        cr_assert_eq(program_micro_batch(zero, 6, 3, 4, 1, 3), zero < 2 ? 9 : 11);
    }
}

/* The repeated parts of the program for nine micro-batches in groups of two. */
Test(program, parts_are_repeated)
{
    struct program p;
    int64_t count[PHASE_KINDS] = { 0 };
    compile(&p, 2, 9, 2, RECOMPUTE_LAYER, 1);
    cr_assert_eq(p.part_count, 4);
    for (int64_t n = 0; n < p.count; n++) {
        count[p.phases[n].kind] += p.phases[n].turns;
        cr_assert_eq(p.phases[n].kind == PHASE_UPDATE, n >= p.parts[3].first);
    }
    cr_assert_eq(count[PHASE_INPUTS], 9);
    cr_assert_eq(count[PHASE_LAYER_BACKWARD], 9 * 2);
    cr_assert_eq(count[PHASE_SUM], 4);
    cr_assert_eq(count[PHASE_UPDATE], 4);
    program_release(&p);
}

/* Returns whether the array of use u is in memory during phase n. */
static int is_there(const struct program *p, int64_t n, const struct use *u)
{
    const struct use *all[PROGRAM_TOGETHER];
    const int count = program_together(p, n % p->count, all);
    int there = 0;
    for (int i = 0; i < count; i++)
        there += all[i]->kind == u->kind && all[i]->number == u->number;
    return there;
}

/* Finds the next use of the array of u after phase *n. Sets *n to its phase, which counts on if the
 * use is in the next step. */
static const struct use *next_use(const struct program *p, int64_t *n, const struct use *u)
{
    for (++*n;; ++*n) {
        const struct phase *f = &p->phases[*n % p->count];
        for (int i = 0; i < f->count; i++)
            if (f->uses[i].kind == u->kind && f->uses[i].number == u->number)
                return &f->uses[i];
    }
}

/* Checks each use of the program: an array that is dropped after it must next be made, one that
 * leaves must not be made next, and one that stays must be counted in memory until its next use. */
static void check_uses(const struct program *p)
{
    for (int64_t n = 0; n < p->count; n++)
        for (int i = 0; i < p->phases[n].count; i++) {
            const struct use *u = &p->phases[n].uses[i];
            int64_t m = n;
            const struct use *next = next_use(p, &m, u);
            cr_assert_eq(is_there(p, n, u), 1);
            if (u->then == THEN_DROPPED)
                cr_assert_eq(next->mode, MODE_MAKE, "phase %d, use %d", (int)n, i);
            if (u->then == THEN_LEAVES)
                cr_assert_neq(next->mode, MODE_MAKE, "phase %d, use %d", (int)n, i);
            for (int64_t k = n; k <= m && u->then == THEN_STAYS; k++)
                cr_assert_eq(is_there(p, k, u), 1, "phase %d, use %d", (int)n, i);
        }
}

Test(program, what_is_used_is_there)
{
    for (int64_t G = 1; G <= 5; G++)
        for (int recompute = RECOMPUTE_NONE; recompute <= RECOMPUTE_LAYER; recompute++)
            for (int tied = 0; tied < 2; tied++) {
                struct program p;
                compile(&p, 3, 7, G, (enum recompute)recompute, tied);
                check_uses(&p);
                program_release(&p);
                compile_leaves(&p, 2, 32 * 3, G < 3 ? G : 3, 32, (enum recompute)recompute, tied);
                check_uses(&p);
                cr_assert_eq(p.arrays[STORE_GRADIENTS], 4 * 6); /* a stack of 6 */
                program_release(&p);
            }
}

/* The counted moves if all arrays are in the file, for one layer and three micro-batches in groups
 * of one. */
Test(program, moves_are_counted)
{
    struct program p;
    compile(&p, 1, 3, 1, RECOMPUTE_NONE, 1);
    struct moves *w = p.moves[STORE_PARAMETERS], *g = p.moves[STORE_GRADIENTS];
    cr_assert_eq(w[1].reads, 3 * 2 + 1); /* forward and backward; update */
    cr_assert_eq(w[1].writes, 1);
    cr_assert_eq(w[2].reads, 3 + 1);
    cr_assert_eq(g[1].reads, 2 + 1); /* made at first; the update is the end of them */
    cr_assert_eq(g[1].writes, 3);
    cr_assert_eq(p.moves[STORE_MOMENT1][1].reads, 1);
    cr_assert_eq(p.moves[STORE_MOMENT1][1].writes, 1);
    cr_assert_eq(p.moves[STORE_DX][0].reads + p.moves[STORE_DX][0].writes, 0);
    cr_assert_eq(p.moves[STORE_X][0].reads, 3);
    cr_assert_eq(p.moves[STORE_X][0].writes, 3);
    program_release(&p);
}
