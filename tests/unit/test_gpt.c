/* GPT-2's blocks through model.h: gradients by differences, dropout, recomputation, threads.
 * That they compute GPT-2 and nothing else is shown against transformers (tests/peers/model.py). */
#include <criterion/criterion.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "common/mem.h"
#include "common/rng.h"
#include "model/model.h"

static const struct model_config small = { .layers = 2, .width = 20, .heads = 4, .inner = 50,
                                           .positions = 12, .vocabulary = 31, .epsilon = 1e-5,
                                           .init_std = 0.3 };

/* A model with all that a step needs. */
struct net {
    struct ops *o;
    struct model m;
    struct batch b;
    float *w[4], *g[4]; /* two layers */
    float *x[3], *cache[2], *dx;
    uint32_t ids[24];
    int32_t labels[24];
};

static void net_init(struct net *n, const struct model_config *c, int threads)
{
    *n = (struct net){ .o = ops_new(threads) };
    cr_assert_eq(model_init_gpt(&n->m, c), 0, "%s", err_get());
    n->b = (struct batch){ .B = 2, .T = 11, .ids = n->ids, .labels = n->labels, .key = 5,
                           .training = 1 };
    int64_t N = n->b.B * n->b.T;
    for (int64_t i = 0; i < N; i++) {
        n->ids[i] = (uint32_t)(rng_at(1, (uint64_t)i) % 31);
        n->labels[i] = i % 5 == 2 ? MODEL_IGNORE : (int32_t)(rng_at(2, (uint64_t)i) % 31);
    }
    for (int i = 0; i < n->m.tensors.blocks; i++) {
        n->w[i] = ops_buffer(n->o, n->m.tensors.block_size[i]);
        n->g[i] = ops_buffer(n->o, n->m.tensors.block_size[i]);
    }
    for (size_t i = 0; i < n->m.tensors.count; i++) {
        struct tensor row = n->m.tensors.rows[i];
        float *w = n->w[row.block] + row.offset;
        row.init = INIT_NORMAL; /* biases and gains away from 0 and 1 */
        row.std = 0.3f;
        tensor_initialise(&row, 3, w);
    }
    for (int i = 0; i < 3; i++)
        n->x[i] = ops_buffer(n->o, N * c->width);
    for (int i = 0; i < 2; i++)
        n->cache[i] = ops_buffer(n->o, n->m.layer_cache(&n->m, n->b.B, n->b.T));
    n->dx = ops_buffer(n->o, N * c->width);
}

static void net_release(struct net *n)
{
    int64_t size = n->b.B * n->b.T * n->m.config.width;
    for (int i = 0; i < n->m.tensors.blocks; i++) {
        ops_buffer_free(n->o, n->w[i], n->m.tensors.block_size[i]);
        ops_buffer_free(n->o, n->g[i], n->m.tensors.block_size[i]);
    }
    for (int i = 0; i < 3; i++)
        ops_buffer_free(n->o, n->x[i], size);
    for (int i = 0; i < 2; i++)
        ops_buffer_free(n->o, n->cache[i], n->m.layer_cache(&n->m, n->b.B, n->b.T));
    ops_buffer_free(n->o, n->dx, size);
    model_release(&n->m);
    ops_free(n->o);
}

static void forward(struct net *n, int keep)
{
    n->m.embedding_fwd(&n->m, n->o, n->x[0], n->w[0], &n->b);
    for (int l = 0; l < 2; l++)
        n->m.layer_fwd(&n->m, n->o, l, n->x[l + 1], n->x[l], n->w[l + 1],
                       keep ? n->cache[l] : NULL, &n->b);
}

static double loss_of(struct net *n)
{
    float losses[24];
    forward(n, 0);
    return n->m.head_fwd(&n->m, n->o, losses, NULL, n->x[2], n->w[3], n->w[0], &n->b);
}

/* Gradients of scale * (sum of losses) into n->g. */
static double backward(struct net *n, double scale)
{
    forward(n, 1);
    double loss = n->m.head_fwd_bwd(&n->m, n->o, NULL, NULL, n->dx, n->g[3], n->g[0],
                                    n->x[2], n->w[3], n->w[0], scale, &n->b);
    for (int l = 2; l-- > 0;)
        n->m.layer_bwd(&n->m, n->o, l, n->dx, n->g[l + 1], n->x[l], n->w[l + 1], n->cache[l],
                       &n->b);
    n->m.embedding_bwd(&n->m, n->o, n->g[0], n->dx, n->w[0], &n->b);
    return loss;
}

