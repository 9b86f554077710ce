/* BERT's blocks and heads through model.h: gradients by differences, padding, dropout, threads.
 * That they compute BERT and nothing else is shown against transformers (tests/peers/bert.py). */
#include <criterion/criterion.h>

#include <math.h>
#include <string.h>

#include "common/base/err.h"
#include "common/base/rng.h"
#include "model/network/architecture.h"
#include "model/network/bert_head.h"
#include "tests/unit/arrays.h"
#include "tests/unit/net.h"

enum { VOCABULARY = 31, B = 3, T = 11, TOKENS = B * T };

static const struct model_config small = {
    .layers = NET_LAYERS,
    .width = NET_WIDTH,
    .heads = 4,
    .inner = 50,
    .positions = 12,
    .vocabulary = VOCABULARY,
    .epsilon = 1e-12,
    .init_std = 0.3,
    .head = HEAD_PRETRAINING,
    .activation = OPS_GELU,
    .types = 2,
};

static const int64_t lengths[B] = { 11, 4, 7 };
static const int32_t next[B] = { 1, MODEL_IGNORE, 0 };
static const int32_t starts[B] = { 3, 2, 7 }, ends[B] = { 8, 2, 7 }; /* 7 is past the third */

/* Sets n->b. Padding has values that would crash the model or change its results if they were
 * used. */
static void fill(struct net *n)
{
    n->b = (struct batch){ .B = B,
                           .T = T,
                           .ids = n->ids,
                           .labels = n->labels,
                           .key = 5,
                           .dropout = 1,
                           .lengths = lengths,
                           .segments = n->segments,
                           .classes = next,
                           .next_weight = 1.5,
                           .starts = starts,
                           .ends = ends };
    for (int64_t i = 0; i < TOKENS; i++) {
        int real = i % T < lengths[i / T];
        n->ids[i] = real ? (uint32_t)(rng_at(1, (uint64_t)i) % VOCABULARY) : 1u << 31;
        n->segments[i] = real ? i % T > 2 : 1u << 31;
        n->labels[i] = i % 3 == 2 ? (int32_t)(rng_at(2, (uint64_t)i) % VOCABULARY) : MODEL_IGNORE;
    }
}

/* ---- gradients ---------------------------------------------------------------------------- */

static struct model_config with_dropout(enum model_head kind)
{
    struct model_config c = small;
    c.head = kind;
    c.embedding_dropout = 0.1;
    c.attention_dropout = 0.2;
    c.residual_dropout = 0.3;
    c.head_dropout = 0.4;
    return c;
}

Test(bert, gradients_of_pretraining)
{
    net_check_gradients(&small, fill);
}

Test(bert, gradients_of_questions)
{
    struct model_config c = small;
    c.head = HEAD_QUESTIONS;
    net_check_gradients(&c, fill);
}

Test(bert, gradients_of_variants)
{
    struct model_config c = small;
    c.activation = OPS_GELU_TANH;
    c.epsilon = 1e-3;
    net_check_gradients(&c, fill);
    c.bare_head = 1;
    net_check_gradients(&c, fill);
    for (c.bare_head = 0; c.bare_head < 2; c.bare_head++) {
        c.untied = 1;
        net_check_gradients(&c, fill);
        net_check_beginning(&c, fill);
    }
}

static void fill_classes(struct net *n)
{
    static const int32_t classes[B] = { 2, 0, 1 };
    static const float values[B] = { 1.5f, -0.25f, 4 };
    fill(n);
    n->b.classes = classes;
    n->b.values = values;
}

static void fill_values(struct net *n)
{
    static const int32_t classes[B];
    fill_classes(n);
    n->b.classes = classes;
}

Test(bert, gradients_of_classes)
{
    struct model_config c = with_dropout(HEAD_CLASSES);
    struct model m;
    cr_assert_eq(model_init(&m, &c), -1);
    cr_assert(strstr(err_get(), "there are no classes"));
    for (int i = 0; i < 3; i++)
        cr_assert_eq(labels_add(&c.classes, (const char *[]){ "no", "yes", "may" }[i], i ? 3 : 2),
                     0);
    net_check_gradients(&c, fill_classes);
    net_check_beginning(&c, fill_classes);
    net_check_dropout_key(&c, fill_classes);
    net_check_threads(&c, fill_classes, OPS_F32);
    labels_set_regression(&c.classes);
    net_check_gradients(&c, fill_values);
    net_check_beginning(&c, fill_values);
}

