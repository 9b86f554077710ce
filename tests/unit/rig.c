#include "tests/unit/rig.h"

#include <criterion/criterion.h>

#include <math.h>

#include "common/base/err.h"
#include "model/compute/ops_update.h"
#include "tests/unit/arrays.h"

void rig_open(struct rig *r, const struct model_config *m, const struct step_config *e)
{
    rig_open_in(r, m, e, (struct store_config){ 0 });
}

void rig_open_in(struct rig *r, const struct model_config *m, const struct step_config *e,
                 struct store_config store)
{
    *r = (struct rig){ .ops = ops_open("cpu", 2) };
    cr_assert(r->ops, "%s", err_get());
    cr_assert_eq(model_init(&r->model, m), 0, "%s", err_get());
    engine_program(&r->program, e, &r->model, NULL);
    engine_rows(&store, e, &r->model, &r->program);
    cr_assert_eq(store_open(&r->store, r->ops, &r->model.tensors, &store, NULL, 7), 0, "%s",
                 err_get());
    comm_init(&r->comm);
    engine_open(&r->engine, e, &r->program, &r->model, r->ops, &r->store, &r->comm);
}

void rig_close(struct rig *r)
{
    engine_close(&r->engine);
    store_close(&r->store);
    ops_free(r->ops);
    model_release(&r->model);
    program_release(&r->program);
}

/* Returns the norm of the gradients in the store, summed tensor by tensor, as the engine does
 * it. */
static double norm_in_store(struct rig *r)
{
    double sum = 0;
    for (size_t i = 0; i < r->model.tensors.count; i++) {
        const struct tensor *row = &r->model.tensors.rows[i];
        const int64_t n = tensor_elements(row);
        double *squares = mem_zalloc((size_t)ops_pieces(n), sizeof *squares);
        struct ops_array g = store_fetch(&r->store, STORE_GRADIENTS, row->block, MODE_READ, 0);
        ops_sum_squares(r->ops, ops_host_array(squares, OPS_F64), g,
                        &(struct ops_run){ row->offset, n, 0 }, 1);
        for (int64_t p = 0; p < ops_pieces(n); p++)
            sum += squares[p];
        free(squares);
        store_release(&r->store, STORE_GRADIENTS, row->block, 0);
    }
    return sqrt(sum);
}

double rig_step(struct rig *r, int64_t number)
{
    double loss = engine_step(&r->engine, number, &r->batch, &r->score);
    cr_assert_eq(engine_norm(&r->engine), norm_in_store(r));
    return loss;
}

double rig_difference(const struct rig *a, const struct rig *b, int block)
{
    double most = 0, size = 0;
    for (size_t i = 0; i < a->model.tensors.count; i++) {
        const struct tensor *row = &a->model.tensors.rows[i];
        if (block >= 0 && row->block != block)
            continue;
        const float *x = floats(a->store.spots[STORE_GRADIENTS][row->block].array) + row->offset;
        const float *y = floats(b->store.spots[STORE_GRADIENTS][row->block].array) + row->offset;
        for (int64_t k = 0; k < tensor_elements(row); k++) {
            most = fmax(most, fabs((double)x[k] - y[k]));
            size = fmax(size, fabs((double)x[k]));
        }
    }
    cr_assert_gt(size, 0);
    return most / size;
}
