#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"
#include "common/base/mem.h"
#include "tfrecord/formats/blend.h"
#include "train/samples/samples.h"

/* A source of samples of one token: sample i of the source with n samples is the id 100 * n + i. */
static int read_one(const struct samples *s, uint64_t i, struct sequences *out)
{
    cr_assert_lt(i, s->count);
    out->ids[sequences_add(out)] = (uint32_t)(100 * s->count + i);
    return 0;
}

static struct samples *open_one(const struct samples_config *c, const struct opt_list *paths,
                                const char *what)
{
    (void)c;
    (void)what;
    if (!strcmp(paths->items[0], "missing")) {
        err_set("missing is missing");
        return NULL;
    }
    struct samples *s = mem_zalloc(1, sizeof *s);
    uint64_t n = strtoul(paths->items[0], NULL, 10);
    *s = (struct samples){ .count = n, .most = 1, .T = 1, .tokens = n, .read = read_one };
    return s;
}

static struct samples *open_blend(const char *item, const char *more)
{
    const char *items[] = { item, more };
    struct samples_config c = { .T = 1 };
    return samples_open_blend(
        open_one, &c, &(struct opt_list){ .items = items, .count = 1 + !!more }, "the data");
}

/* Writes to ids[] the samples 0 to n - 1 of the order that `key` gives. */
static void draw(struct samples *s, uint64_t key, uint32_t *ids, int64_t n)
{
    struct sequences out;
    sequences_init(&out, n, 1, 0);
    for (int64_t k = 0; k < n; k++)
        cr_assert_eq(s->draw(s, key, (uint64_t)k, &out), 0);
    memcpy(ids, out.ids, (size_t)n * sizeof *ids);
    sequences_release(&out);
}

Test(samples_blend, each_source_has_epochs_of_its_own)
{
    enum { N = 1000 };
    uint32_t ids[N], seen[2][20] = { { 0 } };
    struct samples *s = open_blend("7:0.7,20:0.3", NULL);
    cr_assert(s, "%s", err_get());
    cr_assert_eq(s->count, 27);
    draw(s, 5, ids, N);
    int taken[2] = { 0 };
    for (int k = 0; k < N; k++) {
        int second = ids[k] >= 2000, count = second ? 20 : 7;
        cr_assert_lt(ids[k] - (uint32_t)count * 100, (uint32_t)count);
        uint32_t *times = &seen[second][ids[k] - (uint32_t)count * 100];
        cr_assert_eq(*times, (uint32_t)(taken[second] / count), "sample %d comes too early", k);
        ++*times;
        taken[second]++;
    }
    cr_assert_eq(taken[0], 700);
    samples_close(s);
}

Test(samples_blend, sources_come_in_the_order_of_the_blend)
{
    enum { N = 300 };
    uint32_t ids[N];
    struct samples *s = open_blend("3:5", "4:2");
    struct blend b;
    const char *items[] = { "3:5", "4:2" };
    cr_assert_eq(blend_parse(&b, items, 2), 1);
    draw(s, 5, ids, N);
    for (uint64_t k = 0; k < N; k++) {
        size_t source;
        uint64_t sample;
        blend_find(&b, k, &source, &sample);
        cr_assert_eq(ids[k] >= 400, source == 1);
    }
    blend_release(&b);
    samples_close(s);
}

Test(samples_blend, another_key_is_another_order_of_each_source)
{
    enum { N = 60 };
    uint32_t a[N], b[N], same = 0;
    struct samples *s = open_blend("30:1,31:1", NULL);
    draw(s, 5, a, N);
    draw(s, 6, b, N);
    for (int k = 0; k < N; k++) {
        cr_assert_eq(a[k] >= 3100, b[k] >= 3100);
        same += a[k] == b[k];
    }
    cr_assert_lt(same, 10);
    samples_close(s);
}

/* Added in another order, the nine weights have the sum 0.8999999999999999. */
Test(samples_blend, weights_are_added_in_numpys_order)
{
    struct blend b;
    const char *item = "a:.1,b:.1,c:.1,d:.1,e:.1,f:.1,g:.1,h:.1,i:.1";
    cr_assert_eq(blend_parse(&b, &item, 1), 1);
    cr_expect_eq(b.weights[8], 0.1 / 0.9, "%.17g", b.weights[8]);
    blend_release(&b);
}

Test(samples_blend, without_weights_there_is_no_blend)
{
    struct samples *s = open_blend("7", NULL);
    cr_assert(s && !s->draw && !s->blend);
    samples_close(s);
}

Test(samples_blend, hash_tells_weights_order_and_sizes)
{
    static const char *const all[] = { "7:1,8:2", "7:2,8:1", "8:2,7:1",
                                       "7:1,9:2", "9:1,8:2", "7:1,8:2,7:1" };
    uint64_t hash[6];
    for (int i = 0; i < 6; i++) {
        struct samples *s = open_blend(all[i], NULL);
        hash[i] = s->blend;
        samples_close(s);
        for (int k = 0; k < i; k++)
            cr_assert_neq(hash[i], hash[k]);
    }
    struct samples *same = open_blend("7:0.5", "8:1");
    cr_assert_eq(same->blend, hash[0]);
    samples_close(same);
}

Test(samples_blend, errors)
{
    static const struct {
        const char *item, *more, *says;
    } bad[] = {
        { "7:1,8", NULL, "'8' has no weight" },
        { "7:1", "8", "'8' has no weight" },
        { "7:0", NULL, "must be above 0" },
        { "7:1,8:-2", NULL, "must be above 0" },
        { "7:1,generated:1", NULL, "generated data cannot" },
        { "7:1,missing:1", NULL, "missing is missing" },
        { "7:1e308,8:1e308", NULL, "'7': its weight is too small" },
        { "7:1e300,8:1e-300", NULL, "'8': its weight is too small" },
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        cr_assert_null(open_blend(bad[i].item, bad[i].more));
        cr_assert(strstr(err_get(), bad[i].says), "%s: %s", bad[i].item, err_get());
    }
}

Test(samples_blend, colons_and_commas_that_are_no_weights)
{
    static const char *const none[] = { "nanogpt:5", "a,b", "a:b", "a:0.5x", ":5", "a:" };
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        struct blend b;
        cr_assert_eq(blend_parse(&b, &none[i], 1), 0, "%s", none[i]);
        blend_release(&b);
    }
    struct blend b;
    const char *item = "nanogpt:a:0.5";
    cr_assert_eq(blend_parse(&b, &item, 1), 1);
    cr_assert_str_eq(b.paths[0], "nanogpt:a");
    blend_release(&b);
}
