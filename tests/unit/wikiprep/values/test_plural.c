/* Which plural form a number needs, by the rules in wikiprep/languages, and the units of
 * measurement in these files. */
#include <criterion/criterion.h>
#include <string.h>

#include "wikiprep/values/plural.h"
#include "wikiprep/values/unit.h"

/* Checks the plural form of each of the numbers. forms: the expected forms, one digit per
 * number. */
static void expect_forms(const char *lang, const char *forms)
{
    static const double numbers[] = { 0, 1, 2, 3, 5, 6, 10, 11, 12, 20, 21, 22, 100, 111, 1.5 };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        cr_expect_eq(plural_form(lang, numbers[i]), forms[i] - '0', "%s %g: %d, not %c", lang,
                     numbers[i], plural_form(lang, numbers[i]), forms[i]);
}

Test(plural, forms)
{
    expect_forms("en", "101111111111111");
    expect_forms("xx", "101111111111111"); /* not known */
    expect_forms("fr", "001111111111110");
    expect_forms("ru", "201122222201223");
    expect_forms("pl", "201122222221223");
    expect_forms("cs", "301133333333332");
    expect_forms("ar", "012333344444545");
    expect_forms("lt", "301111333301332");
    expect_forms("cy", "012354555555555");
    expect_forms("is", "101111111101110");
}

Test(units, found)
{
    struct measure m;
    cr_assert(measure_find(span_of("e6acre"), &m));
    cr_expect_str_eq(m.unit->symbol, "acres");
    cr_expect_str_eq(m.power->name, "million ");
    cr_assert(measure_find(span_of("ft in"), &m));
    cr_expect_eq(m.pair->parts, 12);
    cr_expect_str_eq(m.unit->name, "inch");
    struct measure fahrenheit = { .unit = unit_find(span_of("°F")) };
    struct measure celsius = { .unit = unit_find(span_of("celsius")) };
    cr_assert(fahrenheit.unit && celsius.unit);
    cr_expect(fabs(measure_turn(212, &fahrenheit, &celsius) - 100) < 1e-9);
    cr_expect_null(unit_find(span_of("none")));
}
