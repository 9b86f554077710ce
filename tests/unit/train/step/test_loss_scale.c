#include <criterion/criterion.h>

#include "common/err.h"
#include "train/step/loss_scale.h"

Test(loss_scale, a_static_one_stays)
{
    struct loss_scale s;
    cr_assert_eq(loss_scale_parse(&s, "50000", 3), 0);
    for (int i = 0; i < 9; i++)
        loss_scale_passed(&s);
    cr_assert_eq(s.scale, 50000);
    cr_assert_eq(loss_scale_overflowed(&s), 0); /* nothing to be done */
    cr_assert_eq(s.scale, 50000);
}

Test(loss_scale, an_automatic_one_doubles_and_halves)
{
    struct loss_scale s;
    cr_assert_eq(loss_scale_parse(&s, "auto", 3), 0);
    cr_assert_eq(s.scale, 65536);
    loss_scale_passed(&s);
    loss_scale_passed(&s);
    cr_assert_eq(s.scale, 65536);
    loss_scale_passed(&s);
    cr_assert_eq(s.scale, 131072);
    loss_scale_passed(&s);
    loss_scale_passed(&s);
    cr_assert_eq(loss_scale_overflowed(&s), 1);
    cr_assert_eq(s.scale, 65536);
    loss_scale_passed(&s);
    loss_scale_passed(&s);
    cr_assert_eq(s.scale, 65536); /* counted anew */
    for (int i = 0; i < 16; i++)
        cr_assert_eq(loss_scale_overflowed(&s), 1);
    cr_assert_eq(s.scale, 1);
    cr_assert_eq(loss_scale_overflowed(&s), 0); /* it is not the scale */
    cr_assert_eq(s.scale, 1);
}

Test(loss_scale, other_words_are_errors)
{
    const char *const bad[] = { "", "0", "-1", "nan", "inf", "12x", "automatic", "1e99", "auto " };
    struct loss_scale s;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        cr_assert_eq(loss_scale_parse(&s, bad[i], 1), -1, "%s", bad[i]);
}