/* DistilBERT: no segments, no dropout between attention and its norm, but dropout before the
 * head. */
Test(bert, gradients_of_distilbert)
{
    struct model_config c = with_dropout(HEAD_QUESTIONS);
    struct model m;
    c.architecture = architecture_find("distilbert", HEAD_QUESTIONS);
    c.types = 0;
    net_check_gradients(&c, fill);
    net_check_beginning(&c, fill);
    cr_assert_eq(model_init(&m, &c), 0, "%s", err_get());
    cr_assert(tensor_find(&m.tensors, "distilbert.transformer.layer.1.ffn.lin2.weight"));
    cr_assert_eq(m.config.epsilon, 1e-12);
    model_release(&m);
    cr_assert_null(architecture_find("distilbert", HEAD_PRETRAINING));
    cr_assert(strstr(err_get(), "unsupported architecture 'distilbert', only bert"));
}

/* RoBERTa: one segment, whatever the batch has; positions from row 2 of their table on; a head for
 * words alone. */
Test(bert, gradients_of_roberta)
{
    struct model_config c = with_dropout(HEAD_PRETRAINING);
    struct net n;
    c.architecture = architecture_find("roberta", HEAD_PRETRAINING);
    c.types = 0;
    net_check_gradients(&c, fill);
    net_check_beginning(&c, fill);
    net_init(&n, &c, fill, 1);
    cr_assert_eq(n.m.parts, 1);
    cr_assert_eq(
        tensor_find(&n.m.tensors, "roberta.embeddings.position_embeddings.weight")->shape[0],
        c.positions + 2);
    cr_assert_eq(
        tensor_find(&n.m.tensors, "roberta.embeddings.token_type_embeddings.weight")->shape[0], 1);
    cr_assert(tensor_find(&n.m.tensors, "lm_head.layer_norm.bias"));
    net_release(&n);
    c.head = HEAD_CLASSES;
    labels_set_regression(&c.classes);
    net_check_gradients(&c, fill_values);
}

/* ModernBERT: the first layer sees the whole text, the second a window; they have other norms. */
Test(bert, gradients_of_modernbert)
{
    struct model_config c = with_dropout(HEAD_PRETRAINING);
    struct net n;
    c.architecture = architecture_find("modernbert", HEAD_PRETRAINING);
    c.types = 0;
    c.heads = 2;
    c.window = 2;
    net_check_gradients(&c, fill);
    net_check_beginning(&c, fill);
    net_check_threads(&c, fill, OPS_F32);
    net_init(&n, &c, fill, 1);
    cr_assert(!tensor_find(&n.m.tensors, "model.layers.0.attn_norm.weight"));
    cr_assert(tensor_find(&n.m.tensors, "model.layers.1.attn_norm.weight"));
    cr_assert(tensor_find(&n.m.tensors, "model.final_norm.weight"));
    cr_assert(!tensor_find(&n.m.tensors, "head.norm.bias"));
    net_release(&n);
}

Test(bert, gradients_with_dropout)
{
    struct model_config c = with_dropout(HEAD_PRETRAINING);
    net_check_gradients(&c, fill);
    c.dropout_first = 1;
    net_check_gradients(&c, fill);
    c = with_dropout(HEAD_QUESTIONS);
    net_check_gradients(&c, fill);
}

Test(bert, gradients_accumulate)
{
    net_check_accumulation(&small, fill);
}

Test(bert, gradients_in_bf16)
{
    net_check_bf16(&small, fill);
}

Test(bert, gradients_begin)
{
    net_check_beginning(&small, fill);
}

/* ---- padding ------------------------------------------------------------------------------ */

