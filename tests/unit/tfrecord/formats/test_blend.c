/* Blends: the sources that a text names, their weights to the last bit, and the order of samples.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/err.h"
#include "tfrecord/formats/blend.h"

static struct blend b;

static int parse(const char *text)
{
    return blend_parse(&b, &text, 1);
}

static void refused(const char *text, const char *error)
{
    cr_expect_eq(parse(text), -1, "%s", text);
    cr_expect_str_eq(err_get(), error);
    blend_release(&b);
}

Test(blend, sources_and_weights)
{
    static const char *const none[] = { "a",   "a,b",  "nanogpt:3", "a:", ":1",
                                        "a:x", "a:1x", "a:1:",      "" };
    static const char *const items[] = { "a:b:1,nanogpt:c:.5", "d:2.5" };
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        cr_expect_eq(parse(none[i]), 0, "%s", none[i]);
        blend_release(&b);
    }
    cr_assert_eq(blend_parse(&b, items, 2), 1, "%s", err_get());
    cr_assert_eq(b.count, 3);
    cr_expect_str_eq(b.paths[0], "a:b");
    cr_expect_str_eq(b.paths[1], "nanogpt:c");
    cr_expect_str_eq(b.paths[2], "d");
    cr_expect(b.weights[0] == 0.25 && b.weights[1] == 0.125 && b.weights[2] == 0.625);
    blend_release(&b);
    refused("a:1,b,c", "'b' has no weight: write PATH:WEIGHT for each source of a blend");
    refused("b,a:1", "'b' has no weight: write PATH:WEIGHT for each source of a blend");
    refused("a:0", "'a:0': the weight of a source must be above 0");
    refused("a:1,b:-1", "'b:-1': the weight of a source must be above 0");
    refused("a:1e999,b:1", "'a:1e999': the weight of a source must be above 0");
    refused("a:1e308,b:1e308", "'a': its weight is too small beside the sum of the weights");
    refused("a:1e300,b:1e-300", "'b': its weight is too small beside the sum of the weights");
}

/* The weights are added as NumPy adds them: fewer than 8 one by one, up to 128 in eight sums, more
 * in two halves. The last bits depend on it. */
Test(blend, weights_to_the_last_bit)
{
    static const struct {
        int count, at;
        double weight;
    } cases[] = {
        { 7, 0, 0x1.d22a97a1ac94fp-9 },    { 8, 3, 0x1.1f01cb3611f02p-5 },
        { 9, 7, 0x1.132f0f4d67dedp-3 },    { 128, 0, 0x1.41f17d8f0d7c5p-13 },
        { 128, 1, 0x1.7f505317ec0e7p-8 },  { 129, 0, 0x1.3d7cadf40a557p-13 },
        { 300, 3, 0x1.9460fb592b051p-11 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        SCOPED(buf) text = BUF_INIT;
        for (int k = 0; k < cases[i].count; k++)
            buf_addf(&text, "%sp:%d.%d", k ? "," : "", k * 37 % 101 + 1, k * k % 997);
        cr_assert_eq(parse(text.data), 1, "%s", err_get());
        cr_expect_eq(b.weights[cases[i].at], cases[i].weight, "%d sources: %a, not %a",
                     cases[i].count, b.weights[cases[i].at], cases[i].weight);
        blend_release(&b);
    }
}

Test(blend, as_many_sources_as_16_bits_number)
{
    SCOPED(buf) text = BUF_INIT;
    for (int i = 0; i < BLEND_SOURCES; i++)
        buf_adds(&text, i ? ",p:1" : "p:1");
    cr_expect_eq(parse(text.data), 1, "%s", err_get());
    blend_release(&b);
    buf_adds(&text, ",p:1");
    refused(text.data, "a blend has at most 32766 sources, but 32767 are given");
}

/* Samples are found by number in any order, also far apart: blocks of them are computed anew. */
Test(blend, samples_equal_the_definition)
{
    enum { SAMPLES = 140000 };
    static const uint64_t wanted[] = { 139999, 0, 1, 65535, 65536, 131072, 3, 65537, 131071 };
    static unsigned char source[SAMPLES];
    static uint32_t sample[SAMPLES];
    uint64_t taken[3] = { 0 }, counts[3];
    cr_assert_eq(parse("a:5,b:3,c:2"), 1, "%s", err_get());
    for (uint64_t k = 0; k < SAMPLES; k++) {
        unsigned char best = 0;
        double most = -1e9;
        for (unsigned char i = 0; i < 3; i++) {
            volatile double share = b.weights[i] * (double)(k ? k : 1); /* rounded, as in blend.c */
            if (share - (double)taken[i] > most) {
                most = share - (double)taken[i];
                best = i;
            }
        }
        source[k] = best;
        sample[k] = (uint32_t)taken[best]++;
    }
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        size_t s;
        uint64_t n;
        blend_find(&b, wanted[i], &s, &n);
        cr_expect(s == source[wanted[i]] && n == sample[wanted[i]], "sample %d is %d of %zu",
                  (int)wanted[i], (int)n, s);
    }
    blend_count(&b, SAMPLES, counts);
    for (int i = 0; i < 3; i++)
        cr_expect_eq(counts[i], taken[i]);
    blend_release(&b);
}
