#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "common/base/err.h"
#include "common/base/order.h"
#include "generate/sample.h"
#include "tests/unit/gauss.h"

enum { V = 1000 };

static struct sampler plain(void)
{
    return (
        struct sampler){ .temperature = 1, .top_p = 1, .typical_p = 1, .repetition_penalty = 1 };
}

static const struct sampler_text none;

static void random_logits(float *logits, uint64_t seed)
{
    struct rng r = { .key = seed };
    for (int i = 0; i < V; i++)
        logits[i] = (float)(3 * rng_normal(&r));
}

Test(sample, greedy_takes_the_first_of_the_largest)
{
    float logits[] = { 1, 5, 2, 5 };
    struct sampler s = plain();
    struct rng r = { 0 };
    s.temperature = 0;
    cr_expect_eq(sampler_next(&s, logits, 4, &none, &r), 1);
    cr_expect_eq(r.count, 0);
    sampler_release(&s);
}

Test(sample, penalty_counts_a_token_once)
{
    float logits[] = { 3, -2, 1.6f, 0 };
    uint32_t seen[] = { 0, 1, 0, 0 };
    const struct sampler_text text = { seen, 4, 4 };
    struct sampler s = plain();
    struct rng r = { 0 };
    s.temperature = 0;
    s.repetition_penalty = 2;
    cr_expect_eq(sampler_next(&s, logits, 4, &text, &r), 2);
    cr_expect_float_eq(logits[0], 1.5, 1e-7);
    cr_expect_float_eq(logits[1], -4, 1e-7);
    cr_expect_float_eq(logits[2], 1.6, 1e-6);
    /* the scratch forgets: the same again */
    float again[] = { 3, -2, 1.6f, 0 };
    cr_expect_eq(sampler_next(&s, again, 4, &text, &r), 2);
    sampler_release(&s);
}

/* Draws many times and compares the frequency of each id i with p[i]. A difference of 5 standard
 * deviations is an error. */
static void expect_shares(struct sampler *s, const float *logits, int n, const double *p)
{
    enum { DRAWS = 200000 };
    int hits[8] = { 0 };
    struct rng r = { .key = 7 };
    for (int i = 0; i < DRAWS; i++) {
        float copy[8];
        memcpy(copy, logits, (size_t)n * sizeof *copy);
        hits[sampler_next(s, copy, n, &none, &r)]++;
    }
    for (int i = 0; i < n; i++)
        cr_expect_float_eq((double)hits[i] / DRAWS, p[i],
                           5 * sqrt(p[i] * (1 - p[i]) / DRAWS) + 1e-12, "token %d: %d of %d, p %f",
                           i, hits[i], DRAWS, p[i]);
    sampler_release(s);
}

Test(sample, frequencies_follow_the_softmax)
{
    float logits[] = { 0, logf(2), logf(3), logf(4) };
    struct sampler s = plain();
    expect_shares(&s, logits, 4, (double[]){ .1, .2, .3, .4 });
}

Test(sample, temperature_sharpens)
{
    float logits[] = { 0, logf(2), logf(3), logf(4) };
    struct sampler s = plain();
    s.temperature = .5; /* p^2: 1 4 9 16 of 30 */
    expect_shares(&s, logits, 4, (double[]){ 1 / 30., 4 / 30., 9 / 30., 16 / 30. });
}

Test(sample, top_k_keeps_k_and_ties)
{
    float logits[] = { 0, logf(2), logf(3), logf(4), logf(2) };
    struct sampler s = plain();
    s.top_k = 2;
    expect_shares(&s, logits, 5, (double[]){ 0, 0, 3 / 7., 4 / 7., 0 });
    s.top_k = 3;
    expect_shares(&s, logits, 5, (double[]){ 0, 2 / 11., 3 / 11., 4 / 11., 2 / 11. });
}

