#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"
#include "common/base/mem.h"
#include "tests/unit/arrays.h"
#include "tests/unit/threads.h"
#include "train/step/optimizer.h"

/* A store of two tensors in two blocks: a matrix, which has weight decay, and a bias, which has
 * none. */

struct rig {
    struct tensor_table table;
    struct ops *ops;
    struct store store;
    float *w[2], *g[2];
};

static void open_rig_of(struct rig *r, enum optimizer_kind kind, int half, int threads)
{
    *r = (struct rig){ 0 };
    tensor_add(&r->table, 0, "matrix", 3, 5, INIT_ONE, 0);
    tensor_add(&r->table, 1, "bias", 20, 0, INIT_ONE, 0);
    cr_assert((r->ops = ops_open("cpu", threads)), "%s", err_get());
    unsigned char *moments = optimizer_moments(kind, &r->table);
    struct store_config c = { .moments = moments, .half_moments = half };
    cr_assert_eq(store_open(&r->store, r->ops, &r->table, &c, NULL, 1), 0);
    free(moments);
    for (int b = 0; b < 2; b++) {
        r->w[b] = floats(r->store.spots[STORE_PARAMETERS][b].array);
        r->g[b] = floats(r->store.spots[STORE_GRADIENTS][b].array);
    }
}

static void open_rig(struct rig *r, enum optimizer_kind kind)
{
    open_rig_of(r, kind, 0, 2);
}

static void close_rig(struct rig *r)
{
    store_close(&r->store);
    tensor_release(&r->table);
    ops_free(r->ops);
}

/* Updates all blocks, as the program of a step does. norm: of the gradients; rate: the learning
 * rate; t: the number of the update, from 1. */
static void update(struct optimizer *a, struct store *s, double norm, double rate, int64_t t)
{
    struct optimizer_update u;
    optimizer_begin(&u, a, s, NULL, norm, rate, t);
    for (int b = 0; b < s->tensors->blocks; b++) {
        const struct ops_array state[OPS_STATES] = {
            store_fetch(s, STORE_PARAMETERS, b, MODE_WRITE, 0),
            store_fetch(s, STORE_MOMENT1, b, MODE_WRITE, 0),
            store_fetch(s, STORE_MOMENT2, b, MODE_WRITE, 0)
        };
        optimizer_update_block(&u, b, state, store_fetch(s, STORE_GRADIENTS, b, MODE_WRITE, 0));
        for (int kind = 0; kind < STORE_BLOCKS; kind++)
            store_release(s, kind, b, 0);
    }
    optimizer_end(&u);
}

/* Sets the gradients for the step `step`. Returns their norm. */
static double set_gradients(struct rig *r, double step)
{
    for (int i = 0; i < 15; i++)
        r->g[0][i] = (float)(0.1 * (i - 7) * step);
    for (int i = 0; i < 20; i++)
        r->g[1][i] = (float)(0.05 * (10 - i) + step * 0.01);
    double squares[2];
    for (int i = 0; i < 2; i++)
        ops_sum_squares(r->ops, ops_host_array(squares, OPS_F64), f32(r->g[i]),
                        &(struct ops_run){ 0, i ? 20 : 15, i }, 1);
    return sqrt(squares[0] + squares[1]);
}

