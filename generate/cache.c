#include "generate/cache.h"

#include <assert.h>
#include <stdlib.h>

#include "common/err.h"
#include "common/mem.h"

/* ---- memory ------------------------------------------------------------------------------- */

static const struct model_config *config_of(const struct cache *c)
{
    return &c->forward.model->config;
}

/* Returns the number of floats in one layer's keys of n positions. */
static int64_t layer_numbers(const struct cache *c, int64_t n)
{
    return n * config_of(c)->kv_heads * config_of(c)->head_width;
}

void cache_init(struct cache *c, const struct model *m, struct ops *o,
                const struct ops_array *blocks)
{
    *c = (struct cache){ .forward = { .model = m, .ops = o, .blocks = blocks } };
    c->last = ops_buffer(o, OPS_F32, m->config.vocabulary);
    c->logits = mem_alloc((size_t)m->config.vocabulary * sizeof *c->logits);
}

static void free_past(struct cache *c, const struct past *p)
{
    const int64_t numbers = config_of(c)->layers * layer_numbers(c, p->room);
    ops_buffer_free(c->forward.ops, p->keys, numbers);
    ops_buffer_free(c->forward.ops, p->values, numbers);
}

void cache_release(struct cache *c)
{
    if (!c->forward.ops)
        return;
    free_past(c, &c->past);
    inputs_release(&c->inputs, c->forward.ops);
    ops_buffer_free(c->forward.ops, c->last, config_of(c)->vocabulary);
    forward_release(&c->forward);
    free(c->logits);
    *c = (struct cache){ 0 };
}

void cache_truncate(struct cache *c, int64_t used)
{
    assert(used >= 0 && used <= c->past.used);
    c->past.used = used;
}

/* Copies the first `positions` positions of each layer from *from. */
static void copy_past(struct cache *c, const struct past *from, int64_t positions)
{
    struct ops *o = c->forward.ops;
    const int64_t used = layer_numbers(c, positions);
    const int64_t there = layer_numbers(c, from->room), here = layer_numbers(c, c->past.room);
    for (int64_t l = 0; l < config_of(c)->layers && used; l++) {
        ops_copy(o, ops_part(c->past.keys, l * here), ops_part(from->keys, l * there), used);
        ops_copy(o, ops_part(c->past.values, l * here), ops_part(from->values, l * there), used);
    }
}

/* Makes room for n positions in all. Used positions are kept. */
static void reserve(struct cache *c, int64_t n)
{
    struct ops *o = c->forward.ops;
    const struct past old = c->past;
    const int64_t layers = config_of(c)->layers;
    struct past *p = &c->past;
    if (n <= old.room)
        return;
    while (p->room < n)
        p->room = p->room ? 2 * p->room : 64;
    if (p->room > config_of(c)->positions)
        p->room = config_of(c)->positions;
    p->keys = ops_buffer(o, OPS_F32, layers * layer_numbers(c, p->room));
    p->values = ops_buffer(o, OPS_F32, layers * layer_numbers(c, p->room));
    copy_past(c, &old, old.used);
    free_past(c, &old);
}

void cache_copy(struct cache *to, const struct cache *from, int64_t positions)
{
    assert(positions >= 0 && positions <= from->past.used);
    to->past.used = 0;
    reserve(to, positions);
    copy_past(to, &from->past, positions);
    to->past.used = positions;
}

int64_t cache_numbers(const struct cache *c, int64_t n)
{
    return config_of(c)->layers * layer_numbers(c, n);
}

void cache_get(const struct cache *c, float *keys, float *values)
{
    const int64_t used = layer_numbers(c, c->past.used), room = layer_numbers(c, c->past.room);
    for (int64_t l = 0; l < config_of(c)->layers; l++) {
        ops_download(c->forward.ops, keys + l * used, ops_part(c->past.keys, l * room), used);
        ops_download(c->forward.ops, values + l * used, ops_part(c->past.values, l * room), used);
    }
}

void cache_set(struct cache *c, int64_t n, const float *keys, const float *values)
{
    c->past.used = 0;
    reserve(c, n);
    const int64_t used = layer_numbers(c, n), room = layer_numbers(c, c->past.room);
    for (int64_t l = 0; l < config_of(c)->layers; l++) {
        ops_upload(c->forward.ops, ops_part(c->past.keys, l * room), keys + l * used, used);
        ops_upload(c->forward.ops, ops_part(c->past.values, l * room), values + l * used, used);
    }
    c->past.used = n;
}

/* ---- forward ------------------------------------------------------------------------------ */

static int check(const struct cache *c, const uint32_t *ids, int64_t n)
{
    const struct model_config *k = config_of(c);
    if (n > k->positions - c->past.used)
        return err_set("no room for %lld more tokens: %lld of the model's %lld positions are used",
                       (long long)n, (long long)c->past.used, (long long)k->positions);
    for (int64_t i = 0; i < n; i++)
        if (ids[i] >= k->vocabulary)
            return err_set("token %u is not in the model's vocabulary of %lld", ids[i],
                           (long long)k->vocabulary);
    return 0;
}

float *cache_forward(struct cache *c, const uint32_t *ids, int64_t n)
{
    struct forward *f = &c->forward;
    const struct model_config *k = config_of(c);
    assert(n >= 1);
    if (check(c, ids, n) < 0)
        return NULL;
    reserve(c, c->past.used + n);
    inputs_follow(&c->inputs, f->ops, &c->past, ids, n);
    struct ops_array x = forward_layers(f, &c->inputs);
    c->past.used += n;
    forward_logits(f, c->last, ops_part(x, (n - 1) * k->width), 1);
    ops_download(f->ops, c->logits, c->last, k->vocabulary);
    return c->logits;
}