Test(sample, top_p_keeps_the_fewest_that_reach_it)
{
    float logits[] = { 0, logf(2), logf(3), logf(4) };
    struct sampler s = plain();
    s.top_p = .65;
    expect_shares(&s, logits, 4, (double[]){ 0, 0, 3 / 7., 4 / 7. });
    s.top_p = .75;
    expect_shares(&s, logits, 4, (double[]){ 0, 2 / 9., 3 / 9., 4 / 9. });
    s.top_p = 1e-9; /* one is always left */
    expect_shares(&s, logits, 4, (double[]){ 0, 0, 0, 1 });
}

Test(sample, min_p_keeps_what_is_near_the_likeliest)
{
    float logits[] = { 0, logf(2), logf(3), logf(4) };
    struct sampler s = plain();
    s.min_p = .7;
    expect_shares(&s, logits, 4, (double[]){ 0, 0, 3 / 7., 4 / 7. });
    s.min_p = 1;
    expect_shares(&s, logits, 4, (double[]){ 0, 0, 0, 1 });
    s.min_p = .7;
    s.temperature = .5; /* 1 4 9 16: only 16 */
    expect_shares(&s, logits, 4, (double[]){ 0, 0, 0, 1 });
}

/* The probabilities .1 .2 .3 .4 have the entropy 1.28 and the surprises 2.30 1.61 1.20 .92, whose
 * distances from the entropy are 1.02 .33 .08 .36. So typical-p keeps first the 3rd id, then the
 * 2nd, the 4th and the 1st. */
Test(sample, typical_p_keeps_what_is_near_the_entropy)
{
    float logits[] = { 0, logf(2), logf(3), logf(4) };
    struct sampler s = plain();
    s.typical_p = .25;
    expect_shares(&s, logits, 4, (double[]){ 0, 0, 1, 0 });
    s.typical_p = .45;
    expect_shares(&s, logits, 4, (double[]){ 0, .4, .6, 0 });
    s.typical_p = .55;
    expect_shares(&s, logits, 4, (double[]){ 0, 2 / 9., 3 / 9., 4 / 9. });
}

Test(sample, typical_p_keeps_ties)
{
    float logits[] = { 0, 0, 0, logf(7) };
    struct sampler s = plain();
    s.typical_p = .01; /* entropy .94: .36 is at 1.41 of it, .7 at .58, three of .1 at 1.36 */
    expect_shares(&s, logits, 4, (double[]){ 0, 0, 0, 1 });
    float equal[] = { 0, 0, 0, 0 };
    expect_shares(&s, equal, 4, (double[]){ .25, .25, .25, .25 });
}

/* Compares min-p and typical-p with their definitions, computed with the whole vocabulary
 * sorted. */
Test(sample, filters_equal_their_definitions)
{
    static float logits[V];
    static double p[V], off[V];
    for (uint64_t seed = 0; seed < 100; seed++) {
        struct sampler s = plain();
        int typical = seed % 2;
        double X = .02 + .95 * (double)(seed / 2) / 50, sum = 0, most = 0, entropy = 0, edge = 0;
        random_logits(logits, seed);
        for (int i = 0; i < V; i++)
            sum += p[i] = exp((double)logits[i] / .8);
        for (int i = 0; i < V; i++) {
            p[i] /= sum;
            most = p[i] > most ? p[i] : most;
            entropy -= p[i] * log(p[i]);
        }
        for (int i = 0; i < V; i++)
            off[i] = fabs(-log(p[i]) - entropy);
        /* the least distance within which the probabilities reach X */
        for (int i = 0; i < V; i++) {
            double within = 0;
            for (int j = 0; j < V; j++)
                within += off[j] <= off[i] ? p[j] : 0;
            if (within >= X && (edge == 0 || off[i] < edge))
                edge = off[i];
        }
        s.temperature = .8;
        *(typical ? &s.typical_p : &s.min_p) = X;
        int64_t got = sampler_candidates(&s, logits, V, &none), want = 0;
        for (int i = 0; i < V; i++)
            want += typical ? off[i] <= edge : p[i] >= X * most;
        cr_assert_eq(got, want, "seed %lu: %ld, not %ld", (unsigned long)seed, (long)got,
                     (long)want);
        for (int64_t i = 0; i < got; i++) {
            uint32_t id = s.candidates[i].id;
            cr_assert(typical ? off[id] <= edge : p[id] >= X * most);
        }
        sampler_release(&s);
    }
}

