/* Matrices of files: their rows in any order, transposed or not, and what is no number. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"
#include "model/formats/matrix.h"

static struct matrix matrix_of(const void *data, enum ops_type type, int64_t O, int64_t I)
{
    return (struct matrix){
        .data = data, .type = type, .O = O, .I = I, .path = "f", .name = "t", .offset = 100
    };
}

/* More rows than a thread makes at a time. Row o has the numbers 8 o, 8 o + 1, ... */
Test(matrix, rows_in_the_order_of_the_model)
{
    enum { O = 72, I = 5, HEAD = 8 };
    struct pool *pool = pool_new(2);
    for (int form = 0; form < 3; form++) { /* as they are; transposed; in pair order */
        float data[O * I];
        for (int64_t o = 0; o < O; o++)
            for (int64_t i = 0; i < I; i++) {
                /* rows i and HEAD / 2 + i of a head lie side by side */
                const int64_t r = o % HEAD, half = HEAD / 2;
                const int64_t paired = o - r + (r < half ? 2 * r : 2 * (r - half) + 1);
                const int64_t at = form == 1 ? i * O + o : form == 2 ? paired * I + i : o * I + i;
                data[at] = (float)(8 * o + i);
            }
        struct matrix m = matrix_of(data, OPS_F32, O, I);
        m.turned = form == 1;
        m.pairs = form == 2 ? HEAD : 0;
        cr_expect_eq(matrix_is(&m, OPS_F32, 0), form == 0);
        for (int half = 0; half < 2; half++) {
            char *made = matrix_make(&m, half ? OPS_F16 : OPS_F32, 0, pool);
            float got[O * I];
            cr_assert(made, "%s", err_get());
            stored_read(half ? OPS_F16 : OPS_F32, got, made, O * I);
            for (int64_t k = 0; k < O * I; k++)
                cr_expect_eq(got[k], 8 * (k / I) + k % I, "form %d, number %d: %g", form, (int)k,
                             (double)got[k]);
            free(made);
        }
    }
    pool_free(pool);
}

Test(matrix, kinds_that_are_only_copied)
{
    struct matrix m = matrix_of(NULL, OPS_Q8, 16, 32);
    cr_expect(matrix_is(&m, OPS_Q8, 0) && !matrix_is(&m, OPS_Q8, 1) && !matrix_is(&m, OPS_Q4, 0));
    m.grouped = 1;
    cr_expect(matrix_is(&m, OPS_Q8, 1) && !matrix_is(&m, OPS_Q8, 0));
}

/* The error names the byte of the file. What is only copied is not looked at. */
Test(matrix, what_is_no_number)
{
    float x[3] = { 1, 2, NAN };
    const unsigned char halves[6] = { 0, 0x3C, 0, 0x7C, 0, 0 }; /* 1, infinity, 0 */
    struct pool *pool = pool_new(1);
    struct matrix m = matrix_of(x, OPS_F32, 1, 3);
    cr_expect_null(matrix_make(&m, OPS_F16, 0, pool));
    cr_expect_str_eq(err_get(), "f: tensor 't' holds what is no finite number, at byte 108");
    x[2] = -INFINITY;
    cr_expect_null(matrix_make(&m, OPS_BF16, 0, pool));
    cr_expect_str_eq(err_get(), "f: tensor 't' holds what is no finite number, at byte 108");
    char *made = matrix_make(&m, OPS_F32, 0, pool);
    cr_assert(made && !memcmp(made, x, sizeof x));
    free(made);
    m = matrix_of(halves, OPS_F16, 3, 1);
    cr_expect_null(matrix_make(&m, OPS_F32, 0, pool));
    cr_expect_str_eq(err_get(), "f: tensor 't' holds what is no finite number, at byte 102");
    pool_free(pool);
}
