/* GPT-2's blocks through model.h: gradients by differences, dropout, recomputation, threads.
 * That they compute GPT-2 and nothing else is shown against transformers (tests/peers/model.py). */
#include <criterion/criterion.h>

#include <math.h>
#include <string.h>

#include "common/base/err.h"
#include "common/base/rng.h"
#include "model/network/architecture.h"
#include "tests/unit/arrays.h"
#include "tests/unit/net.h"

enum { TOKENS = 22 };

static const struct model_config small = { .layers = 2,
                                           .width = 20,
                                           .heads = 4,
                                           .inner = 50,
                                           .positions = 12,
                                           .vocabulary = 31,
                                           .epsilon = 1e-5,
                                           .init_std = 0.3 };

static void fill(struct net *n)
{
    n->b = (struct batch){
        .B = 2, .T = 11, .ids = n->ids, .labels = n->labels, .key = 5, .dropout = 1
    };
    for (int64_t i = 0; i < TOKENS; i++) {
        n->ids[i] = (uint32_t)(rng_at(1, (uint64_t)i) % 31);
        n->labels[i] = i % 5 == 2 ? MODEL_IGNORE : (int32_t)(rng_at(2, (uint64_t)i) % 31);
    }
}

Test(gpt, gradients)
{
    net_check_gradients(&small, fill);
}

/* The same tokens as documents, one after the other. */
static void fill_documents(struct net *n)
{
    static const int64_t lengths[] = { 4, 1, 6, 8, 3 };
    fill(n);
    n->b.B = 5;
    n->b.lengths = lengths;
    n->b.joined = 1;
}

Test(gpt, gradients_of_documents)
{
    struct model_config c = small;
    net_check_gradients(&c, fill_documents);
    c.attention_dropout = 0.2;
    net_check_gradients(&c, fill_documents);
}

/* A document's losses do not depend on the others, and its positions begin at 0. */
Test(gpt, documents_are_apart)
{
    struct net n;
    float joined[TOKENS], alone[TOKENS];
    net_init(&n, &small, fill_documents, 1);
    net_forward(&n, 0);
    net_head(&n, joined, NULL);
    const struct batch all = n.b;
    for (int64_t s = 0, at = 0, loss = 0; s < all.B; at += all.lengths[s++]) {
        n.b = (struct batch){
            .B = 1, .T = all.lengths[s], .ids = all.ids + at, .labels = all.labels + at
        };
        net_forward(&n, 0);
        net_head(&n, alone, NULL);
        for (int64_t i = 0; i < n.in.targets[0].n; i++, loss++)
            cr_assert_float_eq(alone[i], joined[loss], 1e-5, "document %d", (int)s);
    }
    net_release(&n);
}

/* Dropout masks are the same in every forward, so the loss is as smooth as without dropout. */
Test(gpt, gradients_with_dropout)
{
    struct model_config c = small;
    c.embedding_dropout = 0.1;
    c.attention_dropout = 0.2;
    c.residual_dropout = 0.3;
    net_check_gradients(&c, fill);
}

/* Variants that published models have: other activations, other scales of attention, a decoder with
 * its own weights. */
Test(gpt, gradients_of_variants)
{
    struct model_config c = small;
    for (c.activation = 0; c.activation < OPS_ACTIVATIONS; c.activation++)
        if (c.activation != OPS_RELU) /* at whose bend differences are no gradients */
            net_check_gradients(&c, fill);
    c = small;
    c.untied = c.scale_by_layer = 1;
    net_check_gradients(&c, fill);
    net_check_beginning(&c, fill);
    c.unscaled = 1;
    net_check_gradients(&c, fill);
}

Test(gpt, gradients_accumulate)
{
    net_check_accumulation(&small, fill);
}

Test(gpt, gradients_in_bf16)
{
    net_check_bf16(&small, fill);
}

Test(gpt, gradients_begin)
{
    net_check_beginning(&small, fill);
}

/* ---- dropout ------------------------------------------------------------------------------ */

static struct model_config with_dropout(void)
{
    struct model_config c = small;
    c.embedding_dropout = c.attention_dropout = c.residual_dropout = 0.2;
    return c;
}

Test(gpt, dropout_follows_its_key)
{
    struct model_config c = with_dropout();
    net_check_dropout_key(&c, fill);
}

/* The masks of dropout must differ between layers, and between the places of a layer that have
 * dropout. */
Test(gpt, dropout_differs_by_layer)
{
    struct model_config c = small;
    struct net n;
    float y[2][TOKENS * NET_WIDTH];
    c.residual_dropout = 0.5;
    net_init(&n, &c, fill, 1);
    net_forward(&n, 0);
    for (int l = 0; l < 2; l++) /* the same weights and input, as another layer */
        layer_fwd(&n.m, n.o, l, f32(y[l]), f32(n.x[0]), f32(n.w[1]), (struct model_cache){ 0 },
                  &n.in);
    cr_assert_neq(0, memcmp(y[0], y[1], sizeof y[0]));
    net_release(&n);
}

