#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "common/base/rng.h"
#include "train/samples/batches.h"

Test(batches, permutation_takes_each_place_once)
{
    for (uint64_t n = 1; n <= 300; n += n < 20 ? 1 : 37) {
        unsigned char *seen = mem_zalloc(n, 1);
        for (uint64_t i = 0; i < n; i++) {
            uint64_t j = batches_permute(99, i, n);
            cr_assert_lt(j, n);
            cr_assert_eq(seen[j]++, 0, "n=%lu: %lu twice", (unsigned long)n, (unsigned long)j);
        }
        free(seen);
    }
}

Test(batches, permutation_depends_on_the_key_and_mixes)
{
    enum { N = 1000 };
    int same_place = 0, kept_order = 0, equal_keys = 0;
    for (uint64_t i = 0; i < N; i++) {
        uint64_t j = batches_permute(1, i, N);
        same_place += j == i;
        equal_keys += j == batches_permute(2, i, N);
        kept_order += i && j == batches_permute(1, i - 1, N) + 1;
    }
    /* each is about 1 on average for random permutations */
    cr_assert_lt(same_place, 10);
    cr_assert_lt(equal_keys, 10);
    cr_assert_lt(kept_order, 10);
}

Test(batches, permutation_spreads_evenly)
{
    enum { N = 1 << 14 };
    double sum[4] = { 0 };
    for (uint64_t i = 0; i < N; i++)
        sum[i / (N / 4)] += (double)batches_permute(7, i, N);
    for (int q = 0; q < 4; q++) { /* mean of N/4 uniform numbers: sigma = N / sqrt(12 N / 4) */
        double mean = sum[q] / (N / 4.0), sigma = N / 3.4641 / 64;
        cr_assert_float_eq(mean, N / 2.0, 5 * sigma, "quarter %d: mean %g", q, mean);
    }
}

/* Returns the number of a permutation of 0 to 4 in lexicographic order: 0 to 119. */
static int number_of(const uint64_t order[5])
{
    int number = 0;
    for (int i = 0; i < 5; i++) {
        int smaller = 0;
        for (int k = i + 1; k < 5; k++)
            smaller += order[k] < order[i];
        number = number * (5 - i) + smaller;
    }
    return number;
}

/* The chi-square statistic over all 120 permutations has the mean 119 and the standard deviation
 * sqrt(2 * 119) = 15.4. */
Test(batches, all_permutations_of_a_small_set_are_as_frequent)
{
    enum { TRIALS = 120 * 1000 };
    int counts[120] = { 0 };
    double chi = 0;
    for (uint64_t key = 0; key < TRIALS; key++) {
        uint64_t order[5];
        for (uint64_t i = 0; i < 5; i++)
            order[i] = batches_permute(rng_key(0, key), i, 5);
        counts[number_of(order)]++;
    }
    for (int i = 0; i < 120; i++)
        chi += (counts[i] - 1000.0) * (counts[i] - 1000.0) / 1000.0;
    cr_expect(chi > 119 - 5 * 15.4 && chi < 119 + 5 * 15.4, "chi-square is %g", chi);
}

/* Counts neighbours i - 1, i whose places in a permutation are also neighbours, in this order.
 * Their number in a random permutation has the mean (n - 1) / n and a variance of about 1. */
Test(batches, neighbours_do_not_stay_together)
{
    enum { TRIALS = 2500 };
    static const uint64_t sizes[] = { 7, 64, 100, 1000 };
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        uint64_t n = sizes[s], kept = 0;
        for (uint64_t key = 0; key < TRIALS; key++)
            for (uint64_t i = 1; i < n; i++)
                kept += batches_permute(rng_key(1, key), i, n) ==
                        batches_permute(rng_key(1, key), i - 1, n) + 1;
        double mean = (double)kept / TRIALS, want = (double)(n - 1) / (double)n;
        cr_expect_float_eq(mean, want, 5.0 / 50, "n=%d: %g", (int)n, mean);
    }
}

Test(batches, permutation_of_a_huge_set_stays_in_range)
{
    uint64_t n = (UINT64_C(1) << 40) + 12345;
    for (uint64_t i = n - 100; i < n; i++)
        cr_assert_lt(batches_permute(3, i, n), n);
}

static struct samples *made(int64_t vocabulary)
{
    struct samples_config c = { .T = 7, .seed = 5, .vocabulary = vocabulary };
    return samples_make(&c, MADE_SEQUENCES);
}

static struct step_config generated(int64_t B, int64_t A)
{
    return (struct step_config){ .seed = 5, .B = B, .T = 7, .A = A };
}

static struct batches *of_one(const struct samples *s, const struct step_config *c,
                              uint64_t position)
{
    return batches_new(s, c, 0, 1, position);
}

