#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "generate/cache.h"
#include "model/network/architecture.h"
#include "model/network/embedding.h"
#include "model/network/layer.h"
#include "tests/unit/arrays.h"

enum { POSITIONS = 40, VOCABULARY = 61 };

struct fixture {
    struct ops *ops;
    struct model m;
    struct ops_array *blocks;
    struct decoder decoder;
    uint32_t ids[POSITIONS];
};

/* Makes a random model whose weights are larger than those at the beginning of a training, so that
 * every part of the model changes the result. */
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
    f->ops = ops_open("cpu", threads);
    cr_assert(f->ops);
    cr_assert_eq(model_init(&f->m, &config), 0);
    f->blocks = calloc((size_t)f->m.tensors.blocks, sizeof *f->blocks);
    for (int b = 0; b < f->m.tensors.blocks; b++)
        f->blocks[b] = ops_buffer(f->ops, OPS_F32, f->m.tensors.block_size[b]);
    for (size_t i = 0; i < f->m.tensors.count; i++) {
        struct tensor row = f->m.tensors.rows[i];
        row.init = INIT_NORMAL; /* biases and gains too */
        row.std = .2f;
        tensor_initialise(&row, 5, 0, tensor_elements(&row),
                          floats(f->blocks[row.block]) + row.offset);
    }
    for (int i = 0; i < POSITIONS; i++)
        f->ids[i] = (uint32_t)(i * i * 7 + 3) % VOCABULARY;
    decoder_init(&f->decoder, &f->m, f->ops, f->blocks, OPS_F32);
}

static void make(struct fixture *f, int threads)
{
    make_of(f, "gpt2", threads);
}

static void drop(struct fixture *f)
{
    decoder_release(&f->decoder);
    for (int b = 0; b < f->m.tensors.blocks; b++)
        ops_buffer_free(f->ops, f->blocks[b]);
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

/* Sets losses[i] to the loss of ids[i] after ids[0..i), computed with the forward that training
 * uses. */
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
    embedding_fwd(&f->m, f->ops, x, f->blocks[0], &in);
    for (int l = 0; l < f->m.config.layers; l++) {
        layer_fwd(&f->m, f->ops, l, y, x, f->blocks[l + 1], (struct model_cache){ 0 }, &in);
        struct ops_array swap = x;
        x = y;
        y = swap;
    }
    f->m.head(&f->m, f->ops,
              &(struct head_pass){ .out = { .losses = f32(losses) },
                                   .x = x,
                                   .w = f->blocks[f->m.config.layers + 1],
                                   .tied = f->blocks[0],
                                   .in = &in });
    inputs_release(&in, f->ops);
    ops_buffer_free(f->ops, x);
    ops_buffer_free(f->ops, y);
}

/* Runs the tokens through a cache one by one, all at once, and in pieces of every size: the losses
 * must be those without a cache. */
