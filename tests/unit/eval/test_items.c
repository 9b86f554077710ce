#include <criterion/criterion.h>

#include "common/base/err.h"
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

/* A model of 8 positions sees 8 tokens and predicts 8, the last of which it does not see. */
Test(items, what_can_be_scored)
{
    static struct scorer scorer;
    scorer.net.model.config.positions = 8;
    struct items g = ITEMS_INIT(&scorer, NULL, NULL);
    g.item = 3;
    cr_assert_eq(items_add(&g, 0, 9, 8, 5), 0, "%s", err_get());
    cr_assert_eq(items_add(&g, 10, 30, 8, 6), 0, "%s", err_get()); /* cut at its beginning */
    cr_assert_eq(items_add(&g, 4, 6, 1, 7), 0, "%s", err_get());
    cr_assert_eq(items_add(&g, 0, 5, 4, 8), 0, "%s", err_get());
    static const struct {
        size_t begin;
        int64_t count, scored;
    } want[] = { { 0, 9, 8 }, { 21, 9, 8 }, { 4, 2, 1 }, { 0, 5, 4 } };
    cr_assert_eq(g.count, 4);
    for (size_t i = 0; i < g.count; i++) {
        const struct window *w = &g.windows[i];
        cr_expect(w->begin == want[i].begin && w->count == want[i].count, "window %zu", i);
        cr_expect(w->scored == want[i].scored && w->mark == 5 + (int64_t)i && w->item == 3);
    }
    cr_expect_eq(items_add(&g, 0, 30, 9, 0), -1);
    cr_expect_str_eq(err_get(), "9 tokens must be scored, but the model has only 8 positions");
    cr_expect_eq(items_add(&g, 0, 5, 0, 0), -1);
    cr_expect_str_eq(err_get(), "a text to score, or the text before it, has no tokens");
    cr_expect_eq(items_add(&g, 0, 5, 5, 0), -1);
    cr_expect_str_eq(err_get(), "a text to score, or the text before it, has no tokens");
    cr_expect_eq(g.count, 4);
    items_release(&g);
}
