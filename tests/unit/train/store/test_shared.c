/* Arrays that ranks share: they are gathered when they are read, and summed to the ranks' shares,
 * with a window of limited size. */
#include <criterion/criterion.h>
#include <pthread.h>

#include "common/base/err.h"
#include "model/network/model.h"
#include "tests/unit/threads.h"
#include "train/step/engine.h"
#include "train/store/layout.h"
#include "train/store/shared.h"

enum { N = 1024, ARRAYS = 5, WINDOW = 2 };

/* The number of errors that all ranks have found. The ranks are threads. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int wrong;

static void expect(int right)
{
    pthread_mutex_lock(&lock);
    wrong += !right;
    pthread_mutex_unlock(&lock);
}

/* One rank's arrays, and a window for WINDOW of them. */
struct rig {
    struct ops *ops;
    struct shared *shared;
    struct home *home;
    struct spot own[ARRAYS];
    int64_t bounds[9], count;
    int rank, ranks;
};

static void rig_open(struct rig *r, struct comm *c)
{
    *r = (struct rig){ .ops = ops_open("cpu", 1),
                       .rank = c->rank[COMM_DATA],
                       .ranks = c->size[COMM_DATA] };
    for (int q = 0; q <= r->ranks; q++)
        r->bounds[q] = N * q / r->ranks;
    r->count = r->bounds[r->rank + 1] - r->bounds[r->rank];
    r->shared = shared_new(r->ops, WINDOW * N * sizeof(float));
    for (int i = 0; i < ARRAYS; i++) {
        r->own[i] = (struct spot){ .array = ops_buffer(r->ops, OPS_F32, r->count) };
        expect(shared_add(r->shared, &r->own[i], r->bounds, "numbers", i, i == ARRAYS - 1) == i);
    }
    r->home = shared_home(r->shared);
    shared_join(r->shared, c);
}

static void rig_close(struct rig *r)
{
    shared_free(r->shared);
    for (int i = 0; i < ARRAYS; i++)
        ops_buffer_free(r->ops, r->own[i].array);
    ops_free(r->ops);
}

/* Sets x[k] = base + first + k for k from 0 to n - 1. */
static void count_up(struct rig *r, struct ops_array x, float base, int64_t first, int64_t n)
{
    float *to = ops_map(r->ops, x, n);
    for (int64_t k = 0; k < n; k++)
        to[k] = base + (float)(first + k);
    ops_unmap(r->ops, x, n, to);
}

static int counts_up(struct rig *r, struct ops_array x, float base, float step, int64_t first,
                     int64_t n)
{
    float *at = ops_map(r->ops, x, n);
    int right = 1;
    for (int64_t k = 0; k < n; k++)
        right &= at[k] == base + step * (float)(first + k);
    ops_unmap(r->ops, x, n, at);
    return right;
}

/* Reads more arrays than the window has room for, three times, with new numbers each time. */
static void read_all(void *ctx, struct comm *c)
{
    struct rig r;
    (void)ctx;
    rig_open(&r, c);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < ARRAYS; i++) {
            shared_forget(r.shared, i);
            count_up(&r, r.own[i].array, (float)(100 * round + i), r.bounds[r.rank], r.count);
        }
        for (int i = 0; i < ARRAYS; i++) {
            struct ops_array x = r.home->fetch(r.home, i, MODE_READ);
            r.home->expect(r.home, (i + 1) % ARRAYS, MODE_READ);
            expect(counts_up(&r, x, (float)(100 * round + i), 1, 0, N));
            r.home->release(r.home, i, THEN_LEAVES);
        }
    }
    rig_close(&r);
}

/* Sums four leaves. The rank's share of the sums ends in array 0; arrays 1 and 2 hold the shares of
 * partial sums. Array 4 is made for each leaf. */
static void sum_leaves(void *ctx, struct comm *c)
{
    static const struct {
        int to, merges;
    } leaves[] = { { 0, 0 }, { 1, 1 }, { 1, 0 }, { 2, 2 } };
    struct rig r;
    (void)ctx;
    rig_open(&r, c);
    for (int k = 0; k < 4; k++) {
        count_up(&r, r.home->fetch(r.home, 4, MODE_MAKE), (float)(k + r.rank), 0, N);
        r.home->release(r.home, 4, THEN_LEAVES);
        r.home->fetch(r.home, 4, MODE_WRITE);
        shared_sum(r.shared, 4, leaves[k].to, 1, leaves[k].merges);
        r.home->release(r.home, 4, THEN_LEAVES);
    }
    shared_end_sums(r.shared);
    float base = 0;
    for (int k = 0; k < 4; k++)
        for (int q = 0; q < r.ranks; q++)
            base += (float)(k + q);
    expect(counts_up(&r, r.own[0].array, base, (float)(4 * r.ranks), r.bounds[r.rank], r.count));
    rig_close(&r);
}

