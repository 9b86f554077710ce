#include "tests/unit/net.h"

#include <criterion/criterion.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"
#include "common/base/mem.h"
#include "model/network/embedding.h"
#include "model/network/layer.h"
#include "tests/unit/arrays.h"
#include "tests/unit/cache.h"

/* Sets the rank's parameters to its part of the whole model's random parameters. */
static void initialise(struct net *n, const struct model_config *c)
{
    static const struct split one = { .ranks = { 1, 1 } };
    struct model whole;
    cr_assert_eq(model_init(&whole, c), 0, "%s", err_get());
    for (size_t i = 0; i < n->m.tensors.count; i++) {
        const struct tensor *own = &n->m.tensors.rows[i];
        struct tensor row = whole.tensors.rows[i];
        float *w = mem_alloc((size_t)tensor_elements(&row) * sizeof *w),
              mean = row.init == INIT_ONE;
        const struct split *split = n->m.split ? n->m.split : &one;
        const struct split_runs runs = split_runs(&row, own, split, split_number(split));
        row.init = INIT_NORMAL;
        row.std = 0.3f;
        tensor_initialise(&row, 3, 0, tensor_elements(&row), w);
        for (int64_t e = 0; e < tensor_elements(&row); e++)
            w[e] += mean;
        cr_assert_eq(split_elements(&runs), tensor_elements(own));
        split_cut(n->w[row.block] + own->offset, w, &runs, sizeof *w);
        free(w);
    }
    model_release(&whole);
}

void net_init(struct net *n, const struct model_config *c, net_fill *fill, int threads)
{
    net_init_part(n, c, NULL, fill, threads);
}

void net_init_part(struct net *n, const struct model_config *c, const struct split *split,
                   net_fill *fill, int threads)
{
    *n = (struct net){ .o = ops_open("cpu", threads) };
    cr_assert_eq(model_init_split(&n->m, c, split), 0, "%s", err_get());
    cr_assert(c->layers == NET_LAYERS && c->width == NET_WIDTH);
    cr_assert_eq(n->m.tensors.blocks, NET_BLOCKS);
    fill(n);
    cr_assert(n->b.joined || n->b.B * n->b.T <= NET_TOKENS);
    for (int i = 0; i < NET_BLOCKS; i++) {
        n->w[i] = floats(ops_buffer(n->o, OPS_F32, n->m.tensors.block_size[i]));
        n->g[i] = floats(ops_buffer(n->o, OPS_F32, n->m.tensors.block_size[i]));
    }
    initialise(n, c);
    for (int i = 0; i <= NET_LAYERS; i++)
        n->x[i] = floats(ops_buffer(n->o, OPS_F32, NET_TOKENS * NET_WIDTH));
    for (int i = 0; i < NET_LAYERS; i++)
        n->cache[i] = floats(ops_buffer(n->o, OPS_F32, layer_cache(&n->m, 1, NET_TOKENS, NULL)));
    n->dx = floats(ops_buffer(n->o, OPS_F32, NET_TOKENS * NET_WIDTH));
}

void net_release(struct net *n)
{
    for (int i = 0; i < NET_BLOCKS; i++) {
        ops_buffer_free(n->o, f32(n->w[i]));
        ops_buffer_free(n->o, f32(n->g[i]));
    }
    for (int i = 0; i <= NET_LAYERS; i++)
        ops_buffer_free(n->o, f32(n->x[i]));
    for (int i = 0; i < NET_LAYERS; i++)
        ops_buffer_free(n->o, f32(n->cache[i]));
    ops_buffer_free(n->o, f32(n->dx));
    inputs_release(&n->in, n->o);
    model_release(&n->m);
    ops_free(n->o);
}

/* Returns the parts of a layer's cache, or no parts if `cache` is NULL. */
static struct model_cache cache_of(const struct net *n, const float *cache)
{
    return cache_in(&n->m, f32(cache), 1, NET_TOKENS);
}

