#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "generate/sample.h"

enum { V = 1000 };

static struct sampler plain(void)
{
    return (struct sampler){ .temperature = 1, .top_p = 1, .repetition_penalty = 1 };
}

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
    cr_expect_eq(sampler_next(&s, logits, 4, NULL, 0, &r), 1);
    cr_expect_eq(r.count, 0);
    sampler_release(&s);
}

Test(sample, penalty_counts_a_token_once)
{
    float logits[] = { 3, -2, 1.6f, 0 };
    uint32_t seen[] = { 0, 1, 0, 0 };
    struct sampler s = plain();
    struct rng r = { 0 };
    s.temperature = 0;
    s.repetition_penalty = 2;
    cr_expect_eq(sampler_next(&s, logits, 4, seen, 4, &r), 2);
    cr_expect_float_eq(logits[0], 1.5, 1e-7);
    cr_expect_float_eq(logits[1], -4, 1e-7);
    cr_expect_float_eq(logits[2], 1.6, 1e-6);
    /* the scratch forgets: the same again */
    float again[] = { 3, -2, 1.6f, 0 };
    cr_expect_eq(sampler_next(&s, again, 4, seen, 4, &r), 2);
    sampler_release(&s);
}

/* Draws many times and compares shares with probabilities: 5 standard deviations. */
static void expect_shares(struct sampler *s, const float *logits, int n, const double *p)
{
    enum { DRAWS = 200000 };
    int hits[8] = { 0 };
    struct rng r = { .key = 7 };
    for (int i = 0; i < DRAWS; i++) {
        float copy[8];
        memcpy(copy, logits, (size_t)n * sizeof *copy);
        hits[sampler_next(s, copy, n, NULL, 0, &r)]++;
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

/* Against the definition, with all of the vocabulary sorted. */
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
        int64_t got = sampler_candidates(&s, logits, V, NULL, 0);
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
            uint32_t id = sampler_next(&s, logits, V, NULL, 0, &r);
            if (pass)
                cr_expect_eq(id, first[i]);
            first[i] = id;
        }
        cr_expect_eq(r.count, 50);
        sampler_release(&s);
    }
}

/* Not finite: some id of the vocabulary comes out, and the caller sees what its logit is. */
Test(sample, survives_what_is_no_number)
{
    struct rng r = { 0 };
    for (int k = 0; k < 4; k++) {
        float logits[] = { NAN, NAN, NAN, k == 3 ? 1 : NAN };
        struct sampler s = plain();
        s.top_k = k == 1 ? 2 : 0;
        s.top_p = k == 2 ? .5 : 1;
        uint32_t id = sampler_next(&s, logits, 4, NULL, 0, &r);
        cr_expect_lt(id, 4);
        cr_expect_eq(!isnan(logits[id]), k == 3);
        sampler_release(&s);
    }
}