/* ---- equal results ------------------------------------------------------------------------ */

Test(gpt, evaluation_equals_training_forward)
{
    net_check_evaluation(&small, fill);
}

Test(gpt, threads_do_not_matter)
{
    struct model_config c = with_dropout();
    net_check_threads(&c, fill, OPS_F32);
    net_check_threads(&c, fill, OPS_BF16);
}

Test(gpt, head_reports_each_label)
{
    struct net n;
    float losses[TOKENS];
    unsigned char correct[TOKENS];
    net_init(&n, &small, fill, 1);
    net_forward(&n, 0);
    double sum = net_head(&n, losses, correct), total = 0;
    int labels = 0;
    for (int i = 0; i < TOKENS; i++)
        labels += n.labels[i] != MODEL_IGNORE;
    cr_assert(labels < TOKENS && n.in.targets[0].n == labels && n.in.labelled[0] == labels);
    for (int i = 0; i < labels; i++) {
        cr_assert(losses[i] > 0 && correct[i] <= 1);
        total += losses[i];
    }
    cr_assert_float_eq(sum, total, 1e-5);
    net_release(&n);
}

/* ---- the table ---------------------------------------------------------------------------- */

static int64_t parameters(int64_t L, int64_t C, int64_t P, int64_t V)
{
    struct model m;
    struct model_config c = { .layers = L,
                              .width = C,
                              .heads = C / 64,
                              .inner = 4 * C,
                              .positions = P,
                              .vocabulary = V,
                              .epsilon = 1e-5,
                              .init_std = 0.02 };
    cr_assert_eq(model_init(&m, &c), 0, "%s", err_get());
    int64_t n = tensor_parameters(&m.tensors);
    cr_assert_eq(n, V * C + P * C + L * (12 * C * C + 13 * C) + 2 * C);
    model_release(&m);
    return n;
}

Test(gpt, parameter_counts)
{
    cr_assert_eq(parameters(12, 768, 1024, 50257), 124439808);
    cr_assert_eq(parameters(12, 768, 1024, 50272), 124451328);
    cr_assert_eq(parameters(24, 1024, 1024, 50272), 354838528);
    cr_assert_eq(parameters(36, 1280, 512, 50272), 773393920);
    cr_assert_eq(parameters(48, 1600, 1024, 50272), 1557635200);
}

Test(gpt, table)
{
    struct model m;
    cr_assert_eq(model_init(&m, &small), 0);
    cr_assert_eq(m.tensors.blocks, 4);
    cr_assert_eq(m.tensors.count, 2 + 2 * 12 + 2);
    cr_assert_eq(m.tensors.block_size[1], m.tensors.block_size[2]);
    const struct tensor *qkv = tensor_find(&m.tensors, "h.1.attn.c_attn.weight");
    cr_assert(qkv && qkv->shape[0] == 20 && qkv->shape[1] == 60 && qkv->block == 2);
    const struct tensor *end = tensor_find(&m.tensors, "h.0.mlp.c_proj.weight");
    cr_assert(end && end->shape[0] == 50 && end->shape[1] == 20);
    cr_assert_float_eq(end->std, 0.3 / 2, 1e-6); /* 1/sqrt(2L) */
    cr_assert_float_eq(qkv->std, 0.3, 1e-6);
    cr_assert_eq(tensor_find(&m.tensors, "ln_f.weight")->init, INIT_ONE);
    cr_assert_eq(tensor_find(&m.tensors, "ln_f.bias")->block, 3);
    model_release(&m);
}

static void refused(struct model_config c, const char *words)
{
    struct model m;
    cr_assert_eq(model_init(&m, &c), -1);
    cr_assert(strstr(err_get(), words), "%s", err_get());
    model_release(&m); /* harmless */
}

Test(gpt, bad_configurations)
{
    struct model_config c = small;
    c.heads = 3;
    refused(c, "3 heads do not divide a width of 20");
    c = small;
    c.layers = 0;
    refused(c, "layers is 0");
    c = small;
    c.vocabulary = -5;
    refused(c, "vocabulary is -5");
    c = small;
    c.attention_dropout = 1;
    refused(c, "attention dropout is 1");
    c = small;
    c.residual_dropout = NAN;
    refused(c, "residual dropout is nan");
    c = small;
    c.epsilon = 0;
    refused(c, "epsilon of the norms is 0");
    c = small;
    c.init_std = INFINITY;
    refused(c, "standard deviation of the weights is inf");
}

Test(gpt, flops)
{
    struct model_config c = { .architecture = &architecture_gpt2,
                              .layers = 12,
                              .width = 768,
                              .heads = 12,
                              .kv_heads = 12,
                              .head_width = 64,
                              .inner = 3072,
                              .vocabulary = 50257 };
    cr_assert_float_eq(model_flops_per_token(&c, 1024, 1), 798e6, 1e6);
    cr_assert_float_eq(model_flops_per_token(&c, 64, 1), 745e6, 1e6);
}