Test(batches, labels_are_the_ids_one_place_on)
{
    struct samples *samples = made(100);
    struct step_config c = generated(3, 2);
    struct batches *b = of_one(samples, &c, 0);
    struct step_batch s;
    cr_assert_eq(batches_next(b, &s), 0);
    cr_assert_eq(s.tokens, 2 * 3 * 7);
    for (int m = 0; m < 2; m++) {
        cr_assert_eq(s.micro[m].B, 3);
        for (int i = 0; i < 3 * 7; i++) {
            cr_assert_lt(s.micro[m].ids[i], 100);
            if (i % 7 < 6)
                cr_assert_eq((uint32_t)s.micro[m].labels[i], s.micro[m].ids[i + 1]);
        }
    }
    batches_free(b);
    samples_close(samples);
}

/* Takes the next step of A micro-batches from b, and writes its ids to `out`, one micro-batch after
 * the other. */
static void take_ids(uint32_t *out, struct batches *b, int64_t A)
{
    struct step_batch s;
    cr_assert_eq(batches_next(b, &s), 0);
    for (int64_t m = 0; m < A; out += s.micro[m].B * s.micro[m].T, m++)
        memcpy(out, s.micro[m].ids, (size_t)(s.micro[m].B * s.micro[m].T) * sizeof *out);
}

/* The samples must not depend on how they are divided into micro-batches, steps and runs. */
Test(batches, samples_are_numbered_for_ever)
{
    enum { STEPS = 5, TOKENS = 6 * 7 };
    uint32_t all[STEPS][TOKENS], ids[TOKENS];
    struct samples *samples = made(100);
    struct step_config c = generated(3, 2), d = generated(1, 6);
    struct batches *b = of_one(samples, &c, 0), *e = of_one(samples, &d, 0);
    for (int k = 0; k < STEPS; k++) {
        take_ids(all[k], b, 2);
        take_ids(ids, e, 6);
        cr_assert_arr_eq(ids, all[k], sizeof all[k]);
    }
    batches_free(b);
    batches_free(e);
    b = of_one(samples, &c, 3 * 6); /* as after a resume */
    take_ids(ids, b, 2);
    cr_assert_arr_eq(ids, all[3], sizeof all[3]);
    take_ids(ids, b, 2);
    cr_assert_arr_eq(ids, all[4], sizeof all[4]);
    batches_free(b);
    samples_close(samples);
}

/* A source of samples for tests: all tokens of sample k are k. */
static int read_numbered(const struct samples *s, uint64_t k, struct sequences *out)
{
    (void)s;
    int64_t row = sequences_add(out);
    for (int64_t t = 0; t < out->T; t++)
        out->ids[row * out->T + t] = (uint32_t)k;
    return 0;
}

/* Each epoch must have every sample once, in an order of its own, which follows from the seed and
 * the number of the epoch. */
Test(batches, each_epoch_has_its_own_order)
{
    enum { SAMPLES = 20, EPOCHS = 4, TOKENS = SAMPLES * 7 };
    const struct samples samples = { .count = SAMPLES, .most = 1, .T = 7, .read = read_numbered };
    uint32_t all[EPOCHS][TOKENS], ids[TOKENS];
    struct step_config c = generated(5, SAMPLES / 5);
    struct batches *b = of_one(&samples, &c, 0);
    for (int epoch = 0; epoch < EPOCHS; epoch++) {
        uint32_t seen = 0;
        take_ids(all[epoch], b, c.A);
        for (int i = 0; i < SAMPLES; i++)
            seen |= 1u << all[epoch][7 * i];
        cr_assert_eq(seen, (1u << SAMPLES) - 1, "epoch %d: %x", epoch, seen);
        for (int k = 0; k < epoch; k++)
            cr_assert_arr_neq(all[epoch], all[k], sizeof all[k], "epochs %d and %d", k, epoch);
    }
    batches_free(b);
    b = of_one(&samples, &c, 2 * SAMPLES); /* as after a resume */
    take_ids(ids, b, c.A);
    cr_assert_arr_eq(ids, all[2], sizeof ids);
    batches_free(b);
    c.seed++;
    b = of_one(&samples, &c, 0);
    take_ids(ids, b, c.A);
    cr_assert_arr_neq(ids, all[0], sizeof ids, "another seed");
    batches_free(b);
}

Test(batches, ranks_share_the_samples_of_one_process)
{
    struct samples *samples = made(100);
    struct step_config one = generated(2, 4), half = generated(2, 2);
    uint32_t ids[4 * 14], part[2 * 14];
    struct batches *b = of_one(samples, &one, 0);
    take_ids(ids, b, 4);
    for (int rank = 0; rank < 2; rank++) {
        struct batches *h = batches_new(samples, &half, rank, 2, 0);
        take_ids(part, h, 2);
        for (int m = 0; m < 2; m++)
            cr_assert_arr_eq(part + m * 14, ids + (rank * 2 + m) * 14, 14 * sizeof *ids);
        batches_free(h);
    }
    batches_free(b);
    samples_close(samples);
}

Test(batches, freeing_early_does_not_hang)
{
    struct samples *samples = made(100);
    struct step_config c = generated(3, 2);
    batches_free(of_one(samples, &c, 0));
    batches_free(NULL);
    samples_close(samples);
    samples_close(NULL);
}