/* A sequence must give the same rows by itself, among others, and with more padding. */
Test(bert, sequences_do_not_meet)
{
    struct net n;
    float together[TOKENS * NET_WIDTH];
    net_init(&n, &small, fill, 2);
    net_forward(&n, 0);
    memcpy(together, n.x[NET_LAYERS], sizeof together);
    int64_t row = 0;
    for (int b = 0; b < B; b++) {
        fill(&n);
        n.b.B = 1;
        n.b.ids += b * T;
        n.b.segments += b * T;
        n.b.lengths += b;
        net_forward(&n, 0);
        for (int64_t i = 0; i < lengths[b] * NET_WIDTH; i++)
            cr_assert_float_eq(n.x[NET_LAYERS][i], together[row * NET_WIDTH + i], 1e-5);
        n.b.T = lengths[b];
        n.b.lengths = NULL;
        net_forward(&n, 0);
        for (int64_t i = 0; i < lengths[b] * NET_WIDTH; i++)
            cr_assert_float_eq(n.x[NET_LAYERS][i], together[row * NET_WIDTH + i], 1e-5);
        row += lengths[b];
    }
    net_release(&n);
}

/* Attention looks in both directions: the last token must change the first row; a token of another
 * sequence must not. */
Test(bert, attention_looks_both_ways)
{
    struct net n;
    float first[NET_WIDTH];
    net_init(&n, &small, fill, 1);
    net_forward(&n, 0);
    memcpy(first, n.x[NET_LAYERS], sizeof first);
    n.ids[T] ^= 1; /* of the second sequence */
    net_forward(&n, 0);
    cr_assert_eq(0, memcmp(first, n.x[NET_LAYERS], sizeof first));
    n.ids[T - 1] ^= 1;
    net_forward(&n, 0);
    cr_assert_neq(0, memcmp(first, n.x[NET_LAYERS], sizeof first));
    net_release(&n);
}

/* ---- equal results ------------------------------------------------------------------------ */

Test(bert, evaluation_equals_training_forward)
{
    net_check_evaluation(&small, fill);
}

Test(bert, threads_do_not_matter)
{
    const enum model_head kinds[] = { HEAD_PRETRAINING, HEAD_QUESTIONS };
    for (int k = 0; k < 2; k++) {
        struct model_config c = with_dropout(kinds[k]);
        net_check_threads(&c, fill, OPS_F32);
        net_check_threads(&c, fill, OPS_BF16);
    }
}

Test(bert, dropout_follows_its_key)
{
    struct model_config c = with_dropout(HEAD_PRETRAINING);
    net_check_dropout_key(&c, fill);
}

/* ---- heads -------------------------------------------------------------------------------- */

Test(bert, head_reports_words_and_sentences)
{
    struct net n;
    float losses[TOKENS + B];
    unsigned char correct[TOKENS + B];
    net_init(&n, &small, fill, 1);
    net_forward(&n, 0);
    double sum = net_head(&n, losses, correct), total = 0;
    int words = 0;
    for (int i = 0; i < TOKENS; i++)
        words += i % T < lengths[i / T] && n.labels[i] >= 0;
    cr_assert(n.in.targets[0].n == words && n.in.labelled[0] == words);
    cr_assert(n.in.targets[1].n == B && n.in.labelled[1] == 2);
    for (int i = 0; i < words; i++) {
        cr_assert_gt(losses[i], 0);
        total += losses[i];
    }
    for (int b = 0; b < B; b++) {
        cr_assert_eq(next[b] >= 0, losses[words + b] != 0);
        total += 1.5 * losses[words + b];
    }
    cr_assert_float_eq(sum, total, 1e-4);
    n.b.classes = NULL; /* words alone */
    for (int b = 0; b < B; b++)
        total -= 1.5 * losses[words + b];
    cr_assert_float_eq(net_head(&n, losses, correct), total, 1e-4);
    for (int i = 0; i < TOKENS; i++) /* no label at all */
        n.labels[i] = MODEL_IGNORE;
    cr_assert_eq(net_head(&n, losses, correct), 0);
    cr_assert_eq(net_backward(&n, 1), 0);
    net_release(&n);
}

