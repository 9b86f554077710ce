#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "common/file.h"
#include "train/program.h"

static void compile_leaves(struct program *p, int layers, int64_t micro, int64_t group, int leaves,
                           enum recompute recompute, int tied)
{
    program_step(p, &(struct program_config){ .layers = layers,
                                              .micro = micro,
                                              .group = group,
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

/* A layer, and seven micro-batches in groups of two. */
Test(program, a_step_reads_as_it_should)
{
    struct program p;
    compile(&p, 1, 7, 2, RECOMPUTE_ATTENTION, 1);
    check_text(&p, "tests/data/programs/step");
    program_release(&p);
    program_evaluation(&p, 3, 1);
    check_text(&p, "tests/data/programs/evaluation");
    program_release(&p);
}

/* All is shared; two leaves of a micro-batch. */
Test(program, a_step_of_ranks_that_share_reads_as_it_should)
{
    struct program p;
    program_step(
        &p,
        &(struct program_config){
            .layers = 1, .micro = 2, .group = 1, .leaves = 2, .zero = 3, .tied = 1, .moments = 2 });
    check_text(&p, "tests/data/programs/shared");
    program_release(&p);
}

/* The ranks' micro-batches are all of them, each once; neighbouring leaves where they share. */
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

/* Of nine micro-batches in groups of two. */
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

/* Whether an array is in memory while phase n runs. */
static int is_there(const struct program *p, int64_t n, const struct use *u)
{
    const struct use *all[PROGRAM_TOGETHER];
    const int count = program_together(p, n % p->count, all);
    int there = 0;
    for (int i = 0; i < count; i++)
        there += all[i]->kind == u->kind && all[i]->number == u->number;
    return there;
}

/* The phase that uses the array after phase n, and how. */
static const struct use *next_use(const struct program *p, int64_t *n, const struct use *u)
{
    for (++*n;; ++*n) {
        const struct phase *f = &p->phases[*n % p->count];
        for (int i = 0; i < f->count; i++)
            if (f->uses[i].kind == u->kind && f->uses[i].number == u->number)
                return &f->uses[i];
    }
}

/* What is not wanted any more is made before it is read; what stays is counted until it is used. */
static void check_uses(const struct program *p)
{
    for (int64_t n = 0; n < p->count; n++)
        for (int i = 0; i < p->phases[n].count; i++) {
            const struct use *u = &p->phases[n].uses[i];
            int64_t m = n;
            const struct use *next = next_use(p, &m, u);
            cr_assert_eq(is_there(p, n, u), 1);
            if (u->then == MAPPED_DROPPED)
                cr_assert_eq(next->mode, MAPPED_MAKE, "phase %d, use %d", (int)n, i);
            if (u->then == MAPPED_LEAVES)
                cr_assert_neq(next->mode, MAPPED_MAKE, "phase %d, use %d", (int)n, i);
            for (int64_t k = n; k <= m && u->then == MAPPED_STAYS; k++)
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

/* What would be moved if all were in the file, of one layer and three micro-batches one by one. */
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