/* One direction a tensor: the slope along the gradient itself, which f32 shows best. */
static void check_tensor(struct net *n, const struct tensor *row, double scale)
{
    float *w = n->w[row->block] + row->offset, *g = n->g[row->block] + row->offset;
    int64_t size = tensor_elements(row);
    float *keep = mem_alloc((size_t)size * sizeof *keep);
    memcpy(keep, w, (size_t)size * sizeof *keep);
    double squares = 0;
    for (int64_t i = 0; i < size; i++)
        squares += (double)g[i] * g[i];
    cr_assert(squares > 0, "no gradient in %s", row->name);
    double h = 0.03 / sqrt(squares), change[2];
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
    cr_assert_float_eq(loss, loss_of(&n), 1e-4 * loss);
    for (size_t i = 0; i < n.m.tensors.count; i++)
        check_tensor(&n, &n.m.tensors.rows[i], 0.5);
    net_release(&n);
}

Test(gpt, gradients)
{
    check_model(&small);
}

/* Masks are made again for each forward, so the loss is as smooth as without them. */
Test(gpt, gradients_with_dropout)
{
    struct model_config c = small;
    c.embedding_dropout = 0.1;
    c.attention_dropout = 0.2;
    c.residual_dropout = 0.3;
    check_model(&c);
}

/* A second backward adds to the gradients of parameters. */
Test(gpt, gradients_accumulate)
{
    struct net once, twice;
    net_init(&once, &small, 1);
    net_init(&twice, &small, 1);
    backward(&once, 1);
    backward(&twice, 1);
    backward(&twice, 1);
    for (int b = 0; b < 4; b++)
        for (int64_t i = 0; i < once.m.tensors.block_size[b]; i++)
            cr_assert_float_eq(twice.g[b][i], 2 * once.g[b][i], 1e-4);
    net_release(&once);
    net_release(&twice);
}

/* Gradients by bf16 products are those by f32, as far as 8 bits show: a tensor's error is small
 * beside its norm, and is not zero. */
Test(gpt, gradients_in_bf16)
{
    struct net exact, coarse;
    net_init(&exact, &small, 2);
    net_init(&coarse, &small, 2);
    ops_set_precision(coarse.o, OPS_BF16);
    double loss = backward(&exact, 1), near = backward(&coarse, 1);
    cr_assert_float_eq(near, loss, 0.005 * loss);
    for (size_t i = 0; i < exact.m.tensors.count; i++) {
        const struct tensor *row = &exact.m.tensors.rows[i];
        double squares = 0, errors = 0;
        for (int64_t k = row->offset; k < row->offset + tensor_elements(row); k++) {
            double g = exact.g[row->block][k], e = coarse.g[row->block][k] - g;
            squares += g * g;
            errors += e * e;
        }
        double share = sqrt(errors / squares);
        cr_assert(share > 1e-5 && share < 0.03, "%s: relative error %g", row->name, share);
    }
    net_release(&exact);
    net_release(&coarse);
}

/* A step's first backward does not see what stands in the layers' gradients. */
Test(gpt, gradients_begin)
{
    struct net clean, dirty;
    net_init(&clean, &small, 1);
    net_init(&dirty, &small, 1);
    backward(&clean, 1);
    for (int b = 1; b <= 2; b++)
        for (size_t i = 0; i < dirty.m.tensors.count; i++) {
            const struct tensor *row = &dirty.m.tensors.rows[i];
            for (int64_t k = 0; k < tensor_elements(row) && row->block == b; k++)
                dirty.g[b][row->offset + k] = NAN;
        }
    dirty.b.first = 1;
    backward(&dirty, 1);
    for (int b = 0; b < 4; b++)
        cr_assert_eq(0, memcmp(clean.g[b], dirty.g[b],
                               (size_t)clean.m.tensors.block_size[b] * sizeof(float)));
    net_release(&clean);
    net_release(&dirty);
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
    n.m.config = small;
    n.b.training = 1;
    cr_assert_eq(plain, loss_of(&n));
    net_release(&n);
}

/* Each of the places has masks of its own: layers and places do not repeat each other. */
Test(gpt, dropout_differs_by_layer)
{
    struct model_config c = small;
    struct net n;
    float y[2][440];
    c.residual_dropout = 0.5;
    net_init(&n, &c, 1);
    forward(&n, 0);
    for (int l = 0; l < 2; l++) /* the same weights and input, as another layer */
        n.m.layer_fwd(&n.m, n.o, l, y[l], n.x[0], n.w[1], NULL, &n.b);
    cr_assert_neq(0, memcmp(y[0], y[1], sizeof y[0]));
    net_release(&n);
}

