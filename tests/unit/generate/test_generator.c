/* Texts from a model that expects one letter after the other. */
#include <criterion/criterion.h>

#include "common/base/err.h"
#include "generate/generator.h"
#include "tests/unit/arrays.h"

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

/* Returns the log probability of token i of a text, if the text began at token `first`. */
static double rank_after(struct generator *g, const struct generation *one, size_t first, size_t i)
{
    SCOPED(buf) text = BUF_INIT;
    struct start start = { 0 };
    struct generation other = { 0 };
    for (size_t k = first; k < i; k++) {
        size_t n;
        const char *token = tokenizer_token(g->tokenizer, one->ids.data[k], &n);
        buf_add(&text, token, n);
    }
    cr_assert_eq(generator_prompt(g, &start, text.data, text.len), 0, "%s", err_get());
    cr_assert_eq(start.ids.count, i - first);
    cr_assert_eq(generation_begin(g, &other, &start, 0, 1), 0);
    cr_expect_eq(other.ids.data[i - first], one->ids.data[i], "token %zu", i);
    const double rank = other.logprobs[0].rank;
    generation_release(&other);
    start_release(&start);
    return rank;
}

/* The model has 16 positions. A text that has used them up goes on as if its last 8 tokens were all
 * of it; again when these have grown to 16. So does a long prompt. */
Test(generator, a_text_goes_on_beyond_the_positions)
{
    static const struct {
        size_t i, first;
    } rows[] = { { 2, 0 },   { 16, 0 },  { 17, 9 },  { 18, 9 },  { 25, 9 },
                 { 26, 18 }, { 27, 18 }, { 34, 18 }, { 35, 27 }, { 35, 0 } };
    const struct model_config config = { .layers = 2,
                                         .width = 16,
                                         .heads = 2,
                                         .inner = 64,
                                         .positions = 16,
                                         .vocabulary = 30, /* that of successor */
                                         .epsilon = 1e-5,
                                         .init_std = .5 };
    struct model m;
    struct ops_array blocks[4];
    struct ops *o = ops_open("cpu", 1);
    struct tokenizer *t = tokenizer_load("tests/data/successor");
    cr_assert(o && t && !model_init(&m, &config), "%s", err_get());
    for (int b = 0; b < m.tensors.blocks; b++)
        blocks[b] = ops_buffer(o, OPS_F32, m.tensors.block_size[b]);
    for (size_t i = 0; i < m.tensors.count; i++)
        tensor_initialise(&m.tensors.rows[i], 1, 0, tensor_elements(&m.tensors.rows[i]),
                          floats(blocks[m.tensors.rows[i].block]) + m.tensors.rows[i].offset);
    for (int slide = 0; slide < 2; slide++) {
        struct generator g = { .sampler = SAMPLER_DEFAULT, .length = 36, .alternatives = 1 };
        struct generation one = { 0 }, *const texts[] = { &one };
        struct start start = { 0 };
        g.sampler.temperature = 0;
        g.slide = slide;
        g.special = 1;
        generator_open(&g, t, o, &m, blocks);
        g.ends.count = 0;
        cr_assert_eq(generator_prompt(&g, &start, "qx", 2), 0, "%s", err_get());
        cr_assert_eq(generation_begin(&g, &one, &start, 1, 1), 0);
        while (!one.finish)
            cr_assert_eq(generator_step(&g, texts, 1), 0, "%s", err_get());
        cr_expect_str_eq(finish_name(one.finish), slide ? "length" : "positions");
        cr_expect_eq(one.ids.count, slide ? 38 : 17, "%zu", one.ids.count);
        for (size_t k = 0; slide && k < sizeof rows / sizeof *rows; k++)
            cr_expect_float_eq(one.logprobs[2 * (rows[k].i - 2)].rank,
                               rank_after(&g, &one, rows[k].first, rows[k].i), 1e-4, "token %zu",
                               rows[k].i);
        generation_release(&one);
        start_release(&start);
        generator_release(&g);
    }
    for (int b = 0; b < m.tensors.blocks; b++)
        ops_buffer_free(o, blocks[b]);
    model_release(&m);
    ops_free(o);
    tokenizer_free(t);
}
