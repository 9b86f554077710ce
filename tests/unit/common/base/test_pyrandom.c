/* Python's random numbers: values printed by CPython 3.11 and NumPy. */
#include <criterion/criterion.h>
#include <string.h>

#include "common/base/pyrandom.h"

/* For each seed the results of CPython's getrandbits(32) twice, random(), randint(0, 30521),
 * randint(1, 1), randrange(2**32), and of shuffle on 0 to 9. */
static const struct {
    uint64_t seed;
    uint32_t first, second;
    double real;
    uint64_t below, one, word;
    uint32_t order[10];
} python[] = {
    { 0,
      3626764237,
      1654615998,
      0.7579544029403025,
      13781,
      1,
      2195908194,
      { 9, 0, 3, 5, 1, 8, 2, 7, 4, 6 } },
    { 1984,
      1561342373,
      4236877661,
      0.49420568181919666,
      11128,
      1,
      1656935721,
      { 2, 5, 6, 9, 8, 7, 1, 0, 4, 3 } },
    { 4294967301,
      675479763,
      2085189291,
      0.2824866316461999,
      19806,
      1,
      4183155336,
      { 0, 2, 8, 4, 1, 6, 7, 9, 3, 5 } },
    { UINT64_MAX,
      93740670,
      1068495656,
      0.3380953268613758,
      6945,
      1,
      2641946051,
      { 6, 2, 1, 8, 7, 4, 9, 3, 0, 5 } },
};

Test(pyrandom, is_pythons)
{
    for (size_t i = 0; i < sizeof python / sizeof *python; i++) {
        struct pyrandom r;
        uint32_t order[10];
        for (uint32_t k = 0; k < 10; k++)
            order[k] = k;
        pyrandom_seed(&r, python[i].seed);
        cr_expect_eq(pyrandom_u32(&r), python[i].first);
        cr_expect_eq(pyrandom_u32(&r), python[i].second);
        cr_expect_eq(pyrandom_real(&r), python[i].real);
        cr_expect_eq(pyrandom_below(&r, 30522), python[i].below);
        cr_expect_eq(1 + pyrandom_below(&r, 1), python[i].one);
        cr_expect_eq(pyrandom_below(&r, (uint64_t)1 << 32), python[i].word);
        pyrandom_shuffle(&r, order, 10, sizeof *order, pyrandom_below);
        cr_expect_eq(memcmp(order, python[i].order, sizeof order), 0);
    }
}

/* For each seed the results of NumPy's RandomState(seed): shuffle of 0 to 11; shuffle of 0 to 999
 * (its first five numbers and its last one); randint(0, 2**32). */
static const struct {
    uint32_t seed, order[12], head[5], tail, word;
} numpy[] = {
    { 0, { 6, 11, 4, 10, 2, 8, 1, 7, 9, 3, 0, 5 }, { 251, 75, 941, 658, 886 }, 600, 1179290860 },
    { 1234,
      { 7, 8, 11, 2, 9, 10, 1, 0, 4, 5, 6, 3 },
      { 670, 498, 322, 944, 474 },
      158,
      3100367677 },
    { UINT32_MAX,
      { 11, 8, 5, 9, 1, 10, 6, 0, 4, 7, 2, 3 },
      { 917, 28, 988, 420, 23 },
      779,
      154336035 },
};

Test(pyrandom, is_numpys)
{
    for (size_t i = 0; i < sizeof numpy / sizeof *numpy; i++) {
        struct pyrandom r;
        uint32_t order[1000];
        for (uint32_t k = 0; k < 12; k++)
            order[k] = k;
        pyrandom_seed_numpy(&r, numpy[i].seed);
        pyrandom_shuffle(&r, order, 12, sizeof *order, pyrandom_below_numpy);
        cr_expect_eq(memcmp(order, numpy[i].order, sizeof numpy[i].order), 0);
        for (uint32_t k = 0; k < 1000; k++)
            order[k] = k;
        pyrandom_shuffle(&r, order, 1000, sizeof *order, pyrandom_below_numpy);
        cr_expect_eq(memcmp(order, numpy[i].head, sizeof numpy[i].head), 0);
        cr_expect_eq(order[999], numpy[i].tail);
        cr_expect_eq(pyrandom_u32(&r), numpy[i].word);
    }
}

Test(pyrandom, draws_below_numbers_of_more_than_32_bits)
{
    struct pyrandom r;
    uint64_t n = ((uint64_t)1 << 40) + 1, most = 0;
    pyrandom_seed_numpy(&r, 1);
    for (int i = 0; i < 1000; i++) {
        uint64_t v = pyrandom_below_numpy(&r, n);
        cr_expect_lt(v, n);
        most = v > most ? v : most;
    }
    cr_expect_gt(most, (uint64_t)1 << 39);
}

/* Random(seed).sample(range(n), k): from a list, and with numbers drawn again. */
static const struct {
    uint64_t seed;
    uint32_t n;
    size_t k;
    uint32_t picks[10];
} samples[] = {
    { 1234, 10, 3, { 7, 1, 0 } },
    { 1240, 21, 5, { 20, 14, 11, 16, 17 } },
    { 1300, 22, 5, { 11, 9, 12, 0, 21 } },
    { 1234, 85, 10, { 56, 14, 0, 11, 74, 4, 10, 12, 45, 30 } },
    { 1234, 86, 10, { 56, 14, 0, 11, 74, 4, 85, 10, 12, 45 } },
    { 9, 5, 5, { 3, 2, 1, 0, 4 } },
    { 77, 100000, 7, { 33125, 42717, 25862, 31521, 25313, 15081, 38315 } },
    { 5, 1, 1, { 0 } },
    { 6, 4, 0, { 0 } },
};

Test(pyrandom, samples_as_python)
{
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        struct pyrandom r;
        uint32_t picks[10];
        pyrandom_seed(&r, samples[i].seed);
        pyrandom_sample(&r, picks, samples[i].k, samples[i].n);
        cr_expect_arr_eq(picks, samples[i].picks, samples[i].k * sizeof *picks, "sample %zu", i);
    }
}