/* ---- equal results ------------------------------------------------------------------------ */

Test(gpt, evaluation_equals_training_forward)
{
    struct net n;
    float kept[440];
    net_init(&n, &small, 2);
    forward(&n, 1);
    memcpy(kept, n.x[2], sizeof kept);
    forward(&n, 0);
    cr_assert_eq(0, memcmp(kept, n.x[2], sizeof kept));
    net_release(&n);
}

/* To the bit: every sum has one order. */
static void threads_do_not_matter(enum ops_precision precision)
{
    struct model_config c = with_dropout();
    struct net one, other;
    net_init(&one, &c, 1);
    ops_set_precision(one.o, precision);
    double loss = backward(&one, 1);
    for (int threads = 2; threads <= 5; threads++) {
        net_init(&other, &c, threads);
        ops_set_precision(other.o, precision);
        double same = backward(&other, 1);
        cr_assert_eq(loss, same);
        for (int b = 0; b < 4; b++)
            cr_assert_eq(0, memcmp(one.g[b], other.g[b],
                                   (size_t)one.m.tensors.block_size[b] * sizeof(float)));
        net_release(&other);
    }
    net_release(&one);
}

Test(gpt, threads_do_not_matter)
{
    threads_do_not_matter(OPS_F32);
    threads_do_not_matter(OPS_BF16);
}

Test(gpt, head_reports_each_position)
{
    struct net n;
    float losses[22];
    unsigned char correct[22];
    net_init(&n, &small, 1);
    forward(&n, 0);
    double sum = n.m.head_fwd(&n.m, n.o, losses, correct, n.x[2], n.w[3], n.w[0], &n.b), total = 0;
    for (int i = 0; i < 22; i++) {
        cr_assert((n.labels[i] == MODEL_IGNORE) == (losses[i] == 0));
        total += losses[i];
    }
    cr_assert_float_eq(sum, total, 1e-5);
    net_release(&n);
}

/* ---- the table ---------------------------------------------------------------------------- */

static int64_t parameters(int64_t L, int64_t C, int64_t P, int64_t V)
{
    struct model m;
    struct model_config c = { .layers = L, .width = C, .heads = C / 64, .inner = 4 * C,
                              .positions = P, .vocabulary = V, .epsilon = 1e-5, .init_std = 0.02 };
    cr_assert_eq(model_init_gpt(&m, &c), 0, "%s", err_get());
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
    cr_assert_eq(model_init_gpt(&m, &small), 0);
    cr_assert_eq(m.tensors.blocks, 4);
    cr_assert_eq(m.tensors.count, 2 + 2 * 12 + 2);
    cr_assert_eq(m.tensors.block_size[1], m.tensors.block_size[2]);
    const struct tensor *qkv = tensor_find(&m.tensors, "h.1.attn.c_attn.weight");
    cr_assert(qkv && qkv->shape[0] == 20 && qkv->shape[1] == 60 && qkv->block == 2 && qkv->decay);
    const struct tensor *end = tensor_find(&m.tensors, "h.0.mlp.c_proj.weight");
    cr_assert(end && end->shape[0] == 50 && end->shape[1] == 20);
    cr_assert_float_eq(end->std, 0.3 / 2, 1e-6); /* 1/sqrt(2L) */
    cr_assert_float_eq(qkv->std, 0.3, 1e-6);
    cr_assert(tensor_find(&m.tensors, "wte.weight")->decay);
    cr_assert_not(tensor_find(&m.tensors, "h.0.ln_1.weight")->decay);
    cr_assert_not(tensor_find(&m.tensors, "h.0.attn.c_attn.bias")->decay);
    cr_assert_eq(tensor_find(&m.tensors, "ln_f.weight")->init, INIT_ONE);
    cr_assert_eq(tensor_find(&m.tensors, "ln_f.bias")->block, 3);
    model_release(&m);
}

static void refused(struct model_config c, const char *words)
{
    struct model m;
    cr_assert_eq(model_init_gpt(&m, &c), -1);
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
    refused(c, "epsilon of layer norm is 0");
    c = small;
    c.init_std = INFINITY;
    refused(c, "standard deviation of the weights is inf");
}

Test(gpt, flops)
{
    struct model_config c = { .layers = 12, .width = 768, .inner = 3072, .vocabulary = 50257 };
    cr_assert_float_eq(model_flops_per_token(&c, 1024, 1), 798e6, 1e6);
    cr_assert_float_eq(model_flops_per_token(&c, 64, 1), 745e6, 1e6);
}
