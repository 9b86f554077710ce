#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "common/err.h"
#include "train/schedule.h"

static void near(double a, double b)
{
    cr_assert(fabs(a - b) <= 1e-12 * fmax(fabs(a), fabs(b)), "%.17g is not %.17g", a, b);
}

Test(schedule, warms_up_in_steps_and_reaches_the_peak)
{
    struct schedule s;
    cr_assert_eq(schedule_init(&s, SCHEDULE_COSINE, 1.0, 0.1, 110, 10), 0);
    near(schedule_rate(&s, 0), 0.1); /* the first update moves */
    near(schedule_rate(&s, 4), 0.5);
    near(schedule_rate(&s, 9), 1.0);
    near(schedule_rate(&s, 10), 1.0);
}

Test(schedule, cosine_passes_its_middle_and_nears_the_floor)
{
    struct schedule s;
    schedule_init(&s, SCHEDULE_COSINE, 1.0, 0.2, 110, 10);
    near(schedule_rate(&s, 60), 0.6);
    near(schedule_rate(&s, 35), 0.2 + 0.8 * 0.5 * (1 + cos(M_PI / 4)));
    near(schedule_rate(&s, 110), 0.2);
    for (int t = 11; t < 110; t++)
        cr_assert_lt(schedule_rate(&s, t), schedule_rate(&s, t - 1));
    cr_assert_gt(schedule_rate(&s, 109), 0.2);
}

Test(schedule, linear_falls_evenly)
{
    struct schedule s;
    schedule_init(&s, SCHEDULE_LINEAR, 1.0, 0.0, 100, 0);
    near(schedule_rate(&s, 0), 1.0);
    near(schedule_rate(&s, 25), 0.75);
    near(schedule_rate(&s, 99), 0.01);
}

Test(schedule, constant_warms_up_too)
{
    struct schedule s;
    schedule_init(&s, SCHEDULE_CONSTANT, 2.0, 0.0, 100, 4);
    near(schedule_rate(&s, 0), 0.5);
    near(schedule_rate(&s, 3), 2.0);
    near(schedule_rate(&s, 99), 2.0);
}

Test(schedule, warmup_below_one_is_a_share)
{
    struct schedule s;
    schedule_init(&s, SCHEDULE_LINEAR, 1, 0, 286000, 0.005995);
    cr_assert_eq(s.warmup, 1714);
    schedule_init(&s, SCHEDULE_LINEAR, 1, 0, 10, 0.01);
    cr_assert_eq(s.warmup, 0);
    near(schedule_rate(&s, 0), 1);
}

Test(schedule, refuses_what_makes_no_sense)
{
    struct schedule s;
    cr_assert_eq(schedule_init(&s, SCHEDULE_COSINE, 1e-4, 1e-3, 10, 0), -1);
    cr_assert(strstr(err_get(), "is above"));
    cr_assert_eq(schedule_init(&s, SCHEDULE_COSINE, 1, 0, 10, 2.5), -1);
    cr_assert(strstr(err_get(), "neither a share below 1 nor a whole number"));
    cr_assert_eq(schedule_init(&s, SCHEDULE_COSINE, 1, 0, 10, 11), -1);
    cr_assert(strstr(err_get(), "longer than the training"));
}

Test(schedule, warmup_may_take_the_whole_training)
{
    struct schedule s;
    cr_assert_eq(schedule_init(&s, SCHEDULE_COSINE, 1, 0, 10, 10), 0);
    near(schedule_rate(&s, 9), 1);
    near(schedule_rate(&s, 10), 0);
}