static void run(void (*fn)(void *ctx, struct comm *c))
{
    for (int ranks = 2; ranks <= 5; ranks++) {
        struct threads *w = threads_new(ranks);
        threads_run(w, fn, NULL);
        threads_free(w);
        cr_assert_eq(wrong, 0, "%d ranks", ranks);
    }
}

Test(shared, an_array_that_is_read_is_the_shares_of_all_ranks)
{
    run(read_all);
}

Test(shared, sums_of_leaves_end_in_the_share)
{
    run(sum_leaves);
}

/* Plans a store of shares; with `memory` not NULL one in a file, with that limit of memory. */
static int plan_in(struct store_plan *p, struct model *m, int64_t group, int zero, int ranks,
                   const uint64_t *memory)
{
    struct step_config e = { .B = 1, .T = 8, .A = 4, .G = group, .most = 1, .zero = zero };
    struct store_config c = { .ranks = ranks,
                              .zero = zero,
                              .dir = memory ? "." : NULL,
                              .memory_bytes = memory ? *memory : 0 };
    struct program program;
    engine_program(&program, &e, m, NULL);
    engine_rows(&c, &e, m, &program);
    const int result = store_plan(p, &m->tensors, &c);
    program_release(&program);
    return result;
}

static void plan(struct store_plan *p, struct model *m, int64_t group, int zero, int ranks)
{
    cr_assert_eq(plan_in(p, m, group, zero, ranks, NULL), 0);
}

static const struct model_config shape = { .layers = 6,
                                           .width = 256,
                                           .heads = 4,
                                           .inner = 1024,
                                           .positions = 8,
                                           .vocabulary = 3000,
                                           .epsilon = 1e-5,
                                           .init_std = 0.02 };
/* The window must have room for the arrays that are in use at the same time: the gradients of the
 * embedding, and of the layers those that are made, the next ones, and those that are being summed.
 * With smaller groups it must have room for the gradients of all blocks. */
Test(shared, the_window_is_what_is_used_at_a_time)
{
    struct model m;
    struct store_plan p, whole;
    cr_assert_eq(model_init(&m, &shape), 0);
    const uint64_t table = (uint64_t)m.tensors.block_size[0] * sizeof(float);
    const uint64_t layer = (uint64_t)m.tensors.block_size[1] * sizeof(float);
    const uint64_t head = (uint64_t)m.tensors.block_size[7] * sizeof(float);
    plan(&p, &m, 4, 2, 4);
    cr_assert_eq(p.gathered_bytes, table + 3 * layer);
    plan(&p, &m, 4, 3, 4);
    cr_assert_eq(p.gathered_bytes, table + 5 * layer);
    plan(&p, &m, 2, 2, 4);
    cr_assert_eq(p.gathered_bytes, table + 6 * layer + head);
    for (int ranks = 2; ranks <= 8; ranks *= 2) {
        uint64_t state = 0, all = 0;
        plan(&p, &m, 4, 3, ranks);
        plan(&whole, &m, 4, 0, 1);
        for (int kind = 0; kind < STORE_BLOCKS; kind++) {
            state += p.kind_bytes[kind];
            all += whole.kind_bytes[kind];
        }
        cr_assert_leq(10 * state * (uint64_t)ranks, 11 * all, "%d ranks", ranks);
    }
    model_release(&m);
}

/* Shares may be in a file. Then memory has the window of whole arrays beside that of the file. */
Test(shared, shares_in_a_file_keep_to_the_memory_limit)
{
    struct model m;
    struct store_plan p, all;
    cr_assert_eq(model_init(&m, &shape), 0);
    for (int zero = 2; zero <= 3; zero++) {
        plan(&all, &m, 1, zero, 2);
        uint64_t memory = 0;
        cr_assert_eq(plan_in(&p, &m, 1, zero, 2, &memory), 0);
        cr_assert(p.gathered_bytes == all.gathered_bytes && p.file_bytes > all.memory_bytes / 2);
        cr_assert(p.read_bytes > p.file_bytes / 2 && p.written_bytes > p.file_bytes / 2);
        memory = store_plan_total(&p);
        cr_assert_eq(plan_in(&p, &m, 1, zero, 2, &memory), 0, "%s", err_get());
        cr_assert_leq(store_plan_total(&p), memory);
        memory--;
        cr_assert_eq(plan_in(&p, &m, 1, zero, 2, &memory), -1);
        memory = store_plan_total(&all);
        cr_assert_eq(plan_in(&p, &m, 1, zero, 2, &memory), 0);
        cr_assert(!p.file_bytes && store_plan_total(&p) == memory);
    }
    model_release(&m);
}
