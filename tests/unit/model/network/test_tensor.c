#include <criterion/criterion.h>

#include <math.h>
#include <string.h>

#include "common/base/mem.h"
#include "model/network/tensor.h"

static struct tensor_table small_table(void)
{
    struct tensor_table t = { 0 };
    tensor_add(&t, 0, "a", 3, 5, INIT_NORMAL, 0.5f);
    tensor_add(&t, 0, "b", 16, 0, INIT_ONE, 0);
    tensor_add(&t, 0, "c", 17, 0, INIT_ZERO, 0);
    tensor_add(&t, 1, "d", 2, 2, INIT_NORMAL, 0.5f);
    return t;
}

Test(tensor, layout)
{
    struct tensor_table t = small_table();
    cr_assert_eq(t.count, 4);
    cr_assert_eq(t.blocks, 2);
    cr_assert_eq(t.rows[0].offset, 0);
    cr_assert_eq(t.rows[1].offset, 16);
    cr_assert_eq(t.rows[2].offset, 32);
    cr_assert_eq(t.block_size[0], 64);
    cr_assert_eq(t.rows[3].offset, 0);
    cr_assert_eq(t.block_size[1], 16);
    cr_assert_eq(tensor_parameters(&t), 15 + 16 + 17 + 4);
    cr_assert_eq(t.rows[0].rank, 2);
    cr_assert_eq(t.rows[1].rank, 1);
    cr_assert_eq(tensor_find(&t, "c"), &t.rows[2]);
    cr_assert_null(tensor_find(&t, "e"));
    tensor_release(&t);
    cr_assert_null(t.rows);
}

Test(tensor, initial_values)
{
    struct tensor_table t = small_table();
    float x[17], y[17];
    tensor_initialise(&t.rows[1], 1, 0, tensor_elements(&t.rows[1]), x);
    for (int i = 0; i < 16; i++)
        cr_assert_eq(x[i], 1);
    tensor_initialise(&t.rows[2], 1, 0, tensor_elements(&t.rows[2]), x);
    for (int i = 0; i < 17; i++)
        cr_assert_eq(x[i], 0);
    tensor_initialise(&t.rows[0], 1, 0, tensor_elements(&t.rows[0]), x);
    tensor_initialise(&t.rows[0], 1, 0, tensor_elements(&t.rows[0]), y);
    cr_assert_eq(0, memcmp(x, y, 15 * sizeof *x));
    tensor_initialise(&t.rows[0], 2, 0, tensor_elements(&t.rows[0]), y);
    cr_assert_neq(0, memcmp(x, y, 15 * sizeof *x)); /* another seed */
    struct tensor renamed = t.rows[0];
    strcpy(renamed.name, "z");
    tensor_initialise(&renamed, 1, 0, tensor_elements(&renamed), y);
    cr_assert_neq(0, memcmp(x, y, 15 * sizeof *x)); /* another name */
    tensor_release(&t);
}

/* Any part of a tensor has the values that it has in the whole. */
Test(tensor, initial_values_of_parts)
{
    struct tensor row = {
        .name = "w", .rank = 1, .shape = { 17 }, .init = INIT_NORMAL, .std = 0.02f
    };
    float all[17], part[17];
    tensor_initialise(&row, 5, 0, tensor_elements(&row), all);
    for (int64_t first = 0; first <= 17; first++)
        for (int64_t n = 0; first + n <= 17; n++) {
            memset(part, 0, sizeof part);
            tensor_initialise(&row, 5, first, n, part);
            cr_assert_eq(0, memcmp(part, all + first, (size_t)n * sizeof *part));
            cr_assert(n == 17 || part[n] == 0);
        }
}

/* The mean, the standard deviation, the skewness and the tails of a million numbers must be those
 * of a normal distribution. */
Test(tensor, normal_distribution)
{
    struct tensor row = {
        .name = "w", .rank = 2, .shape = { 1000, 1001 }, .init = INIT_NORMAL, .std = 0.02f
    };
    int64_t n = tensor_elements(&row), beyond_2 = 0, beyond_4 = 0;
    float *x = mem_alloc((size_t)n * sizeof *x);
    tensor_initialise(&row, 1234, 0, tensor_elements(&row), x);
    double moments[5] = { 0 };
    for (int64_t i = 0; i < n; i++) {
        double z = x[i] / 0.02;
        for (int m = 1; m < 5; m++)
            moments[m] += pow(z, m) / (double)n;
        beyond_2 += fabs(z) > 2;
        beyond_4 += fabs(z) > 4;
    }
    cr_assert_float_eq(moments[1], 0, 0.005);
    cr_assert_float_eq(moments[2], 1, 0.01);
    cr_assert_float_eq(moments[3], 0, 0.02);
    cr_assert_float_eq(moments[4], 3, 0.05);
    cr_assert_float_eq((double)beyond_2 / (double)n, 0.0455, 0.001);
    cr_assert(beyond_4 > 30 && beyond_4 < 110, "%lld", (long long)beyond_4);
    double pairs = 0; /* neighbours, which come from one draw, are independent */
    for (int64_t i = 0; i + 1 < n; i += 2)
        pairs += x[i] / 0.02 * x[i + 1] / 0.02 / ((double)n / 2);
    cr_assert_float_eq(pairs, 0, 0.01);
    free(x);
}
