#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/err.h"
#include "train/step/schedule.h"

static void near(double a, double b)
{
    cr_assert(fabs(a - b) <= 1e-12 * fmax(fabs(a), fabs(b)), "%.17g is not %.17g", a, b);
}

Test(schedule, warms_up_in_steps_and_reaches_the_peak)
{
    struct schedule s;
    cr_assert_eq(schedule_init(&s, "cosine", 1.0, 0.1, 110, 10), 0);
    near(schedule_rate(&s, 0), 0.1); /* the first update moves */
    near(schedule_rate(&s, 4), 0.5);
    near(schedule_rate(&s, 9), 1.0);
    near(schedule_rate(&s, 10), 1.0);
}

Test(schedule, cosine_passes_its_middle_and_nears_the_floor)
{
    struct schedule s;
    schedule_init(&s, "cosine", 1.0, 0.2, 110, 10);
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
    schedule_init(&s, "linear", 1.0, 0.0, 100, 0);
    near(schedule_rate(&s, 0), 1.0);
    near(schedule_rate(&s, 25), 0.75);
    near(schedule_rate(&s, 99), 0.01);
}

Test(schedule, constant_warms_up_too)
{
    struct schedule s;
    schedule_init(&s, "constant", 2.0, 0.0, 100, 4);
    near(schedule_rate(&s, 0), 0.5);
    near(schedule_rate(&s, 3), 2.0);
    near(schedule_rate(&s, 99), 2.0);
}

Test(schedule, constant_has_no_floor_that_could_be_above_it)
{
    struct schedule s;
    cr_assert_eq(schedule_init(&s, "constant", 1e-5, 3e-4, 100, 0), 0);
    near(schedule_rate(&s, 99), 1e-5);
    near(s.floor, 1e-5);
    cr_assert_eq(schedule_init(&s, "linear", 1e-5, 3e-4, 100, 0), -1);
}

Test(schedule, warmup_below_one_is_a_share)
{
    struct schedule s;
    schedule_init(&s, "linear", 1, 0, 286000, 0.005995);
    cr_assert_eq(s.warmup, 1714);
    schedule_init(&s, "linear", 1, 0, 100, 0.29);
    cr_assert_eq(s.warmup, 29);
    schedule_init(&s, "linear", 1, 0, 10, 0.01);
    cr_assert_eq(s.warmup, 0);
    near(schedule_rate(&s, 0), 1);
}

Test(schedule, refuses_what_makes_no_sense)
{
    struct schedule s;
    cr_assert_eq(schedule_init(&s, "cosine", 1e-4, 1e-3, 10, 0), -1);
    cr_assert(strstr(err_get(), "is above"));
    cr_assert_eq(schedule_init(&s, "cosine", 1, 0, 10, 2.5), -1);
    cr_assert(strstr(err_get(), "neither a share below 1 nor a whole number"));
    cr_assert_eq(schedule_init(&s, "cosine", 1, 0, 10, 11), -1);
    cr_assert(strstr(err_get(), "longer than the training"));
}

Test(schedule, warmup_may_take_the_whole_training)
{
    struct schedule s;
    cr_assert_eq(schedule_init(&s, "cosine", 1, 0, 10, 10), 0);
    near(schedule_rate(&s, 9), 1);
    near(schedule_rate(&s, 10), 0);
}

/* ---- the other ways down: at 0, at the end of the warm-up, in the middle, at the end --------- */

Test(schedule, polynomial_is_a_power_of_linear)
{
    struct schedule s;
    schedule_init(&s, "polynomial", 1.0, 0.1, 110, 10);
    near(schedule_rate(&s, 60), 0.55); /* power 1 */
    schedule_init(&s, "polynomial:2", 1.0, 0.1, 110, 10);
    near(schedule_rate(&s, 0), 0.1);
    near(schedule_rate(&s, 10), 1.0);
    near(schedule_rate(&s, 60), 0.1 + 0.9 * 0.25);
    near(schedule_rate(&s, 110), 0.1);
}

/* The rate is 4e-4, with 128 updates of warm-up, and falls by the factor exp(-0.051) every 512
 * updates. */
Test(schedule, exponential_falls_in_steps)
{
    struct schedule s;
    schedule_init(&s, "exponential:0.051:512", 4e-4, 1e-7, 20000, 128);
    near(schedule_rate(&s, 63), 2e-4);
    near(schedule_rate(&s, 128), 4e-4);
    near(schedule_rate(&s, 128 + 511), 4e-4);
    near(schedule_rate(&s, 128 + 512), 4e-4 * exp(-0.051));
    near(schedule_rate(&s, 128 + 10 * 512 + 7), 4e-4 * exp(-0.51));
    schedule_init(&s, "exponential:1:512", 4e-4, 1e-7, 20000, 128);
    near(schedule_rate(&s, 20000), 1e-7); /* no lower than the floor */
}