void net_forward(struct net *n, int keep)
{
    inputs_set(&n->in, n->o, &n->m, &n->b);
    embedding_fwd(&n->m, n->o, f32(n->x[0]), f32(n->w[0]), &n->in);
    for (int l = 0; l < NET_LAYERS; l++)
        layer_fwd(&n->m, n->o, l, f32(n->x[l + 1]), f32(n->x[l]), f32(n->w[l + 1]),
                  cache_of(n, keep ? n->cache[l] : NULL), &n->in);
}

static double weighted_sum(const struct net *n, const float *losses)
{
    double sum = 0;
    for (int p = 0; p < n->m.parts; p++) {
        int next = n->m.config.head == HEAD_PRETRAINING && p == 1;
        double weight = next ? n->b.next_weight : n->m.part[p].weight;
        for (int64_t i = 0; i < n->in.targets[p].n; i++)
            sum += weight * *losses++;
    }
    return sum;
}

/* Returns a forward pass through the head. */
static struct head_pass head_of(const struct net *n, struct ops_scores out)
{
    return (struct head_pass){ .out = out,
                               .x = f32(n->x[NET_LAYERS]),
                               .w = f32(n->w[NET_LAYERS + 1]),
                               .tied = f32(n->w[0]),
                               .in = &n->in };
}

double net_head(struct net *n, float *losses, unsigned char *correct)
{
    const struct ops_scores out = { f32(losses), ops_host_array(correct, OPS_U8) };
    const struct head_pass p = head_of(n, out);
    inputs_set(&n->in, n->o, &n->m, &n->b);
    n->m.head(&n->m, n->o, &p);
    return weighted_sum(n, losses);
}

double net_loss(struct net *n)
{
    float losses[2 * NET_TOKENS];
    net_forward(n, 0);
    return net_head(n, losses, NULL);
}

double net_backward(struct net *n, double scale)
{
    float losses[2 * NET_TOKENS];
    struct ops_gradient g[NET_BLOCKS];
    for (int b = 0; b < NET_BLOCKS; b++)
        g[b] = (struct ops_gradient){ f32(n->g[b]), !n->first };
    net_forward(n, 1);
    struct head_pass p = head_of(n, (struct ops_scores){ .losses = f32(losses) });
    p.dx = f32(n->dx);
    p.dw = g[NET_LAYERS + 1];
    p.dtied = g[0];
    p.scale = scale;
    n->m.head(&n->m, n->o, &p);
    for (int l = NET_LAYERS; l-- > 0;)
        layer_bwd(&n->m, n->o, l, f32(n->dx), g[l + 1], f32(n->x[l]), f32(n->w[l + 1]),
                  cache_of(n, n->cache[l]), &n->in);
    embedding_bwd(&n->m, n->o, g[0], f32(n->dx), f32(n->w[0]), &n->in);
    return weighted_sum(n, losses);
}

/* Returns whether the tensor adds the same number to all scores of a softmax, so that its gradient
 * is 0. */
static int adds_to_all(const struct net *n, const struct tensor *row)
{
    return strstr(row->name, "key.bias") || strstr(row->name, "k_lin.bias") ||
           (n->m.config.head == HEAD_QUESTIONS &&
            (!strcmp(row->name, "qa_outputs.bias") ||
             (n->m.config.head_dropout == 0 &&
              (!strcmp(row->name, "bert.encoder.layer.1.output.LayerNorm.bias") ||
               !strcmp(row->name, "distilbert.transformer.layer.1.output_layer_norm.bias")))));
}

/* Compares the gradient of one tensor with the slope of the loss along the gradient, which is the
 * direction in which floats show the slope best. */
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
        change[side] = net_loss(n) * scale;
    }
    memcpy(w, keep, (size_t)size * sizeof *keep);
    double slope = (change[0] - change[1]) / (2 * h);
    cr_assert_float_eq(slope, squares, 0.01 * squares, "%s: slope %g, gradient %g", row->name,
                       slope, squares);
    free(keep);
}

void net_check_gradients(const struct model_config *c, net_fill *fill)
{
    struct net n;
    net_init(&n, c, fill, 2);
    double loss = net_backward(&n, 0.5);
    cr_assert(loss > 0);
    cr_assert_float_eq(loss, net_loss(&n), 1e-4 * loss);
    for (size_t i = 0; i < n.m.tensors.count; i++)
        check_tensor(&n, &n.m.tensors.rows[i], 0.5);
    net_release(&n);
}

