/* The pages of a wiki that are chosen by namespace and by category. */
#include "wikiprep/site/site.h"

#include <criterion/criterion.h>

#include "tests/unit/look.h"
#include "tests/unit/temp_file.h"

/* Returns the site of a wiki whose namespace 14 is "Sujet", or NULL with an error. */
static struct site *make_site(const struct site_choice *choice)
{
    struct dump_namespace spaces[] = { { 0, (char[]){ "" } }, { 14, (char[]){ "Sujet" } } };
    struct dump_site dump = DUMP_SITE_INIT;
    dump.namespaces = spaces;
    dump.count = 2;
    return site_new(&dump, choice);
}

Test(site, namespaces)
{
    static const struct {
        const char *list;
        int kept[4]; /* of the namespaces -2, 0, 1 and 14 */
    } cases[] = {
        { NULL, { 1, 1, 1, 1 } },       { "0", { 0, 1, 0, 0 } },
        { "-2,sujet", { 1, 0, 0, 1 } }, { "Talk,Category,0,0", { 0, 1, 1, 1 } },
        { "99", { 0, 0, 0, 0 } },
    };
    static const int keys[] = { -2, 0, 1, 14 };
    static const char *const bad[] = { "Moon", "0,Moon", "1x", "99999999999999999999" };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct site *s = make_site(&(struct site_choice){ .namespaces = cases[i].list });
        cr_assert(s, "%s", err_get());
        for (int k = 0; k < 4; k++)
            cr_expect_eq(site_takes_namespace(s, keys[k]), cases[i].kept[k], "%s: %d",
                         cases[i].list, keys[k]);
        site_free(s);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        cr_expect_null(make_site(&(struct site_choice){ .namespaces = bad[i] }));
        const char *comma = strchr(bad[i], ',');
        SCOPED(buf) want = buf_format("--namespaces: the wiki has no namespace '%s'",
                                      comma ? comma + 1 : bad[i]);
        cr_expect_str_eq(err_get(), want.data);
    }
}

Test(site, categories)
{
    static const struct {
        const char *choice[3], *lines; /* of the options; of the page */
        int kept;
    } cases[] = {
        { { NULL }, "", 1 },
        { { NULL }, "Moons\n", 1 },
        { { "moons" }, "A\nMoons\n", 1 },
        { { "moons" }, "A\nMoons of B\n", 0 },
        { { "moons" }, "", 0 },
        { { "Sujet:A_b", "Moons" }, "A b\n", 1 },
        { { "A:b" }, "A:b\n", 1 },
        { { "^Moons" }, "A\n", 1 },
        { { "^Moons" }, "", 1 },
        { { "^category:moons" }, "A\nMoons\n", 0 },
        { { "A", "^Moons" }, "A\nMoons\n", 0 },
        { { "A", "^Moons" }, "B\n", 0 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct site_choice choice = { 0 };
        for (int k = 0; cases[i].choice[k]; k++)
            opt_list_add(&choice.categories, cases[i].choice[k]);
        struct site *s = make_site(&choice);
        cr_assert(s, "%s", err_get());
        cr_expect_eq(site_takes_categories(s, cases[i].lines), cases[i].kept, "case %zu", i);
        site_free(s);
        free(choice.categories.items);
    }
}

Test(site, categories_of_a_file)
{
    static const char lines[] = "Moons\n^Stars\n";
    char *path = temp_file(lines, sizeof lines - 1);
    SCOPED(buf) name = buf_format("@%s", path);
    struct site_choice choice = { 0 };
    opt_list_add(&choice.categories, name.data);
    struct site *s = make_site(&choice);
    cr_assert(s, "%s", err_get());
    cr_expect(site_takes_categories(s, "Moons\n") && !site_takes_categories(s, "Moons\nStars\n"));
    site_free(s);
    drop_file(path);
    cr_expect_null(make_site(&choice));
    expect_error("No such file");
    free(choice.categories.items);
}