Test(sample, bias_and_penalties_in_their_window)
{
    static const uint32_t ids[] = { 0, 1, 1, 2, 1, 3 }; /* two of the prompt */
    static const struct sampler_bias biases[] = { { 3, 10 }, { 4, -1 }, { 3, -2 } };
    struct sampler s = plain();
    struct sampler_text text = { ids, 6, 2 };
    float logits[] = { 4, 4, -4, 2, 1 };
    s.biases = biases;
    s.bias_count = 3;
    s.repetition_penalty = 2;
    s.presence = .5;
    s.frequency = .25;
    sampler_adjust(&s, logits, 5, &text);
    static const float all[] = { 2, 2 - 1, -8 - .75f, 5 - .75f, 0 };
    for (int i = 0; i < 5; i++)
        cr_expect_float_eq(logits[i], all[i], 1e-6, "token %d: %f", i, (double)logits[i]);
    float again[] = { 4, 4, -4, 2, 1 };
    s.window = 2; /* tokens 1 and 3 */
    sampler_adjust(&s, again, 5, &text);
    static const float last[] = { 4, 2 - .75f, -4, 5 - .75f, 0 };
    for (int i = 0; i < 5; i++)
        cr_expect_float_eq(again[i], last[i], 1e-6, "token %d: %f", i, (double)again[i]);
    sampler_release(&s);
}

/* Compares the ids that top-k and top-p keep with their definition, computed with the whole
 * vocabulary sorted. */
Test(sample, candidates_equal_the_definition)
{
    static float logits[V], sorted[V];
    for (uint64_t seed = 0; seed < 200; seed++) {
        struct sampler s = plain();
        s.top_k = (int64_t)(seed % 7) * 17;
        s.top_p = seed % 3 ? .05 + .9 * (double)seed / 200 : 1;
        s.temperature = .5 + (double)(seed % 5) / 4;
        random_logits(logits, seed);
        memcpy(sorted, logits, sizeof logits);
        for (int i = 1; i < V; i++) /* insertion sort, downwards */
            for (int j = i; j && sorted[j] > sorted[j - 1]; j--) {
                float swap = sorted[j];
                sorted[j] = sorted[j - 1];
                sorted[j - 1] = swap;
            }
        int64_t k = s.top_k ? s.top_k : V, want = 0;
        double sum = 0, reached = 0;
        for (int64_t i = 0; i < k; i++)
            sum += exp((double)sorted[i] / s.temperature);
        while (want < k && (want == 0 || s.top_p == 1 || reached < s.top_p * sum))
            reached += exp((double)sorted[want++] / s.temperature);
        int64_t got = sampler_candidates(&s, logits, V, &none);
        cr_assert_eq(got, want, "seed %lu: %ld, not %ld", (unsigned long)seed, (long)got,
                     (long)want);
        for (int64_t i = 0; i < got; i++)
            cr_assert(s.candidates[i].logit >= sorted[want - 1] &&
                      s.candidates[i].logit == logits[s.candidates[i].id]);
        sampler_release(&s);
    }
}

Test(sample, the_same_key_gives_the_same_tokens)
{
    static float logits[V];
    uint32_t first[50];
    for (int pass = 0; pass < 2; pass++) {
        struct sampler s = plain();
        struct rng r = { .key = 99 };
        s.top_k = 40;
        for (int i = 0; i < 50; i++) {
            random_logits(logits, (uint64_t)i);
            uint32_t id = sampler_next(&s, logits, V, &none, &r);
            if (pass)
                cr_expect_eq(id, first[i]);
            first[i] = id;
        }
        cr_expect_eq(r.count, 50);
        sampler_release(&s);
    }
}

