#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "common/err.h"
#include "train/optimizer.h"

/* Two tensors in two blocks: a matrix, which decays, and a bias, which does not. */

struct rig {
    struct tensor_table table;
    struct ops *ops;
    struct store store;
    struct comm comm;
    float *w[2], *g[2];
};

static void open_rig(struct rig *r)
{
    *r = (struct rig){ 0 };
    tensor_add(&r->table, 0, "matrix", 3, 5, INIT_ONE, 0, 1, SPLIT_NONE);
    tensor_add(&r->table, 1, "bias", 20, 0, INIT_ONE, 0, 0, SPLIT_NONE);
    cr_assert((r->ops = ops_new(2)), "%s", err_get());
    store_open(&r->store, r->ops, &r->table, NULL, 1);
    comm_init(&r->comm);
    for (int b = 0; b < 2; b++) {
        r->w[b] = r->store.arrays[STORE_PARAMETERS][b];
        r->g[b] = r->store.arrays[STORE_GRADIENTS][b];
    }
}

static void close_rig(struct rig *r)
{
    store_close(&r->store);
    tensor_release(&r->table);
    ops_free(r->ops);
}

static void set_gradients(struct rig *r, double step)
{
    for (int i = 0; i < 15; i++)
        r->g[0][i] = (float)(0.1 * (i - 7) * step);
    for (int i = 0; i < 20; i++)
        r->g[1][i] = (float)(0.05 * (10 - i) + step * 0.01);
}

Test(optimizer, norm_is_over_all_blocks)
{
    struct rig r;
    open_rig(&r);
    set_gradients(&r, 1);
    double sum = 0;
    for (int i = 0; i < 15; i++)
        sum += (double)r.g[0][i] * r.g[0][i];
    for (int i = 0; i < 20; i++)
        sum += (double)r.g[1][i] * r.g[1][i];
    cr_assert_float_eq(optimizer_norm(&r.store, &r.comm), sqrt(sum), 1e-9);
    close_rig(&r);
}

Test(optimizer, clips_only_what_is_longer)
{
    struct optimizer a = { .clip = 2 };
    cr_assert_eq(optimizer_clip_factor(&a, 1), 1);
    cr_assert_eq(optimizer_clip_factor(&a, 2), 1);
    cr_assert_eq(optimizer_clip_factor(&a, 8), 0.25);
    a.clip = 0;
    cr_assert_eq(optimizer_clip_factor(&a, 8), 1);
}

/* Against the equations, written out once more in f64. */
Test(optimizer, updates_as_the_equations_say)
{
    struct rig r;
    struct optimizer a = { 0.9, 0.95, 1e-8, 0.1, 0.5 };
    double w[20], m[20] = { 0 }, v[20] = { 0 }, rate = 0.01;
    open_rig(&r);
    for (int block = 0; block < 2; block++) {
        for (int i = 0; i < 20; i++)
            w[i] = 1, m[i] = v[i] = 0;
        store_close(&r.store);
        store_open(&r.store, r.ops, &r.table, NULL, 1);
        r.w[0] = r.store.arrays[STORE_PARAMETERS][0], r.w[1] = r.store.arrays[STORE_PARAMETERS][1];
        r.g[0] = r.store.arrays[STORE_GRADIENTS][0], r.g[1] = r.store.arrays[STORE_GRADIENTS][1];
        for (int t = 1; t <= 5; t++) {
            set_gradients(&r, t);
            double norm = optimizer_norm(&r.store, &r.comm);
            cr_assert_gt(norm, a.clip);
            for (int i = 0; i < (block ? 20 : 15); i++) {
                double g = r.g[block][i] * a.clip / norm;
                m[i] = 0.9 * m[i] + 0.1 * g;
                v[i] = 0.95 * v[i] + 0.05 * g * g;
                double step = m[i] / (1 - pow(0.9, t)) / (sqrt(v[i] / (1 - pow(0.95, t))) + 1e-8);
                w[i] -= rate * (step + (block ? 0 : 0.1) * w[i]);
            }
            optimizer_update(&a, &r.store, norm, rate, t);
        }
        for (int i = 0; i < (block ? 20 : 15); i++)
            cr_assert_float_eq(r.w[block][i], w[i], 2e-6, "%g is not %g", r.w[block][i], w[i]);
    }
    close_rig(&r);
}

Test(optimizer, zero_gradients_move_only_what_decays)
{
    struct rig r;
    struct optimizer a = { 0.9, 0.95, 1e-8, 0.1, 1 };
    open_rig(&r);
    optimizer_update(&a, &r.store, 0, 0.01, 1);
    cr_assert_float_eq(r.w[0][3], 1 - 0.01 * 0.1, 1e-7);
    cr_assert_eq(r.w[1][3], 1);
    close_rig(&r);
}
