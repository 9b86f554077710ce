/* Texts from a model that expects one letter after the other. */
#include <criterion/criterion.h>

#include "common/base/err.h"
#include "generate/generator.h"

/* Two texts are generated; the second begins a step later. Each ends after `length` tokens, and
 * each token is the likeliest of its row of log probabilities. */
Test(generator, ends_at_the_length_with_a_row_for_each_token)
{
    struct generator g = { .sampler = SAMPLER_DEFAULT, .length = 3, .alternatives = 2 };
    struct generation texts[2] = { 0 }, *const both[] = { &texts[0], &texts[1] };
    struct start start = { 0 };
    g.sampler.temperature = 0;
    cr_assert_eq(generator_load(&g, "tests/data/successor", NULL, "cpu", 2, OPS_F32), 0, "%s",
                 err_get());
    cr_assert_eq(generator_prompt(&g, &start, "ab", 2), 0, "%s", err_get());
    cr_assert_eq(generation_begin(&g, both[0], &start, 1, 0), 0);
    cr_assert_eq(generator_step(&g, both, 1), 0);
    cr_assert_eq(generation_begin(&g, both[1], &start, 1, 1), 0);
    cr_assert_eq(generator_step(&g, both, 2), 0);
    cr_assert(texts[0].finish == FINISH_LENGTH && !texts[1].finish);
    cr_assert_eq(generator_step(&g, both + 1, 1), 0);
    cr_assert_eq(texts[1].finish, FINISH_LENGTH);
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(texts[i].logprob_count, 3 * 3);
        for (size_t k = 0; k < 3; k++) {
            const struct order_rank *row = texts[i].logprobs + 3 * k;
            cr_expect_eq(texts[i].ids.data[2 + k], 2 + k);
            cr_expect(row[0].item == 2 + k && row[1].item == 2 + k && row[2].item != 2 + k);
            cr_expect(row[0].rank == row[1].rank && row[1].rank > row[2].rank);
        }
        generation_release(both[i]);
    }
    start_release(&start);
    generator_release(&g);
}
