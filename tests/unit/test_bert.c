/* BERT's blocks and heads through model.h: gradients by differences, padding, dropout, threads.
 * That they compute BERT and nothing else is shown against transformers (tests/peers/bert.py). */
#include <criterion/criterion.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "common/mem.h"
#include "common/rng.h"
#include "model/bert.h"

enum { LAYERS = 2, BLOCKS = 4, WIDTH = 20, VOCABULARY = 31, B = 3, T = 11, TOKENS = B * T };

static const struct model_config small = {
    .layers = LAYERS, .width = WIDTH, .heads = 4, .inner = 50, .positions = 12,
    .vocabulary = VOCABULARY, .epsilon = 1e-12, .init_std = 0.3, .kind = MODEL_BERT_PRETRAINING,
    .types = 2,
};

static const int64_t lengths[B] = { 11, 4, 7 };
static const int32_t next[B] = { 1, MODEL_IGNORE, 0 };
static const int32_t starts[B] = { 3, 2, 7 }, ends[B] = { 8, 2, 7 }; /* 7 is past the third */

/* A model with all that a step needs. */
struct net {
    struct ops *o;
    struct model m;
    struct batch b;
    float *w[BLOCKS], *g[BLOCKS];
    float *x[LAYERS + 1], *cache[LAYERS], *dx;
    uint32_t ids[TOKENS], segments[TOKENS];
    int32_t labels[TOKENS];
};

/* Padding holds what would crash or spoil the numbers if it were read. */
static void fill_batch(struct net *n)
{
    n->b = (struct batch){ .B = B, .T = T, .ids = n->ids, .labels = n->labels, .key = 5,
                           .training = 1, .lengths = lengths, .segments = n->segments,
                           .next = next, .next_weight = 1.5, .starts = starts, .ends = ends };
    for (int64_t i = 0; i < TOKENS; i++) {
        int real = i % T < lengths[i / T];
        n->ids[i] = real ? (uint32_t)(rng_at(1, (uint64_t)i) % VOCABULARY) : 1u << 31;
        n->segments[i] = real ? i % T > 2 : 1u << 31;
        n->labels[i] = i % 3 == 2 ? (int32_t)(rng_at(2, (uint64_t)i) % VOCABULARY) : MODEL_IGNORE;
    }
}

static void net_init(struct net *n, const struct model_config *c, int threads)
{
    *n = (struct net){ .o = ops_new(threads) };
    cr_assert_eq(model_init_bert(&n->m, c), 0, "%s", err_get());
    fill_batch(n);
    for (int i = 0; i < BLOCKS; i++) {
        n->w[i] = ops_buffer(n->o, n->m.tensors.block_size[i]);
        n->g[i] = ops_buffer(n->o, n->m.tensors.block_size[i]);
    }
    for (size_t i = 0; i < n->m.tensors.count; i++) {
        struct tensor row = n->m.tensors.rows[i];
        float *w = n->w[row.block] + row.offset, mean = row.init == INIT_ONE;
        row.init = INIT_NORMAL; /* biases and gains away from 0 and 1 */
        row.std = 0.3f;
        tensor_initialise(&row, 3, w);
        for (int64_t e = 0; e < tensor_elements(&row); e++)
            w[e] += mean;
    }
    for (int i = 0; i <= LAYERS; i++)
        n->x[i] = ops_buffer(n->o, TOKENS * WIDTH);
    for (int i = 0; i < LAYERS; i++)
        n->cache[i] = ops_buffer(n->o, n->m.layer_cache(&n->m, B, T));
    n->dx = ops_buffer(n->o, TOKENS * WIDTH);
}

static void net_release(struct net *n)
{
    for (int i = 0; i < BLOCKS; i++) {
        ops_buffer_free(n->o, n->w[i], n->m.tensors.block_size[i]);
        ops_buffer_free(n->o, n->g[i], n->m.tensors.block_size[i]);
    }
    for (int i = 0; i <= LAYERS; i++)
        ops_buffer_free(n->o, n->x[i], TOKENS * WIDTH);
    for (int i = 0; i < LAYERS; i++)
        ops_buffer_free(n->o, n->cache[i], n->m.layer_cache(&n->m, B, T));
    ops_buffer_free(n->o, n->dx, TOKENS * WIDTH);
    model_release(&n->m);
    ops_free(n->o);
}

static void forward(struct net *n, int keep)
{
    n->m.embedding_fwd(&n->m, n->o, n->x[0], n->w[0], &n->b);
    for (int l = 0; l < LAYERS; l++)
        n->m.layer_fwd(&n->m, n->o, l, n->x[l + 1], n->x[l], n->w[l + 1],
                       keep ? n->cache[l] : NULL, &n->b);
}

