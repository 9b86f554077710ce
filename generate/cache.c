#include "generate/cache.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "common/mem.h"

struct cache_layer {
    struct ops_norm norm1, norm2;
    struct ops_linear qkv, out, fc, proj; /* without N */
};

/* ---- where the parameters are ------------------------------------------------------------- */

/* The parameters of `block` whose name ends in `suffix`, and the row; -1 with an error. */
static int find(struct ops_array *to, const struct tensor **row, const struct cache *c,
                const struct ops_array *blocks, int block, const char *suffix)
{
    size_t n = strlen(suffix);
    for (size_t i = 0; i < c->model->tensors.count; i++) {
        const struct tensor *t = &c->model->tensors.rows[i];
        size_t len = strlen(t->name);
        if (t->block == block && len >= n && !strcmp(t->name + len - n, suffix)) {
            *to = ops_part(blocks[block], t->offset);
            *row = t;
            return 0;
        }
    }
    return err_set("the model has no tensor '%s' in block %d", suffix, block);
}

/* NAME.weight and NAME.bias. */
static int find_pair(struct ops_array *weight, struct ops_array *bias, const struct tensor **row,
                     const struct cache *c, const struct ops_array *blocks, int block,
                     const char *name)
{
    char suffix[TENSOR_NAME];
    snprintf(suffix, sizeof suffix, "%s.bias", name);
    if (find(bias, row, c, blocks, block, suffix) < 0)
        return -1;
    snprintf(suffix, sizeof suffix, "%s.weight", name);
    return find(weight, row, c, blocks, block, suffix);
}

static int find_linear(struct ops_linear *l, const struct cache *c, const struct ops_array *blocks,
                       int block, const char *name)
{
    const struct tensor *row;
    if (find_pair(&l->w, &l->bias, &row, c, blocks, block, name) < 0)
        return -1;
    l->I = row->shape[0];
    l->O = row->shape[1];
    return 0;
}

static int find_norm(struct ops_norm *l, const struct cache *c, const struct ops_array *blocks,
                     int block, const char *name)
{
    const struct tensor *row;
    l->C = c->model->config.width;
    l->epsilon = c->model->config.epsilon;
    return find_pair(&l->gain, &l->bias, &row, c, blocks, block, name);
}

static int find_layer(const struct cache *c, const struct ops_array *blocks, int block)
{
    struct cache_layer *w = &c->layers[block - 1];
    return find_norm(&w->norm1, c, blocks, block, "ln_1") < 0 ||
                   find_linear(&w->qkv, c, blocks, block, "attn.c_attn") < 0 ||
                   find_linear(&w->out, c, blocks, block, "attn.c_proj") < 0 ||
                   find_norm(&w->norm2, c, blocks, block, "ln_2") < 0 ||
                   find_linear(&w->fc, c, blocks, block, "mlp.c_fc") < 0 ||
                   find_linear(&w->proj, c, blocks, block, "mlp.c_proj") < 0
               ? -1
               : 0;
}

static int find_all(struct cache *c, const struct ops_array *blocks)
{
    const struct tensor *row;
    int head = (int)c->model->config.layers + 1;
    for (int b = 1; b < head; b++)
        if (find_layer(c, blocks, b) < 0)
            return -1;
    c->tables.C = c->model->config.width;
    c->norm.N = 1;
    return find(&c->tables.words, &row, c, blocks, 0, "wte.weight") < 0 ||
                   find(&c->tables.positions, &row, c, blocks, 0, "wpe.weight") < 0 ||
                   find_norm(&c->norm, c, blocks, head, "ln_f") < 0
               ? -1
               : 0;
}

/* ---- life --------------------------------------------------------------------------------- */

static int64_t cached_numbers(const struct cache *c)
{
    const struct model_config *k = &c->model->config;
    return k->layers * k->positions * k->width;
}

int cache_init(struct cache *c, const struct model *m, struct ops *o,
               const struct ops_array *blocks)
{
    *c = (struct cache){ .model = m, .ops = o };
    c->layers = mem_zalloc((size_t)m->config.layers, sizeof *c->layers);
    c->keys = ops_buffer(o, OPS_F32, cached_numbers(c));
    c->values = ops_buffer(o, OPS_F32, cached_numbers(c));
    c->ids = ops_buffer(o, OPS_U32, m->config.positions);
    c->last = ops_buffer(o, OPS_F32, m->config.vocabulary);
    c->logits = mem_alloc((size_t)m->config.vocabulary * sizeof *c->logits);
    if (!find_all(c, blocks))
        return 0;
    cache_release(c);
    return -1;
}