/* A label counts as correct if its logit is the greatest. */
Test(bert, heads_know_what_is_correct)
{
    struct net n;
    struct model_config c = small;
    float losses[TOKENS + B], logits[TOKENS * VOCABULARY];
    unsigned char correct[TOKENS + B];
    int64_t rows[4] = { 2, 5, 8, 12 };
    net_init(&n, &c, fill, 1);
    net_forward(&n, 0);
    net_head(&n, losses, correct);
    struct ops_array x = f32(n.x[NET_LAYERS]), w = f32(n.w[NET_LAYERS + 1]);
    n.m.head_logits(&n.m, n.o, f32(logits), x, w, f32(n.w[0]), n.in.N);
    const int64_t *labelled = (int64_t *)(void *)n.in.targets[0].rows.address;
    int found = 0;
    for (int i = 0; i < 4; i++) {
        const float *l = logits + rows[i] * VOCABULARY;
        int64_t token = rows[i] < T ? rows[i] : T + rows[i] - 11, at = 0;
        int best = 0;
        double total = 0;
        for (int v = 0; v < VOCABULARY; v++) {
            best = l[v] > l[best] ? v : best;
            total += exp(l[v]);
        }
        if (n.labels[token] < 0)
            continue;
        while (labelled[at] != rows[i])
            at++;
        found++;
        cr_assert_eq(correct[at], best == n.labels[token]);
        cr_assert_float_eq(losses[at], log(total) - l[n.labels[token]], 1e-4);
    }
    cr_assert_gt(found, 1);
    int64_t firsts[B] = { 0, 11, 15 }, words = n.in.targets[0].n;
    ops_scratch_begin(n.o);
    ops_copy(n.o, f32(logits),
             bert_first_fwd(&n.m, n.o, x, w, ops_host_array(firsts, OPS_I64), B, no_dropout).logits,
             2 * B);
    cr_assert_eq(correct[words], logits[1] >= logits[0]);
    cr_assert_eq(correct[words + 2], logits[4] >= logits[5]);
    net_release(&n);
}

Test(bert, head_reports_starts_and_ends)
{
    struct net n;
    struct model_config c = small;
    c.head = HEAD_QUESTIONS;
    float losses[2 * B], logits[2 * TOKENS];
    unsigned char correct[2 * B];
    net_init(&n, &c, fill, 1);
    net_forward(&n, 0);
    double sum = net_head(&n, losses, correct), total = 0;
    n.m.head_logits(&n.m, n.o, f32(logits), f32(n.x[NET_LAYERS]), f32(n.w[NET_LAYERS + 1]),
                    OPS_NONE, n.in.N);
    for (int i = 0; i < 2 * B; i++)
        total += losses[i] / 2;
    cr_assert_float_eq(sum, total, 1e-5);
    cr_assert(losses[0] > 0 && losses[1] > 0 && losses[3] > 0 && losses[4] > 0);
    cr_assert(losses[2] == 0 && losses[5] == 0 && !correct[2] && !correct[5]);
    double all = 0; /* the second sequence has rows 11 to 14 */
    for (int i = 0; i < 4; i++)
        all += exp(logits[2 * (11 + i) + 1]);
    cr_assert_float_eq(losses[4], log(all) - logits[2 * (11 + 2) + 1], 1e-4);
    net_release(&n);
}

/* ---- the table ---------------------------------------------------------------------------- */

static int64_t parameters(int64_t layers, int64_t C, enum model_head kind)
{
    struct model m;
    struct model_config c = { .layers = layers,
                              .width = C,
                              .heads = C / 64,
                              .inner = 4 * C,
                              .positions = 512,
                              .vocabulary = 30522,
                              .epsilon = 1e-12,
                              .init_std = 0.02,
                              .head = kind,
                              .types = 2 };
    cr_assert_eq(model_init(&m, &c), 0, "%s", err_get());
    cr_assert_eq(m.tensors.blocks, layers + 2);
    int64_t n = tensor_parameters(&m.tensors);
    model_release(&m);
    return n;
}

Test(bert, parameter_counts) /* of Hugging Face's models, the tied decoder counted once */
{
    cr_assert_eq(parameters(12, 768, HEAD_PRETRAINING), 110106428);
    cr_assert_eq(parameters(24, 1024, HEAD_PRETRAINING), 336226108);
    cr_assert_eq(parameters(12, 768, HEAD_QUESTIONS), 108893186);
    cr_assert_eq(parameters(12, 768, HEAD_NONE), 108891648);
}

Test(bert, bad_config)
{
    struct model m;
    struct model_config c = small;
    c.types = 0;
    cr_assert_eq(model_init(&m, &c), -1);
    cr_assert(strstr(err_get(), "types is 0"), "%s", err_get());
    c = small;
    c.heads = 3;
    cr_assert_eq(model_init(&m, &c), -1);
    cr_assert(strstr(err_get(), "3 heads do not divide"), "%s", err_get());
}