static double head_of(struct net *n, float *losses, unsigned char *correct)
{
    return n->m.head_fwd(&n->m, n->o, losses, correct, n->x[LAYERS], n->w[LAYERS + 1], n->w[0],
                         &n->b);
}

static double loss_of(struct net *n)
{
    float losses[TOKENS + B];
    forward(n, 0);
    return head_of(n, losses, NULL);
}

/* Gradients of scale * (sum of losses) into n->g. */
static double backward(struct net *n, double scale)
{
    forward(n, 1);
    double loss = n->m.head_fwd_bwd(&n->m, n->o, NULL, NULL, n->dx, n->g[LAYERS + 1], n->g[0],
                                    n->x[LAYERS], n->w[LAYERS + 1], n->w[0], scale, &n->b);
    for (int l = LAYERS; l-- > 0;)
        n->m.layer_bwd(&n->m, n->o, l, n->dx, n->g[l + 1], n->x[l], n->w[l + 1], n->cache[l],
                       &n->b);
    n->m.embedding_bwd(&n->m, n->o, n->g[0], n->dx, n->w[0], &n->b);
    return loss;
}

/* ---- gradients ---------------------------------------------------------------------------- */

/* What adds the same to all scores that a softmax sees: its gradient is 0. */
static int adds_to_all(const struct net *n, const struct tensor *row)
{
    return strstr(row->name, "key.bias") ||
           (n->m.config.kind == MODEL_BERT_QUESTIONS &&
            (!strcmp(row->name, "qa_outputs.bias") ||
             !strcmp(row->name, "bert.encoder.layer.1.output.LayerNorm.bias")));
}

/* One direction a tensor: the slope along the gradient itself, which f32 shows best. */
static void check_tensor(struct net *n, const struct tensor *row, double scale)
{
    float *w = n->w[row->block] + row->offset, *g = n->g[row->block] + row->offset;
    int64_t size = tensor_elements(row);
    double squares = 0;
    for (int64_t i = 0; i < size; i++)
        squares += (double)g[i] * g[i];
    if (adds_to_all(n, row)) {
        cr_assert(squares < 1e-9, "%s: gradient %g", row->name, sqrt(squares));
        return;
    }
    cr_assert(squares > 0, "no gradient in %s", row->name);
    float *keep = mem_alloc((size_t)size * sizeof *keep);
    memcpy(keep, w, (size_t)size * sizeof *keep);
    double h = 0.004 / sqrt(squares), change[2];
    for (int side = 0; side < 2; side++) {
        for (int64_t i = 0; i < size; i++)
            w[i] = keep[i] + (float)((side ? -h : h) * g[i]);
        change[side] = loss_of(n) * scale;
    }
    memcpy(w, keep, (size_t)size * sizeof *keep);
    double slope = (change[0] - change[1]) / (2 * h);
    cr_assert_float_eq(slope, squares, 0.01 * squares, "%s: slope %g, gradient %g", row->name,
                       slope, squares);
    free(keep);
}

static void check_model(const struct model_config *c)
{
    struct net n;
    net_init(&n, c, 2);
    double loss = backward(&n, 0.5);
    cr_assert(loss > 0);
    cr_assert_float_eq(loss, loss_of(&n), 1e-4 * loss);
    for (size_t i = 0; i < n.m.tensors.count; i++)
        check_tensor(&n, &n.m.tensors.rows[i], 0.5);
    net_release(&n);
}

static struct model_config with_dropout(enum model_kind kind)
{
    struct model_config c = small;
    c.kind = kind;
    c.embedding_dropout = 0.1;
    c.attention_dropout = 0.2;
    c.residual_dropout = 0.3;
    return c;
}

Test(bert, gradients_of_pretraining)
{
    check_model(&small);
}

Test(bert, gradients_of_questions)
{
    struct model_config c = small;
    c.kind = MODEL_BERT_QUESTIONS;
    check_model(&c);
}

Test(bert, gradients_of_variants)
{
    struct model_config c = small;
    c.gelu_tanh = 1;
    c.epsilon = 1e-3;
    check_model(&c);
    c.bare_head = 1;
    check_model(&c);
}

Test(bert, gradients_with_dropout)
{
    struct model_config c = with_dropout(MODEL_BERT_PRETRAINING);
    check_model(&c);
    c.dropout_first = 1;
    check_model(&c);
    c = with_dropout(MODEL_BERT_QUESTIONS);
    check_model(&c);
}

