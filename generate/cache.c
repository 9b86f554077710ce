#include "generate/cache.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "common/mem.h"

struct cache_layer {
    const float *ln_1_gain, *ln_1_bias, *attn_w, *attn_b, *proj_w, *proj_b;
    const float *ln_2_gain, *ln_2_bias, *fc_w, *fc_b, *fc_proj_w, *fc_proj_b;
};

/* ---- where the parameters are ------------------------------------------------------------- */

/* The parameters of `block` whose name ends in `suffix`; NULL with an error. */
static const float *find(const struct model *m, float *const *blocks, int block, const char *suffix)
{
    size_t n = strlen(suffix);
    for (size_t i = 0; i < m->tensors.count; i++) {
        const struct tensor *t = &m->tensors.rows[i];
        size_t len = strlen(t->name);
        if (t->block == block && len >= n && !strcmp(t->name + len - n, suffix))
            return blocks[block] + t->offset;
    }
    err_set("the model has no tensor '%s' in block %d", suffix, block);
    return NULL;
}

static int find_layer(struct cache_layer *w, const struct model *m, float *const *blocks, int block)
{
    struct {
        const float **to;
        const char *suffix;
    } rows[] = {
        { &w->ln_1_gain, "ln_1.weight" },       { &w->ln_1_bias, "ln_1.bias" },
        { &w->attn_w, "attn.c_attn.weight" },   { &w->attn_b, "attn.c_attn.bias" },
        { &w->proj_w, "attn.c_proj.weight" },   { &w->proj_b, "attn.c_proj.bias" },
        { &w->ln_2_gain, "ln_2.weight" },       { &w->ln_2_bias, "ln_2.bias" },
        { &w->fc_w, "mlp.c_fc.weight" },        { &w->fc_b, "mlp.c_fc.bias" },
        { &w->fc_proj_w, "mlp.c_proj.weight" }, { &w->fc_proj_b, "mlp.c_proj.bias" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!(*rows[i].to = find(m, blocks, block, rows[i].suffix)))
            return -1;
    return 0;
}

static int find_all(struct cache *c, float *const *blocks)
{
    const struct model *m = c->model;
    int head = (int)m->config.layers + 1;
    for (int b = 1; b < head; b++)
        if (find_layer(&c->layers[b - 1], m, blocks, b) < 0)
            return -1;
    c->token_table = find(m, blocks, 0, "wte.weight");
    c->position_table = find(m, blocks, 0, "wpe.weight");
    c->final_gain = find(m, blocks, head, "ln_f.weight");
    c->final_bias = find(m, blocks, head, "ln_f.bias");
    return c->token_table && c->position_table && c->final_gain && c->final_bias ? 0 : -1;
}

/* ---- life --------------------------------------------------------------------------------- */

static int64_t cached_floats(const struct cache *c)
{
    const struct model_config *k = &c->model->config;
    return k->layers * k->positions * k->width;
}

/* x[C], normed[C], qkv[3C], attention[C], inner[I] a row. */
static int64_t scratch_floats(const struct cache *c)
{
    return c->rows * (6 * c->model->config.width + c->model->config.inner);
}

int cache_init(struct cache *c, const struct model *m, struct ops *o, float *const *blocks)
{
    *c = (struct cache){ .model = m, .ops = o };
    c->layers = mem_zalloc((size_t)m->config.layers, sizeof *c->layers);
    c->keys = ops_buffer(o, cached_floats(c));
    c->values = ops_buffer(o, cached_floats(c));
    c->logits = ops_buffer(o, m->config.vocabulary);
    if (!find_all(c, blocks))
        return 0;
    cache_release(c);
    return -1;
}

void cache_release(struct cache *c)
{
    if (!c->ops)
        return;
    ops_buffer_free(c->ops, c->keys, cached_floats(c));
    ops_buffer_free(c->ops, c->values, cached_floats(c));
    ops_buffer_free(c->ops, c->logits, c->model->config.vocabulary);
    if (c->rows)
        ops_buffer_free(c->ops, c->scratch, scratch_floats(c));
    free(c->layers);
    *c = (struct cache){ 0 };
}

static void make_room(struct cache *c, int64_t rows)
{
    if (rows <= c->rows)
        return;
    if (c->rows)
        ops_buffer_free(c->ops, c->scratch, scratch_floats(c));
    c->rows = rows;
    c->scratch = ops_buffer(c->ops, scratch_floats(c));
}

void cache_truncate(struct cache *c, int64_t used)
{
    assert(used >= 0 && used <= c->used);
    c->used = used;
}

/* ---- forward ------------------------------------------------------------------------------ */

/* x[N,C] = token + position. */
static void embed(struct cache *c, float *x, const uint32_t *ids, int64_t N)
{
    int64_t C = c->model->config.width;
    for (int64_t t = 0; t < N; t++) {
        const float *token = c->token_table + ids[t] * C;
        const float *position = c->position_table + (c->used + t) * C;
        for (int64_t i = 0; i < C; i++)
            x[t * C + i] = token[i] + position[i];
    }
}

/* x[N,C] += attention(norm(x)); x += mlp(norm(x)). */
static void layer(struct cache *c, int64_t l, float *x, int64_t N)
{
    const struct model_config *k = &c->model->config;
    const struct cache_layer *w = &c->layers[l];
    struct ops *o = c->ops;
    int64_t C = k->width, I = k->inner, at = l * k->positions * C;
    float *normed = c->scratch + c->rows * C, *qkv = normed + c->rows * C;
    float *attention = qkv + c->rows * 3 * C, *inner = attention + c->rows * C;

    ops_layernorm_fwd(o, OPS_FLOATS, normed, NULL, NULL, x, w->ln_1_gain, w->ln_1_bias, N, C,
                      k->epsilon);
    ops_linear_fwd(o, qkv, ops_floats(normed), w->attn_w, w->attn_b, N, C, 3 * C);
    ops_attention_cached(o, attention, c->keys + at, c->values + at, qkv, c->used, N, k->heads,
                         C / k->heads);
    ops_linear_fwd(o, normed, ops_floats(attention), w->proj_w, w->proj_b, N, C, C);
    ops_add(o, x, normed, N * C);

    ops_layernorm_fwd(o, OPS_FLOATS, normed, NULL, NULL, x, w->ln_2_gain, w->ln_2_bias, N, C,
                      k->epsilon);
    ops_linear_fwd(o, inner, ops_floats(normed), w->fc_w, w->fc_b, N, C, I);
    ops_gelu_fwd(o, OPS_FLOATS, inner, inner, N, I);
    ops_linear_fwd(o, normed, ops_floats(inner), w->fc_proj_w, w->fc_proj_b, N, I, C);
    ops_add(o, x, normed, N * C);
}

static int check(const struct cache *c, const uint32_t *ids, int64_t n)
{
    const struct model_config *k = &c->model->config;
    if (n > k->positions - c->used)
        return err_set("no room for %lld tokens: %lld of the model's %lld positions are taken",
                       (long long)n, (long long)c->used, (long long)k->positions);
    for (int64_t i = 0; i < n; i++)
        if (ids[i] >= k->vocabulary)
            return err_set("token %u is not in the model's vocabulary of %lld", ids[i],
                           (long long)k->vocabulary);
    return 0;
}

float *cache_forward(struct cache *c, const uint32_t *ids, int64_t n)
{
    const struct model_config *k = &c->model->config;
    assert(n >= 1);
    if (check(c, ids, n) < 0)
        return NULL;
    make_room(c, n);
    float *x = c->scratch, *last = x + (n - 1) * k->width, *normed = x + c->rows * k->width;
    embed(c, x, ids, n);
    for (int64_t l = 0; l < k->layers; l++)
        layer(c, l, x, n);
    c->used += n;
    ops_layernorm_fwd(c->ops, OPS_FLOATS, normed, NULL, NULL, last, c->final_gain, c->final_bias, 1,
                      k->width, k->epsilon);
    ops_logits(c->ops, c->logits, normed, c->token_table, 1, k->vocabulary, k->width);
    return c->logits;
}
