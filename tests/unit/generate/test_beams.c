/* Beam search, beside all continuations of two tokens. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "common/base/err.h"
#include "generate/beams.h"

enum { V = 30, END = 29, WIDTH = 40, ALL = 1 + (V - 1) * V };

static struct sampler_bias biases[V]; /* so that few continuations are equally probable */
static double first[V], second[V][V]; /* log p of a token after "ab", and after "ab" and a token */

/* Sets out[] to log p, with the biases, of each token after this prompt. */
static void look(struct generator *g, const char *prompt, size_t n, double *out)
{
    struct start start = { 0 };
    cr_assert_eq(generator_prompt(g, &start, prompt, n), 0, "%s", err_get());
    const double sum = logprobs_sum(start.logits, V);
    for (int i = 0; i < V; i++)
        out[i] = start.logits[i] - sum + (double)biases[i].bias;
    start_release(&start);
}

static int downwards(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x > y ? -1 : x < y;
}

Test(beams, the_best_of_all_continuations)
{
    static double all[ALL];
    struct generator g = { .sampler = SAMPLER_DEFAULT, .length = 2 };
    for (uint32_t i = 0; i < V; i++)
        biases[i] = (struct sampler_bias){ i, -0.013f * (float)(i * 7 % V) };
    g.sampler.biases = biases;
    g.sampler.bias_count = V;
    cr_assert_eq(generator_load(&g, "tests/data/successor", NULL, "cpu", 2, OPS_F32), 0, "%s",
                 err_get());
    look(&g, "ab", 2, first);
    for (int t = 0; t < END; t++)
        look(&g, (char[]){ 'a', 'b', "abcdefghijklmnopqrstuvwxyz. \n"[t] }, 3, second[t]);
    for (int penalty = 0; penalty < 3; penalty++) {
        struct start start = { 0 };
        struct beams b = { .width = WIDTH, .length_penalty = penalty };
        struct generation one = { 0 };
        size_t n = 0;
        int more;
        all[n++] = first[END];
        for (int t = 0; t < END; t++)
            for (int u = 0; u < V; u++)
                all[n++] = (first[t] + second[t][u]) / pow(2, penalty);
        qsort(all, n, sizeof *all, downwards);
        cr_assert_eq(generator_prompt(&g, &start, "ab", 2), 0, "%s", err_get());
        beams_begin(&b, &g, &start);
        while ((more = beams_step(&b)) > 0)
            ;
        cr_assert_eq(more, 0, "%s", err_get());
        for (int i = 0; i < WIDTH; i++) {
            const double score = beams_take(&b, i, &one);
            const uint32_t *ids = one.ids.data + 2;
            const int tokens = (int)one.ids.count - 2;
            cr_assert(tokens == 2 || (tokens == 1 && ids[0] == END));
            cr_expect_float_eq(score, all[i], 1e-4, "%d: %f, not %f", i, score, all[i]);
            const double sum = tokens == 1 ? first[END] : first[ids[0]] + second[ids[0]][ids[1]];
            cr_expect_float_eq(score, sum / pow(tokens, penalty), 1e-4, "%d", i);
            cr_expect_eq(one.finish, ids[tokens - 1] == END ? FINISH_END_OF_TEXT : FINISH_LENGTH);
        }
        generation_release(&one);
        beams_release(&b);
        start_release(&start);
    }
    generator_release(&g);
}