/* A second backward adds to the gradients of parameters. */
Test(bert, gradients_accumulate)
{
    struct net once, twice;
    net_init(&once, &small, 1);
    net_init(&twice, &small, 1);
    backward(&once, 1);
    backward(&twice, 1);
    backward(&twice, 1);
    for (int b = 0; b < BLOCKS; b++)
        for (int64_t i = 0; i < once.m.tensors.block_size[b]; i++)
            cr_assert_float_eq(twice.g[b][i], 2 * once.g[b][i], 1e-4);
    net_release(&once);
    net_release(&twice);
}

/* ---- padding ------------------------------------------------------------------------------ */

/* Each sequence by itself gives the rows that it has among others; so does more padding. */
Test(bert, sequences_do_not_meet)
{
    struct net n;
    float together[TOKENS * WIDTH];
    net_init(&n, &small, 2);
    forward(&n, 0);
    memcpy(together, n.x[LAYERS], sizeof together);
    int64_t row = 0;
    for (int b = 0; b < B; b++) {
        fill_batch(&n);
        n.b.B = 1;
        n.b.ids += b * T;
        n.b.segments += b * T;
        n.b.lengths += b;
        forward(&n, 0);
        for (int64_t i = 0; i < lengths[b] * WIDTH; i++)
            cr_assert_float_eq(n.x[LAYERS][i], together[row * WIDTH + i], 1e-5);
        n.b.T = lengths[b];
        n.b.lengths = NULL;
        forward(&n, 0);
        for (int64_t i = 0; i < lengths[b] * WIDTH; i++)
            cr_assert_float_eq(n.x[LAYERS][i], together[row * WIDTH + i], 1e-5);
        row += lengths[b];
    }
    net_release(&n);
}

/* Attention looks both ways: the last token changes the first row, a token of another does not. */
Test(bert, attention_looks_both_ways)
{
    struct net n;
    float first[WIDTH];
    net_init(&n, &small, 1);
    forward(&n, 0);
    memcpy(first, n.x[LAYERS], sizeof first);
    n.ids[T] ^= 1; /* of the second sequence */
    forward(&n, 0);
    cr_assert_eq(0, memcmp(first, n.x[LAYERS], sizeof first));
    n.ids[T - 1] ^= 1;
    forward(&n, 0);
    cr_assert_neq(0, memcmp(first, n.x[LAYERS], sizeof first));
    net_release(&n);
}

/* ---- equal results ------------------------------------------------------------------------ */

Test(bert, evaluation_equals_training_forward)
{
    struct net n;
    float kept[TOKENS * WIDTH];
    net_init(&n, &small, 2);
    forward(&n, 1);
    memcpy(kept, n.x[LAYERS], sizeof kept);
    forward(&n, 0);
    cr_assert_eq(0, memcmp(kept, n.x[LAYERS], sizeof kept));
    net_release(&n);
}

/* To the bit: every sum has one order. */
Test(bert, threads_do_not_matter)
{
    const enum model_kind kinds[] = { MODEL_BERT_PRETRAINING, MODEL_BERT_QUESTIONS };
    for (int k = 0; k < 2; k++) {
        struct model_config c = with_dropout(kinds[k]);
        struct net one, other;
        net_init(&one, &c, 1);
        double loss = backward(&one, 1);
        for (int threads = 2; threads <= 5; threads++) {
            net_init(&other, &c, threads);
            double same = backward(&other, 1);
            cr_assert_eq(loss, same);
            for (int b = 0; b < BLOCKS; b++)
                cr_assert_eq(0, memcmp(one.g[b], other.g[b],
                                       (size_t)one.m.tensors.block_size[b] * sizeof(float)));
            net_release(&other);
        }
        net_release(&one);
    }
}

Test(bert, dropout_follows_its_key)
{
    struct model_config c = with_dropout(MODEL_BERT_PRETRAINING);
    struct net n;
    net_init(&n, &c, 1);
    double first = loss_of(&n), again = loss_of(&n);
    cr_assert_eq(first, again);
    n.b.key = 6;
    cr_assert_neq(first, loss_of(&n));
    n.b.training = 0;
    double plain = loss_of(&n);
    n.b.key = 5;
    cr_assert_eq(plain, loss_of(&n)); /* evaluation has none */
    net_release(&n);
}

/* ---- heads -------------------------------------------------------------------------------- */

