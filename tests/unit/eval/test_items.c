#include <criterion/criterion.h>

#include "eval/items.h"

/* Tokens, too, are not kept without end: a long text may have few that are scored. */
Test(items, many_tokens_are_scored_early)
{
    struct items g = ITEMS_INIT(NULL, NULL, NULL);
    ids_add_range(&g.ids, 0, 1 << 20);
    cr_assert_eq(items_end(&g), 0);
    cr_expect_eq(g.ids.count, 1 << 20);
    ids_add_range(&g.ids, 0, 1 << 22);
    cr_assert_eq(items_end(&g), 0);
    cr_expect_eq(g.ids.count, 0);
    items_release(&g);
}
