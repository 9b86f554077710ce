/* Scores of classes, in cases worked out by hand; beside scikit-learn and scipy in
 * tests/peers/classify.py. */
#include <criterion/criterion.h>

#include <math.h>

#include "eval/class_scores.h"

Test(class_scores, two_classes)
{
    const int32_t labels[] = { 1, 1, 1, 0, 0, 0, 0, 1 }, said[] = { 1, 1, 0, 1, 0, 0, 0, 1 };
    struct class_scores s; /* 3 right of class 1, one wrong each way */
    class_scores(&s, labels, said, 8, 2);
    cr_assert_eq(s.accuracy, 0.75);
    cr_assert_eq(s.f1, 0.75);
    cr_assert_float_eq(s.matthews, 0.5, 1e-15); /* (3 * 3 - 1 * 1) / 16 */
}

Test(class_scores, classes_that_do_not_occur)
{
    const int32_t labels[] = { 0, 0, 2, 2 }, said[] = { 0, 2, 2, 2 }, same[] = { 0, 0, 0, 0 };
    struct class_scores s;
    class_scores(&s, labels, said, 4, 5);
    cr_assert_float_eq(s.f1, (2.0 / 3 + 0.8) / 2, 1e-15); /* of the two that occur */
    class_scores(&s, labels, same, 4, 5);
    cr_assert_eq(s.matthews, 0);
    class_scores(&s, same, same, 4, 2);
    cr_assert_eq(s.f1, 0); /* class 1 does not occur */
    cr_assert_eq(s.accuracy, 1);
}

Test(class_scores, correlations)
{
    const double x[] = { 1, 2, 3, 4 }, y[] = { 10, 20, 20, 100 }, flat[] = { 3, 3, 3, 3 };
    cr_assert_float_eq(class_pearson(x, x, 4), 1, 1e-15);
    cr_assert_float_eq(class_pearson(x, y, 4), 135 / sqrt(5 * 5275), 1e-14);
    cr_assert_float_eq(class_spearman(x, y, 4), 4.5 / sqrt(5 * 4.5), 1e-14); /* ranks 1 2.5 2.5 4 */
    cr_assert(isnan(class_pearson(x, flat, 4)) && isnan(class_spearman(flat, x, 4)));
}