Test(optimizer, names_the_tensor_that_is_not_finite)
{
    struct rig r;
    open_rig(&r, OPTIMIZER_ADAMW);
    cr_assert_null(optimizer_not_finite(&r.store, STORE_GRADIENTS));
    r.g[1][19] = INFINITY;
    cr_assert_str_eq(optimizer_not_finite(&r.store, STORE_GRADIENTS)->name, "bias");
    r.g[0][0] = NAN;
    cr_assert_str_eq(optimizer_not_finite(&r.store, STORE_GRADIENTS)->name, "matrix");
    cr_assert_null(optimizer_not_finite(&r.store, STORE_PARAMETERS));
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

/* ---- against the equations, written out once more in f64 ------------------------------------ */

enum { MATRIX = 15, BIAS = 20, UPDATES = 5 };

struct reference {
    double w[BIAS], m[BIAS], v[BIAS];
    int n;
};

static double length(const double *x, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += x[i] * x[i];
    return sqrt(sum);
}

static void reference_adam(struct reference *r, const struct optimizer *a, const double *g,
                           double decay, double rate, int t)
{
    double x[BIAS], m1 = a->bias_correction ? 1 - pow(a->beta1, t) : 1;
    double v1 = a->bias_correction ? 1 - pow(a->beta2, t) : 1;
    int lamb = a->kind == OPTIMIZER_LAMB || a->kind == OPTIMIZER_NVLAMB;
    for (int i = 0; i < r->n; i++) {
        double gi = g[i] + (a->kind == OPTIMIZER_ADAM ? decay * r->w[i] : 0);
        r->m[i] = a->beta1 * r->m[i] + (1 - a->beta1) * gi;
        r->v[i] = a->beta2 * r->v[i] + (1 - a->beta2) * gi * gi;
        x[i] = r->m[i] / m1 / (sqrt(r->v[i] / v1) + a->epsilon);
        x[i] += a->kind == OPTIMIZER_ADAM ? 0 : decay * r->w[i];
    }
    double ratio = lamb ? length(r->w, r->n) / length(x, r->n) : 1;
    for (int i = 0; i < r->n; i++)
        r->w[i] -= rate * ratio * x[i];
}

static void reference_sgd(struct reference *r, const struct optimizer *a, const double *g,
                          double decay, double rate)
{
    double momentum = a->kind == OPTIMIZER_MOMENTUM ? a->momentum : 0;
    for (int i = 0; i < r->n; i++) {
        r->m[i] = momentum * r->m[i] + g[i] + decay * r->w[i];
        r->w[i] -= rate * r->m[i];
    }
}

static void check_weights(const struct rig *r, const struct reference *x)
{
    for (int b = 0; b < 2; b++)
        for (int i = 0; i < x[b].n; i++) {
            double want = x[b].w[i];
            cr_assert_float_eq(r->w[b][i], want, 1e-6, "tensor %d[%d] is %.9g, not %.9g", b, i,
                               r->w[b][i], want);
        }
}

/* Compares five updates of both tensors with the reference. */
static void check_updates(struct optimizer a)
{
    struct rig r;
    struct reference x[2] = { { .n = MATRIX }, { .n = BIAS } };
    double rate = 0.01;
    open_rig(&r, a.kind);
    for (int i = 0; i < BIAS; i++) { /* neither all equal nor 0 */
        x[0].w[i] = x[1].w[i] = 0.5 + 0.01 * i;
        r.w[1][i] = (float)x[1].w[i];
        if (i < MATRIX)
            r.w[0][i] = (float)x[0].w[i];
    }
    for (int t = 1; t <= UPDATES; t++) {
        double norm = set_gradients(&r, t), longest = a.clip;
        if (a.kind == OPTIMIZER_NVLAMB && (!longest || longest > 1))
            longest = 1;
        for (int b = 0; b < 2; b++) {
            double g[BIAS], decay = b && !a.decay_all ? 0 : a.weight_decay;
            for (int i = 0; i < x[b].n; i++)
                g[i] = r.g[b][i] * (longest && norm > longest ? longest / norm : 1);
            if (a.kind == OPTIMIZER_SGD || a.kind == OPTIMIZER_MOMENTUM)
                reference_sgd(&x[b], &a, g, decay, rate);
            else
                reference_adam(&x[b], &a, g, decay, rate, t);
        }
        update(&a, &r.store, norm, rate, t);
    }
    check_weights(&r, x);
    close_rig(&r);
}

static struct optimizer an_optimizer(enum optimizer_kind kind)
{
    return (struct optimizer){ .kind = kind,
                               .bias_correction = 1,
                               .beta1 = 0.9,
                               .beta2 = 0.95,
                               .epsilon = 1e-8,
                               .momentum = 0.9,
                               .weight_decay = 0.1,
                               .clip = 0.5 };
}

Test(optimizer, decays_all_that_it_is_told_to)
{
    struct optimizer a = an_optimizer(OPTIMIZER_ADAMW);
    a.decay_all = 1;
    check_updates(a);
    a.kind = OPTIMIZER_LAMB;
    check_updates(a);
}

static void check_with_and_without_bias_correction(enum optimizer_kind kind)
{
    struct optimizer a = an_optimizer(kind);
    check_updates(a);
    a.bias_correction = 0;
    check_updates(a);
}

Test(optimizer, adamw_with_and_without_bias_correction)
{
    check_with_and_without_bias_correction(OPTIMIZER_ADAMW);
}

Test(optimizer, adam_decays_by_the_gradient)
{
    check_with_and_without_bias_correction(OPTIMIZER_ADAM);
}

Test(optimizer, lamb_with_and_without_bias_correction)
{
    check_with_and_without_bias_correction(OPTIMIZER_LAMB);
}

Test(optimizer, nvlamb_divides_by_the_norm_whatever_clip_is)
{
    struct optimizer a = an_optimizer(OPTIMIZER_NVLAMB);
    a.epsilon = 0.1; /* or else the length of the gradient hardly matters */
    check_updates(a);
    a.clip = 0;
    check_updates(a);
    a.clip = 3;
    check_updates(a);
}

Test(optimizer, sgd_and_momentum)
{
    check_updates(an_optimizer(OPTIMIZER_SGD));
    check_updates(an_optimizer(OPTIMIZER_MOMENTUM));
}

/* LAMB's trust ratio is 1 if a norm is 0: a bias of zeros moves, but zeros whose gradient is 0
 * stay. */
Test(optimizer, lamb_of_zeros_has_the_ratio_1)
{
    struct rig r;
    struct optimizer a = an_optimizer(OPTIMIZER_LAMB);
    open_rig(&r, a.kind);
    set_gradients(&r, 1);
    for (int i = 0; i < BIAS; i++)
        r.w[1][i] = 0;
    r.g[1][3] = 0;
    update(&a, &r.store, 1, 0.01, 1);
    cr_assert_float_eq(r.w[1][0], -0.01, 1e-7); /* the first step of Adam is the rate */
    cr_assert_eq(r.w[1][3], 0);
    close_rig(&r);
}

/* ---- Muon ------------------------------------------------------------------------------------ */

/* out[R,C] = a[R,K] b[K,C] */
static void multiply(double *out, const double *a, const double *b, int R, int K, int C)
{
    for (int i = 0; i < R; i++)
        for (int j = 0; j < C; j++) {
            out[i * C + j] = 0;
            for (int k = 0; k < K; k++)
                out[i * C + j] += a[i * K + k] * b[k * C + j];
        }
}

enum { SIDE = 40 };

static void reference_muon(double *w, double *a, const double *g, const struct optimizer *o,
                           double rate, int R, int C)
{
    static double X[SIDE * SIDE], T[SIDE * SIDE], A[SIDE * SIDE], AX[SIDE * SIDE], AAX[SIDE * SIDE];
    for (int i = 0; i < R * C; i++) {
        a[i] = o->momentum * a[i] + g[i];
        X[i] = g[i] + o->momentum * a[i];
    }
    double norm = length(X, R * C);
    for (int i = 0; i < R * C; i++)
        X[i] /= norm;
    for (int step = 0; step < 5; step++) {
        for (int i = 0; i < R * C; i++)
            T[i % C * R + i / C] = X[i];
        multiply(A, X, T, R, C, R);
        multiply(AX, A, X, R, R, C);
        multiply(AAX, A, AX, R, R, C);
        for (int i = 0; i < R * C; i++)
            X[i] = 3.4445 * X[i] - 4.7750 * AX[i] + 2.0315 * AAX[i];
    }
    for (int i = 0; i < R * C; i++)
        w[i] -= rate * (0.2 * sqrt(R > C ? R : C) * X[i] + o->weight_decay * w[i]);
}

static void check_muon(int R, int C)
{
    struct tensor_table t = { 0 };
    struct store s;
    struct ops *o = ops_open("cpu", 2);
    struct optimizer a = an_optimizer(OPTIMIZER_MUON);
    static double w[SIDE * SIDE], m[SIDE * SIDE], g[SIDE * SIDE];
    a.clip = 0;
    tensor_add(&t, 0, "table", 7, 3, INIT_ONE, 0);
    tensor_add(&t, 1, "matrix", R, C, INIT_NORMAL, 0.5f);
    tensor_add(&t, 1, "bias", 9, 0, INIT_ONE, 0);
    tensor_add(&t, 2, "norm", 5, 0, INIT_ONE, 0);
    unsigned char *moments = optimizer_moments(a.kind, &t);
    cr_assert(moments[0] == 2 && moments[1] == 1 && moments[2] == 2 && moments[3] == 2);
    cr_assert_eq(store_open(&s, o, &t, &(struct store_config){ .moments = moments }, NULL, 1), 0);
    cr_assert_eq(s.layout.offset[STORE_MOMENT2][1], -1);
    cr_assert_eq(s.layout.offset[STORE_MOMENT2][2], 0); /* the matrix takes no place there */
    float *wf = floats(s.spots[STORE_PARAMETERS][1].array),
          *gf = floats(s.spots[STORE_GRADIENTS][1].array);
    for (int i = 0; i < R * C; i++)
        w[i] = wf[i], m[i] = 0;
    for (int step = 1; step <= 3; step++) {
        for (int i = 0; i < R * C; i++)
            g[i] = gf[i] = (float)sin(i * i + 3 * step);
        gf[t.rows[2].offset] = 1;
        update(&a, &s, 1, 0.01, step);
        reference_muon(w, m, g, &a, 0.01, R, C);
    }
    for (int i = 0; i < R * C; i++)
        cr_assert_float_eq(wf[i], w[i], 2e-6, "%dx%d [%d]: %.9g is not %.9g", R, C, i, wf[i], w[i]);
    cr_assert_float_eq(wf[t.rows[2].offset], 1 - 0.03, 1e-6); /* AdamW of a constant gradient */
    cr_assert_float_eq(floats(s.spots[STORE_PARAMETERS][0].array)[0], pow(1 - 0.001, 3), 1e-6);
    store_close(&s);
    tensor_release(&t);
    free(moments);
    ops_free(o);
}

Test(optimizer, muon_of_wide_tall_and_square_matrices)
{
    check_muon(12, 33);
    check_muon(33, 12);
    check_muon(17, 17);
}

Test(optimizer, zero_gradients_move_only_what_decays)
{
    struct rig r;
    struct optimizer a = an_optimizer(OPTIMIZER_ADAMW);
    open_rig(&r, OPTIMIZER_ADAMW);
    update(&a, &r.store, 0, 0.01, 1);
    cr_assert_float_eq(r.w[0][3], 1 - 0.01 * 0.1, 1e-7);
    cr_assert_eq(r.w[1][3], 1);
    close_rig(&r);
}

/* ---- moments and parameters of bf16 ---------------------------------------------------------- */

enum { MANY = 300000 }; /* more than a chunk */

/* Updates a matrix with one optimizer and writes the parameters to `out`. c says which of moments
 * and parameters are bf16. */
static void run_many(enum optimizer_kind kind, struct store_config c, int threads, float out[MANY])
{
    struct tensor_table t = { 0 };
    struct store s;
    struct ops *o = ops_open("cpu", threads);
    struct optimizer a = an_optimizer(kind);
    a.seed = 5;
    tensor_add(&t, 0, "other", 3, 3, INIT_ONE, 0);
    tensor_add(&t, 1, "matrix", MANY / 100, 100, INIT_ONE, 0);
    tensor_add(&t, 2, "end", 3, 0, INIT_ONE, 0);
    unsigned char *moments = optimizer_moments(kind, &t);
    c.moments = moments;
    cr_assert_eq(store_open(&s, o, &t, &c, NULL, 1), 0);
    for (int step = 1; step <= 3; step++) {
        float *g = floats(s.spots[STORE_GRADIENTS][1].array);
        for (int i = 0; i < MANY; i++)
            g[i] = (float)sin(i * 0.37 + step) * 0.01f;
        update(&a, &s, 0.1, 0.01, step);
    }
    ops_copy(o, f32(out), store_fetch(&s, STORE_PARAMETERS, 1, MODE_READ, 0), MANY);
    store_release(&s, STORE_PARAMETERS, 1, 0);
    store_close(&s);
    tensor_release(&t);
    free(moments);
    ops_free(o);
}

/* With bf16 moments, single weights differ by rounding errors, but their mean hardly differs,
 * because numbers are rounded up as often as down. */
Test(optimizer, bf16_moments_are_right_in_the_mean_and_equal_for_any_threads)
{
    static float exact[MANY], half[MANY], other[MANY];
    for (int kind = OPTIMIZER_ADAMW; kind <= OPTIMIZER_MUON; kind++) {
        if (kind == OPTIMIZER_SGD) /* has none */
            continue;
        struct store_config f32 = { 0 }, bf16 = { .half_moments = 1 };
        run_many((enum optimizer_kind)kind, f32, 1, exact);
        run_many((enum optimizer_kind)kind, bf16, 1, half);
        run_many((enum optimizer_kind)kind, bf16, 3, other);
        cr_assert_arr_eq(half, other, sizeof half, "kind %d", kind);
        double moved = 0, error = 0, bias = 0;
        for (int i = 0; i < MANY; i++) {
            moved += fabs(exact[i] - 1.0);
            error += fabs((double)half[i] - exact[i]);
            bias += (double)half[i] - exact[i];
        }
        const double most = kind == OPTIMIZER_MUON ? 0.1 : 0.02; /* it makes what is small large */
        cr_assert(error > 0 && error < most * moved, "kind %d: error %g of %g", kind, error, moved);
        cr_assert_lt(fabs(bias), 0.001 * moved, "kind %d: bias %g of %g", kind, bias, moved);
    }
}

/* With bf16 parameters, each weight has one of the two bf16 numbers next to the exact value, and
 * the mean of all weights is right, even if updates are far smaller than the difference of two
 * neighbouring bf16 numbers. */
Test(optimizer, bf16_parameters_are_right_in_the_mean_and_equal_for_any_threads)
{
    static float exact[MANY], half[MANY], other[MANY];
    for (int kind = OPTIMIZER_ADAMW; kind <= OPTIMIZER_MUON; kind++) {
        struct store_config f32 = { 0 }, bf16 = { .half_parameters = 1 };
        bf16.half_moments = kind % 2;
        run_many((enum optimizer_kind)kind, f32, 1, exact);
        run_many((enum optimizer_kind)kind, bf16, 1, half);
        run_many((enum optimizer_kind)kind, bf16, 3, other);
        cr_assert_arr_eq(half, other, sizeof half, "kind %d", kind);
        double bias = 0, squares = 0;
        for (int i = 0; i < MANY; i++) {
            double error = (double)half[i] - exact[i];
            bias += error;
            squares += error * error;
            cr_assert_float_eq(error, 0, 3 * 0x1p-7, "kind %d: [%d] is %g, not %g", kind, i,
                               half[i], exact[i]);
        }
        cr_assert_lt(fabs(bias), 5 * sqrt(squares), "kind %d: bias %g of %g", kind, bias, squares);
    }
}

/* ---- tensors that ranks share ---------------------------------------------------------------- */

static const struct model_config small = {
    .layers = 1,
    .width = 24,
    .heads = 4,
    .inner = 40,
    .positions = 6,
    .vocabulary = 15, /* ranks have tables of unequal sizes */
    .epsilon = 1e-5,
    .init_std = 0.3
};

static void set_own_gradients(struct store *s)
{
    for (size_t i = 0; i < s->tensors->count; i++) {
        const struct tensor *whole = &s->unsplit->rows[i], *own = &s->tensors->rows[i];
        const int64_t n = tensor_elements(whole);
        const struct split_runs runs = store_runs(s, i, s->split ? split_number(s->split) : 0);
        float *all = mem_alloc((size_t)n * sizeof *all);
        for (int64_t k = 0; k < n; k++)
            all[k] = (float)(sin((double)(k * k) + (double)i) * (1 + (double)i / 10));
        split_cut(floats(s->spots[STORE_GRADIENTS][own->block].array) + own->offset, all, &runs,
                  sizeof *all);
        free(all);
    }
}

/* Makes three updates of this rank's shares of the blocks. */
static void update_shares(struct optimizer *a, struct store *s, struct comm *c)
{
    for (int t = 1; t <= 3; t++) {
        struct optimizer_update u;
        set_own_gradients(s);
        optimizer_begin(&u, a, s, c, 2, 0.1, t);
        for (int b = 0; b < s->tensors->blocks; b++) {
            struct ops_array at[STORE_BLOCKS];
            for (int kind = 0; kind < STORE_BLOCKS; kind++)
                at[kind] = store_fetch(s, kind, b, MODE_WRITE, 1);
            const struct ops_array state[OPS_STATES] = { at[STORE_PARAMETERS], at[STORE_MOMENT1],
                                                         at[STORE_MOMENT2] };
            optimizer_update_block(&u, b, state, at[STORE_GRADIENTS]);
            for (int kind = 0; kind < STORE_BLOCKS; kind++)
                store_release(s, kind, b, 1);
        }
        optimizer_end(&u);
    }
}

struct sharing_run {
    struct optimizer optimizer;
    int grid[2];               /* ranks that share tensors */
    int data;                  /* ranks that share the optimizer's state */
    const struct store *whole; /* after its updates */
    double worst[8];           /* of each rank's weights */
};

static struct store open_part(const struct sharing_run *r, struct model *own, struct ops *o,
                              const struct model *whole, int rank)
{
    struct store s;
    unsigned char *moments = optimizer_moments(r->optimizer.kind, &own->tensors);
    unsigned char *uncut = optimizer_whole(r->optimizer.kind, &own->tensors);
    struct store_config c = { .moments = moments,
                              .whole = uncut,
                              .split = own->split,
                              .unsplit = &whole->tensors,
                              .ranks = r->data,
                              .zero = r->data > 1,
                              .rank = rank };
    cr_assert_eq(store_open(&s, o, &own->tensors, &c, NULL, 1), 0);
    free(moments);
    free(uncut);
    return s;
}

static double worst_weight(const struct store *s, const struct store *whole)
{
    double worst = 0;
    for (size_t i = 0; i < s->tensors->count; i++) {
        const struct tensor *all = &whole->tensors->rows[i], *row = &s->tensors->rows[i];
        const struct split_part own = layout_own(&s->layout, s->tensors, i);
        const struct split_runs runs = store_runs(s, i, split_number(s->split));
        const float *w = floats(s->spots[STORE_PARAMETERS][row->block].array) + row->offset;
        float *want = mem_alloc((size_t)tensor_elements(row) * sizeof *want);
        split_cut(want, floats(whole->spots[STORE_PARAMETERS][row->block].array) + all->offset,
                  &runs, sizeof *want);
        for (int64_t k = own.first; k < own.first + own.count; k++)
            worst = fmax(worst, fabs((double)w[k] - want[k]));
        free(want);
    }
    return worst;
}

static void update_part(void *ctx, struct comm *c)
{
    struct sharing_run *r = ctx;
    struct optimizer a = r->optimizer;
    struct ops *o = ops_open("cpu", 1);
    struct model own, whole;
    comm_regroup(c, 1, r->grid[0], r->grid[1]);
    const struct split split = comm_split(c);
    cr_assert_eq(model_init(&whole, &small), 0);
    cr_assert_eq(model_init_split(&own, &small, &split), 0);
    struct store s = open_part(r, &own, o, &whole, c->rank[COMM_DATA]);
    update_shares(&a, &s, c);
    r->worst[c->rank[COMM_WORLD]] = worst_weight(&s, r->whole);
    store_close(&s);
    model_release(&own);
    model_release(&whole);
    ops_free(o);
}

static void check_shared(struct optimizer a, double tolerance)
{
    struct ops *o = ops_open("cpu", 1);
    struct model m;
    cr_assert_eq(model_init(&m, &small), 0);
    for (int i = 0; i < 6; i++) {
        static const int grids[][2] = { { 2, 1 }, { 1, 2 }, { 2, 2 } };
        const int data = 1 + i % 2, *grid = grids[i / 2], ranks = data * grid[0] * grid[1];
        struct sharing_run r = { .optimizer = a, .data = 1, .grid = { grid[0], grid[1] } };
        struct store s = open_part(&r, &m, o, &m, 0);
        struct optimizer b = a;
        update_shares(&b, &s, NULL);
        r.whole = &s;
        r.data = data;
        struct threads *w = threads_new(ranks);
        threads_run(w, update_part, &r);
        threads_free(w);
        for (int q = 0; q < ranks; q++)
            cr_assert_lt(r.worst[q], tolerance, "kind %d: %g", a.kind, r.worst[q]);
        store_close(&s);
    }
    model_release(&m);
    ops_free(o);
}

Test(optimizer, ranks_that_share_tensors_make_the_update_of_one)
{
    for (int kind = OPTIMIZER_ADAMW; kind <= OPTIMIZER_MUON; kind++)
        check_shared(an_optimizer((enum optimizer_kind)kind), 1e-6);
}