Test(schedule, wsd_is_stable_until_the_cooldown)
{
    struct schedule s;
    cr_assert_eq(schedule_init(&s, "wsd", 1.0, 0.2, 100, 10), 0); /* wsd:0.2 */
    near(schedule_rate(&s, 0), 0.1);
    near(schedule_rate(&s, 10), 1.0);
    near(schedule_rate(&s, 79), 1.0);
    near(schedule_rate(&s, 80), 1.0);
    near(schedule_rate(&s, 90), 0.6);
    near(schedule_rate(&s, 99), 0.24);
    near(schedule_rate(&s, 100), 0.2);
    cr_assert_eq(schedule_init(&s, "wsd:90", 1.0, 0.2, 100, 10), 0);
    cr_assert_eq(schedule_init(&s, "wsd:91", 1.0, 0.2, 100, 10), -1);
    cr_assert(strstr(err_get(), "are longer than the training"));
    cr_assert_eq(schedule_init(&s, "wsd:1.5", 1.0, 0.2, 100, 10), -1);
    cr_assert_eq(schedule_init(&s, "wsd:0", 1.0, 0.2, 100, 10), 0);
    near(schedule_rate(&s, 99), 1.0);
}

/* Tables with which BERT was trained: the rate is .009 from update 21 on; and a line to .00599729
 * at update 2000 in steps of 16 updates. */
Test(schedule, rates_have_no_other_peak_floor_or_warmup)
{
    struct schedule s;
    cr_assert_eq(schedule_init(&s, "0:2e-5,3:1e-3,6:1e-4", 1e-5, 3e-4, 10, 100), 0);
    cr_assert_eq(s.warmup, 0);
    near(s.peak, 1e-3);
    near(s.floor, 1e-4);
    schedule_release(&s);
    cr_assert_eq(schedule_init(&s, "0:2e-5,3:1e-3,6:1e-4", 1e-5, 3e-4, 3, 0), 0);
    near(s.peak, 2e-5); /* no update has the other rates */
    near(s.floor, 2e-5);
    schedule_release(&s);
}

Test(schedule, rates_hold_until_the_next_one)
{
    struct schedule s;
    cr_assert_eq(schedule_init(&s, "0:0.00082,10:4.9e-3,21:.009,208:0.0014", 1, 0, 300, 0), 0);
    near(schedule_rate(&s, 0), 0.00082);
    near(schedule_rate(&s, 9), 0.00082);
    near(schedule_rate(&s, 20), 0.0049);
    near(schedule_rate(&s, 21), 0.009);
    near(schedule_rate(&s, 207), 0.009);
    near(schedule_rate(&s, 300), 0.0014);
    schedule_release(&s);

    struct buf text = BUF_INIT;
    for (int i = 0; i < 126; i++)
        buf_addf(&text, "%s%d:%.17g", i ? "," : "", 16 * i, 1e-7 + (0.00599729 - 1e-7) * i / 125);
    cr_assert_eq(schedule_init(&s, text.data, 1, 0, 300, 0), 0);
    buf_release(&text);
    near(schedule_rate(&s, 0), 1e-7);
    near(schedule_rate(&s, 15), 1e-7);
    near(schedule_rate(&s, 1999), 1e-7 + (0.00599729 - 1e-7) * 124 / 125);
    near(schedule_rate(&s, 2000), 0.00599729);
    near(schedule_rate(&s, 7008), 0.00599729);
    schedule_release(&s);
}

Test(schedule, refuses_what_is_none)
{
    static const char *const cases[][2] = {
        { "0:1,x:2", "rate 'x:2' is not of the form STEP:RATE" },
        { "0:1,5", "rate '5' is not of the form STEP:RATE" },
        { "0:1,", "rate '' is not of the form STEP:RATE" },
        { "0:1,5:nan", "rate '5:nan' is not of the form STEP:RATE" },
        { "0:1,5:1e-3z", "is not of the form STEP:RATE" },
        { "0:1,0:2", "must be for a later step than the rate before it" },
        { "3:1,5:2", "rate '3:1' must be for step 0" },
        { "", "--schedule '' is none of cosine|linear|" },
        { "cosines", "--schedule 'cosines' is none of cosine|linear|" },
        { "cosine:1", "the numbers behind cosine" },
        { "polynomial:-1", "the numbers behind polynomial" },
        { "polynomial:nan", "the numbers behind polynomial" },
        { "exponential:0.1:0", "the numbers behind exponential" },
        { "exponential:0.1:1.5", "the numbers behind exponential" },
        { "exponential:0.1:2:3", "the numbers behind exponential" },
        { "wsd:x", "the numbers behind wsd" },
    };
    struct schedule s;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cr_assert_eq(schedule_init(&s, cases[i][0], 1, 0, 300, 0), -1, "%s", cases[i][0]);
        cr_assert(strstr(err_get(), cases[i][1]), "%s", err_get());
        schedule_release(&s);
    }
}
