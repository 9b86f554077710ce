#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "generate/cache.h"
#include "model/architecture.h"
#include "tests/unit/arrays.h"

enum { POSITIONS = 40, VOCABULARY = 61 };

struct fixture {
    struct ops *ops;
    struct model m;
    struct ops_array *blocks;
    uint32_t ids[POSITIONS];
};

/* A random model with larger weights than training begins with, so that all of it matters. */
static void make_of(struct fixture *f, const char *architecture, int threads)
{
    struct model_config config = { .architecture = architecture_find(architecture, HEAD_NEXT),
                                   .kv_heads = strcmp(architecture, "gpt2") ? 1 : 0,
                                   .layers = 3,
                                   .width = 24,
                                   .heads = 3,
                                   .inner = 96,
                                   .positions = POSITIONS,
                                   .vocabulary = VOCABULARY,
                                   .epsilon = 1e-5,
                                   .init_std = .2 };
    f->ops = ops_new(threads);
    cr_assert(f->ops);
    cr_assert_eq(model_init(&f->m, &config), 0);
    f->blocks = calloc((size_t)f->m.tensors.blocks, sizeof *f->blocks);
    for (int b = 0; b < f->m.tensors.blocks; b++)
        f->blocks[b] = ops_buffer(f->ops, OPS_F32, f->m.tensors.block_size[b]);
    for (size_t i = 0; i < f->m.tensors.count; i++) {
        struct tensor row = f->m.tensors.rows[i];
        row.init = INIT_NORMAL; /* biases and gains too */
        row.std = .2f;
        tensor_initialise(&row, 5, floats(f->blocks[row.block]) + row.offset);
    }
    for (int i = 0; i < POSITIONS; i++)
        f->ids[i] = (uint32_t)(i * i * 7 + 3) % VOCABULARY;
}

static void make(struct fixture *f, int threads)
{
    make_of(f, "gpt2", threads);
}

static void drop(struct fixture *f)
{
    for (int b = 0; b < f->m.tensors.blocks; b++)
        ops_buffer_free(f->ops, f->blocks[b], f->m.tensors.block_size[b]);
    free(f->blocks);
    model_release(&f->m);
    ops_free(f->ops);
}

static double nll(const float *logits, uint32_t id)
{
    double sum = 0;
    for (int i = 0; i < VOCABULARY; i++)
        sum += exp((double)logits[i]);
    return log(sum) - logits[id];
}

/* The loss of ids[i] after ids[0..i) by the forward that training uses. */
static void uncached(struct fixture *f, float *losses)
{
    int32_t labels[POSITIONS];
    int64_t numbers = POSITIONS * f->m.config.width;
    struct ops_array x = ops_buffer(f->ops, OPS_F32, numbers);
    struct ops_array y = ops_buffer(f->ops, OPS_F32, numbers);
    struct batch b = { .B = 1, .T = POSITIONS, .ids = f->ids, .labels = labels };
    struct inputs in = { 0 };
    for (int i = 0; i < POSITIONS; i++)
        labels[i] = (int32_t)f->ids[(i + 1) % POSITIONS];
    inputs_set(&in, f->ops, &f->m, &b);
    f->m.embedding_fwd(&f->m, f->ops, x, f->blocks[0], &in);
    for (int l = 0; l < f->m.config.layers; l++) {
        f->m.layer_fwd(&f->m, f->ops, l, y, x, f->blocks[l + 1], (struct model_cache){ 0 }, &in);
        struct ops_array swap = x;
        x = y;
        y = swap;
    }
    f->m.head_fwd(&f->m, f->ops, (struct ops_scores){ .losses = f32(losses) }, x,
                  f->blocks[f->m.config.layers + 1], f->blocks[0], &in);
    inputs_release(&in, f->ops);
    ops_buffer_free(f->ops, x, numbers);
    ops_buffer_free(f->ops, y, numbers);
}

/* A token at a time, all at once, and in pieces of every size: the uncached losses. */
static void check_pieces(const char *architecture)
{
    for (int threads = 1; threads <= 3; threads += 2) {
        struct fixture f;
        struct cache c;
        float want[POSITIONS];
        make_of(&f, architecture, threads);
        uncached(&f, want);
        cache_init(&c, &f.m, f.ops, f.blocks);
        for (int64_t piece = 1; piece <= POSITIONS; piece++) {
            cache_truncate(&c, 0);
            for (int64_t at = 0; at < POSITIONS; at += piece) {
                int64_t n = POSITIONS - at < piece ? POSITIONS - at : piece;
                float *logits = cache_forward(&c, f.ids + at, n);
                cr_assert(logits);
                double got = nll(logits, f.ids[(at + n) % POSITIONS]);
                cr_expect_float_eq(got, want[at + n - 1], 2e-5,
                                   "pieces of %ld, position %ld: %g, not %g", (long)piece,
                                   (long)(at + n - 1), got, want[at + n - 1]);
            }
        }
        cache_release(&c);
        drop(&f);
    }
}

