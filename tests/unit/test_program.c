#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "common/file.h"
#include "train/program.h"

static void compile(struct program *p, int layers, int64_t micro, int64_t group,
                    enum recompute recompute, int tied)
{
    program_step(p, &(struct program_config){ .layers = layers,
                                              .micro = micro,
                                              .group = group,
                                              .recompute = recompute,
                                              .tied = tied,
                                              .moments = 2 });
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

/* Entries come turn after turn, and after the last the first. */
Test(program, parts_are_repeated)
{
    struct program p;
    int64_t inputs = 0, sums = 0, updates = 0, once = 0;
    compile(&p, 2, 9, 2, RECOMPUTE_LAYER, 1);
    for (int64_t n = 0; n < p.length; n++) {
        const struct phase *f = program_at(&p, n);
        inputs += f->kind == PHASE_INPUTS;
        sums += f->kind == PHASE_SUM;
        updates += f->kind == PHASE_UPDATE;
        cr_assert_eq(f->kind == PHASE_UPDATE, n >= p.update);
        cr_assert_eq(program_at(&p, n + p.length), f);
    }
    cr_assert_eq(inputs, 9);
    cr_assert_eq(sums, 4);
    cr_assert_eq(updates, 4);
    for (int64_t n = 0; n < p.length; n = program_once(&p, n))
        once += program_turns(&p, n);
    cr_assert_eq(once, p.length);
    program_release(&p);
}

/* Whatever is read has been made, by this step or one before it, and is not read after its last
 * use; what is kept is expected. */
static void check_uses(const struct program *p)
{
    enum { UNKNOWN, MADE, GONE };
    unsigned char *state[STORE_KINDS];
    for (int kind = 0; kind < STORE_KINDS; kind++)
        state[kind] = calloc((size_t)p->count[kind] + 1, 1);
    for (int64_t n = 0; n < 2 * p->length; n++) {
        const struct phase *f = program_at(p, n);
        const struct use *ahead[PROGRAM_AHEAD];
        const int count = program_ahead(p, n, ahead);
        for (int i = 0; i < f->count; i++) {
            const struct use *u = &f->uses[i];
            unsigned char *s = &state[u->kind][u->number];
            int expected = 0;
            cr_assert(u->mode == MAPPED_MAKE || *s != GONE, "entry %d, use %d", (int)n, i);
            cr_assert(u->mode == MAPPED_MAKE || *s == MADE || u->kind < STORE_X);
            *s = u->last ? GONE : MADE;
            for (int k = 0; k < count; k++)
                expected |= ahead[k]->kind == u->kind && ahead[k]->number == u->number;
            cr_assert_eq(u->stays, expected, "entry %d, use %d", (int)n, i);
        }
    }
    for (int kind = 0; kind < STORE_KINDS; kind++)
        free(state[kind]);
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
