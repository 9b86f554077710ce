/* Shares of parameters that ranks exchange. */
#include <criterion/criterion.h>
#include <stdatomic.h>
#include <unistd.h>

#include "tests/unit/arrays.h"
#include "tests/unit/threads.h"
#include "train/store/sharing.h"

enum { RANKS = 3, LAYERS = 1, BLOCKS = LAYERS + 2, ROWS = RANKS };

static atomic_int wrong; /* numbers of all ranks */

/* Sets this rank's share of all blocks to its number. */
static void set_shares(struct store *s, int rank)
{
    for (int b = 0; b < BLOCKS; b++) {
        const int64_t *own = layout_bounds(&s->layout, STORE_PARAMETERS, b) + rank;
        float *x = floats(store_fetch(s, STORE_PARAMETERS, b, MODE_WRITE, 1));
        for (int64_t i = 0; i < own[1] - own[0]; i++)
            x[i] = (float)rank;
        store_release(s, STORE_PARAMETERS, b, 1);
    }
}

/* Block b must have the shares of all ranks. */
static void check_block(struct store *s, int b)
{
    const int64_t *bounds = layout_bounds(&s->layout, STORE_PARAMETERS, b);
    const float *x = floats(store_fetch(s, STORE_PARAMETERS, b, MODE_READ, 0));
    for (int q = 0; q < RANKS; q++)
        for (int64_t i = bounds[q]; i < bounds[q + 1]; i++)
            wrong += x[i] != (float)q;
    store_release(s, STORE_PARAMETERS, b, 0);
}

/* Arrays that may move have all shares when sharing_gather returns, even those of a late rank. */
static void gather_each(void *ctx, struct comm *c)
{
    const char *dir = ctx;
    const int rank = c->rank[COMM_DATA];
    const struct step_config step = { .layers = LAYERS, .A = 1, .G = 1, .zero = 1 };
    struct program program;
    const struct store_config config = {
        .program = &program, .ranks = RANKS, .rank = rank, .zero = 1, .dir = dir
    };
    struct tensor_table t = { 0 };
    struct sharing h;
    struct store s;
    struct ops *o = ops_open("cpu", 1);
    for (int b = 0; b < BLOCKS; b++)
        tensor_add(&t, b, (char[]){ (char)('a' + b), 0 }, ROWS, LAYOUT_PIECE, INIT_NORMAL, 1);
    program_step(&program, &step);
    wrong += store_open(&s, o, &t, &config, NULL, 7) < 0;
    sharing_open(&h, &s, c);
    set_shares(&s, rank);
    for (int b = 0; b < BLOCKS; b++) {
        if (dir && rank == 1)
            usleep(10000);
        sharing_gather(&h, b, store_fetch(&s, STORE_PARAMETERS, b, MODE_WRITE, 0));
        if (!dir)
            sharing_end_gathers(&h);
        check_block(&s, b);
        store_release(&s, STORE_PARAMETERS, b, 0);
    }
    sharing_close(&h);
    store_close(&s);
    program_release(&program);
    tensor_release(&t);
    ops_free(o);
}

Test(sharing, gathers_the_shares_of_all_ranks)
{
    for (int moves = 0; moves < 2; moves++) {
        struct threads *w = threads_new(RANKS);
        threads_run(w, gather_each, moves ? "/tmp" : NULL);
        threads_free(w);
        cr_assert_eq(wrong, 0, "moves %d: %d", moves, wrong);
    }
}