Test(cache, equals_the_uncached_forward)
{
    check_pieces("gpt2");
    check_pieces("llama");
}

Test(cache, truncation_forgets)
{
    struct fixture f;
    struct cache c;
    make(&f, 1);
    cache_init(&c, &f.m, f.ops, f.blocks);
    double first = nll(cache_forward(&c, f.ids, 10), 1);
    cr_assert(cache_forward(&c, f.ids + 20, 5));
    cache_truncate(&c, 9);
    double again = nll(cache_forward(&c, f.ids + 9, 1), 1);
    cr_expect_float_eq(again, first, 2e-5);
    cr_expect_eq(c.past.used, 10);
    cache_release(&c);
    drop(&f);
}

Test(cache, refuses_what_does_not_fit)
{
    struct fixture f;
    struct cache c;
    uint32_t bad = VOCABULARY;
    make(&f, 1);
    cache_init(&c, &f.m, f.ops, f.blocks);
    cr_assert(cache_forward(&c, f.ids, POSITIONS));
    cr_expect_null(cache_forward(&c, f.ids, 1));
    cr_expect_eq(c.past.used, POSITIONS);
    cache_truncate(&c, 0);
    cr_expect_null(cache_forward(&c, &bad, 1));
    cr_expect_eq(c.past.used, 0);
    cache_release(&c);
    drop(&f);
}

/* Copies go on as the original does, and apart from it. */
Test(cache, a_copy_goes_on_alone)
{
    struct fixture f;
    struct cache whole, copy;
    make(&f, 2);
    cache_init(&whole, &f.m, f.ops, f.blocks);
    cache_init(&copy, &f.m, f.ops, f.blocks);
    cr_assert(cache_forward(&copy, f.ids + 3, 7)); /* is forgotten */
    cr_assert(cache_forward(&whole, f.ids, 20));
    for (int64_t positions = 20; positions; positions -= 10) {
        cache_copy(&copy, &whole, positions);
        cr_expect_eq(copy.past.used, positions);
        float *got = cache_forward(&copy, f.ids + positions, 5);
        struct cache alone;
        cache_init(&alone, &f.m, f.ops, f.blocks);
        cr_assert(cache_forward(&alone, f.ids, positions));
        float *want = cache_forward(&alone, f.ids + positions, 5);
        cr_assert(got && want);
        cr_expect(!memcmp(got, want, VOCABULARY * sizeof *got), "%ld positions", (long)positions);
        cache_release(&alone);
    }
    cr_expect_eq(whole.past.used, 20);
    cache_release(&whole);
    cache_release(&copy);
    drop(&f);
}

/* Keys and values that went through the host's memory are the same, in a cache with other room. */
Test(cache, set_to_what_was_got)
{
    struct fixture f;
    struct cache from, to;
    make_of(&f, "llama", 2);
    cache_init(&from, &f.m, f.ops, f.blocks);
    cache_init(&to, &f.m, f.ops, f.blocks);
    cr_assert(cache_forward(&from, f.ids, 20));
    cr_assert(cache_forward(&to, f.ids + 3, 35));
    const int64_t n = cache_numbers(&from, 20);
    cr_expect_eq(n, 3 * 20 * 8); /* layers, positions, one head of keys */
    float *keys = calloc(2 * (size_t)n, sizeof *keys);
    cache_get(&from, keys, keys + n);
    cache_set(&to, 20, keys, keys + n);
    cr_expect_eq(to.past.used, 20);
    float *got = cache_forward(&to, f.ids + 20, 5), *want = cache_forward(&from, f.ids + 20, 5);
    cr_assert(got && want);
    cr_expect(!memcmp(got, want, VOCABULARY * sizeof *got));
    keys[n / 2] += 1; /* they matter */
    cache_set(&to, 20, keys, keys + n);
    cr_expect(memcmp(cache_forward(&to, f.ids + 20, 5), want, VOCABULARY * sizeof *got));
    free(keys);
    cache_release(&from);
    cache_release(&to);
    drop(&f);
}