static void check_pieces(const char *architecture)
{
    for (int threads = 1; threads <= 3; threads += 2) {
        struct fixture f;
        struct cache c;
        float want[POSITIONS];
        make_of(&f, architecture, threads);
        uncached(&f, want);
        cache_init(&c, &f.decoder);
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
    check_pieces("qwen3");
    check_pieces("smollm3");
}

/* A long prompt takes the memory of a piece. The logits are those of a text whose last token comes
 * alone. */
Test(cache, runs_a_long_prompt_in_pieces)
{
    enum { LONG = 2 * CACHE_PIECE + 100 };
    struct fixture f;
    struct cache whole, other;
    uint32_t ids[LONG];
    make_of(&f, "llama", 2); /* it has no table of positions */
    f.m.config.positions = LONG;
    for (int i = 0; i < LONG; i++)
        ids[i] = f.ids[i % POSITIONS];
    cache_init(&whole, &f.decoder);
    cache_init(&other, &f.decoder);
    const double got = nll(cache_forward(&whole, ids, LONG), 1);
    cr_expect_eq(f.decoder.inputs.N, 100);
    cr_expect_eq(whole.past.used, LONG);
    cr_assert(cache_forward(&other, ids, CACHE_PIECE - 7));
    cr_assert(cache_forward(&other, ids + CACHE_PIECE - 7, CACHE_PIECE + 106));
    const double want = nll(cache_forward(&other, ids + LONG - 1, 1), 1);
    cr_expect_float_eq(got, want, 1e-4);
    cache_release(&whole);
    cache_release(&other);
    drop(&f);
}

Test(cache, truncation_forgets)
{
    struct fixture f;
    struct cache c;
    make(&f, 1);
    cache_init(&c, &f.decoder);
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
    cache_init(&c, &f.decoder);
    cr_assert(cache_forward(&c, f.ids, POSITIONS));
    cr_expect_null(cache_forward(&c, f.ids, 1));
    cr_expect_eq(c.past.used, POSITIONS);
    cache_truncate(&c, 0);
    cr_expect_null(cache_forward(&c, &bad, 1));
    cr_expect_eq(c.past.used, 0);
    cache_release(&c);
    drop(&f);
}

/* A copy of a cache must give the same as the original, and must not change it. */
Test(cache, a_copy_goes_on_alone)
{
    struct fixture f;
    struct cache whole, copy;
    make(&f, 2);
    cache_init(&whole, &f.decoder);
    cache_init(&copy, &f.decoder);
    cr_assert(cache_forward(&copy, f.ids + 3, 7)); /* is forgotten */
    cr_assert(cache_forward(&whole, f.ids, 20));
    for (int64_t positions = 20; positions; positions -= 10) {
        cache_copy(&copy, &whole, positions);
        cr_expect_eq(copy.past.used, positions);
        float got[VOCABULARY], *logits = cache_forward(&copy, f.ids + positions, 5);
        cr_assert(logits);
        memcpy(got, logits, sizeof got);
        struct cache alone;
        cache_init(&alone, &f.decoder);
        cr_assert(cache_forward(&alone, f.ids, positions));
        float *want = cache_forward(&alone, f.ids + positions, 5);
        cr_assert(want);
        cr_expect(!memcmp(got, want, sizeof got), "%ld positions", (long)positions);
        cache_release(&alone);
    }
    cr_expect_eq(whole.past.used, 20);
    cache_release(&whole);
    cache_release(&copy);
    drop(&f);
}

/* Keys and values that were copied to the host's memory and to another cache must be the same
 * there. */
Test(cache, set_to_what_was_got)
{
    struct fixture f;
    struct cache from, to;
    make_of(&f, "llama", 2);
    cache_init(&from, &f.decoder);
    cache_init(&to, &f.decoder);
    cr_assert(cache_forward(&from, f.ids, 20));
    cr_assert(cache_forward(&to, f.ids + 3, 35));
    const int64_t n = cache_numbers(&from, 20);
    cr_expect_eq(n, 3 * 20 * 8); /* layers, positions, one head of keys */
    float *keys = calloc(2 * (size_t)n, sizeof *keys);
    cache_get(&from, keys, keys + n);
    cache_set(&to, 20, keys, keys + n);
    cr_expect_eq(to.past.used, 20);
    float want[VOCABULARY], *logits = cache_forward(&from, f.ids + 20, 5);
    cr_assert(logits);
    memcpy(want, logits, sizeof want);
    cr_expect(!memcmp(cache_forward(&to, f.ids + 20, 5), want, sizeof want));
    keys[n / 2] += 1; /* they matter */
    cache_set(&to, 20, keys, keys + n);
    cr_expect(memcmp(cache_forward(&to, f.ids + 20, 5), want, sizeof want));
    free(keys);
    cache_release(&from);
    cache_release(&to);
    drop(&f);
}

/* ---- several texts ------------------------------------------------------------------------ */

enum { TEXTS = 70, STEPS = 4 }; /* more than OPS_FEW_ROWS in two pieces */

/* Runs a prompt of 1 to 11 tokens in each of n texts, then STEPS steps of `together` texts at a
 * time. Writes the logits of all steps to out[STEPS,n,V]. */
static void run_texts(struct fixture *f, float *out, int64_t n, int64_t together)
{
    struct cache caches[TEXTS], *texts[TEXTS];
    for (int64_t i = 0; i < n; i++) {
        texts[i] = &caches[i];
        cache_init(texts[i], &f->decoder);
        cr_assert(cache_forward(texts[i], f->ids + i % 7, 1 + i % 11));
    }
    for (int64_t s = 0; s < STEPS; s++)
        for (int64_t i = 0; i < n; i += together) {
            uint32_t next[TEXTS];
            const int64_t some = n - i < together ? n - i : together;
            for (int64_t t = 0; t < some; t++)
                next[t] = f->ids[(i + t + 3 * s) % POSITIONS];
            const float *logits = decoder_step(&f->decoder, texts + i, next, some);
            cr_assert(logits);
            memcpy(out + (s * n + i) * VOCABULARY, logits,
                   (size_t)(some * VOCABULARY) * sizeof *out);
        }
    for (int64_t i = 0; i < n; i++)
        cache_release(&caches[i]);
}

static void check_together(const char *architecture, enum ops_type cached, enum ops_type precision)
{
    static float want[STEPS * TEXTS * VOCABULARY], got[STEPS * TEXTS * VOCABULARY];
    const int64_t together[] = { 2, 3, 5, 8, 31, 32, 33, TEXTS };
    for (int threads = 1; threads <= 3; threads += 2)
        for (size_t i = 0; i < sizeof together / sizeof *together; i++) {
            struct fixture f;
            make_of(&f, architecture, threads);
            ops_set_precision(f.ops, precision);
            f.decoder.type = cached;
            if (!i && threads == 1)
                run_texts(&f, want, TEXTS, 1);
            run_texts(&f, got, TEXTS, together[i]);
            cr_expect(!memcmp(got, want, sizeof got), "%s, %ld texts, %d threads", architecture,
                      (long)together[i], threads);
            drop(&f);
        }
}

/* A text must get the same bits whatever other texts are in the step. */
Test(cache, texts_together_are_texts_alone)
{
    check_together("gpt2", OPS_F32, OPS_F32);
    check_together("llama", OPS_F32, OPS_F32);
    check_together("gpt2", OPS_BF16, OPS_F32);
    check_together("llama", OPS_F32, OPS_BF16);
}

/* Keys and values stored as bf16 must change the losses only a little, and take half the memory. */
Test(cache, bf16_is_near)
{
    struct fixture f;
    struct cache c;
    double far = 0;
    make(&f, 2);
    for (int64_t n = 1; n < POSITIONS; n++) {
        double loss[2];
        for (int type = OPS_F32; type <= OPS_BF16; type++) {
            f.decoder.type = (enum ops_type)type;
            cache_init(&c, &f.decoder);
            cr_assert(n == 1 || cache_forward(&c, f.ids, n - 1));
            loss[type] = nll(cache_forward(&c, f.ids + n - 1, 1), f.ids[n]);
            cache_release(&c);
        }
        far = fmax(far, fabs(loss[0] - loss[1]));
    }
    cr_expect(far > 1e-5 && far < 0.05, "%g", far);
    drop(&f);
}

Test(cache, a_step_refuses_one_full_text)
{
    struct fixture f;
    struct cache full, other;
    make(&f, 1);
    cache_init(&full, &f.decoder);
    cache_init(&other, &f.decoder);
    cr_assert(cache_forward(&full, f.ids, POSITIONS));
    cr_assert(cache_forward(&other, f.ids, 3));
    cr_expect_null(decoder_step(&f.decoder, (struct cache *[]){ &other, &full }, f.ids, 2));
    cr_expect_eq(other.past.used, 3);
    cr_expect_eq(full.past.used, POSITIONS);
    cache_release(&full);
    cache_release(&other);
    drop(&f);
}

/* An emulated GPU has its own memory: arrays that were not copied are not there. */
Test(cache, ids_and_places_reach_a_gpu_together)
{
    struct ops *gpu = ops_open("emulated", 1);
    struct inputs in = { 0 };
    const struct ops_past pasts[] = { { .room = 9, .used = 5 }, { .room = 9, .used = 2 } };
    const uint32_t ids[] = { 3, 1, 4, 1 }, wanted[] = { 3, 1, 4, 1, 5, 6, 2, 3 };
    uint32_t got[8] = { 0 };
    cr_assert(gpu, "%s", err_get());
    inputs_follow(&in, gpu, pasts, 2, ids, 2);
    ops_download(gpu, got, in.tokens.ids, 8);
    cr_expect_arr_eq(got, wanted, sizeof wanted);
    inputs_release(&in, gpu);
    ops_free(gpu);
}
