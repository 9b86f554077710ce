#include <criterion/criterion.h>

#include "train/defaults.h"

Test(defaults, the_learning_rate_falls_with_the_size)
{
    cr_expect_float_eq(defaults_learning_rate(124000000, 0, 0), 6e-4, 1e-12);
    cr_expect_float_eq(defaults_learning_rate(1900000, 0, 0), 1.7e-3, 1e-12);
    cr_expect_float_eq(defaults_learning_rate(175000000000, 0, 0), 9.8e-5, 1e-12);
    cr_expect_float_eq(defaults_learning_rate(1000, 0, 0), 3e-3, 1e-12);
    cr_expect_float_eq(defaults_learning_rate(124000000, 1, 0), 3e-4, 1e-12);
    cr_expect_float_eq(defaults_learning_rate(124000000, 1, 1), 3e-5, 1e-12);
}

Test(defaults, a_micro_batch_grows_with_the_size)
{
    cr_expect_eq(defaults_micro_batch(12000000, 128, 0), 23);  /* 3000 tokens */
    cr_expect_eq(defaults_micro_batch(124000000, 1024, 0), 4); /* 4096, the most */
    cr_expect_eq(defaults_micro_batch(124000000, 100000, 0), 1);
    cr_expect_eq(defaults_micro_batch(1000, 16, 0), 128); /* 2048, the least */
}

Test(defaults, a_micro_batch_divides_the_global_batch)
{
    cr_expect_eq(defaults_micro_batch(1000, 16, 40), 40);
    cr_expect_eq(defaults_micro_batch(1000, 16, 7), 7);
    cr_expect_eq(defaults_micro_batch(1000, 16, 23), 23);
    cr_expect_eq(defaults_micro_batch(124000000, 1024, 7), 1); /* of 4 at most */
    cr_expect_eq(defaults_micro_batch(124000000, 1024, 6), 3);
}

Test(defaults, warm_up_is_a_share_of_the_updates)
{
    cr_expect_eq(defaults_warmup(20), 2);
    cr_expect_eq(defaults_warmup(0), 0);
    cr_expect_eq(defaults_warmup(5000), 100);
    cr_expect_eq(defaults_warmup(300000), 3000);
}