Test(bert, head_reports_words_and_sentences)
{
    struct net n;
    float losses[TOKENS + B];
    unsigned char correct[TOKENS + B];
    net_init(&n, &small, 1);
    forward(&n, 0);
    double sum = head_of(&n, losses, correct), total = 0;
    for (int i = 0; i < TOKENS; i++) {
        int counts = i % T < lengths[i / T] && n.labels[i] >= 0;
        cr_assert_eq(counts, losses[i] != 0, "token %d", i);
        cr_assert(counts || !correct[i]);
        total += losses[i];
    }
    for (int b = 0; b < B; b++) {
        cr_assert_eq(next[b] >= 0, losses[TOKENS + b] != 0);
        total += 1.5 * losses[TOKENS + b];
    }
    cr_assert_float_eq(sum, total, 1e-4);
    n.b.next = NULL; /* words alone */
    for (int b = 0; b < B; b++)
        total -= 1.5 * losses[TOKENS + b];
    cr_assert_float_eq(head_of(&n, losses, correct), total, 1e-4);
    for (int i = 0; i < TOKENS; i++) /* no label at all */
        n.labels[i] = MODEL_IGNORE;
    cr_assert_eq(head_of(&n, losses, correct), 0);
    cr_assert_eq(backward(&n, 1), 0);
    net_release(&n);
}

/* What the heads say is right where the logits have their largest. */
Test(bert, heads_know_what_is_correct)
{
    struct net n;
    struct model_config c = small;
    float losses[TOKENS + B], logits[TOKENS * VOCABULARY];
    unsigned char correct[TOKENS + B];
    int64_t rows[4] = { 2, 5, 8, 12 };
    net_init(&n, &c, 1);
    forward(&n, 0);
    head_of(&n, losses, correct);
    bert_word_logits(&n.m, n.o, logits, n.x[LAYERS], n.w[LAYERS + 1], n.w[0], rows, 4);
    for (int i = 0; i < 4; i++) {
        const float *l = logits + i * VOCABULARY;
        int64_t token = rows[i] < T ? rows[i] : T + rows[i] - 11;
        int best = 0;
        double total = 0;
        for (int v = 0; v < VOCABULARY; v++) {
            best = l[v] > l[best] ? v : best;
            total += exp(l[v]);
        }
        if (n.labels[token] < 0)
            continue;
        cr_assert_eq(correct[token], best == n.labels[token]);
        cr_assert_float_eq(losses[token], log(total) - l[n.labels[token]], 1e-4);
    }
    bert_next_logits(&n.m, n.o, logits, n.x[LAYERS], n.w[LAYERS + 1], &n.b);
    cr_assert_eq(correct[TOKENS], logits[1] >= logits[0]);
    cr_assert_eq(correct[TOKENS + 2], logits[4] >= logits[5]);
    net_release(&n);
}

Test(bert, head_reports_starts_and_ends)
{
    struct net n;
    struct model_config c = small;
    c.kind = MODEL_BERT_QUESTIONS;
    float losses[2 * B], logits[2 * TOKENS];
    unsigned char correct[2 * B];
    net_init(&n, &c, 1);
    forward(&n, 0);
    double sum = head_of(&n, losses, correct), total = 0;
    bert_span_logits(&n.m, n.o, logits, n.x[LAYERS], n.w[LAYERS + 1], &n.b);
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

static int64_t parameters(int64_t layers, int64_t C, enum model_kind kind)
{
    struct model m;
    struct model_config c = { .layers = layers, .width = C, .heads = C / 64, .inner = 4 * C,
                              .positions = 512, .vocabulary = 30522, .epsilon = 1e-12,
                              .init_std = 0.02, .kind = kind, .types = 2 };
    cr_assert_eq(model_init_bert(&m, &c), 0, "%s", err_get());
    cr_assert_eq(m.tensors.blocks, layers + 2);
    int64_t n = tensor_parameters(&m.tensors);
    model_release(&m);
    return n;
}

Test(bert, parameter_counts) /* of Hugging Face's models, the tied decoder counted once */
{
    cr_assert_eq(parameters(12, 768, MODEL_BERT_PRETRAINING), 110106428);
    cr_assert_eq(parameters(24, 1024, MODEL_BERT_PRETRAINING), 336226108);
    cr_assert_eq(parameters(12, 768, MODEL_BERT_QUESTIONS), 108893186);
    cr_assert_eq(parameters(12, 768, MODEL_BERT), 108891648);
}

Test(bert, bad_config)
{
    struct model m;
    struct model_config c = small;
    c.types = 0;
    cr_assert_eq(model_init_bert(&m, &c), -1);
    cr_assert(strstr(err_get(), "types is 0"), "%s", err_get());
    c = small;
    c.heads = 3;
    cr_assert_eq(model_init_bert(&m, &c), -1);
    cr_assert(strstr(err_get(), "3 heads do not divide"), "%s", err_get());
}