void net_check_accumulation(const struct model_config *c, net_fill *fill)
{
    struct net once, twice;
    net_init(&once, c, fill, 1);
    net_init(&twice, c, fill, 1);
    net_backward(&once, 1);
    net_backward(&twice, 1);
    net_backward(&twice, 1);
    for (int b = 0; b < NET_BLOCKS; b++)
        for (int64_t i = 0; i < once.m.tensors.block_size[b]; i++)
            cr_assert_float_eq(twice.g[b][i], 2 * once.g[b][i], 1e-4);
    net_release(&once);
    net_release(&twice);
}

static void check_same_gradients(const struct net *a, const struct net *b)
{
    for (int i = 0; i < NET_BLOCKS; i++)
        cr_assert_eq(0,
                     memcmp(a->g[i], b->g[i], (size_t)a->m.tensors.block_size[i] * sizeof(float)));
}

void net_check_beginning(const struct model_config *c, net_fill *fill)
{
    struct net clean, dirty;
    net_init(&clean, c, fill, 1);
    net_init(&dirty, c, fill, 1);
    net_backward(&clean, 1);
    for (size_t i = 0; i < dirty.m.tensors.count; i++) {
        const struct tensor *row = &dirty.m.tensors.rows[i];
        for (int64_t k = 0; k < tensor_elements(row); k++)
            dirty.g[row->block][row->offset + k] = NAN;
    }
    dirty.first = 1;
    net_backward(&dirty, 1);
    check_same_gradients(&clean, &dirty);
    net_release(&clean);
    net_release(&dirty);
}

/* The error of a tensor's gradient with bf16 must be small relative to its norm, and not 0. */
void net_check_bf16(const struct model_config *c, net_fill *fill)
{
    struct net exact, coarse;
    net_init(&exact, c, fill, 2);
    net_init(&coarse, c, fill, 2);
    ops_set_precision(coarse.o, OPS_BF16);
    double loss = net_backward(&exact, 1), near = net_backward(&coarse, 1);
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
        cr_assert(adds_to_all(&exact, row) || (share > 1e-5 && share < 0.05),
                  "%s: relative error %g", row->name, share);
    }
    net_release(&exact);
    net_release(&coarse);
}

void net_check_threads(const struct model_config *c, net_fill *fill, enum ops_type precision)
{
    struct net one, other;
    net_init(&one, c, fill, 1);
    ops_set_precision(one.o, precision);
    double loss = net_backward(&one, 1);
    for (int threads = 2; threads <= 5; threads++) {
        net_init(&other, c, fill, threads);
        ops_set_precision(other.o, precision);
        cr_assert_eq(loss, net_backward(&other, 1));
        check_same_gradients(&one, &other);
        net_release(&other);
    }
    net_release(&one);
}

void net_check_evaluation(const struct model_config *c, net_fill *fill)
{
    struct net n;
    float kept[NET_TOKENS * NET_WIDTH];
    net_init(&n, c, fill, 2);
    net_forward(&n, 1);
    memcpy(kept, n.x[NET_LAYERS], sizeof kept);
    net_forward(&n, 0);
    cr_assert_eq(0, memcmp(kept, n.x[NET_LAYERS], sizeof kept));
    net_release(&n);
}

void net_check_dropout_key(const struct model_config *c, net_fill *fill)
{
    struct net n;
    net_init(&n, c, fill, 1);
    double first = net_loss(&n);
    cr_assert_eq(first, net_loss(&n));
    n.b.key++;
    cr_assert_neq(first, net_loss(&n));
    n.b.dropout = 0;
    double plain = net_loss(&n);
    n.b.key--;
    cr_assert_eq(plain, net_loss(&n)); /* evaluation has none */
    n.b.dropout = 1;
    n.m.config.embedding_dropout = n.m.config.attention_dropout = n.m.config.residual_dropout = 0;
    n.m.config.head_dropout = 0;
    cr_assert_eq(plain, net_loss(&n));
    net_release(&n);
}