void cache_release(struct cache *c)
{
    if (!c->ops)
        return;
    ops_buffer_free(c->ops, c->keys, cached_numbers(c));
    ops_buffer_free(c->ops, c->values, cached_numbers(c));
    ops_buffer_free(c->ops, c->ids, c->model->config.positions);
    ops_buffer_free(c->ops, c->last, c->model->config.vocabulary);
    free(c->logits);
    free(c->layers);
    *c = (struct cache){ 0 };
}

void cache_truncate(struct cache *c, int64_t used)
{
    assert(used >= 0 && used <= c->used);
    c->used = used;
}

/* ---- forward ------------------------------------------------------------------------------ */

/* Scratch of a piece of N tokens. */
struct piece {
    int64_t N;
    struct ops_array x, normed, attended; /* [N,C] */
    struct ops_array qkv, inner;          /* [N,3C], [N,I] */
};

/* x[N,C] += l of from. */
static void add_linear(struct ops *o, const struct piece *p, struct ops_array from,
                       const struct ops_linear *l)
{
    ops_linear_fwd(o, p->normed, from, l);
    ops_add(o, p->x, p->normed, p->N * l->O);
}

/* x[N,C] += attention(norm(x)); x += mlp(norm(x)). */
static void layer(struct cache *c, int64_t l, const struct piece *p)
{
    const struct model_config *k = &c->model->config;
    struct cache_layer w = c->layers[l];
    struct ops *o = c->ops;
    int64_t C = k->width, at = l * k->positions * C;
    const struct ops_attention a = {
        .rows = { 1, p->N, NULL }, .NH = k->heads, .HS = C / k->heads, .causal = 1
    };
    w.norm1.N = w.norm2.N = w.qkv.N = w.out.N = w.fc.N = w.proj.N = p->N;

    ops_norm_fwd(o, p->normed, (struct ops_moments){ 0 }, p->x, &w.norm1);
    ops_linear_fwd(o, p->qkv, p->normed, &w.qkv);
    ops_attention_cached(o, p->attended, ops_part(c->keys, at), ops_part(c->values, at),
                         ops_side_by_side(p->qkv, C), c->used, &a);
    add_linear(o, p, p->attended, &w.out);

    ops_norm_fwd(o, p->normed, (struct ops_moments){ 0 }, p->x, &w.norm2);
    ops_linear_fwd(o, p->inner, p->normed, &w.fc);
    ops_activation_fwd(o, OPS_GELU_TANH, p->inner, p->inner, p->N * k->inner);
    add_linear(o, p, p->inner, &w.proj);
}

static int check(const struct cache *c, const uint32_t *ids, int64_t n)
{
    const struct model_config *k = &c->model->config;
    if (n > k->positions - c->used)
        return err_set("no room for %lld more tokens: %lld of the model's %lld positions are used",
                       (long long)n, (long long)c->used, (long long)k->positions);
    for (int64_t i = 0; i < n; i++)
        if (ids[i] >= k->vocabulary)
            return err_set("token %u is not in the model's vocabulary of %lld", ids[i],
                           (long long)k->vocabulary);
    return 0;
}

static struct piece begin(struct cache *c, const uint32_t *ids, int64_t N)
{
    struct ops *o = c->ops;
    const int64_t C = c->model->config.width;
    const struct ops_tokens tokens = { .N = N, .T = N, .first = c->used, .ids = c->ids };
    ops_scratch_begin(o);
    struct piece p = { .N = N,
                       .x = ops_scratch(o, OPS_F32, N * C),
                       .normed = ops_scratch(o, OPS_F32, N * C),
                       .attended = ops_scratch(o, OPS_F32, N * C),
                       .qkv = ops_scratch(o, OPS_F32, N * 3 * C),
                       .inner = ops_scratch(o, OPS_F32, N * c->model->config.inner) };
    ops_upload(o, c->ids, ids, N);
    ops_embedding_fwd(o, p.x, &tokens, &c->tables);
    return p;
}

float *cache_forward(struct cache *c, const uint32_t *ids, int64_t n)
{
    const struct model_config *k = &c->model->config;
    const struct ops_decoder d = { c->tables.words, OPS_NONE, k->vocabulary, k->width };
    assert(n >= 1);
    if (check(c, ids, n) < 0)
        return NULL;
    struct piece p = begin(c, ids, n);
    for (int64_t l = 0; l < k->layers; l++)
        layer(c, l, &p);
    c->used += n;
    ops_norm_fwd(c->ops, p.normed, (struct ops_moments){ 0 }, ops_part(p.x, (n - 1) * k->width),
                 &c->norm);
    ops_logits(c->ops, c->last, p.normed, 1, &d);
    ops_download(c->ops, c->logits, c->last, k->vocabulary);
    return c->logits;
}