/* With logits that are NaN, the result must still be an id of the vocabulary, and the id of a
 * finite logit if there is one. */
Test(sample, survives_what_is_no_number)
{
    struct rng r = { 0 };
    for (int k = 0; k < 6; k++) {
        float logits[] = { NAN, NAN, NAN, k == 3 ? 1 : NAN };
        struct sampler s = plain();
        s.top_k = k == 1 ? 2 : 0;
        s.top_p = k == 2 ? .5 : 1;
        s.min_p = k == 4 ? .5 : 0;
        s.typical_p = k == 5 ? .5 : 1;
        uint32_t id = sampler_next(&s, logits, 4, &none, &r);
        cr_expect_lt(id, 4);
        cr_expect_eq(!isnan(logits[id]), k == 3);
        sampler_release(&s);
    }
}

/* Compares order_top with its definition: id k of the result has exactly k ids before it, those
 * of greater logits, and those of equal logits and smaller ids. */
Test(sample, top_logprobs_equal_the_definition)
{
    static float logits[V];
    static struct order_rank top[V];
    for (uint64_t seed = 0; seed < 20; seed++) {
        const int64_t n = seed % 4 ? 1 + (int64_t)seed * 50 : V;
        double sum = 0;
        random_logits(logits, seed);
        for (int i = 0; i < V; i++)
            sum += exp((double)(logits[i] = roundf(4 * logits[i]) / 4));
        cr_expect_float_eq(logprobs_sum(logits, V), log(sum), 1e-9);
        cr_assert_eq(order_top(top, (size_t)n, logits, V, log(sum)), n);
        for (int64_t k = 0; k < n; k++) {
            int64_t before = 0;
            for (int i = 0; i < V; i++)
                before += logits[i] > logits[top[k].item] ||
                          (logits[i] == logits[top[k].item] && i < (int)top[k].item);
            cr_assert_eq(before, k);
            cr_assert_float_eq(top[k].rank, (double)logits[top[k].item] - log(sum), 1e-9);
        }
    }
}

Test(sample, biases_as_they_are_written)
{
    static const struct {
        const char *text;
        uint32_t id;
        float bias;
    } good[] = { { "0=1", 0, 1 },
                 { "7=-.5", 7, -.5f },
                 { "4294967295=1e6", UINT32_MAX, 1e6f },
                 { "12=-1000000", 12, -1e6f } };
    static const char *const bad[][2] = {
        { "", "not ID=X: a token's number and a number" },
        { "1", "not ID=X: a token's number and a number" },
        { "=1", "not ID=X: a token's number and a number" },
        { "1:2", "not ID=X: a token's number and a number" },
        { "-1=2", "not ID=X: a token's number and a number" },
        { " 1=2", "not ID=X: a token's number and a number" },
        { "4294967296=1", "not ID=X: a token's number and a number" },
        { "1=", "'' is no number from -1e6 to 1e6" },
        { "1=2x", "'2x' is no number from -1e6 to 1e6" },
        { "1=1000001", "'1000001' is no number from -1e6 to 1e6" },
        { "1=-1e7", "'-1e7' is no number from -1e6 to 1e6" },
        { "1=nan", "'nan' is no number from -1e6 to 1e6" },
    };
    struct sampler_bias b;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        cr_assert_eq(sampler_bias_parse(&b, good[i].text), 0, "%s", err_get());
        cr_expect(b.id == good[i].id && b.bias == good[i].bias, "%s", good[i].text);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        cr_expect_eq(sampler_bias_parse(&b, bad[i][0]), -1, "%s", bad[i][0]);
        cr_expect_str_eq(err_get(), bad[i][1]);
    }
}
